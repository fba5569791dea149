/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stale_write.c - packets of a dead plane that come late: nothing of them may land.
 *
 *   stale_write [--rounds N] [--provider soft|verbs] [--patience S] [--json FILE]
 *
 * One round: a sub-port of plane 0 is shaped to almost nothing, so that what goes out there stays
 * queued. Messages are sent; the plane is declared dead; its chunks go again over the other plane,
 * and the messages complete. At once both ends use their buffers for something else. The plane
 * comes back by its other sub-port, with new QPs. Only then is the queue let go: the old writes
 * arrive, well-formed, for buffers that now hold other data. None of it may show. In every fourth
 * round the plane does not die: its QPs move to the other sub-port, and the packets let go later
 * are duplicates of living QPs.
 *
 * soft: a bed of its own (bed.h). verbs: the devices of tests/vm/fabric.sh with 2 planes
 * and 2 sub-ports (there a QP cannot move: every round is of the first kind). Exit 77: not root.
 * What takes longer than --patience seconds (60) fails. One line of JSON at the end.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"

#define MESSAGES     8 /* a round */
#define REPORT_EVERY 50
#define SLOT	     (192u << 10)

struct shared {
	_Atomic uint64_t rkey, slots_addr, go, completed, received, check, checked, polls, deaths,
		rebuilds, nudge;
	_Atomic int connected, stop, failed, dump;
};

struct drill {
	struct bed bed;
	uint64_t rounds, done, only_moved, patience_ns;
	struct shared *shared;
	const char *json;
	uint64_t held_bytes, held_packets;
};

static bool fail(struct drill *d, const char *what, uint64_t round)
{
	fprintf(stderr, "stale_write: round %llu: %s\n", (unsigned long long)round, what);
	/* the sender, if it is not itself that speaks, says what it waits for */
	d->shared->dump = 1;
	for (int i = 0; i < 200 && d->shared->dump; i++)
		poll(NULL, 0, 5);
	d->shared->failed = 1;
	d->shared->stop = 1;
	return false;
}

/* ---- what buffers hold ---- */

enum content {
	SENT,
	SENDER_NEXT,
	RECEIVER_NEXT
}; /* the message; what each end puts there when it is over */

static void fill(uint8_t *slot, enum content content, uint64_t round)
{
	bed_fill(slot, 0, SLOT, round * 4 + content);
}

static bool holds(const uint8_t *slot, enum content content, uint64_t round)
{
	return bed_holds(slot, 0, SLOT, round * 4 + content);
}

/* ---- the two applications ---- */

/* tag: round * MESSAGES + slot */
static int receiver(void *arg)
{
	struct drill *d = arg;
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&d->bed, 1, &fare);
	struct shared *sh = d->shared;
	uint8_t *slots = bed_memory((size_t)MESSAGES * SLOT);
	struct fare_event e[32];
	struct fare_mr *mr;

	if (fare_mr_register(&mr, domain, slots, (size_t)MESSAGES * SLOT, true))
		return 1;
	sh->slots_addr = (uint64_t)(uintptr_t)slots;
	sh->rkey = fare_mr_rkey(mr) | UINT64_C(1) << 32;
	for (; !sh->stop; sh->polls++) {
		int n = bed_events(domain, e, 32, 5);

		for (int i = 0; i < n; i++) {
			uint8_t *slot = slots + (size_t)(e[i].tag % MESSAGES) * SLOT;

			if (e[i].kind != FARE_EVENT_RECEIVED)
				continue;
			if (!holds(slot, SENT, e[i].tag / MESSAGES))
				fail(d, "a message arrived damaged", e[i].tag / MESSAGES);
			fill(slot, RECEIVER_NEXT, e[i].tag / MESSAGES);
			sh->received++;
		}
		if (sh->check == sh->checked)
			continue;
		for (unsigned k = 0; k < MESSAGES; k++)
			if (!holds(slots + (size_t)k * SLOT, RECEIVER_NEXT, sh->check))
				fail(d, "a stale write has landed", sh->check);
		sh->checked = sh->check;
	}
	fare_domain_close(domain);
	return 0;
}

static void post_round(struct drill *d, struct fare_group *group, struct fare_mr *mr,
		       uint8_t *slots, uint64_t round)
{
	for (uint64_t k = 0; k < MESSAGES; k++) {
		struct fare_write w = {.data = slots + k * SLOT,
				       .mr = mr,
				       .length = SLOT,
				       .remote_addr = d->shared->slots_addr + k * SLOT,
				       .rkey = (uint32_t)d->shared->rkey,
				       .tag = (uint32_t)(round * MESSAGES + k),
				       .flags = FARE_WRITE_NOTIFY,
				       .context = round * MESSAGES + k};

		fill(slots + k * SLOT, SENT, round);
		if (fare_group_write(group, &w))
			fail(d, "a write was refused", round);
	}
}

/* A datagram of no meaning through the held device: its queue looks at its new rate. */
static void nudge(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, "198.18.0.1", &to.sin_addr);
	if (fd < 0 || sendto(fd, "", 1, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		perror("stale_write: nudge");
	close(fd);
}

static int sender(void *arg)
{
	/* rounds are not to wait for a back-off that is right for planes that flap */
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY, .backoff_max_ms = 10};
	struct drill *d = arg;
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&d->bed, 0, &fare);
	struct shared *sh = d->shared;
	uint8_t *slots = bed_memory((size_t)MESSAGES * SLOT);
	struct in6_addr peer = bed_address(1);
	struct fare_group_stats stats;
	struct fare_group *group;
	struct fare_event e[32];
	struct fare_mr *mr;
	uint64_t round = 0, nudged = 0;

	while (!sh->rkey)
		poll(NULL, 0, 1);
	if (fare_mr_register(&mr, domain, slots, (size_t)MESSAGES * SLOT, false) ||
	    fare_group_open(&group, domain, &peer, &options))
		return 1;
	while (!sh->stop) {
		int n = bed_events(domain, e, 32, 5);

		for (int i = 0; i < n; i++) {
			if (e[i].kind == FARE_EVENT_CONNECTED)
				sh->connected = 1;
			if (e[i].kind != FARE_EVENT_COMPLETED)
				continue;
			if (e[i].status)
				fail(d, strerror(-e[i].status), round);
			/* ours again: a late retransmission would carry this */
			fill(slots + e[i].context % MESSAGES * SLOT, SENDER_NEXT,
			     e[i].context / MESSAGES);
			sh->completed++;
		}
		if (sh->go != round)
			post_round(d, group, mr, slots, round = sh->go);
		fare_group_stats(group, &stats);
		sh->deaths = stats.path_deaths;
		sh->rebuilds = stats.path_rebuilds;
		for (; nudged != sh->nudge; nudged++)
			nudge();
		if (sh->dump)
			fare_group_dump(group, STDERR_FILENO);
		sh->dump = 0;
	}
	fare_domain_close(domain);
	return 0;
}

/* ---- the held device ---- */

/* tc on the held device: the sender's end of plane 0, sub-port 0. */
static int tc(struct drill *d, const char *verb, const char *rate)
{
	char name[16], in[48];

	return bed_run("%stc qdisc %s dev %s root handle 1: tbf rate %s burst 1600 limit 8388608",
		       bed_in(&d->bed, 0, in), verb, bed_device(&d->bed, 0, 0, 0, name), rate);
}

static bool backlog(struct drill *d, uint64_t *bytes, uint64_t *packets)
{
	char command[160], name[16], line[256], in[48];
	unsigned long long b = 0, p = 0;
	bool found = false;
	char unit;
	FILE *f;

	snprintf(command, sizeof(command), "%stc -s qdisc show dev %s root", bed_in(&d->bed, 0, in),
		 bed_device(&d->bed, 0, 0, 0, name));
	f = popen(command, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " backlog %llub %llup", &b, &p) == 2)
			found = true;
		else if (sscanf(line, " backlog %llu%c%*s %llup", &b, &unit, &p) == 3) {
			b *= unit == 'K' ? 1024 : unit == 'M' ? 1048576 : 1;
			found = true;
		}
	}
	if (f)
		pclose(f);
	*bytes = b;
	*packets = p;
	return found;
}

static void say(struct drill *d, bool plane_down, bool sub_port_down)
{
	d->bed.plane_down[0] = plane_down;
	d->bed.sub_port_down[0][0][0] = d->bed.sub_port_down[1][0][0] = sub_port_down;
	bed_publish(&d->bed);
}

/* ---- rounds ---- */

static bool wait_for(struct drill *d, const _Atomic uint64_t *counter, uint64_t at_least,
		     const char *what, uint64_t round)
{
	uint64_t end = clock_now_ns() + d->patience_ns;

	while (*counter < at_least && !d->shared->failed) {
		if (clock_now_ns() > end)
			return fail(d, what, round);
		poll(NULL, 0, 1);
	}
	return !d->shared->failed;
}

static bool wait_held(struct drill *d, uint64_t round)
{
	uint64_t end = clock_now_ns() + d->patience_ns, bytes = 0, packets = 0;

	while (!backlog(d, &bytes, &packets) || packets < 2) {
		if (clock_now_ns() > end || d->shared->failed)
			return fail(d, "nothing is held back", round);
	}
	return true;
}

static bool wait_released(struct drill *d, uint64_t round)
{
	uint64_t end = clock_now_ns() + d->patience_ns, bytes = 1, packets = 1;

	do {
		d->shared->nudge++;
		if (clock_now_ns() > end)
			return fail(d, "the queue does not empty", round);
	} while (!backlog(d, &bytes, &packets) || packets);
	return true;
}

static bool one_round(struct drill *d, uint64_t round)
{
	struct shared *sh = d->shared;
	bool dies = d->bed.verbs || round % 4;
	uint64_t rebuilds, deaths = sh->deaths, bytes, packets, total = round * MESSAGES;

	if (tc(d, "change", "1kbit"))
		return fail(d, "tc", round);
	sh->go = round;
	if (!wait_held(d, round))
		return false;
	rebuilds = sh->rebuilds;
	say(d, dies, true);
	if ((dies && !wait_for(d, &sh->deaths, deaths + 1, "the plane does not die", round)) ||
	    !wait_for(d, &sh->completed, total, "messages do not complete", round) ||
	    !wait_for(d, &sh->received, total, "messages do not arrive", round))
		return false;
	backlog(d, &bytes, &packets);
	d->held_bytes += bytes;
	d->held_packets += packets;
	if (!packets)
		return fail(d, "nothing was held past completion", round);
	d->only_moved += !dies;
	say(d, false, true);
	if (dies && !wait_for(d, &sh->rebuilds, rebuilds + 1, "the plane is not rebuilt", round))
		return false;
	if (tc(d, "change", "10gbit") || !wait_released(d, round) ||
	    !wait_for(d, &sh->polls, sh->polls + 3, "the receiver stopped", round))
		return false;
	sh->check = round;
	if (!wait_for(d, &sh->checked, round, "no check", round))
		return false;
	rebuilds = sh->rebuilds;
	say(d, false, false);
	/* devices cannot be moved to: new QPs spread over both */
	return !d->bed.verbs ||
	       wait_for(d, &sh->rebuilds, rebuilds + 1, "the sub-port is not taken back", round);
}

static bool drill(struct drill *d)
{
	struct shared *sh = d->shared;
	uint64_t start = clock_now_ns();
	bool ok = true;

	if (tc(d, "add", "10gbit"))
		return fail(d, "tc", 0);
	if (bed_start(&d->bed, 1, receiver, d) || bed_start(&d->bed, 0, sender, d))
		return fail(d, "fork", 0);
	while (!sh->connected && !sh->failed && clock_now_ns() - start < d->patience_ns)
		poll(NULL, 0, 5);
	if (!sh->connected)
		return fail(d, "not connected", 0);
	for (uint64_t round = 1; ok && round <= d->rounds; round++) {
		ok = one_round(d, round);
		d->done += ok;
		/* long work shows progress */
		if (d->rounds > REPORT_EVERY && round % REPORT_EVERY == 0)
			fprintf(stderr, "stale_write: %llu of %llu rounds\n",
				(unsigned long long)round, (unsigned long long)d->rounds);
	}
	sh->stop = 1;
	for (int h = 0; h < 2; h++)
		ok &= !bed_join(&d->bed, h);
	return ok && !sh->failed;
}

/* stale_writes is null where the drill did not come to its end: then nothing is known. */
static void report(const struct drill *d, FILE *to, bool ok, double seconds)
{
	const struct shared *sh = d->shared;

	fprintf(to,
		"{\"stale\":{\"provider\":\"%s\",\"rounds\":%llu,\"only_moved\":%llu,\"held_"
		"packets\":%llu,"
		"\"held_bytes\":%llu,\"deaths\":%llu,\"rebuilds\":%llu,\"seconds\":%.1f,"
		"\"stale_writes\":%s}}\n",
		d->bed.options.provider, (unsigned long long)d->done,
		(unsigned long long)d->only_moved, (unsigned long long)d->held_packets,
		(unsigned long long)d->held_bytes, (unsigned long long)sh->deaths,
		(unsigned long long)sh->rebuilds, seconds, ok ? "0" : "null");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"rounds", 1, 0, 'r'},
						{"provider", 1, 0, 'p'},
						{"patience", 1, 0, 'w'},
						{"json", 1, 0, 'j'},
						{0, 0, 0, 0}};
	static struct drill d = {.rounds = 12, .patience_ns = UINT64_C(60000000000)};
	struct bed_options bed = {.provider = "soft", .planes = 2, .sub_ports = 2, .mtu = 1500};
	uint64_t start;
	bool ok = false;
	FILE *json;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'r')
			d.rounds = strtoull(optarg, NULL, 0);
		else if (c == 'p')
			bed.provider = optarg;
		else if (c == 'w')
			d.patience_ns = (uint64_t)(atof(optarg) * 1e9);
		else if (c == 'j')
			d.json = optarg;
		else
			return 2;
	}
	d.shared = mmap(NULL, sizeof(*d.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	start = clock_now_ns();
	if (!bed_make(&d.bed, &bed))
		ok = drill(&d);
	bed_destroy(&d.bed);
	report(&d, stdout, ok, (double)(clock_now_ns() - start) / 1e9);
	json = d.json ? fopen(d.json, "w") : NULL;
	if (json) {
		report(&d, json, ok, (double)(clock_now_ns() - start) / 1e9);
		fclose(json);
	}
	return !ok;
}
