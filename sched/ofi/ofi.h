/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi.h - the libfabric provider "fare": its objects, and which unit calls which.
 *
 * A unit is one .c. It calls units below it, and none above:
 *
 *   ofi_domain     fi_fabric(3), fi_domain(3), fi_mr(3); the provider's entry
 *   ofi_info       fi_getinfo(3)
 *   ofi_ep         fi_endpoint(3), fi_cm(3)
 *   ofi_msg        fi_msg(3), fi_tagged(3)
 *   ofi_rma        fi_rma(3), fi_atomic(3)
 *   ofi_cq         fi_cq(3), fi_cntr(3), fi_eq(3)
 *   ---- above: libfabric's calls; below: what they start, and what peers send ----
 *   ofi_progress   polls libfare's domain, gives each event to the unit that it is for; deadlines;
 *                  the thread that polls while the application makes no calls
 *   ofi_rx         records that arrive: messages, answers, atomic operations
 *   ofi_recv       receives, and messages that are delivered to them
 *   ofi_av         fi_av(3); which process a name stands for
 *   ofi_op         operations toward peers: their memory, their order, their start and end
 *   ofi_complete   entries of completion queues, and counts
 *   ofi_peer       processes and the groups toward them; credit
 *   ---- pure ----
 *   ofi_tables     matching, cookies, keys of peers
 *   ofi_name       addresses and names of endpoints
 *   ofi_atomic_op, ofi_wire    what atomic operations do; the format of records; limits
 *   ofi_env        the environment, and the provider's log
 *
 * Down go calls. Up goes a return value, an entry of a completion queue, or the domain's one event
 * queue (struct ofi_events): a lower unit leaves there what a unit above it has to do, and
 * ofi_progress does it before the lock is given up.
 *
 * Locking. A domain has one lock, since libfare's domain is used by one thread at a time, and the
 * application's threads and the progress thread are several. libfabric's calls take it
 * (ofi_lock()), and all that they call has it. It is given up by ofi_leave(), which empties the
 * event queue before; or by ofi_unlock() where no operation was started, received or completed.
 * Functions that are called without it say so.
 */
#ifndef OFI_H
#define OFI_H

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "attach.h"
#include "base/fifo.h"
#include "fare.h"
#include "ofi/ofi_env.h"
#include "ofi/ofi_tables.h"
#include "ofi/ofi_wire.h"

/* libfabric's headers have it up to release 1 */
#ifndef container_of
#define container_of(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))
#endif

struct ofi_av;
struct ofi_ep;
struct ofi_message;
struct ofi_mr;
struct ofi_op;
struct ofi_own_message;
struct ofi_peer;
struct ofi_recv;

/* ---- what is offered ---- */

#define OFI_FABRIC_NAME "fare"
#define OFI_CAPS_TX	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE)
#define OFI_CAPS_RX                                                                                \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE |    \
	 FI_SOURCE | FI_SOURCE_ERR | FI_DIRECTED_RECV | FI_MULTI_RECV)
#define OFI_CAPS_DOMAIN (FI_LOCAL_COMM | FI_REMOTE_COMM)
/* fi_ep_attr.protocol: of the range that is left to providers */
#define OFI_PROTOCOL (UINT32_C(1) << 31)
/* messages in order; a message behind a write that was posted before; atomic operations in order */
#define OFI_ORDER                                                                                  \
	(FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW |                 \
	 FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)
#define OFI_MR_MODE  (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)
#define OFI_TX_SIZE  1024
#define OFI_RX_SIZE  16384
#define OFI_IOV_MAX  FARE_PIECES_MAX
#define OFI_MAX_SIZE (SIZE_MAX >> 16)
#define OFI_EPS_MAX  1024

/*
 * The modes of fi_mr(3) before 1.5, which are no bits: FI_MR_BASIC and FI_MR_SCALABLE. Programs
 * still ask for them; libfabric 2 calls the names deprecated.
 */
enum { OFI_MR_BASIC = 1, OFI_MR_SCALABLE = 2 };

int ofi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **out);
/* Whether a domain of that info has keys of the application's choice (fi_mr(3)). */
bool ofi_info_is_scalable(const struct fi_info *info);

/* ---- objects of libfabric ---- */

/* fi_fabric(3): domains and event queues. */
struct ofi_fabric {
	struct fid_fabric fid;
	unsigned n_users; /* domains and event queues */
};

/*
 * fi_mr(3): a region. Basic: a key is libfare's rkey, an address is a virtual one. Scalable: a key
 * is the application's, an address is an offset; peers ask which of libfare's regions it stands for
 * (struct ofi_keys). Only regions that peers may reach have a key of the table.
 */
struct ofi_mr {
	struct fid_mr fid;
	struct ofi_domain *domain;
	struct fare_mr *mr;
	uintptr_t addr;
	size_t length;
	unsigned rights; /* FARE_REMOTE_* */
	uint64_t key;
	UT_hash_handle hh, hh_desc;
};

/* A descriptor that is readable while it is raised: what an application waits on. */
struct ofi_signal {
	int fd; /* -1: nobody can wait, and raising does nothing */
	bool raised;
};

struct ofi_cq_event {
	struct fi_cq_tagged_entry entry;
	uint64_t source;
	size_t olen; /* bytes that did not fit */
	int err;     /* 0, or an errno: read by fi_cq_readerr() */
	/* it counts so much against that peer until it is read; or 0 */
	uint32_t kept_bytes;
	struct ofi_peer *peer;
	/* FI_EADDRNOTAVAIL: the source's address in the domain's format; malloc'ed */
	void *unknown;
};

/*
 * A completion queue. It is never overrun: it grows, and what is outstanding bounds it: operations,
 * posted receives, and what peers have credit for.
 */
struct ofi_cq {
	struct fid_cq fid;
	struct ofi_domain *domain;
	enum fi_cq_format format;
	unsigned n_bound;
	struct fifo events; /* of struct ofi_cq_event: n from head on */
	uint64_t head;
	unsigned n;
	bool has_read; /* the last read took entries */
	/* raised while there are events; epoll is readable then, and when libfare is due */
	struct ofi_signal signal;
	int epoll;
	bool interrupted;
	uint8_t err_data[OFI_ADDRESS_BYTES]; /* what the last fi_cq_readerr() points to */
};

struct ofi_cntr {
	struct fid_cntr fid;
	struct ofi_domain *domain;
	unsigned n_bound;
	uint64_t value, errors;
};

/*
 * OFI_CNTR_REMOTE_READ never counts, and OFI_CNTR_REMOTE_WRITE only writes with remote CQ data:
 * this end does not see others complete. An application that needs them asks for FI_RMA_EVENT,
 * which is not offered.
 */
enum ofi_ep_cntr {
	OFI_CNTR_SEND,
	OFI_CNTR_RECV,
	OFI_CNTR_READ,
	OFI_CNTR_WRITE,
	OFI_CNTR_REMOTE_READ,
	OFI_CNTR_REMOTE_WRITE,
	OFI_CNTRS,
};

/* fi_endpoint(3), of type FI_EP_RDM. */
struct ofi_ep {
	struct fid_ep fid;
	struct ofi_domain *domain;
	uint16_t number;
	bool enabled;
	struct ofi_av *av;
	struct ofi_cq *tx_cq, *rx_cq;
	bool tx_selective, rx_selective; /* entries only for operations with FI_COMPLETION */
	struct ofi_cntr *cntr[OFI_CNTRS];
	uint64_t caps, tx_flags, rx_flags;
	bool send_after_write; /* FI_ORDER_SAW */
	struct ofi_match match;
	struct ofi_message *claimed; /* by fi_trecvmsg(FI_CLAIM); linked by arrived.next */
	unsigned n_tx, n_rx;	     /* operations; receives posted or being read */
	size_t min_multi_recv;	     /* FI_OPT_MIN_MULTI_RECV, in bytes */
};

/* ---- messages ---- */

/* A posted receive. */
struct ofi_recv {
	struct ofi_posted posted; /* first */
	struct ofi_ep *ep;
	struct iovec iov[FARE_PIECES_MAX];
	void *desc[FARE_PIECES_MAX];
	size_t n_iov;
	uint64_t room;
	void *context;
	bool wants_entry;
	/*
	 * FI_MULTI_RECV: one buffer that takes several messages, one behind the other. Each of them
	 * is a receive of its own, a part of the buffer. The buffer is spent when less than
	 * FI_OPT_MIN_MULTI_RECV is left of it; it is given back with the last of its parts to
	 * complete, whose entry has FI_MULTI_RECV.
	 */
	bool is_multi, is_spent;
	uint64_t used, least;	/* bytes taken; spent when fewer than least are left */
	unsigned n_parts;	/* that have not completed */
	struct ofi_recv *whole; /* what this is a part of */
	/* of the message that it took */
	struct ofi_wire wire;
	uint64_t source, length;
	struct ofi_address from;
	/* a part of a buffer for several: its entry in the CQ counts until it is read */
	struct ofi_peer *peer;
	uint32_t kept_bytes;
};

/*
 * A message; on the heap, with its payload behind it, while no receive has taken it, or while
 * records of it are to come. All that it makes this process keep is counted (struct ofi_limits).
 */
struct ofi_message {
	struct ofi_arrived arrived; /* first */
	struct ofi_peer *peer;
	struct ofi_wire wire;
	const uint8_t *payload; /* OFI_EAGER */
	/* instead, while it is in several records in libfare's memory (struct ofi_gather) */
	const struct iovec *parts;
	unsigned n_parts;
	uint64_t length;  /* of the message, wherever it is */
	uint32_t missing; /* bytes of an OFI_EAGER that are still to come */
	void *claimed_by; /* the context of FI_CLAIM */
};

_Static_assert(sizeof(struct ofi_message) <= OFI_KEPT_BYTES, "the window counts it");

/*
 * A message of several records whose records arrive together is not copied before a receive takes
 * it. One at a time; if the rest is not here when libfare is polled again, it goes to the heap.
 */
#define OFI_GATHER_MAX 16u
struct ofi_gather {
	struct ofi_message **partial; /* of its link; NULL: there is none */
	struct ofi_message m;
	struct iovec parts[OFI_GATHER_MAX];
};

/* ---- peers ---- */

/* A group toward a peer. */
struct ofi_link {
	struct ofi_link *prev, *next;
	struct ofi_peer *peer;
	struct fare_group *group;
	bool connected, closed;
	int status;		     /* of FARE_EVENT_CLOSED */
	struct ofi_message *partial; /* of which records are still to come */
};

/*
 * A process. FI_EP_RDM knows no connections; groups are connections. Two processes that open at the
 * same time have two groups, one for each direction; all messages of one direction take one
 * in-order group: the transmit link, which is chosen at the first operation and kept while it
 * lives. Toward this process itself there is no group.
 *
 * A peer's address is what libfare has authenticated (fare_group_peer_address()), never what it
 * says of itself. A peer exists while there is a reason: a link, an entry of an AV, an operation,
 * or something of its messages that the application has not taken. After the last it is freed.
 */
struct ofi_peer {
	UT_hash_handle hh;
	struct ofi_peer *prev, *next;		/* in ofi_events.peers */
	struct ofi_peer *left_prev, *left_next; /* in ofi_peers.left */
	struct ofi_domain *domain;
	struct fare_address address; /* or a name alone (ofi_name.h) */
	UT_hash_handle hh_name;	     /* in ofi_peers.by_name, while is_up */
	struct fare_address name;
	bool is_up;
	unsigned n_names;    /* of n_entries: inserted by name */
	struct in6_addr gpu; /* once there was a link */
	struct ofi_link *links, *tx;
	struct ofi_op *queue; /* operations that no group has yet, in order */
	unsigned n_entries;   /* of AVs */
	unsigned n_ops;	      /* operations toward it */
	unsigned n_forgets;   /* OFI_FORGETs in its queue */
	unsigned n_writes;    /* that a group has, and has not completed */
	uint64_t out_bytes;   /* sent to it, without credit so far (ofi_wire_cost()) */
	uint32_t credit;      /* kept no longer here: goes with the next message without deadline */
	struct ofi_limits limits; /* of what it sends */
	struct ofi_keys keys;	  /* of its regions */
	bool is_self, is_changed, is_left, credit_queued, is_cut;
	bool credit_waits;  /* it could not be sent: not tried again before the next tick */
	bool asks_keys;	    /* it keeps keys of regions here */
	uint64_t reopen_ns; /* not before; 0: at once */
};

struct ofi_peers {
	struct ofi_peer *by_address, *by_name;
	/* without a link or an entry of an AV: here for what the application has not taken */
	struct ofi_peer *left;
	uint64_t logged_ns;   /* when a line that peers can cause was last logged */
	unsigned n_reopening; /* peers that wait to be opened again */
	bool credit_waits;    /* some peer's does */
};

/* ---- operations ---- */

enum ofi_op_kind {
	OFI_OP_MESSAGE, /* fare_group_send() */
	OFI_OP_WRITE,
	OFI_OP_READ,
};

/* what an operation waits for before it is over */
#define OFI_WAIT_FARE 1u /* its FARE_EVENT_COMPLETED */
#define OFI_WAIT_FIN  2u /* the peer's OFI_FIN */

/*
 * One operation of this process toward a peer: a message, its answer, a read, a write. It is
 * created by who asks for it, is the peer's from ofi_op_submit() on, and is over when nothing is
 * waited for any more (ofi_op_settle()) and libfare has nothing of it. It owns its memory: its copy
 * of a message, the regions registered for it.
 */
struct ofi_op {
	struct ofi_op *prev, *next;	    /* in its peer's queue, then in ofi_events.reads */
	struct ofi_op *all_prev, *all_next; /* of the domain */
	struct ofi_domain *domain;
	struct ofi_peer *peer;
	struct ofi_ep *ep; /* whose completion it is; NULL: nobody's */
	enum ofi_op_kind kind;
	uint8_t waits;
	bool submitted;	   /* out of its peer's queue: the group has it as a whole, or it failed */
	unsigned n_held;   /* what the group still has of it: its memory is not free before */
	bool reported;	   /* its completion was written */
	bool is_event;	   /* in ofi_events.reads */
	bool after_writes; /* starts when no write to the peer is outstanding */
	int status;	   /* 0 or -errno */
	uint64_t deadline_ns;

	/* for its completion */
	void *context;
	uint64_t flags; /* FI_SEND, FI_MSG ... of the entry */
	uint64_t length;
	bool wants_entry; /* an entry in the CQ also if it succeeds */
	bool ends_early;  /* it is reported when a group has it: its memory is a copy */

	/* OFI_OP_MESSAGE: its records, each but the last of OFI_RECORD_BYTES */
	uint8_t *message; /* header, if there is no more of it */
	uint8_t header[OFI_WIRE_RTS_BYTES];
	uint32_t message_bytes;
	uint32_t sent_bytes; /* that the group has taken */
	uint32_t cookie;     /* 0: no answer is waited for */
	bool is_question;    /* OFI_FIND of key */
	uint32_t charged;    /* ofi_peer_charge() */

	/* OFI_OP_MESSAGE with an OFI_ATOMIC: where its result goes */
	bool is_atomic;
	unsigned n_results;
	struct iovec *results;

	/* memory: of a read or write, or of a message that the peer reads */
	struct fare_piece pieces[FARE_PIECES_MAX];
	struct fare_mr *registered[FARE_PIECES_MAX]; /* for this operation alone */
	void *bounce;				     /* a copy of what was injected */
	unsigned n_pieces;
	uint64_t remote_addr; /* as libfare names it */
	uint32_t rkey;

	/* of a read or write: as the application names it, which peer->keys is for (by_key) */
	uint64_t key, address;
	bool by_key;
	bool has_asked; /* the peer was asked since the operation was submitted */

	/* OFI_OP_WRITE: starts when this one has succeeded, and completes for it */
	struct ofi_op *announces;

	/* OFI_OP_READ of a message */
	struct ofi_recv *recv;
	uint32_t fin_cookie;
};

/* ---- the domain ---- */

/* What units below ofi_progress leave for it to do. */
struct ofi_events {
	struct ofi_op *reads;	/* of messages, that are over: their receives complete */
	struct ofi_peer *peers; /* changed: links ended, credit due, nothing left of it */
};

struct ofi_progress {
	pthread_t thread;
	bool has_thread;
	int wake; /* eventfd: to end, or to take over at once */
	_Atomic bool stop;
	_Atomic uint64_t calls;	  /* of the application */
	_Atomic unsigned waiting; /* calls that wait, and poll */
	_Atomic bool rests;	  /* until a call that waited is over */
	uint64_t tick_ns;	  /* when deadlines are looked at next */
};

/* fi_domain(3): one local GPU in one process. */
struct ofi_domain {
	struct fid_domain fid;
	struct ofi_fabric *fabric;
	struct ofi_env env;
	pthread_mutex_t lock;
	struct fare *fare;
	struct fare_domain *fare_domain;
	struct fare_address address;
	uint32_t format; /* of endpoints' addresses: fi_info.addr_format */
	struct ofi_av *avs;
	struct ofi_peers peers;
	struct ofi_mr *mrs_by_key, *mrs_by_desc; /* that peers may reach; all, by fi_mr_desc() */
	bool is_scalable;			 /* keys of the application's choice, offsets */
	struct ofi_op *ops;			 /* all of them */
	struct ofi_own_message *own;		 /* from this process to itself */
	struct ofi_gather gather;		 /* what arrives now */
	struct ofi_events events;
	struct ofi_cookies cookies; /* operations that wait for OFI_FIN */
	struct ofi_ep *eps[OFI_EPS_MAX];
	unsigned n_users; /* what the application opened on it */
	struct ofi_progress progress;
	bool broken; /* libfare's domain is: said once */
	/* fork() has copied it: nothing but closing does anything */
	bool is_inherited;
};

static inline struct ofi_domain *ofi_domain_of(struct fid_domain *fid)
{
	return container_of(fid, struct ofi_domain, fid);
}

static inline struct ofi_ep *ofi_ep_of(struct fid_ep *fid)
{
	return container_of(fid, struct ofi_ep, fid);
}

static inline uint64_t ofi_iov_bytes(const struct iovec *iov, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

/* ---- the lock ---- */

/*
 * In a child of fork(), once: the lock may be held by a thread that the child does not have. The
 * parent's thread, connections and descriptors that end a wait are not the child's. What is left is
 * memory, and the child's own descriptors, which closing gives back.
 */
static inline void ofi_inherit(struct ofi_domain *domain)
{
	if (domain->is_inherited)
		return;
	domain->is_inherited = domain->broken = true;
	pthread_mutex_init(&domain->lock, NULL);
	domain->progress.has_thread = false;
	atomic_store(&domain->progress.waiting, 0);
	atomic_store(&domain->progress.rests, false);
}

static inline void ofi_lock(struct ofi_domain *domain)
{
	if (attach_check(domain->fare) == -ECHILD)
		ofi_inherit(domain);
	pthread_mutex_lock(&domain->lock);
}

static inline void ofi_unlock(struct ofi_domain *domain)
{
	pthread_mutex_unlock(&domain->lock);
}

/* An object of the application's is opened on it: it is not closed before. */
static inline void ofi_domain_hold(struct ofi_domain *domain)
{
	ofi_lock(domain);
	domain->n_users++;
	ofi_unlock(domain);
}

/* Does what is in the event queue. */
void ofi_progress_settle(struct ofi_domain *domain);

static inline void ofi_leave(struct ofi_domain *domain)
{
	if ((domain->events.reads || domain->events.peers) && !domain->is_inherited)
		ofi_progress_settle(domain);
	ofi_unlock(domain);
}

/* ---- ofi_progress ---- */

/* 0 or -errno. Without the lock. */
int ofi_progress_init(struct ofi_domain *domain);
/* The thread ends, then all links and operations, then the peers are gone. Without the lock. */
void ofi_progress_fini(struct ofi_domain *domain);
/* Takes events of libfare's domain, and does what follows. */
void ofi_progress_turn(struct ofi_domain *domain);
/* The same, in a call of the application. */
void ofi_progress_by_application(struct ofi_domain *domain);
/*
 * Around a wait on the domain's descriptor in a call of the application. Without the lock.
 * ofi_progress_most_ms(): wait no longer; -1: no bound.
 */
void ofi_progress_begin_wait(struct ofi_domain *domain);
void ofi_progress_end_wait(struct ofi_domain *domain);
int ofi_progress_most_ms(struct ofi_domain *domain);

/* The application is about to wait on a descriptor: the thread does not wait for the tick. */
static inline void ofi_progress_by_fd(struct ofi_domain *domain)
{
	if (domain->progress.has_thread)
		eventfd_write(domain->progress.wake, 1);
}

/* ---- ofi_peer ---- */

/* Finds or makes it; opens nothing. NULL: no memory. */
struct ofi_peer *ofi_peer_get(struct ofi_domain *domain, const struct fare_address *address);
/* Nothing needs it, and it is not up (ofi_av_name_down()). */
void ofi_peer_destroy(struct ofi_peer *peer);
/* ofi_progress looks at it: it is freed, if nothing needs it any more. */
void ofi_peer_changed(struct ofi_peer *peer);
void ofi_peer_set_left(struct ofi_peer *peer, bool is_left);
/* A message can be sent to it without a new link. */
bool ofi_peer_is_linked(const struct ofi_peer *peer);
/* So many bytes of what the peer has sent are kept no longer: it gets credit. */
void ofi_peer_give_credit(struct ofi_peer *peer, uint64_t bytes);
/* The same where no credit can be sent, or need be. */
void ofi_peer_taken(struct ofi_peer *peer, uint64_t bytes);
/* Its credit is so much that it gets a message of its own. */
bool ofi_peer_credit_is_due(const struct ofi_peer *peer);
/* True: the peer keeps a message of that kind, which is counted until its credit comes. */
bool ofi_peer_charge(struct ofi_op *op, uint8_t kind, uint64_t length);
/* It is not kept, and no credit will come of it. */
void ofi_peer_uncharge(struct ofi_op *op);
/* Its links end; what is outstanding toward it fails. A next operation opens another. */
void ofi_peer_disconnect(struct ofi_peer *peer);
/* It does not keep to the protocol: the same, and it can open no other link. */
void ofi_peer_cut(struct ofi_peer *peer, const char *why);
/* A line that peers can cause may be logged: one a second. */
bool ofi_peers_may_log(struct ofi_domain *domain);
/* Logs why libfare has no memory for that; one line a second. */
void ofi_peers_log_memory(struct ofi_domain *domain, const char *what, int err);

/* NULL: no memory, or it has too many. The group is the link's from then on. */
struct ofi_link *ofi_link_add(struct ofi_peer *peer, struct fare_group *group);
/* peer->tx is connected (0), or is not yet (-EAGAIN); else why there will be none: -errno. */
int ofi_link_ensure(struct ofi_peer *peer);
/*
 * What the other end of a group says of itself. 0, or -EPROTONOSUPPORT: not this protocol, another
 * version of it, or another window; the log says which.
 */
int ofi_link_check_greeting(struct ofi_domain *domain, const void *data, size_t bytes);
/* struct fare_domain_options.on_request: refuses other protocols. */
int ofi_link_on_request(void *domain, struct fare_request *request);

/* ---- ofi_complete ---- */

#define OFI_SIGNAL_NONE ((struct ofi_signal){.fd = -1})

/* 0 or -errno. Not locked: its queue's lock holds. */
int ofi_signal_init(struct ofi_signal *signal);
void ofi_signal_fini(struct ofi_signal *signal);
void ofi_signal_raise(struct ofi_signal *signal);
void ofi_signal_clear(struct ofi_signal *signal);

/* Adds an entry. Takes event->unknown. */
void ofi_complete(struct ofi_cq *cq, const struct ofi_cq_event *event);
/* NULL: there is none. */
struct ofi_cq_event *ofi_complete_first(const struct ofi_cq *cq);
/* The first entry is here no more. */
void ofi_complete_drop(struct ofi_cq *cq);
/* Whether an operation with these flags ends as an entry if it succeeds. tx: it is no receive. */
bool ofi_complete_wants_entry(const struct ofi_ep *ep, bool tx, uint64_t flags);
/* The endpoint's operation is over, with op->status. */
void ofi_complete_op(const struct ofi_op *op);
/*
 * A receive or a peer's write is over: it counts, and ends as an entry if one is wanted or it
 * failed. from: its source, for FI_SOURCE_ERR.
 */
void ofi_complete_rx(struct ofi_ep *ep, enum ofi_ep_cntr cntr, bool wanted,
		     struct ofi_cq_event *event, const struct ofi_address *from);

/* ---- ofi_op ---- */

/* NULL: no memory. ep may be NULL. */
struct ofi_op *ofi_op_create(struct ofi_domain *domain, struct ofi_ep *ep, struct ofi_peer *peer,
			     enum ofi_op_kind kind);
/* Without any completion. */
void ofi_op_destroy(struct ofi_op *op);
/* -FI_EAGAIN: as many as the queue takes are outstanding, of that direction. */
int ofi_op_has_room(const struct ofi_ep *ep, bool tx);
/* Gives it its message: w, which has no payload. */
void ofi_op_set_message(struct ofi_op *op, const struct ofi_wire *w);
/* The same: of one record. *payload: where so many bytes behind w go. 0 or -ENOMEM. */
int ofi_op_set_record(struct ofi_op *op, const struct ofi_wire *w, size_t bytes, uint8_t **payload);
/* The same: an eager one, with a copy of so many bytes of iov, which has no fewer. */
int ofi_op_set_eager(struct ofi_op *op, const struct ofi_wire *w, const struct iovec *iov,
		     uint64_t bytes);
/*
 * Takes the application's memory as the operation's: at most length bytes of it. desc: of the
 * application's regions, or NULL: registered here. 0 or -errno.
 */
int ofi_op_take_memory(struct ofi_op *op, const struct iovec *iov, void **desc, size_t count,
		       uint64_t length, unsigned rights);
/* The same of a copy. */
int ofi_op_copy_memory(struct ofi_op *op, const struct iovec *iov, size_t count, uint64_t length,
		       unsigned rights);
/* Gives it a cookie by which the peer answers. 0 or -errno; -FI_EAGAIN: too many wait. */
int ofi_op_await_fin(struct ofi_op *op);
/* There is no memory for what that peer waits for: its operations fail, rather than wait on. */
void ofi_op_lose_answer(struct ofi_peer *peer, uint32_t cookie);
/* The operation that a peer's cookie names; NULL: none toward that peer. */
struct ofi_op *ofi_op_find(struct ofi_domain *domain, const struct ofi_peer *peer, uint32_t cookie);

/*
 * Takes the operation: behind those that wait for the peer, and starts it if there are none. It
 * leaves the queue when a group has taken it, or when it fails.
 */
void ofi_op_submit(struct ofi_op *op);
/* A message that nobody waits for the completion of. 0 or -errno. */
int ofi_op_answer(struct ofi_peer *peer, const struct ofi_wire *w);
/*
 * What it waited for has come, with a status that counts if there was none before. Completes it
 * when nothing else is waited for; it is gone then.
 */
void ofi_op_settle(struct ofi_op *op, uint8_t waits, int status);
/* FARE_EVENT_COMPLETED, FARE_EVENT_RELEASED. */
void ofi_op_on_event(const struct fare_event *event);

/* Starts what can start. */
void ofi_queue_run(struct ofi_peer *peer);
/* Operations of a peer that nothing was sent to are another's, behind those that it has. */
void ofi_queue_move(struct ofi_peer *from, struct ofi_peer *to);
/* All that wait end with that status (-errno). */
void ofi_queue_fail(struct ofi_peer *peer, int status);
/* What the peer was to read or to answer ends: it is gone, or will not. */
void ofi_op_fail_unanswered(struct ofi_peer *peer, int status);
/* Those that are past their deadline end; a group ends by itself those that it has. */
void ofi_queue_expire(struct ofi_peer *peer, uint64_t now_ns);
void ofi_op_expire_unanswered(struct ofi_domain *domain, uint64_t now_ns);

/* The next message of this process to itself; the caller frees it. NULL: there is none. */
struct ofi_own_message {
	struct ofi_own_message *prev, *next;
	struct ofi_peer *peer;
	size_t bytes;
	uint8_t data[];
};
struct ofi_own_message *ofi_op_next_own(struct ofi_domain *domain);

/*
 * The endpoint is about to be closed. Operations of it that a group has, in regions of the
 * application, which stay registered: the connection to their peer is ended. True: there are some.
 * They are over when libfare says so: progress, and call it again.
 */
bool ofi_op_end_ep(const struct ofi_ep *ep);
/*
 * The endpoint is closed: its operations report nothing and leave its memory alone. What groups
 * have of them names regions that are deregistered here.
 */
void ofi_op_forget_ep(const struct ofi_ep *ep);
/* The region is closed: what is not with a group yet fails (-EINVAL); peers that may know it. */
void ofi_op_forget_mr(const struct ofi_mr *mr);

/* NULL: none has that key. */
const struct ofi_mr *ofi_mr_find(const struct ofi_domain *domain, uint64_t key);
/*
 * For what this process does to its own memory: length bytes at an address of a region, as the
 * application names both, with all of these rights; NULL: there are none.
 */
void *ofi_mr_reach(const struct ofi_domain *domain, uint64_t key, uint64_t addr, uint64_t length,
		   unsigned rights);

/* ---- ofi_av ---- */

int ofi_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out,
		void *context);
/* 0, or -FI_EINVAL: the endpoint has one. */
int ofi_av_bind(struct ofi_ep *ep, struct fid *av);
void ofi_av_unbind(struct ofi_ep *ep);
/* NULL: no such entry. */
struct ofi_peer *ofi_av_peer(const struct ofi_av *av, fi_addr_t address, uint16_t *ep);
/* FI_ADDR_NOTAVAIL: was not inserted. */
fi_addr_t ofi_av_find(const struct ofi_av *av, const struct ofi_peer *peer, uint16_t ep);
/*
 * Which process a name stands for (ofi_name.h). While this process has a link with the process at
 * an address and port, a name of these is that process. Without one it is a peer of its own, struct
 * ofi_peer with the name as address, where operations wait until a link is open. The link says
 * which process it is: then they are that process's, and so are entries of AVs. After the last link
 * the name is nobody's again. So a process that restarts at the same port is reached by its name.
 */
/* The link is connected: if it was opened by name, it is its process's now. False: no memory. */
bool ofi_av_name_connected(struct ofi_link *link);
/* A link with the process is there: its name is this peer's. The last one has ended. */
void ofi_av_name_up(struct ofi_peer *peer);
void ofi_av_name_down(struct ofi_peer *peer);

/* ---- ofi_recv ---- */

/*
 * The receive for a message of so many bytes: a new part of the buffer, or recv itself if it is for
 * one message. NULL: no memory.
 */
struct ofi_recv *ofi_recv_part(struct ofi_recv *recv, uint64_t bytes);
/* It takes no further message, and need not be posted any more. */
bool ofi_recv_is_spent(const struct ofi_recv *recv);
/*
 * A posted receive that is cancelled or whose endpoint closes. False: parts of it have not
 * completed; it is given back with the last of them.
 */
bool ofi_recv_end(struct ofi_recv *recv);
/* Whether the buffer is given back with that receive. */
bool ofi_recv_gives_back(const struct ofi_recv *recv);
/* The receive has completed or is forgotten: it is gone, and the buffer with its last part. */
void ofi_recv_free(struct ofi_recv *recv);
/* Takes the receive: its completion is written, and it is gone. status: 0 or -errno. */
void ofi_recv_complete(struct ofi_recv *recv, int status);
/* The receive takes the message, and completes now or when it was read. */
void ofi_recv_deliver(struct ofi_recv *recv, const struct ofi_message *m);
/* An OFI_OP_READ with a receive is over. */
void ofi_recv_read_done(struct ofi_op *op);
/* Reads of the endpoint's receives complete nothing any more. */
void ofi_recv_silence(struct ofi_ep *ep);
/* Bytes of the window that the message takes. */
static inline uint64_t ofi_message_cost(const struct ofi_message *m)
{
	return ofi_wire_cost(m->wire.kind, m->length);
}
/* The application does not want it; or no more of it will come (status). Its sender is answered. */
void ofi_message_discard(const struct ofi_message *m, int status);
/* It is here no more, and its sender neither gets an answer nor credit. Frees it. */
void ofi_message_drop(struct ofi_message *m);

/* ---- ofi_rx ---- */

/*
 * A record has arrived. *partial: the message that further records of the same link belong to; NULL
 * where a message has one record.
 */
void ofi_rx_record(struct ofi_peer *peer, struct ofi_message **partial, const void *data,
		   size_t bytes);
/* Records that have arrived are in libfare's memory no longer: after each batch of events. */
void ofi_rx_settle(struct ofi_domain *domain);

/* ---- libfabric's calls ---- */

int ofi_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context);
int ofi_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
		void *context);
int ofi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
		void *context);
/* 0: the application may wait; -FI_EAGAIN: there is something to read. Takes the lock. */
int ofi_cq_trywait(struct fid *fid);
int ofi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **out,
		  void *context);
int ofi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out,
		void *context);
/* fi_query_atomic(3) */
int ofi_atomic_query(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
		     struct fi_atomic_attr *attr, uint64_t flags);

extern struct fi_ops_msg ofi_msg_ops;
extern struct fi_ops_tagged ofi_tagged_ops;
extern struct fi_ops_rma ofi_rma_ops;
extern struct fi_ops_atomic ofi_atomic_ops;

#endif
