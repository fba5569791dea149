/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/port_path.h"

#include <string.h>

/* The number of an echo: its slot in the low bits, the number of its round above. */
#define SLOT_BITS 7
_Static_assert(FARE_MAX_SUB_PORTS *FARE_SOURCE_PORTS <= 1 << SLOT_BITS, "slots");
_Static_assert(FARE_SOURCE_PORTS <= 16, "a mask of ports has 16 bits");

size_t port_path_bytes(unsigned n_sub_ports)
{
	return sizeof(struct port_path) +
	       n_sub_ports * FARE_SOURCE_PORTS * sizeof(struct port_slot);
}

static unsigned n_slots(const struct port_path *path)
{
	return path->n_sub_ports * FARE_SOURCE_PORTS;
}

static bool is_live(const struct port_path *path, unsigned local)
{
	return path->live >> local & 1;
}

struct port_slot *port_path_slot(struct port_path *path, unsigned local, uint16_t port)
{
	unsigned p = port - FARE_SOURCE_PORT_FIRST;

	return local < path->n_sub_ports && p < FARE_SOURCE_PORTS
		       ? &path->slots[local * FARE_SOURCE_PORTS + p]
		       : NULL;
}

uint16_t port_path_port(const struct port_path *path, const struct port_slot *slot)
{
	return (uint16_t)(FARE_SOURCE_PORT_FIRST + (slot - path->slots) % FARE_SOURCE_PORTS);
}

uint32_t port_path_remotes(const struct port_path *path)
{
	uint32_t remotes = 0;

	for (unsigned i = 0; i < n_slots(path); i++)
		if (path->slots[i].is_known && is_live(path, i / FARE_SOURCE_PORTS))
			remotes |= 1u << path->slots[i].remote;
	return remotes;
}

void port_path_forget(struct port_path *path)
{
	for (unsigned i = 0; i < n_slots(path); i++)
		if (!path->nonce ||
		    !(path->answered[i / FARE_SOURCE_PORTS] >> i % FARE_SOURCE_PORTS & 1))
			path->slots[i].is_known = false;
}

/* ---- picking ---- */

static void note(struct port_pick *pick, unsigned local, unsigned p, const struct port_slot *slot)
{
	pick->taken[local] |= (uint16_t)(1u << p);
	pick->used |= (uint16_t)(1u << p);
	if (!slot->is_known)
		return;
	pick->load[slot->remote]++;
	pick->pair[local][slot->remote]++;
}

/* The lowest cost is best. Users of other groups saturate, because they only break ties. */
static uint64_t cost_of(const struct port_pick *pick, const struct port_slot *slot, unsigned local,
			unsigned p, const uint32_t *others)
{
	bool known = slot->is_known;
	uint64_t cost = !known;
	uint32_t all = known ? others[slot->remote] : 0;

	cost = cost << 8 | (known ? pick->load[slot->remote] : 0);
	cost = cost << 8 | (known ? pick->pair[local][slot->remote] : 0);
	cost = cost << 1 | (pick->taken[local] >> p & 1);
	cost = cost << 16 | (all < UINT16_MAX ? all : UINT16_MAX);
	cost = cost << 1 | (pick->used >> p & 1);
	return cost << 16 | slot->n_users;
}

struct port_slot *port_path_pick(struct port_path *path, struct port_pick *pick, unsigned local,
				 bool distinct)
{
	uint32_t others[FARE_MAX_SUB_PORTS] = {0};
	struct port_slot *best = NULL;
	uint64_t least = UINT64_MAX;

	if (local >= path->n_sub_ports)
		return NULL;
	for (unsigned i = 0; i < n_slots(path); i++)
		if (path->slots[i].is_known)
			others[path->slots[i].remote] += path->slots[i].n_users;
	for (unsigned p = 0; p < FARE_SOURCE_PORTS; p++) {
		struct port_slot *slot = &path->slots[local * FARE_SOURCE_PORTS + p];
		bool taken = pick->taken[local] >> p & 1;
		uint64_t cost = cost_of(pick, slot, local, p, others);

		if (pick->refused[local] >> p & 1 || (distinct && taken) || cost >= least)
			continue;
		least = cost;
		best = slot;
	}
	if (best)
		note(pick, local, (unsigned)(best - path->slots) % FARE_SOURCE_PORTS, best);
	return best;
}

void port_path_note(struct port_path *path, struct port_pick *pick, unsigned local, uint16_t port)
{
	const struct port_slot *slot = port_path_slot(path, local, port);

	if (slot)
		note(pick, local, port - FARE_SOURCE_PORT_FIRST, slot);
}

void port_path_refuse(struct port_path *path, struct port_pick *pick, unsigned local, uint16_t port)
{
	const struct port_slot *slot = port_path_slot(path, local, port);

	if (!slot)
		return;
	pick->refused[local] |= (uint16_t)(1u << (port - FARE_SOURCE_PORT_FIRST));
	if (!slot->is_known)
		return;
	pick->load[slot->remote]--;
	pick->pair[local][slot->remote]--;
}

/* ---- the exchange ---- */

void port_path_begin(struct port_path *path, uint64_t nonce)
{
	path->nonce = nonce;
	memset(path->asked, 0, sizeof(path->asked));
	memset(path->answered, 0, sizeof(path->answered));
	path->n_asked = path->n_answered = path->sends = 0;
}

void port_path_end(struct port_path *path)
{
	path->nonce = 0;
}

static void port_path_ask(struct port_path *path, unsigned local, unsigned p)
{
	path->asked[local] |= (uint16_t)(1u << p);
	path->n_asked++;
}

bool port_path_ask_more(struct port_path *path, unsigned n, bool known_first)
{
	uint16_t before = path->n_asked;

	for (unsigned s = 0; s < path->n_sub_ports; s++) {
		unsigned left = is_live(path, s) ? n : 0;
		/*
		 * The hash of a leaf may not include the link of arrival. Then a port leads to the
		 * same remote sub-port from all local ones. So each local sub-port begins with
		 * other ports; and each plane, as QPs of a pair are to have ports of their own.
		 */
		unsigned first = (path->plane * path->n_sub_ports + s) * FARE_SOURCE_PORTS /
				 (path->n_planes * path->n_sub_ports);

		for (int turn = 0; turn <= 1; turn++) {
			for (unsigned k = 0; k < FARE_SOURCE_PORTS && left; k++) {
				unsigned p = (first + k) % FARE_SOURCE_PORTS;
				const struct port_slot *slot =
					&path->slots[s * FARE_SOURCE_PORTS + p];

				if (path->asked[s] >> p & 1 ||
				    slot->is_known != (known_first ^ turn))
					continue;
				port_path_ask(path, s, p);
				left--;
			}
		}
	}
	return path->n_asked > before;
}

bool port_path_ask_used(struct port_path *path)
{
	for (unsigned i = 0; i < n_slots(path); i++)
		if (path->slots[i].n_users && is_live(path, i / FARE_SOURCE_PORTS))
			port_path_ask(path, i / FARE_SOURCE_PORTS, i % FARE_SOURCE_PORTS);
	return path->n_asked > 0;
}

void port_path_set_live(struct port_path *path, uint32_t live)
{
	path->live = live;
	path->n_asked = path->n_answered = 0;
	for (unsigned s = 0; s < path->n_sub_ports; s++) {
		if (!is_live(path, s))
			path->asked[s] = path->answered[s] = 0;
		path->n_asked += (uint16_t)__builtin_popcount(path->asked[s]);
		path->n_answered += (uint16_t)__builtin_popcount(path->answered[s]);
	}
}

bool port_path_all_answered(const struct port_path *path)
{
	return path->n_answered == path->n_asked;
}

void port_path_sent(struct port_path *path, uint64_t now_ns)
{
	path->sent_ns[path->sends % PORT_PATH_SENDS] = now_ns;
	path->sends++;
}

bool port_path_next_echo(const struct port_path *path, unsigned *i, struct port_echo *out)
{
	for (; *i < n_slots(path); ++*i) {
		unsigned s = *i / FARE_SOURCE_PORTS, p = *i % FARE_SOURCE_PORTS;

		if (!((path->asked[s] & ~path->answered[s]) >> p & 1))
			continue;
		out->local = (uint16_t)s;
		out->port = (uint16_t)(FARE_SOURCE_PORT_FIRST + p);
		out->candidate = (uint16_t)(*i | (unsigned)(path->sends - 1) << SLOT_BITS);
		++*i;
		return true;
	}
	return false;
}

void port_path_unusable(struct port_path *path, const struct port_echo *echo)
{
	unsigned p = echo->port - FARE_SOURCE_PORT_FIRST;

	path->answered[echo->local] |= (uint16_t)(1u << p);
	path->n_answered++;
	path->slots[echo->local * FARE_SOURCE_PORTS + p].is_known = false;
}

/* Measured from the round that the reply answers, also if later rounds were sent meanwhile. */
static uint64_t round_trip(const struct port_path *path, uint64_t now_ns, uint16_t candidate)
{
	unsigned round = candidate >> SLOT_BITS;

	if (round >= path->sends || path->sends - round > PORT_PATH_SENDS)
		return 0;
	return now_ns - path->sent_ns[round % PORT_PATH_SENDS];
}

enum port_reply port_path_on_reply(struct port_path *path, uint64_t now_ns, uint64_t nonce,
				   uint16_t candidate, unsigned remote, bool learns,
				   uint64_t *rtt_ns)
{
	unsigned i = candidate & ((1u << SLOT_BITS) - 1);
	unsigned s = i / FARE_SOURCE_PORTS, bit = 1u << i % FARE_SOURCE_PORTS;
	bool changed;

	*rtt_ns = 0;
	if (!nonce || nonce != path->nonce || i >= n_slots(path) || !(path->asked[s] & bit) ||
	    path->answered[s] & bit || remote >= FARE_MAX_SUB_PORTS)
		return PORT_REPLY_STRAY;
	path->answered[s] |= (uint16_t)bit;
	path->n_answered++;
	*rtt_ns = round_trip(path, now_ns, candidate);
	if (!learns)
		return PORT_REPLY_GOOD;
	changed = path->slots[i].is_known && path->slots[i].remote != remote;
	path->slots[i].is_known = true;
	path->slots[i].remote = (uint8_t)remote;
	return changed ? PORT_REPLY_CHANGED : PORT_REPLY_GOOD;
}
