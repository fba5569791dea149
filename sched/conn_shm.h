/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conn_shm.h - a client's own segment: its connection tables, QPs and paths as the daemon and the
 * operator see them.
 *
 * A memfd that the client makes, writes to as a whole, seals (CONN_SHM_SEALS) and passes over the
 * control socket. The client is the only writer, by the mapping that it made before; the daemon
 * maps it read-only and trusts no byte of it. After the
 * header: n_entries rows of struct conn_shm_entry, then n_qps of struct conn_shm_qp, then n_paths
 * of struct conn_shm_path. All rows are 64 bytes and begin with their own sequence number: even =
 * stable, odd = being written, 0 = never used. Fields that are _Atomic are outside of that guard.
 * used_* say below which row none was ever used, so that a reader need not touch the rest.
 */
#ifndef CONN_SHM_H
#define CONN_SHM_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>

#define CONN_SHM_MAGIC	   UINT64_C(0x46415245434f4e4e) /* "FARECONN" */
#define CONN_SHM_VERSION   3
#define CONN_SHM_MAX_BYTES (16u << 20)
/* no resizing, and no hole: what the daemon reads is there */
#define CONN_SHM_SEALS	   (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)
#define CONN_SHM_ROW_BYTES 64
#define CONN_SHM_MAX_PATHS 16384u /* what is beyond is not looked at */

struct conn_shm_header {
	uint64_t magic;
	uint32_t version;
	uint32_t n_entries, n_qps, n_paths;
	uint32_t pid;
	_Atomic uint32_t used_entries, used_qps, used_paths;
	char name[32];
	/* sprays and flow tables that are open: no row shows where they send */
	_Atomic uint32_t n_pickers;
	uint8_t pad[52];
};

/* A flow and the QP slot it is bound to. */
struct conn_shm_entry {
	_Atomic uint64_t seq;
	uint64_t key;
	uint8_t peer[16];
	uint32_t local_gpu;
	uint16_t plane;
	uint16_t slot_index;
	uint32_t in_use;
	uint32_t udp_source_port; /* 0: not known */
	uint64_t last_used_ns;
	uint64_t bytes;
};

enum conn_shm_qp_state {
	CONN_SHM_QP_UNUSED, /* the row is nobody's */
	CONN_SHM_QP_DOWN,   /* a slot of a group without a QP now */
	CONN_SHM_QP_CONNECTING,
	CONN_SHM_QP_UP,
	CONN_SHM_QP_RESETTING, /* in error, until the peer's is, too */
	CONN_SHM_QP_STATES,
};

/* A QP slot of a group. */
struct conn_shm_qp {
	_Atomic uint64_t seq;
	uint8_t peer[16];
	uint32_t local_gpu;
	uint32_t group;		  /* its number within the client */
	uint16_t plane;		  /* UINT16_MAX: the kernel chooses */
	uint16_t index;		  /* within the plane */
	uint16_t udp_source_port; /* 0: none */
	uint8_t local_sub_port;
	int8_t remote_sub_port; /* -1: not known */
	uint32_t qpn;
	uint16_t state;		/* enum conn_shm_qp_state */
	uint16_t error;		/* errno: why it is not up; 0: nothing failed */
	uint64_t since_ns;	/* of the state */
	_Atomic uint64_t bytes; /* payload acknowledged since the group was opened */
};

/*
 * A path that a group uses: when data was last posted on it, and last acknowledged.
 * CLOCK_MONOTONIC; 0: never.
 */
struct conn_shm_path {
	_Atomic uint64_t seq;
	uint8_t peer[16];
	uint32_t local_gpu;
	uint16_t plane;
	uint16_t in_use;
	_Atomic uint64_t posted_ns;
	_Atomic uint64_t acked_ns;
	uint8_t pad[16];
};

_Static_assert(sizeof(struct conn_shm_header) == 128, "layout");
_Static_assert(sizeof(struct conn_shm_entry) == CONN_SHM_ROW_BYTES, "layout");
_Static_assert(sizeof(struct conn_shm_qp) == CONN_SHM_ROW_BYTES, "layout");
_Static_assert(sizeof(struct conn_shm_path) == CONN_SHM_ROW_BYTES, "layout");

/* The writer's half of the guard: write_end(seq, write_begin(seq)) around the change of a row. */
static inline uint64_t conn_shm_write_begin(_Atomic uint64_t *seq)
{
	uint64_t odd = atomic_load_explicit(seq, memory_order_relaxed) | 1;

	atomic_store_explicit(seq, odd, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	return odd;
}

static inline void conn_shm_write_end(_Atomic uint64_t *seq, uint64_t odd)
{
	atomic_store_explicit(seq, odd + 1, memory_order_release);
}

#endif
