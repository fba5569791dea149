/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slow_receiver.c - a receiver that stays away again and again, as long as anything is acknowledged
 * for it, and then takes few events at a time: of many small writes with notification each arrives,
 * once.
 *
 *   slow_receiver [--provider soft|verbs]
 *
 * Two hosts (bed.h), two planes of two sub-ports. Exit 77: not root. One line of JSON at the end.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"

#define MESSAGES    6000u
#define PAUSE_EVERY 500u
#define STILL_NS    UINT64_C(100000000)
#define LIMIT_NS    UINT64_C(180000000000)

struct shared {
	_Atomic unsigned completed, received, twice, pauses, most_ahead;
	_Atomic int listens, over;
	unsigned char got[MESSAGES];
};

struct test {
	struct bed bed;
	struct shared *shared;
};

static int sender(void *arg)
{
	struct test *t = arg;
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY};
	struct in6_addr peer = bed_address(1);
	uint64_t end = clock_now_ns() + LIMIT_NS;
	struct fare_group *group;
	struct fare_event e[64];
	unsigned posted = 0;
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&t->bed, 0, &fare);

	while (!t->shared->listens)
		poll(NULL, 0, 1);
	if (fare_group_open(&group, domain, &peer, &options))
		return 1;
	while (!t->shared->over && clock_now_ns() < end) {
		struct fare_write w = {.flags = FARE_WRITE_NOTIFY, .tag = posted};
		int n;

		for (; posted < MESSAGES && !fare_group_write(group, &w); w.tag++)
			posted++;
		n = bed_events(domain, e, 64, 5);
		for (int i = 0; i < n; i++)
			t->shared->completed += e[i].kind == FARE_EVENT_COMPLETED && !e[i].status;
	}
	if (!t->shared->over)
		fare_group_dump(group, STDERR_FILENO);
	fare_domain_close(domain);
	return !t->shared->over;
}

/* Until nothing more is acknowledged for whoever does not look. */
static void stay_away(struct shared *sh)
{
	uint64_t since = clock_now_ns();
	unsigned was = sh->completed;

	for (; clock_now_ns() < since + STILL_NS; poll(NULL, 0, 1)) {
		if (sh->completed == was)
			continue;
		was = sh->completed;
		since = clock_now_ns();
	}
	sh->pauses++;
	if (was - sh->received > sh->most_ahead)
		sh->most_ahead = was - sh->received;
}

static int receiver(void *arg)
{
	struct test *t = arg;
	struct shared *sh = t->shared;
	uint64_t end = clock_now_ns() + LIMIT_NS;
	struct fare_event e[16];
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&t->bed, 1, &fare);

	sh->listens = 1;
	while (sh->received < MESSAGES && clock_now_ns() < end) {
		int n = bed_events(domain, e, 16, 5);

		for (int i = 0; i < n; i++) {
			if (e[i].kind != FARE_EVENT_RECEIVED || e[i].tag >= MESSAGES)
				continue;
			sh->twice += sh->got[e[i].tag]++ != 0;
			sh->received++;
		}
		if (sh->received / PAUSE_EVERY >= sh->pauses && sh->received)
			stay_away(sh);
	}
	while (sh->completed < MESSAGES && clock_now_ns() < end) /* and its last word */
		bed_events(domain, e, 16, 5);
	sh->over = sh->received == MESSAGES;
	fare_domain_close(domain);
	return !sh->over || sh->twice || sh->completed != MESSAGES;
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
		ok = !bed_join(&t.bed, 0);
		ok &= !bed_join(&t.bed, 1);
	}
	bed_destroy(&t.bed);
	printf("{\"slow_receiver\":{\"provider\":\"%s\",\"messages\":%u,\"completed\":%u,"
	       "\"received\":%u,\"twice\":%u,"
	       "\"pauses\":%u,\"most_acknowledged_unread\":%u,\"ok\":%s}}\n",
	       options.provider, MESSAGES, t.shared->completed, t.shared->received, t.shared->twice,
	       t.shared->pauses, t.shared->most_ahead, ok ? "true" : "false");
	return !ok;
}
