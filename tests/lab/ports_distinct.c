/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ports_distinct.c - each QP of a pair has a UDP source port of its own, whichever its plane and
 * sub-port, where the pool has as many: m x n QPs of the per-flow mode, and twice as many; and the
 * paths of order-free QPs.
 *
 * Two hosts (bed.h), four planes of two sub-ports. Exit 77: not root. One line of JSON a case.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"
#include "qp/domain.h"
#include "qp/engine.h"
#include "qp/group.h"
#include "qp/lane.h"
#include "qp/transfer_state.h"

#define LIMIT_NS UINT64_C(30000000000)

struct test {
	struct bed bed;
	struct fare_group_options options;
	_Atomic uint64_t *shared; /* address, key; over */
	_Atomic int *over;
};

static int sink(void *arg)
{
	struct test *t = arg;

	return bed_sink(&t->bed, 1, 4096, &t->shared[0], &t->shared[1], t->over);
}

/* How often each port of the pool is used; [FARE_SOURCE_PORTS]: others. */
static unsigned count(const struct fare_group *group, unsigned uses[FARE_SOURCE_PORTS + 1])
{
	unsigned n = 0;

	for (unsigned l = 0; l < group->lanes->n; l++) {
		const struct lane *lane = &group->lanes->lane[l];
		bool packet = group->options.mode == FARE_MODE_PACKET;

		for (unsigned i = 0; i < (packet ? lane->n_paths : lane->n_qps); i++, n++) {
			unsigned p = (packet ? lane->path_set[i].udp_source_port
					     : lane->qps[i].source_port) -
				     FARE_SOURCE_PORT_FIRST;

			uses[p < FARE_SOURCE_PORTS ? p : FARE_SOURCE_PORTS]++;
		}
	}
	return n;
}

static int source(void *arg)
{
	struct test *t = arg;
	unsigned uses[FARE_SOURCE_PORTS + 1] = {0}, n, most = 0, distinct = 0;
	uint64_t end = clock_now_ns() + LIMIT_NS;
	struct in6_addr peer = bed_address(1);
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&t->bed, 0, &fare);
	struct fare_group *group;
	bool connected = false;
	struct fare_event e;

	while (!t->shared[1])
		poll(NULL, 0, 1);
	if (fare_group_open(&group, domain, &peer, &t->options))
		return 1;
	while (!connected && clock_now_ns() < end)
		connected = bed_events(domain, &e, 1, 20) == 1 && e.kind == FARE_EVENT_CONNECTED;
	n = count(group, uses);
	for (unsigned p = 0; p <= FARE_SOURCE_PORTS; p++) {
		distinct += uses[p] > 0;
		most = uses[p] > most ? uses[p] : most;
	}
	printf("{\"ports_distinct\":{\"mode\":%d,\"qps\":%u,\"distinct\":%u,\"most\":%u}}\n",
	       t->options.mode, n, distinct, most);
	fflush(stdout);
	fare_domain_close(domain);
	return !connected || most != 1 || n != 8 * t->options.qps_per_sub_port;
}

static int one_case(struct test *t, enum fare_mode mode, uint32_t k)
{
	int failed;

	t->options = (struct fare_group_options){.mode = mode, .qps_per_sub_port = k};
	*t->over = 0;
	t->shared[1] = 0;
	failed = bed_start(&t->bed, 1, sink, t) || bed_start(&t->bed, 0, source, t) ||
		 bed_join(&t->bed, 0);
	*t->over = 1;
	return bed_join(&t->bed, 1) || failed;
}

int main(void)
{
	struct bed_options options = {.provider = "soft", .planes = 4, .sub_ports = 2};
	struct test t = {0};
	void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int failed = 0;

	if (shared == MAP_FAILED || bed_make(&t.bed, &options))
		return 1;
	t.shared = shared;
	t.over = (_Atomic int *)(t.shared + 2);
	for (uint32_t k = 1; k <= 2; k++) {
		failed |= one_case(&t, FARE_MODE_FLOW, k);
		failed |= one_case(&t, FARE_MODE_PACKET, k);
	}
	bed_destroy(&t.bed);
	return failed;
}
