/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm_sink.h - the sink that is shared memory.
 *
 * Solely owns: the segment's writer, and the mapping of path-table pairs to the segment's. In: the
 * pairs that publish.h hands out; at the start, what a former daemon published. Out: shm_writer;
 * path_table_adopt(). Thread: the loop's.
 */
#ifndef SHM_SINK_H
#define SHM_SINK_H

#include <sys/types.h>

#include "publish.h"
#include "sink.h"

struct shm_sink;
struct shm_writer;

/* As publish_create(). */
int shm_sink_create(struct shm_sink **out, const struct config *config, struct path_table *table,
		    mode_t mode, uint64_t now_ns);
void shm_sink_destroy(struct shm_sink *s);
/* Borrows s. */
struct sink shm_sink_as_sink(struct shm_sink *s);
/* For what no other sink has: the heartbeat. */
struct shm_writer *shm_sink_writer(struct shm_sink *s);
void shm_sink_stats(const struct shm_sink *s, struct publish_stats *out);

#endif
