/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * all_to_all.c - 64 GPUs, a domain each, in one process over loopback: each writes to each other,
 * then all to one; every byte is checked where it arrived.
 *
 *   all_to_all [--gpus N]
 *
 * N (2..64) GPUs of four servers. All groups are opened at once, before the first poll. Exit 1: a
 * group did not connect, a write failed, or a byte is wrong; 77: no network namespace.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fare.h"
#include "own_net.h"
#include "shm_writer.h"

#define MAX_GPUS   64
#define SERVERS	   4
#define PIECE	   20000 /* bytes from each to each: some packets, and no whole number of them */
#define ROUNDS	   8	 /* writes of each in the many-to-one */
#define PATIENCE_S 300

struct server {
	char dir[40];
	struct shm_writer *writer;
	struct fare *fare;
};

struct gpu {
	struct fare_domain *domain;
	struct fare_mr *tx_mr, *rx_mr;
	struct fare_group *to[MAX_GPUS];
	uint8_t *tx, *rx; /* MAX_GPUS pieces each: for, and from, each GPU */
};

static unsigned n_gpus = MAX_GPUS;
static struct server servers[SERVERS];
static struct gpu gpus[MAX_GPUS];
static unsigned n_connected, n_completed, n_received, n_failed;
static const char *stage;

static unsigned per_server(void)
{
	return (n_gpus + SERVERS - 1) / SERVERS;
}

static struct in6_addr address(unsigned gpu)
{
	struct in6_addr a;
	char text[40];

	snprintf(text, sizeof(text), "::ffff:127.1.%u.%u", gpu / per_server(),
		 gpu % per_server() + 1);
	inet_pton(AF_INET6, text, &a);
	return a;
}

static uint8_t byte_of(unsigned from, unsigned to, unsigned round, uint32_t i)
{
	return (uint8_t)((from * 2654435761u ^ to * 40503u ^ round * 977u ^ i * 31u) >> 3);
}

/* ---- set up ---- */

static int publish(struct server *s, unsigned first, unsigned n)
{
	const struct shm_path path = {1000000000, FARE_VERDICT_OK, 0, 0};

	for (unsigned g = 0; g < n; g++) {
		shm_writer_sub_port(s->writer, g, 0, 0, true, 1000000000);
		for (unsigned p = 0; p < n_gpus; p++) {
			struct in6_addr peer = address(p);
			int id = p == first + g ? 0 : shm_writer_pair(s->writer, g, peer.s6_addr);

			if (id < 0)
				return id;
			if (p != first + g)
				shm_writer_publish(s->writer, (uint32_t)id, &path, 1);
		}
	}
	return 0;
}

static int start_server(unsigned i)
{
	struct shm_writer_gpu local[FARE_MAX_LOCAL_GPUS] = {0};
	struct server *s = &servers[i];
	unsigned first = i * per_server(), n = 0, err;

	strcpy(s->dir, "/tmp/fare-all-to-all-XXXXXX");
	if (!mkdtemp(s->dir))
		return -1;
	for (; n < per_server() && first + n < n_gpus; n++) {
		struct in6_addr own = address(first + n);

		memcpy(local[n].address[0], &own, sizeof(own));
		local[n].n_planes = 1;
		local[n].n_sub_ports[0] = 1;
		strcpy(local[n].dev[0][0], "lo");
	}
	if (!n)
		return 0;
	err = (unsigned)shm_writer_open(&s->writer, s->dir, 0600, local, n, NULL);
	if (err || publish(s, first, n))
		return -1;
	return fare_attach(&s->fare, s->dir);
}

static int start_gpu(unsigned i)
{
	const struct fare_domain_options options = {.accept = true, .trusted_network = true};
	struct gpu *g = &gpus[i];
	size_t bytes = (size_t)MAX_GPUS * PIECE;
	int err = fare_domain_open(&g->domain, servers[i / per_server()].fare, i % per_server(),
				   &options);

	g->tx = malloc(bytes);
	g->rx = calloc(1, bytes);
	if (err || !g->tx || !g->rx)
		return err ? err : -1;
	err = fare_mr_register(&g->tx_mr, g->domain, g->tx, bytes, 0);
	return err ? err : fare_mr_register(&g->rx_mr, g->domain, g->rx, bytes, FARE_REMOTE_WRITE);
}

/* ---- work ---- */

static void look(unsigned i)
{
	struct fare_event e[64];
	int n = fare_domain_poll(gpus[i].domain, e, 64);

	for (int k = 0; k < n; k++) {
		n_connected += e[k].kind == FARE_EVENT_CONNECTED;
		n_received += e[k].kind == FARE_EVENT_RECEIVED;
		n_completed += e[k].kind == FARE_EVENT_COMPLETED && !e[k].status;
		if (e[k].kind == FARE_EVENT_CLOSED ||
		    (e[k].kind == FARE_EVENT_COMPLETED && e[k].status)) {
			fprintf(stderr, "GPU %u: %s with status %d\n", i,
				e[k].kind == FARE_EVENT_CLOSED ? "a group closed" : "a write ended",
				e[k].status);
			n_failed++;
		}
	}
	n_failed += n < 0;
}

static bool until(const unsigned *counter, unsigned n)
{
	time_t end = time(NULL) + PATIENCE_S;

	while (*counter < n && !n_failed && time(NULL) < end)
		for (unsigned i = 0; i < n_gpus; i++)
			look(i);
	if (*counter < n)
		fprintf(stderr, "%s: %u of %u\n", stage, *counter, n);
	return *counter >= n && !n_failed;
}

static bool send_piece(unsigned from, unsigned to, unsigned round)
{
	struct gpu *f = &gpus[from], *t = &gpus[to];
	uint8_t *data = f->tx + (size_t)to * PIECE;
	const struct fare_write w = {.data = data,
				     .mr = f->tx_mr,
				     .length = PIECE,
				     .remote_addr = (uintptr_t)t->rx + (size_t)from * PIECE,
				     .rkey = fare_mr_rkey(t->rx_mr),
				     .flags = FARE_WRITE_NOTIFY};

	for (uint32_t i = 0; i < PIECE; i++)
		data[i] = byte_of(from, to, round, i);
	return !fare_group_write(f->to[to], &w);
}

static bool is_right(unsigned from, unsigned to, unsigned round)
{
	const uint8_t *data = gpus[to].rx + (size_t)from * PIECE;

	for (uint32_t i = 0; i < PIECE; i++)
		if (data[i] != byte_of(from, to, round, i)) {
			fprintf(stderr, "%s: byte %u from %u to %u is wrong\n", stage, i, from, to);
			return false;
		}
	return true;
}

static bool open_all(void)
{
	stage = "opening";
	for (unsigned i = 0; i < n_gpus; i++)
		for (unsigned k = 0; k < n_gpus; k++) {
			struct in6_addr peer = address(k);

			if (i != k && fare_group_open(&gpus[i].to[k], gpus[i].domain, &peer, NULL))
				return false;
		}
	return until(&n_connected, n_gpus * (n_gpus - 1));
}

static bool all_to_all(void)
{
	unsigned n = n_gpus * (n_gpus - 1);

	stage = "all to all";
	n_completed = n_received = 0;
	for (unsigned i = 0; i < n_gpus; i++)
		for (unsigned k = 0; k < n_gpus; k++)
			if (i != k && !send_piece(i, k, 0))
				return false;
	if (!until(&n_received, n) || !until(&n_completed, n))
		return false;
	for (unsigned i = 0; i < n_gpus; i++)
		for (unsigned k = 0; k < n_gpus; k++)
			if (i != k && !is_right(i, k, 0))
				return false;
	return true;
}

static bool many_to_one(unsigned round)
{
	stage = "many to one";
	n_completed = n_received = 0;
	for (unsigned i = 1; i < n_gpus; i++)
		if (!send_piece(i, 0, round))
			return false;
	if (!until(&n_received, n_gpus - 1) || !until(&n_completed, n_gpus - 1))
		return false;
	for (unsigned i = 1; i < n_gpus; i++)
		if (!is_right(i, 0, round))
			return false;
	return true;
}

static bool run(void)
{
	bool ok = true;

	for (unsigned i = 0; i < SERVERS && ok; i++)
		ok = start_server(i) == 0;
	for (unsigned i = 0; i < n_gpus && ok; i++)
		ok = start_gpu(i) == 0;
	ok = ok && open_all() && all_to_all();
	for (unsigned r = 1; r <= ROUNDS && ok; r++)
		ok = many_to_one(r);
	return ok;
}

static void clean_up(void)
{
	char path[280];

	for (unsigned i = 0; i < n_gpus; i++) {
		fare_domain_close(gpus[i].domain);
		free(gpus[i].tx);
		free(gpus[i].rx);
	}
	for (unsigned i = 0; i < SERVERS; i++) {
		fare_detach(servers[i].fare);
		shm_writer_close(servers[i].writer);
		snprintf(path, sizeof(path), "%s/paths.shm", servers[i].dir);
		unlink(path);
		rmdir(servers[i].dir);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"gpus", 1, 0, 'g'}, {0, 0, 0, 0}};
	int c, skip;
	bool ok;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		n_gpus = c == 'g' ? (unsigned)atoi(optarg) : 0;
	if (n_gpus < 2 || n_gpus > MAX_GPUS)
		return 2;
	skip = own_net();
	if (skip)
		return skip;
	ok = run();
	clean_up();
	printf("{\"all_to_all\":{\"gpus\":%u,\"groups\":%u,\"bytes_each\":%u,\"ok\":%s}}\n", n_gpus,
	       n_gpus * (n_gpus - 1), PIECE, ok ? "true" : "false");
	return ok ? 0 : 1;
}
