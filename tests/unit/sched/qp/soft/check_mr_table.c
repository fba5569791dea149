/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qp/soft/mr_table.h"

static struct mr_table table;
static uint8_t memory[64];
static struct qp_mr mr;

static void setup(void)
{
	memset(memory, 0xee, sizeof(memory));
	table = (struct mr_table){0};
	/* the region is the middle: both neighbours would show an overrun */
	ck_assert_int_eq(
		mr_table_add(&table, memory + 16, 32, QP_ACCESS_REMOTE_WRITE, 0x12345678, &mr), 0);
}

static void teardown(void)
{
	mr_table_fini(&table);
}

static uint64_t at(int offset)
{
	return (uintptr_t)(memory + 16) + (uint64_t)offset;
}

static bool may_write(uint32_t rkey, uint64_t addr, uint64_t bytes)
{
	return mr_table_remote_ok(&table, rkey, QP_ACCESS_REMOTE_WRITE, addr, bytes);
}

START_TEST(inside_is_written_and_only_there)
{
	uint8_t want[64];

	memset(want, 0xee, sizeof(want));
	memset(want + 16, 0, 32);
	want[47] = 0x22;
	ck_assert_int_eq(mr_table_place(&table, mr.rkey, at(0), (uint8_t[32]){0}, 32), 0);
	ck_assert_int_eq(mr_table_place(&table, mr.rkey, at(31), "\x22", 1), 0);
	ck_assert_mem_eq(memory, want, sizeof(want));
}
END_TEST

START_TEST(outside_is_refused)
{
	static const struct {
		int offset;
		size_t bytes;
	} bad[] = {{-1, 1}, {-1, 2}, {0, 33}, {1, 32}, {32, 1}, {31, 2}, {0, SIZE_MAX}};
	uint8_t want[64];

	memset(want, 0xee, sizeof(want));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(
			mr_table_place(&table, mr.rkey, at(bad[i].offset), want, bad[i].bytes),
			-EACCES);
	ck_assert(!may_write(mr.rkey, UINT64_MAX, 2));
	ck_assert(!may_write(mr.rkey, UINT64_MAX - 15, 32));
	ck_assert(!may_write(mr.rkey, 0, 1));
	ck_assert_mem_eq(memory, want, sizeof(want));
}
END_TEST

START_TEST(only_the_right_key_opens)
{
	struct qp_mr local_only;

	ck_assert(may_write(mr.rkey, at(0), 32));
	ck_assert(!may_write(mr.lkey, at(0), 32));
	ck_assert(!may_write(mr.rkey ^ 1, at(0), 32));
	ck_assert(!may_write(mr.rkey + 0x10000, at(0), 32));
	ck_assert(!may_write(0, at(0), 32));
	ck_assert(!may_write(UINT32_MAX, at(0), 32));
	ck_assert(mr_table_local_ok(&table, mr.lkey, memory + 16, 32));
	ck_assert(!mr_table_local_ok(&table, mr.rkey, memory + 16, 32));
	ck_assert(!mr_table_local_ok(&table, mr.lkey, memory + 15, 32));
	ck_assert_int_eq(mr_table_add(&table, memory, 8, 0, 9, &local_only), 0);
	ck_assert(!may_write(local_only.rkey, (uintptr_t)memory, 1));
	ck_assert(may_write(0, 0, 0)); /* nothing is asked of nothing */
}
END_TEST

START_TEST(removed_is_gone_even_when_its_slot_lives_again)
{
	struct qp_mr again;

	ck_assert_int_eq(mr_table_remove(&table, &mr), 0);
	ck_assert_int_eq(mr_table_remove(&table, &mr), -ENOENT);
	ck_assert(!may_write(mr.rkey, at(0), 1));
	for (unsigned i = 0; i < 200; i++) {
		ck_assert_int_eq(
			mr_table_add(&table, memory, 64, QP_ACCESS_REMOTE_WRITE, i, &again), 0);
		ck_assert(!may_write(mr.rkey, at(0), 1));
		ck_assert(may_write(again.rkey, at(0), 1));
	}
}
END_TEST

/* A key is of one region, not of those that get its place in the table later. */
START_TEST(a_place_used_again_has_other_keys)
{
	struct qp_mr before = mr, again;
	unsigned in_its_place = 0;

	for (unsigned i = 0; i < 1000; i++) {
		ck_assert_int_eq(mr_table_remove(&table, &mr), 0);
		/* the random bits are those of before: a coincidence */
		ck_assert_int_eq(mr_table_add(&table, memory + 16, 32, QP_ACCESS_REMOTE_WRITE,
					      0x12345678, &again),
				 0);
		in_its_place += again.lkey >> 16 == before.lkey >> 16;
		ck_assert(!mr_table_local_ok(&table, before.lkey, memory + 16, 1));
		ck_assert(!mr_table_local_ok(&table, mr.lkey, memory + 16, 1));
		ck_assert(!may_write(mr.rkey, at(0), 1));
		mr = again;
	}
	ck_assert_uint_gt(in_its_place, 10);
}
END_TEST

START_TEST(reading_and_writing_are_rights_of_their_own)
{
	struct qp_mr read_only, both;

	ck_assert(!mr_table_remote_ok(&table, mr.rkey, QP_ACCESS_REMOTE_READ, at(0), 1));
	ck_assert_int_eq(mr_table_add(&table, memory, 8, QP_ACCESS_REMOTE_READ, 1, &read_only), 0);
	ck_assert_int_eq(mr_table_add(&table, memory, 8,
				      QP_ACCESS_REMOTE_READ | QP_ACCESS_REMOTE_WRITE, 2, &both),
			 0);
	ck_assert(mr_table_remote_ok(&table, read_only.rkey, QP_ACCESS_REMOTE_READ,
				     (uintptr_t)memory, 8));
	ck_assert(!mr_table_remote_ok(&table, read_only.rkey, QP_ACCESS_REMOTE_READ,
				      (uintptr_t)memory, 9));
	ck_assert(!may_write(read_only.rkey, (uintptr_t)memory, 8));
	ck_assert(
		mr_table_remote_ok(&table, both.rkey, QP_ACCESS_REMOTE_READ, (uintptr_t)memory, 8));
	ck_assert(may_write(both.rkey, (uintptr_t)memory, 8));
}
END_TEST

START_TEST(local_placement_stays_in_its_region)
{
	uint8_t want[64];

	memset(want, 0xee, sizeof(want));
	ck_assert_int_eq(mr_table_place_local(&table, mr.lkey, memory + 15, "xy", 2), -EACCES);
	ck_assert_int_eq(mr_table_place_local(&table, mr.lkey, memory + 47, "xy", 2), -EACCES);
	ck_assert_int_eq(mr_table_place_local(&table, mr.rkey, memory + 16, "xy", 2), -EACCES);
	ck_assert_mem_eq(memory, want, sizeof(want));
	ck_assert_int_eq(mr_table_place_local(&table, mr.lkey, memory + 46, "xy", 2), 0);
	ck_assert_int_eq(memory[47], 'y');
	ck_assert_int_eq(mr_table_place_local(&table, 0, NULL, NULL, 0), 0);
}
END_TEST

START_TEST(senseless_registrations_are_refused)
{
	struct qp_mr out;

	ck_assert_int_eq(mr_table_add(&table, memory, 0, 0, 1, &out), -EINVAL);
	ck_assert_int_eq(mr_table_add(&table, memory, SIZE_MAX, 0, 1, &out), -EINVAL);
	ck_assert_int_eq(mr_table_add(&table, memory, 8, 0x80, 1, &out), -EINVAL);
}
END_TEST

START_TEST(the_table_ends)
{
	struct qp_mr out;

	for (unsigned i = 1; i < MR_TABLE_MAX; i++)
		ck_assert_int_eq(mr_table_add(&table, memory, 8, 0, i, &out), 0);
	ck_assert_int_eq(mr_table_add(&table, memory, 8, 0, 1, &out), -ENOSPC);
	ck_assert_int_eq(mr_table_remove(&table, &mr), 0);
	ck_assert_int_eq(mr_table_add(&table, memory, 8, 0, 1, &out), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mr_table");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, inside_is_written_and_only_there);
	tcase_add_test(t, outside_is_refused);
	tcase_add_test(t, only_the_right_key_opens);
	tcase_add_test(t, removed_is_gone_even_when_its_slot_lives_again);
	tcase_add_test(t, a_place_used_again_has_other_keys);
	tcase_add_test(t, reading_and_writing_are_rights_of_their_own);
	tcase_add_test(t, local_placement_stays_in_its_region);
	tcase_add_test(t, senseless_registrations_are_refused);
	tcase_add_test(t, the_table_ends);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
