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
	X(queues_ignored, "there is no allowance for full queues")                                 \
	X(one_is_a_row, "one packet that is missing takes a path down")                            \
	X(reports_unused, "what the peer finds of our packets is not used")                        \
	X(flags_kept, "what the peer has found once it finds for ever")                            \
	X(absence_counts, "what a peer that was away did not answer is lost")                      \
	X(turns_stay, "successive probes leave by one sub-port")                                   \
	X(gray_unsaid,                                                                             \
	  "a peer does not learn that a sub-port which lost its packets is out of use")            \
	X(counts_any, "packets that leave by one sub-port in a row count each")                    \
	X(rows_go_on, "packets are missing in a row though others between them came")              \
	X(queue_losses, "what a full queue drops is a fault of the plane")                         \
	X(located_once, "where a fault is, other peers' later answers do not tell")                \
	X(late_undrained, "a late prober judges before it reads what has come in")                 \
	X(recovers_at_once, "one reply ends a path that is down")                                  \
	X(rows_by_time, "replies are in a row though probes between them were lost")               \
	X(notice_assumed, "a notice that was sent counts as acknowledged")                         \
	X(gray_hasty, "a sub-port is marked gray whatever chance would do")                        \
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
