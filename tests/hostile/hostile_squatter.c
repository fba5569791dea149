/* links: test_bed */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_squatter.c - another local user has bound all ports of the source port pool, at the GPU's
 * address and at any, before an application starts; on both hosts. At the host that opens groups,
 * also all ports at which domains receive.
 *
 * Two hosts (tests/lab/bed.h), two planes of two sub-ports. Required: groups of each mode open
 * within some seconds, and what is written arrives whole. Exit 77: not root. One line of
 * JSON for each mode.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"
#include "roce_ports.h"
#include "qp/baseline.h"

#define BYTES	 (1u << 20)
#define NOBODY	 65534
#define LIMIT_NS UINT64_C(10000000000)

struct shared {
	_Atomic uint64_t addr, rkey;
	_Atomic int over, squatting;
	enum fare_mode mode;
	_Atomic uint64_t open_ms;
};

struct test {
	struct bed bed;
	struct shared *shared;
};

/* ---- the other user ---- */

static int take(const char *address, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return inet_pton(AF_INET, address, &at.sin_addr) != 1 ||
	       bind(fd, (struct sockaddr *)&at, sizeof(at));
}

static void squat(struct test *t, int host)
{
	char own[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bed_enter_namespace(&t->bed, host);
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* forgotten with the user */
	snprintf(own, sizeof(own), "198.19.0.%d", host + 1);
	for (unsigned i = 0; i < FARE_SOURCE_PORTS; i++)
		if (take(i % 2 ? "0.0.0.0" : own, (uint16_t)(FARE_SOURCE_PORT_FIRST + i))) {
			perror("hostile_squatter: bind");
			_exit(1);
		}
	for (unsigned i = 0; host == 0 && i < FARE_PROCESS_PORTS; i++)
		if (take(own, (uint16_t)(ROCE_UDP_PORT + i)))
			_exit(1);
	t->shared->squatting++;
	for (;;)
		pause();
}

/* ---- the application ---- */

/* Ends by whether all that was written is there. */
static int sink(void *arg)
{
	struct test *t = arg;
	struct shared *sh = t->shared;
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&t->bed, 1, &fare);
	uint8_t *memory = bed_memory(BYTES);
	struct fare_event e;
	struct fare_mr *mr;

	if (fare_mr_register(&mr, domain, memory, BYTES, FARE_REMOTE_WRITE))
		return 1;
	sh->addr = (uint64_t)(uintptr_t)memory;
	sh->rkey = fare_mr_rkey(mr) | UINT64_C(1) << 32;
	while (!sh->over)
		bed_events(domain, &e, 1, 20);
	fare_domain_close(domain);
	return !bed_holds(memory, 0, BYTES, sh->mode + 1);
}

/* Waits for an event of that kind: 0, its status, or -ETIMEDOUT. */
static int wait_for(struct fare_domain *domain, enum fare_event_kind kind)
{
	uint64_t end = clock_now_ns() + LIMIT_NS;
	struct fare_event e;

	while (clock_now_ns() < end) {
		if (bed_events(domain, &e, 1, 20) < 1)
			continue;
		if (e.kind == kind || e.kind == FARE_EVENT_CLOSED)
			return e.kind == kind ? e.status : -ECONNRESET;
	}
	return -ETIMEDOUT;
}

static int problem(const char *what, int err)
{
	fprintf(stderr, "hostile_squatter: %s: %s\n", what, strerror(-err));
	return 1;
}

static int write_all(struct shared *sh, struct fare_domain *domain, struct fare_group *group)
{
	uint8_t *memory = bed_memory(BYTES);
	struct fare_write w = {.data = memory,
			       .length = BYTES,
			       .remote_addr = sh->addr,
			       .rkey = (uint32_t)sh->rkey};
	int err = fare_mr_register(&w.mr, domain, memory, BYTES, 0);

	bed_fill(memory, 0, BYTES, sh->mode + 1);
	if (!err)
		err = fare_group_write(group, &w);
	return err ? err : wait_for(domain, FARE_EVENT_COMPLETED);
}

static int source(void *arg)
{
	struct test *t = arg;
	struct fare_group_options options = {.mode = t->shared->mode,
					     .baseline = &(struct fare_baseline){.qps = 4}};
	struct in6_addr peer = bed_address(1);
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&t->bed, 0, &fare);
	struct fare_group *group;
	uint64_t began;
	int err;

	while (!t->shared->rkey)
		poll(NULL, 0, 1);
	began = clock_now_ns();
	err = fare_group_open(&group, domain, &peer, &options);
	if (!err)
		err = wait_for(domain, FARE_EVENT_CONNECTED);
	if (err)
		return problem("no group opens", err);
	t->shared->open_ms = (clock_now_ns() - began) / 1000000;
	err = write_all(t->shared, domain, group);
	if (err)
		return problem("a write fails", err);
	fare_domain_close(domain);
	return 0;
}

static int one_mode(struct test *t, enum fare_mode mode)
{
	struct shared *sh = t->shared;
	int failed;

	sh->mode = mode;
	sh->over = 0;
	sh->rkey = 0;
	failed = bed_start(&t->bed, 1, sink, t) || bed_start(&t->bed, 0, source, t) ||
		 bed_join(&t->bed, 0);
	sh->over = 1;
	if (bed_join(&t->bed, 1))
		failed = problem("what was written is not there", -EBADMSG);
	printf("{\"squatter\":{\"mode\":%d,\"open_ms\":%llu,\"ok\":%s}}\n", mode,
	       (unsigned long long)sh->open_ms, failed ? "false" : "true");
	return failed;
}

static int run(struct test *t)
{
	uint64_t end = clock_now_ns() + LIMIT_NS;
	int failed = 0;

	while (t->shared->squatting < 2 && clock_now_ns() < end)
		poll(NULL, 0, 5);
	if (t->shared->squatting < 2)
		return problem("the ports could not be taken", -EADDRINUSE);
	failed |= one_mode(t, FARE_MODE_FLOW);
	failed |= one_mode(t, FARE_MODE_SPRAY);
	failed |= one_mode(t, FARE_MODE_PACKET);
	failed |= one_mode(t, FARE_MODE_KERNEL);
	return failed;
}

int main(void)
{
	struct bed_options options = {.provider = "soft", .planes = 2, .sub_ports = 2};
	struct test t = {0};
	pid_t squatters[2] = {0};
	int failed;

	t.shared = mmap(NULL, sizeof(*t.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (t.shared == MAP_FAILED || bed_make(&t.bed, &options))
		return 1;
	for (int h = 0; h < 2; h++) {
		squatters[h] = fork();
		if (squatters[h] == 0)
			squat(&t, h);
	}
	failed = run(&t);
	for (int h = 0; h < 2; h++) {
		kill(squatters[h], SIGKILL);
		waitpid(squatters[h], NULL, 0);
	}
	bed_destroy(&t.bed);
	return failed;
}
