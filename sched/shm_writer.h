/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm_writer.h - the daemon's hand on the segment of shm_layout.h.
 *
 * Solely owns: every byte of RUN_DIR/paths.shm. In: path states from fared/publish.c. Out: the
 * mapped file. Thread: the loop's. Never blocks, never allocates after open.
 */
#ifndef SHM_WRITER_H
#define SHM_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shm_layout.h"

struct shm_writer;

/* A local GPU as configured; names and addresses are copied. */
struct shm_writer_gpu {
	uint8_t address[2][16];
	uint32_t n_planes;
	uint32_t n_sub_ports[FARE_MAX_PLANES];
	char dev[FARE_MAX_PLANES][FARE_MAX_SUB_PORTS][FARE_DEV_NAME_MAX];
};

/*
 * Opens RUN_DIR/paths.shm, adopting a compatible one whose local GPUs are the same, else replacing
 * it atomically and retiring the old one, of which the pairs of local GPUs that are the same stay.
 * *why_new (may be NULL): NULL where it was adopted, else why not, a constant. mode: e.g. 0640.
 * Returns 0 or -errno (-EACCES, -ENOSPC, -EINVAL for too many GPUs, ...). *out is NULL on error.
 */
int shm_writer_open(struct shm_writer **out, const char *run_dir, mode_t mode,
		    const struct shm_writer_gpu *gpus, uint32_t n_gpus, const char **why_new);
/*
 * Puts a new segment in place of the one that is open, with those of its pairs that are worth
 * keeping, and retires that: readers follow by themselves. Ids of pairs are others afterwards. For
 * a segment that is full of pairs of the past. 0, or -errno and nothing has changed.
 */
int shm_writer_renew(struct shm_writer *w,
		     bool (*keep)(void *arg, uint32_t local_gpu, const uint8_t peer[16]),
		     void *arg);
/* Unmaps; the file stays for readers and for the next daemon. NULL is fine. */
void shm_writer_close(struct shm_writer *w);

/* The id of (local_gpu, peer), created on first use. >= 0, or -ENOSPC, -EINVAL. */
int shm_writer_pair(struct shm_writer *w, uint32_t local_gpu, const uint8_t peer[16]);
/*
 * How many pairs the segment holds (adopted ones included), and which pair an id is. 0 or -ENOENT.
 */
uint32_t shm_writer_n_pairs(const struct shm_writer *w);
int shm_writer_pair_identity(const struct shm_writer *w, uint32_t pair, uint32_t *local_gpu,
			     uint8_t peer[16]);

/*
 * Publishes all n_planes paths of a pair at once; a no-op (returns 0) if nothing differs, else 1.
 * -EINVAL. live_sub_ports comes in as those to be kept out of use though they are up; it is
 * ignored if no other is left.
 */
int shm_writer_publish(struct shm_writer *w, uint32_t pair, const struct shm_path *paths,
		       uint32_t n_planes);
/* A local sub-port's live state. 1 if it changed, 0 if not, -EINVAL. */
int shm_writer_sub_port(struct shm_writer *w, uint32_t gpu, uint32_t plane, uint32_t sub_port,
			bool up, uint64_t speed_bps);
void shm_writer_heartbeat(struct shm_writer *w, uint64_t now_ns);

#endif
