/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flows.h - the connection tables, QPs and paths that applications let the daemon see.
 *
 * Solely owns: the read-only mappings of clients' segments (sched/conn_shm.h). In: memfds from the
 * control socket. Out: rows, one consistent copy each. Thread: the loop's. A client writes its
 * segment at any time and may write anything: no byte read from it is used as a size, an index or a
 * pointer without a check, sizes are taken from the descriptor when it is attached, and what makes
 * that safe is demanded: seals, ordinary pages, no holes.
 */
#ifndef FLOWS_H
#define FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FLOWS_MAX_CLIENTS 64
#define FLOWS_PER_USER	  48
#define FLOWS_UNBOUNDED	  ((uid_t)-1)
#define FLOWS_SCAN_MAX	  65536 /* rows looked at per call */

struct flows;

struct flow {
	uint32_t client; /* as flows_attach() returned */
	const char *name;
	pid_t pid;
	uint64_t key;
	uint8_t peer[16];
	uint32_t local_gpu;
	uint16_t plane;
	uint16_t slot_index;
	bool in_use;
	uint32_t udp_source_port;
	uint64_t last_used_ns;
	uint64_t bytes;
};

/* A QP slot of an application's group. */
struct flow_qp {
	uint32_t client;
	const char *name;
	pid_t pid;
	uint32_t group;
	uint8_t peer[16];
	uint32_t local_gpu;
	int plane; /* -1: the kernel chooses */
	uint16_t index;
	uint16_t udp_source_port; /* 0: none */
	uint8_t local_sub_port;
	int remote_sub_port; /* -1: not known */
	uint32_t qpn;
	const char *state;
	int error; /* errno: why it is not up; 0: nothing failed */
	uint64_t since_ns;
	uint64_t bytes;
};

/* A path that an application's group uses; several groups, and clients, may use the same one. */
struct flow_path {
	uint8_t peer[16];
	uint32_t local_gpu;
	uint16_t plane;
	/* CLOCK_MONOTONIC; 0: never. What a client says: it may be in the future */
	uint64_t posted_ns;
	uint64_t acked_ns;
};

int flows_create(struct flows **out);
void flows_destroy(struct flows *f);

/*
 * Maps a client's segment. Borrows fd. name ("" : the one in the segment's header) is cleaned and
 * cut to 31 characters. uid: its user, who may have FLOWS_PER_USER of them; FLOWS_UNBOUNDED: one
 * without that limit. Returns the client's id (>= 0), or -errno with why in words: -ENOSPC
 * (too many clients, in all or of that user), -EPERM (seals, hugetlb), -EFBIG, -EBADMSG (header,
 * holes), ...
 */
int flows_attach(struct flows *f, int fd, const char *name, pid_t pid, uid_t uid, char *why,
		 size_t why_size);
void flows_detach(struct flows *f, int client);
unsigned flows_n_clients(const struct flows *f);
/* Whether some client picks planes for what no row tells of (conn_shm.h). */
bool flows_have_pickers(const struct flows *f);

/*
 * Calls on_flow for up to max entries that have ever been used, from *cursor (0: the first) on, and
 * moves *cursor. Returns how many; *done tells whether the last has been reached. An entry that its
 * client rewrites every time it is looked at is left out and counted in *torn.
 */
unsigned flows_read(const struct flows *f, uint64_t *cursor, unsigned max, bool *done,
		    unsigned *torn, void (*on_flow)(void *arg, const struct flow *flow), void *arg);
/* The same for QP slots of groups, ... */
unsigned flows_read_qps(const struct flows *f, uint64_t *cursor, unsigned max, bool *done,
			unsigned *torn, void (*on_qp)(void *arg, const struct flow_qp *qp),
			void *arg);
/* ... and for the paths that groups use: of each client its first CONN_SHM_MAX_PATHS rows. */
unsigned flows_read_paths(const struct flows *f, uint64_t *cursor, unsigned max, bool *done,
			  unsigned *torn, void (*on_path)(void *arg, const struct flow_path *path),
			  void *arg);

#endif
