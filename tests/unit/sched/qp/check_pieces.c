/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes gathered from pieces, reads scattered to them, and several writes at once. */
#include "domain_pair.h"

#define BYTES (1u << 20)

static uint8_t source[BYTES], target[BYTES], landing[BYTES];
static struct fare_mr *from, *to, *back;

static void open_both(void)
{
	for (uint32_t i = 0; i < BYTES; i++)
		source[i] = (uint8_t)(i * 2654435761u >> 24);
	memset(target, 0, sizeof(target));
	memset(landing, 0, sizeof(landing));
	connect_trusted();
	ck_assert_int_eq(fare_mr_register(&from, domain[0], source, BYTES, 0), 0);
	ck_assert_int_eq(fare_mr_register(&back, domain[0], landing, BYTES, 0), 0);
	ck_assert_int_eq(fare_mr_register(&to, domain[1], target, BYTES,
					  FARE_REMOTE_WRITE | FARE_REMOTE_READ),
			 0);
}

/* Odd lengths, one of zero, one longer than a chunk, one longer than all windows. */
static const uint32_t lengths[] = {1, 0, 7, 1500, 70001, 3, 500000};
#define N (sizeof(lengths) / sizeof(lengths[0]))

static uint64_t fill_pieces(struct fare_piece *pieces, uint8_t *memory, struct fare_mr *mr)
{
	uint64_t total = 0;
	uint32_t at = 100;

	for (unsigned i = 0; i < N; i++) {
		pieces[i] = (struct fare_piece){memory + at, mr, lengths[i]};
		at += lengths[i] + 1000 * i;
		total += lengths[i];
	}
	return total;
}

START_TEST(a_write_is_gathered_and_a_read_scattered)
{
	struct fare_piece pieces[N];
	struct fare_write w = {.remote_addr = (uintptr_t)target + 5,
			       .pieces = pieces,
			       .n_pieces = N,
			       .flags = FARE_WRITE_NOTIFY};
	struct fare_read r = {
		.remote_addr = (uintptr_t)target + 5, .pieces = pieces, .n_pieces = N};
	uint64_t total, at = 5;

	open_both();
	w.rkey = r.rkey = fare_mr_rkey(to);
	total = fill_pieces(pieces, source, from);
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	memset(pieces, 0, sizeof(pieces)); /* the array was copied */
	TURN_UNTIL(n_completed == 1 && n_received == 1);
	ck_assert_int_eq(completed.status, 0);
	ck_assert_uint_eq(received.bytes, total);
	fill_pieces(pieces, source, from);
	for (unsigned i = 0; i < N; i++, at += pieces[i - 1].length)
		ck_assert_mem_eq(target + at, pieces[i].data, pieces[i].length);
	fill_pieces(pieces, landing, back);
	ck_assert_int_eq(fare_group_read(group, &r), 0);
	TURN_UNTIL(n_completed == 2);
	ck_assert_int_eq(completed.status, 0);
	for (unsigned i = 0; i < N; i++)
		ck_assert_mem_eq(pieces[i].data,
				 source + ((uintptr_t)pieces[i].data - (uintptr_t)landing),
				 pieces[i].length);
}
END_TEST

START_TEST(pieces_that_cannot_be)
{
	struct fare_piece p[FARE_PIECES_MAX + 1];
	struct fare_write w = {.pieces = p, .n_pieces = 2};

	open_both();
	for (unsigned i = 0; i <= FARE_PIECES_MAX; i++)
		p[i] = (struct fare_piece){source, from, 8};
	w.remote_addr = (uintptr_t)target;
	w.rkey = fare_mr_rkey(to);
	p[1].data = source + BYTES - 7;
	ck_assert_int_eq(fare_group_write(group, &w), -EINVAL);
	p[1] = (struct fare_piece){source, NULL, 8};
	ck_assert_int_eq(fare_group_write(group, &w), -EINVAL);
	p[1] = (struct fare_piece){target, to, 8}; /* the other domain's */
	ck_assert_int_eq(fare_group_write(group, &w), -EINVAL);
	p[1] = p[0];
	w.length = 16; /* pieces say how long it is */
	ck_assert_int_eq(fare_group_write(group, &w), -EINVAL);
	w.length = 0;
	w.n_pieces = FARE_PIECES_MAX + 1;
	ck_assert_int_eq(fare_group_write(group, &w), -EINVAL);
	w.n_pieces = FARE_PIECES_MAX;
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	TURN_UNTIL(n_completed == 1);
	ck_assert_int_eq(completed.status, 0);
}
END_TEST

START_TEST(several_writes_at_once)
{
	struct fare_write w[100];

	open_both();
	for (unsigned i = 0; i < 100; i++)
		w[i] = (struct fare_write){.data = source + 100 * i,
					   .mr = from,
					   .length = 100,
					   .remote_addr = (uintptr_t)target + 100 * i,
					   .rkey = fare_mr_rkey(to)};
	ck_assert_int_eq(fare_group_write_many(group, w, 100), 64); /* as many as there may be */
	ck_assert_int_eq(fare_group_write_many(group, w + 64, 36), -ENOBUFS);
	TURN_UNTIL(n_completed == 64);
	w[70].mr = NULL;
	ck_assert_int_eq(fare_group_write_many(group, w + 64, 36), 6);
	ck_assert_int_eq(fare_group_write_many(group, w + 70, 30), -EINVAL);
	TURN_UNTIL(n_completed == 70);
	ck_assert_mem_eq(source, target, 7000);
	ck_assert_uint_eq(target[7000], 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pieces");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_write_is_gathered_and_a_read_scattered);
	tcase_add_test(tc, pieces_that_cannot_be);
	tcase_add_test(tc, several_writes_at_once);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
