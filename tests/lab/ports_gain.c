/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ports_gain.c - what choosing source ports gains: how evenly a group's QPs load the peer's
 * sub-ports behind a leaf that hashes addresses and ports.
 *
 *   ports_gain [--groups N] [--sub-ports M] [--qps K] [--json FILE]
 *
 * One plane of M sub-ports, K QPs each, a leaf in between (bed.h); its kernel does the hashing. N
 * groups are opened one after the other, each sends the same to all of its QPs, and the peer's
 * devices count what arrives by which. The figure is the busiest device's part over a fair part: 1
 * is even. Three ways side by side: ports that echoes found (FARE_MODE_SPRAY), random ports
 * (random_ports), and QPs that the sender's own kernel hashes, too (FARE_MODE_KERNEL). Exit 77: not
 * root.
 */
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"
#include "qp/baseline.h"

#define BYTES	 (16u << 20) /* a group */
#define LIMIT_NS UINT64_C(90000000000)

enum way { LEARNED, RANDOM, KERNEL, WAYS };
static const char *const names[WAYS] = {"learned", "random", "kernel"};

struct shared {
	_Atomic uint64_t go, done, rkey, addr;
	_Atomic uint64_t again_bytes; /* at most: sent a second time by the group before */
	_Atomic int over, failed;
};

struct test {
	struct bed bed;
	unsigned groups, qps;
	struct shared *shared;
	double worst[WAYS], mean[WAYS];
};

static int receiver(void *arg)
{
	struct test *t = arg;

	return bed_sink(&t->bed, 1, BYTES, &t->shared->addr, &t->shared->rkey, &t->shared->over);
}

/* One group: opened, used, closed. */
static bool one_group(struct test *t, struct fare_domain *domain, struct fare_mr *mr,
		      const uint8_t *memory, enum way way)
{
	struct fare_group_options options = {
		.mode = way == KERNEL ? FARE_MODE_KERNEL : FARE_MODE_SPRAY,
		.baseline = &(struct fare_baseline){.random_ports = way == RANDOM},
		.qps_per_sub_port = t->qps,
		.chunk_bytes = 16384};
	struct fare_write w = {.data = memory,
			       .mr = mr,
			       .length = BYTES,
			       .remote_addr = t->shared->addr,
			       .rkey = (uint32_t)t->shared->rkey};
	struct in6_addr peer = bed_address(1);
	uint64_t end = clock_now_ns() + LIMIT_NS;
	struct fare_group_stats before, stats; /* of the whole endpoint */
	struct fare_group *group;
	struct fare_event e;
	bool done = false;

	if (fare_group_open(&group, domain, &peer, &options))
		return false;
	fare_group_stats(group, &before);
	while (!done && clock_now_ns() < end) {
		if (bed_events(domain, &e, 1, 20) != 1)
			continue;
		if (e.kind == FARE_EVENT_CLOSED || e.status ||
		    (e.kind == FARE_EVENT_CONNECTED && fare_group_write(group, &w)))
			break;
		done = e.kind == FARE_EVENT_COMPLETED;
	}
	if (!done)
		fare_group_dump(group, STDERR_FILENO);
	fare_group_stats(group, &stats);
	t->shared->again_bytes =
		(stats.retransmitted_packets - before.retransmitted_packets) * t->bed.options.mtu;
	fare_group_close(group);
	return done;
}

/* go counts groups: way = (go - 1) % WAYS. */
static int sender(void *arg)
{
	struct test *t = arg;
	struct shared *sh = t->shared;
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&t->bed, 0, &fare);
	uint8_t *memory = bed_memory(BYTES);
	struct fare_mr *mr;

	while (!sh->rkey && !sh->failed)
		poll(NULL, 0, 1);
	if (fare_mr_register(&mr, domain, memory, BYTES, false))
		return 1;
	while (!sh->over && !sh->failed) {
		struct fare_event e;

		if (sh->done == sh->go) {
			bed_events(domain, &e, 1, 1);
			continue;
		}
		if (!one_group(t, domain, mr, memory, (enum way)((sh->go - 1) % WAYS)))
			sh->failed = 1;
		sh->done = sh->go;
	}
	fare_domain_close(domain);
	return 0;
}

/*
 * The busiest sub-port's part of what one group sent, over a fair part. What went again, since an
 * acknowledgement was late, is not of the choice of ports: it is taken off.
 */
static double busiest(struct test *t)
{
	uint64_t before[FARE_MAX_SUB_PORTS], n, sum = 0, most = 0;
	unsigned m = t->bed.options.sub_ports;

	for (unsigned s = 0; s < m; s++)
		before[s] = bed_rx_bytes(&t->bed, 1, 0, s);
	t->shared->go++;
	while (t->shared->done != t->shared->go && !t->shared->failed)
		poll(NULL, 0, 2);
	for (unsigned s = 0; s < m; s++) {
		n = bed_rx_bytes(&t->bed, 1, 0, s) - before[s];
		sum += n;
		most = n > most ? n : most;
	}
	most -= t->shared->again_bytes < most / 2 ? t->shared->again_bytes : most / 2;
	return sum > BYTES ? (double)most * m / (double)sum : 0;
}

static bool measure(struct test *t)
{
	for (unsigned g = 0; g < t->groups && !t->shared->failed; g++) {
		for (int way = 0; way < WAYS; way++) {
			double x = busiest(t);

			if (!x)
				return false;
			t->mean[way] += x / t->groups;
			t->worst[way] = x > t->worst[way] ? x : t->worst[way];
		}
	}
	/*
	 * learned ports are even every time; the others are left to chance, and that must show for
	 * the test to mean anything
	 */
	return !t->shared->failed && t->worst[LEARNED] < 1.1 && t->mean[RANDOM] > 1.15 &&
	       t->mean[KERNEL] > 1.15;
}

static void report(const struct test *t, FILE *to, bool ok)
{
	fprintf(to, "{\"ports_gain\":{\"groups\":%u,\"sub_ports\":%u,\"qps\":%u,", t->groups,
		t->bed.options.sub_ports, t->qps * t->bed.options.sub_ports);
	for (int way = 0; way < WAYS; way++)
		fprintf(to, "\"%s_mean\":%.3f,\"%s_worst\":%.3f,", names[way], t->mean[way],
			names[way], t->worst[way]);
	fprintf(to, "\"ok\":%s}}\n", ok ? "true" : "false");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"groups", 1, 0, 'g'},
						{"sub-ports", 1, 0, 's'},
						{"qps", 1, 0, 'q'},
						{"json", 1, 0, 'j'},
						{0, 0, 0, 0}};
	static struct test t = {.groups = 8, .qps = 2};
	struct bed_options bed = {.provider = "soft", .planes = 1, .sub_ports = 4, .leaf = true};
	const char *json = NULL;
	bool ok = false;
	FILE *f;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'g')
			t.groups = (unsigned)atoi(optarg);
		else if (c == 's')
			bed.sub_ports = (unsigned)atoi(optarg);
		else if (c == 'q')
			t.qps = (unsigned)atoi(optarg);
		else if (c == 'j')
			json = optarg;
		else
			return 2;
	}
	if (!t.groups || !t.qps || bed.sub_ports < 2 || bed.sub_ports > FARE_MAX_SUB_PORTS)
		return 2;
	t.shared = mmap(NULL, sizeof(*t.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (!bed_make(&t.bed, &bed) && !bed_start(&t.bed, 1, receiver, &t) &&
	    !bed_start(&t.bed, 0, sender, &t)) {
		ok = measure(&t);
		t.shared->over = 1;
		ok &= !bed_join(&t.bed, 0);
		ok &= !bed_join(&t.bed, 1);
	}
	bed_destroy(&t.bed);
	report(&t, stdout, ok);
	f = json ? fopen(json, "w") : NULL;
	if (f) {
		report(&t, f, ok);
		fclose(f);
	}
	return !ok;
}
