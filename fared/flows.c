/* SPDX-License-Identifier: BSD-2-Clause */
#include "flows.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "conn_shm.h"
#include "fare_limits.h"

#define TRIES 4

enum table { ENTRIES, QPS, PATHS, TABLES };

struct client {
	bool used;
	const struct conn_shm_header *map;
	size_t size;
	/* as checked against size; the header's own are not looked at again */
	uint32_t n_rows[TABLES];
	pid_t pid;
	uid_t uid;
	char name[32];
};

struct flows {
	struct client clients[FLOWS_MAX_CLIENTS];
};

int flows_create(struct flows **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void flows_destroy(struct flows *f)
{
	if (!f)
		return;
	for (int i = 0; i < FLOWS_MAX_CLIENTS; i++)
		flows_detach(f, i);
	free(f);
}

static int flows_refuse(int rc, const char *text, char *why, size_t why_size)
{
	snprintf(why, why_size, "%s", text);
	return rc;
}

/*
 * Marks pages dirty that were only ever read. Short of memory, the kernel swaps dirty ones, and
 * frees the others: that leaves a hole.
 */
static int keep_pages(int fd, off_t size)
{
	int rc;

	do
		rc = fallocate(fd, 0, 0, size);
	while (rc && errno == EINTR);
	return rc;
}

/*
 * Reading it later must neither fail (SIGBUS) nor cost the daemon memory. So it is sealed against
 * resizing, and of tmpfs: a hugetlb page cannot be had where their pool is empty. And it has no
 * holes, which a read would fill at the reader's cost. F_SEAL_FUTURE_WRITE keeps the client from
 * punching any, and leaves it the mapping that it has. The seals are checked first, because a call
 * on a file that is no memfd might block.
 */
static int check_descriptor(int fd, struct stat *st, char *why, size_t why_size)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;

	if (seals < 0 || (seals & CONN_SHM_SEALS) != CONN_SHM_SEALS)
		return flows_refuse(-EPERM,
				    "not a memfd sealed with F_SEAL_SHRINK, F_SEAL_GROW, "
				    "F_SEAL_FUTURE_WRITE and F_SEAL_SEAL",
				    why, why_size);
	if (fstatfs(fd, &fs) || fs.f_type != TMPFS_MAGIC)
		return flows_refuse(-EPERM, "not of ordinary pages (a hugetlb file)", why,
				    why_size);
	if (fstat(fd, st))
		return flows_refuse(-errno, "its size cannot be read", why, why_size);
	if (st->st_size < (off_t)sizeof(struct conn_shm_header))
		return flows_refuse(-EBADMSG, "smaller than its header", why, why_size);
	if (st->st_size > (off_t)CONN_SHM_MAX_BYTES)
		return flows_refuse(-EFBIG, "larger than 16 MiB", why, why_size);
	if (lseek(fd, 0, SEEK_HOLE) != st->st_size)
		return flows_refuse(-EBADMSG, "it has holes: write to all of its pages first", why,
				    why_size);
	if (keep_pages(fd, st->st_size))
		return flows_refuse(-errno, "its pages cannot be kept: is it open for writing?",
				    why, why_size);
	return 0;
}

/* header: a private copy, so that what is checked is what is used. */
static int check_header(const struct conn_shm_header *header, size_t size, char *why,
			size_t why_size)
{
	if (header->magic != CONN_SHM_MAGIC)
		return flows_refuse(-EBADMSG, "offset 0: not a connection table (magic)", why,
				    why_size);
	if (header->version != CONN_SHM_VERSION)
		return flows_refuse(-EPROTONOSUPPORT,
				    "offset 8: a version this daemon does not know", why, why_size);
	if ((uint64_t)header->n_entries + header->n_qps + header->n_paths >
	    (size - sizeof(*header)) / CONN_SHM_ROW_BYTES)
		return flows_refuse(-EBADMSG, "offset 12: more rows than the segment holds", why,
				    why_size);
	return 0;
}

static void set_name(struct client *client, const char *name, const struct conn_shm_header *header)
{
	if (*name)
		snprintf(client->name, sizeof(client->name), "%s", name);
	else
		snprintf(client->name, sizeof(client->name), "%.*s", (int)sizeof(header->name) - 1,
			 header->name);
	for (char *c = client->name; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* A free place for one of that user, or NULL and why not. */
static struct client *find_place(struct flows *f, uid_t uid, const char **why)
{
	struct client *place = NULL;
	unsigned n_own = 0;

	for (int id = 0; id < FLOWS_MAX_CLIENTS; id++) {
		struct client *c = &f->clients[id];

		n_own += c->used && uid != FLOWS_UNBOUNDED && c->uid == uid;
		if (!c->used && !place)
			place = c;
	}
	*why = "64 applications are attached already";
	if (n_own < FLOWS_PER_USER)
		return place;
	*why = "48 applications of this user are attached already";
	return NULL;
}

int flows_attach(struct flows *f, int fd, const char *name, pid_t pid, uid_t uid, char *why,
		 size_t why_size)
{
	const char *no_place;
	struct client *client = find_place(f, uid, &no_place);
	struct conn_shm_header header;
	struct stat st;
	void *map;
	int rc;

	if (!client)
		return flows_refuse(-ENOSPC, no_place, why, why_size);
	rc = check_descriptor(fd, &st, why, why_size);
	if (rc)
		return rc;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return flows_refuse(-errno, "it cannot be mapped", why, why_size);
	memcpy(&header, map, sizeof(header));
	rc = check_header(&header, (size_t)st.st_size, why, why_size);
	if (rc) {
		munmap(map, (size_t)st.st_size);
		return rc;
	}
	*client = (struct client){.used = true,
				  .map = map,
				  .size = (size_t)st.st_size,
				  .n_rows = {header.n_entries, header.n_qps,
					     smaller(header.n_paths, CONN_SHM_MAX_PATHS)},
				  .pid = pid,
				  .uid = uid};
	set_name(client, name, &header);
	return (int)(client - f->clients);
}

void flows_detach(struct flows *f, int client)
{
	struct client *c = &f->clients[client];

	if (!c->used)
		return;
	munmap((void *)c->map, c->size);
	*c = (struct client){0};
}

unsigned flows_n_clients(const struct flows *f)
{
	unsigned n = 0;

	for (int i = 0; i < FLOWS_MAX_CLIENTS; i++)
		n += f->clients[i].used;
	return n;
}

bool flows_have_pickers(const struct flows *f)
{
	for (int i = 0; i < FLOWS_MAX_CLIENTS; i++)
		if (f->clients[i].used &&
		    atomic_load_explicit(&f->clients[i].map->n_pickers, memory_order_relaxed))
			return true;
	return false;
}

/* Rows that may ever have been used: what the client says now, within what it may. */
static uint32_t used_rows(const struct client *c, enum table table)
{
	const _Atomic uint32_t *used[TABLES] = {&c->map->used_entries, &c->map->used_qps,
						&c->map->used_paths};
	uint32_t n = atomic_load_explicit(used[table], memory_order_relaxed);

	return n < c->n_rows[table] ? n : c->n_rows[table];
}

union row {
	struct conn_shm_entry entry;
	struct conn_shm_qp qp;
	struct conn_shm_path path;
};

/* 1: copied; 0: never used; -1: rewritten at each of TRIES looks. */
static int read_row(const struct client *c, enum table table, uint32_t i, union row *out)
{
	const char *row = (const char *)(c->map + 1);
	const _Atomic uint64_t *guard;

	for (int t = 0; t < (int)table; t++)
		row += (size_t)c->n_rows[t] * CONN_SHM_ROW_BYTES;
	row += (size_t)i * CONN_SHM_ROW_BYTES;
	guard = (const _Atomic uint64_t *)(const void *)row;
	for (int t = 0; t < TRIES; t++) {
		uint64_t seq = atomic_load_explicit(guard, memory_order_acquire);

		if (seq == 0)
			return 0;
		if (seq & 1)
			continue;
		memcpy((char *)out + sizeof(seq), row + sizeof(seq),
		       CONN_SHM_ROW_BYTES - sizeof(seq));
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(guard, memory_order_relaxed) == seq)
			return 1;
	}
	return -1;
}

/* What to do with a row: whether it counts. */
struct teller {
	bool (*handle)(const struct teller *to, const struct client *c, uint32_t id,
		       const union row *row);
	void (*on_flow)(void *arg, const struct flow *flow);
	void (*on_qp)(void *arg, const struct flow_qp *qp);
	void (*on_path)(void *arg, const struct flow_path *path);
	void *arg;
};

static unsigned walk(const struct flows *f, enum table table, uint64_t *cursor, unsigned max,
		     bool *done, unsigned *torn, const struct teller *to)
{
	uint64_t client = *cursor >> 32, i = *cursor & UINT32_MAX;
	unsigned handled = 0, n_read = 0;

	*torn = 0;
	for (; client < FLOWS_MAX_CLIENTS; client++, i = 0) {
		const struct client *c = &f->clients[client];

		for (; c->used && i < used_rows(c, table); i++) {
			union row copy;
			int rc;

			if (handled == max || n_read++ == FLOWS_SCAN_MAX)
				goto out;
			rc = read_row(c, table, (uint32_t)i, &copy);
			*torn += rc < 0;
			if (rc > 0)
				handled += to->handle(to, c, (uint32_t)client, &copy);
		}
	}
out:
	*done = client >= FLOWS_MAX_CLIENTS;
	*cursor = client << 32 | i;
	return handled;
}

static bool handle_flow(const struct teller *to, const struct client *c, uint32_t id,
			const union row *row)
{
	const struct conn_shm_entry *e = &row->entry;
	struct flow flow = {
		.client = id,
		.name = c->name,
		.pid = c->pid,
		.key = e->key,
		.local_gpu = e->local_gpu,
		.plane = e->plane,
		.slot_index = e->slot_index,
		.in_use = e->in_use != 0,
		.udp_source_port = e->udp_source_port,
		.last_used_ns = e->last_used_ns,
		.bytes = e->bytes,
	};

	memcpy(flow.peer, e->peer, sizeof(flow.peer));
	to->on_flow(to->arg, &flow);
	return true;
}

unsigned flows_read(const struct flows *f, uint64_t *cursor, unsigned max, bool *done,
		    unsigned *torn, void (*on_flow)(void *arg, const struct flow *flow), void *arg)
{
	const struct teller to = {.handle = handle_flow, .on_flow = on_flow, .arg = arg};

	return walk(f, ENTRIES, cursor, max, done, torn, &to);
}

static const char *state_name(uint32_t state)
{
	static const char *const names[CONN_SHM_QP_STATES] = {
		[CONN_SHM_QP_DOWN] = "down",
		[CONN_SHM_QP_CONNECTING] = "connecting",
		[CONN_SHM_QP_UP] = "up",
		[CONN_SHM_QP_RESETTING] = "resetting",
	};

	return state < CONN_SHM_QP_STATES && names[state] ? names[state] : "?";
}

static bool handle_qp(const struct teller *to, const struct client *c, uint32_t id,
		      const union row *row)
{
	const struct conn_shm_qp *q = &row->qp;
	struct flow_qp qp = {
		.client = id,
		.name = c->name,
		.pid = c->pid,
		.group = q->group,
		.local_gpu = q->local_gpu,
		.plane = q->plane == UINT16_MAX ? -1 : q->plane,
		.index = q->index,
		.udp_source_port = q->udp_source_port,
		.local_sub_port = q->local_sub_port,
		.remote_sub_port = q->remote_sub_port < 0 ? -1 : q->remote_sub_port,
		.qpn = q->qpn,
		.state = state_name(q->state),
		.error = q->error,
		.since_ns = q->since_ns,
		.bytes = q->bytes,
	};

	if (q->state == CONN_SHM_QP_UNUSED)
		return false;
	memcpy(qp.peer, q->peer, sizeof(qp.peer));
	to->on_qp(to->arg, &qp);
	return true;
}

unsigned flows_read_qps(const struct flows *f, uint64_t *cursor, unsigned max, bool *done,
			unsigned *torn, void (*on_qp)(void *arg, const struct flow_qp *qp),
			void *arg)
{
	const struct teller to = {.handle = handle_qp, .on_qp = on_qp, .arg = arg};

	return walk(f, QPS, cursor, max, done, torn, &to);
}

static bool handle_path(const struct teller *to, const struct client *c, uint32_t id,
			const union row *row)
{
	struct flow_path path = {
		.local_gpu = row->path.local_gpu,
		.plane = row->path.plane,
		.posted_ns = row->path.posted_ns,
		.acked_ns = row->path.acked_ns,
	};

	(void)c;
	(void)id;
	if (!row->path.in_use || path.plane >= FARE_MAX_PLANES)
		return false;
	memcpy(path.peer, row->path.peer, sizeof(path.peer));
	to->on_path(to->arg, &path);
	return true;
}

unsigned flows_read_paths(const struct flows *f, uint64_t *cursor, unsigned max, bool *done,
			  unsigned *torn, void (*on_path)(void *arg, const struct flow_path *path),
			  void *arg)
{
	const struct teller to = {.handle = handle_path, .on_path = on_path, .arg = arg};

	return walk(f, PATHS, cursor, max, done, torn, &to);
}
