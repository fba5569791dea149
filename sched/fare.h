/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fare.h - libfare: what an application links. fare(3) is the manual.
 *
 * Three levels, each usable without the next, grouped by task below:
 *   1. read paths          struct fare, struct fare_pair
 *   2. pick planes         struct fare_spray (per packet), struct fare_flows (per flow)
 *   3. move bytes          struct fare_domain, fare_mr, fare_group: writes, reads and messages over
 *                          all planes to one peer, of which none is lost when a plane dies
 *
 * Units: addresses are struct in6_addr, IPv4 as ::ffff:a.b.c.d; times CLOCK_MONOTONIC nanoseconds;
 * bandwidths bit/s; lengths bytes.
 *
 * Errors: functions return 0 or -errno unless they say otherwise; those that open or register set
 * *out to NULL then. What is listed at a function comes beside these, which all may return:
 *   -EINVAL   NULL where it may not be, a flag that does not exist, a value out of its range, sizes
 *             that overflow; nothing is done then
 *   -ENOMEM   of functions that open or register
 *   -ECHILD   in a child of fork(), and nowhere else: what the parent opened is inert there.
 *             Closing it closes the child's descriptors alone. A child may open its own.
 *   -E2BIG    of functions that take a structure: the program was built for a later release, and
 *             uses a field that this library does not have
 * Functions without an errno return NULL, 0 or false instead.
 *
 * Ownership: structures that are passed are copied. An object is closed before what it was opened
 * on; fare_domain_close() closes groups and regions. NULL may be closed.
 *
 * Threads: a struct fare and everything opened on it are used by one thread at a time; a process
 * may attach several times, once a thread.
 *
 * Structures of options, operations, events and statistics grow at their end from release to
 * release, and 0 in a field is its default, in parentheses below: fill them with designated
 * initialisers. Functions NAME_sized() take their size; those without that suffix pass it, so that
 * a program runs with the library of a later release. Bindings of other languages call
 * NAME_sized().
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

struct fare;	   /* one attachment to the daemon's shared memory */
struct fare_pair;  /* a local GPU and a peer GPU */
struct fare_spray; /* the schedule of a pair: exact, interleaved, without randomness */
struct fare_flows; /* the connection table of a pair: flow -> slot */
struct fare_baseline;
struct fare_domain; /* one local GPU's endpoint: sockets or devices, regions, groups */
struct fare_mr;	    /* a region: registered memory */
struct fare_group;  /* the QPs over all planes to one peer */

/* ---- 1. attach ------------------------------------------------------------------------------- */

/*
 * Attaches to the daemon whose run directory this is (NULL: "/run/fared"). The daemon may be away:
 * what it last published is used, and its return is noticed. -ENOENT: no daemon ever ran there.
 * -EACCES: this user may not read its segment. -EPROTO: the segment has another version.
 * -ENAMETOOLONG.
 */
int fare_attach(struct fare **out, const char *run_dir);
void fare_detach(struct fare *fare);

/* How many local GPUs there are; they are numbered from 0. */
unsigned fare_n_local_gpus(const struct fare *fare);
/*
 * The loopback address of a local GPU; family is AF_INET or AF_INET6. -ENOENT: no such GPU, or it
 * has no address of that family.
 */
int fare_local_address(const struct fare *fare, unsigned local_gpu, int family,
		       struct in6_addr *out);
/* true if the daemon's heartbeat is younger than a second. No other function depends on it. */
bool fare_daemon_alive(const struct fare *fare);

/* ---- 1. read paths --------------------------------------------------------------------------- */

/*
 * Opens (local_gpu, peer). The peer need not be known yet: its paths are then no-route. -ENOENT: no
 * such local GPU.
 */
int fare_pair_open(struct fare_pair **out, struct fare *fare, unsigned local_gpu,
		   const struct in6_addr *peer);
void fare_pair_close(struct fare_pair *pair);

/* One plane of a pair, as the daemon last published it. */
struct fare_path {
	uint64_t usable_bps;	   /* bit/s; 0: do not use the plane */
	enum fare_verdict verdict; /* why */
	uint32_t live_sub_ports;   /* bit s: local sub-port s is up, and loses nothing */
	uint32_t n_sub_ports;	   /* configured, 1 .. FARE_MAX_SUB_PORTS */
};
struct fare_paths {
	uint64_t generation; /* another one whenever anything below differs */
	unsigned n_planes;
	struct fare_path path[FARE_MAX_PLANES]; /* by plane, from 0 */
};
/* One 8-byte load: while it equals fare_paths.generation, the last snapshot is up to date. */
uint64_t fare_pair_generation(const struct fare_pair *pair);
/* A consistent snapshot. -EAGAIN: the daemon was writing; keep the last one and try again. */
int fare_pair_paths(const struct fare_pair *pair, struct fare_paths *out);

/* ---- 2. pick a plane per packet -------------------------------------------------------------- */

struct fare_slot {
	uint16_t plane, sub_port; /* from 0; fared.yaml(5) names the sub-port's device */
};
/* A schedule of its own over the pair's planes, in proportion to their weights. -ENOMEM. */
int fare_spray_open(struct fare_spray **out, struct fare_pair *pair);
void fare_spray_close(struct fare_spray *spray);
/*
 * Where the next unit goes: a packet, a chunk or a batch, whatever is posted at once.
 * -ENETUNREACH: no plane is usable.
 */
int fare_spray_next(struct fare_spray *spray, struct fare_slot *out);

/* ---- 2. pick a plane per flow ---------------------------------------------------------------- */

struct fare_flows_options {
	uint32_t max_flows;	     /* flows in the table, up to 131072 (1024) */
	uint32_t slots_per_sub_port; /* QPs per sub-port, up to 8191 (1) */
	uint64_t idle_expiry_ns;     /* a flow unused for so long is removed; any (never) */
	/* keep planes in proportion by what fare_flows_account() counts, not by flows (false) */
	bool by_bytes;
	uint64_t balance_ns; /* by_bytes: how long one measurement takes; any (100 ms) */
};
struct fare_flow_slot {
	uint16_t plane;
	uint16_t index; /* QP within the plane, 0 .. n_sub_ports * slots_per_sub_port - 1 */
};
/* Since the table was opened. */
struct fare_flows_stats {
	uint64_t binds;		 /* flows that got their first slot */
	uint64_t moves;		 /* flows that got another one */
	uint64_t needless_moves; /* of them, those that no change of weights explains */
	uint64_t expiries;	 /* flows removed as idle */
};
/*
 * -ENOSPC: the segment that the process shares with the daemon has no room for max_flows more; it
 * has 131072 rows in all. -EAGAIN: the daemon was writing; try again. -EIO.
 */
int fare_flows_open_sized(struct fare_flows **out, struct fare_pair *pair,
			  const struct fare_flows_options *options, size_t size);
static inline int fare_flows_open(struct fare_flows **out, struct fare_pair *pair,
				  const struct fare_flows_options *options)
{
	return fare_flows_open_sized(out, pair, options, sizeof(*options));
}
void fare_flows_close(struct fare_flows *flows);
/*
 * Where the flow of that key, a number of the application's choice, goes now. Binds it to the most
 * underserved slot on first use; afterwards it stays, unless its path shrank and it is among the
 * fewest that must move, or a path grew and it is among the fewest that move there. -ENETUNREACH:
 * no plane is usable. -ENOSPC: the table is full.
 */
int fare_flows_pick(struct fare_flows *flows, uint64_t key, uint64_t now_ns,
		    struct fare_flow_slot *out);
/* The flow carried so many bytes: for farectl, and for by_bytes. Unknown keys are ignored. */
void fare_flows_account(struct fare_flows *flows, uint64_t key, uint64_t bytes);
/* Removes a flow. -ENOENT: no such key. */
int fare_flows_release(struct fare_flows *flows, uint64_t key);
/* Removes flows that were idle for idle_expiry_ns. Returns how many. */
unsigned fare_flows_expire(struct fare_flows *flows, uint64_t now_ns);
void fare_flows_stats_sized(const struct fare_flows *flows, struct fare_flows_stats *out,
			    size_t size);
static inline void fare_flows_stats(const struct fare_flows *flows, struct fare_flows_stats *out)
{
	fare_flows_stats_sized(flows, out, sizeof(*out));
}

/* ---- 3. domains ------------------------------------------------------------------------------ */

/* What a peer that opens a group says, and the answer. */
struct fare_request {
	struct in6_addr peer;
	const void *data; /* its private_data; borrowed for the call */
	uint32_t bytes;
	/* to be filled in, up to FARE_PRIVATE_MAX: for fare_group_private() of the peer (none) */
	uint32_t reply_bytes;
	uint8_t reply[FARE_PRIVATE_MAX];
};

struct fare_domain_options {
	const char *provider; /* "soft" or "verbs" ("soft"); the same at both ends of a group */
	int family;	      /* AF_INET or AF_INET6 (AF_INET) */
	/*
	 * Payload bytes of a packet: 256, 512, 1024, 2048 or 4096 (the most that at least half of
	 * the devices of all planes carry; verbs: all of them). Devices that carry less are left
	 * out. A group uses the smaller of both ends'.
	 */
	uint32_t path_mtu;
	uint32_t *max_path_mtu; /* unless NULL, becomes what the devices carry, also on error */
	bool accept;		/* accept groups that peers open toward this GPU (false) */
	/*
	 * Called within fare_domain_poll() for each group that a peer wants: 0 accepts it; -errno
	 * refuses it, and is the status of the peer's FARE_EVENT_CLOSED. Called again if that
	 * answer was lost. It calls no function of this domain. (NULL: all are accepted.)
	 */
	int (*on_request)(void *arg, struct fare_request *request);
	void *on_request_arg;
	/*
	 * Who may connect: a file of 16 to 64 bytes, the same at both ends (white space at its end
	 * is not counted), which only owner and group may read. Without one (NULL) the domain opens
	 * only if trusted_network is set.
	 */
	const char *key_file;
	bool trusted_network; /* nobody on the fabric is hostile: no key is needed (false) */
	uint64_t secret; /* a job's number, the same at both ends; keeps other jobs apart (0) */
	/*
	 * A promise: after each fare_domain_poll() the application soon calls it again, or waits on
	 * fare_domain_fd(), as long as the domain is open (false). What was received may then be
	 * acknowledged after the reply instead of before. If the promise is broken, completions at
	 * the peer are late, and after a second or so the peer takes this end's planes to be dead.
	 */
	bool busy_poll;
	/*
	 * Unless NULL, room for FARE_DEV_NAME_MAX bytes: becomes the name of the device that limits
	 * *max_path_mtu, also on error. Empty: not known.
	 */
	char *max_path_mtu_dev;
	/*
	 * UDP port at which this process is reached, 1 .. 49151 (the first that is free). A process
	 * at another port than the first is found by fare_group_open_to() alone.
	 */
	uint16_t port;
};

/*
 * Opens an endpoint of that local GPU. -ENOKEY: neither key_file nor trusted_network.
 * -EKEYREJECTED: a key of another length, or others have access to its file. -EINVAL: also,
 * key_file is no regular file. -ENOENT: no such key file or local GPU, or it has no address of that
 * family.
 * -EPROTONOSUPPORT: no such provider. -EMSGSIZE: path_mtu is more than the devices carry.
 * -EADDRINUSE: port, or every port, is taken. Others: from opening the key file or the devices.
 */
int fare_domain_open_sized(struct fare_domain **out, struct fare *fare, unsigned local_gpu,
			   const struct fare_domain_options *options, size_t size);
static inline int fare_domain_open(struct fare_domain **out, struct fare *fare, unsigned local_gpu,
				   const struct fare_domain_options *options)
{
	return fare_domain_open_sized(out, fare, local_gpu, options, sizeof(*options));
}
/* Closes its groups and regions, too; peers are informed. */
void fare_domain_close(struct fare_domain *domain);

/*
 * Where a domain is reached: which GPU, and which of the processes that serve it. Opaque bytes that
 * mean the same on every machine; applications send them to peers, as they do with rkeys.
 */
#define FARE_ADDRESS_BYTES 32
struct fare_address {
	uint8_t bytes[FARE_ADDRESS_BYTES];
};
void fare_domain_address(const struct fare_domain *domain, struct fare_address *out);

/* ---- 3. memory ------------------------------------------------------------------------------- */

/* What peers that know a region's key may do; 0: local use alone. */
#define FARE_REMOTE_WRITE 1u
#define FARE_REMOTE_READ  2u
/*
 * Registers length bytes from addr. The range is not rounded: nothing beside it can be reached.
 * From NULL, SIZE_MAX long: all memory of the process ("soft" alone). -ENOSPC: too many regions.
 */
int fare_mr_register(struct fare_mr **out, struct fare_domain *domain, void *addr, size_t length,
		     unsigned rights);
/*
 * length bytes from offset of a dma-buf: memory of a GPU, or of another device. fd is borrowed for
 * the call. iova is the address wanted (0: any); fare_mr_addr() says which it is. Where no device
 * of the domain can reach it ("soft"), it is mapped if its exporter allows, the CPU moves the
 * bytes, and fare_mr_sync() has to be called before a write from it and after what arrived in it.
 * -EOPNOTSUPP: neither can. -EINVAL: also, no dma-buf, or not so long.
 */
int fare_mr_register_dmabuf(struct fare_mr **out, struct fare_domain *domain, int fd,
			    uint64_t offset, size_t length, uint64_t iova, unsigned rights);
/*
 * As fare_mr_register(), from a cache of the domain's 1,024 latest regions: registering costs more
 * than a small transfer. Given back by fare_mr_deregister(), a region stays registered for the next
 * fare_mr_get() within it that asks for no other rights, and peers that have the key may reach it
 * until then. Before memory is freed or mapped anew, call fare_mr_invalidate(): the cache cannot
 * see it. -ENOSPC: 1,024 are in use.
 */
int fare_mr_get(struct fare_mr **out, struct fare_domain *domain, void *addr, size_t length,
		unsigned rights);
/* What overlaps that range serves no fare_mr_get() any more. */
void fare_mr_invalidate(struct fare_domain *domain, const void *addr, size_t length);
/*
 * When it returns, nothing reads or writes the memory any more, and operations on it fail; a region
 * of fare_mr_get() is only given back to the cache.
 */
void fare_mr_deregister(struct fare_mr *mr);
/* The number by which peers name it: fare_write.rkey, fare_read.rkey. */
uint32_t fare_mr_rkey(const struct fare_mr *mr);
/* The address of its first byte, for data at this end and remote_addr at the other. */
uint64_t fare_mr_addr(const struct fare_mr *mr);
/*
 * Of fare_mr_register_dmabuf(); nothing to do for other memory, and where a device reaches it.
 * Errors: what the kernel says of the dma-buf.
 */
int fare_mr_sync(const struct fare_mr *mr);

/* ---- 3. groups ------------------------------------------------------------------------------- */

/* How a chunk finds its QP. */
enum fare_mode {
	FARE_MODE_FLOW,	 /* flows, bound by a connection table, take turns by bytes */
	FARE_MODE_SPRAY, /* the exact schedule, by bytes, over QPs that each keep their order */
	/*
	 * The schedule over one QP a plane, whose batches leave by all of its sub-ports and k
	 * source ports each, and may overtake each other; leaves may spray packets, too. "soft"
	 * alone: a device's responder takes a packet out of order for a lost one.
	 */
	FARE_MODE_PACKET,
};

/*
 * The opener's values count for both ends, except idle_expiry_ms, flows_by_bytes, backoff_max_ms
 * (the acceptor has the defaults) and private_data.
 */
struct fare_group_options {
	enum fare_mode mode;	   /* (FARE_MODE_FLOW) */
	uint32_t qps_per_sub_port; /* k; up to FARE_PLANE_QPS_MAX (64) for each plane (1) */
	uint32_t flows; /* FARE_MODE_FLOW: flows that chunks are spread over, up to 4096 (504) */
	/*
	 * Unit posted at once, up to 1 GiB (the largest batch the provider sends whole), and
	 * unacknowledged bytes per sub-port, up to 1 GiB (192 KiB). If both are 0, both are less on
	 * links below 100 Mb/s, and a unit that is read is two batches and three packets, if the
	 * window holds that.
	 */
	uint32_t chunk_bytes;
	uint32_t window_bytes;
	uint32_t max_messages;	 /* operations outstanding, up to FARE_MESSAGES_MAX (64) */
	uint32_t idle_expiry_ms; /* FARE_MODE_FLOW: idle flows are placed anew after; any (never) */
	bool flows_by_bytes;	 /* FARE_MODE_FLOW: as fare_flows_options.by_bytes (false) */
	/* a plane's dead QPs are rebuilt after 10 ms, which doubles up to this; ms, any (1000) */
	uint32_t backoff_max_ms;
	/*
	 * The longest message of fare_group_send(), up to FARE_MESSAGE_MAX (0: none are sent). Each
	 * end keeps memory for max_messages of them at least.
	 */
	uint32_t message_bytes;
	/* RECEIVED and MESSAGE come in the order of posting, and so do their COMPLETED (false) */
	bool in_order;
	/* up to FARE_PRIVATE_MAX bytes for fare_request.data of the peer; copied (none) */
	const void *private_data;
	uint32_t private_bytes;
	uint8_t dscp;	       /* IP DSCP, 1 .. 63, or FARE_DSCP_ZERO for 0 (26) */
	uint8_t service_level; /* of InfiniBand, 0 .. 15 (0) */
	/* for the benchmarks of the source tree alone: sched/qp/baseline.h (NULL) */
	const struct fare_baseline *baseline;
};

/*
 * Opens a group toward the first process at peer's address, which must accept. It connects in the
 * background: FARE_EVENT_CONNECTED or FARE_EVENT_CLOSED follows. -EINVAL: also, a peer of another
 * family. -EOPNOTSUPP: the provider does not have the mode. -EUSERS: 4,096 groups are open.
 * -ENOENT: the daemon no longer publishes the local GPU. -ENOSPC: no region is left. Toward a
 * process at the address of a GPU of this server, its own or another, no plane leads: with "soft"
 * such a group has one QP over the kernel's loopback, whatever the mode.
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
/* As fare_group_open(), toward that process and no other. -EINVAL: also, not such an address. */
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
 * Ends the group in good order: the peer is informed; what is outstanding completes with -ECANCELED
 * once no device uses its memory any more; then comes FARE_EVENT_CLOSED with status 0.
 */
void fare_group_disconnect(struct fare_group *group);
/*
 * No event names the group any more; operations not completed have an unknown outcome. With "verbs"
 * a device may use their memory for a while: it is the application's again after
 * fare_mr_deregister(), or if the group was CLOSED before.
 */
void fare_group_close(struct fare_group *group);
/* What the peer said when the group opened, and *bytes of it; NULL, 0: nothing, or not yet. */
const void *fare_group_private(const struct fare_group *group, size_t *bytes);
/* The GPU at the other end: its loopback address. */
void fare_group_peer(const struct fare_group *group, struct in6_addr *out);
/*
 * The process at the other end, as its fare_domain_address() has it: from authenticated messages,
 * not from private data. -ENOTCONN: not known before CONNECTED of fare_group_open().
 */
int fare_group_peer_address(const struct fare_group *group, struct fare_address *out);
/* A pointer for the application's use (NULL). */
void fare_group_set_context(struct fare_group *group, void *context);
void *fare_group_context(const struct fare_group *group);

/* ---- 3. operations --------------------------------------------------------------------------- */

/* Local memory of one write or read, of which FARE_PIECES_MAX may be given. */
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
	const void
		*data; /* inside mr; the library's until FARE_EVENT_COMPLETED (see deadline_ns) */
	struct fare_mr *mr;
	uint64_t length; /* bytes; 0 is a bare notification */
	uint64_t remote_addr;
	uint32_t rkey;	  /* of a region that the peer registered with FARE_REMOTE_WRITE */
	uint32_t tag;	  /* reaches the peer's FARE_EVENT_RECEIVED */
	unsigned flags;	  /* FARE_WRITE_NOTIFY, FARE_KEY_IS_GOOD (0) */
	uint64_t context; /* comes back in the events of the write */
	/*
	 * A write that is not placed by then (0: no limit) completes with -ETIMEDOUT: all, part or
	 * nothing of it is placed, and the peer may or may not be notified. Memory at both ends is
	 * still the write's, of which packets may be in the network: it is the application's again
	 * at FARE_EVENT_RELEASED, which follows once nothing of it can land any more. The write
	 * counts as outstanding until then.
	 */
	uint64_t deadline_ns;
	/*
	 * Gathered from these, one behind the other at remote_addr (none): length is 0 then; data
	 * and mr do not count. The array is copied; the memory is the write's as data's would be.
	 */
	const struct fare_piece *pieces;
	unsigned n_pieces;
};
/*
 * Queues an RDMA WRITE. It completes exactly once, or never before the group is closed.
 * -ENOBUFS: max_messages are outstanding (in_order: or lie since the oldest that is not finished);
 * poll first. -EINVAL: also, data is not wholly within mr, or mr is another domain's. -ENOTCONN:
 * the group has ended. A write that fits a chunk takes one round trip with its notification; a
 * longer one two, and over devices three, for the bytes to be visible (IBTA volume 1, 9.5, o9-20).
 * The first by a key that no other operation has used takes one more, unless FARE_KEY_IS_GOOD.
 */
int fare_group_write_sized(struct fare_group *group, const struct fare_write *write, size_t size);
static inline int fare_group_write(struct fare_group *group, const struct fare_write *write)
{
	return fare_group_write_sized(group, write, sizeof(*write));
}
/* Queues n of them at once. Returns how many, from the first on; -errno: not even that. */
int fare_group_write_many_sized(struct fare_group *group, const struct fare_write *writes,
				unsigned n, size_t size);
static inline int fare_group_write_many(struct fare_group *group, const struct fare_write *writes,
					unsigned n)
{
	return fare_group_write_many_sized(group, writes, n, sizeof(*writes));
}

struct fare_read {
	void *data; /* inside mr; what it holds is undefined until FARE_EVENT_COMPLETED */
	struct fare_mr *mr;
	uint64_t length;
	uint64_t remote_addr;
	uint32_t rkey;	      /* of a region that the peer registered with FARE_REMOTE_READ */
	uint64_t context;     /* as of a write */
	uint64_t deadline_ns; /* as of a write */
	const struct fare_piece *pieces; /* scattered to these (none); as of a write */
	unsigned n_pieces;
	unsigned flags; /* FARE_KEY_IS_GOOD (0) */
};
/*
 * Queues an RDMA READ: length bytes at remote_addr come to data. Errors and completion as of
 * fare_group_write(); -EOPNOTSUPP in FARE_MODE_PACKET. What a dead plane carried is read again;
 * nothing of the old attempt lands after completion.
 */
int fare_group_read_sized(struct fare_group *group, const struct fare_read *read, size_t size);
static inline int fare_group_read(struct fare_group *group, const struct fare_read *read)
{
	return fare_group_read_sized(group, read, sizeof(*read));
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
	const void *data;     /* copied */
	uint32_t length;      /* 0 .. fare_group_options.message_bytes */
	uint32_t tag;	      /* reaches the peer's FARE_EVENT_MESSAGE */
	uint64_t context;     /* as of a write */
	uint64_t deadline_ns; /* as of a write */
	unsigned flags;	      /* FARE_SEND_MORE (0) */
};
/*
 * Queues it. COMPLETED: the peer's library has it, and delivers it exactly once. What was written
 * and COMPLETED before is visible to the peer when it gets the message. -EMSGSIZE: too long; else
 * as fare_group_write().
 */
int fare_group_send_sized(struct fare_group *group, const struct fare_send *send, size_t size);
static inline int fare_group_send(struct fare_group *group, const struct fare_send *send)
{
	return fare_group_send_sized(group, send, sizeof(*send));
}

/* ---- 3. events ------------------------------------------------------------------------------- */

/* What is set besides group. */
enum fare_event_kind {
	FARE_EVENT_CONNECTED, /* both ends of a group that was opened here are ready */
	FARE_EVENT_ACCEPTED,  /* a peer opened a group: the application's to use and to close */
	/* context, status: an operation is done, or failed */
	FARE_EVENT_COMPLETED,
	/* tag, bytes, sequence: a peer's notified write is placed as a whole; exactly once */
	FARE_EVENT_RECEIVED,
	/*
	 * tag, bytes, sequence, data: a peer's fare_group_send() arrived; exactly once. data is the
	 * application's until the next fare_domain_poll()
	 */
	FARE_EVENT_MESSAGE,
	/* plane: traffic moved because the plane's weight changed, or its QPs died */
	FARE_EVENT_SHIFTED,
	/* status: the group has ended; outstanding operations have completed with -ECANCELED */
	FARE_EVENT_CLOSED,
	/* no plane carries: operations wait, up to max_messages, then -ENOBUFS */
	FARE_EVENT_BLOCKED,
	FARE_EVENT_RESUMED, /* a plane carries again, and what waited is sent */
	/*
	 * context, status: an operation past its deadline uses no memory any more. -ETIMEDOUT, or
	 * what would have been COMPLETED's; never 0
	 */
	FARE_EVENT_RELEASED,
};
struct fare_event {
	enum fare_event_kind kind;
	struct fare_group *group;
	uint64_t context; /* of the operation */
	/*
	 * Of COMPLETED: 0; -EACCES (refused by the peer), -EINVAL (its region was deregistered
	 * meanwhile); -ECANCELED (the group ended) and -ETIMEDOUT (its deadline): outcome unknown.
	 *
	 * Of CLOSED: 0 (fare_group_disconnect()); -ECANCELED (the peer closed it, or is another
	 * process now), -ETIMEDOUT (no answer for 10 s: no such peer, or one with another provider,
	 * key or secret), -ESTALE (the process that the address named is gone, another has its
	 * place), -ECONNREFUSED (the peer accepts no groups, or cannot make its QPs), -EUSERS (it
	 * has no room for one more), -EPROTO (it has another number of planes, or sent a message
	 * that is too long), -ENOMEM (no memory for a message that had arrived), or what its
	 * on_request returned. Or no lane of a group that opens came up for 10 s: -EHOSTUNREACH (no
	 * plane answers), -ENETUNREACH (no plane is usable), -EMSGSIZE (no device carries packets
	 * of the path MTU now), -EMFILE, -ENODEV, -ENOMEM
	 */
	int status;
	uint32_t tag;	/* of the peer's write or message */
	uint64_t bytes; /* of that write or message */
	uint16_t plane;
	/*
	 * Counts the peer's notified writes and messages from 0. Without in_order, events may come
	 * in another order, and numbers of failed ones are left out.
	 */
	uint64_t sequence;
	const void *data;
};

/* A descriptor that polls readable when fare_domain_poll() is due; the domain's. */
int fare_domain_fd(const struct fare_domain *domain);
/*
 * Does what is due and takes up to max events. Never blocks. Returns how many; -errno: the endpoint
 * is broken. Of events taken together, later ones may name a group that the application closes on
 * account of an earlier one: skip them, as group may be free by then.
 */
int fare_domain_poll_sized(struct fare_domain *domain, struct fare_event *events, int max,
			   size_t size);
static inline int fare_domain_poll(struct fare_domain *domain, struct fare_event *events, int max)
{
	return fare_domain_poll_sized(domain, events, max, sizeof(*events));
}

/* ---- 3. statistics and diagnosis ------------------------------------------------------------- */

struct fare_group_stats {
	uint64_t messages_completed, bytes_completed; /* operations with status 0; their bytes */
	uint64_t chunks_posted, chunks_replayed;      /* sent; sent again after a plane died */
	uint64_t path_deaths, path_rebuilds;	      /* of a lane's set of QPs */
	uint64_t duplicate_notifications;	      /* arrived again, and dropped */
	/* payload acknowledged per plane; where QPs are no plane's, per set that fails together */
	uint64_t plane_bytes[FARE_MAX_PLANES];
	uint64_t retransmitted_packets, timeouts, icrc_errors; /* of the domain */
	/* of the domain: handshake messages of other jobs, without the key, or malformed */
	uint64_t control_rejected;
	uint64_t flow_moves, flow_needless_moves; /* FARE_MODE_FLOW: as of fare_flows_stats */
	/* of the domain, soft provider: packets that came while one before them was missing */
	uint64_t out_of_order_packets;
};
void fare_group_stats_sized(const struct fare_group *group, struct fare_group_stats *out,
			    size_t size);
static inline void fare_group_stats(const struct fare_group *group, struct fare_group_stats *out)
{
	fare_group_stats_sized(group, out, sizeof(*out));
}
/* Writes the state of every lane, QP and outstanding operation to a descriptor, as text. */
void fare_group_dump(const struct fare_group *group, int fd);

#ifdef __cplusplus
}
#endif

#endif
