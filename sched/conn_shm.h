/*
 * conn_shm.h - a client's own segment: its connection table as the daemon and the operator see it.
 *
 * A memfd that the client makes, seals against resizing and passes over the control socket. The client is the
 * only writer; the daemon maps it read-only and trusts no byte of it. An entry is guarded by its own sequence
 * number: even = stable, 0 = never used.
 */
#ifndef CONN_SHM_H
#define CONN_SHM_H

#include <stdatomic.h>
#include <stdint.h>

#define CONN_SHM_MAGIC	   UINT64_C(0x46415245434f4e4e) /* "FARECONN" */
#define CONN_SHM_VERSION   1
#define CONN_SHM_MAX_BYTES (16u << 20)

struct conn_shm_header {
	uint64_t magic;
	uint32_t version;
	uint32_t n_entries;
	uint32_t pid;
	uint32_t pad;
	char name[32];
};

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

_Static_assert(sizeof(struct conn_shm_header) == 56, "layout");
_Static_assert(sizeof(struct conn_shm_entry) == 64, "layout");

#endif
