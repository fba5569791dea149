/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * planted.h - defects that the simulation can switch on, to see that it finds them
 * (tests/sim/groups).
 *
 * PLANTED(name) is a constant false, and its branch no code, everywhere but in the simulation's own
 * build of these sources.
 */
#ifndef QP_PLANTED_H
#define QP_PLANTED_H

#ifdef FARE_PLANTED
/* name, what is wrong */
#define PLANTED_LIST(X)                                                                            \
	X(ack_before_quiet, "LANE_RESET is acknowledged while a device still places")              \
	X(ack_before_read, "LANE_RESET is acknowledged before all completions were read")          \
	X(alive_unasked, "an idle end does not ask whether its peer still has the group")          \
	X(any_epoch, "LANE_RESET of an earlier epoch ends a lane")                                 \
	X(closed_at_once, "a group closes before what the peer sent before is delivered")          \
	X(completed_twice, "a write with a deadline stays in use after its completion")            \
	X(confirmed_alone, "a lane that ends does not wait for the peer to confirm")               \
	X(deadline_opening, "deadlines are ignored while a group opens")                           \
	X(deadline_unwatched, "a deadline is noticed only when something else happens")            \
	X(duplicates_placed, "a packet that arrived before is placed again")                       \
	X(events_kept, "events that name a group stay when it is destroyed")                       \
	X(flush_left_out, "a record leaves before other QPs' bytes are flushed")                   \
	X(freed_while_used, "a group that ends hands memory back while a device uses it")          \
	X(gap_accepted, "a packet out of order counts as the expected one")                        \
	X(gives_up, "a lane is rebuilt twice and no more")                                         \
	X(gone_unsaid, "a message for a group that does not exist is not answered")                \
	X(narrow_final, "a packet above a device's MTU fails its message, and is not replayed")    \
	X(notified_early, "a notification does not wait for all bytes")                            \
	X(notified_twice, "notifications that are sent again are delivered again")                 \
	X(order_ignored, "records that come early are delivered at once")                          \
	X(pair_assumed, "a pair that was flushed counts as received")                              \
	X(pair_replayed, "a pair is replayed before the peer has said what it took")               \
	X(psn_wrap, "the distance of two PSNs is not taken modulo 2^24")                           \
	X(qp_leaked, "the second QP of a rebuilt lane is not destroyed")                           \
	X(qp_reused, "a new QP has the number and first PSN of one before it")                     \
	X(recalled_lost, "chunks that wait for a QP are forgotten when its lane ends")             \
	X(region_leaked, "the ring stays registered when its group is destroyed")                  \
	X(released_early, "a write is released at its deadline, whatever is under way")            \
	X(replay_lost, "chunks of a dead lane are not sent again")                                 \
	X(reset_once, "LANE_RESET is not repeated")                                                \
	X(silence_confirms, "a peer that is silent for 30 s counts as having no QPs any more")     \
	X(stale_writes, "a write completes although an attempt of it may still land")              \
	X(stall_unseen, "a QP that does nothing with its work is waited for without end")          \
	X(undrained, "a lane ends with completions that were not read")

#define PLANTED_ENUM(name, what) PLANTED_##name,
enum planted { PLANTED_none, PLANTED_LIST(PLANTED_ENUM) PLANTED_END };
#undef PLANTED_ENUM
extern enum planted planted_active;
#define PLANTED(name) (planted_active == PLANTED_##name)
#else
#define PLANTED(name) 0
#endif

#endif
