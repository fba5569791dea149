/* links: test_bed */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_keys.c - an application that writes with wrong keys, 23 times within some seconds, beside
 * writes with the right one. Each costs the lane that meets it, as a responder ends the QP.
 *
 * Two hosts (tests/lab/bed.h), two planes of one sub-port. Required: each wrong write fails alone
 * with EACCES; the lane is back within 300 ms each time, not later each time; the group is never
 * blocked; every right write completes. Exit 77: not root. One line of JSON.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"

#define WRITES	 23u
#define EVERY_NS UINT64_C(200000000)
#define BACK_NS	 UINT64_C(300000000)
#define LIMIT_NS UINT64_C(40000000000)

struct test {
	struct bed bed;
	_Atomic uint64_t *shared; /* address, key; over */
	_Atomic int *over;
	/* the writer's */
	struct fare_domain *domain;
	struct fare_group *group;
	unsigned connected, blocked, refused, completed, wrong;
};

static int sink(void *arg)
{
	struct test *t = arg;

	return bed_sink(&t->bed, 1, 4096, &t->shared[0], &t->shared[1], t->over);
}

static void take_events(struct test *t)
{
	struct fare_event e[8];
	int n = bed_events(t->domain, e, 8, 2);

	for (int i = 0; i < n; i++) {
		t->connected += e[i].kind == FARE_EVENT_CONNECTED;
		t->blocked += e[i].kind == FARE_EVENT_BLOCKED;
		if (e[i].kind == FARE_EVENT_CLOSED)
			t->wrong++;
		if (e[i].kind != FARE_EVENT_COMPLETED)
			continue;
		if (e[i].context) /* the wrong one */
			t->refused += e[i].status == -EACCES;
		else
			t->completed += !e[i].status;
		t->wrong += e[i].status && !(e[i].context && e[i].status == -EACCES);
	}
}

static bool wait_count(struct test *t, const unsigned *count, unsigned n)
{
	for (uint64_t end = clock_now_ns() + LIMIT_NS; *count < n && !t->wrong;) {
		take_events(t);
		if (clock_now_ns() > end)
			return false;
	}
	return !t->wrong;
}

/* Until the lane that ended is back; 0: it is not. */
static uint64_t back_ns(struct test *t, unsigned rebuilds)
{
	uint64_t since = clock_now_ns();
	struct fare_group_stats stats;

	do {
		take_events(t);
		fare_group_stats(t->group, &stats);
		if (stats.path_rebuilds >= rebuilds)
			return clock_now_ns() - since + 1;
	} while (clock_now_ns() - since < LIMIT_NS && !t->wrong);
	return 0;
}

static bool one_round(struct test *t, struct fare_write w, unsigned i, uint64_t *slowest)
{
	uint64_t next = clock_now_ns() + EVERY_NS, ns;

	w.context = i;
	w.rkey ^= 0x5500;
	if (fare_group_write(t->group, &w) || !wait_count(t, &t->refused, i))
		return false;
	w.context = 0;
	w.rkey ^= 0x5500;
	if (fare_group_write(t->group, &w) || !wait_count(t, &t->completed, i))
		return false;
	ns = back_ns(t, i);
	*slowest = ns > *slowest ? ns : *slowest;
	while (ns && clock_now_ns() < next) /* as fast as an application that tries again */
		take_events(t);
	return ns != 0;
}

static int writer(void *arg)
{
	struct test *t = arg;
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY};
	struct in6_addr peer = bed_address(1);
	uint8_t *memory = bed_memory(4096);
	struct fare_write w = {.data = memory, .length = 4096};
	uint64_t slowest = 0;
	bool ok = true;
	struct fare *fare;

	t->domain = bed_enter(&t->bed, 0, &fare);
	while (!t->shared[1])
		poll(NULL, 0, 1);
	if (fare_mr_register(&w.mr, t->domain, memory, 4096, 0) ||
	    fare_group_open(&t->group, t->domain, &peer, &options) ||
	    !wait_count(t, &t->connected, 1))
		return 1;
	w.remote_addr = t->shared[0];
	w.rkey = (uint32_t)t->shared[1];
	for (unsigned i = 1; i <= WRITES && ok; i++)
		ok = one_round(t, w, i, &slowest);
	ok = ok && !t->blocked && slowest < BACK_NS;
	printf("{\"keys\":{\"refused\":%u,\"completed\":%u,\"blocked\":%u,\"slowest_ms\":%.1f,"
	       "\"ok\":%s}}\n",
	       t->refused, t->completed, t->blocked, (double)slowest / 1e6, ok ? "true" : "false");
	fflush(stdout);
	if (!ok)
		fare_group_dump(t->group, STDERR_FILENO);
	fare_domain_close(t->domain);
	return !ok;
}

int main(void)
{
	struct bed_options options = {.provider = "soft", .planes = 2, .sub_ports = 1};
	struct test t = {0};
	void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int failed;

	if (shared == MAP_FAILED || bed_make(&t.bed, &options))
		return 1;
	t.shared = shared;
	t.over = (_Atomic int *)(t.shared + 2);
	failed = bed_start(&t.bed, 1, sink, &t) || bed_start(&t.bed, 0, writer, &t) ||
		 bed_join(&t.bed, 0);
	*t.over = 1;
	failed |= bed_join(&t.bed, 1) != 0;
	bed_destroy(&t.bed);
	return failed;
}
