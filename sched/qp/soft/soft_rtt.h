/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_rtt.h - when a sender that receives no answer sends again, and when it gives up.
 *
 * Owns the measured round trip of one QP and how often the time-out was doubled. In: round trips of
 * packets that were sent once (Karn's rule), time-outs. Out: durations. Pure: no clock; the
 * endpoint's thread.
 *
 * RFC 6298: the time-out is the round trip plus four times its mean variation, and doubles while no
 * answer arrives. Until a round trip is measured, it is timeout_ns of the QP's attributes. Doubling
 * does not raise it above timeout_ns, because there must be as many attempts as the attributes
 * promise: several in a row are lost where queues overflow. An answer that may belong to either of
 * two packets measures nothing. Then the time-out stays doubled until a round trip is measured.
 *
 * A peer is given up when both (retry_cnt + 1) x timeout_ns have passed without an answer, as with
 * a constant time-out, and retry_cnt attempts were made. On a congested path, or if this process
 * did not run, the attempts take longer; neither is a reason to give up.
 */
#ifndef SOFT_RTT_H
#define SOFT_RTT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The shortest time-out, unless the QP's attributes say less. Round trips that are measured while
 * queues are empty do not show the delay when all peers begin to send at once: three windows of 192
 * KiB take 94 ms at 50 Mb/s. A shorter time-out would send again packets that only wait in a queue.
 * Packets that are lost before others are NAKed and need no time-out.
 */
#define SOFT_RTT_MIN_NS 100000000u

struct soft_rtt {
	uint64_t first_ns;   /* the time-out before anything is measured; 0: there is none */
	uint64_t give_up_ns; /* least time without an answer that ends the connection */
	unsigned retry_cnt;  /* least attempts before that */
	uint64_t srtt_ns, rttvar_ns; /* 0: not measured */
	unsigned doublings;	     /* attempts since an answer arrived */
	unsigned raised;	     /* doublings that stay until a round trip is measured */
};

void soft_rtt_init(struct soft_rtt *rtt, uint64_t timeout_ns, unsigned retry_cnt);
void soft_rtt_measured(struct soft_rtt *rtt, uint64_t rtt_ns);
/* A time-out passed. */
void soft_rtt_back_off(struct soft_rtt *rtt);
/* An answer arrived, whether its round trip was measured or not. */
void soft_rtt_answered(struct soft_rtt *rtt);
/* The path has changed. */
void soft_rtt_new_path(struct soft_rtt *rtt);

/* A round trip and what it usually varies by; 0: not measured. */
uint64_t soft_rtt_usual_ns(const struct soft_rtt *rtt);
/* How long to wait for an answer. */
uint64_t soft_rtt_timeout_ns(const struct soft_rtt *rtt);
/* When the time-out passes if no answer arrives; progress_ns: when the last answer arrived. */
uint64_t soft_rtt_deadline_ns(const struct soft_rtt *rtt, uint64_t progress_ns, uint64_t now_ns);
bool soft_rtt_gives_up(const struct soft_rtt *rtt, uint64_t progress_ns, uint64_t now_ns);

#endif
