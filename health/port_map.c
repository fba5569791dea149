/* SPDX-License-Identifier: BSD-2-Clause */
/* port_map.c - see port_map.h */
#include "port_map.h"

#include <string.h>

#include "health_limits.h"

_Static_assert(HEALTH_PORTS_SILENT_MIN == 3 * PORT_MAP_SLOTS, "three rounds");
_Static_assert(HEALTH_PORT_NS *PORT_MAP_SLOTS == 2000 * HEALTH_MS_NS, "a round in two seconds");
_Static_assert(HEALTH_TRIES_MAX == 6 * PORT_MAP_SLOTS, "six rounds");

#define PORT_COUNT (ROCE_SOURCE_PORT_LAST + 1 - FARE_LEARNED_PORT_FIRST)

void port_map_init(struct port_map *m)
{
	memset(m, 0, sizeof(*m));
}

static uint8_t nth_live(uint32_t live, unsigned i)
{
	for (i %= (unsigned)__builtin_popcount(live); i; i--)
		live &= live - 1;
	return (uint8_t)__builtin_ctz(live);
}

static void set_verified(struct port_map *m, struct port_map_slot *s, bool verified)
{
	m->n_verified = (uint8_t)(m->n_verified + verified - s->verified);
	s->verified = verified;
}

static void forget(struct port_map *m, struct port_map_slot *s)
{
	set_verified(m, s, false);
	*s = (struct port_map_slot){.local = s->local, .remote = -1};
}

/* A port of the pool that the slot's sub-port has not tried; if there is none, any other. */
static uint16_t draw(struct port_map *m, const struct port_map_slot *s, uint32_t random)
{
	for (unsigned k = 0; k < FARE_SOURCE_PORTS; k++) {
		unsigned p = (random + k) % FARE_SOURCE_PORTS;

		if (m->drawn[s->local] >> p & 1)
			continue;
		m->drawn[s->local] |= (uint16_t)(1u << p);
		return (uint16_t)(FARE_SOURCE_PORT_FIRST + p);
	}
	return (uint16_t)(FARE_LEARNED_PORT_FIRST + random % PORT_COUNT);
}

/* The pool may be drawn from again, except for what has a slot. */
static void renew_pool(struct port_map *m)
{
	memset(m->drawn, 0, sizeof(m->drawn));
	for (unsigned i = 0; i < PORT_MAP_SLOTS; i++) {
		const struct port_map_slot *s = &m->slots[i];

		if (s->port && s->port - FARE_SOURCE_PORT_FIRST < FARE_SOURCE_PORTS)
			m->drawn[s->local] |= (uint16_t)(1u << (s->port - FARE_SOURCE_PORT_FIRST));
	}
}

static void doubt_all(struct port_map *m, uint64_t now)
{
	for (unsigned i = 0; i < PORT_MAP_SLOTS; i++)
		set_verified(m, &m->slots[i], false);
	renew_pool(m);
	m->tries = 0;
	m->next_ns = now;
}

/* Local sub-ports take turns over the slots. */
static void follow_live(struct port_map *m, uint32_t live)
{
	if (m->live == live)
		return;
	m->live = live;
	m->tries = 0;
	m->next_ns = 0;
	for (unsigned i = 0; i < PORT_MAP_SLOTS; i++) {
		uint8_t local = nth_live(live, i);

		if (m->slots[i].port && m->slots[i].local == local)
			continue;
		m->slots[i].local = local;
		forget(m, &m->slots[i]);
	}
	renew_pool(m);
}

static uint64_t pace(const struct port_map *m)
{
	if (m->silent >= HEALTH_PORTS_SILENT_MIN)
		return HEALTH_PORTS_SILENT_NS;
	return port_map_is_settled(m) ? HEALTH_PORT_NS : HEALTH_LEARN_NS;
}

/* Those in doubt first; never one whose answer may still be under way. */
static struct port_map_slot *choose(struct port_map *m, uint64_t now)
{
	struct port_map_slot *best = NULL;

	for (unsigned k = 0; k < PORT_MAP_SLOTS; k++) {
		struct port_map_slot *s = &m->slots[(m->cursor + k) % PORT_MAP_SLOTS];

		if (s->pending && now < s->sent_ns + HEALTH_BLIND_NS)
			continue;
		if (!s->verified)
			return s;
		if (!best)
			best = s;
	}
	return best;
}

bool port_map_next(struct port_map *m, uint64_t now, uint32_t live, uint64_t nonce,
		   struct port_map_probe *out)
{
	struct port_map_slot *s;

	if (!live)
		return false;
	follow_live(m, live);
	s = now >= m->next_ns ? choose(m, now) : NULL;
	if (!s)
		return false;
	if (s->pending && ++s->misses >= HEALTH_MISSES_MAX) {
		forget(m, s);
		renew_pool(m); /* it was no port's fault: all may be drawn again */
	}
	if (!s->port)
		s->port = draw(m, s, (uint32_t)(nonce >> 32));
	s->pending = true;
	s->nonce = nonce;
	s->sent_ns = now;
	m->cursor = (uint8_t)((s - m->slots + 1) % PORT_MAP_SLOTS);
	m->silent += m->silent < HEALTH_PORTS_SILENT_MIN;
	m->next_ns = now + pace(m);
	*out = (struct port_map_probe){(uint8_t)(s - m->slots), s->local, s->port};
	return true;
}

/* How many slots a (local, remote) pair should have at most. */
static unsigned quota(const struct port_map *m)
{
	unsigned pairs = (unsigned)__builtin_popcount(m->live) * (m->n_remote ? m->n_remote : 1u);

	return pairs < PORT_MAP_SLOTS ? (PORT_MAP_SLOTS + pairs - 1) / pairs : 1;
}

static bool is_crowded(const struct port_map *m, const struct port_map_slot *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PORT_MAP_SLOTS; i++)
		n += m->slots[i].port && m->slots[i].local == s->local &&
		     m->slots[i].remote == s->remote;
	return n > quota(m);
}

bool port_map_arrived(struct port_map *m, uint64_t now, uint32_t slot, uint64_t nonce,
		      uint8_t remote, uint8_t n_remote)
{
	struct port_map_slot *s;

	if (slot >= PORT_MAP_SLOTS || !m->slots[slot].pending || m->slots[slot].nonce != nonce)
		return false;
	s = &m->slots[slot];
	m->answered_ever = true;
	m->silent = 0;
	m->n_remote = n_remote;
	s->pending = false;
	s->misses = 0;
	if (s->remote >= 0 && s->remote != (int8_t)remote) {
		doubt_all(m, now);
		m->rehashed = true;
	}
	s->remote = (int8_t)remote;
	set_verified(m, s, true);
	if (m->tries < HEALTH_TRIES_MAX && is_crowded(m, s)) {
		m->tries++;
		forget(m, s);
	}
	return true;
}

void port_map_doubt(struct port_map *m, uint64_t now)
{
	if (!m->answered_ever || (m->doubted_ns && now < m->doubted_ns + HEALTH_DOUBT_NS))
		return;
	m->doubted_ns = now;
	doubt_all(m, now);
}

bool port_map_is_settled(const struct port_map *m)
{
	return m->n_verified == PORT_MAP_SLOTS;
}

static bool precedes(const struct port_map_entry *a, const struct port_map_entry *b)
{
	return a->local != b->local	? a->local < b->local
	       : a->remote != b->remote ? a->remote < b->remote
					: a->port < b->port;
}

bool port_map_news(struct port_map *m, struct port_map_entry out[PORT_MAP_SLOTS], uint32_t *n,
		   bool *rehashed)
{
	*n = 0;
	if (!port_map_is_settled(m))
		return false;
	for (unsigned i = 0; i < PORT_MAP_SLOTS; i++) {
		const struct port_map_slot *s = &m->slots[i];
		struct port_map_entry e = {s->port, s->local, (uint8_t)s->remote};
		uint32_t at = (*n)++;

		for (; at && precedes(&e, &out[at - 1]); at--)
			out[at] = out[at - 1];
		out[at] = e;
	}
	*rehashed = m->rehashed;
	m->rehashed = false;
	if (*n == m->n_told && !memcmp(out, m->told, *n * sizeof(*out)))
		return false;
	m->n_told = (uint8_t)*n;
	memcpy(m->told, out, *n * sizeof(*out));
	return true;
}
