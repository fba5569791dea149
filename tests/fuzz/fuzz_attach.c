/* links: sched; parses: sched/attach.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's segment (sched/shm_layout.h) while somebody writes over it: what libfare reads stays
 * within bounds, and when the segment is right again, libfare says what is right. An input is a row
 * of steps, each a byte: what an application does, or a word that changes (12 bytes more).
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach.h"
#include "shm_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PEERS	3u /* the last is not known to the daemon */
#define PLANES	4u
#define STEPS	32
#define TOUCHED 5 /* places where words change */

static char dir[] = "/tmp/fare-fuzz-XXXXXX";
static struct shm_header *map, *good;
static struct fare *fare;
static uint64_t now_ns;

/* Where in the segment something is that anybody looks at. */
static struct place {
	size_t from, bytes;
} places[TOUCHED] = {
	{0, offsetof(struct shm_header, words)},
	{offsetof(struct shm_header, words), PEERS * 8},
	{offsetof(struct shm_header, local_gpus), 2 * sizeof(struct shm_local_gpu)},
	{offsetof(struct shm_header, pairs), PEERS * sizeof(struct shm_pair)},
	{0, offsetof(struct shm_header, words)},
};

static struct in6_addr address(unsigned host)
{
	struct in6_addr a = {.s6_addr = {[10] = 0xff, 0xff, 198, 19, 0}};

	a.s6_addr[15] = (uint8_t)(host + 1);
	return a;
}

static void clean_up(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, SHM_NAME);
	unlink(path);
	rmdir(dir);
}

static void publish(struct shm_writer *w)
{
	for (unsigned i = 0; i + 1 < PEERS; i++) {
		struct in6_addr peer = address(i);
		struct shm_path paths[PLANES];
		int pair = shm_writer_pair(w, 0, peer.s6_addr);

		for (unsigned p = 0; p < PLANES; p++)
			paths[p] = (struct shm_path){100 * (p + 1), FARE_VERDICT_OK, 0, 0};
		if (pair < 0 || shm_writer_publish(w, (uint32_t)pair, paths, PLANES) < 0)
			abort();
	}
}

static void set_up(void)
{
	struct shm_writer_gpu gpu = {.n_planes = PLANES};
	struct in6_addr self = address(99);
	struct shm_writer *w;
	char path[64];
	int fd;

	if (!mkdtemp(dir))
		abort();
	atexit(clean_up);
	memcpy(gpu.address[0], &self, 16);
	for (unsigned p = 0; p < PLANES; p++) {
		gpu.n_sub_ports[p] = 2;
		snprintf(gpu.dev[p][0], FARE_DEV_NAME_MAX, "p%us0", p % 16);
		snprintf(gpu.dev[p][1], FARE_DEV_NAME_MAX, "p%us1", p % 16);
	}
	if (shm_writer_open(&w, dir, 0600, &gpu, 1, NULL))
		abort();
	for (unsigned p = 0; p < PLANES; p++)
		for (unsigned s = 0; s < 2; s++)
			shm_writer_sub_port(w, 0, p, s, true, 100);
	publish(w);
	shm_writer_close(w);
	snprintf(path, sizeof(path), "%s/%s", dir, SHM_NAME);
	fd = open(path, O_RDWR | O_CLOEXEC);
	map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	good = malloc(sizeof(*good));
	if (fd < 0 || map == MAP_FAILED || !good || fare_attach(&fare, dir))
		abort();
	close(fd);
	memcpy(good, map, sizeof(*good));
}

/* 12 bytes: which place, where in it, how many bytes, and these. */
static void scribble(const uint8_t *step)
{
	const struct place *place = &places[step[0] % TOUCHED];
	size_t at = (step[1] | (size_t)step[2] << 8) % place->bytes, n = step[3] % 8 + 1;

	if (n > place->bytes - at)
		n = place->bytes - at;
	memcpy((char *)map + place->from + at, step + 4, n);
}

static void heal(void)
{
	for (unsigned i = 0; i < TOUCHED; i++)
		memcpy((char *)map + places[i].from, (char *)good + places[i].from,
		       places[i].bytes);
	/* readers look again only at what has changed */
	good->generation++;
	for (unsigned i = 0; i < PEERS; i++)
		good->words[i] += good->words[i] ? 4 : 0;
}

static void read_pair(const struct fare_pair *pair)
{
	struct fare_paths paths;

	if (!fare_pair_paths(pair, &paths)) {
		if (paths.n_planes > FARE_MAX_PLANES)
			abort();
		for (unsigned p = 0; p < paths.n_planes; p++)
			if (paths.path[p].n_sub_ports > FARE_MAX_SUB_PORTS)
				abort();
	}
}

static void read_gpus(void)
{
	unsigned n = fare_n_local_gpus(fare);
	struct attach_gpu gpu;
	struct in6_addr a;

	if (n > FARE_MAX_LOCAL_GPUS)
		abort();
	for (unsigned g = 0; g <= n; g++) {
		fare_local_address(fare, g, AF_INET, &a);
		fare_local_address(fare, g, AF_INET6, &a);
		if (!attach_local_gpu(fare, g, &gpu))
			continue;
		if (!gpu.n_planes || gpu.n_planes > FARE_MAX_PLANES)
			abort();
		for (unsigned p = 0; p < gpu.n_planes; p++)
			if (gpu.n_sub_ports[p] > FARE_MAX_SUB_PORTS)
				abort();
	}
	fare_daemon_alive(fare);
}

static void spray(struct fare_spray *spray)
{
	struct fare_slot slot;

	for (int i = 0; i < 40; i++)
		if (!fare_spray_next(spray, &slot) &&
		    (slot.plane >= FARE_MAX_PLANES || slot.sub_port >= FARE_MAX_SUB_PORTS))
			abort();
}

static void pick(struct fare_flows *flows, uint64_t first)
{
	struct fare_flow_slot slot;

	for (uint64_t key = first; key < first + 20; key++)
		if (!fare_flows_pick(flows, key, now_ns, &slot) && slot.plane >= FARE_MAX_PLANES)
			abort();
}

/* What an application has open toward one peer. */
struct user {
	struct fare_pair *pair;
	struct fare_spray *spray;
	struct fare_flows *flows;
};

static void open_user(struct user *u, unsigned host)
{
	const struct fare_flows_options options = {.max_flows = 64};
	struct in6_addr peer = address(host);

	*u = (struct user){0};
	if (fare_pair_open(&u->pair, fare, 0, &peer))
		u->pair = NULL;
	if (u->pair && fare_spray_open(&u->spray, u->pair))
		u->spray = NULL;
	if (u->pair && fare_flows_open(&u->flows, u->pair, &options))
		u->flows = NULL;
}

static void close_user(struct user *u)
{
	if (u->flows)
		fare_flows_close(u->flows);
	if (u->spray)
		fare_spray_close(u->spray);
	if (u->pair)
		fare_pair_close(u->pair);
}

static void use(struct user *u, unsigned what)
{
	if (!u->pair)
		return;
	if (what == 0)
		read_pair(u->pair);
	else if (what == 1 && u->spray)
		spray(u->spray);
	else if (u->flows)
		pick(u->flows, what * 7);
}

/* Everything is as before: so is what is read, by who has been there all the while, too. */
static void check_healed(struct user *always)
{
	struct fare_paths paths;
	struct fare_slot slot;

	now_ns += UINT64_C(2000000000);
	attach_refresh(fare, now_ns);
	if (fare_pair_paths(always->pair, &paths) || paths.n_planes != PLANES)
		abort();
	for (unsigned p = 0; p < PLANES; p++)
		if (paths.path[p].usable_bps != 100 * (p + 1) || paths.path[p].n_sub_ports != 2)
			abort();
	for (int i = 0; i < 10; i++)
		if (fare_spray_next(always->spray, &slot) || slot.plane >= PLANES ||
		    slot.sub_port >= 2)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct user always;
	struct user users[PEERS] = {0};

	if (!fare) {
		set_up();
		open_user(&always, 0);
		if (!always.pair || !always.spray || !always.flows)
			abort();
	}
	for (int step = 0; size && step < STEPS; step++) {
		uint8_t what = *data++;
		unsigned host = what / 8 % PEERS;

		size--;
		now_ns += UINT64_C(100000000);
		switch (what % 8) {
		case 0:
		case 1:
			if (size >= 12) {
				scribble(data);
				data += 12;
				size -= 12;
			}
			break;
		case 2:
			close_user(&users[host]);
			open_user(&users[host], host);
			break;
		case 3:
		case 4:
		case 5:
			use(&users[host], what % 8 - 3);
			break;
		case 6:
			read_gpus();
			break;
		case 7:
			now_ns += UINT64_C(1000000000);
			attach_refresh(fare, now_ns);
			break;
		}
	}
	for (unsigned i = 0; i < PEERS; i++)
		close_user(&users[i]);
	heal();
	check_healed(&always);
	return 0;
}
