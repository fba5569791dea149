/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * provider.h - the small operations table between the QP group and what carries bytes.
 *
 * Two providers stand behind it: verbs (libibverbs on a real RoCE NIC) and soft (RoCEv2 over UDP
 * sockets). Shapes follow the InfiniBand verbs: a queue pair goes RESET -> (connect) -> RTS -> ERR;
 * work requests complete in order per QP; a QP in ERR flushes what is outstanding and places
 * nothing that arrives later.
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

struct control_seal;
struct qp_endpoint; /* one per process and local GPU address; holds QPs and memory regions */
struct qp;

/* plane and sub_port of a QP that the kernel's own routing steers (the ECMP baselines) */
#define QP_ANY_PLANE UINT16_MAX

#define QP_MAX_SERVICE_LEVEL 15

struct qp_mr {
	uint32_t lkey;
	uint32_t rkey;
};

/* What peers may do; the owner of a region may read and write it, unless it says otherwise. */
#define QP_ACCESS_REMOTE_WRITE 1u
#define QP_ACCESS_REMOTE_READ  2u
/*
 * The owner only reads: memory that cannot be written may be registered. No receive or READ of the
 * owner's may land there. -EINVAL with QP_ACCESS_REMOTE_WRITE, which needs local write, and from
 * the soft provider.
 */
#define QP_ACCESS_LOCAL_READ_ONLY 4u

/* requests for remote memory that one QP has under way: every device can serve as many */
#define QP_MAX_READS 4

struct qp_attr {
	uint16_t plane;	   /* or QP_ANY_PLANE: socket not bound to a device */
	uint16_t sub_port; /* ignored with QP_ANY_PLANE */
	/*
	 * 49152..65535 (RoCEv2 annex A17.9.2); QPs may share one. 0: one of the pool that starts at
	 * FARE_SOURCE_PORT_FIRST; a random one with QP_ANY_PLANE, or where devices choose
	 */
	uint16_t udp_source_port;
	uint8_t timeout;   /* local ACK timeout: 4.096 us x 2^timeout, 0 = none (IBTA 9.7.6.1.3) */
	uint8_t retry_cnt; /* 0..7 */
	/* receiver-not-ready answers in a row that end the QP, 1..7; 0: none do, it waits */
	uint8_t rnr_limit;
	/*
	 * Receives that may be posted, up to QP_MAX_RECEIVES. SEND and WRITE with immediate take
	 * one each, and wait (receiver not ready) while there is none. 0: the provider itself keeps
	 * receives of zero bytes posted, so that immediates arrive as long as completions are
	 * polled, and a SEND that carries bytes is refused.
	 */
	uint16_t receives;
	/*
	 * How many those are where a device takes them by itself (0: 256). They are posted again
	 * once poll has found nothing on any QP: so no more immediates than that arrive between two
	 * times that it did.
	 */
	uint16_t notifications;
	/*
	 * Packets may overtake each other: each is placed as it comes, and the QP may leave by
	 * several ports (qp_spread). Only WRITEs. -EOPNOTSUPP where the provider has none such; the
	 * other end must have agreed (qp_remote.order_free).
	 */
	bool order_free;
	/* unacknowledged payload kept on the wire; 0: the provider's default */
	uint32_t window_bytes;
	/* 0..63: of all packets that this end sends (RFC 2474). ECT(0) is added (RFC 3168) */
	uint8_t dscp;
	/* 0..15 (IBTA 7.6.5), of which a device may make a priority. Soft: no use for it */
	uint8_t service_level;
	void *context; /* comes back in struct qp_wc */
};

/* What the other end needs; exchanged by the group's handshake. */
struct qp_remote {
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t qpn;		 /* 24 bits */
	uint32_t psn;		 /* 24 bits: first PSN the other end sends */
	uint16_t sub_port;	 /* the other end's, that its QP is made for */
	bool order_free;	 /* its QP places packets in any order */
	struct in6_addr device;	 /* where that sub-port's device answers; all zero: at address */
	/*
	 * The other end's endpoint_port(); 0: first_port. Soft: packets go there. Verbs: packets go
	 * to ROCE_UDP_PORT in any case, as a device knows no other; the provider asks for rkeys
	 * there.
	 */
	uint16_t udp_port;
	/*
	 * The other end's endpoint_path_mtu(); 0: as this end's. Packets are as large as both take.
	 * Both ends must be told: a responder refuses packets of another size (IBTA 9.7.4.1.6), and
	 * both count the packets of a READ.
	 */
	uint32_t path_mtu;
};

#define QP_MAX_RECEIVES 1024

/* A way out of this end: what a leaf sees of it is the source port. */
#define QP_MAX_PATHS 16
struct qp_path {
	uint16_t sub_port;
	uint16_t udp_source_port;
};

enum qp_wr_flags {
	/* with immediate; after a WRITE it raises a receive completion at the other end */
	QP_WR_IMM = 1 << 0,
	/*
	 * Of a write: the caller posts another on this QP before anything else, which may go in
	 * the same batch. Soft: it leaves with that one, even if that is refused. Others: nothing.
	 */
	QP_WR_MORE = 1 << 1,
	/*
	 * Soft: it may wait for the next endpoint_progress(), so that others join it, even if the
	 * QP has nothing else to do now. Others: nothing.
	 */
	QP_WR_LATER = 1 << 2,
};

/* One RDMA WRITE. data stays the caller's and must not change until completion. length may be 0. */
struct qp_write {
	uint64_t wr_id;
	const void *data;
	uint32_t lkey;
	uint32_t length; /* bytes, 0..2^31 */
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t imm;	/* host order; sent big-endian */
	unsigned flags; /* enum qp_wr_flags */
};

/* One SEND, into the receive that the other end posted first. data as above. */
struct qp_send {
	uint64_t wr_id;
	const void *data;
	uint32_t lkey;
	uint32_t length;
	uint32_t imm;
	unsigned flags;
};

/*
 * One RDMA READ: length bytes at remote_addr come to data. What data holds before completion is
 * undefined.
 */
struct qp_read {
	uint64_t wr_id;
	void *data;
	uint32_t lkey;
	uint32_t length;
	uint64_t remote_addr;
	uint32_t rkey;
};

/* Where one SEND may land. data is the provider's until the completion. */
struct qp_recv {
	uint64_t wr_id;
	void *data;
	uint32_t lkey;
	uint32_t length;
};

/* Values are those of enum ibv_wc_status. */
enum qp_wc_status {
	QP_WC_SUCCESS = 0,
	/* a receive was too short for the SEND; or a device for a packet of the path MTU */
	QP_WC_LOC_LEN_ERR = 1,
	QP_WC_LOC_PROT_ERR = 4, /* local memory is not registered any more */
	QP_WC_FLUSH_ERR = 5,
	QP_WC_BAD_RESP_ERR = 8, /* the peer answered what it must not */
	QP_WC_REM_INV_REQ_ERR = 9,
	QP_WC_REM_ACCESS_ERR = 10,
	QP_WC_REM_OP_ERR = 11,
	QP_WC_RETRY_EXC_ERR = 12,
	QP_WC_RNR_RETRY_EXC_ERR = 13,
};

struct qp_wc {
	struct qp *qp;
	void *context; /* qp_attr.context */
	/* of what was posted; 0 for a receive that the provider itself had posted */
	uint64_t wr_id;
	enum qp_wc_status status;
	/* a SEND or a WRITE with immediate has arrived; or a posted receive ended without */
	bool is_receive;
	bool has_imm;
	uint32_t imm;
	uint32_t byte_len; /* payload of that message */
};

/* A datagram of the group's control channel, carried beside the QPs over every plane. */
#define QP_CONTROL_MAX 1024 /* bytes of payload */
struct qp_control {
	struct in6_addr remote; /* sender or destination */
	/*
	 * tx: which plane to use, or QP_ANY_PLANE; rx: where it arrived (or QP_ANY_PLANE if
	 * unknown)
	 */
	uint16_t plane;
	uint16_t sub_port;
	/* tx: source port to use, 0: the channel's own; rx: the sender's */
	uint16_t udp_source_port;
	/* tx: the other end's endpoint_port(); 0: first_port. rx: 0, only it can tell */
	uint16_t remote_port;
	const void *data;
	size_t length;
};

#define QP_PATH_MTU_DEFAULT 1024 /* that any Ethernet carries */

/* One of the five that InfiniBand knows. */
static inline bool qp_path_mtu_is_valid(uint32_t path_mtu)
{
	return path_mtu >= 256 && path_mtu <= 4096 && !(path_mtu & (path_mtu - 1));
}

/* What two ends agree on; remote 0: not told. */
static inline uint32_t qp_path_mtu_common(uint32_t local, uint32_t remote)
{
	return remote && remote < local ? remote : local;
}

struct qp_endpoint_attr {
	struct in6_addr address; /* the local GPU's loopback; IPv4 as ::ffff:a.b.c.d */
	uint16_t n_planes;
	uint16_t n_sub_ports[FARE_MAX_PLANES];
	char dev[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS][FARE_DEV_NAME_MAX];
	/*
	 * Payload bytes a packet: 256, 512, 1024, 2048 or 4096. 0 is the largest that the devices
	 * of all sub-ports carry (QP_PATH_MTU_DEFAULT if none says). -EMSGSIZE if it is more than
	 * that. *max_path_mtu, unless NULL, is set to what they carry (0: none says).
	 */
	uint32_t path_mtu;
	uint32_t *max_path_mtu;
	/* soft: peers may be RDMA devices, whose IPv4 ids a socket cannot foretell (roce_icrc.h) */
	bool device_peers;
	/*
	 * Soft: no acknowledgement is due when endpoint_progress() returns. Otherwise, if the
	 * caller is taken for one that spins, those may wait for its next call.
	 */
	bool acknowledge_now;
	uint8_t control_dscp; /* 0..63: of control datagrams */
	/*
	 * UDP port to receive at: soft all, verbs its control datagrams. 0: first_port if no other
	 * process has it at this address, or else the next port above it that is free:
	 * endpoint_port() says which. Peers must be told.
	 */
	uint16_t udp_port;
	/*
	 * What authenticates the messages of the provider's own (verbs: the questions for rkeys and
	 * their answers); borrowed for the endpoint's life. With it, none counts that does not have
	 * the key. NULL: they go, and count, without.
	 */
	const struct control_seal *control_key;
	/* a control datagram arrived; control and its data are borrowed for the call */
	void (*on_control)(void *arg, const struct qp_control *control);
	void *arg;
};

struct qp_stats {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes; /* payload bytes */
	uint64_t retransmitted_packets, timeouts, naks_sent, naks_received, icrc_errors, rx_dropped;
	uint64_t cnps_sent, cnps_received; /* IBTA A17.9.3: of packets that a full queue marked */
	/* that a device was too small for, not counted as sent: each ended its QP (LOC_LEN_ERR) */
	uint64_t too_long_packets;
};

struct qp_provider {
	const char *name;
	/* UDP port of the first process at an address: where it is looked for unless told better */
	uint16_t first_port;
	/*
	 * False: a write's completion at the sender says that its bytes are there to be read at the
	 * receiver, by whatever QP the receiver then hears of it.
	 *
	 * True: it says only that the responder has taken the request, and the standard's rule is
	 * all there is. IBTA volume 1, 9.5, o9-20: an application shall not depend on the contents
	 * of an RDMA WRITE's buffer at the responder before the completion there of that WRITE's
	 * own immediate, or of a later SEND or WRITE with immediate, or an update by a later ATOMIC
	 * - later on the same QP, as only there requests are carried out in their order. (A READ by
	 * the sender behind the WRITE on that QP flushes it, too.) Nothing orders one QP or one
	 * device against another: an immediate on one can be seen before bytes of the other,
	 * whatever was acknowledged to the sender before it posted.
	 *
	 * So then a message's notification comes by every QP that placed bytes of it: an immediate
	 * behind the bytes, on each (QP_WR_IMM on its last write, or a WRITE of zero bytes). The
	 * receiver reads when all have come. Nothing has to be acknowledged first: on one QP they
	 * are in order. What is replayed on another QP needs its immediate there.
	 */
	bool notify_per_qp;
	/*
	 * A leaf sees no difference between a control datagram and a QP's packets from the same
	 * sub-port and source port: echoes tell where a QP's port leads.
	 */
	bool echoes_tell_ports;
	/* 0 or -errno (-EADDRINUSE: no port to receive at). *out NULL on error. attr is copied. */
	int (*endpoint_create)(struct qp_endpoint **out, const struct qp_endpoint_attr *attr);
	void (*endpoint_destroy)(struct qp_endpoint *ep); /* destroys its QPs; NULL is fine */
	/* UDP port at which it receives: qp_endpoint_attr.udp_port. NULL: first_port */
	uint16_t (*endpoint_port)(const struct qp_endpoint *ep);
	/* Payload bytes of its packets; a QP may have agreed on less. NULL: attr.path_mtu */
	uint32_t (*endpoint_path_mtu)(const struct qp_endpoint *ep);
	/*
	 * A descriptor that polls readable when progress is due (sockets and timers). Owned by ep.
	 */
	int (*endpoint_fd)(struct qp_endpoint *ep);
	/*
	 * Does what is due, never blocks. > 0 if anything happened, 0 if not, -errno if the
	 * endpoint is broken.
	 */
	int (*endpoint_progress)(struct qp_endpoint *ep);
	void (*endpoint_stats)(struct qp_endpoint *ep, struct qp_stats *out);
	/*
	 * The address that a sub-port's device has of its own. 0 or -errno (none now). NULL: all
	 * use attr.address.
	 */
	int (*sub_port_address)(struct qp_endpoint *ep, uint16_t plane, uint16_t sub_port,
				struct in6_addr *out);

	int (*mr_register)(struct qp_endpoint *ep, void *addr, size_t length, unsigned access,
			   struct qp_mr *out);
	/*
	 * Registers length bytes from offset of a dma-buf (a GPU's memory): peers and work requests
	 * name them by iova onward. fd is borrowed for the call. -EOPNOTSUPP: the device, its
	 * driver or the kernel cannot. NULL: the provider cannot. qp/mr_dmabuf.h has the way out.
	 */
	int (*mr_register_dmabuf)(struct qp_endpoint *ep, int fd, uint64_t offset, size_t length,
				  uint64_t iova, unsigned access, struct qp_mr *out);
	/*
	 * When it returns, no device reads or writes the region any more, whatever is outstanding;
	 * work on it ends in error.
	 */
	int (*mr_deregister)(struct qp_endpoint *ep, const struct qp_mr *mr);

	int (*qp_create)(struct qp_endpoint *ep, const struct qp_attr *attr, struct qp **out);
	uint32_t (*qp_num)(const struct qp *qp);
	uint32_t (*qp_psn)(const struct qp *qp); /* first PSN this end will send, random */
	uint16_t (*qp_source_port)(const struct qp *qp);
	/*
	 * RESET -> RTS, or on its way: qp_status. -EPROTONOSUPPORT: one end is order-free and the
	 * other is not; a standard responder would answer the first packet out of order with a
	 * sequence error, and drop what follows.
	 */
	int (*qp_connect)(struct qp *qp, const struct qp_remote *remote);
	/*
	 * Devices change a QP's state in their own time. > 0: a change is under way (it connects,
	 * or it is in error and not yet known to have placed its last byte); 0: none is; -errno: it
	 * failed without being told to (its port, its GID, its connecting, something that the peer
	 * or a stranger sent, its completion queue, its device: -ENODEV), qp_error() is due. While
	 * a device is lost, qp_create says -ENODEV, too; it comes back by itself. Soft: never > 0;
	 * and one that refused what the peer asked takes no more posts, but says so only after as
	 * long as it would itself send again. Until then what was posted goes on, as the peer's
	 * answer may still come, and the refusal is repeated when the peer asks again.
	 * NULL: changes are done when the call returns, and none fails by itself.
	 */
	int (*qp_status)(struct qp *qp);
	/*
	 * Moves an RTS QP to another local sub-port of its plane, another source port (0: the one
	 * it has), or both, and kicks it: all that is unacknowledged goes again the new way, so
	 * that there the receiver misses nothing, and what still comes the old way is a duplicate.
	 * 0, -EOPNOTSUPP where a device cannot, -EINVAL, -EADDRINUSE, -ENODEV (it is where it was
	 * then).
	 */
	int (*qp_move)(struct qp *qp, uint16_t sub_port, uint16_t udp_source_port);
	/*
	 * Order-free QPs: their batches leave by these n (1..QP_MAX_PATHS) paths in turn from now
	 * on. 0, -EINVAL, -EADDRINUSE, -ENODEV (nothing has changed then). NULL: the provider has
	 * no such QPs.
	 */
	int (*qp_spread)(struct qp *qp, const struct qp_path *paths, unsigned n);
	/* Sends again at once from the oldest unacknowledged packet (the path just changed). */
	void (*qp_kick)(struct qp *qp);
	/*
	 * To ERR: what is outstanding, posted receives too, completes with FLUSH_ERR. Never blocks:
	 * the device does it in its own time. Once qp_status says 0, all of it was polled, nothing
	 * more is sent or placed, and the memory of what was posted is not read or written any
	 * more. Until then it is the device's, a message's that was given up, too. Idempotent.
	 */
	void (*qp_error)(struct qp *qp);
	/*
	 * Its QPN is not handed out again for as long as possible. Completions not yet polled go
	 * with it. If qp_status does not say 0 before, a device may use the memory of what was
	 * posted for a while after the call: until mr_deregister or endpoint_destroy return.
	 */
	void (*qp_destroy)(struct qp *qp);
	/*
	 * Queues a write. 0, -ENOBUFS (queue full: wait for completions), -EINVAL, -ENOTCONN (not
	 * RTS), -EAGAIN (the peer is being asked for the region's key on its device: soon), -EACCES
	 * (it says that there is no such).
	 */
	int (*post_write)(struct qp *qp, const struct qp_write *write);
	/* Likewise; all three complete in the order of posting. */
	int (*post_send)(struct qp *qp, const struct qp_send *send);
	int (*post_read)(struct qp *qp, const struct qp_read *read);
	/*
	 * Queues a receive, at any time before ERR. 0, -ENOBUFS (attr.receives are posted or not
	 * yet polled), -EINVAL, -ENOTCONN.
	 */
	int (*post_recv)(struct qp *qp, const struct qp_recv *recv);
	/* Takes up to max completions. >= 0. 0: a look at every QP found none. */
	int (*poll)(struct qp_endpoint *ep, struct qp_wc *wc, int max);

	/* Sends one control datagram now. 0 or -errno; loss is silent. */
	int (*control_send)(struct qp_endpoint *ep, const struct qp_control *control);
};

extern const struct qp_provider qp_soft_provider;
extern const struct qp_provider qp_verbs_provider;

#endif
