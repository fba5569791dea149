/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cluster.h - the workers of a benchmark, one process per GPU, as the coordinator sees them.
 *
 * Owns: the connections. In: a topology, and a source of workers: this machine (cluster_local.c),
 * or agents on other hosts (launch/hosts.h). Out: workers that answer requests (worker.h has the
 * list). An error that any worker reports ends the wait with -EBADE after saying on stderr which
 * GPU and what: callers end the benchmark. Thread: one.
 */
#ifndef CLUSTER_H
#define CLUSTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/memory.h"
#include "fabric/topo.h"

struct cluster;
struct rendezvous;

/* Where workers come from. Each function but pid says on stderr what fails. */
struct cluster_source {
	int (*start)(void *arg); /* one for every GPU; they come in one by one, in any order */
	int (*accept)(void *arg, int timeout_ms, struct rendezvous **link); /* the next one */
	/*
	 * Called once, also if start() failed. whole: all came in and were asked to quit; else some
	 * wait for nobody. Frees arg if the source owns it.
	 */
	void (*end)(void *arg, bool whole);
	int (*pid)(void *arg, unsigned gpu); /* NULL: they are not on this machine */
	void *arg;
};

/* Starts a worker for every GPU and gives each arenas of arena_bytes. topo is borrowed for the
 * call. -ENOTCONN, after saying why: a worker could not begin, as without a fared on its server. */
int cluster_create_from(struct cluster **out, const struct topo *topo, uint64_t arena_bytes,
			const struct cluster_source *source);
/* The same with processes of this machine, in the servers' network namespaces. store: where their
 * files are (memory.h); NULL: nowhere. */
int cluster_create(struct cluster **out, const struct topo *topo, uint64_t arena_bytes,
		   const char *store);
/*
 * Gives all workers memory of these kinds, until it is called again. text (CLUSTER_MEMORY_MAX
 * bytes): what it is. -EOPNOTSUPP: text says which GPU has none and why; all have the hosts' then.
 */
#define CLUSTER_MEMORY_MAX 2048
int cluster_memory(struct cluster *cluster, uint64_t arena_bytes, const struct memory_pair *kinds,
		   char *text);
void cluster_destroy(struct cluster *cluster); /* ends the workers; NULL is fine */

unsigned cluster_size(const struct cluster *cluster);
int cluster_pid(const struct cluster *cluster, unsigned gpu); /* 0: on another host */
/* A worker's memory as peers name it. source: that messages are sent from, which peers may read. */
struct cluster_arena {
	uint64_t address;
	uint32_t rkey;
};
const struct cluster_arena *cluster_arena(const struct cluster *cluster, unsigned gpu, bool source);

/* Sends request (taken). */
int cluster_send(struct cluster *cluster, unsigned gpu, json_t *request);
/* Waits for this event of this GPU; *out (may be NULL) is the caller's. -ETIMEDOUT, -EBADE. */
int cluster_await(struct cluster *cluster, unsigned gpu, const char *event, int timeout_ms,
		  json_t **out);
/* Sends request (taken) to all, then waits for event (NULL: none) of all. */
int cluster_all(struct cluster *cluster, json_t *request, const char *event, int timeout_ms);

/*
 * The next thing that a worker says unasked ("delivered", "round"), or 0 at until_ns: then *event
 * is NULL. *event is the caller's. -errno as cluster_await(); -EINTR: a signal is pending.
 */
int cluster_next(struct cluster *cluster, uint64_t until_ns, unsigned *gpu, json_t **event);
/* Forgets what was said unasked. */
void cluster_forget(struct cluster *cluster);

/*
 * Sleeps until the monotonic time at_ns while listening for trouble. -EINTR: a signal is pending
 * (interrupt.h).
 */
int cluster_sleep_until(struct cluster *cluster, uint64_t at_ns);

/*
 * Waits until libfare, asked inside the workers, says of all pairs what the topology says: usable
 * bandwidth of each plane within 2%. absent (NULL: none): whether the fabric is not to reach that
 * GPU. -ETIMEDOUT after saying which path differs.
 */
int cluster_await_paths(struct cluster *cluster, const struct topo *topo, const bool *absent,
			int timeout_ms);

#endif
