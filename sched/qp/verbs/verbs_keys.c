/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/verbs/verbs_keys.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static struct verbs_key_entry *set_of(struct verbs_keys *keys, const struct in6_addr *address,
				      uint32_t key)
{
	uint64_t low;

	memcpy(&low, address->s6_addr + 8, sizeof(low));
	low = (low ^ key) * UINT64_C(0x9e3779b97f4a7c15);
	return keys->entries[low >> 32 & (VERBS_KEYS_SETS - 1)];
}

static bool is_peer(const struct verbs_key_entry *e, const struct verbs_key_peer *peer)
{
	return e->state != VERBS_KEY_FREE && e->peer.port == peer->port &&
	       IN6_ARE_ADDR_EQUAL(&e->peer.address, &peer->address);
}

static struct verbs_key_entry *verbs_keys_find(struct verbs_keys *keys,
					       const struct verbs_key_peer *peer, uint32_t key)
{
	struct verbs_key_entry *set = set_of(keys, &peer->address, key);

	for (unsigned i = 0; i < VERBS_KEYS_PER_SET; i++)
		if (set[i].key == key && is_peer(&set[i], peer))
			return &set[i];
	return NULL;
}

static struct verbs_key_entry *find_asked(struct verbs_keys *keys, const struct in6_addr *from,
					  uint32_t key, uint64_t nonce)
{
	struct verbs_key_entry *set = set_of(keys, from, key);

	for (unsigned i = 0; i < VERBS_KEYS_PER_SET; i++)
		if (set[i].state != VERBS_KEY_FREE && set[i].key == key && set[i].nonce &&
		    set[i].nonce == nonce && IN6_ARE_ADDR_EQUAL(&set[i].peer.address, from))
			return &set[i];
	return NULL;
}

/* A free place, or that of the entry unused for longest. */
static struct verbs_key_entry *verbs_keys_make(struct verbs_keys *keys,
					       const struct verbs_key_peer *peer, uint32_t key)
{
	struct verbs_key_entry *set = set_of(keys, &peer->address, key), *e = set;

	for (unsigned i = 1; i < VERBS_KEYS_PER_SET && e->state != VERBS_KEY_FREE; i++)
		if (set[i].state == VERBS_KEY_FREE || set[i].used_ns < e->used_ns)
			e = &set[i];
	*e = (struct verbs_key_entry){.state = VERBS_KEY_ASKED, .peer = *peer, .key = key};
	return e;
}

int verbs_keys_lookup(struct verbs_keys *keys, const struct verbs_key_peer *peer, uint32_t key,
		      uint16_t plane, uint16_t sub_port, uint64_t now_ns, uint64_t random,
		      uint32_t *rkey, uint64_t *nonce)
{
	struct verbs_key_entry *e = verbs_keys_find(keys, peer, key);

	*nonce = 0;
	if (plane >= FARE_MAX_PLANES || sub_port >= FARE_MAX_SUB_PORTS)
		return -EACCES;
	if (!e)
		e = verbs_keys_make(keys, peer, key);
	e->used_ns = now_ns;
	if (e->state == VERBS_KEY_KNOWN && e->has[plane] >> sub_port & 1) {
		*rkey = e->rkeys[plane][sub_port];
		return 0;
	}
	if (e->state == VERBS_KEY_REFUSED && now_ns - e->answered_ns < VERBS_KEYS_REFUSE_NS)
		return -EACCES;
	/* unknown, or the peer had no device there when it answered */
	if (e->nonce && now_ns - e->asked_ns < VERBS_KEYS_ASK_NS)
		return -EAGAIN;
	if (!e->nonce)
		e->nonce = random;
	e->asked_ns = now_ns;
	*nonce = e->nonce;
	return -EAGAIN;
}

void verbs_keys_forget(struct verbs_keys *keys, const struct verbs_key_peer *peer, uint16_t plane,
		       uint16_t sub_port)
{
	if (plane >= FARE_MAX_PLANES || sub_port >= FARE_MAX_SUB_PORTS)
		return;
	for (unsigned set = 0; set < VERBS_KEYS_SETS; set++) {
		for (unsigned i = 0; i < VERBS_KEYS_PER_SET; i++) {
			struct verbs_key_entry *e = &keys->entries[set][i];

			if (!is_peer(e, peer))
				continue;
			e->has[plane] &= (uint8_t) ~(1u << sub_port);
			e->nonce = 0; /* an answer under way may be older than this */
		}
	}
}

int verbs_keys_answer(struct verbs_keys *keys, const struct in6_addr *from,
		      const struct verbs_wire_message *m, uint64_t now_ns)
{
	struct verbs_key_entry *e = find_asked(keys, from, m->key, m->nonce);

	if (!e)
		return -ENOENT;
	e->nonce = 0;
	e->answered_ns = now_ns;
	e->state = m->n_keys ? VERBS_KEY_KNOWN : VERBS_KEY_REFUSED;
	memset(e->has, 0, sizeof(e->has));
	for (unsigned i = 0; i < m->n_keys; i++) {
		e->has[m->keys[i].plane] |= (uint8_t)(1u << m->keys[i].sub_port);
		e->rkeys[m->keys[i].plane][m->keys[i].sub_port] = m->keys[i].rkey;
	}
	return 0;
}
