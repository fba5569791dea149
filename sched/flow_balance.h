/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flow_balance.h - flows apportioned by the bytes they carry, not by their number (pure).
 *
 * Owns: what each flow is measured to carry (an EWMA over ticks) and the plane it is on. In: bytes
 * as they pass, ticks, weights. Out: moves, through a callback. Thread: one.
 *
 * Load of a plane: the bytes per tick of its flows, over its weight. Nothing moves while the
 * fullest plane is within FLOW_BALANCE_BAND of the mean load, nor before it was beyond that for
 * FLOW_BALANCE_TICKS ticks on end: noise and the beginning of a flow move nothing. Then flows leave
 * the fullest plane one at a time, each time the one flow, to the one plane, that leaves the higher
 * of the two lowest, until the fullest is within half the band. A move must lower it by an eighth
 * of the band; one of a flow too small for that by at least half of what the flow is there, and all
 * such together must be worth that eighth. So no move is made where one fewer would do as far as
 * single moves go: none within the band, one where one suffices, and never one that does not lower
 * the fullest plane. An elephant that no plane has room for stays. Each move looks at all flows,
 * and there is an end to that: with more than some 1,000 of them the next tick goes on.
 *
 * A flow not yet measured counts as much as the mean of those that are.
 */
#ifndef FLOW_BALANCE_H
#define FLOW_BALANCE_H

#include <stdbool.h>

#include "weights.h"

#define FLOW_BALANCE_BAND  0.25
#define FLOW_BALANCE_TICKS 2
#define FLOW_BALANCE_ALPHA 0.25 /* what the latest tick weighs */

struct flow_balance;

/* Room for flows 0 .. n_flows - 1, none of them there. 0; -ENOMEM. */
int flow_balance_create(struct flow_balance **out, uint32_t n_flows);
void flow_balance_destroy(struct flow_balance *b); /* NULL is fine */

/* a new flow, or one that was moved */
void flow_balance_enter(struct flow_balance *b, uint32_t flow, unsigned plane);
void flow_balance_leave(struct flow_balance *b, uint32_t flow);
void flow_balance_account(struct flow_balance *b, uint32_t flow, uint64_t bytes);

/* Has anything been measured yet? Until then flows are apportioned by number. */
bool flow_balance_measured(const struct flow_balance *b);
/*
 * Where one flow more, or this flow, would leave the load lowest; w->sum > 0. flow: UINT32_MAX for
 * a new one.
 */
unsigned flow_balance_best_plane(const struct flow_balance *b, const struct weights *w,
				 uint32_t flow);
/*
 * on_move carries out a move, by flow_balance_enter() too. tick: the time of one measurement is
 * over. settle: weights changed; what stands on a plane of weight 0 leaves it, and the band holds
 * at once, but for that end. Both return how many moved.
 */
typedef void flow_balance_on_move(void *context, uint32_t flow, unsigned to);
unsigned flow_balance_tick(struct flow_balance *b, const struct weights *w,
			   flow_balance_on_move *on_move, void *context);
unsigned flow_balance_settle(struct flow_balance *b, const struct weights *w,
			     flow_balance_on_move *on_move, void *context);

#endif
