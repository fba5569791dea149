/* SPDX-License-Identifier: BSD-2-Clause */
#include "conn_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ENTRIES 131072u
#define QPS	32768u
#define PATHS	CONN_SHM_MAX_PATHS
#define ROWS	(ENTRIES + QPS + PATHS)
#define UNIT	8u /* rows are lent in multiples of it */
#define BYTES	(sizeof(struct conn_shm_header) + (size_t)ROWS * CONN_SHM_ROW_BYTES)

_Static_assert(BYTES <= CONN_SHM_MAX_BYTES, "the daemon would refuse it");

struct conn_segment {
	int fd;
	struct conn_shm_header *header;
	uint8_t lent[ROWS / UNIT];
};

static void conn_segment_describe(struct conn_shm_header *header)
{
	header->magic = CONN_SHM_MAGIC;
	header->version = CONN_SHM_VERSION;
	header->n_entries = ENTRIES;
	header->n_qps = QPS;
	header->n_paths = PATHS;
	header->pid = (uint32_t)getpid();
	snprintf(header->name, sizeof(header->name), "%s", program_invocation_short_name);
}

int conn_segment_create(struct conn_segment **out)
{
	struct conn_segment *segment = calloc(1, sizeof(*segment));
	void *map = MAP_FAILED;
	int err;

	*out = NULL;
	if (!segment)
		return -ENOMEM;
	segment->fd = memfd_create("fare-connections", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (segment->fd >= 0 && !ftruncate(segment->fd, (off_t)BYTES))
		map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, 0);
	if (map != MAP_FAILED)
		segment->header = map;
	if (map == MAP_FAILED || fcntl(segment->fd, F_ADD_SEALS, CONN_SHM_SEALS)) {
		err = -errno;
		conn_segment_destroy(segment);
		return err;
	}
	memset(map, 0, BYTES); /* the daemon takes no holes */
	conn_segment_describe(segment->header);
	*out = segment;
	return 0;
}

void conn_segment_destroy(struct conn_segment *segment)
{
	if (!segment)
		return;
	if (segment->header)
		munmap(segment->header, BYTES);
	if (segment->fd >= 0)
		close(segment->fd);
	free(segment);
}

int conn_segment_fd(const struct conn_segment *segment)
{
	return segment->fd;
}

static char *row(const struct conn_segment *segment, uint32_t i)
{
	return (char *)(segment->header + 1) + (size_t)i * CONN_SHM_ROW_BYTES;
}

/* First fit among rows [first, first + total); *used follows the highest row ever lent. */
static void *lend(struct conn_segment *segment, uint32_t first, uint32_t total,
		  _Atomic uint32_t *used, uint32_t n)
{
	uint32_t units, run = 0;

	if (n > total)
		return NULL;
	units = (n + UNIT - 1) / UNIT;
	for (uint32_t u = first / UNIT; n && u < (first + total) / UNIT; u++) {
		uint32_t begin = u + 1 - units, end = (u + 1) * UNIT - first;

		run = segment->lent[u] ? 0 : run + 1;
		if (run < units)
			continue;
		memset(&segment->lent[begin], 1, units);
		if (end > atomic_load_explicit(used, memory_order_relaxed))
			atomic_store_explicit(used, end, memory_order_relaxed);
		return row(segment, begin * UNIT);
	}
	return NULL;
}

struct conn_shm_entry *conn_segment_lend_entries(struct conn_segment *segment, uint32_t n)
{
	return lend(segment, 0, ENTRIES, &segment->header->used_entries, n);
}

struct conn_shm_qp *conn_segment_lend_qps(struct conn_segment *segment, uint32_t n)
{
	return lend(segment, ENTRIES, QPS, &segment->header->used_qps, n);
}

struct conn_shm_path *conn_segment_lend_paths(struct conn_segment *segment, uint32_t n)
{
	return lend(segment, ENTRIES + QPS, PATHS, &segment->header->used_paths, n);
}

void conn_segment_pickers(struct conn_segment *segment, int by)
{
	atomic_fetch_add_explicit(&segment->header->n_pickers, (uint32_t)by, memory_order_relaxed);
}

void conn_segment_return(struct conn_segment *segment, void *rows, uint32_t n)
{
	if (rows)
		memset(&segment->lent[(size_t)((char *)rows - row(segment, 0)) /
				      CONN_SHM_ROW_BYTES / UNIT],
		       0, (n + UNIT - 1) / UNIT);
}
