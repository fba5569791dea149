/* links: test_bed */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_stopped.c - a peer that is stopped (SIGSTOP) in the middle of writes and READs, longer
 * than any handshake waits; and memory that is released and used for something else meanwhile.
 *
 * Two hosts (bed.h), two planes. Host 0 writes and reads with deadlines. What comes back to it is
 * filled with other bytes at once, and must stay so; at host 1, too, where the parent does it,
 * whether host 1 runs or not. First host 1 is stopped for STOP_MS. Then host 0 is stopped, and host
 * 1 deregisters its memory, fills it with other bytes and offers other memory: nothing may land in
 * the old one, and nothing may be read from it.
 *
 * Exit 77: not root.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"

#define BYTES	    4096u
#define SLOTS	    16u
#define WRITES	    8000u /* each has its place at the target, for good */
#define AREA	    ((size_t)WRITES * BYTES)
#define DEADLINE_NS UINT64_C(400000000)
#define STOP_MS	    10500
#define PATIENCE_NS UINT64_C(40000000000)

#define OWN	0xee /* the application's own bytes again */
#define ELSE	0x77
#define READ_ID 1000000u /* what is there to be read: the same in each slot */

struct shared {
	_Atomic uint64_t write_addr, read_addr;
	_Atomic uint32_t write_key, read_key;
	_Atomic int is_open, release, is_released, is_over;
	_Atomic unsigned done, late, unknown, refused, received, wrong;
	/* of each write: its place, and whether it was released (the parent then uses the place) */
	_Atomic uint64_t place[WRITES];
	_Atomic bool is_free[WRITES];
	uint8_t targets[2][AREA]; /* host 1's memory, before and after it released the first */
};

static struct bed bed;
static struct shared *shared;
static volatile sig_atomic_t is_interrupted;

static void wrong(const char *what, unsigned id)
{
	fprintf(stderr, "hostile_stopped: %s (%u)\n", what, id);
	shared->wrong++;
}

static bool is_all(const uint8_t *at, size_t bytes, uint8_t value)
{
	return at[0] == value && !memcmp(at, at + 1, bytes - 1);
}

/* ---- host 1 ---- */

struct target {
	struct fare_domain *domain;
	uint8_t *writes, *reads;
	struct fare_mr *write_mr, *read_mr;
};

static void offer(struct target *t, uint8_t *writes)
{
	t->writes = writes;
	t->reads = bed_memory(BYTES);
	bed_fill(t->reads, 0, BYTES, READ_ID);
	if (fare_mr_register(&t->write_mr, t->domain, t->writes, AREA, FARE_REMOTE_WRITE) ||
	    fare_mr_register(&t->read_mr, t->domain, t->reads, BYTES, FARE_REMOTE_READ))
		_exit(1);
	shared->write_addr = (uintptr_t)t->writes;
	shared->read_addr = (uintptr_t)t->reads;
	shared->write_key = fare_mr_rkey(t->write_mr);
	shared->read_key = fare_mr_rkey(t->read_mr);
}

static void release(struct target *t)
{
	fare_mr_deregister(t->write_mr);
	fare_mr_deregister(t->read_mr);
	memset(t->writes, ELSE, AREA);
	memset(t->reads, ELSE, BYTES);
}

static void on_received(const struct target *now, uint32_t tag)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)shared->place[tag];
	bool is_released = at < now->writes || at >= now->writes + AREA;

	/* the place of one that was told just before may be in use again */
	if (!bed_holds(at, 0, BYTES, tag) && !is_released && !shared->is_free[tag])
		wrong("a write was received with other bytes", tag);
	shared->received++;
}

static int target(void *arg)
{
	struct target t = {0}, old = {0};
	struct fare_event e[32];
	struct fare *fare;

	(void)arg;
	t.domain = bed_enter(&bed, 1, &fare);
	offer(&t, shared->targets[0]);
	shared->is_open = 1;
	for (unsigned turn = 0; !shared->is_over; turn++) {
		int n = bed_events(t.domain, e, 32, 5);

		for (int i = 0; i < n; i++) {
			if (e[i].kind == FARE_EVENT_CLOSED)
				fare_group_close(e[i].group);
			else if (e[i].kind == FARE_EVENT_RECEIVED)
				on_received(&t, e[i].tag);
		}
		if (shared->release && !shared->is_released) {
			old = t;
			release(&old);
			offer(&t, shared->targets[1]);
			shared->is_released = 1;
		}
		if (old.writes && turn % 32 == 0 &&
		    (!is_all(old.writes, AREA, ELSE) || !is_all(old.reads, BYTES, ELSE)))
			wrong("memory that was released has other bytes", 0);
	}
	return old.writes && is_all(old.writes, AREA, ELSE) ? 0 : 1;
}

/* ---- host 0 ---- */

struct initiator {
	struct fare_domain *domain;
	struct fare_group *group;
	uint8_t *memory;
	struct fare_mr *mr;
	bool is_out[SLOTS], is_read[SLOTS];
	uint32_t tag[SLOTS]; /* of the write */
	uint32_t next_write;
};

static void post(struct initiator *in, unsigned s)
{
	uint8_t *at = in->memory + s * BYTES;
	uint64_t deadline_ns = clock_now_ns() + DEADLINE_NS;
	struct fare_read r = {.mr = in->mr,
			      .data = at,
			      .length = BYTES,
			      .remote_addr = shared->read_addr,
			      .rkey = shared->read_key,
			      .context = s,
			      .deadline_ns = deadline_ns};
	struct fare_write w = {
		.mr = in->mr,
		.data = at,
		.length = BYTES,
		.remote_addr = shared->write_addr + (uint64_t)in->next_write * BYTES,
		.rkey = shared->write_key,
		.tag = in->next_write,
		/* one that tells of itself is not released before its record arrived */
		.flags = s % 4 ? FARE_WRITE_NOTIFY : 0,
		.context = s,
		.deadline_ns = deadline_ns};

	if (!is_all(at, BYTES, OWN))
		wrong("memory that came back has other bytes", s);
	in->is_read[s] = s % 2;
	if (in->is_read[s]) {
		in->is_out[s] = !fare_group_read(in->group, &r);
		return;
	}
	if (in->next_write == WRITES)
		return;
	shared->place[in->next_write] = w.remote_addr;
	in->tag[s] = in->next_write;
	bed_fill(at, 0, BYTES, in->next_write);
	in->is_out[s] = !fare_group_write(in->group, &w);
	if (in->is_out[s])
		in->next_write++;
	else
		memset(at, OWN, BYTES);
}

static void on_completed(struct initiator *in, const struct fare_event *e)
{
	unsigned s = (unsigned)e->context;
	uint8_t *at = in->memory + s * BYTES;

	if (e->kind == FARE_EVENT_COMPLETED && e->status == -ETIMEDOUT) {
		shared->late++;
		shared->unknown++;
		return; /* it is not the application's yet */
	}
	if (e->kind == FARE_EVENT_RELEASED) {
		shared->unknown--;
		shared->is_free[in->tag[s]] |= !in->is_read[s];
	} else if (e->status == -EACCES && shared->is_released) {
		shared->refused++;
	} else if (e->status) {
		wrong("an operation failed", (unsigned)-e->status);
	} else {
		shared->done++;
	}
	if (e->kind == FARE_EVENT_COMPLETED && !e->status && in->is_read[s] &&
	    !bed_holds(at, 0, BYTES, READ_ID))
		wrong("a READ brought other bytes", s);
	memset(at, OWN, BYTES);
	in->is_out[s] = false;
}

static int initiator(void *arg)
{
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY};
	struct in6_addr peer = bed_address(1);
	struct initiator in = {0};
	struct fare_event e[32];
	struct fare *fare;

	(void)arg;
	in.domain = bed_enter(&bed, 0, &fare);
	in.memory = bed_memory(SLOTS * BYTES);
	memset(in.memory, OWN, SLOTS * BYTES);
	while (!shared->is_open)
		poll(NULL, 0, 1);
	if (fare_mr_register(&in.mr, in.domain, in.memory, SLOTS * BYTES, 0) ||
	    fare_group_open(&in.group, in.domain, &peer, &options))
		return 1;
	while (!shared->is_over) {
		int n = bed_events(in.domain, e, 32, 5);

		for (int i = 0; i < n; i++) {
			if (e[i].kind == FARE_EVENT_CLOSED)
				wrong("the group closed", 0);
			if (e[i].kind == FARE_EVENT_COMPLETED || e[i].kind == FARE_EVENT_RELEASED)
				on_completed(&in, &e[i]);
		}
		for (unsigned s = 0; s < SLOTS; s++)
			if (!in.is_out[s])
				post(&in, s);
		poll(NULL, 0, 10);
	}
	return 0;
}

/* ---- the test ---- */

static void fail(const char *what)
{
	fprintf(stderr,
		"hostile_stopped: %s (done %u, late %u, not released %u, refused %u, received "
		"%u)\n",
		what, shared->done, shared->late, shared->unknown, shared->refused,
		shared->received);
	bed_destroy(&bed);
	exit(1);
}

/* What was released belongs to the target's application again, whether that runs or not. */
static void use_released(void)
{
	static bool is_used[WRITES];

	for (unsigned i = 0; i < WRITES; i++) {
		uint8_t *at = (uint8_t *)(uintptr_t)shared->place[i];

		if (!shared->is_free[i])
			continue;
		if (is_used[i] && !is_all(at, BYTES, ELSE))
			wrong("a write that was released landed", i);
		memset(at, ELSE, BYTES);
		is_used[i] = true;
	}
}

static void look_after(void)
{
	use_released();
	if (is_interrupted)
		fail("interrupted");
	if (shared->wrong)
		fail("something is wrong");
	for (int h = 0; h < 2; h++)
		if (waitpid(bed.child[h], NULL, WNOHANG))
			fail("a host's process died");
	poll(NULL, 0, 5);
}

#define AWAIT(condition)                                                                           \
	do {                                                                                       \
		for (uint64_t end = clock_now_ns() + PATIENCE_NS; !(condition); look_after())      \
			if (clock_now_ns() > end)                                                  \
				fail("never came true: " #condition);                              \
	} while (0)

static void await_more(unsigned n)
{
	unsigned done = shared->done;

	AWAIT(shared->done - done >= n);
}

static void on_signal(int number)
{
	(void)number;
	is_interrupted = 1;
}

int main(void)
{
	struct bed_options options = {.provider = "soft", .planes = 2, .sub_ports = 1};
	uint64_t began;

	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	if (bed_make(&bed, &options))
		return 1;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (bed_start(&bed, 1, target, NULL) || bed_start(&bed, 0, initiator, NULL))
		fail("no processes");
	await_more(300);
	kill(bed.child[1], SIGSTOP);
	began = clock_now_ns();
	AWAIT(clock_now_ns() - began > STOP_MS * UINT64_C(1000000));
	if (!shared->late)
		fail("no deadline passed");
	kill(bed.child[1], SIGCONT);
	await_more(300);
	AWAIT(!shared->unknown);
	printf("the target was stopped: %u operations late, all released\n", shared->late);
	kill(bed.child[0], SIGSTOP);
	shared->release = 1;
	AWAIT(shared->is_released);
	kill(bed.child[0], SIGCONT);
	await_more(300);
	AWAIT(!shared->unknown);
	printf("the initiator was stopped, memory released: %u refused, %u done, %u received\n",
	       shared->refused, shared->done, shared->received);
	shared->is_over = 1;
	if (bed_join(&bed, 0) || bed_join(&bed, 1) || shared->wrong)
		fail("something is wrong");
	bed_destroy(&bed);
	return 0;
}
