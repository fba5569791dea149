/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ports_follow.c - a group's QPs load the peer's sub-ports evenly; then the leaf hashes anew, under
 * way, and they do again.
 *
 *   ports_follow [--rounds N] [--sub-ports M] [--qps K] [--json FILE]
 *
 * One plane of M sub-ports, K source ports each, a leaf in between (bed.h). In each mode one group
 * sends portion after portion, and the peer's devices count what arrives by which: the busiest
 * device's part over a fair part, 1 is even. N times the leaf's seed changes, and nobody says so.
 * Reported: how uneven the first portion after that was, and how long until one was even. At least
 * one change must have hurt for the test to mean anything. Exit 77: not root.
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

#define BYTES	 (8u << 20) /* a portion */
#define EVEN	 1.1
#define HURT	 1.2
#define LIMIT_NS UINT64_C(180000000000)

static const enum fare_mode modes[] = {FARE_MODE_FLOW, FARE_MODE_SPRAY, FARE_MODE_PACKET};
static const char *const names[] = {"flow", "spray", "packet"};
#define MODES (sizeof(modes) / sizeof(modes[0]))

struct shared {
	_Atomic uint64_t go, done, rkey, addr;
	_Atomic int over, failed;
	_Atomic uint64_t retransmitted; /* packets, by the group in use so far */
};

struct test {
	struct bed bed;
	unsigned rounds, qps, mode;
	struct shared *shared;
	double worst_before, worst_after, follow_s; /* of the mode in turn */
	uint64_t retransmitted;
};

static int receiver(void *arg)
{
	struct test *t = arg;

	return bed_sink(&t->bed, 1, BYTES, &t->shared->addr, &t->shared->rkey, &t->shared->over);
}

static int sender(void *arg)
{
	struct test *t = arg;
	struct shared *sh = t->shared;
	struct fare_group_options options = {
		.mode = modes[t->mode], .qps_per_sub_port = t->qps, .chunk_bytes = 16384};
	struct fare_write w = {.length = BYTES};
	struct in6_addr peer = bed_address(1);
	struct fare_group_stats stats;
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&t->bed, 0, &fare);
	struct fare_group *group;
	struct fare_event e;
	uint64_t asked = 0;

	while (!sh->rkey)
		poll(NULL, 0, 1);
	w.data = bed_memory(BYTES);
	w.remote_addr = sh->addr;
	w.rkey = (uint32_t)sh->rkey;
	if (fare_mr_register(&w.mr, domain, (void *)(uintptr_t)w.data, BYTES, false) ||
	    fare_group_open(&group, domain, &peer, &options))
		return 1;
	while (!sh->over) {
		if (asked != sh->go && !fare_group_write(group, &w))
			asked = sh->go;
		if (bed_events(domain, &e, 1, 1) != 1)
			continue;
		if (e.kind == FARE_EVENT_CLOSED || e.status) {
			fare_group_dump(group, STDERR_FILENO);
			sh->failed = 1;
			return 1;
		}
		fare_group_stats(group, &stats);
		sh->retransmitted = stats.retransmitted_packets;
		if (e.kind == FARE_EVENT_COMPLETED)
			sh->done = asked;
	}
	fare_domain_close(domain);
	return 0;
}

/* The busiest sub-port's part of one portion, over a fair part. 0: it did not arrive. */
static double busiest(struct test *t)
{
	uint64_t before[FARE_MAX_SUB_PORTS], n, sum = 0, most = 0, end = clock_now_ns() + LIMIT_NS;
	unsigned m = t->bed.options.sub_ports;

	for (unsigned s = 0; s < m; s++)
		before[s] = bed_rx_bytes(&t->bed, 1, 0, s);
	t->shared->go++;
	while (t->shared->done != t->shared->go && !t->shared->failed && clock_now_ns() < end)
		poll(NULL, 0, 2);
	for (unsigned s = 0; s < m; s++) {
		n = bed_rx_bytes(&t->bed, 1, 0, s) - before[s];
		sum += n;
		most = n > most ? n : most;
	}
	return t->shared->done == t->shared->go ? (double)most * m / (double)sum : 0;
}

/* Portions until one is even. false: none was in time. */
static bool becomes_even(struct test *t)
{
	uint64_t begin = clock_now_ns();
	double x = 0, took_s;
	bool first = true;

	do {
		x = busiest(t);
		if (first && x > t->worst_before)
			t->worst_before = x;
		first = false;
	} while (x > EVEN && clock_now_ns() < begin + LIMIT_NS);
	took_s = (double)(clock_now_ns() - begin) / 1e9;
	t->follow_s = took_s > t->follow_s ? took_s : t->follow_s;
	t->worst_after = x > t->worst_after ? x : t->worst_after;
	return x && x <= EVEN;
}

static bool one_mode(struct test *t)
{
	bool ok;

	memset(t->shared, 0, sizeof(*t->shared));
	if (bed_start(&t->bed, 1, receiver, t) || bed_start(&t->bed, 0, sender, t))
		return false;
	ok = becomes_even(t);
	t->worst_before = t->worst_after = t->follow_s = 0;
	for (unsigned r = 0; ok && r < t->rounds; r++)
		ok = !bed_rehash(&t->bed, 1 + r + t->mode * t->rounds) && becomes_even(t);
	t->retransmitted = t->shared->retransmitted;
	t->shared->over = 1;
	ok &= !bed_join(&t->bed, 0);
	ok &= !bed_join(&t->bed, 1);
	return ok && t->worst_before > HURT;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"rounds", 1, 0, 'r'},
						{"sub-ports", 1, 0, 's'},
						{"qps", 1, 0, 'q'},
						{"json", 1, 0, 'j'},
						{0, 0, 0, 0}};
	static struct test t = {.rounds = 4, .qps = 2};
	struct bed_options bed = {.provider = "soft", .planes = 1, .sub_ports = 4, .leaf = true};
	char text[1024] = "{\"ports_follow\":{";
	const char *json = NULL;
	bool ok = true;
	FILE *f;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'r')
			t.rounds = (unsigned)atoi(optarg);
		else if (c == 's')
			bed.sub_ports = (unsigned)atoi(optarg);
		else if (c == 'q')
			t.qps = (unsigned)atoi(optarg);
		else if (c == 'j')
			json = optarg;
		else
			return 2;
	}
	if (!t.rounds || !t.qps || bed.sub_ports < 2 || bed.sub_ports > FARE_MAX_SUB_PORTS)
		return 2;
	t.shared = mmap(NULL, sizeof(*t.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (bed_make(&t.bed, &bed))
		ok = false;
	for (t.mode = 0; ok && t.mode < MODES; t.mode++) {
		size_t used = strlen(text);

		ok = one_mode(&t);
		snprintf(text + used, sizeof(text) - used,
			 "\"%s_worst_before\":%.3f,\"%s_worst_after\":%.3f,\"%s_slowest_s\":%.2f,"
			 "\"%s_retransmitted\":%llu,",
			 names[t.mode], t.worst_before, names[t.mode], t.worst_after, names[t.mode],
			 t.follow_s, names[t.mode], (unsigned long long)t.retransmitted);
	}
	bed_destroy(&t.bed);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "\"rounds\":%u,\"ok\":%s}}\n",
		 t.rounds, ok ? "true" : "false");
	fputs(text, stdout);
	f = json ? fopen(json, "w") : NULL;
	if (f) {
		fputs(text, f);
		fclose(f);
	}
	return !ok;
}
