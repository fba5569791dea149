/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both tables under a writer that inserts, moves, erases and expires while readers look up, singly
 * and in batches, with every instruction set. Values are checked: a slot tells whose it is and how
 * old. Under a race detector the same program shows that nothing but the vector compare is outside
 * of the memory model.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "conn_table.h"
#include "flow_id_table.h"

#define KEYS	 512u /* in a table of so few lines that most overflow */
#define STABLE	 128u /* of them: moved, never erased */
#define READERS	 2
#define SLOT_TAG 8u

static struct conn_table *conn;
static struct flow_id_table *flow;
static _Atomic bool stop;
static _Atomic uint64_t
	version_done[KEYS]; /* of stable keys: a lookup that begins now sees this one or a later */
static _Atomic uint32_t wrong, missed, looked, went_back;

static uint64_t conn_key(uint32_t i)
{
	return conn_table_key((uint16_t)(i / 16), 0x4000 + i % 16);
}

static uint64_t flow_id(uint32_t i)
{
	return (uint64_t)(i / 16) << 40 | i % 16;
}

/* Whose (8 bits that neighbours differ in), and which version (8 bits). */
static uint32_t conn_slot(uint32_t i, uint64_t version)
{
	return ((i * 37 + (i >> 8)) & 0xff) << SLOT_TAG | (uint32_t)(version & 0xff);
}

static uint32_t flow_slot(uint32_t i, uint64_t version)
{
	return i << 20 | (uint32_t)(version & 0xfffff);
}

static void check_conn(uint32_t i, uint32_t slot, uint64_t version_before)
{
	if (slot == CONN_TABLE_NONE) {
		missed += i < STABLE;
		return;
	}
	looked++;
	wrong += slot >> SLOT_TAG != conn_slot(i, 0) >> SLOT_TAG;
	/*
	 * a slot has but 8 bits of the version: they tell as long as the writer got nowhere near
	 * 128 versions further while the reader was off its core
	 */
	if (i < STABLE)
		went_back += (uint8_t)(slot - version_before) > 200 &&
			     version_done[i] - version_before < 100;
}

static void check_flow(uint32_t i, uint32_t slot, uint64_t version_before)
{
	if (slot == FLOW_ID_TABLE_NONE) {
		missed += i < STABLE;
		return;
	}
	looked++;
	wrong += slot >> 20 != i;
	if (i < STABLE)
		went_back += (slot & 0xfffff) < (version_before & 0xfffff) &&
			     (version_done[i] >> 20) == (version_before >> 20);
}

static void *read_all(void *arg)
{
	uint32_t x = (uint32_t)(uintptr_t)arg * 7919 + 1;

	while (!stop) {
		uint64_t batch[48], before[48];
		uint32_t slots[48], which[48];

		for (unsigned k = 0; k < 48; k++) {
			x = x * 1664525 + 1013904223;
			which[k] = (x >> 16) % KEYS;
			before[k] = version_done[which[k]];
			batch[k] = conn ? conn_key(which[k]) : flow_id(which[k]);
		}
		if (x & 0x80000000) {
			for (unsigned k = 0; k < 48; k++)
				slots[k] = conn ? conn_table_lookup(conn, batch[k])
						: flow_id_table_lookup(flow, batch[k]);
		} else if (conn) {
			conn_table_lookup_batch(conn, batch, slots, 48);
		} else {
			flow_id_table_lookup_batch(flow, batch, slots, 48);
		}
		for (unsigned k = 0; k < 48; k++)
			(conn ? check_conn : check_flow)(which[k], slots[k], before[k]);
	}
	return NULL;
}

static int insert(uint32_t i, uint64_t version)
{
	return conn ? conn_table_insert(conn, conn_key(i), (uint16_t)conn_slot(i, version))
		    : flow_id_table_insert(flow, flow_id(i), flow_slot(i, version));
}

static int move(uint32_t i, uint64_t version)
{
	return conn ? conn_table_move(conn, conn_key(i), (uint16_t)conn_slot(i, version))
		    : flow_id_table_move(flow, flow_id(i), flow_slot(i, version));
}

static void write_some(uint64_t *version)
{
	uint32_t i = (uint32_t)rand() % KEYS;

	if (i < STABLE) {
		missed += move(i, ++version[i]) != 0;
		version_done[i] = version[i];
		return;
	}
	switch (rand() % 3) {
	case 0:
		if (conn)
			conn_table_erase(conn, conn_key(i));
		else
			flow_id_table_erase(flow, flow_id(i));
		break;
	case 1:
		move(i, ++version[i]);
		break;
	default:
		insert(i, ++version[i]);
	}
}

/* Expires idle keys; the stable ones are used in time. */
static void write_sweep(void)
{
	for (uint32_t i = 0; i < STABLE; i++)
		missed += (conn ? conn_table_touch(conn, conn_key(i))
				: flow_id_table_touch(flow, flow_id(i))) != 0;
	if (conn)
		conn_table_sweep(conn, conn->n_lines, NULL, NULL);
	else
		flow_id_table_sweep(flow, flow->n_lines, NULL, NULL);
}

static void run(void)
{
	static uint64_t version[KEYS];
	pthread_t reader[READERS];

	memset(version, 0, sizeof(version));
	memset(version_done, 0, sizeof(version_done));
	stop = false;
	wrong = missed = looked = went_back = 0;
	srand(9);
	for (uint32_t i = 0; i < STABLE; i++)
		ck_assert_int_eq(insert(i, 0), 0);
	for (uintptr_t r = 0; r < READERS; r++)
		ck_assert_int_eq(pthread_create(&reader[r], NULL, read_all, (void *)r), 0);
	/* until the readers have seen enough beside the writer, however the machine schedules them
	 */
	for (unsigned step = 0; step < 400000 || looked < 200000; step++) {
		write_some(version);
		if (step % 512 == 0)
			write_sweep();
	}
	stop = true;
	for (unsigned r = 0; r < READERS; r++)
		pthread_join(reader[r], NULL);
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(missed, 0);
	ck_assert_uint_eq(went_back, 0);
}

START_TEST(conn_readers_see_no_wrong_slot)
{
	struct conn_table_attr attr = {
		.max_entries = KEYS - 100, .max_age = 2, .isa = (enum simd_isa)_i};

	if (!simd_has(attr.isa))
		return;
	ck_assert_int_eq(conn_table_create(&conn, &attr), 0);
	run();
	conn_table_destroy(conn);
	conn = NULL;
}
END_TEST

START_TEST(flow_id_readers_see_no_wrong_slot)
{
	struct flow_id_table_attr attr = {
		.max_entries = KEYS - 100, .max_age = 2, .isa = (enum simd_isa)_i};

	if (!simd_has(attr.isa))
		return;
	ck_assert_int_eq(flow_id_table_create(&flow, &attr), 0);
	run();
	flow_id_table_destroy(flow);
	flow = NULL;
}
END_TEST

static void *read_replaced(void *arg)
{
	uint32_t i = 0;

	(void)arg;
	while (!stop) {
		uint32_t slot = flow_id_table_lookup(flow, flow_id(i));

		wrong += slot != FLOW_ID_TABLE_NONE && slot >> 20 != i;
		looked += slot != FLOW_ID_TABLE_NONE;
		i = (i + 1) % 8;
	}
	return NULL;
}

/*
 * One line whose lanes go from flow to flow as fast as the writer can: a reader that paired the id
 * of one with the slot of the next would show here.
 */
START_TEST(a_slot_is_never_paired_with_a_former_id)
{
	struct flow_id_table_attr attr = {.max_entries = 2};
	pthread_t reader;

	ck_assert_int_eq(flow_id_table_create(&flow, &attr), 0);
	stop = false;
	wrong = looked = 0;
	ck_assert_int_eq(pthread_create(&reader, NULL, read_replaced, NULL), 0);
	for (uint32_t step = 0; step < 4000000 || looked < 200000; step++) {
		flow_id_table_insert(flow, flow_id(step % 8), flow_slot(step % 8, step));
		flow_id_table_erase(flow, flow_id((step + 7) % 8));
	}
	stop = true;
	pthread_join(reader, NULL);
	flow_id_table_destroy(flow);
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("conn_table_threads");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, conn_readers_see_no_wrong_slot, SIMD_SCALAR, SIMD_COUNT);
	tcase_add_loop_test(t, flow_id_readers_see_no_wrong_slot, SIMD_SCALAR, SIMD_COUNT);
	tcase_add_test(t, a_slot_is_never_paired_with_a_former_id);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
