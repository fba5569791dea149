/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_endpoint.h - structures and functions that the files of the soft provider share: the
 * endpoint and its QPs.
 *
 * Owns one receiving socket, the sending sockets, the memory regions, the completion ring and the
 * timers of one local GPU address. In: datagrams, posted writes, time. Out: datagrams, bytes in
 * regions, completions, control datagrams. One thread.
 *
 * Files, each calling only those below it:
 *   soft_endpoint.c  creates the endpoint, makes progress; the table of qp/provider.h
 *   soft_rx.c        gives datagrams to QPs and to the control channel
 *   soft_qp.c        QPs as their owner sees them: created, connected, moved, posted to
 *   soft_control.c   the control channel
 *   soft_tx.c        sends bursts and answers
 *   soft_state.c     QPs by number, their states, which are served next
 *   soft_protocol.c  which of the two protocols a QP has
 *   soft_cq.c, soft_sockets.c, soft_mtu.c, soft_alarm.c
 * rc_requester.c, rc_responder.c, of_sender.c and of_receiver.c are the protocols' pure parts.
 */
#ifndef SOFT_ENDPOINT_H
#define SOFT_ENDPOINT_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "dcqcn.h"
#include "mr_table.h"
#include "of_receiver.h"
#include "of_sender.h"
#include "qp/provider.h"
#include "rc_requester.h"
#include "rc_responder.h"
#include "roce_icrc.h"
#include "soft_alarm.h"
#include "soft_cq.h"
#include "soft_list.h"
#include "soft_sockets.h"

#define SOFT_CONTROL_QPN  0xfa4e
#define SOFT_RX_MESSAGES  8
#define SOFT_RX_BYTES	  65536
#define SOFT_GSO_BYTES	  65000 /* UDP payload of a super-packet */
#define SOFT_GSO_SEGMENTS 64
/* a burst, and one acknowledgement that is sent with it */
#define SOFT_TX_PACKETS	      (RC_BURST_PACKETS + 1)
#define SOFT_COPY_BYTES	      256 /* payload up to this is copied: cheaper than an iovec */
#define SOFT_CONTROL_TX_BYTES (256u << 10)
#define SOFT_KEYS	      64 /* getrandom() is never short or interrupted up to 256 bytes */

enum soft_qp_state {
	SOFT_QP_RESET,
	SOFT_QP_RTS,
	/*
	 * The QP has refused a request of the peer. By the standard it would be in error at once
	 * (IBTA 9.9.3). But then two ends that refuse each other's writes would not receive each
	 * other's NAK, and a lost NAK would not be repeated. So posted work is still sent, answers
	 * to it are accepted, and the NAK is repeated when the request arrives again. This ends
	 * when the owner, to which soft_qp_status() reports it, calls soft_state_error().
	 */
	SOFT_QP_REFUSING,
	SOFT_QP_ERR,
};

/* A path of an order-free QP; the socket is shared. */
struct soft_path {
	struct qp_path path;
	struct soft_socket *socket;
};

/* What an order-free QP has instead of a requester and a responder. */
struct soft_order_free {
	struct of_sender tx;
	struct of_receiver rx;
	struct soft_path paths[QP_MAX_PATHS]; /* of batches, in turn: a batch is one super-packet */
	unsigned n_paths, turn;
};

/* Of a QP with attr.dcqcn.is_on. */
struct soft_pace {
	struct dcqcn rate;
	/* bytes that were sent and have not left at that rate by at_ns; below 0: it may catch up */
	double debt;
	uint64_t at_ns;
	uint64_t burst;	  /* bytes sent last */
	uint64_t next_ns; /* when to look again; 0: nothing waits */
};

struct qp {
	struct qp_endpoint *ep;
	struct qp *bucket_next;				    /* same hash of QPN */
	struct soft_link all, runnable, answering, waiting; /* waiting: its socket is full */
	struct timer timer;
	struct rc_requester requester;
	struct rc_responder responder;
	struct rc_receives receives;	    /* attr.receives of them */
	struct soft_order_free *order_free; /* NULL: the three above are used */
	struct qp_attr attr;
	struct qp_remote remote;
	struct sockaddr_storage remote_at; /* remote.address, remote.udp_port */
	socklen_t remote_at_bytes;
	struct roce_flow flow; /* addresses and ports of packets that it sends */
	enum soft_qp_state state;
	uint32_t qpn, first_psn;
	uint32_t path_mtu;	/* the smaller one of both ends */
	uint32_t batch_bytes;	/* payload that fills a super-packet */
	bool is_held;		/* posted work is sent with what is posted next (provider.h) */
	bool is_deferred;	/* nothing but what was posted to be sent later is under way */
	uint64_t hold_until_ns; /* wait until then: no memory for a packet, or the rate */
	uint64_t cnp_sent_ns;
	struct soft_socket *socket; /* shared */
	struct soft_pace *pace;	    /* NULL: the window alone answers to CNPs */
	bool no_gso;		    /* the device refuses segmentation batches */
	/* when it refused a request or failed, so that soft_state_error() is due; 0: it did not */
	uint64_t failed_ns;
};

/* Scratch space of one burst, too large for a stack. */
struct soft_tx_scratch {
	struct roce_packet packets[SOFT_TX_PACKETS];
	uint8_t bytes[SOFT_TX_PACKETS * (ROCE_HEADER_MAX + SOFT_COPY_BYTES + ROCE_TRAILER_MAX)];
	struct iovec iov[SOFT_TX_PACKETS * 2 + SOFT_TX_PACKETS];
	struct mmsghdr messages[SOFT_TX_PACKETS];
	unsigned run_packets[SOFT_TX_PACKETS];
	_Alignas(struct cmsghdr) uint8_t cmsg[SOFT_TX_PACKETS][CMSG_SPACE(sizeof(uint16_t))];
	uint8_t bitmap[OF_BITMAP_BYTES]; /* of an acknowledgement among the packets */
};

struct soft_rx_scratch {
	struct mmsghdr messages[SOFT_RX_MESSAGES];
	struct iovec iov[SOFT_RX_MESSAGES];
	struct sockaddr_storage from[SOFT_RX_MESSAGES];
	_Alignas(struct cmsghdr) uint8_t cmsg[SOFT_RX_MESSAGES][128];
	uint8_t *bytes; /* SOFT_RX_MESSAGES x SOFT_RX_BYTES */
};

/*
 * Delayed ACKs. A caller that polls without waiting and replies to what arrives is in a
 * conversation. Then acknowledgements wait, so that they delay no reply at either end, and one of
 * them acknowledges several messages.
 */
struct soft_delayed {
	uint64_t since_ns; /* when the first delayed ACK was due */
	size_t bytes;	   /* received since ACKs were sent last */
	bool replied;	   /* the caller sent something while ACKs were delayed */
	bool converses;	   /* ... and also while those before were delayed */
	bool urgent;	   /* one of the delayed answers is not a plain ACK */
};

struct qp_endpoint {
	struct qp_endpoint_attr attr;
	struct qp_endpoint_info info;
	struct qp_stats stats;
	struct mr_table regions;
	struct soft_cq cq;
	struct soft_alarm alarm;
	struct roce_icrc_ids icrc_ids;
	struct soft_link qps, runnable, answering;
	struct qp **buckets; /* by QPN */
	size_t n_buckets, n_qps;
	size_t n_receives; /* receives of all QPs: their limit in the completion queue */
	uint32_t next_qpn;
	uint32_t keys[SOFT_KEYS]; /* random, for regions: a system call for many */
	unsigned n_keys;	  /* that are left */
	int rx_fd;
	struct soft_delayed delayed;
	uint64_t devices_read_ns; /* when ifindex was last looked up */
	unsigned ifindex[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS];
	struct qp_mtus mtus;
	uint64_t mtus_read_ns;
	struct soft_sockets sockets;
	/* of the control channel, apart from data, which could fill a socket. NULL: not open yet */
	struct soft_socket *control[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS];
	struct soft_socket *any_control; /* QP_ANY_PLANE */
	uint32_t control_psn;
	struct soft_tx_scratch tx;
	struct soft_rx_scratch rx;
};

int soft_qp_create(struct qp_endpoint *ep, const struct qp_attr *attr, struct qp **out);
int soft_qp_connect(struct qp *qp, const struct qp_remote *remote);
int soft_qp_move(struct qp *qp, uint16_t sub_port, uint16_t udp_source_port);
void soft_qp_kick(struct qp *qp);
int soft_qp_status(struct qp *qp);
void soft_qp_destroy(struct qp *qp);
int soft_qp_post(struct qp *qp, const struct qp_work *work);
int soft_qp_post_recv(struct qp *qp, const struct qp_recv *recv);
void soft_qp_on_timer(struct qp *qp, uint64_t now_ns);
int soft_qp_spread(struct qp *qp, const struct qp_path *paths, unsigned n);

struct qp *soft_state_find(const struct qp_endpoint *ep, uint32_t qpn);
/* Room for one QP more. 0 or -ENOMEM. */
int soft_state_make_buckets(struct qp_endpoint *ep);
/* A number that soft_state_find() finds from now on. 0 or -ENOSPC. */
int soft_state_assign_qpn(struct qp_endpoint *ep, struct qp *qp);
void soft_state_forget(struct qp *qp); /* it is not found any more */
/* The QP sends and receives packets. */
static inline bool soft_state_is_live(const struct qp *qp)
{
	return qp->state == SOFT_QP_RTS || qp->state == SOFT_QP_REFUSING;
}
/*
 * Ends the connection: the work that caused it completes with status, the rest is flushed.
 */
void soft_state_fail(struct qp *qp, enum qp_wc_status status);
/* A request of the peer was refused: the QP goes to SOFT_QP_REFUSING. Idempotent. */
void soft_state_refuse(struct qp *qp);
void soft_state_error(struct qp *qp); /* qp_provider.qp_error */
void soft_state_set_timer(struct qp *qp);
/* The next soft_tx_run() serves the QP, unless it is in error. */
void soft_state_schedule(struct qp *qp);

/* Serves runnable QPs in turn, within the work budget; > 0 if anything was sent. */
int soft_tx_run(struct qp_endpoint *ep, uint64_t now_ns);
/* Sends one burst of one QP. False: it has nothing more to send now. */
bool soft_tx_burst(struct qp *qp, uint64_t now_ns);
/* An answer may be due for what has arrived: soft_tx_answers() will send it. */
void soft_tx_queue_answer(struct qp *qp);
/* Sends the answers that are due, the delayed ones too. */
void soft_tx_answers(struct qp_endpoint *ep);
/*
 * Sends a CNP: a queue marked the peer's packet psn. CNPs of a QP have a least interval.
 */
void soft_tx_cnp(struct qp *qp, uint32_t psn, uint64_t now_ns);
/* Wakes QPs whose sockets have room again. */
int soft_tx_unblock(struct qp_endpoint *ep);

/* Receives datagrams, within the work budget; > 0 if there were any. */
int soft_rx_run(struct qp_endpoint *ep, uint64_t now_ns);

int soft_control_send(struct qp_endpoint *ep, const struct qp_control *control);
/* True: a datagram that soft_control_on_packet() takes. */
bool soft_control_is_wanted(const struct qp_endpoint *ep, const struct roce_packet *packet);
void soft_control_on_packet(struct qp_endpoint *ep, const struct roce_packet *packet,
			    const struct roce_flow *flow, unsigned ifindex);

#endif
