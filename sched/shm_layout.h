/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm_layout.h - the daemon's shared-memory segment, byte for byte.
 *
 * One file (RUN_DIR/paths.shm), written by fared alone, mapped read-only by everybody else. It
 * outlives the daemon: readers keep the last published state, and a restarted daemon adopts the
 * file if magic, version and size agree, else it marks the old one retired and puts a new one in
 * its place.
 *
 * Publication of a pair: two copies and one 8-byte word. The writer fills the copy that is not in
 * force, then stores the word (generation << 1 | copy) with release order. A writer killed between
 * any two instructions leaves the copy in force whole. A reader loads the word (acquire), copies,
 * loads the word again, and retries a bounded number of times if it moved: the copy in force is
 * never written, the other one may be at any time. The words of all pairs stand side by side: they
 * are what every pick looks at, so that a sender to thousands of destinations finds eight of them
 * in each cache line, and all of them in 32 KiB.
 *
 * Everything a reader takes from here is bounds-checked first: it trusts the file no more than its
 * owner. Integers are host order: the segment never leaves the machine.
 */
#ifndef SHM_LAYOUT_H
#define SHM_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "fare_limits.h"

#define SHM_MAGIC   UINT64_C(0x4641524550415448) /* "FAREPATH" */
#define SHM_VERSION 2
#define SHM_NAME    "paths.shm" /* below the run directory */

/* A local sub-port. dev is written once, before state; the rest may change at any time. */
struct shm_sub_port {
	char dev[FARE_DEV_NAME_MAX]; /* NUL-terminated */
	_Atomic uint64_t speed_bps;  /* live: 0 when down */
	_Atomic uint32_t up;	     /* 0 or 1 */
	uint32_t pad;
};

/* A local GPU: its addresses, and its sub-ports toward each plane. */
struct shm_local_gpu {
	uint8_t address[2][16]; /* [0] IPv4 as ::ffff:a.b.c.d, [1] IPv6; all zero if none */
	uint32_t n_planes;
	uint32_t n_sub_ports[FARE_MAX_PLANES];
	uint32_t pad;
	struct shm_sub_port sub_ports[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS];
};

/* One path of a pair, as published. */
struct shm_path {
	uint64_t usable_bps;	 /* 0 unless every source agrees that the path works */
	uint32_t verdict;	 /* enum fare_verdict */
	uint16_t live_sub_ports; /* bit s: local sub-port s is up, and not kept out of use */
	/*
	 * Payload bytes of a packet that passes (path_mtu.h), if that is less than what this
	 * server's devices carry; 0: not less, or not known. (It was the upper half of
	 * live_sub_ports and always 0: a reader or writer of before gets along.)
	 */
	uint16_t path_mtu;
};

/* (local GPU, peer). The identity is written once; the pair's word says which copy is in force. */
struct shm_pair {
	uint8_t peer[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t local_gpu;
	uint32_t n_planes;
	struct shm_path copies[2][FARE_MAX_PLANES];
};

struct shm_header {
	uint64_t magic;
	uint32_t version;
	uint32_t size_bytes;	       /* of the whole segment */
	_Atomic uint64_t incarnation;  /* of the daemon that writes: changes at each start */
	_Atomic uint64_t heartbeat_ns; /* CLOCK_MONOTONIC of the daemon's last loop */
	_Atomic uint64_t generation;   /* counts publications of anything below */
	_Atomic uint32_t retired; /* 1: a newer file has taken this one's place; attach again */
	_Atomic uint32_t n_local_gpus;
	/* pairs [0, n_pairs) are valid; they are never removed, only unusable */
	_Atomic uint32_t n_pairs;
	uint32_t pad;
	/* generation << 1 | copy; 0: never published */
	_Alignas(64) _Atomic uint64_t words[FARE_MAX_PAIRS];
	struct shm_local_gpu local_gpus[FARE_MAX_LOCAL_GPUS];
	struct shm_pair pairs[FARE_MAX_PAIRS];
	/* older libraries read where source ports lead here: all zero, nothing is known */
	uint8_t reserved[FARE_MAX_PAIRS][FARE_MAX_PLANES][72];
};

_Static_assert(sizeof(_Atomic uint64_t) == 8 && ATOMIC_LLONG_LOCK_FREE == 2,
	       "lock-free 64-bit atomics");
_Static_assert(FARE_MAX_SUB_PORTS <= 16, "live_sub_ports");
_Static_assert(sizeof(struct shm_path) == 16, "layout");
_Static_assert(__builtin_offsetof(struct shm_header, words) == 64, "layout");
_Static_assert(sizeof(struct shm_pair) == 24 + 2 * 16 * FARE_MAX_PLANES, "layout");

#endif
