/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "fabric.h"
#include "weights.h"

struct fare_pair {
	struct fare *fare;
	struct in6_addr peer;
	unsigned host; /* of the peer */
};

/* Rows are plain memory: nobody reads them. */
struct conn_segment {
	int unused;
};

int attach_check(const struct fare *fare)
{
	return fare ? 0 : -EINVAL;
}

void daemon_init(struct sim *sim, unsigned host)
{
	struct fare *fare = &sim->daemon[host].fare;

	memset(fare, 0, sizeof(*fare));
	fare->sim = sim;
	fare->host = host;
	fare->generation = 1;
	fare->late_ns = prng_log(&sim->prng, LOOP_MS / 10, 300 * LOOP_MS);
	for (unsigned p = 0; p < sim->net.n_planes; p++)
		fare->bps[p] = prng_between(&sim->prng, 1, 4) * UINT64_C(100000000000);
	for (unsigned peer = 0; peer < sim->net.n_hosts; peer++)
		fare->pair_generation[peer] = 1;
	daemon_publish(sim, host);
}

static void judge(const struct fare *fare, unsigned peer, struct fare_paths *out)
{
	const struct sim *sim = fare->sim;

	out->n_planes = sim->net.n_planes;
	for (unsigned p = 0; p < out->n_planes; p++) {
		struct fare_path *path = &out->path[p];

		path->n_sub_ports = sim->net.n_sub_ports;
		path->live_sub_ports = net_live(&sim->net, fare->host, p);
		path->usable_bps =
			fare->bps[p] * (unsigned)__builtin_popcount(path->live_sub_ports);
		if (!net_live(&sim->net, peer, p) || fare->is_lying[p])
			path->usable_bps = 0;
		path->verdict = path->usable_bps ? FARE_VERDICT_OK : FARE_VERDICT_NO_ROUTE;
	}
}

void daemon_publish(struct sim *sim, unsigned host)
{
	struct fare *fare = &sim->daemon[host].fare;

	if (sim_now_ns(sim) < fare->frozen_until_ns) {
		loop_add(&sim->net.loop, fare->frozen_until_ns, LOOP_DAEMON, host, 0, NULL);
		return;
	}
	for (unsigned peer = 0; peer < sim->net.n_hosts; peer++) {
		struct fare_paths now = {0};

		judge(fare, peer, &now);
		now.generation = fare->paths[peer].generation;
		if (!memcmp(&now, &fare->paths[peer], sizeof(now)))
			continue;
		fare->paths[peer] = now;
		fare->paths[peer].generation = ++fare->pair_generation[peer];
		fare->generation++;
		for (unsigned p = 0; p < now.n_planes; p++)
			TRACE(sim, "daemon %u: peer %u plane %u usable %llu live %x", host, peer, p,
			      (unsigned long long)now.path[p].usable_bps,
			      now.path[p].live_sub_ports);
	}
}

void daemon_changed(struct sim *sim)
{
	for (unsigned h = 0; h < sim->net.n_hosts; h++)
		loop_add(&sim->net.loop,
			 sim_now_ns(sim) + prng_below(&sim->prng, sim->daemon[h].fare.late_ns),
			 LOOP_DAEMON, h, 0, NULL);
}

/* ---- what attach.h and fare.h promise ---- */

uint64_t attach_generation(const struct fare *fare)
{
	return fare->generation;
}

int fare_pair_open(struct fare_pair **out, struct fare *fare, unsigned local_gpu,
		   const struct in6_addr *peer)
{
	struct fare_pair *pair = calloc(1, sizeof(*pair));

	(void)local_gpu;
	*out = pair;
	if (!pair)
		return -ENOMEM;
	*pair = (struct fare_pair){.fare = fare, .peer = *peer, .host = net_host_of(peer)};
	return 0;
}

void fare_pair_close(struct fare_pair *pair)
{
	free(pair);
}

uint64_t fare_pair_generation(const struct fare_pair *pair)
{
	return pair->fare->paths[pair->host].generation;
}

int fare_pair_paths(const struct fare_pair *pair, struct fare_paths *out)
{
	*out = pair->fare->paths[pair->host];
	return 0;
}

double attach_pair_phase(const struct fare_pair *pair)
{
	struct in6_addr own = net_address(pair->fare->host);

	return weights_phase(&own, &pair->peer);
}

int64_t attach_pair_turn(const struct fare_pair *pair)
{
	struct in6_addr own = net_address(pair->fare->host);

	return weights_turn(&own, &pair->peer, 0);
}

uint32_t attach_pair_path_mtu(const struct fare_pair *pair)
{
	(void)pair; /* what the fabric carries is found by packets that are lost */
	return UINT32_MAX;
}

void attach_pair_identity(const struct fare_pair *pair, struct in6_addr *peer, uint32_t *local_gpu)
{
	*peer = pair->peer;
	*local_gpu = 0;
}

bool attach_is_local(const struct fare *fare, const struct in6_addr *address)
{
	(void)fare, (void)address; /* hosts have a process each */
	return false;
}

struct conn_segment *attach_segment(const struct fare *fare)
{
	static struct conn_segment segment;

	(void)fare;
	return &segment;
}

struct conn_shm_entry *conn_segment_lend_entries(struct conn_segment *segment, uint32_t n)
{
	(void)segment;
	return calloc(n, sizeof(struct conn_shm_entry));
}

struct conn_shm_qp *conn_segment_lend_qps(struct conn_segment *segment, uint32_t n)
{
	(void)segment;
	return calloc(n, sizeof(struct conn_shm_qp));
}

struct conn_shm_path *conn_segment_lend_paths(struct conn_segment *segment, uint32_t n)
{
	(void)segment;
	return calloc(n, sizeof(struct conn_shm_path));
}

void conn_segment_return(struct conn_segment *segment, void *rows, uint32_t n)
{
	(void)segment;
	(void)n;
	free(rows);
}
