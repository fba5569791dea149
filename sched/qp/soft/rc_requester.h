/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rc_requester.h - the requester of a reliable connection (IBTA 9.7): posted work becomes packets;
 * acknowledgements and read responses become completions.
 *
 * Owns the queue of posted work, the sending PSN, the window and the retransmission timer's
 * deadline. In: work, acknowledgements, read responses, `now`. Out: packets to send, data of READs
 * in local memory (mr_table), completions through on_complete in the order of posting. Pure: no
 * socket, no clock; the endpoint's thread.
 *
 * Recovery is go-back-N: a sequence NAK, a missing read response or the timer sets `next` back to
 * the oldest unacknowledged packet. PSNs are kept unwrapped in 64 bits; packets carry the low 24
 * bits. The PSNs of a piece of work are fixed when it is posted, so a retransmission is the same
 * packet again.
 *
 * A READ uses one PSN for each packet of its answer (IBTA 9.7.3.1). It is sent as several requests,
 * each for at most a burst. So answers on their way obey the window as writes do, and a lost answer
 * costs one burst. The borders of these requests are fixed: a repeated request never spans two of
 * the first ones, which a responder need not serve.
 *
 * Work names its memory by key. It is looked up once for each piece of work in a burst, at the
 * first transmission and at each retransmission: a region that was deregistered meanwhile is not
 * read, and the connection ends with QP_WC_LOC_PROT_ERR.
 *
 * After "receiver not ready" nothing is sent for the time that it names.
 *
 * A write with immediate becomes FIRST, MIDDLE..., LAST. FIRST is longer than MIDDLE by its RETH.
 * Segmentation offload cuts equal pieces only, so such a write takes two more super-packets. A
 * write without immediate therefore becomes a row of WRITE ONLYs, each with its own RETH. To a
 * responder these are separate writes.
 *
 * An answer costs each end a datagram. So answers are requested for each quarter of a window and
 * before a pause, not for each burst.
 *
 * A time-out may be too early. If the next answer acknowledges more than was sent again, the
 * packets were only late (RFC 5682), and the state is as before the time-out.
 *
 * A loss may mean that a queue overflowed. Go-back-N alone would send the same burst again, so the
 * window shrinks (soft_window.h).
 */
#ifndef RC_REQUESTER_H
#define RC_REQUESTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fifo.h"
#include "mr_table.h"
#include "qp/provider.h"
#include "roce_wire.h"
#include "soft_rtt.h"
#include "soft_window.h"

#define RC_QUEUE_DEPTH	 256 /* pieces of work; a power of two */
#define RC_QUEUE_KEPT	 16  /* pieces of work for which an idle QP keeps memory */
#define RC_BURST_PACKETS 64  /* most packets of a burst */
#define RC_WINDOW_MAX	 (64u << 20)

struct rc_requester_config {
	uint32_t path_mtu; /* payload bytes a packet */
	/* unacknowledged payload; raised to path_mtu, cut to RC_WINDOW_MAX */
	uint32_t window_bytes;
	/* payload of a burst, unless less is queued */
	uint32_t batch_bytes;
	/* time-out until a round trip is measured (soft_rtt.h); 0: no time-out */
	uint64_t timeout_ns;
	unsigned retry_cnt; /* least time before it fails: (retry_cnt + 1) x timeout_ns */
	unsigned rnr_limit; /* as qp_attr.rnr_limit */
	uint32_t first_psn;
	uint32_t remote_qpn;
	const struct mr_table *regions; /* borrowed: the memory of posted work */
	struct qp_stats *stats;		/* borrowed; counters are increased */
	void (*on_complete)(void *arg, uint64_t wr_id, enum qp_wc_status status, uint32_t bytes);
	void *arg;
};

struct rc_request {
	struct qp_work work;
	uint64_t first_psn;  /* unwrapped */
	uint64_t first_byte; /* payload bytes posted before this */
	uint32_t n_packets;  /* PSNs */
	bool is_row;	     /* of WRITE ONLYs */
};

struct rc_requester {
	struct rc_requester_config config;
	/* of struct rc_request; head: oldest unacknowledged, cursor: contains next, tail: free */
	struct fifo queue;
	uint64_t head, cursor, tail;
	/* PSNs: oldest unacknowledged, to send next, beyond all sent, beyond all posted */
	uint64_t una, next, sent, end;
	uint64_t end_byte;
	/* PSN beyond the last packet that requested an answer; payload up to there */
	uint64_t asked, asked_byte;
	uint64_t deadline_ns; /* 0: no answer is awaited */
	uint64_t progress_ns; /* when the last progress was made, or waiting began */
	struct soft_rtt rtt;
	/* the packet whose round trip is measured, and when it was sent; NO_PSN: none */
	uint64_t timed_psn, timed_ns;
	/* the timer has expired, and no answer arrived since; state before that */
	bool timed_out;
	struct soft_window window_before;
	uint64_t asked_before, asked_byte_before;
	unsigned rnr_seen;
	uint64_t rnr_until_ns; /* the receiver is not ready before that time; 0: it is ready */
	unsigned n_reads;      /* READs in the queue */
	uint32_t read_packets; /* PSNs that one request for remote memory covers */
	uint64_t resumed_at;   /* the una at which a missing read response was requested again */
	uint64_t failed_psn;   /* the PSN that ended the connection */
	struct soft_window window;
};

/* 0. config is copied; remote_qpn may be set later, before the first burst. */
int rc_requester_init(struct rc_requester *r, const struct rc_requester_config *config);
void rc_requester_fini(struct rc_requester *r); /* completes nothing */

/*
 * Queues work. Its data is used as long as lkey names it, which is checked whenever packets are
 * made. -ENOBUFS: queue full; -ENOMEM.
 */
int rc_requester_post(struct rc_requester *r, const struct qp_work *work);

/*
 * The packets to send now, at most max; *n is 0: nothing to send, or too little for a burst. Their
 * payload is valid until mr_table_remove(), so send them at once: call rc_requester_sent() with the
 * number that was handed to the network. 0, or QP_WC_LOC_PROT_ERR: the memory of the next piece of
 * work is not registered any more; the caller then calls rc_requester_fail() with it.
 */
enum qp_wc_status rc_requester_burst(struct rc_requester *r, struct roce_packet *out, unsigned max,
				     unsigned *n);
void rc_requester_sent(struct rc_requester *r, unsigned n_packets, uint64_t now_ns);

/*
 * An acknowledgement arrived. 0, or the status that ends the connection: the caller then calls
 * rc_requester_fail() with it. An acknowledgement outside of the window is ignored.
 */
enum qp_wc_status rc_requester_on_ack(struct rc_requester *r, const struct roce_packet *ack,
				      uint64_t now_ns);

/* A READ RESPONSE arrived; as above. */
enum qp_wc_status rc_requester_on_response(struct rc_requester *r,
					   const struct roce_packet *response, uint64_t now_ns);

/* The deadline may have passed. 0, or QP_WC_RETRY_EXC_ERR, then as above. */
enum qp_wc_status rc_requester_on_timer(struct rc_requester *r, uint64_t now_ns);

/* Goes back to the oldest unacknowledged packet at once. */
void rc_requester_kick(struct rc_requester *r, uint64_t now_ns);

/*
 * Completes the work that ended the connection with status and all other work with FLUSH_ERR. The
 * queue is empty then.
 */
void rc_requester_fail(struct rc_requester *r, enum qp_wc_status status);

/* True: packets are queued that were not sent, or not sent again after going back. */
bool rc_requester_has_unsent(const struct rc_requester *r);
/* Queued payload bytes not sent yet. */
uint64_t rc_requester_unsent_bytes(const struct rc_requester *r);
/* At most one packet is under way: the next one need not wait for a full burst. */
static inline bool rc_requester_is_idle(const struct rc_requester *r)
{
	return r->next - r->una <= 1;
}

#endif
