/* flows.c - see flows.h */
#include "flows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "conn_shm.h"

#define SEALS_NEEDED (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define TRIES	     4

struct client {
	bool used;
	const void *map;
	size_t size;
	uint32_t n_entries; /* as checked against size; the header's own is not looked at again */
	pid_t pid;
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

static int refuse(int rc, const char *text, char *why, size_t why_size)
{
	snprintf(why, why_size, "%s", text);
	return rc;
}

static int check_descriptor(int fd, struct stat *st, char *why, size_t why_size)
{
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS_NEEDED) != SEALS_NEEDED)
		return refuse(-EPERM,
			      "not a memfd sealed with F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_SEAL",
			      why, why_size);
	if (fstat(fd, st))
		return refuse(-errno, "its size cannot be read", why, why_size);
	if (st->st_size < (off_t)sizeof(struct conn_shm_header))
		return refuse(-EBADMSG, "smaller than its header", why, why_size);
	if (st->st_size > (off_t)CONN_SHM_MAX_BYTES)
		return refuse(-EFBIG, "larger than 16 MiB", why, why_size);
	return 0;
}

/* header: a private copy, so that what is checked is what is used. */
static int check_header(const struct conn_shm_header *header, size_t size, char *why,
			size_t why_size)
{
	if (header->magic != CONN_SHM_MAGIC)
		return refuse(-EBADMSG, "offset 0: not a connection table (magic)", why, why_size);
	if (header->version != CONN_SHM_VERSION)
		return refuse(-EPROTONOSUPPORT, "offset 8: a version this daemon does not know",
			      why, why_size);
	if (header->n_entries > (size - sizeof(*header)) / sizeof(struct conn_shm_entry))
		return refuse(-EBADMSG, "offset 12: more entries than the segment holds", why,
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

int flows_attach(struct flows *f, int fd, const char *name, pid_t pid, char *why, size_t why_size)
{
	struct client *client = NULL;
	struct conn_shm_header header;
	struct stat st;
	void *map;
	int id, rc;

	for (id = 0; id < FLOWS_MAX_CLIENTS && !client; id++)
		if (!f->clients[id].used)
			client = &f->clients[id];
	if (!client)
		return refuse(-ENOSPC, "64 applications are attached already", why, why_size);
	rc = check_descriptor(fd, &st, why, why_size);
	if (rc)
		return rc;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return refuse(-errno, "it cannot be mapped", why, why_size);
	memcpy(&header, map, sizeof(header));
	rc = check_header(&header, (size_t)st.st_size, why, why_size);
	if (rc) {
		munmap(map, (size_t)st.st_size);
		return rc;
	}
	*client = (struct client){.used = true,
				  .map = map,
				  .size = (size_t)st.st_size,
				  .n_entries = header.n_entries,
				  .pid = pid};
	set_name(client, name, &header);
	return id - 1;
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

/* 1: copied; 0: never used; -1: rewritten at each of TRIES looks. */
static int read_entry(const struct client *c, uint32_t i, struct conn_shm_entry *out)
{
	struct conn_shm_entry *e =
		(struct conn_shm_entry *)((char *)c->map + sizeof(struct conn_shm_header)) + i;

	for (int t = 0; t < TRIES; t++) {
		uint64_t seq = atomic_load_explicit(&e->seq, memory_order_acquire);

		if (seq == 0)
			return 0;
		if (seq & 1)
			continue;
		memcpy((char *)out + sizeof(out->seq), (const char *)e + sizeof(e->seq),
		       sizeof(*out) - sizeof(out->seq));
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&e->seq, memory_order_relaxed) == seq)
			return 1;
	}
	return -1;
}

static void tell(const struct client *c, uint32_t id, const struct conn_shm_entry *e,
		 void (*on_flow)(void *arg, const struct flow *flow), void *arg)
{
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
	on_flow(arg, &flow);
}

unsigned flows_read(const struct flows *f, uint64_t *cursor, unsigned max, bool *done,
		    unsigned *torn, void (*on_flow)(void *arg, const struct flow *flow), void *arg)
{
	uint64_t client = *cursor >> 32, entry = *cursor & UINT32_MAX;
	unsigned told = 0, looked = 0;

	*torn = 0;
	for (; client < FLOWS_MAX_CLIENTS; client++, entry = 0) {
		const struct client *c = &f->clients[client];

		for (; c->used && entry < c->n_entries; entry++) {
			struct conn_shm_entry copy;
			int rc;

			if (told == max || looked++ == FLOWS_SCAN_MAX)
				goto out;
			rc = read_entry(c, (uint32_t)entry, &copy);
			*torn += rc < 0;
			if (rc <= 0)
				continue;
			tell(c, (uint32_t)client, &copy, on_flow, arg);
			told++;
		}
	}
out:
	*done = client >= FLOWS_MAX_CLIENTS;
	*cursor = client << 32 | entry;
	return told;
}
