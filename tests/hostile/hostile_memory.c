/* links: test_bed */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_memory.c - an application that takes memory back while messages of it are under way: a
 * region is deregistered, and the memory is unmapped or used for something else.
 *
 *   hostile_memory [CASE]
 *
 * Nothing of it may be read or written after fare_mr_deregister(): the process lives, and neither
 * end sees what was put there later. The message ends with -EINVAL (-EACCES if it was the peer that
 * took its memory back), and messages of other memory arrive whole. In some cases the peer is
 * stopped meanwhile, so that all that is under way is sent again later. Exit 77: not root.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "bed.h"

#define BYTES	   (32u << 20)
#define GOOD_BYTES (64u << 10)
#define LIMIT_NS   UINT64_C(20000000000)
#define OLD	   0x11
#define NEW	   0x99
#define PAGE	   4096u

enum command { NOTHING, TAKE_BACK, GIVE_AGAIN };

struct shared {
	_Atomic uint64_t rkey, addr, receiver;
	_Atomic int command, over;
};

struct test {
	const char *name;
	enum fare_mode mode;
	bool is_read, peer_stops, is_cached, has_pieces, is_reused, is_peers;
};

static const struct test tests[] = {
	{.name = "write, unmapped", .mode = FARE_MODE_SPRAY},
	{.name = "write, used again", .mode = FARE_MODE_SPRAY, .is_reused = true},
	{.name = "write, peer stops", .mode = FARE_MODE_SPRAY, .peer_stops = true},
	{.name = "write by flows, used again", .mode = FARE_MODE_FLOW, .is_reused = true},
	{.name = "write of pieces", .mode = FARE_MODE_SPRAY, .has_pieces = true},
	{.name = "write of a cached region", .mode = FARE_MODE_SPRAY, .is_cached = true},
	{.name = "order-free write", .mode = FARE_MODE_PACKET},
	{.name = "order-free write, used again", .mode = FARE_MODE_PACKET, .is_reused = true},
	{.name = "order-free write, peer stops", .mode = FARE_MODE_PACKET, .peer_stops = true},
	{.name = "read, unmapped", .mode = FARE_MODE_SPRAY, .is_read = true},
	{.name = "read, used again",
	 .mode = FARE_MODE_SPRAY,
	 .is_read = true,
	 .is_reused = true,
	 .peer_stops = true},
	{.name = "write, taken back by the peer", .mode = FARE_MODE_SPRAY, .is_peers = true},
	{.name = "read, taken back by the peer",
	 .mode = FARE_MODE_SPRAY,
	 .is_read = true,
	 .is_peers = true},
};

static struct bed bed;
static struct shared *shared;
static uint8_t *target; /* the peer's memory, which both ends see */

/* ---- the peer ---- */

static int give(struct fare_domain *domain, struct fare_mr **mr)
{
	if (fare_mr_register(mr, domain, target, BYTES + GOOD_BYTES,
			     FARE_REMOTE_WRITE | FARE_REMOTE_READ))
		return 1;
	shared->addr = (uintptr_t)target;
	shared->rkey = fare_mr_rkey(*mr) | UINT64_C(1) << 32;
	return 0;
}

static int obey(struct fare_domain *domain, struct fare_mr **mr)
{
	int err = 0;

	if (shared->command == TAKE_BACK) {
		fare_mr_deregister(*mr);
		mprotect(target, BYTES + GOOD_BYTES, PROT_NONE);
	} else if (shared->command == GIVE_AGAIN) {
		mprotect(target, BYTES + GOOD_BYTES, PROT_READ | PROT_WRITE);
		err = give(domain, mr);
	}
	shared->command = NOTHING;
	return err;
}

static int receiver(void *arg)
{
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&bed, 1, &fare);
	struct fare_event e[32];
	struct fare_mr *mr;

	(void)arg;
	if (give(domain, &mr))
		return 1;
	while (!shared->over) {
		int n = bed_events(domain, e, 32, 5);

		for (int i = 0; i < n; i++)
			if (e[i].kind == FARE_EVENT_CLOSED)
				fare_group_close(e[i].group);
		if (obey(domain, &mr))
			return 1;
	}
	fare_domain_close(domain);
	fare_detach(fare);
	return 0;
}

/* ---- the application ---- */

enum context { BAD, GOOD, AFTERWARDS, CONTEXTS };

struct application {
	const struct test *test;
	struct fare_domain *domain;
	struct fare_group *group;
	struct fare_mr *mr, *good_mr;
	uint8_t *memory, *good;
	uint64_t deadline_ns;
	bool connected, done[CONTEXTS];
	int status[CONTEXTS];
};

static int fail(const struct application *a, const char *what)
{
	fprintf(stderr, "hostile_memory: %s: %s\n", a->test->name, what);
	if (a->group)
		fare_group_dump(a->group, 2);
	return 1;
}

static bool poll_once(struct application *a)
{
	struct fare_event e[16];
	int n = bed_events(a->domain, e, 16, 5);

	for (int i = 0; i < n; i++) {
		if (e[i].group != a->group)
			continue;
		a->connected |= e[i].kind == FARE_EVENT_CONNECTED;
		if (e[i].kind != FARE_EVENT_COMPLETED || e[i].context >= CONTEXTS)
			continue;
		a->done[e[i].context] = true;
		a->status[e[i].context] = e[i].status;
	}
	return n >= 0 && clock_now_ns() < a->deadline_ns;
}

static int await(struct application *a, const bool *what, const char *name)
{
	while (!*what)
		if (!poll_once(a))
			return fail(a, name);
	return 0;
}

static int post(struct application *a, uint8_t *data, struct fare_mr *mr, uint64_t length,
		uint64_t at, enum context context)
{
	struct fare_piece pieces[2] = {{data, mr, length / 2},
				       {data + length / 2, mr, length - length / 2}};
	bool in_pieces = a->test->has_pieces && context == BAD;
	struct fare_write w = {.data = data,
			       .mr = mr,
			       .length = in_pieces ? 0 : length,
			       .remote_addr = shared->addr + at,
			       .rkey = (uint32_t)shared->rkey,
			       .flags = FARE_KEY_IS_GOOD,
			       .pieces = in_pieces ? pieces : NULL,
			       .n_pieces = in_pieces ? 2 : 0,
			       .context = context};
	struct fare_read r = {.data = data,
			      .mr = mr,
			      .length = length,
			      .remote_addr = w.remote_addr,
			      .rkey = w.rkey,
			      .flags = w.flags,
			      .context = context};
	bool is_read = a->test->is_read && context == BAD;

	return is_read ? fare_group_read(a->group, &r) : fare_group_write(a->group, &w);
}

static int start(struct application *a)
{
	struct fare_group_options options = {.mode = a->test->mode};
	struct in6_addr peer = bed_address(1);

	a->memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (a->memory == MAP_FAILED)
		return fail(a, "no memory");
	memset(a->memory, OLD, BYTES);
	memset(target, 0, BYTES);
	if (a->test->is_cached ? fare_mr_get(&a->mr, a->domain, a->memory, BYTES, 0)
			       : fare_mr_register(&a->mr, a->domain, a->memory, BYTES, 0))
		return fail(a, "cannot register");
	if (fare_group_open(&a->group, a->domain, &peer, &options))
		return fail(a, "cannot open a group");
	return await(a, &a->connected, "no connection");
}

/* Until something has arrived, or, while the peer is stopped, has been sent in vain. */
static int get_under_way(struct application *a)
{
	struct fare_group_stats s = {0};
	uint64_t moved = 0;

	if (a->test->peer_stops)
		kill((pid_t)shared->receiver, SIGSTOP);
	while (a->test->peer_stops ? s.chunks_posted < 4 : moved < (1u << 20)) {
		if (!poll_once(a))
			return fail(a, "nothing moves");
		fare_group_stats(a->group, &s);
		moved = s.plane_bytes[0] + s.plane_bytes[1];
	}
	return a->done[BAD] ? fail(a, "it was done too soon") : 0;
}

static int command(struct application *a, enum command command)
{
	shared->command = command;
	while (shared->command)
		if (!poll_once(a))
			return fail(a, "the peer does not answer");
	return 0;
}

static void take_back(struct application *a)
{
	fare_mr_deregister(a->mr);
	a->mr = NULL;
	if (a->test->is_cached)
		fare_mr_invalidate(a->domain, a->memory, BYTES);
	if (a->test->is_reused)
		memset(a->memory, NEW, BYTES);
	else
		munmap(a->memory, BYTES);
}

/* All that was sent is sent again, and the peer goes on. */
static int resume(struct application *a)
{
	struct fare_group_stats s = {0};

	while (a->test->peer_stops && s.timeouts < 2 && !a->done[BAD]) {
		if (!poll_once(a))
			return fail(a, "nothing is sent again");
		fare_group_stats(a->group, &s);
	}
	kill((pid_t)shared->receiver, SIGCONT);
	return 0;
}

static bool has_byte(const uint8_t *at, size_t n, uint8_t byte)
{
	return memchr(at, byte, n) != NULL;
}

static int check_end(struct application *a)
{
	int expected = a->test->is_peers ? -EACCES : -EINVAL;

	if (await(a, &a->done[BAD], "it never ends") || await(a, &a->done[GOOD], "another waits"))
		return 1;
	if (a->status[BAD] != expected || (a->status[GOOD] && !a->test->is_peers)) {
		fprintf(stderr, "hostile_memory: %s: status %d, of another message %d\n",
			a->test->name, a->status[BAD], a->status[GOOD]);
		return 1;
	}
	if (a->test->is_peers && command(a, GIVE_AGAIN))
		return 1;
	memset(a->good, 0x55, GOOD_BYTES);
	if (post(a, a->good, a->good_mr, GOOD_BYTES, BYTES, AFTERWARDS) ||
	    await(a, &a->done[AFTERWARDS], "nothing goes on"))
		return 1;
	if (a->status[AFTERWARDS] || memcmp(target + BYTES, a->good, GOOD_BYTES))
		return fail(a, "a later message did not arrive");
	if (!a->test->is_read && has_byte(target, BYTES, NEW))
		return fail(a, "the peer has what was put there later");
	if (a->test->is_read && a->test->is_reused &&
	    (a->memory[0] != NEW || memcmp(a->memory, a->memory + 1, BYTES - 1)))
		return fail(a, "written to after it was taken back");
	return 0;
}

static int run(const struct test *test, struct fare_domain *domain, struct fare_mr *good_mr,
	       uint8_t *good)
{
	struct application a = {.test = test,
				.domain = domain,
				.good = good,
				.good_mr = good_mr,
				.deadline_ns = clock_now_ns() + LIMIT_NS};
	int failed = start(&a) || post(&a, a.memory, a.mr, BYTES, 0, BAD) ||
		     post(&a, good, good_mr, GOOD_BYTES, BYTES, GOOD) || get_under_way(&a);

	if (!failed && test->is_peers)
		failed = command(&a, TAKE_BACK);
	else if (!failed)
		take_back(&a);
	failed = failed || resume(&a) || check_end(&a);
	fare_group_close(a.group);
	fare_mr_deregister(a.mr);
	if (!failed)
		printf("hostile_memory: %s: ok\n", test->name);
	return failed;
}

static int sender(void *arg)
{
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&bed, 0, &fare);
	uint8_t *good = bed_memory(GOOD_BYTES);
	struct fare_mr *good_mr;
	int failed = fare_mr_register(&good_mr, domain, good, GOOD_BYTES, 0);

	while (!shared->rkey)
		bed_events(domain, NULL, 0, 5);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]) && !failed; i++)
		if (!arg || !strcmp(arg, tests[i].name))
			failed = run(&tests[i], domain, good_mr, good);
	shared->over = 1;
	fare_domain_close(domain);
	fare_detach(fare);
	fflush(NULL);
	return failed;
}

int main(int argc, char **argv)
{
	struct bed_options options = {
		.provider = "soft", .planes = 2, .sub_ports = 1, .rate_mbps = 400};
	int failed;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	target = mmap(NULL, BYTES + GOOD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED || target == MAP_FAILED)
		return 1;
	if (bed_make(&bed, &options))
		return 1;
	failed = bed_start(&bed, 1, receiver, NULL);
	shared->receiver = (uint64_t)bed.child[1];
	failed = failed || bed_start(&bed, 0, sender, argc > 1 ? argv[1] : NULL) ||
		 bed_join(&bed, 0);
	shared->over = 1;
	kill(bed.child[1], SIGCONT);
	failed |= bed_join(&bed, 1);
	bed_destroy(&bed);
	return failed;
}
