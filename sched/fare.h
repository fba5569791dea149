/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fare.h - libfare: what an application links.
 *
 * Three levels, each usable without the next:
 *   1. struct fare, struct fare_pair: attach to the daemon's shared memory; read what a pair's
 *      planes are worth.
 *   2. struct fare_spray, struct fare_flows: pick a plane and sub-port per packet, or per flow.
 *   3. struct fare_group: QPs over all planes to one peer; writes that no plane's death loses.
 *
 * Addresses are struct in6_addr, IPv4 as ::ffff:a.b.c.d. Times are CLOCK_MONOTONIC nanoseconds.
 * Functions return 0 or -errno unless they say otherwise. A struct fare and everything opened on it
 * are used by one thread at a time; a process may attach several times, once a thread.
 *
 * Arguments are checked: what must not be NULL, flags that do not exist, values out of range, and
 * sizes that overflow give -EINVAL; a function that returns no errno does nothing then, and returns
 * NULL, 0 or false. In a child of fork() all that the parent opened is inert: -ECHILD, which
 * nothing else gives, or NULL, 0, false. Closing it there closes the child's descriptors, and
 * changes nothing of the parent's. A child may open its own.
 *
 * Structures of options, operations, events and statistics grow at their end from release to
 * release, and 0 in a new field means what was so before: fill them with designated initialisers.
 * Functions NAME_sized() take their size; those without that suffix pass it, so that a program runs
 * with the library of a later release. With an older one, -E2BIG says that it asks for what that
 * does not have. Bindings of other languages call NAME_sized().
 */
#ifndef FARE_H
#define FARE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fare_limits.h"
#include "fare_verdict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1. attach, and what paths are worth ----------------------------------------------------- */

struct fare;
struct fare_pair;

/*
 * Attaches to the daemon whose run directory this is (NULL: "/run/fared"). The daemon may be away:
 * what it last published is used, and its return is picked up by itself. -ENOENT: no daemon ever
 * ran there.
 */
int fare_attach(struct fare **out, const char *run_dir);
void fare_detach(struct fare *fare); /* after everything opened on it is closed; NULL is fine */

unsigned fare_n_local_gpus(const struct fare *fare);
/*
 * A local GPU's loopback; family AF_INET or AF_INET6. -ENOENT: no such GPU, or it has none of that
 * family.
 */
int fare_local_address(const struct fare *fare, unsigned local_gpu, int family,
		       struct in6_addr *out);
/*
 * true if the daemon's heartbeat is younger than a second. Nothing depends on it but your peace of
 * mind.
 */
bool fare_daemon_alive(const struct fare *fare);

/* Opens (local_gpu, peer). The peer need not be known yet: its paths are then no-route. */
int fare_pair_open(struct fare_pair **out, struct fare *fare, unsigned local_gpu,
		   const struct in6_addr *peer);
void fare_pair_close(struct fare_pair *pair);

/* One plane of a pair, as the daemon last published it. */
struct fare_path {
	uint64_t usable_bps; /* 0: do not use */
	enum fare_verdict verdict;
	/* bit s set: local sub-port s toward that plane is up, and loses nothing */
	uint32_t live_sub_ports;
	uint32_t n_sub_ports; /* configured */
};
struct fare_paths {
	uint64_t generation; /* changes whenever anything below does */
	unsigned n_planes;
	struct fare_path path[FARE_MAX_PLANES];
};
/* One 8-byte load: compare with fare_paths.generation to know whether to read again. */
uint64_t fare_pair_generation(const struct fare_pair *pair);
/* A consistent snapshot. -EAGAIN: the writer was faster several times over (keep what you have). */
int fare_pair_paths(const struct fare_pair *pair, struct fare_paths *out);

/* ---- 2a. per packet -------------------------------------------------------------------------- */

/* schedule of one pair: exact, interleaved, no randomness; starts at the pair's own phase */
struct fare_spray;
struct fare_slot {
	uint16_t plane;
	uint16_t sub_port;
};
int fare_spray_open(struct fare_spray **out, struct fare_pair *pair);
void fare_spray_close(struct fare_spray *spray);
/*
 * The next unit (packet, chunk or batch: whatever is posted at once). -ENETUNREACH: no usable
 * plane.
 */
int fare_spray_next(struct fare_spray *spray, struct fare_slot *out);

/* ---- 2b. per flow ---------------------------------------------------------------------------- */

struct fare_flows; /* connection table of one pair: flow key -> slot, bound on first use and kept */
struct fare_flows_options {
	uint32_t max_flows;	     /* 0: 1024 */
	uint32_t slots_per_sub_port; /* k: QPs per sub-port; 0: 1 */
	/* 0: never; else a flow unused that long is forgotten (burst gap) */
	uint64_t idle_expiry_ns;
	/* in proportion by the bytes that flows carry, which fare_flows_account() is told */
	bool by_bytes;
	uint64_t balance_ns; /* by_bytes: how long one measurement takes; 0: 100 ms */
};
struct fare_flow_slot {
	uint16_t plane;
	uint16_t index; /* QP index within the plane, 0 .. n_sub_ports * k - 1 */
};
struct fare_flows_stats {
	uint64_t binds, moves, needless_moves, expiries;
};
int fare_flows_open_sized(struct fare_flows **out, struct fare_pair *pair,
			  const struct fare_flows_options *options, size_t size);
static inline int fare_flows_open(struct fare_flows **out, struct fare_pair *pair,
				  const struct fare_flows_options *options)
{
	return fare_flows_open_sized(out, pair, options, sizeof(*options));
}
void fare_flows_close(struct fare_flows *flows);
/*
 * Where flow goes now. Binds it to the most underserved slot on first use; afterwards it stays
 * unless its path shrank and it is among the fewest that must go, or a path grew and it is among
 * the fewest taken back. -ENETUNREACH: no usable plane. -ENOSPC: table full.
 */
int fare_flows_pick(struct fare_flows *flows, uint64_t key, uint64_t now_ns,
		    struct fare_flow_slot *out);
/*
 * A flow carried so many bytes: shown by farectl, and measured where flows are placed by_bytes.
 * Unknown keys: nothing.
 */
void fare_flows_account(struct fare_flows *flows, uint64_t key, uint64_t bytes);
int fare_flows_release(struct fare_flows *flows, uint64_t key);	       /* -ENOENT */
unsigned fare_flows_expire(struct fare_flows *flows, uint64_t now_ns); /* how many were forgotten */
void fare_flows_stats_sized(const struct fare_flows *flows, struct fare_flows_stats *out,
			    size_t size);
static inline void fare_flows_stats(const struct fare_flows *flows, struct fare_flows_stats *out)
{
	fare_flows_stats_sized(flows, out, sizeof(*out));
}

/* ---- 3. QP group ----------------------------------------------------------------------------- */

struct fare_baseline;
struct fare_domain; /* one local GPU's endpoint: sockets or devices, memory regions, groups */
struct fare_group;  /* QPs over every plane to one peer */

enum fare_mode {
	FARE_MODE_FLOW,	 /* a message's stripes are flows, bound by the connection table */
	FARE_MODE_SPRAY, /* every chunk by the exact schedule (order-free across QPs) */
	/*
	 * As FARE_MODE_SPRAY, over one QP a plane, whose batches leave by all of its sub-ports and
	 * k source ports each, and may overtake each other; leaves may spray packets, too. Soft
	 * provider only: with verbs fare_group_open() is -EOPNOTSUPP (a device's responder takes a
	 * packet out of order for a lost one).
	 */
	FARE_MODE_PACKET,
};

/* What a peer that opens a group says of itself, and what it is answered. */
struct fare_request {
	struct in6_addr peer;
	const void *data; /* its private_data; borrowed for the call */
	uint32_t bytes;
	/* to be filled in; fare_group_private() of the peer shows it */
	uint32_t reply_bytes;
	uint8_t reply[FARE_PRIVATE_MAX];
};

struct fare_domain_options {
	/* "soft" (NULL too) or "verbs"; a group needs the same at both ends */
	const char *provider;
	int family; /* AF_INET (0 too) or AF_INET6 */
	/*
	 * Payload bytes of a packet: 256, 512, 1024, 2048 or 4096; 0: the most that at least half
	 * of the devices of all planes carry (verbs: all of them). Devices that carry less are left
	 * out. A group uses the smaller of both ends'. If it is more than that, fare_domain_open()
	 * is -EMSGSIZE. *max_path_mtu, unless NULL, becomes what they carry.
	 */
	uint32_t path_mtu;
	uint32_t *max_path_mtu;
	bool accept; /* answer groups that peers open toward this GPU */
	/*
	 * Asked for each group that a peer wants, within fare_domain_poll(): 0 to accept it, or
	 * -errno, with which it is refused: the peer's FARE_EVENT_CLOSED says so. Asked again if
	 * that answer was lost. It calls no function of this domain. NULL: all are accepted.
	 */
	int (*on_request)(void *arg, struct fare_request *request);
	void *on_request_arg;
	/*
	 * Who may connect. Both ends need the same key: a file of 16 to 64 bytes (white space at
	 * its end not counted) that not everybody may read. Without one, only where trusted_network
	 * says that nobody on the fabric means harm.
	 */
	const char *key_file;
	bool trusted_network;
	/* both ends must agree, too (0: none): a job's number, which keeps other jobs apart */
	uint64_t secret;
	/*
	 * A promise: after each fare_domain_poll() the application soon calls it again, or waits on
	 * fare_domain_fd(), as long as the domain is open. What it received may then be
	 * acknowledged after it has replied instead of before. Whoever breaks it makes the peer's
	 * completions wait, and after a second or so his planes look dead to the peer.
	 */
	bool busy_poll;
	/*
	 * Unless NULL, room for FARE_DEV_NAME_MAX bytes: becomes the name of the device that limits
	 * *max_path_mtu, also if fare_domain_open() fails with -EMSGSIZE. Empty: not known.
	 */
	char *max_path_mtu_dev;
	/*
	 * UDP port at which this process is reached, below 49152; 0: the first that is free. With
	 * another one fare_group_open() of peers does not find it, fare_group_open_to() does.
	 * -EADDRINUSE: another process has it.
	 */
	uint16_t port;
};

/* The acceptor takes mode, sizes and counts from the opener. */
struct fare_group_options {
	enum fare_mode mode;
	uint32_t qps_per_sub_port; /* k; 0: 1 */
	/* FARE_MODE_FLOW: flows a group spreads its chunks over; 0: 504 */
	uint32_t flows;
	/*
	 * Unit posted at once; 0: the largest batch the provider sends whole. Unacknowledged bytes
	 * per sub-port; 0: 192 KiB. Where both are 0, both are less on links below 100 Mb/s, and a
	 * unit that is read is two batches and three packets, if the window holds that.
	 */
	uint32_t chunk_bytes;
	uint32_t window_bytes;
	uint32_t max_messages;	 /* outstanding at once, up to FARE_MESSAGES_MAX; 0: 64 */
	uint32_t idle_expiry_ms; /* FARE_MODE_FLOW: connection-table expiry; 0: never */
	/* FARE_MODE_FLOW: flows placed by the bytes they are measured to carry */
	bool flows_by_bytes;
	/* a plane's dead QPs are rebuilt after 10 ms, doubling up to this; 0: 1000 */
	uint32_t backoff_max_ms;
	/*
	 * The longest message of fare_group_send(), up to FARE_MESSAGE_MAX; 0: none are sent. Each
	 * end keeps memory for max_messages of them at least. The opener's value counts.
	 */
	uint32_t message_bytes;
	/*
	 * RECEIVED and MESSAGE come in the order in which they were posted, and so do the COMPLETED
	 * of those. The opener's counts.
	 */
	bool in_order;
	/* up to FARE_PRIVATE_MAX bytes for fare_request.data of the peer; copied */
	const void *private_data;
	uint32_t private_bytes;
	/*
	 * Class of the group's packets: IP DSCP, 1..63 (0: 26; FARE_DSCP_ZERO: 0), and InfiniBand
	 * service level, 0..15. The opener's counts.
	 */
	uint8_t dscp, service_level;
	/* NULL; the sources' own benchmarks compare with what this names (sched/qp/baseline.h) */
	const struct fare_baseline *baseline;
};

struct fare_mr; /* registered memory */

enum fare_event_kind {
	FARE_EVENT_CONNECTED, /* group: both ends ready */
	FARE_EVENT_ACCEPTED,  /* group: opened by a peer; yours to use and to close */
	/* group, context, status: a write of ours is placed as a whole, or failed */
	FARE_EVENT_COMPLETED,
	/* group, tag, bytes: a peer's write with notification is placed as a whole, exactly once */
	FARE_EVENT_RECEIVED,
	/*
	 * group, tag, bytes, data: a peer's fare_group_send() arrived, exactly once; data is yours
	 * until the next fare_domain_poll()
	 */
	FARE_EVENT_MESSAGE,
	/* group, plane: traffic moved because the plane's weight changed (or its QPs died) */
	FARE_EVENT_SHIFTED,
	/* group, status: it is over; writes outstanding have completed with -ECANCELED before */
	FARE_EVENT_CLOSED,
	/* group: no plane carries; writes queue until max_messages, then -ENOBUFS */
	FARE_EVENT_BLOCKED,
	FARE_EVENT_RESUMED, /* group: a plane carries again; what was queued is on its way */
	/*
	 * group, context, status: a write past its deadline touches no memory any more. 0 never;
	 * -ETIMEDOUT, or what would have been COMPLETED's
	 */
	FARE_EVENT_RELEASED,
};
struct fare_event {
	enum fare_event_kind kind;
	struct fare_group *group;
	uint64_t context; /* of fare_write */
	/*
	 * 0, -ECANCELED (closed before completion), -ETIMEDOUT (its deadline; both: outcome
	 * unknown), -EACCES (refused by the peer), -EINVAL (its own region was deregistered
	 * meanwhile). Of CLOSED: -ECANCELED (the peer closed it, or is another process now),
	 * -ETIMEDOUT (nobody answered for 10 s: no such peer, or one with another provider, key or
	 * secret), -ECONNREFUSED (the peer accepts no groups), -EUSERS (it has no room for one
	 * more), -EPROTO (it has other planes than we), or another errno for which it could not
	 * make its half, or that its on_request answered; -ENOMEM, -EPROTO (a message came that
	 * cannot be kept, or cannot be); -ESTALE (the process that the address
	 * named is gone, another has its place); 0 (fare_group_disconnect()).
	 * Or no lane of a group that opens came up for 10 s: -EHOSTUNREACH (no plane
	 * answers), -ENETUNREACH (no plane is usable), -ECONNREFUSED (the peer cannot make its
	 * QPs), or why this end cannot: -EMSGSIZE (no device carries packets of the path MTU now),
	 * -EMFILE, -ENODEV, -ENOMEM
	 */
	int status;
	uint32_t tag;	/* of the peer's fare_write */
	uint64_t bytes; /* of that write or message */
	uint16_t plane;
	/*
	 * RECEIVED, MESSAGE: counts the peer's notified writes and messages from 0. Without
	 * in_order, events may come in another order, and numbers of failed ones are left out.
	 */
	uint64_t sequence;
	const void *data;
};

/*
 * -ENOKEY: neither key_file nor trusted_network. -EKEYREJECTED: a key of another length, or others
 * have access to its file. -EINVAL: key_file is no regular file. What opening the file said.
 */
int fare_domain_open_sized(struct fare_domain **out, struct fare *fare, unsigned local_gpu,
			   const struct fare_domain_options *options, size_t size);
static inline int fare_domain_open(struct fare_domain **out, struct fare *fare, unsigned local_gpu,
				   const struct fare_domain_options *options)
{
	return fare_domain_open_sized(out, fare, local_gpu, options, sizeof(*options));
}
/* closes its groups and regions; NULL is fine */
void fare_domain_close(struct fare_domain *domain);
/* polls readable when fare_domain_poll() is due */
int fare_domain_fd(const struct fare_domain *domain);
/*
 * Does what is due and takes up to max events. Never blocks. >= 0: events taken; -errno: broken. Of
 * events taken together, later ones may name a group that the application closes on account of an
 * earlier one: they are to be skipped, as group may be free by then.
 */
int fare_domain_poll_sized(struct fare_domain *domain, struct fare_event *events, int max,
			   size_t size);
static inline int fare_domain_poll(struct fare_domain *domain, struct fare_event *events, int max)
{
	return fare_domain_poll_sized(domain, events, max, sizeof(*events));
}

#define FARE_REMOTE_WRITE 1u
#define FARE_REMOTE_READ  2u
/*
 * rights: what peers that know the key may do; FARE_REMOTE_*, 0 for local use alone. The range is
 * not rounded: nothing beside it can be reached. From NULL, SIZE_MAX long: all memory of the
 * process ("soft").
 */
int fare_mr_register(struct fare_mr **out, struct fare_domain *domain, void *addr, size_t length,
		     unsigned rights);
/*
 * When it returns, nothing reads or writes the memory any more, and messages of it fail; one of
 * fare_mr_get() is only given back to the cache.
 */
void fare_mr_deregister(struct fare_mr *mr);
/* What peers name it by: fare_write.rkey, fare_read.rkey. */
uint32_t fare_mr_rkey(const struct fare_mr *mr);
/* The address of its first byte, for fare_write.data here and remote_addr there. */
uint64_t fare_mr_addr(const struct fare_mr *mr);

/*
 * length bytes from offset of a dma-buf: memory of a GPU, or of another device. iova is the address
 * wanted (0: any); fare_mr_addr() says which it is. fd is borrowed for the call. Where no device of
 * the domain can reach it (the "soft" provider), it is mapped if its exporter allows, the CPU moves
 * the bytes, and fare_mr_sync() has to be called before a write from it and after what arrived in
 * it. -EOPNOTSUPP: neither can. -EINVAL: no dma-buf, or not so long.
 */
int fare_mr_register_dmabuf(struct fare_mr **out, struct fare_domain *domain, int fd,
			    uint64_t offset, size_t length, uint64_t iova, unsigned rights);
/* 0 or -errno; nothing to do for other memory, and where a device reaches it by itself. */
int fare_mr_sync(const struct fare_mr *mr);

/*
 * As fare_mr_register(), from a cache of the domain's 1,024 latest regions: registering costs more
 * than a small transfer. Given back by fare_mr_deregister(), it stays registered for the next
 * fare_mr_get() that lies within it and asks for no other rights - and peers that have the key may
 * reach it until then. Before memory is freed or mapped anew, fare_mr_invalidate() must be told:
 * the cache cannot see it. -ENOSPC: 1,024 are in use.
 */
int fare_mr_get(struct fare_mr **out, struct fare_domain *domain, void *addr, size_t length,
		unsigned rights);
void fare_mr_invalidate(struct fare_domain *domain, const void *addr, size_t length);

/*
 * Opens a group toward the first process at peer's address (which must accept). Connects in the
 * background: FARE_EVENT_CONNECTED. -EINVAL: an option out of range, or a peer of another family.
 * -EOPNOTSUPP: a mode that the provider does not have. -EUSERS: 4,096 groups are open. -ENOMEM,
 * -ENOSPC. Toward another process at the own GPU's address no plane leads: with "soft" such a
 * group has one QP over the kernel's loopback, whatever the mode.
 */
int fare_group_open_sized(struct fare_group **out, struct fare_domain *domain,
			  const struct in6_addr *peer, const struct fare_group_options *options,
			  size_t size);
static inline int fare_group_open(struct fare_group **out, struct fare_domain *domain,
				  const struct in6_addr *peer,
				  const struct fare_group_options *options)
{
	return fare_group_open_sized(out, domain, peer, options, sizeof(*options));
}
/*
 * Where this domain is reached: which GPU, and which of the processes that serve it. Opaque bytes
 * that mean the same on every machine; applications hand them to peers, as they do with rkeys.
 */
#define FARE_ADDRESS_BYTES 32
struct fare_address {
	uint8_t bytes[FARE_ADDRESS_BYTES];
};
void fare_domain_address(const struct fare_domain *domain, struct fare_address *out);
/* As fare_group_open(), toward that process and no other. -EINVAL: not such an address. */
int fare_group_open_to_sized(struct fare_group **out, struct fare_domain *domain,
			     const struct fare_address *peer,
			     const struct fare_group_options *options, size_t size);
static inline int fare_group_open_to(struct fare_group **out, struct fare_domain *domain,
				     const struct fare_address *peer,
				     const struct fare_group_options *options)
{
	return fare_group_open_to_sized(out, domain, peer, options, sizeof(*options));
}
/*
 * Ends the group in good order: what is outstanding completes with -ECANCELED, once no device uses
 * its memory any more; then comes FARE_EVENT_CLOSED with status 0. The peer is told.
 */
void fare_group_disconnect(struct fare_group *group);
/*
 * No event names the group any more; writes not completed have an unknown outcome. With the
 * "verbs" provider a device may use their memory for a while: it is yours again after
 * fare_mr_deregister(), or if the group was CLOSED before. NULL is fine.
 */
void fare_group_close(struct fare_group *group);
/* What the peer said of itself when the group opened; NULL, *bytes 0: nothing, or not yet. */
const void *fare_group_private(const struct fare_group *group, size_t *bytes);
void fare_group_peer(const struct fare_group *group, struct in6_addr *out);
/*
 * The process at the other end, as its fare_domain_address() has it: address, port and incarnation
 * of its authenticated messages, and nothing that it says of itself in private data. -ENOTCONN: not
 * known yet, before CONNECTED of fare_group_open().
 */
int fare_group_peer_address(const struct fare_group *group, struct fare_address *out);
void fare_group_set_context(struct fare_group *group, void *context);
void *fare_group_context(const struct fare_group *group);

/* Local memory of one write or read; FARE_PIECES_MAX of them at most. */
struct fare_piece {
	void *data; /* inside mr; a write only reads it */
	struct fare_mr *mr;
	uint64_t length;
};

#define FARE_WRITE_NOTIFY 1u /* raise FARE_EVENT_RECEIVED at the peer, after all of it is placed */
/*
 * The peer has named this key for this very operation, and its region is there until the operation
 * is over: nothing has to be tried first. If that is not true, every plane's QPs may end and be
 * rebuilt, where otherwise one plane's would.
 */
#define FARE_KEY_IS_GOOD 2u
struct fare_write {
	const void *data; /* inside mr; yours again at FARE_EVENT_COMPLETED (but see deadline_ns) */
	struct fare_mr *mr;
	uint64_t length; /* bytes; 0 is a bare notification */
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t tag; /* reaches the peer's FARE_EVENT_RECEIVED */
	unsigned flags;
	uint64_t context;
	/*
	 * CLOCK_MONOTONIC; 0: none. A write not placed by then completes with -ETIMEDOUT: all, part
	 * or nothing of it has been placed, and the peer may or may not have been notified. Memory
	 * at both ends is still the write's, which may be under way on a plane that is silent: it
	 * is yours again at FARE_EVENT_RELEASED, which follows once nothing of it can land any
	 * more. The write counts as outstanding until then.
	 */
	uint64_t deadline_ns;
	/*
	 * Gathered from these, one behind the other at remote_addr: length is 0 then, data and mr
	 * are not looked at.
	 * The array is copied; the memory is the write's as data's would be.
	 */
	const struct fare_piece *pieces;
	unsigned n_pieces;
};
/*
 * Queues an RDMA WRITE. -ENOBUFS: max_messages outstanding (in_order: and the oldest of them is not
 * finished), poll first. -EINVAL: data is not wholly
 * within mr, or that is another domain's. -ENOTCONN: the group is closed. Completes exactly once,
 * or never before close. One that fits a chunk (chunk_bytes) takes one round trip with its
 * notification; a longer one two, and over devices three, for the bytes to be visible (IBTA volume
 * 1, 9.5, o9-20). The first by a key that no other message has used takes one more, unless its
 * flags say FARE_KEY_IS_GOOD.
 */
int fare_group_write_sized(struct fare_group *group, const struct fare_write *write, size_t size);
static inline int fare_group_write(struct fare_group *group, const struct fare_write *write)
{
	return fare_group_write_sized(group, write, sizeof(*write));
}
/* Queues n of them at once. How many were queued, from the first on; -errno: not even that. */
int fare_group_write_many_sized(struct fare_group *group, const struct fare_write *writes,
				unsigned n, size_t size);
static inline int fare_group_write_many(struct fare_group *group, const struct fare_write *writes,
					unsigned n)
{
	return fare_group_write_many_sized(group, writes, n, sizeof(*writes));
}

/*
 * Another fare_group_send() follows at once, and both are parts of one thing: they leave together,
 * by one QP, for as long as they are no longer than chunk_bytes.
 */
#define FARE_SEND_MORE 1u
/* a message up to so long takes one packet, where the path MTU is 4,096 */
#define FARE_MESSAGE_PACKET 4064u
/* A message, into memory of the peer's library: its FARE_EVENT_MESSAGE. */
struct fare_send {
	const void *data; /* copied: yours when fare_group_send() returns */
	uint32_t length;  /* up to fare_group_options.message_bytes */
	uint32_t tag;
	uint64_t context;
	uint64_t deadline_ns; /* as of a write */
	unsigned flags;	      /* FARE_SEND_MORE */
};
/*
 * Queues it. COMPLETED: the peer has it, and delivers it exactly once. -EMSGSIZE: too long; else as
 * fare_group_write(). What was written and COMPLETED before is visible to the peer when it gets the
 * message.
 */
int fare_group_send_sized(struct fare_group *group, const struct fare_send *send, size_t size);
static inline int fare_group_send(struct fare_group *group, const struct fare_send *send)
{
	return fare_group_send_sized(group, send, sizeof(*send));
}

struct fare_read {
	void *data; /* inside mr; what it holds is undefined until FARE_EVENT_COMPLETED */
	struct fare_mr *mr;
	uint64_t length;
	uint64_t remote_addr; /* in a region that the peer registered with FARE_REMOTE_READ */
	uint32_t rkey;
	uint64_t context;
	uint64_t deadline_ns; /* as of a write: data is yours again at FARE_EVENT_RELEASED */
	const struct fare_piece *pieces; /* scattered to these; as of a write */
	unsigned n_pieces;
	unsigned flags; /* FARE_KEY_IS_GOOD */
};
/*
 * Queues an RDMA READ: length bytes at remote_addr come to data. Errors and completion as of
 * fare_group_write(); -EOPNOTSUPP in FARE_MODE_PACKET. A plane's death replays what it carried;
 * nothing of the old attempt lands after completion.
 */
int fare_group_read_sized(struct fare_group *group, const struct fare_read *read, size_t size);
static inline int fare_group_read(struct fare_group *group, const struct fare_read *read)
{
	return fare_group_read_sized(group, read, sizeof(*read));
}

struct fare_group_stats {
	uint64_t messages_completed, bytes_completed, chunks_posted, chunks_replayed;
	uint64_t path_deaths, path_rebuilds, duplicate_notifications;
	/* payload acknowledged per plane; where QPs are no plane's, per set that fails together */
	uint64_t plane_bytes[FARE_MAX_PLANES];
	uint64_t retransmitted_packets, timeouts, icrc_errors;
	/* handshake messages of other jobs, without the key, or malformed */
	uint64_t control_rejected;
	uint64_t flow_moves, flow_needless_moves;
};
void fare_group_stats_sized(const struct fare_group *group, struct fare_group_stats *out,
			    size_t size);
static inline void fare_group_stats(const struct fare_group *group, struct fare_group_stats *out)
{
	fare_group_stats_sized(group, out, sizeof(*out));
}
/* Writes the state of every lane, QP and outstanding write to a descriptor, as text for people. */
void fare_group_dump(const struct fare_group *group, int fd);

#ifdef __cplusplus
}
#endif

#endif
