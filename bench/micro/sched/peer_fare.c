/* SPDX-License-Identifier: BSD-2-Clause */
/* peer_fare.c - our own two tables, measured as the others are. */
#include "conn_table.h"
#include "flow_id_table.h"
#include "micro/sched/lookup_peer.h"

static int conn_create(void **out, const uint64_t *keys, size_t n)
{
	struct conn_table_attr attr = {.max_entries = (uint32_t)n, .seed = 1};
	struct conn_table *t;
	int err = conn_table_create(&t, &attr);

	for (size_t i = 0; !err && i < n; i++)
		err = conn_table_insert(t, keys[i], (uint16_t)i);
	*out = t;
	return err;
}

static void conn_destroy(void *table)
{
	conn_table_destroy(table);
}

static uint64_t conn_lookup(void *table, const uint64_t *keys, size_t n)
{
	const struct conn_table *t = table;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t slot = conn_table_lookup(t, keys[i]);

		sum += slot == CONN_TABLE_NONE ? 1 : slot;
	}
	return sum;
}

static uint64_t conn_batch(void *table, const uint64_t *keys, size_t n, size_t at_once)
{
	const struct conn_table *t = table;
	uint32_t slots[LOOKUP_PEER_BATCH];
	uint64_t sum = 0;

	for (size_t i = 0; i + at_once <= n; i += at_once) {
		conn_table_lookup_batch(t, keys + i, slots, at_once);
		for (size_t k = 0; k < at_once; k++)
			sum += slots[k] == CONN_TABLE_NONE ? 1 : slots[k];
	}
	return sum;
}

const struct lookup_peer lookup_peer_conn = {"fare-conn", conn_create, conn_destroy, conn_lookup,
					     conn_batch};

static int flow_create(void **out, const uint64_t *keys, size_t n)
{
	struct flow_id_table_attr attr = {.max_entries = (uint32_t)n, .seed = 1};
	struct flow_id_table *t;
	int err = flow_id_table_create(&t, &attr);

	for (size_t i = 0; !err && i < n; i++)
		err = flow_id_table_insert(t, keys[i], (uint16_t)i);
	*out = t;
	return err;
}

static void flow_destroy(void *table)
{
	flow_id_table_destroy(table);
}

static uint64_t flow_lookup(void *table, const uint64_t *keys, size_t n)
{
	const struct flow_id_table *t = table;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t slot = flow_id_table_lookup(t, keys[i]);

		sum += slot == FLOW_ID_TABLE_NONE ? 1 : slot;
	}
	return sum;
}

static uint64_t flow_batch(void *table, const uint64_t *keys, size_t n, size_t at_once)
{
	const struct flow_id_table *t = table;
	uint32_t slots[LOOKUP_PEER_BATCH];
	uint64_t sum = 0;

	for (size_t i = 0; i + at_once <= n; i += at_once) {
		flow_id_table_lookup_batch(t, keys + i, slots, at_once);
		for (size_t k = 0; k < at_once; k++)
			sum += slots[k] == FLOW_ID_TABLE_NONE ? 1 : slots[k];
	}
	return sum;
}

const struct lookup_peer lookup_peer_flow_id = {"fare-flow-id", flow_create, flow_destroy,
						flow_lookup, flow_batch};
