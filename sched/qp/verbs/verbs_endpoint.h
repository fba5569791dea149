/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_endpoint.h - what the files of the verbs provider share: devices, sub-ports, regions, QPs,
 * workers.
 *
 * Owns, for one local GPU address: the RDMA devices behind its sub-ports, protection domains,
 * regions, QPs and their completion queues, the control sockets. In: posted writes, completions,
 * device events, datagrams. Out: completions, control datagrams. One thread, plus a worker per
 * plane that alone makes the kernel calls which may block.
 *
 * Who does what, each calling only those below it: verbs_endpoint.c the endpoint, progress and the
 * table of qp/provider.h; verbs_device.c devices, what they report, their loss and their return;
 * verbs_qp.c QPs; verbs_control.c datagrams; verbs_worker.c the calls that block; verbs_region.c
 * memory on every device; verbs_handle.c devices that are open; verbs_gid.c which device and GID a
 * sub-port has. What a worker has done comes back as a list that progress hands on. Pure:
 * verbs_wire.c, verbs_keys.c; verbs_netdev.c but for reading sysfs.
 *
 * A device may be lost (unbound, reset after a fatal error) and come back. What was made on it has
 * its handle, which stays open until the last QP of it is gone; what is made later has another. So
 * an old QP never meets a new handle's memory.
 */
#ifndef VERBS_ENDPOINT_H
#define VERBS_ENDPOINT_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "qp/provider.h"
#include "qp/verbs/verbs_keys.h"
#include "qp/verbs/verbs_netdev.h"

#define VERBS_MAX_DEVICES (FARE_MAX_PLANES * FARE_MAX_SUB_PORTS)
#define VERBS_SEND_DEPTH  128
#define VERBS_RECV_DEPTH  256 /* notifications that may wait, if nobody says how many */
#define VERBS_QUARANTINED 64
#define VERBS_MAX_REGIONS 4095

/* A device, opened; and what is registered on it. */
struct verbs_handle {
	struct verbs_handle *next; /* in qp_endpoint.handles: present ones and lost ones */
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_mr **mr; /* VERBS_MAX_REGIONS, as regions; NULL: not registered here */
	unsigned users;	    /* QPs, and the device whose present handle it is */
	bool lost;	    /* its device is gone or going, or does not work any more */
	bool in_sysfs;	    /* it was when it was opened (a container may have none) */
};

enum verbs_device_state {
	VERBS_DEVICE_UP,
	VERBS_DEVICE_LOST,	  /* tried again when the back-off is over */
	VERBS_DEVICE_OPENING,	  /* with a worker */
	VERBS_DEVICE_REGISTERING, /* open; regions are registered again, one a turn */
};

struct verbs_device {
	char name[IBV_SYSFS_NAME_MAX];
	enum verbs_device_state state;
	struct verbs_handle *handle; /* NULL: lost */
	uint64_t due_ns, backoff_ns;
	uint32_t next_region;
	bool gids_due;		     /* they could not be read when they may have changed */
	struct verbs_handle *opened; /* by the worker; the data thread's when the job is back */
};

/* A sub-port as configured, and where it was found. */
struct verbs_sub_port {
	unsigned device; /* index into devices */
	uint8_t port;	 /* of the device, from 1 */
	bool up;
	bool has_gid;
	uint8_t gid_index;
	union ibv_gid gid; /* the address that it answers to */
	enum ibv_mtu active_mtu;
};

/* What a region was registered with, to do so again on a device that comes back. */
struct verbs_memory {
	void *addr;
	size_t length;
	unsigned access;
	int dmabuf_fd; /* ours; -1: host memory at addr */
	uint64_t dmabuf_offset, iova;
};

struct verbs_region {
	uint32_t key; /* 0: free. What applications pass on: names the region, on whatever device */
	uint32_t generation;
	struct verbs_memory memory;
};

/* What a descriptor in the endpoint's epoll is. */
enum verbs_watch_kind {
	VERBS_WATCH_CHANNEL, /* index: of the device */
	VERBS_WATCH_ASYNC,   /* the same */
	VERBS_WATCH_CONTROL,
	VERBS_WATCH_DONE,
	VERBS_WATCH_TIMER,
};

enum verbs_job_kind {
	VERBS_IDLE,
	VERBS_CONNECT,
	VERBS_STOP,
	VERBS_HALT,
	VERBS_DESTROY,
	VERBS_OPEN, /* of a device; the others are a QP's */
};

struct verbs_job {
	struct verbs_job *next;
	enum verbs_job_kind kind; /* the data thread's, while the job is not queued */
	int result;		  /* 0 or -errno */
	struct qp *qp;
	unsigned device; /* VERBS_OPEN: index into devices */
};

/* One thread per plane: a plane whose neighbour does not answer must not hold up another's QPs. */
struct verbs_worker {
	struct qp_endpoint *ep;
	pthread_t thread;
	bool running, quit;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct verbs_job *first, *last;
};

enum verbs_qp_state {
	VERBS_QP_MADE,	     /* INIT */
	VERBS_QP_CONNECTING, /* with the worker: RTR, RTS */
	VERBS_QP_READY,	     /* RTS */
	VERBS_QP_STOPPING,   /* with the worker: ERR */
	VERBS_QP_DRAINING,   /* ERR; flushes are awaited: behind the last of them nothing is placed
				any more */
	VERBS_QP_HALTING,    /* RESET, as a device did not flush: with the worker, or refused */
	VERBS_QP_STOPPED,    /* nothing is sent or placed. What was not reported is flushed by us */
};

struct qp {
	struct qp_endpoint *ep;
	struct qp *prev, *next;
	struct qp_attr attr;
	struct qp_remote remote;
	struct verbs_key_peer peer; /* who is asked for rkeys */
	unsigned device;
	struct verbs_handle *handle;
	uint8_t port, gid_index;
	struct ibv_qp *ibv; /* NULL: ended by the worker, as the device would not reset it */
	struct ibv_cq *cq;
	uint32_t qpn, first_psn;
	uint32_t path_mtu; /* that both ends take */
	enum verbs_qp_state state;
	int error;	/* it failed by itself: -errno */
	bool refused;	/* it failed because it refused a request of the peer */
	bool cq_failed; /* no completion comes any more, flushes neither */
	bool stop_wanted, is_destroyed, armed;
	bool marked;	       /* its only receive is start_draining()'s */
	unsigned n_receives;   /* the device holds */
	uint64_t *receive_ids; /* attr.receives of them: those that were posted, a ring */
	unsigned first_receive;
	uint64_t drain_until_ns;
	uint64_t wr_ids[VERBS_SEND_DEPTH]; /* outstanding work, oldest first */
	uint32_t lengths[VERBS_SEND_DEPTH];
	unsigned first, n_work;
	struct verbs_job job;
};

struct qp_endpoint {
	struct qp_endpoint_attr attr;
	struct qp_endpoint_info info; /* control_fd receives at info.port */
	/* packets are the device's business: bytes of writes posted and of notified arrivals,
	 * time-outs reported */
	struct qp_stats stats;
	struct verbs_device devices[VERBS_MAX_DEVICES];
	struct verbs_handle *handles;
	unsigned n_devices;
	struct verbs_sub_port sub_ports[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS];
	struct verbs_region *regions; /* VERBS_MAX_REGIONS */
	uint32_t next_region;
	struct verbs_keys keys;
	uint64_t next_nonce; /* of the next question for keys: drawn beforehand, as a post must not
				wait for it */

	struct qp qps; /* ring; this one is its head */
	struct qp *turn;
	unsigned n_draining; /* QPs in DRAINING, or HALTING until a device answers */
	unsigned n_lost;     /* devices not UP */
	uint64_t check_due_ns;
	struct verbs_job open_job; /* one device at a time is opened again */
	bool refill_due;	   /* receives of our own were used up, and not posted again yet */
	/* stopped QPs keep their numbers for as long as there is room */
	struct qp *quarantined[VERBS_QUARANTINED];
	unsigned next_quarantined;
	struct verbs_worker workers[FARE_MAX_PLANES];
	bool closing; /* workers are gone: jobs are done on the spot */
	pthread_mutex_t done_lock;
	struct verbs_job *done;
	int done_fd;

	int epoll_fd, timer_fd, control_fd;
	struct verbs_netdev netdevs[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS];
	uint64_t netdevs_read_ns; /* 0: never */
	int tx_fd[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS];
};

static inline uint64_t verbs_random(void) /* never 0 */
{
	uint64_t v = 0;

	while (getrandom(&v, sizeof(v), 0) != sizeof(v) || v == 0)
		;
	return v;
}

/* The endpoint's descriptor is readable when fd is. 0 or -errno. */
static inline int verbs_watch(const struct qp_endpoint *ep, int fd, enum verbs_watch_kind kind,
			      unsigned index)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)kind << 32 | index};

	return epoll_ctl(ep->epoll_fd, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

/*
 * Finds the device behind every sub-port and opens it. -ENOSYS: the kernel has no RDMA. -ENODEV: it
 * has, but no device for some sub-port. -EACCES: there are devices that we may not open. -ENXIO:
 * there are devices, and none of their files in /dev/infiniband (a container).
 * -EADDRNOTAVAIL: no sub-port has a RoCEv2 GID of the address's family. -EMSGSIZE: a port's MTU is
 * below attr.path_mtu. Sets attr.path_mtu if it is 0.
 */
int verbs_device_open_all(struct qp_endpoint *ep);
void verbs_device_close_all(struct qp_endpoint *ep);
/* Takes what a device reports; QPs concerned are marked as failed. > 0 if there was anything. */
int verbs_device_take_events(struct qp_endpoint *ep, unsigned device);
/* Finds devices that are unbinding; brings lost ones back, a step at a time. > 0: did something. */
int verbs_device_step(struct qp_endpoint *ep, uint64_t now_ns);
/* The data thread's: the job came back. */
void verbs_device_on_reopened(struct qp_endpoint *ep);

/* Takes the device: it is closed if that fails. 0 or -errno. */
int verbs_handle_make(struct verbs_handle **out, struct ibv_context *device);
/* One user less; the last one ends what is registered, and closes it. */
void verbs_handle_put(struct qp_endpoint *ep, struct verbs_handle *handle);
bool verbs_handle_is_in_sysfs(const struct ibv_context *device);
/*
 * The worker's part of VERBS_OPEN: finds the device of the slot's sub-ports and opens it
 * (verbs_device.opened). 0 or -errno.
 */
int verbs_handle_reopen(struct qp_endpoint *ep, unsigned device);

/* All GIDs of a device. *out is the caller's to free. Returns how many, or -errno. */
ssize_t verbs_gid_read(struct ibv_context *context, struct ibv_gid_entry **out);
/* Whether the GIDs' device is that of sub-port (p, s). */
bool verbs_gid_is_device_of(const struct qp_endpoint *ep, const struct ibv_gid_entry *gids,
			    ssize_t n, unsigned p, unsigned s);
/* If so, fills in what it offers there: port, GID, state, MTU. */
bool verbs_gid_find(struct qp_endpoint *ep, struct ibv_context *context,
		    const struct ibv_gid_entry *gids, ssize_t n, unsigned p, unsigned s);

int verbs_region_register(struct qp_endpoint *ep, void *addr, size_t length, unsigned access,
			  struct qp_mr *out);
int verbs_region_register_dmabuf(struct qp_endpoint *ep, int fd, uint64_t offset, size_t length,
				 uint64_t iova, unsigned access, struct qp_mr *out);
int verbs_region_deregister(struct qp_endpoint *ep, const struct qp_mr *mr);
void verbs_region_free_all(struct qp_endpoint *ep);
/*
 * It is back: registers the next region from *next on that is not registered there. False: there is
 * none. A region that cannot be (its memory is gone) is left out.
 */
bool verbs_region_restore_next(struct qp_endpoint *ep, unsigned device, uint32_t *next);
/* 0 or -EINVAL: no such region, or not on that device now. */
int verbs_region_lkey(const struct qp_endpoint *ep, uint32_t key, const struct verbs_handle *handle,
		      uint32_t *lkey);
/*
 * Fills in keys and n_keys (none if peers have no business there). False: there is no answer now,
 * as all devices are lost; the peer asks again.
 */
bool verbs_region_answer(const struct qp_endpoint *ep, struct verbs_wire_message *reply);

int verbs_qp_create(struct qp_endpoint *ep, const struct qp_attr *attr, struct qp **out);
/*
 * What an event of a device names. NULL: no QP of the application's, as the device still has one
 * that it would not end.
 */
struct qp *verbs_qp_find(const struct qp_endpoint *ep, const void *context);
int verbs_qp_connect(struct qp *qp, const struct qp_remote *remote);
int verbs_qp_status(struct qp *qp);
bool verbs_qp_refused(const struct qp *qp);
int verbs_qp_move(struct qp *qp, uint16_t sub_port, uint16_t udp_source_port);
void verbs_qp_error(struct qp *qp);
void verbs_qp_destroy(struct qp *qp);
int verbs_qp_post(struct qp *qp, const struct qp_work *work);
int verbs_qp_post_recv(struct qp *qp, const struct qp_recv *recv);
int verbs_qp_poll_all(struct qp_endpoint *ep, struct qp_wc *wc, int max);
/* A job of the QP's came back from its worker. */
void verbs_qp_on_done(struct qp *qp);
/* The device is lost: its QPs have failed, and those in quarantine end. */
void verbs_qp_lose_all(struct qp_endpoint *ep, const struct verbs_handle *handle);
/* Devices that flush in no reasonable time are reset. > 0 if any is. */
int verbs_qp_check_drains(struct qp_endpoint *ep, uint64_t now_ns);
void verbs_qp_destroy_all(struct qp_endpoint *ep);

/* Starts a thread per plane. 0 or -errno. */
int verbs_worker_start_all(struct qp_endpoint *ep);
/* Finishes what is queued, then ends. */
void verbs_worker_stop_all(struct qp_endpoint *ep);
void verbs_worker_submit(struct qp *qp, enum verbs_job_kind kind);
/* To the worker of the plane: opens the device. */
void verbs_worker_submit_open(struct qp_endpoint *ep, unsigned device, unsigned plane);
/* The jobs that are done, by their next: for verbs_qp_on_done() and verbs_device_on_reopened(). */
struct verbs_job *verbs_worker_take_done(struct qp_endpoint *ep);

int verbs_control_open(struct qp_endpoint *ep);
void verbs_control_close(struct qp_endpoint *ep);
int verbs_control_send(struct qp_endpoint *ep, const struct qp_control *control);
/* Asks for a region's keys. Loss is silent. */
void verbs_control_ask(struct qp_endpoint *ep, const struct qp *qp, uint32_t key, uint64_t nonce);
int verbs_control_receive(struct qp_endpoint *ep);

#endif
