/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * provider.h - the table of operations between groups and what carries bytes.
 *
 * There are two providers: verbs (libibverbs, RDMA devices) and soft (RoCEv2 over UDP sockets). The
 * operations follow the InfiniBand verbs: a queue pair goes RESET -> (connect) -> RTS -> ERR. Work
 * requests of a QP complete in order. A QP in ERR flushes what is outstanding, and places nothing
 * that arrives later.
 *
 * Thread: everything on one endpoint is called from one thread.
 */
#ifndef QP_PROVIDER_H
#define QP_PROVIDER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fare_limits.h"
#include "roce_ports.h"

struct control_auth;
struct qp_endpoint; /* one per process and local GPU address; holds QPs and memory regions */
struct qp;

/* plane of a QP whose packets the kernel routes */
#define QP_ANY_PLANE UINT16_MAX

#define QP_MAX_SERVICE_LEVEL 15

struct qp_mr {
	uint32_t lkey;
	uint32_t rkey;
};

/* Rights of peers. The owner of a region may read and write it. */
#define QP_ACCESS_REMOTE_WRITE 1u
#define QP_ACCESS_REMOTE_READ  2u

/*
 * READs that one QP may have under way: what RoCE devices serve (ConnectX 16, others more). The
 * chunks of a window on slow links are not more (group_shape.c); otherwise a QP whose requests are
 * short would wait for responses with its window half empty.
 */
#define QP_MAX_READS 16
/*
 * Packets around the border of two READs on one QP: LAST, FIRST and one more. FIRST and LAST are
 * longer than the others by their AETH, and segmentation offload cuts equal pieces: so these three
 * leave in a super-packet of their own.
 */
#define QP_READ_BORDER 3
/* Super-packets beside the border in a READ that a QP asks for, if its window holds them. */
#define QP_READ_BATCHES 2u

/*
 * DCQCN (soft/dcqcn.h): its reaction point here, the notification point at the other end. A value
 * of 0 is the published one: in proportion to the line, and times longer below 40 Gb/s.
 */
struct qp_dcqcn {
	bool is_on;
	uint32_t g_ppb; /* gain of alpha in 1e-9: 1 .. 1,000,000,000 (3,906,250: 1/256) */
	/* between increases; as long without a CNP alpha falls, and CNPs have 10/11 of it between
	 * them: 10 .. 10,000,000 (55 us) */
	uint32_t timer_us;
	uint32_t counter_bytes; /* between increases by bytes: 1000 .. 1,000,000,000 (1e7) */
	uint32_t rai_kbps;	/* additive increase; hyper: ten times: 1 .. 1e9 (line / 1000) */
};

struct qp_attr {
	uint16_t plane;	   /* or QP_ANY_PLANE: socket not bound to a device */
	uint16_t sub_port; /* ignored with QP_ANY_PLANE */
	/*
	 * 49152..65535 (RoCEv2 annex A17.9.2); QPs may share one. 0: one of the pool that starts at
	 * FARE_SOURCE_PORT_FIRST (beyond it, if others on this host have all of them); a random one
	 * with QP_ANY_PLANE, or where devices choose
	 */
	uint16_t udp_source_port;
	uint8_t timeout;   /* local ACK timeout: 4.096 us x 2^timeout, 0 = none (IBTA 9.7.6.1.3) */
	uint8_t retry_cnt; /* 0..7 */
	/* receiver-not-ready answers in a row that end the QP, 1..7; 0: it waits for ever */
	uint8_t rnr_limit;
	/*
	 * Receives that may be posted, up to QP_MAX_RECEIVES. Each SEND and each WRITE with
	 * immediate uses one, and waits (receiver not ready) while there is none. 0: the provider
	 * itself keeps receives of zero bytes posted. Then immediates arrive as long as completions
	 * are polled, and a SEND with payload is refused.
	 */
	uint16_t receives;
	/*
	 * With verbs and receives = 0: how many receives the provider keeps posted (0: 256). Used
	 * ones are posted again when poll has found nothing on any QP. So at most that many
	 * immediates arrive between two such polls.
	 */
	uint16_t notifications;
	/*
	 * Packets may overtake each other: each is placed when it arrives, and the QP may use
	 * several source-port paths (qp_spread). It carries WRITEs only. -EOPNOTSUPP: the provider
	 * has no such QPs. The other end must have agreed (qp_remote.order_free).
	 */
	bool order_free;
	/* unacknowledged payload that may be on the wire; 0: the provider's default */
	uint32_t window_bytes;
	/*
	 * Soft: CNPs lower the rate of what it sends (soft/dcqcn.h) instead of the window, if the
	 * device's rate is known. Marked answers to READs have the effect that they had.
	 */
	struct qp_dcqcn dcqcn;
	/* 0..63, of all packets that this end sends (RFC 2474); ECT(0) is added (RFC 3168) */
	uint8_t dscp;
	/* 0..15 (IBTA 7.6.5); a device may map it to a priority. Soft ignores it */
	uint8_t service_level;
	void *context; /* copied to qp_wc.context */
};

/* The other end of a QP, as the handshake of the group says. */
struct qp_remote {
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t qpn;		 /* 24 bits */
	uint32_t psn;		 /* 24 bits: first PSN that the other end sends */
	uint16_t sub_port;	 /* of the other end, that its QP is made for */
	bool order_free;	 /* the other end's QP is order-free */
	struct in6_addr device;	 /* address of that sub-port's device; all zero: as address */
	/*
	 * The other end's qp_endpoint_info.port; 0: first_port. Soft sends packets there. Verbs
	 * sends only the questions for rkeys there: devices always send packets to ROCE_UDP_PORT.
	 */
	uint16_t udp_port;
	/*
	 * The other end's qp_endpoint_info.path_mtu; 0: as this end's. The smaller one of both
	 * counts. Both ends must know both values: a responder refuses packets of another size
	 * (IBTA 9.7.4.1.6), and both ends count the packets of a READ.
	 */
	uint32_t path_mtu;
};

#define QP_MAX_RECEIVES 1024

/* A source-port path. The leaf sees only the source port. */
#define QP_MAX_PATHS 16
struct qp_path {
	uint16_t sub_port;
	uint16_t udp_source_port;
};

enum qp_wr_flags {
	/* with immediate, which raises a receive completion at the other end */
	QP_WR_IMM = 1 << 0,
	/*
	 * Of a write: the caller's next call posts another write on this QP. Soft sends both in
	 * one batch; if the next one is refused, this one is sent alone. Verbs ignores it.
	 */
	QP_WR_MORE = 1 << 1,
	/*
	 * Soft: it may wait for the next endpoint_progress(), so that others join it, even if the
	 * QP has nothing else to do now. Others: nothing.
	 */
	QP_WR_LATER = 1 << 2,
};

enum qp_op {
	QP_OP_WRITE,
	QP_OP_SEND, /* into the oldest receive that the other end has posted */
	/* copies from remote_addr to data, whose content is undefined until completion */
	QP_OP_READ,
};

/* A work request. data is borrowed and must not change until completion; a READ alone writes it. */
struct qp_work {
	enum qp_op op;
	uint64_t wr_id;
	void *data;
	uint32_t lkey;	 /* of the region in which data lies */
	uint32_t length; /* bytes, 0..2^31 */
	/* WRITE, READ */
	uint64_t remote_addr;
	uint32_t rkey;
	/* WRITE, SEND */
	uint32_t imm;	/* host order; sent big-endian */
	unsigned flags; /* enum qp_wr_flags */
};

/* Memory for one SEND that arrives. data is borrowed until the completion. */
struct qp_recv {
	uint64_t wr_id;
	void *data;
	uint32_t lkey;
	uint32_t length;
};

/* Values are those of enum ibv_wc_status. */
enum qp_wc_status {
	QP_WC_SUCCESS = 0,
	/* a receive was shorter than the SEND; or (verbs) a packet is above the MTU of a device */
	QP_WC_LOC_LEN_ERR = 1,
	QP_WC_LOC_PROT_ERR = 4, /* local memory is not registered */
	QP_WC_FLUSH_ERR = 5,
	QP_WC_BAD_RESP_ERR = 7, /* the peer's response violates the protocol */
	QP_WC_REM_INV_REQ_ERR = 9,
	QP_WC_REM_ACCESS_ERR = 10,
	QP_WC_REM_OP_ERR = 11,
	QP_WC_RETRY_EXC_ERR = 12,
	QP_WC_RNR_RETRY_EXC_ERR = 13,
};

struct qp_wc {
	struct qp *qp;
	void *context; /* qp_attr.context */
	/* of the work request; 0: a receive that the provider itself had posted */
	uint64_t wr_id;
	enum qp_wc_status status;
	/* a SEND or a WRITE with immediate arrived, or a posted receive was flushed */
	bool is_receive;
	bool has_imm;
	uint32_t imm;
	uint32_t byte_len; /* payload of that message */
};

/* A control datagram, which is sent beside the QPs over a plane. */
#define QP_CONTROL_MAX 1024 /* bytes of payload */
struct qp_control {
	struct in6_addr remote; /* sender or destination */
	/*
	 * tx: plane to use, or QP_ANY_PLANE; rx: plane on which it arrived (QP_ANY_PLANE: not
	 * known)
	 */
	uint16_t plane;
	uint16_t sub_port;
	/* tx: source port to use, 0: the channel's own; rx: the sender's */
	uint16_t udp_source_port;
	/* tx: the other end's qp_endpoint_info.port; 0: first_port. rx: 0; the message names it */
	uint16_t remote_port;
	const void *data;
	size_t length;
};

#define QP_PATH_MTU_DEFAULT 1024 /* the largest that fits an Ethernet MTU of 1500 */

/* True: one of the five values of InfiniBand. */
static inline bool qp_path_mtu_is_valid(uint32_t path_mtu)
{
	return path_mtu >= 256 && path_mtu <= 4096 && !(path_mtu & (path_mtu - 1));
}

/* The path MTU of a QP between two ends; remote 0: not known. */
static inline uint32_t qp_path_mtu_common(uint32_t local, uint32_t remote)
{
	return remote && remote < local ? remote : local;
}

struct qp_endpoint_attr {
	struct in6_addr address; /* the local GPU's loopback; IPv4 as ::ffff:a.b.c.d */
	uint16_t n_planes;
	uint16_t n_sub_ports[FARE_MAX_PLANES];
	char dev[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS][FARE_DEV_NAME_MAX];
	uint64_t bps[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS]; /* of their links; 0: not known */
	/*
	 * Payload bytes of a packet: 256, 512, 1024, 2048 or 4096; 0: the largest that the devices
	 * of all sub-ports carry (QP_PATH_MTU_DEFAULT if that is not known). -EMSGSIZE: it is more
	 * than they carry. *max_path_mtu, unless NULL, is set to what they carry (0: not known).
	 */
	uint32_t path_mtu;
	uint32_t *max_path_mtu;
	/* unless NULL: FARE_DEV_NAME_MAX bytes, set to the device that carries least; or empty */
	char *max_path_mtu_dev;
	/* soft: peers may be RDMA devices, whose IPv4 identification is not known (roce_icrc.h) */
	bool device_peers;
	/*
	 * Soft: all due acknowledgements are sent before endpoint_progress() returns. Without it,
	 * they may be delayed until the next call if the caller seems to spin.
	 */
	bool acknowledge_now;
	uint8_t control_dscp; /* 0..63, of control datagrams */
	/*
	 * UDP port at which soft receives everything, and verbs control datagrams. 0: first_port,
	 * or if another process has it at this address, the next free port. qp_endpoint_info
	 * says which. Peers need to know it.
	 */
	uint16_t udp_port;
	/*
	 * Key for messages of the provider itself (verbs: questions for rkeys and their answers);
	 * borrowed until endpoint_destroy(). Messages without this key are rejected. NULL: they are
	 * not authenticated.
	 */
	const struct control_auth *control_key;
	/* called when a control datagram arrived; control and its data are valid during the call */
	void (*on_control)(void *arg, const struct qp_control *control);
	void *arg;
};

struct qp_stats {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes; /* payload bytes */
	uint64_t retransmitted_packets, timeouts, naks_sent, naks_received, icrc_errors, rx_dropped;
	uint64_t cnps_sent, cnps_received; /* IBTA A17.9.3: for packets that a queue marked */
	/* packets above the MTU of a device: as good as lost (qp_endpoint_info.mtus) */
	uint64_t too_long_packets;
	/* requests that came before one with a lower PSN, which is late or lost; soft alone */
	uint64_t out_of_order_packets;
};

/* What devices carry now: payload bytes of a packet, by plane and sub-port. */
#define QP_MTU_UNKNOWN UINT32_MAX
struct qp_mtus {
	uint64_t changes; /* rises whenever anything below changes */
	uint32_t payload[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS]; /* 0: not even 256; or unknown */
};

/* What an endpoint says of itself. */
struct qp_endpoint_info {
	int fd;		   /* polls readable when endpoint_progress() is due; the endpoint's */
	uint16_t port;	   /* UDP, at which it receives: qp_endpoint_attr.udp_port */
	uint32_t path_mtu; /* payload bytes of its packets; a QP may use less (qp_remote) */
	/*
	 * What the devices carry, which may change. Read again by endpoint_progress() each second,
	 * and at once when a packet was above the MTU of its device. Such a packet is lost, and
	 * those after it, until the QP is moved to a sub-port that carries them. NULL: each
	 * sub-port carries path_mtu.
	 */
	const struct qp_mtus *mtus;
	const struct qp_stats *stats;
};

struct qp_provider {
	const char *name;
	/* UDP port of the first process at an address, used when no other port is known */
	uint16_t first_port;
	/*
	 * False: when a WRITE completes at the sender, its bytes are visible at the receiver,
	 * whichever QP then notifies the receiver.
	 *
	 * True: the completion says only that the responder has taken the request. IBTA volume 1,
	 * 9.5, o9-20: an application shall not depend on the contents of an RDMA WRITE's buffer at
	 * the responder before the completion there of that WRITE's own immediate, or of a later
	 * SEND or WRITE with immediate, or an update by a later ATOMIC. "Later" means on the same
	 * QP, because only there requests are executed in order. A READ by the sender behind the
	 * WRITE on that QP has the same effect. Nothing orders one QP or one device against
	 * another: an immediate on one may be seen before bytes of the other, even if those were
	 * acknowledged before it was posted. flush.h says what a group does then.
	 */
	bool notify_per_qp;
	/*
	 * A leaf forwards control datagrams like a QP's packets from the same sub-port and source
	 * port. So echoes show where the source port of a QP leads.
	 */
	bool echoes_learn_ports;
	/* 0 or -errno (-EADDRINUSE: no port to receive at). *out NULL on error. attr is copied. */
	int (*endpoint_create)(struct qp_endpoint **out, const struct qp_endpoint_attr *attr);
	void (*endpoint_destroy)(struct qp_endpoint *ep); /* destroys its QPs; NULL is fine */
	/*
	 * In a child of fork(): closes the descriptors, which are the child's own. The rest of ep
	 * is a copy of the parent's and stays as it is. NULL: there are none to close.
	 */
	void (*endpoint_leave)(struct qp_endpoint *ep);
	/* Borrowed. */
	const struct qp_endpoint_info *(*endpoint_info)(const struct qp_endpoint *ep);
	/*
	 * Does what is due, and never blocks. > 0: something happened; 0: nothing; -errno: the
	 * endpoint is broken.
	 */
	int (*endpoint_progress)(struct qp_endpoint *ep);
	/*
	 * The own address of a sub-port's device. 0, or -errno: it has none now. NULL: all devices
	 * use attr.address.
	 */
	int (*sub_port_address)(struct qp_endpoint *ep, uint16_t plane, uint16_t sub_port,
				struct in6_addr *out);

	int (*mr_register)(struct qp_endpoint *ep, void *addr, size_t length, unsigned access,
			   struct qp_mr *out);
	/*
	 * Registers length bytes from offset of a dma-buf (memory of a GPU). iova is the address of
	 * the first byte, for peers and work requests. fd is borrowed for the call. -EOPNOTSUPP:
	 * the device, its driver or the kernel cannot. NULL: the provider cannot. qp/mr_dmabuf.h
	 * maps the memory then.
	 */
	int (*mr_register_dmabuf)(struct qp_endpoint *ep, int fd, uint64_t offset, size_t length,
				  uint64_t iova, unsigned access, struct qp_mr *out);
	/*
	 * When it returns, no device reads or writes the region any more. Outstanding work requests
	 * on it complete in error.
	 */
	int (*mr_deregister)(struct qp_endpoint *ep, const struct qp_mr *mr);

	int (*qp_create)(struct qp_endpoint *ep, const struct qp_attr *attr, struct qp **out);
	uint32_t (*qp_num)(const struct qp *qp);
	uint32_t (*qp_psn)(const struct qp *qp); /* first PSN that this end sends, random */
	uint16_t (*qp_source_port)(const struct qp *qp);
	/*
	 * RESET -> RTS. The change may still be under way when it returns (qp_status).
	 * -EPROTONOSUPPORT: one end is order-free and the other is not. Reason: a standard
	 * responder answers the first packet out of order with a sequence error, and drops what
	 * follows.
	 */
	int (*qp_connect)(struct qp *qp, const struct qp_remote *remote);
	/*
	 * Devices change the state of a QP in their own time.
	 *
	 * > 0: a change is under way: the QP is being connected, or is in error and may still place
	 * bytes. 0: no change is under way. -errno: the QP failed by itself, and qp_error() is due.
	 * Causes: its port, its GID, a failed connect, a packet of the peer or a spoofed one, its
	 * completion queue, or its device (-ENODEV). While a device is lost, qp_create returns
	 * -ENODEV too; the provider opens the device again by itself.
	 *
	 * Soft: never > 0. A QP that refused a request of the peer takes no more posts, but returns
	 * -errno only after the time after which it would itself send again. Until then what was
	 * posted goes on, because the peer's answer may still arrive, and the refusal is repeated
	 * when the peer sends its request again.
	 *
	 * NULL: changes are done when a call returns, and no QP fails by itself.
	 */
	int (*qp_status)(struct qp *qp);
	/* True: the QP has refused a request of the peer, which ends it. NULL: not known. */
	bool (*qp_refused)(const struct qp *qp);
	/*
	 * Moves a QP in RTS to another local sub-port of its plane, another source port (0: the
	 * same as before), or both, and kicks it: all that is unacknowledged is sent again on the
	 * new path. So the receiver misses nothing there, and what still arrives on the old path is
	 * a duplicate. 0, or the QP was not moved: -EOPNOTSUPP (a device cannot), -EINVAL,
	 * -EADDRINUSE, -ENODEV.
	 */
	int (*qp_move)(struct qp *qp, uint16_t sub_port, uint16_t udp_source_port);
	/*
	 * Order-free QPs: from now on batches use these n (1..QP_MAX_PATHS) source-port paths in
	 * turn. 0, or nothing was changed: -EINVAL, -EADDRINUSE, -ENODEV. NULL: the provider has no
	 * order-free QPs.
	 */
	int (*qp_spread)(struct qp *qp, const struct qp_path *paths, unsigned n);
	/* Sends again at once from the oldest unacknowledged packet (the path just changed). */
	void (*qp_kick)(struct qp *qp);
	/*
	 * To ERR: outstanding work requests and posted receives complete with FLUSH_ERR. It never
	 * blocks; a device does it in its own time. Once qp_status says 0 and all completions were
	 * polled, nothing more is sent or placed, and no device uses the memory of work requests.
	 * Until then a device may use that memory, also of a message that was given up. Idempotent.
	 */
	void (*qp_error)(struct qp *qp);
	/*
	 * The QPN is not given to a new QP for as long as possible. Completions that were not
	 * polled are dropped. If qp_status did not say 0 before, a device may use the memory of
	 * work requests after the call, until mr_deregister or endpoint_destroy returns.
	 */
	void (*qp_destroy)(struct qp *qp);
	/*
	 * Queues work; all of a QP completes in the order of posting. 0, -ENOBUFS (the queue is
	 * full: wait for completions), -EINVAL, -ENOTCONN (not in RTS), -EAGAIN (verbs: the peer is
	 * being asked for the rkey on its device; try again soon), -EACCES (verbs: the peer
	 * answered that it has no such region).
	 */
	int (*post)(struct qp *qp, const struct qp_work *work);
	/*
	 * Queues a receive, in any state before ERR. 0, -ENOBUFS (attr.receives are posted or were
	 * not polled yet), -EINVAL, -ENOTCONN.
	 */
	int (*post_recv)(struct qp *qp, const struct qp_recv *recv);
	/* Takes up to max completions and returns how many. 0: no QP has any. */
	int (*poll)(struct qp_endpoint *ep, struct qp_wc *wc, int max);

	/* Sends one control datagram now. 0 or -errno; loss is silent. */
	int (*control_send)(struct qp_endpoint *ep, const struct qp_control *control);
};

extern const struct qp_provider qp_soft_provider;
extern const struct qp_provider qp_verbs_provider;

#endif
