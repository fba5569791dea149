/* SPDX-License-Identifier: BSD-2-Clause */
#include "mr_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void mr_table_fini(struct mr_table *table)
{
	free(table->slots);
	memset(table, 0, sizeof(*table));
}

struct mr_slot {
	uint8_t *addr;
	size_t length;
	struct qp_mr keys;
	unsigned access;
	bool live;
};

static int mr_table_grow(struct mr_table *table)
{
	size_t n = table->n_slots ? table->n_slots * 2 : 64;
	struct mr_slot *slots;

	if (table->n_slots >= MR_TABLE_MAX)
		return -ENOSPC;
	if (n > MR_TABLE_MAX)
		n = MR_TABLE_MAX;
	slots = realloc(table->slots, n * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots + table->n_slots, 0, (n - table->n_slots) * sizeof(*slots));
	table->slots = slots;
	table->next = table->n_slots;
	table->n_slots = n;
	return 0;
}

static int find_free(struct mr_table *table, size_t *index)
{
	for (size_t i = 0; i < table->n_slots; i++) {
		*index = (table->next + i) % table->n_slots;
		if (!table->slots[*index].live)
			return 0;
	}
	return -ENOSPC;
}

int mr_table_add(struct mr_table *table, void *addr, size_t length, unsigned access,
		 uint32_t random, struct qp_mr *out)
{
	struct mr_slot *slot;
	uint32_t base;
	size_t index;
	int err;

	if (!length || (uintptr_t)addr > UINTPTR_MAX - length ||
	    access & ~(QP_ACCESS_REMOTE_WRITE | QP_ACCESS_REMOTE_READ))
		return -EINVAL;
	if (find_free(table, &index)) {
		err = mr_table_grow(table);
		if (err)
			return err;
		index = table->next;
	}
	table->next = (index + 1) % table->n_slots;
	slot = &table->slots[index];
	base = (uint32_t)(index + 1) << 16; /* no key is ever 0 */
	/* the keys of a place differ from those that it had before */
	if ((random & 0xffff) == (slot->keys.rkey & 0xffff))
		random++;
	*slot = (struct mr_slot){
		.addr = addr,
		.length = length,
		.keys = {.lkey = base | ((slot->keys.lkey + 1) & 0xffff),
			 .rkey = base | (random & 0xffff)},
		.access = access,
		.live = true,
	};
	*out = slot->keys;
	return 0;
}

static struct mr_slot *mr_table_find(const struct mr_table *table, uint32_t key)
{
	size_t index = key >> 16;

	if (!index || index > table->n_slots || !table->slots[index - 1].live)
		return NULL;
	return &table->slots[index - 1];
}

int mr_table_remove(struct mr_table *table, const struct qp_mr *keys)
{
	struct mr_slot *slot = mr_table_find(table, keys->lkey);

	if (!slot || slot->keys.lkey != keys->lkey || slot->keys.rkey != keys->rkey)
		return -ENOENT;
	slot->live = false;
	return 0;
}

static bool inside(const struct mr_slot *slot, uint64_t addr, uint64_t bytes)
{
	uint64_t start = (uintptr_t)slot->addr;

	/* subtractions only: a sum of hostile numbers could wrap */
	return addr >= start && bytes <= slot->length && addr - start <= slot->length - bytes;
}

bool mr_table_local_ok(const struct mr_table *table, uint32_t lkey, const void *data,
		       uint64_t bytes)
{
	const struct mr_slot *slot;

	if (!bytes)
		return true;
	slot = mr_table_find(table, lkey);
	return slot && slot->keys.lkey == lkey && inside(slot, (uintptr_t)data, bytes);
}

bool mr_table_remote_ok(const struct mr_table *table, uint32_t rkey, unsigned access, uint64_t addr,
			uint64_t bytes)
{
	const struct mr_slot *slot;

	if (!bytes)
		return true;
	slot = mr_table_find(table, rkey);
	return slot && slot->keys.rkey == rkey && slot->access & access &&
	       inside(slot, addr, bytes);
}

int mr_table_place(const struct mr_table *table, uint32_t rkey, uint64_t addr, const void *data,
		   size_t bytes)
{
	if (!mr_table_remote_ok(table, rkey, QP_ACCESS_REMOTE_WRITE, addr, bytes))
		return -EACCES;
	if (bytes)
		memcpy((void *)(uintptr_t)addr, data, bytes);
	return 0;
}

int mr_table_place_local(const struct mr_table *table, uint32_t lkey, void *to, const void *data,
			 size_t bytes)
{
	if (!mr_table_local_ok(table, lkey, to, bytes))
		return -EACCES;
	if (bytes)
		memcpy(to, data, bytes);
	return 0;
}
