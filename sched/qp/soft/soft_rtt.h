/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_rtt.h - when a sender that hears nothing sends again, and when it gives up.
 *
 * Owns the measured round trip of one QP and how often the time-out was doubled. In: round trips of
 * packets that were sent once (Karn's rule), time-outs. Out: durations. Pure: no clock; the
 * endpoint's thread.
 *
 * RFC 6298: the time-out is the round trip and four times its mean variation, and doubles while
 * nothing is heard. Until a round trip is measured, it is what the QP's attributes say
 * (timeout_ns); and it does not double beyond that, because attempts must not be fewer than those
 * attributes promise: where queues overflow, several in a row are lost. An answer that may be to
 * either of two packets measures nothing; then the time-out stays doubled until one is measured.
 *
 * A peer is given up after (retry_cnt + 1) x timeout_ns of silence, as with a time-out that never
 * changes, and after retry_cnt attempts. The latter is later where a path is congested, and where
 * this process itself did not get to run: neither is a reason to give up.
 */
#ifndef SOFT_RTT_H
#define SOFT_RTT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The shortest time-out, unless the QP's attributes say less. Round trips measured in a lull do not
 * show what a full queue takes when all peers begin to send at once: three windows of 192 KiB take
 * 94 ms at 50 Mb/s. A shorter time-out sends again what only waits. Packets lost before others are
 * NAKed, and need no time-out.
 */
#define SOFT_RTT_MIN_NS 100000000u

struct soft_rtt {
	uint64_t first_ns;   /* the time-out before anything is measured; 0: there is none */
	uint64_t give_up_ns; /* silence that ends the connection, at least */
	unsigned retry_cnt;  /* attempts before that, at least */
	uint64_t srtt_ns, rttvar_ns; /* 0: not measured */
	unsigned doublings;	     /* attempts since something was heard */
	unsigned raised;	     /* doublings that stay until a round trip is measured */
};

void soft_rtt_init(struct soft_rtt *rtt, uint64_t timeout_ns, unsigned retry_cnt);
void soft_rtt_measured(struct soft_rtt *rtt, uint64_t rtt_ns);
/* A time-out passed. */
void soft_rtt_back_off(struct soft_rtt *rtt);
/* Something was heard, whether it was measured or not. */
void soft_rtt_heard(struct soft_rtt *rtt);
/* The path has changed. */
void soft_rtt_new_path(struct soft_rtt *rtt);

/* A round trip and what it usually varies by; 0: not measured. */
uint64_t soft_rtt_usual_ns(const struct soft_rtt *rtt);
/* How long to wait for an answer. */
uint64_t soft_rtt_timeout_ns(const struct soft_rtt *rtt);
/* When to look again, if nothing is heard; heard_ns: when something was. */
uint64_t soft_rtt_deadline_ns(const struct soft_rtt *rtt, uint64_t heard_ns, uint64_t now_ns);
bool soft_rtt_gives_up(const struct soft_rtt *rtt, uint64_t heard_ns, uint64_t now_ns);

#endif
