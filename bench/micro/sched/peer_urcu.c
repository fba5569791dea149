/* SPDX-License-Identifier: BSD-2-Clause */
/* peer_urcu.c - liburcu's cds_lfht with the cheapest readers it has (qsbr), sized at once, nodes in
 * one block. */
#include <errno.h>
#include <stdlib.h>

#define RCU_MEMBARRIER_UNUSED
#define _LGPL_SOURCE 1
#include <urcu-qsbr.h>
#include <urcu/rculfhash.h>

#include "micro/sched/lookup_peer.h"

struct node {
	struct cds_lfht_node link;
	uint64_t key;
	uint32_t value;
};

struct table {
	struct cds_lfht *ht;
	struct node *nodes;
	size_t n;
};

static int matches(struct cds_lfht_node *link, const void *key)
{
	return caa_container_of(link, struct node, link)->key == *(const uint64_t *)key;
}

static void urcu_destroy(void *table)
{
	struct table *t = table;

	if (!t)
		return;
	if (t->ht) {
		urcu_qsbr_register_thread();
		for (size_t i = 0; i < t->n; i++)
			cds_lfht_del(t->ht, &t->nodes[i].link);
		urcu_qsbr_quiescent_state();
		cds_lfht_destroy(t->ht, NULL);
		urcu_qsbr_unregister_thread();
	}
	free(t->nodes);
	free(t);
}

static int urcu_create(void **out, const uint64_t *keys, size_t n)
{
	struct table *t = calloc(1, sizeof(*t));
	unsigned long buckets = 1;

	*out = t;
	if (!t)
		return -ENOMEM;
	while (buckets < n)
		buckets *= 2;
	t->nodes = calloc(n, sizeof(*t->nodes));
	t->ht = cds_lfht_new_flavor(buckets, buckets, buckets, 0, &urcu_qsbr_flavor, NULL);
	if (!t->nodes || !t->ht)
		return -ENOMEM;
	urcu_qsbr_register_thread();
	for (; t->n < n; t->n++) {
		struct node *node = &t->nodes[t->n];

		cds_lfht_node_init(&node->link);
		node->key = keys[t->n];
		node->value = (uint32_t)(t->n & 0xffff);
		cds_lfht_add(t->ht, (unsigned long)lookup_peer_mix(node->key), &node->link);
	}
	urcu_qsbr_unregister_thread();
	return 0;
}

static uint64_t urcu_lookup(void *table, const uint64_t *keys, size_t n)
{
	struct table *t = table;
	uint64_t sum = 0;

	urcu_qsbr_register_thread();
	for (size_t i = 0; i < n; i++) {
		struct cds_lfht_iter iter;
		struct cds_lfht_node *link;

		cds_lfht_lookup(t->ht, (unsigned long)lookup_peer_mix(keys[i]), matches, &keys[i],
				&iter);
		link = cds_lfht_iter_get_node(&iter);
		sum += link ? caa_container_of(link, struct node, link)->value : 1;
	}
	urcu_qsbr_unregister_thread();
	return sum;
}

const struct lookup_peer lookup_peer_urcu = {"cds_lfht", urcu_create, urcu_destroy, urcu_lookup,
					     NULL};
