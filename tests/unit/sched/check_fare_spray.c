/* SPDX-License-Identifier: BSD-2-Clause */
/* The public pick, inlined and called, over a real segment: shared runs, changes, deaths, another
 * segment in its place. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach.h"
#include "conn_segment.h"
#include "fare_spray_inline.h"
#include "shm_writer.h"

static char dir[] = "/tmp/fare-check-XXXXXX";
static struct shm_writer_gpu gpu;
static struct shm_writer *writer;
static struct fare *fare;
static struct fare_pair *pair;
static struct fare_spray *spray;
static struct in6_addr peer;

static void publish(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct shm_path path[4] = {{a, FARE_VERDICT_OK, 0, 0},
				   {b, FARE_VERDICT_OK, 0, 0},
				   {c, FARE_VERDICT_OK, 0, 0},
				   {d, FARE_VERDICT_OK, 0, 0}};

	ck_assert_int_ge(shm_writer_publish(writer,
					    (uint32_t)shm_writer_pair(writer, 0, peer.s6_addr),
					    path, 4),
			 0);
}

static void open_writer(void)
{
	ck_assert_int_eq(shm_writer_open(&writer, dir, 0600, &gpu, 1, NULL), 0);
	for (uint32_t p = 0; p < 4; p++)
		for (uint32_t s = 0; s < 2; s++)
			shm_writer_sub_port(writer, 0, p, s, true, 100);
}

static void setup(void)
{
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	memset(&gpu, 0, sizeof(gpu));
	inet_pton(AF_INET6, "2001:db8::1", gpu.address[1]);
	inet_pton(AF_INET6, "2001:db8::2", &peer);
	gpu.n_planes = 4;
	for (unsigned p = 0; p < 4; p++) {
		gpu.n_sub_ports[p] = 2;
		strcpy(gpu.dev[p][0], "even");
		strcpy(gpu.dev[p][1], "odd");
	}
	open_writer();
	publish(200, 200, 200, 100);
	ck_assert_int_eq(fare_attach(&fare, dir), 0);
	ck_assert_int_eq(fare_pair_open(&pair, fare, 0, &peer), 0);
	ck_assert_int_eq(fare_spray_open(&spray, pair), 0);
}

static void teardown(void)
{
	char path[64];

	fare_spray_close(spray);
	fare_spray_close(NULL);
	fare_pair_close(pair);
	fare_detach(fare);
	shm_writer_close(writer);
	snprintf(path, sizeof(path), "%s/%s", dir, SHM_NAME);
	unlink(path);
	rmdir(dir);
}

static void pick(unsigned n, unsigned count[4][2])
{
	memset(count, 0, sizeof(unsigned) * 8);
	for (unsigned i = 0; i < n; i++) {
		struct fare_slot slot;

		/* both ways are one schedule */
		if (i % 5 ? fare_spray_pick(spray, &slot) : fare_spray_next(spray, &slot))
			ck_abort_msg("no slot");
		if (slot.plane >= 4 || slot.sub_port >= 2)
			ck_abort_msg("no such slot");
		count[slot.plane][slot.sub_port]++;
	}
}

START_TEST(planes_and_sub_ports_are_exact)
{
	unsigned count[4][2];

	pick(1400, count);
	for (unsigned p = 0; p < 4; p++)
		for (unsigned s = 0; s < 2; s++)
			ck_assert_uint_eq(count[p][s], p < 3 ? 200 : 100);
}
END_TEST

START_TEST(a_change_is_seen_by_the_next_pick)
{
	unsigned count[4][2];

	pick(3, count);
	publish(200, 0, 200, 0);
	pick(1000, count);
	ck_assert_uint_eq(count[1][0] + count[1][1] + count[3][0] + count[3][1], 0);
	ck_assert_double_le(fabs((double)count[0][0] + count[0][1] - 500), 2);
	shm_writer_sub_port(writer, 0, 2, 0, false, 0);
	publish(200, 0, 200, 0);
	pick(100, count);
	ck_assert_uint_eq(count[2][0], 0);
	ck_assert_uint_ge(count[2][1], 48);
}
END_TEST

START_TEST(nothing_usable_is_said_and_passes)
{
	struct fare_slot slot;
	unsigned count[4][2];

	publish(0, 0, 0, 0);
	ck_assert_int_eq(fare_spray_pick(spray, &slot), -ENETUNREACH);
	ck_assert_int_eq(fare_spray_pick(spray, &slot), -ENETUNREACH);
	publish(7, 7, 0, 0);
	pick(100, count);
	ck_assert_uint_eq(count[0][0] + count[0][1], 50);
}
END_TEST

/* Bandwidths of no common measure have no run; shares hold all the same, whatever they were before.
 */
START_TEST(any_bandwidths_are_exact)
{
	static const double bps[4] = {799999999999, 400000000007, 123456789011, 5000000000};
	double sum = bps[0] + bps[1] + bps[2] + bps[3];
	unsigned count[4][2];

	pick(11, count);
	publish(799999999999, 400000000007, 123456789011, 5000000000);
	pick(100000, count);
	for (unsigned p = 0; p < 4; p++) {
		ck_assert_double_le(fabs(count[p][0] + count[p][1] - bps[p] / sum * 100000), 2);
		ck_assert_int_le(abs((int)count[p][0] - (int)count[p][1]), 2);
	}
}
END_TEST

/* Another segment takes the place of the one that the spray looks at, several times over, with many
 * sprays open. */
START_TEST(follows_to_another_segment)
{
	struct fare_spray *more[10];
	struct fare_slot slot;
	unsigned count[4][2];

	for (unsigned i = 0; i < 10; i++)
		ck_assert_int_eq(fare_spray_open(&more[i], pair), 0);
	for (unsigned round = 0; round < 4; round++) {
		shm_writer_close(writer);
		gpu.dev[0][0][0] = (char)('a' + round); /* another configuration: not adopted */
		open_writer();
		publish(round % 2 ? 100 : 0, 100, 100, 100);
		for (unsigned i = 0; i < 10; i += 1 + round)
			ck_assert_int_eq(fare_spray_pick(more[i], &slot), 0);
		pick(1200, count);
		ck_assert_double_le(fabs((double)count[0][0] + count[0][1] - (round % 2 ? 300 : 0)),
				    2);
	}
	for (unsigned i = 0; i < 10; i++)
		fare_spray_close(more[(i * 7) % 10]); /* in any order */
}
END_TEST

/*
 * A writer killed after it put another segment in place and before it told the readers of the old
 * one: nobody will write there again, and the next writer adopts the new one.
 */
START_TEST(follows_though_nobody_said_so)
{
	char elsewhere[] = "/tmp/fare-check-XXXXXX", from[64], to[64];
	struct shm_header *old;
	unsigned count[4][2];
	int fd;

	snprintf(to, sizeof(to), "%s/%s", dir, SHM_NAME);
	fd = open(to, O_RDWR);
	old = mmap(NULL, sizeof(*old), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	ck_assert_ptr_ne(old, MAP_FAILED);
	shm_writer_close(writer);
	gpu.dev[0][0][0] = 'x';
	ck_assert_ptr_nonnull(mkdtemp(elsewhere));
	ck_assert_int_eq(shm_writer_open(&writer, elsewhere, 0600, &gpu, 1, NULL), 0);
	shm_writer_close(writer);
	old->retired = 1;
	munmap(old, sizeof(*old));
	snprintf(from, sizeof(from), "%s/%s", elsewhere, SHM_NAME);
	ck_assert_int_eq(rename(from, to), 0);
	rmdir(elsewhere);
	open_writer();
	publish(0, 100, 100, 100);
	pick(8192, count); /* the longest schedule */
	pick(1200, count);
	ck_assert_uint_eq(count[0][0] + count[0][1], 0);
}
END_TEST

/* The daemon sees that somebody picks: no row tells where. */
START_TEST(who_picks_is_counted)
{
	const struct conn_shm_header *shown = mmap(NULL, sizeof(*shown), PROT_READ, MAP_SHARED,
						   conn_segment_fd(attach_segment(fare)), 0);
	struct fare_spray *second;
	struct fare_flows *flows;

	ck_assert_ptr_ne(shown, MAP_FAILED);
	ck_assert_uint_eq(shown->n_pickers, 1);
	ck_assert_int_eq(fare_spray_open(&second, pair), 0);
	ck_assert_int_eq(fare_flows_open(&flows, pair, NULL), 0);
	ck_assert_uint_eq(shown->n_pickers, 3);
	fare_spray_close(second);
	fare_spray_close(spray);
	spray = NULL;
	ck_assert_uint_eq(shown->n_pickers, 1);
	fare_flows_close(flows);
	fare_flows_close(NULL);
	ck_assert_uint_eq(shown->n_pickers, 0);
	munmap((void *)shown, sizeof(*shown));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fare_spray");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, planes_and_sub_ports_are_exact);
	tcase_add_test(t, a_change_is_seen_by_the_next_pick);
	tcase_add_test(t, nothing_usable_is_said_and_passes);
	tcase_add_test(t, any_bandwidths_are_exact);
	tcase_add_test(t, follows_to_another_segment);
	tcase_add_test(t, follows_though_nobody_said_so);
	tcase_add_test(t, who_picks_is_counted);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
