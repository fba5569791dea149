/* SPDX-License-Identifier: BSD-2-Clause */
#include "mtu.h"

#include <stddef.h>

#include "health_limits.h"
#include "health_planted.h"
#include "sub_ports.h"

#define SHORT (1u << 0 | 1u << 2) /* sequences are 4 to a round */

void mtu_init(struct mtu *m, unsigned wanted)
{
	uint32_t next = m->next;
	bool takes_padding = m->takes_padding;

	*m = (struct mtu){.wanted = (uint8_t)wanted, .next = next, .takes_padding = takes_padding};
	for (int side = 0; side < GRAY_SIDES; side++)
		for (uint32_t s = 0; s < GRAY_MAX_SUB_PORTS; s++)
			m->parts[side][s] = (struct mtu_part){.passes = (uint8_t)wanted,
							      .limit = (uint8_t)wanted};
}

static void lower(struct mtu_part *part, unsigned number)
{
	if (part->passes <= number)
		return;
	part->passes = (uint8_t)number;
	part->n_lost = part->n_raised = 0;
	part->passed_ns = 0;
}

bool mtu_limit(struct mtu *m, uint32_t local, unsigned number)
{
	struct mtu_part *part = &m->parts[GRAY_LOCAL][local];
	unsigned before = part->passes;

	part->limit = (uint8_t)(number < m->wanted ? number : m->wanted);
	lower(part, part->limit);
	return part->passes != before;
}

/* ---- what is known ------------------------------------------------------- */

static unsigned best(const struct mtu *m, enum gray_side side)
{
	unsigned number = 0;
	uint32_t reach = m->reach[side];

	for (uint32_t s = 0; s < GRAY_MAX_SUB_PORTS; s++)
		if ((!reach || reach >> s & 1) && m->parts[side][s].passes > number)
			number = m->parts[side][s].passes;
	return number;
}

unsigned mtu_carried(const struct mtu *m, bool *proven)
{
	unsigned local = best(m, GRAY_LOCAL), remote = best(m, GRAY_REMOTE);
	unsigned number = local < remote ? local : remote;

	*proven = false;
	for (uint32_t s = 0; number && s < GRAY_MAX_SUB_PORTS; s++)
		*proven |= m->parts[GRAY_LOCAL][s].passes >= number &&
			   m->parts[GRAY_LOCAL][s].passed_ns;
	return number;
}

uint32_t mtu_small(const struct mtu *m, enum gray_side side)
{
	uint32_t mask = 0;
	bool proven;
	unsigned number = mtu_carried(m, &proven);

	for (uint32_t s = 0; s < GRAY_MAX_SUB_PORTS; s++)
		mask |= (uint32_t)(m->parts[side][s].passes < number) << s;
	return mask & m->reach[side];
}

/* ---- rounds -------------------------------------------------------------- */

/* Smaller path MTUs are being tried: none has passed yet. */
static bool is_searching(const struct mtu *m, const struct mtu_part *part)
{
	return part->passes && part->passes < m->wanted && part->passes < part->limit &&
	       !part->passed_ns;
}

/* How much there is to be found out about it; 0: nothing. */
static unsigned urgency(const struct mtu *m, const struct mtu_part *part)
{
	return part->n_lost + part->n_raised + is_searching(m, part);
}

/* The sub-port of which most is to be found out; 0: of none, or how much. */
static unsigned most_urgent(const struct mtu *m, enum gray_side *side, uint32_t *sub_port)
{
	unsigned most = 0;

	for (enum gray_side a = GRAY_LOCAL; a < GRAY_SIDES; a++)
		for (uint32_t s = 0; s < GRAY_MAX_SUB_PORTS; s++)
			if (m->reach[a] >> s & 1 && urgency(m, &m->parts[a][s]) > most) {
				most = urgency(m, &m->parts[a][s]);
				*side = a;
				*sub_port = s;
			}
	return most;
}

static bool is_in_doubt(const struct mtu *m)
{
	enum gray_side side;
	uint32_t sub_port;

	return most_urgent(m, &side, &sub_port) ||
	       (m->doubt_ns && m->sent_ns < m->doubt_ns + HEALTH_MTU_SPAN_NS);
}

uint64_t mtu_due_ns(const struct mtu *m, uint64_t interval_ns)
{
	uint32_t n_local = (uint32_t)__builtin_popcount(m->reach[GRAY_LOCAL]),
		 n_remote = (uint32_t)__builtin_popcount(m->reach[GRAY_REMOTE]),
		 n = n_local > n_remote ? n_local : n_remote;
	uint64_t each_ns = HEALTH_MTU_NS / (n ? n : 1);

	if (is_in_doubt(m))
		return m->sent_ns + HEALTH_MTU_FAST_NS;
	return m->sent_ns + (each_ns > interval_ns ? each_ns : interval_ns);
}

/* The n-th of the set bits, counted round and round; -1: there is none. */
static int nth(uint32_t mask, uint32_t n)
{
	if (!mask)
		return -1;
	for (n %= (uint32_t)__builtin_popcount(mask); n; n--)
		mask &= mask - 1;
	return __builtin_ctz(mask);
}

static void note_reach(struct mtu *m, const struct mtu_routes *routes)
{
	m->reach[GRAY_LOCAL] = routes->live;
	m->reach[GRAY_REMOTE] = 0;
	for (unsigned i = 0; i < routes->n_ports; i++)
		if (routes->remote[i] >= 0 && routes->remote[i] < (int8_t)GRAY_MAX_SUB_PORTS)
			m->reach[GRAY_REMOTE] |= 1u << routes->remote[i];
}

/* The next port in turn that leads to that remote sub-port, or any if that is -1. */
static uint8_t port_to(const struct mtu_routes *routes, int remote, uint32_t turn)
{
	for (unsigned i = 0; i < routes->n_ports; i++) {
		unsigned port = (turn + i) % routes->n_ports;

		if (remote < 0 || routes->remote[port] == (int8_t)remote)
			return (uint8_t)port;
	}
	return 0;
}

/* If any are left then. */
static uint32_t without(uint32_t all, uint32_t some)
{
	return all & ~some ? all & ~some : all;
}

/*
 * Sub-ports of both sides on the diagonal. While most is to be found out about one of them, every
 * other round is by that one and all others by the rest of its side: so each sub-port of the other
 * side, in turn, has a round by it and one by another.
 */
static void choose(const struct mtu *m, const struct mtu_routes *routes, struct mtu_round *r)
{
	uint32_t masks[GRAY_SIDES] = {routes->live, m->reach[GRAY_REMOTE]}, sub_port,
		 turn = m->turn;
	enum gray_side side;
	int remote;

	if (most_urgent(m, &side, &sub_port)) {
		masks[side] = turn % 2 ? without(masks[side], 1u << sub_port) : 1u << sub_port;
		turn /= 2;
	}
	remote = nth(
		masks[GRAY_REMOTE],
		(uint32_t)sub_ports_diagonal(turn, (uint32_t)__builtin_popcount(masks[GRAY_LOCAL]),
					     (uint32_t)__builtin_popcount(masks[GRAY_REMOTE])));
	r->local = (uint8_t)nth(masks[GRAY_LOCAL], turn);
	r->remote = (int8_t)remote;
	r->port = port_to(routes, remote, turn);
}

/* Set in half of the turns, as chance would have it: it follows no turns that sub-ports take. */
static bool is_lucky(uint32_t turn)
{
	turn = (turn ^ turn >> 16) * UINT32_C(0x7feb352d);
	turn = (turn ^ turn >> 15) * UINT32_C(0x846ca68b);
	return (turn ^ turn >> 16) & 1;
}

/* What both sub-ports are to carry; half of the time the next larger one, if there is one. */
static void choose_size(const struct mtu *m, struct mtu_round *r)
{
	const struct mtu_part *local = &m->parts[GRAY_LOCAL][r->local];
	unsigned remote = r->remote < 0 ? m->wanted : m->parts[GRAY_REMOTE][r->remote].passes;

	r->number = (uint8_t)(local->passes < remote ? local->passes : remote);
	r->is_raise = r->number < local->limit && (is_lucky(m->turn) || !r->number);
	r->number += r->is_raise;
}

static uint16_t mtu_bit_of(const struct mtu *m, const struct mtu_round *r)
{
	return (uint16_t)(1u << (r - m->rounds));
}

bool mtu_next(struct mtu *m, const struct mtu_routes *routes, uint64_t now, uint64_t nonce,
	      struct mtu_round *out)
{
	struct mtu_round *r = &m->rounds[m->next % MTU_ROUNDS];

	note_reach(m, routes);
	m->sent_ns = now;
	if (!m->wanted || !routes->live)
		return false;
	m->open |= mtu_bit_of(m, r);
	*r = (struct mtu_round){.sent_ns = now, .nonce = nonce, .sequence = 4 * m->next++};
	choose(m, routes, r);
	choose_size(m, r);
	r->has_short = (is_in_doubt(m) && !r->is_raise) || !m->takes_padding;
	if (!m->takes_padding || HEALTH_PLANTED(mtu_unprobed))
		r->number = 0;
	m->turn++;
	*out = *r;
	return true;
}

/* ---- what rounds tell ---------------------------------------------------- */

static struct mtu_part *part_of(struct mtu *m, const struct mtu_round *r, enum gray_side side)
{
	if (side == GRAY_LOCAL)
		return &m->parts[side][r->local];
	return r->remote < 0 || r->remote >= (int8_t)GRAY_MAX_SUB_PORTS
		       ? NULL
		       : &m->parts[side][r->remote];
}

static bool pass(struct mtu *m, const struct mtu_round *r, uint64_t now)
{
	bool changed = false;

	for (unsigned n = 1; n <= r->number; n++)
		m->passed_ns[n] = now;
	for (enum gray_side side = GRAY_LOCAL; side < GRAY_SIDES; side++) {
		struct mtu_part *part = part_of(m, r, side);

		if (!part || part->passes > r->number)
			continue;
		if (part->passes < r->number) {
			if (++part->n_raised < HEALTH_MTU_LOST)
				continue;
			part->passes = r->number;
			part->n_raised = 0;
			changed = true;
		}
		changed |= !part->passed_ns; /* it is proven now */
		part->n_lost = 0;
		part->passed_ns = now;
	}
	return changed;
}

/* Another sub-port of that side has passed such packets since this one began to lose them. */
static bool passes_beside(const struct mtu *m, enum gray_side side, const struct mtu_part *part)
{
	for (uint32_t s = 0; s < GRAY_MAX_SUB_PORTS; s++) {
		const struct mtu_part *other = &m->parts[side][s];

		if (other != part && other->passes >= part->passes &&
		    other->passed_ns > part->losing_ns)
			return true;
	}
	return false;
}

/* The path passes no such packets, by whatever sub-ports. */
static void lower_all(struct mtu *m, unsigned number)
{
	for (int side = 0; side < GRAY_SIDES; side++)
		for (uint32_t s = 0; s < GRAY_MAX_SUB_PORTS; s++)
			lower(&m->parts[side][s], number);
}

static bool decide(struct mtu *m, enum gray_side side, struct mtu_part *part, uint64_t sent_ns)
{
	bool proven, searching = is_searching(m, part);
	unsigned wanted = searching ? HEALTH_MISSES_MAX : HEALTH_MTU_LOST;

	if (part->n_lost < wanted ||
	    (!searching && sent_ns < part->losing_ns + HEALTH_MTU_SPAN_NS) ||
	    HEALTH_PLANTED(mtu_ignored))
		return false;
	if (part->passes < mtu_carried(m, &proven) || passes_beside(m, side, part))
		lower(part, part->passes - 1u);
	else if (m->passed_ns[part->passes] <= part->losing_ns)
		lower_all(m, part->passes - 1u);
	else
		return false;
	return true;
}

static bool lose(struct mtu *m, const struct mtu_round *r)
{
	bool changed = false;

	for (enum gray_side side = GRAY_LOCAL; side < GRAY_SIDES; side++) {
		struct mtu_part *part = part_of(m, r, side);

		if (!part || part->passes != r->number)
			continue;
		if (!part->n_lost)
			part->losing_ns = r->sent_ns;
		part->n_lost += part->n_lost < UINT8_MAX;
		changed |= decide(m, side, part, r->sent_ns);
	}
	return changed;
}

/* A short one is lost as well: so may the padded one have been, whatever its size. */
static void excuse(struct mtu *m, const struct mtu_round *r)
{
	for (enum gray_side side = GRAY_LOCAL; side < GRAY_SIDES; side++) {
		struct mtu_part *part = part_of(m, r, side);

		if (part)
			part->n_lost -= part->n_lost < 2 ? part->n_lost : 2;
	}
}

/* What was tried to be raised. */
static void lose_raise(struct mtu *m, const struct mtu_round *r)
{
	for (enum gray_side side = GRAY_LOCAL; side < GRAY_SIDES; side++) {
		struct mtu_part *part = part_of(m, r, side);

		if (part && part->passes < r->number)
			part->n_raised = 0;
	}
}

static bool close_round(struct mtu *m, struct mtu_round *r, uint64_t now)
{
	m->open &= (uint16_t)~mtu_bit_of(m, r);
	if (!r->number)
		return false;
	if (r->answered >> MTU_PADDED & 1)
		return pass(m, r, now);
	if (r->is_raise)
		lose_raise(m, r);
	else if (!r->has_short)
		m->doubt_ns = now;
	else if ((r->answered & SHORT) == SHORT || HEALTH_PLANTED(mtu_hasty))
		return lose(m, r);
	else
		excuse(m, r);
	return false;
}

bool mtu_answered(struct mtu *m, uint32_t sequence, uint64_t nonce, int8_t remote, uint32_t bytes,
		  uint64_t now, bool *changed)
{
	struct mtu_round *r = &m->rounds[sequence / 4 % MTU_ROUNDS];
	uint32_t probe = sequence % 4;

	*changed = false;
	if (r->sequence != sequence - probe || r->nonce != nonce || probe >= MTU_PROBES)
		return false;
	if (!(m->open & mtu_bit_of(m, r))) /* all is known of it */
		return true;
	if (probe == MTU_PADDED && bytes != path_mtu_datagram_bytes(r->number))
		return false;
	m->takes_padding = true;
	r->remote = remote;
	r->answered |= (uint8_t)(1u << probe);
	if (probe == MTU_PADDED)
		*changed = close_round(m, r, now);
	return true;
}

bool mtu_settle(struct mtu *m, uint64_t before_ns, uint64_t now)
{
	bool changed = false;

	for (uint32_t i = 0; m->open && i < MTU_ROUNDS; i++) {
		struct mtu_round *r = &m->rounds[(m->next + i) % MTU_ROUNDS];

		if (m->open & mtu_bit_of(m, r) && r->sent_ns < before_ns)
			changed |= close_round(m, r, now);
	}
	return changed;
}

void mtu_void(struct mtu *m, uint32_t local)
{
	for (uint32_t i = 0; i < MTU_ROUNDS; i++)
		if (m->rounds[i].local == local)
			m->open &= (uint16_t) ~(1u << i);
}
