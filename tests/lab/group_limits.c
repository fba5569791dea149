/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group_limits.c - a QP group at its limits: no plane left, and writes with deadlines.
 *
 *   group_limits [--provider soft|verbs]
 *
 * Two hosts (bed.h), two planes. The sender goes through a script, told by the parent what the
 * fabric does:
 *   1. both planes are said to be down: BLOCKED; writes queue up to max_messages, then -ENOBUFS;
 *      they are back: RESUMED, and all that was queued completes;
 *   2. both planes drop everything in silence: a write with a deadline completes with -ETIMEDOUT at
 *      its time and not before; it is not RELEASED as long as its packets might land; the fabric
 *      heals: RELEASED, exactly once, and then both ends use the memory for something else, which
 *      stays;
 *   3. a deadline in the past completes late at once and is released, and one far away does not
 *      come into play.
 * Exit 77: not root. One line of JSON at the end.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"

#define MESSAGES 16
#define SLOT	 (48u << 10) /* one chunk: at most 64 KiB */
#define LIMIT_NS UINT64_C(90000000000)
#define LATE_NS	 UINT64_C(60000000)

enum fabric { FINE, SAID_DOWN, GRAY };

struct shared {
	/* enum fabric: what the sender asks for, what the parent has made of it */
	_Atomic int wish, is;
	_Atomic int over, failed, check, checked;
	_Atomic uint64_t rkey, slots_addr, polls;
	double late_ms, release_ms;
};

struct test {
	struct bed bed;
	struct shared *shared;
	/* the sender's */
	struct fare_domain *domain;
	struct fare_group *group;
	struct fare_mr *mr;
	uint8_t *slots;
	unsigned blocked, resumed, completed, late, released;
	uint64_t late_ns;
};

static int fail(struct test *t, const char *what)
{
	fprintf(stderr,
		"group_limits: %s (blocked %u, resumed %u, completed %u, late %u, released %u)\n",
		what, t->blocked, t->resumed, t->completed, t->late, t->released);
	if (t->group)
		fare_group_dump(t->group, STDERR_FILENO);
	t->shared->failed = 1;
	t->shared->over = 1;
	return 1;
}

static void take_events(struct test *t)
{
	struct fare_event e[32];
	int n = bed_events(t->domain, e, 32, 2);

	for (int i = 0; i < n; i++) {
		t->blocked += e[i].kind == FARE_EVENT_BLOCKED;
		t->resumed += e[i].kind == FARE_EVENT_RESUMED;
		t->released += e[i].kind == FARE_EVENT_RELEASED;
		if (e[i].kind == FARE_EVENT_COMPLETED && e[i].status == -ETIMEDOUT) {
			t->late++;
			t->late_ns = clock_now_ns();
		} else if (e[i].kind == FARE_EVENT_COMPLETED && !e[i].status) {
			t->completed++;
		} else if (e[i].kind == FARE_EVENT_COMPLETED || e[i].kind == FARE_EVENT_CLOSED) {
			fail(t, strerror(-e[i].status));
		}
	}
}

static bool wait_count(struct test *t, const unsigned *count, unsigned n, const char *what)
{
	for (uint64_t end = clock_now_ns() + LIMIT_NS; *count < n && !t->shared->failed;) {
		take_events(t);
		if (clock_now_ns() > end)
			return !fail(t, what);
	}
	return !t->shared->failed;
}

static void fabric(struct test *t, enum fabric wish)
{
	t->shared->wish = wish;
	while (t->shared->is != (int)wish && !t->shared->failed)
		take_events(t);
}

static int write_one(struct test *t, unsigned k, uint64_t deadline_ns)
{
	struct fare_write w = {.data = t->slots + (size_t)k * SLOT,
			       .mr = t->mr,
			       .length = SLOT,
			       .remote_addr = t->shared->slots_addr + (uint64_t)k * SLOT,
			       .rkey = (uint32_t)t->shared->rkey,
			       .tag = k,
			       .flags = FARE_WRITE_NOTIFY,
			       .context = k,
			       .deadline_ns = deadline_ns};

	return fare_group_write(t->group, &w);
}

static bool no_plane_left(struct test *t)
{
	unsigned posted = 0;

	fabric(t, SAID_DOWN);
	if (!wait_count(t, &t->blocked, 1, "not said to be blocked"))
		return false;
	while (!write_one(t, posted % MESSAGES, 0) && posted < 10 * MESSAGES)
		posted++;
	if (posted != MESSAGES || write_one(t, 0, 0) != -ENOBUFS)
		return !fail(t, "no back-pressure");
	for (int i = 0; i < 50; i++)
		take_events(t);
	if (t->completed || t->resumed)
		return !fail(t, "completed over no plane");
	fabric(t, FINE);
	return wait_count(t, &t->resumed, 1, "did not resume") &&
	       wait_count(t, &t->completed, MESSAGES, "what waited did not complete") &&
	       (t->blocked == 1 && t->resumed == 1 && t->completed == MESSAGES
			? true
			: !fail(t, "said twice"));
}

static bool let_the_receiver_check(struct test *t)
{
	for (unsigned k = 0; k < MESSAGES; k++)
		bed_fill(t->slots + (size_t)k * SLOT, 0, SLOT, 1000 + k);
	t->shared->check++;
	for (uint64_t end = clock_now_ns() + LIMIT_NS;
	     t->shared->checked != t->shared->check && clock_now_ns() < end;)
		take_events(t);
	return t->shared->checked == t->shared->check && !t->shared->failed;
}

static struct fare_group_stats stats_of(const struct test *t)
{
	struct fare_group_stats stats;

	fare_group_stats(t->group, &stats);
	return stats;
}

/*
 * Writes of which nothing left are released at once, and make room for others; one that was posted
 * is not. A write is one chunk, so those posted are as many as the chunks posted, less those that
 * were posted again because a plane died meanwhile (on a slow machine the deadlines pass late).
 */
static bool only_unposted_are_released(struct test *t, const struct fare_group_stats *before)
{
	struct fare_group_stats now = stats_of(t);
	uint64_t chunks = now.chunks_posted - before->chunks_posted,
		 again = now.chunks_replayed - before->chunks_replayed;
	unsigned extra = 0, kept = MESSAGES - t->released;

	if (t->completed || t->released > MESSAGES || kept == 0 || kept > chunks ||
	    kept + again < chunks)
		return !fail(t, "released while its packets may be anywhere");
	while (extra <= MESSAGES && !write_one(t, MESSAGES - 1, 0))
		extra++;
	return extra == t->released ? true : !fail(t, "a late write does not count as outstanding");
}

static bool deadlines(struct test *t)
{
	struct fare_group_stats before = stats_of(t);
	uint64_t start, healed, far = clock_now_ns() + 3600 * UINT64_C(1000000000);
	unsigned extra;

	t->completed = 0;
	fabric(t, GRAY);
	start = clock_now_ns();
	for (unsigned k = 0; k < MESSAGES; k++)
		if (write_one(t, k, start + LATE_NS))
			return !fail(t, "refused");
	if (!wait_count(t, &t->late, MESSAGES, "deadlines passed unnoticed"))
		return false;
	t->shared->late_ms = (double)(t->late_ns - start) / 1e6;
	if (t->late_ns < start + LATE_NS)
		return !fail(t, "late too early");
	if (!only_unposted_are_released(t, &before))
		return false;
	extra = t->released;
	fabric(t, FINE);
	healed = clock_now_ns();
	if (!wait_count(t, &t->released, MESSAGES, "not released after the fabric healed"))
		return false;
	t->shared->release_ms = (double)(clock_now_ns() - healed) / 1e6;
	if (!wait_count(t, &t->completed, extra, "writes among late ones did not complete"))
		return false;
	t->completed = 0;
	if (!let_the_receiver_check(t))
		return !fail(t, "something landed after RELEASED");
	if (write_one(t, 0, 1) ||
	    !wait_count(t, &t->late, MESSAGES + 1, "a deadline in the past") ||
	    !wait_count(t, &t->released, MESSAGES + 1, "its release") || write_one(t, 1, far) ||
	    !wait_count(t, &t->completed, 1, "a write with a deadline far away"))
		return false;
	return t->late == MESSAGES + 1 && t->released == MESSAGES + 1 ? true
								      : !fail(t, "said twice");
}

static int sender(void *arg)
{
	struct test *t = arg;
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY, .max_messages = MESSAGES};
	struct in6_addr peer = bed_address(1);
	struct fare *fare;
	bool ok;

	t->domain = bed_enter(&t->bed, 0, &fare);
	t->slots = bed_memory((size_t)MESSAGES * SLOT);
	while (!t->shared->rkey && !t->shared->failed)
		poll(NULL, 0, 1);
	if (fare_mr_register(&t->mr, t->domain, t->slots, (size_t)MESSAGES * SLOT, false) ||
	    fare_group_open(&t->group, t->domain, &peer, &options))
		return fail(t, "no group");
	for (bool connected = false; !connected && !t->shared->failed;) {
		struct fare_event e;

		connected = bed_events(t->domain, &e, 1, 50) == 1 && e.kind == FARE_EVENT_CONNECTED;
	}
	ok = no_plane_left(t) && deadlines(t);
	t->shared->over = 1;
	fare_domain_close(t->domain);
	return !ok;
}

/* Overwrites everything when told, and looks some time later whether that is still there. */
static int receiver(void *arg)
{
	struct test *t = arg;
	struct shared *sh = t->shared;
	size_t bytes = (size_t)MESSAGES * SLOT;
	uint8_t *slots = bed_memory(bytes);
	struct fare_event e[32];
	struct fare *fare;
	struct fare_mr *mr;

	t->domain = bed_enter(&t->bed, 1, &fare);
	if (fare_mr_register(&mr, t->domain, slots, bytes, true))
		return 1;
	sh->slots_addr = (uint64_t)(uintptr_t)slots;
	sh->rkey = fare_mr_rkey(mr) | UINT64_C(1) << 32;
	while (!sh->over) {
		bed_events(t->domain, e, 32, 5);
		if (sh->check == sh->checked)
			continue;
		bed_fill(slots, 0, bytes, 77);
		for (int i = 0; i < 100; i++)
			bed_events(t->domain, e, 32, 5);
		if (!bed_holds(slots, 0, bytes, 77))
			sh->failed = 1;
		sh->checked = sh->check;
	}
	fare_domain_close(t->domain);
	return 0;
}

static void apply(struct test *t, enum fabric wish)
{
	for (unsigned p = 0; p < t->bed.options.planes; p++) {
		if ((wish == GRAY) != (t->shared->is == GRAY))
			bed_gray(&t->bed, p, wish == GRAY);
		t->bed.plane_down[p] = wish == SAID_DOWN;
	}
	bed_publish(&t->bed);
	t->shared->is = wish;
}

int main(int argc, char **argv)
{
	static struct test t;
	struct bed_options options = {
		.provider = argc == 3 ? argv[2] : "soft", .planes = 2, .sub_ports = 2};
	bool ok = false;

	t.shared = mmap(NULL, sizeof(*t.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (!bed_make(&t.bed, &options) && !bed_start(&t.bed, 1, receiver, &t) &&
	    !bed_start(&t.bed, 0, sender, &t)) {
		while (!t.shared->over && !t.shared->failed) {
			if (t.shared->wish != t.shared->is)
				apply(&t, (enum fabric)t.shared->wish);
			poll(NULL, 0, 1);
		}
		ok = !bed_join(&t.bed, 0);
		t.shared->over = 1;
		ok &= !bed_join(&t.bed, 1) && !t.shared->failed;
	}
	bed_destroy(&t.bed);
	printf("{\"group_limits\":{\"provider\":\"%s\",\"deadline_ms\":%.0f,\"late_after_ms\":%.1f,"
	       "\"released_after_healing_ms\":%.1f,\"ok\":%s}}\n",
	       options.provider, (double)LATE_NS / 1e6, t.shared->late_ms, t.shared->release_ms,
	       ok ? "true" : "false");
	return !ok;
}
