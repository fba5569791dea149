/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_mock.h - a libibverbs of the tests' own: devices that move bytes within this process, and
 * do wrong what a test asks for.
 *
 * The linker takes these functions instead of the library's ("verbs_mock" in tests/CMakeLists.txt).
 * Owns: the devices, and what is made on them. In: verbs calls of any thread, one lock for all; the
 * faults that a test sets. Out: bytes copied from one region to another, completions, events.
 *
 * A queue pair reaches the one that has its number on the device that has its destination GID, and
 * that names it in turn. Work is carried out when it is posted, or when what it waits for has come
 * (a receive, the end of a fault). Each device counts QP numbers and keys from the same value, so
 * that those of one device mean something else on another. A device is seen by threads of the
 * network namespace in which it was added. Not modelled: time, packets, PSNs, the limit of RNR
 * retries, atomics, more than one element of a list.
 */
#ifndef VERBS_MOCK_H
#define VERBS_MOCK_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define VERBS_MOCK_DEVICES 16
#define VERBS_MOCK_GIDS	   2

struct mock_context;

struct verbs_mock_device {
	struct ibv_device d;
	bool in_use;
	ino_t netns;
	char netdev[16]; /* of its GIDs */
	union ibv_gid gids[VERBS_MOCK_GIDS];
	unsigned n_gids;

	/* What a test sets, in VERBS_MOCK(). All 0: a device in order. */
	bool absent;	     /* it is in no list; who has it open keeps it */
	bool held;	     /* work stays on the send queues */
	bool no_flush;	     /* a queue pair in error does not flush */
	bool block_modify;   /* ibv_modify_qp() does not return */
	bool refuse_modify;  /* it returns EINVAL */
	bool refuse_receive; /* ibv_post_recv() returns ENOMEM */
	bool refuse_destroy; /* ibv_destroy_qp() returns EBUSY */
	unsigned modify_ms;  /* how long ibv_modify_qp() takes */
	int open_error, register_error, dmabuf_error, query_port_error; /* errno */
	enum ibv_port_state port_state;					/* 0: ACTIVE */
	enum ibv_mtu active_mtu;					/* 0: 4096 bytes */
	uint8_t active_speed, active_width;
	uint64_t fail_from, fail_count; /* verbs_mock_fail() */
	unsigned fail_status;
	uint64_t mute_from; /* work from this number on is done and never completes; 0: none */

	/* What it counts. */
	uint64_t n_posted;
	unsigned n_opened, n_closed, n_modify_blocked;
	unsigned n_gid_reads;
	unsigned n_stopped; /* changes of a queue pair to ERR that were asked for */
	uint32_t next_number;
	struct mock_context *contexts;
};

/* What a test may see of a queue pair. */
struct verbs_mock_qp {
	enum ibv_qp_state state;
	enum ibv_mtu path_mtu;
	struct ibv_ah_attr av;
	unsigned n_sends, n_receives; /* posted, and not completed */
};

/* What a test may see of a region. */
struct verbs_mock_mr {
	int access;
	bool is_dmabuf;
};

extern pthread_mutex_t verbs_mock_lock;
extern pthread_cond_t verbs_mock_changed; /* behind each VERBS_MOCK() and blocked call */
void verbs_mock_work(void);		  /* with the lock: carries out what can be */

extern int verbs_mock_list_error; /* errno of ibv_get_device_list(); 0: there is a list */

/* Statements with the lock held; what waited for them goes on. */
#define VERBS_MOCK(...)                                                                            \
	do {                                                                                       \
		pthread_mutex_lock(&verbs_mock_lock);                                              \
		__VA_ARGS__;                                                                       \
		verbs_mock_work();                                                                 \
		pthread_cond_broadcast(&verbs_mock_changed);                                       \
		pthread_mutex_unlock(&verbs_mock_lock);                                            \
	} while (0)

/*
 * Adds a device whose GIDs (IPv6, or IPv4 as ::ffff:a.b.c.d; gid1 may be NULL) are on netdev. NULL:
 * no room, or no address.
 */
struct verbs_mock_device *verbs_mock_add(const char *name, const char *netdev, const char *gid0,
					 const char *gid1);

/* The n-th work posted from now on (1: the next) and count - 1 behind it end with this status. */
void verbs_mock_fail(struct verbs_mock_device *d, uint64_t n, uint64_t count, unsigned status);
/* From the n-th work posted from now on (1: the next) none completes. 0: all do. */
void verbs_mock_mute(struct verbs_mock_device *d, uint64_t n);
/* The device goes: EIO for all calls, and IBV_EVENT_DEVICE_FATAL to those who have it open. */
void verbs_mock_remove(struct verbs_mock_device *d);
/* It is found again. */
void verbs_mock_restore(struct verbs_mock_device *d);
/* An event of the device or its port, to all who have it open, or to one (who; 0: the first). */
void verbs_mock_event(struct verbs_mock_device *d, unsigned type, int who);
/* The port's state, and the event that tells of it. */
void verbs_mock_port(struct verbs_mock_device *d, bool up);
/* The queue pair is in error and tells nobody; with type, there is an event of that type. */
void verbs_mock_qp_error(struct verbs_mock_device *d, uint32_t qpn, unsigned type);
/* Its completion queue fails: polling it does, and there may be an event. */
void verbs_mock_cq_error(struct verbs_mock_device *d, uint32_t qpn, bool event);

/* How many such queue pairs there are; *out is the last one. Number 0: any. */
unsigned verbs_mock_qp(struct verbs_mock_device *d, uint32_t qpn, struct verbs_mock_qp *out);
/* How much posted work may still read or write these bytes. */
unsigned verbs_mock_pending(struct verbs_mock_device *d, const void *from, uint64_t length);
/* How many regions begin at iova; *out is the last one. */
unsigned verbs_mock_mr(struct verbs_mock_device *d, uint64_t iova, struct verbs_mock_mr *out);

#endif
