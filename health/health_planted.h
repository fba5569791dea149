/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * health_planted.h - defects that the simulation can switch on, to see that it finds them
 * (tests/sim/health).
 *
 * HEALTH_PLANTED(name) is a constant false, and its branch no code, everywhere but in the
 * simulation's own build of these sources.
 */
#ifndef HEALTH_PLANTED_H
#define HEALTH_PLANTED_H

#ifdef FARE_PLANTED
/* name, what is wrong */
#define HEALTH_PLANTED_LIST(X)                                                                     \
	X(elsewhere_unasked, "a path goes down though its peer answers nowhere")                   \
	X(queues_ignored, "there is no allowance for full queues, nor for lateness")               \
	X(late_undrained, "a late prober judges before it reads what has come in")                 \
	X(recovers_at_once, "one reply ends a path that is down")                                  \
	X(rows_by_time, "replies are in a row though probes between them were lost")               \
	X(old_word, "another plane tells of a silence before it can be a full queue's")            \
	X(witness_unasked,                                                                         \
	  "a full queue before the only peer that is asked passes for a dead plane")               \
	X(notice_assumed, "a notice that was sent counts as acknowledged")                         \
	X(acks_believed, "what a client says was acknowledged keeps a path up for ever")           \
	X(gray_hasty, "a sub-port is marked gray whatever chance would do")                        \
	X(fresh_believed, "a reply tells of other planes before theirs can arrive")                \
	X(rate_alone, "losses are a fault though other planes lose as many")                       \
	X(mtu_unprobed, "padded probes are never sent")                                            \
	X(mtu_ignored, "padded probes may be lost for ever")                                       \
	X(mtu_hasty, "a padded probe that is lost counts though short ones are, too")              \
	X(clock_trusted, "a clock that was set back is not made up for")

#define HEALTH_PLANTED_NAME(name, what) HEALTH_PLANTED_##name,
enum health_planted {
	HEALTH_PLANTED_NONE,
	HEALTH_PLANTED_LIST(HEALTH_PLANTED_NAME) HEALTH_PLANTED_END
};
extern enum health_planted health_planted_active;
#define HEALTH_PLANTED(name) (health_planted_active == HEALTH_PLANTED_##name)
#else
#define HEALTH_PLANTED(name) false
#endif

#endif
