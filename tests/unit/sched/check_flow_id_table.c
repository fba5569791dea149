/* SPDX-License-Identifier: BSD-2-Clause */
/* The flow-id table against a model: every instruction set, lines crowded on purpose, counts
 * recomputed. */
#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "flow_id_table.h"

#define UNIVERSE 600u

static int64_t model[UNIVERSE]; /* slot, or -1 */
static uint64_t keys[UNIVERSE];
static struct flow_id_table *table;

static void make(enum simd_isa isa, uint32_t max_entries, uint32_t max_age, uint64_t seed)
{
	struct flow_id_table_attr attr = {
		.max_entries = max_entries, .max_age = max_age, .seed = seed, .isa = isa};

	ck_assert_int_eq(flow_id_table_create(&table, &attr), 0);
	memset(model, -1, sizeof(model));
}

/* Ids that follow each other, in blocks far apart, and the two extremes. */
static void name_keys(void)
{
	for (uint32_t i = 0; i < UNIVERSE; i++)
		keys[i] = (uint64_t)(i / 20) << 56 | (0x100 + i % 20);
	keys[0] = 0;
	keys[1] = ~UINT64_C(0);
}

/* Each count is how many entries passed the line; nothing else may be in it. */
static void counts_are_right(void)
{
	uint64_t *passed = calloc(table->n_lines, sizeof(*passed));
	uint32_t entries = 0;
	unsigned wrong = 0;

	for (uint64_t l = 0; l < table->n_lines; l++) {
		for (unsigned i = 0; i < FLOW_ID_TABLE_LANES; i++) {
			uint64_t id = table->lines[l].id[i];
			bool vacant = table->lines[l].slot[i] == FLOW_ID_TABLE_NONE;

			wrong += vacant != (table->lines[l].epoch[i] == 0);
			if (vacant)
				continue;
			entries++;
			for (uint64_t at = line_hash(table->hash, id, table->n_lines); at != l;
			     at = (at + 1) % table->n_lines)
				passed[at]++;
		}
	}
	for (uint64_t l = 0; l < table->n_lines; l++)
		wrong += table->lines[l].passed != passed[l];
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(entries, table->n_entries);
	free(passed);
}

static void lookups_are_right(void)
{
	static uint32_t slots[UNIVERSE];
	unsigned wrong = 0;

	flow_id_table_lookup_batch(table, keys, slots, UNIVERSE);
	for (uint32_t i = 0; i < UNIVERSE; i++) {
		uint32_t want = model[i] < 0 ? FLOW_ID_TABLE_NONE : (uint32_t)model[i];

		wrong += slots[i] != want || flow_id_table_lookup(table, keys[i]) != want;
	}
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(flow_id_table_lookup(table, 12345678901), FLOW_ID_TABLE_NONE);
}

static unsigned operation_wrong;

static void one_operation(void)
{
	uint32_t i = (uint32_t)rand() % UNIVERSE;
	uint32_t slot = (uint32_t)rand();
	int err;

	switch (rand() % 5) {
	case 0:
		err = flow_id_table_erase(table, keys[i]);
		operation_wrong += err != (model[i] < 0 ? -ENOENT : 0);
		model[i] = -1;
		break;
	case 1:
		err = flow_id_table_move(table, keys[i], slot);
		operation_wrong += err != (model[i] < 0 ? -ENOENT : 0);
		model[i] = model[i] < 0 ? -1 : (int64_t)slot;
		break;
	case 2:
		operation_wrong +=
			flow_id_table_touch(table, keys[i]) != (model[i] < 0 ? -ENOENT : 0);
		break;
	default:
		err = flow_id_table_insert(table, keys[i], slot);
		if (err == -ENOSPC) {
			operation_wrong += model[i] >= 0 || table->n_entries != table->max_entries;
			break;
		}
		operation_wrong += err != (model[i] < 0 ? 0 : -EEXIST);
		model[i] = model[i] < 0 ? (int64_t)slot : model[i];
	}
}

START_TEST(is_like_its_model)
{
	enum simd_isa isa = (enum simd_isa)_i;

	if (!simd_has(isa))
		return; /* counted by says_which_instructions_it_has */
	srand(7);
	name_keys();
	for (int round = 0; round < 20; round++) {
		/* from three lines that are always over-full to a table nobody fills */
		make(isa, round < 10 ? 9 + (uint32_t)round : 700, 0, (uint64_t)round);
		for (int op = 0; op < 4000; op++) {
			one_operation();
			if (op % 200 == 0) {
				lookups_are_right();
				counts_are_right();
				ck_assert_uint_eq(operation_wrong, 0);
			}
		}
		flow_id_table_destroy(table);
	}
}
END_TEST

START_TEST(says_which_instructions_it_has)
{
	struct flow_id_table_attr attr = {.max_entries = 100};
	struct flow_id_table *t;
	unsigned there = 0;

	for (int isa = SIMD_AUTO; isa < SIMD_COUNT; isa++) {
		attr.isa = (enum simd_isa)isa;
		ck_assert_int_eq(flow_id_table_create(&t, &attr),
				 simd_has(attr.isa) ? 0 : -ENOTSUP);
		there += simd_has(attr.isa);
		if (t)
			ck_assert_int_eq(t->isa, isa == SIMD_AUTO ? simd_best() : attr.isa);
		flow_id_table_destroy(t);
	}
	ck_assert_uint_ge(there, 2);
#if defined(__x86_64__) || defined(__aarch64__)
	ck_assert_int_ne(simd_best(), SIMD_SCALAR);
	ck_assert_uint_ge(there, 3);
#endif
}
END_TEST

static unsigned expired_wrong;

static void on_expired(void *context, uint64_t key, uint32_t slot)
{
	uint32_t *last_used = context;

	for (uint32_t i = 0; i < UNIVERSE; i++) {
		if (keys[i] != key)
			continue;
		expired_wrong += model[i] != slot;
		model[i] = -1;
		last_used[i] = 0;
	}
}

/* What was used within max_age whole passes stays, what was not is gone; also after the epochs went
 * round. */
START_TEST(forgets_the_idle)
{
	uint32_t last_used[UNIVERSE] = {0}; /* pass, from 1; 0: absent */

	srand(8);
	name_keys();
	expired_wrong = 0;
	make(SIMD_AUTO, 700, 3, 5);
	for (uint32_t pass = 1; pass < 1200; pass++) {
		uint64_t swept = 0;
		uint32_t was = table->n_entries, gone = 0;

		for (int k = 0; k < 20; k++) {
			uint32_t i = (uint32_t)rand() % UNIVERSE;

			if (model[i] < 0) {
				model[i] = (int64_t)i;
				expired_wrong += flow_id_table_insert(table, keys[i], i) != 0;
				was++;
			} else {
				expired_wrong += flow_id_table_touch(table, keys[i]) != 0;
			}
			last_used[i] = pass;
		}
		while (swept < table->n_lines) { /* a pass in uneven parts */
			uint64_t part = 1 + (uint64_t)rand() % 40;

			part = part < table->n_lines - swept ? part : table->n_lines - swept;
			gone += flow_id_table_sweep(table, part, on_expired, last_used);
			swept += part;
		}
		ck_assert_uint_eq(table->n_entries, was - gone);
		for (uint32_t i = 0; i < UNIVERSE; i++)
			expired_wrong +=
				(model[i] >= 0) != (last_used[i] && pass - last_used[i] <= 3);
		if (pass % 100 == 0) {
			lookups_are_right();
			counts_are_right();
		}
	}
	ck_assert_uint_eq(expired_wrong, 0);
	flow_id_table_destroy(table);
}
END_TEST

/* Ids as they come: counters, pointers, and a tenant in the high bits. */
START_TEST(spreads_keys_as_they_come)
{
	for (int seed = 0; seed < 60; seed++) {
		int kind = seed % 3;
		uint64_t outside = 0;
		unsigned wrong = 0;

		make(SIMD_AUTO, 60000, 0, (uint64_t)seed);
		for (uint64_t i = 0; i < 60000; i++) {
			uint64_t id = kind == 0	  ? i
				      : kind == 1 ? 0x7f0000000000 + i * 4096
						  : i << 48 | i / 7;

			wrong += flow_id_table_insert(table, id, (uint32_t)i) != 0;
			wrong += flow_id_table_lookup(table, id) != i;
		}
		ck_assert_uint_eq(wrong, 0);
		for (uint64_t l = 0; l < table->n_lines; l++)
			outside += table->lines[l].passed != 0;
		/* independent uniform keys give 27%; a hash that clusters these gives far more */
		ck_assert_uint_le(outside, table->n_lines * 35 / 100);
		ck_assert_double_le((double)table->bytes / 60000, 21.4);
		flow_id_table_destroy(table);
	}
}
END_TEST

START_TEST(refuses_what_it_cannot_hold)
{
	struct flow_id_table_attr attr = {.max_entries = 0};

	ck_assert_int_eq(flow_id_table_create(&table, &attr), -EINVAL);
	ck_assert_ptr_null(table);
	attr.max_entries = FLOW_ID_TABLE_MAX_ENTRIES + 1;
	ck_assert_int_eq(flow_id_table_create(&table, &attr), -EINVAL);
	attr.max_entries = 10;
	attr.max_age = FLOW_ID_TABLE_MAX_AGE + 1;
	ck_assert_int_eq(flow_id_table_create(&table, &attr), -EINVAL);
	make(SIMD_AUTO, 10, 0, 0);
	ck_assert_int_eq(flow_id_table_insert(table, 1, FLOW_ID_TABLE_NONE), -EINVAL);
	ck_assert_int_eq(flow_id_table_insert(table, 1, 2), 0);
	ck_assert_int_eq(flow_id_table_move(table, 1, FLOW_ID_TABLE_NONE), -EINVAL);
	ck_assert_uint_eq(flow_id_table_lookup(table, 1), 2);
	flow_id_table_destroy(table);
	flow_id_table_destroy(NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("flow_id_table");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_loop_test(t, is_like_its_model, SIMD_AUTO, SIMD_COUNT);
	tcase_add_test(t, says_which_instructions_it_has);
	tcase_add_test(t, forgets_the_idle);
	tcase_add_test(t, spreads_keys_as_they_come);
	tcase_add_test(t, refuses_what_it_cannot_hold);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
