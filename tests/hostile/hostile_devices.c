/* links: verbs_mock test_bed */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_devices.c - devices that do wrong, below a QP group of several planes.
 *
 *   hostile_devices [CASE...]
 *
 * Two domains of one process, each in a namespace of the bed, over devices of the mock
 * (verbs_mock.h), one per plane and end. Host 0 writes messages to places of host 1; each place is
 * verified and then filled with a pattern at both ends. So what a device still does with a message
 * that was reported shows. Each case is a process. Exit 77: not root.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"
#include "verbs_mock.h"

#define PLANES	    4u
#define PLACES	    48u
#define PLACE_BYTES 65536u
#define SMALL_BYTES 4096u
#define MESSAGES    2000000u
#define PATIENCE_S  40
#define RETURNED    0xee /* what host 1 fills a place with */
#define REUSED	    0x11 /* and host 0 */
#define MAX_LINES   10	 /* a second */

#define DEADLINE_NS  UINT64_C(2000000000)
#define LATE	     2	/* in n_seen: not RECEIVED when it was RELEASED, and may be yet */
#define SPEED_CHANGE 20 /* IBV_EVENT_DEVICE_SPEED_CHANGE, of later headers */

static struct bed bed;
static const char *name; /* of the case */
static struct verbs_mock_device *nic[2][PLANES];
static struct fare *fare[2];
static struct fare_domain *domain[2];
static struct fare_group *group;
static uint8_t *memory[2];
static struct fare_mr *mr[2];
static bool connected, closed;
static uint32_t place_tag[PLACES]; /* the message there; 0: none */
static bool place_received[PLACES], place_completed[PLACES];
static uint8_t n_seen[MESSAGES]; /* RECEIVED by tag */
static uint32_t next_tag = 1;
static uint64_t n_received, n_completed, n_failed, n_late, n_released;
static int failed_status;	   /* of the last that failed */
static bool small_only, deadlines; /* the latter for odd places */

static void fail(const char *what)
{
	fprintf(stderr, "hostile_devices: %s: %s\n", name, what);
	if (group)
		fare_group_dump(group, 2);
	_exit(1);
}

static void check(bool ok, const char *what)
{
	if (!ok)
		fail(what);
}

/* ---- two hosts ---- */

static uint8_t *place(int host, unsigned i)
{
	return memory[host] + (size_t)i * PLACE_BYTES;
}

static uint64_t bytes_of(unsigned i)
{
	return small_only || i % 8 ? SMALL_BYTES : PLACE_BYTES;
}

static bool is_filled(const uint8_t *at, uint64_t bytes, uint8_t with)
{
	return at[0] == with && !memcmp(at, at + 1, bytes - 1);
}

static void open_host(int h)
{
	struct verbs_mock_device **nics = nic[h];
	char dev[16], gid[48], label[16];

	bed_enter_namespace(&bed, h);
	for (unsigned p = 0; p < PLANES; p++) {
		snprintf(label, sizeof(label), "mock%d%u", h, p);
		snprintf(gid, sizeof(gid), "::ffff:198.18.%u.%d", p * FARE_MAX_SUB_PORTS, h);
		nics[p] = verbs_mock_add(label, bed_device(&bed, h, p, 0, dev), gid, NULL);
		check(nics[p], "no device");
	}
	domain[h] = bed_enter(&bed, h, &fare[h]);
	memory[h] = bed_memory((size_t)PLACES * PLACE_BYTES);
	memset(memory[h], h ? RETURNED : REUSED, (size_t)PLACES * PLACE_BYTES);
	check(!fare_mr_register(&mr[h], domain[h], memory[h], (size_t)PLACES * PLACE_BYTES,
				FARE_REMOTE_WRITE),
	      "no region");
}

/* A place is free again when both ends say so. */
static void leave(unsigned i)
{
	if (!place_received[i] || !place_completed[i])
		return;
	place_tag[i] = 0;
	place_received[i] = place_completed[i] = false;
}

static void on_received(const struct fare_event *e)
{
	for (unsigned i = 0; i < PLACES; i++) {
		if (place_tag[i] != e->tag)
			continue;
		check(++n_seen[e->tag] == 1, "a message arrived twice");
		check(bed_holds(place(1, i), 0, bytes_of(i), e->tag), "a message is not whole");
		memset(place(1, i), RETURNED, PLACE_BYTES);
		place_received[i] = true;
		n_received++;
		leave(i);
		return;
	}
	check(n_seen[e->tag]-- == LATE, "a message arrived that is not under way");
}

/* The memory is the application's again: no device may use it. */
static void take_back(unsigned i)
{
	for (unsigned p = 0; p < PLANES; p++)
		check(!verbs_mock_pending(nic[0][p], place(0, i), PLACE_BYTES),
		      "a device may still use memory that was given back");
	memset(place(0, i), REUSED, PLACE_BYTES);
	place_completed[i] = true;
}

/* Nobody is told of the message, or not yet. What it has placed is overwritten. */
static void give_up(unsigned i)
{
	if (place_received[i])
		return;
	memset(place(1, i), RETURNED, PLACE_BYTES);
	n_seen[place_tag[i]] = LATE;
	place_received[i] = true;
}

static void on_completed(const struct fare_event *e)
{
	unsigned i = (unsigned)e->context;

	n_completed++;
	if (deadlines && i % 2 && e->status == -ETIMEDOUT) {
		n_late++; /* RELEASED follows */
		return;
	}
	take_back(i);
	if (e->status) {
		n_failed++;
		failed_status = e->status;
		give_up(i);
	}
	leave(i);
}

static void on_released(const struct fare_event *e)
{
	unsigned i = (unsigned)e->context;

	n_released++;
	take_back(i);
	give_up(i);
	leave(i);
}

static void on_event(int h, const struct fare_event *e)
{
	connected |= h == 0 && e->kind == FARE_EVENT_CONNECTED;
	closed |= e->kind == FARE_EVENT_CLOSED;
	if (h == 1 && e->kind == FARE_EVENT_RECEIVED)
		on_received(e);
	if (h == 0 && e->kind == FARE_EVENT_COMPLETED)
		on_completed(e);
	if (h == 0 && e->kind == FARE_EVENT_RELEASED)
		on_released(e);
}

static void turn(void)
{
	struct fare_event e[32];

	for (int h = 0; h < 2; h++) {
		int n;

		bed_enter_namespace(&bed, h);
		n = fare_domain_poll(domain[h], e, 32);
		for (int i = 0; i < n; i++)
			on_event(h, &e[i]);
	}
	check(!closed, "the group was closed");
}

static void send_some(void)
{
	for (unsigned i = 0; i < PLACES && next_tag < MESSAGES; i++) {
		struct fare_write w = {.data = place(0, i),
				       .mr = mr[0],
				       .length = bytes_of(i),
				       .remote_addr = (uintptr_t)place(1, i),
				       .rkey = fare_mr_rkey(mr[1]),
				       .tag = next_tag,
				       .flags = FARE_WRITE_NOTIFY,
				       .context = i};

		if (deadlines && i % 2)
			w.deadline_ns = clock_now_ns() + DEADLINE_NS;
		if (place_tag[i])
			continue;
		check(is_filled(place(1, i), PLACE_BYTES, RETURNED),
		      "a device wrote to memory that was given back");
		bed_fill(place(0, i), 0, bytes_of(i), next_tag);
		place_tag[i] = next_tag;
		check(!fare_group_write(group, &w), "a message is not taken");
		next_tag++;
	}
}

#define until(condition)                                                                           \
	do {                                                                                       \
		uint64_t end_ = clock_now_ns() + PATIENCE_S * UINT64_C(1000000000);                \
		while (!(condition)) {                                                             \
			check(clock_now_ns() < end_, "in vain: " #condition);                      \
			turn();                                                                    \
		}                                                                                  \
	} while (0)

static unsigned n_under_way(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PLACES; i++)
		n += place_tag[i] != 0;
	return n;
}

/* So many more messages, none of which fails. */
static void carry(uint64_t messages)
{
	uint64_t end = n_received + messages;

	until((send_some(), n_received >= end));
}

static struct fare_group_stats stats(void)
{
	struct fare_group_stats s;

	fare_group_stats(group, &s);
	return s;
}

static unsigned n_planes_since(const struct fare_group_stats *before)
{
	struct fare_group_stats now = stats();
	unsigned n = 0;

	for (unsigned p = 0; p < PLANES; p++)
		n += now.plane_bytes[p] > before->plane_bytes[p];
	return n;
}

static void open_all(void)
{
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY};
	struct in6_addr peer = bed_address(1);
	struct fare_group_stats none = {0};

	open_host(1);
	open_host(0);
	check(!fare_group_open(&group, domain[0], &peer, &options), "no group");
	until(connected);
	until((send_some(), n_planes_since(&none) == PLANES)); /* each plane carries */
	until(n_under_way() == 0);
}

/* Each message arrived once, and nothing happens behind the last. */
static void close_all(void)
{
	until(n_under_way() == 0);
	for (int i = 0; i < 200; i++)
		turn();
	check(is_filled(memory[1], (size_t)PLACES * PLACE_BYTES, RETURNED),
	      "a device wrote to memory that was given back");
	check(n_completed == next_tag - 1, "completions are missing, or too many");
	check(n_released == n_late, "memory was not released, or twice");
	check(n_received + n_failed + n_late >= next_tag - 1, "messages are missing");
	fare_group_close(group);
	group = NULL;
	for (int h = 0; h < 2; h++) {
		bed_enter_namespace(&bed, h);
		fare_domain_close(domain[h]);
		fare_detach(fare[h]);
	}
}

/* ---- the cases ---- */

/* Posted work that host 0's device of the plane may still do. */
static unsigned pending(unsigned p)
{
	return verbs_mock_pending(nic[0][p], memory[0], PLACES * PLACE_BYTES);
}

/* All that is under way is where it is for good: on plane 3. */
static bool is_past_planes_1_and_2(void)
{
	if (nic[0][1]->n_stopped)
		verbs_mock_mute(nic[0][1], 0);
	if (!pending(2))
		VERBS_MOCK(nic[0][2]->held = nic[0][2]->no_flush = false);
	return !nic[0][1]->mute_from && !nic[0][2]->held && n_under_way() == pending(3);
}

/*
 * Plane 1 does its work and never says so; plane 2 does nothing, and does not flush; plane 3 does
 * nothing and cannot be stopped, not even by ending its QPs. Only plane 0 is well. Messages of
 * planes 1 and 2 arrive by other planes. Memory of those of plane 3, deadline or not, is not given
 * back before it is stopped.
 */
static void no_completions(void)
{
	struct fare_group_stats before = stats();
	uint64_t began = clock_now_ns();

	small_only = true; /* each on one plane */
	deadlines = true;
	verbs_mock_mute(nic[0][1], 1);
	VERBS_MOCK(nic[0][2]->held = nic[0][2]->no_flush = true;
		   nic[0][3]->held = nic[0][3]->no_flush = true;
		   nic[0][3]->refuse_modify = nic[0][3]->refuse_destroy = true);
	until((send_some(),
	       pending(2) && pending(3) && nic[0][1]->n_posted > nic[0][1]->mute_from + 1));
	until(is_past_planes_1_and_2());
	printf("%s: over another plane after %.1f s\n", name,
	       (double)(clock_now_ns() - began) / 1e9);
	check(stats().path_deaths >= before.path_deaths + 2, "no plane was given up");
	check(pending(3), "nothing is on plane 3");
	check(n_late > n_released, "no deadline was missed");
	VERBS_MOCK(nic[0][3]->refuse_destroy = false); /* it is ended at last */
	until(n_under_way() == 0);
	VERBS_MOCK(nic[0][3]->held = nic[0][3]->no_flush = nic[0][3]->refuse_modify = false);
	check(!n_failed, "a message failed");
	deadlines = false;
	before = stats();
	until((send_some(), n_planes_since(&before) == PLANES));
}

/* Ends its message, and no other. */
static void local_protection(void)
{
	verbs_mock_fail(nic[0][1], 1, 1, IBV_WC_LOC_PROT_ERR);
	until((send_some(), n_failed == 1));
	check(failed_status == -EINVAL, "another status than EINVAL");
	carry(500);
	check(n_failed == 1, "more than one message failed");
}

/* How many lines were written to this file. */
static unsigned count_lines(FILE *f)
{
	unsigned n = 0;
	int c;

	rewind(f);
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	return n;
}

/* Each QP of a device fails, again and again: the others carry, and nobody floods a log. */
static void fails_always(void)
{
	const double seconds = 2;
	struct fare_group_stats before = stats();
	uint64_t end = clock_now_ns() + (uint64_t)(seconds * 1e9);
	FILE *f = tmpfile();
	int err = dup(2);
	unsigned lines;

	check(f && dup2(fileno(f), 2) == 2, "no file");
	verbs_mock_fail(nic[0][1], 1, UINT64_MAX, IBV_WC_RETRY_EXC_ERR);
	until((send_some(), clock_now_ns() > end));
	dup2(err, 2);
	lines = count_lines(f);
	fclose(f);
	printf("%s: %u lines, %llu deaths, %llu messages in %.0f s\n", name, lines,
	       (unsigned long long)(stats().path_deaths - before.path_deaths),
	       (unsigned long long)n_received, seconds);
	check(lines < MAX_LINES * seconds, "too many lines");
	check(stats().path_deaths > before.path_deaths, "no QP failed");
	check(stats().path_deaths - before.path_deaths < 20 * seconds, "QPs made without a pause");
	check(!n_failed, "a message failed");
	VERBS_MOCK(nic[0][1]->fail_count = 0);
	before = stats();
	until((send_some(), n_planes_since(&before) == PLANES));
}

/* What no enumeration has is a failure of the path. */
static void unknown_status(void)
{
	static const unsigned list[] = {IBV_WC_GENERAL_ERR, 23, 24, 255, 0x7fffffff, 0xdeadbeef};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct fare_group_stats before = stats();

		verbs_mock_fail(nic[0][i % PLANES], 1, 1, list[i]);
		until((send_some(), stats().path_deaths > before.path_deaths));
		carry(50);
	}
	check(!n_failed, "a message failed");
}

/* Neither the event nor what the port says of its speed ends anything, nor a query that fails. */
static void speeds(void)
{
	static const uint8_t list[][2] = {{0, 0}, {255, 255}, {1, 1}, {32, 2}};
	struct fare_group_stats before = stats();

	for (unsigned i = 0; i < 4 * PLANES; i++) {
		struct verbs_mock_device *d = nic[i & 1][i % PLANES];

		VERBS_MOCK(d->active_speed = list[i % 4][0]; d->active_width = list[i % 4][1];
			   d->query_port_error = i & 2 ? EIO : 0);
		verbs_mock_event(d, SPEED_CHANGE, -1);
		verbs_mock_event(d, IBV_EVENT_PORT_ACTIVE, -1);
		verbs_mock_event(d, 0x7fff, -1);
		carry(30);
	}
	check(stats().path_deaths == before.path_deaths, "a path died");
	check(!n_failed, "a message failed");
}

/* Devices of either end go and come back, while others take long for each change of a QP. */
static void come_and_go(void)
{
	for (unsigned i = 0; i < 4; i++) {
		struct verbs_mock_device *d = nic[i & 1][i],
					 *slow = nic[!(i & 1)][(i + 1) % PLANES];
		struct fare_group_stats before = stats();

		VERBS_MOCK(slow->modify_ms = 30);
		verbs_mock_remove(d);
		until((send_some(), stats().path_deaths > before.path_deaths));
		carry(200);
		verbs_mock_restore(d);
		before = stats();
		until((send_some(), n_planes_since(&before) == PLANES));
		VERBS_MOCK(slow->modify_ms = 0);
	}
	check(!n_failed, "a message failed");
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"no-completions", no_completions},
	{"local-protection", local_protection},
	{"fails-always", fails_always},
	{"unknown-status", unknown_status},
	{"speeds", speeds},
	{"come-and-go", come_and_go},
};

static int run_case(void *arg)
{
	size_t i = *(size_t *)arg;

	name = cases[i].name;
	open_all();
	cases[i].run();
	close_all();
	printf("%s: ok, %llu messages\n", name, (unsigned long long)n_received);
	fflush(stdout);
	return 0;
}

static bool is_wanted(const char *what, int argc, char **argv)
{
	bool any = argc < 2;

	for (int i = 1; i < argc; i++)
		any |= !strcmp(argv[i], what);
	return any;
}

int main(int argc, char **argv)
{
	const struct bed_options options = {.provider = "soft", .planes = PLANES, .sub_ports = 1};
	int failed = 0;

	if (bed_make(&bed, &options))
		return 1;
	bed.options.provider = "verbs"; /* of the domains; the bed's links are those of soft */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (is_wanted(cases[i].name, argc, argv))
			failed |= bed_start(&bed, 0, run_case, &i) || bed_join(&bed, 0);
	bed_destroy(&bed);
	return failed;
}
