/* links: fared_core; parses: fared/flows.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A segment that an application passes to fared (sched/conn_shm.h), and that it writes over while
 * it is read: refused with a reason, or its rows are within bounds. The first byte says how many of
 * the last bytes are written over its beginning once it is attached.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conn_shm.h"
#include "fare_limits.h"
#include "flows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS_AT_ONCE 3

static void check_name(const char *name)
{
	if (!name || strlen(name) > 31)
		abort();
	for (; *name; name++)
		if (*name < ' ' || *name > '~')
			abort();
}

static void on_flow(void *arg, const struct flow *flow)
{
	++*(size_t *)arg;
	check_name(flow->name);
}

static void on_qp(void *arg, const struct flow_qp *qp)
{
	++*(size_t *)arg;
	check_name(qp->name);
	if (!qp->state || !*qp->state || qp->plane < -1 || qp->plane >= UINT16_MAX ||
	    qp->remote_sub_port < -1)
		abort();
}

static void on_path(void *arg, const struct flow_path *path)
{
	++*(size_t *)arg;
	if (path->plane >= FARE_MAX_PLANES)
		abort();
}

/* All rows of all tables, a few at a time: no more than there is room for, and it ends. */
static void read_all(const struct flows *flows, size_t size)
{
	size_t most = size / CONN_SHM_ROW_BYTES, n, told;
	uint64_t cursor;
	unsigned torn;
	bool done;

	for (int table = 0; table < 3; table++) {
		n = 0;
		cursor = 0;
		done = false;
		for (size_t calls = 0; !done; calls++) {
			told = n;
			if (table == 0)
				flows_read(flows, &cursor, ROWS_AT_ONCE, &done, &torn, on_flow, &n);
			else if (table == 1)
				flows_read_qps(flows, &cursor, ROWS_AT_ONCE, &done, &torn, on_qp,
					       &n);
			else
				flows_read_paths(flows, &cursor, ROWS_AT_ONCE, &done, &torn,
						 on_path, &n);
			if (n - told > ROWS_AT_ONCE || n > most || calls > most)
				abort();
		}
	}
}

static int segment(const uint8_t *data, size_t size, void **map)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	*map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*map == MAP_FAILED || fcntl(fd, F_ADD_SEALS, CONN_SHM_SEALS))
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n_over, n;
	char why[200] = "";
	struct flows *flows;
	void *map;
	int fd, id;

	if (size < 2)
		return 0;
	n_over = data[0] < size - 1 ? data[0] : size - 2;
	n = size - 1 - n_over;
	if (flows_create(&flows))
		abort();
	fd = segment(data + 1, n, &map);
	id = flows_attach(flows, fd, "", 1, 1000, why, sizeof(why));
	close(fd);
	if ((id < 0) != (why[0] != '\0') || flows_n_clients(flows) != (id >= 0))
		abort();
	if (id >= 0) {
		read_all(flows, n);
		memcpy(map, data + 1 + n, n_over < n ? n_over : n);
		flows_have_pickers(flows);
		read_all(flows, n);
		flows_detach(flows, id);
	}
	munmap(map, n);
	flows_destroy(flows);
	return 0;
}
