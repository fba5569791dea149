/* SPDX-License-Identifier: BSD-2-Clause */
/* peer_glib.c - GHashTable with keys and values held in its pointers, and a hash that uses all of a
 * key. */
#include <errno.h>

#include <glib.h>

#include "micro/sched/lookup_peer.h"

static guint glib_hash(gconstpointer key)
{
	return (guint)lookup_peer_mix((uint64_t)(uintptr_t)key);
}

static int glib_create(void **out, const uint64_t *keys, size_t n)
{
	GHashTable *t =
		g_hash_table_new(glib_hash, NULL); /* NULL: compares pointers, without a call */

	for (size_t i = 0; i < n; i++)
		g_hash_table_insert(t, (gpointer)(uintptr_t)keys[i],
				    (gpointer)(uintptr_t)((i & 0xffff) + 1));
	*out = t;
	return 0;
}

static void glib_destroy(void *table)
{
	g_hash_table_destroy(table);
}

static uint64_t glib_lookup(void *table, const uint64_t *keys, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		uintptr_t value =
			(uintptr_t)g_hash_table_lookup(table, (gconstpointer)(uintptr_t)keys[i]);

		sum += value ? value - 1 : 1;
	}
	return sum;
}

const struct lookup_peer lookup_peer_glib = {"GHashTable", glib_create, glib_destroy, glib_lookup,
					     NULL};
