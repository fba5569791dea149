/* links: test_bed */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_fork.c - an application that forks while it transfers.
 *
 *   hostile_fork [--provider PROVIDER]     soft
 *
 * Eight children in turn: they exit, _exit, exec, are killed, close all that they inherited, call
 * everything that they inherited, open a domain of their own beside it, and close it first and then
 * open their own. A child's copies are inert: its calls give -ECHILD and its closing changes
 * nothing. The parent's messages go on meanwhile: every byte is checked, the group does not end,
 * and what the daemon sees of the process stays as it was. Exit 77: not root.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"
#include "conn_shm.h"
#include "fare_spray_inline.h"

#define SLOT	 (128u << 10)
#define SLOTS	 8u
#define ROUND	 40u			/* messages that complete before the next child */
#define LIMIT_NS UINT64_C(120000000000) /* an emulated machine takes its time */

static struct bed bed;
static struct in6_addr peer;
static uint8_t *target; /* the receiver's memory, which all see */
static struct shared {
	_Atomic uint64_t addr, rkey;
	_Atomic int over;
} * shared;

/* Of the application, and of its children by inheritance. */
static struct fare *fare;
static struct fare_domain *domain;
static struct fare_pair *pair;
static struct fare_spray *spray;
static struct fare_flows *flows;
static struct fare_group *group;
static struct fare_mr *mr;
static uint8_t *source;
static uint64_t posted, done;

static void ok(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "hostile_fork: %s\n", what);
	fflush(NULL);
	_exit(1);
}

/* ---- children ---- */

static void close_all(void)
{
	fare_group_close(group);
	fare_mr_deregister(mr);
	fare_flows_close(flows);
	fare_spray_close(spray);
	fare_pair_close(pair);
	fare_domain_close(domain);
	fare_detach(fare);
}

static void call_all(void)
{
	struct fare_write w = {.data = source, .mr = mr, .length = 8};
	struct fare_read r = {.data = source, .mr = mr, .length = 8};
	struct fare_send s = {.data = source, .length = 8};
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY};
	struct fare_address address;
	struct fare_event e[1];
	struct fare_paths paths;
	struct fare_slot slot;
	struct fare_flow_slot flow;
	struct in6_addr own;
	struct fare_group_stats stats;
	size_t bytes;
	void *out;

	ok(fare_n_local_gpus(fare) == 0 && !fare_daemon_alive(fare), "the attachment lives");
	ok(fare_local_address(fare, 0, AF_INET, &own) == -ECHILD, "fare_local_address");
	ok(fare_pair_open((struct fare_pair **)&out, fare, 0, &peer) == -ECHILD, "fare_pair_open");
	ok(fare_pair_paths(pair, &paths) == -ECHILD, "fare_pair_paths");
	ok(fare_pair_generation(pair) == 0, "fare_pair_generation");
	ok(fare_spray_open((struct fare_spray **)&out, pair) == -ECHILD, "fare_spray_open");
	ok(fare_spray_next(spray, &slot) == -ECHILD, "fare_spray_next");
	ok(fare_flows_open((struct fare_flows **)&out, pair, NULL) == -ECHILD, "fare_flows_open");
	ok(fare_flows_pick(flows, 1, 1, &flow) == -ECHILD, "fare_flows_pick");
	fare_flows_account(flows, 1, 1);
	ok(fare_flows_release(flows, 1) == -ECHILD, "fare_flows_release");
	ok(fare_flows_expire(flows, UINT64_MAX) == 0, "fare_flows_expire");
	ok(fare_domain_open((struct fare_domain **)&out, fare, 0, NULL) == -ECHILD,
	   "fare_domain_open");
	ok(fare_domain_fd(domain) == -ECHILD, "fare_domain_fd");
	ok(fare_domain_poll(domain, e, 1) == -ECHILD, "fare_domain_poll");
	fare_domain_address(domain, &address);
	ok(fare_mr_register((struct fare_mr **)&out, domain, source, 8, 0) == -ECHILD,
	   "fare_mr_register");
	ok(fare_mr_get((struct fare_mr **)&out, domain, source, 8, 0) == -ECHILD, "fare_mr_get");
	fare_mr_invalidate(domain, source, SLOT);
	ok(fare_mr_sync(mr) == -ECHILD, "fare_mr_sync");
	ok(fare_group_open((struct fare_group **)&out, domain, &peer, &options) == -ECHILD,
	   "fare_group_open");
	ok(fare_group_open_to((struct fare_group **)&out, domain, &address, &options) == -ECHILD,
	   "fare_group_open_to");
	ok(fare_group_write(group, &w) == -ECHILD, "fare_group_write");
	ok(fare_group_write_many(group, &w, 1) == -ECHILD, "fare_group_write_many");
	ok(fare_group_read(group, &r) == -ECHILD, "fare_group_read");
	ok(fare_group_send(group, &s) == -ECHILD, "fare_group_send");
	fare_group_disconnect(group);
	fare_group_set_context(group, source);
	ok(!fare_group_context(group) && !fare_group_private(group, &bytes), "the group lives");
	fare_group_stats(group, &stats);
	ok(stats.messages_completed == 0, "fare_group_stats");
	fare_group_dump(group, 2);
}

/* A domain of the child's own: a write arrives, or the child fails. */
static void open_own(void)
{
	struct fare_domain_options options = {
		.provider = bed.options.provider, .key_file = bed.key, .path_mtu = 4096};
	uint64_t end = clock_now_ns() + LIMIT_NS;
	struct fare_domain *own;
	struct fare_group *g;
	struct fare_mr *own_mr;
	uint8_t byte = 0x33;
	struct fare *attached;
	int status = 1;

	ok(!fare_attach(&attached, bed.dir[0]), "a child cannot attach");
	ok(!fare_domain_open(&own, attached, 0, &options), "a child cannot open a domain");
	ok(!fare_group_open(&g, own, &peer, NULL), "a child cannot open a group");
	ok(!fare_mr_register(&own_mr, own, &byte, 1, 0), "a child cannot register");
	ok(!fare_group_write(g, &(struct fare_write){.data = &byte,
						     .mr = own_mr,
						     .length = 1,
						     .remote_addr = shared->addr + SLOTS * SLOT,
						     .rkey = (uint32_t)shared->rkey}),
	   "a child cannot write");
	while (status == 1 && clock_now_ns() < end) {
		struct fare_event e[8];
		int n = bed_events(own, e, 8, 5);

		for (int i = 0; i < n; i++)
			if (e[i].kind == FARE_EVENT_COMPLETED)
				status = e[i].status;
	}
	if (status)
		fare_group_dump(g, STDERR_FILENO);
	ok(!status && target[SLOTS * SLOT] == byte, "a child's write does not arrive");
	fare_domain_close(own);
	fare_detach(attached);
}

enum { EXITS, LEAVES, EXECS, IS_KILLED, CLOSES, CALLS, OPENS_OWN, CLOSES_AND_OPENS, CHILDREN };

static void live_as(int kind)
{
	if (kind == EXITS)
		exit(0);
	if (kind == EXECS)
		execl("/bin/true", "true", (char *)NULL);
	if (kind == IS_KILLED)
		raise(SIGKILL);
	if (kind == CALLS)
		call_all();
	if (kind == CLOSES || kind == CLOSES_AND_OPENS)
		close_all();
	if (kind == OPENS_OWN || kind == CLOSES_AND_OPENS) {
		target[SLOTS * SLOT] = 0;
		open_own();
	}
	fflush(NULL);
	_exit(0);
}

/* ---- the parent ---- */

/* What the daemon sees of this process. */
static const struct conn_shm_header *own_segment(void)
{
	for (int fd = 3; fd < 64; fd++) {
		char path[32], name[64] = "";
		void *map;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, name, sizeof(name) - 1) < 0 || !strstr(name, "fare-connections"))
			continue;
		map = mmap(NULL, sizeof(struct conn_shm_header), PROT_READ, MAP_SHARED, fd, 0);
		return map == MAP_FAILED ? NULL : map;
	}
	return NULL;
}

static uint8_t content(uint64_t message)
{
	return (uint8_t)(message * 37 + 1);
}

static void post_more(void)
{
	for (; posted < done + SLOTS; posted++) {
		uint64_t at = posted % SLOTS * SLOT;
		struct fare_write w = {.data = source + at,
				       .mr = mr,
				       .length = SLOT,
				       .remote_addr = shared->addr + at,
				       .rkey = (uint32_t)shared->rkey,
				       .context = posted};

		memset(source + at, content(posted), SLOT);
		ok(!fare_group_write(group, &w), "a write is refused");
	}
}

static void on_event(const struct fare_event *e)
{
	const uint8_t *slot = target + e->context % SLOTS * SLOT;

	ok(e->kind != FARE_EVENT_CLOSED && e->kind != FARE_EVENT_BLOCKED, "the group ended");
	if (e->kind != FARE_EVENT_COMPLETED)
		return;
	ok(!e->status, "a message failed");
	ok(slot[0] == content(e->context) && !memcmp(slot, slot + 1, SLOT - 1), "corrupted");
	done++;
}

static void transfer(uint64_t messages, uint64_t end_ns)
{
	struct fare_event e[16];

	for (uint64_t goal = done + messages; done < goal;) {
		int n;

		/* in order: a slot is used again when its message is done */
		if (done == posted)
			post_more();
		n = bed_events(domain, e, 16, 5);
		ok(n >= 0 && clock_now_ns() < end_ns, "nothing moves");
		for (int i = 0; i < n; i++)
			on_event(&e[i]);
	}
}

static void raise_one(int kind, uint64_t end_ns)
{
	pid_t child = fork();
	int status;

	if (!child)
		live_as(kind);
	transfer(ROUND, end_ns);
	while (waitpid(child, &status, WNOHANG) == 0)
		transfer(1, end_ns);
	if (kind == IS_KILLED ? !WIFSIGNALED(status) : status != 0) {
		fprintf(stderr, "hostile_fork: child %d: status %d\n", kind, status);
		_exit(1);
	}
	transfer(ROUND, end_ns);
}

static int application(void *arg)
{
	uint64_t end_ns = clock_now_ns() + LIMIT_NS;
	const struct conn_shm_header *segment;
	uint32_t pickers, entries, qps;
	struct fare_flow_slot flow;
	struct fare_group_stats stats;

	(void)arg;
	domain = bed_enter(&bed, 0, &fare);
	source = bed_memory(SLOTS * SLOT);
	ok(!fare_pair_open(&pair, fare, 0, &peer) && !fare_spray_open(&spray, pair) &&
		   !fare_flows_open(&flows, pair, NULL) && !fare_flows_pick(flows, 1, 1, &flow) &&
		   !fare_mr_register(&mr, domain, source, SLOTS * SLOT, 0) &&
		   !fare_group_open(&group, domain, &peer, NULL),
	   "cannot begin");
	while (!shared->rkey)
		ok(bed_events(domain, NULL, 0, 5) >= 0 && clock_now_ns() < end_ns, "no receiver");
	transfer(ROUND, end_ns);
	segment = own_segment();
	ok(segment != NULL, "no segment");
	pickers = segment->n_pickers;
	entries = segment->used_entries;
	qps = segment->used_qps;
	for (int kind = 0; kind < CHILDREN; kind++)
		raise_one(kind, end_ns);
	ok(segment->n_pickers == pickers && segment->used_entries == entries &&
		   segment->used_qps == qps,
	   "a child has changed what the daemon sees");
	fare_group_stats(group, &stats);
	ok(!stats.path_deaths, "a plane's QPs ended");
	transfer(ROUND, end_ns);
	close_all();
	return 0;
}

static int receiver(void *arg)
{
	struct fare_domain *own;
	struct fare_event e[16];
	struct fare_mr *region;
	struct fare *attached;

	(void)arg;
	own = bed_enter(&bed, 1, &attached);
	ok(!fare_mr_register(&region, own, target, SLOTS * SLOT + 1, FARE_REMOTE_WRITE),
	   "cannot register");
	shared->addr = (uintptr_t)target;
	shared->rkey = fare_mr_rkey(region) | UINT64_C(1) << 32;
	while (!shared->over) {
		int n = bed_events(own, e, 16, 5);

		for (int i = 0; i < n; i++)
			if (e[i].kind == FARE_EVENT_CLOSED)
				fare_group_close(e[i].group);
	}
	fare_domain_close(own);
	fare_detach(attached);
	return 0;
}

int main(int argc, char **argv)
{
	struct bed_options options = {
		.provider = argc == 3 ? argv[2] : "soft", .planes = 2, .sub_ports = 1};
	int failed;

	peer = bed_address(1);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	target = mmap(NULL, SLOTS * SLOT + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED || target == MAP_FAILED || bed_make(&bed, &options))
		return 1;
	failed = bed_start(&bed, 1, receiver, NULL) || bed_start(&bed, 0, application, NULL) ||
		 bed_join(&bed, 0);
	shared->over = 1;
	failed |= bed_join(&bed, 1);
	bed_destroy(&bed);
	if (!failed)
		puts("hostile_fork: ok");
	return failed;
}
