/*
 * group_drill.c - a QP group under fire, without a router: two network namespaces joined by n x m veth pairs, a process in
 * each, and a parent that plays the daemon (it writes both segments) and breaks planes at random.
 *
 *   group_drill [--mode flow|spray] [--seconds S] [--seed N] [--calm]      (--calm: no faults)
 *
 * The opener sends messages of random sizes into a ring of slots, each with a pattern of its own; the acceptor
 * verifies every byte when it is notified and gives the slot back. Lost, duplicated or corrupted messages fail.
 * Exit 77: not root. One line of JSON at the end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fare.h"
#include "shm_writer.h"

#define PLANES	  4
#define SUB_PORTS 2
#define SLOTS	  16
#define SLOT_MAX  (1u << 20)

struct shared {
	_Atomic int stop, over, failed;
	_Atomic uint64_t rkey, slots_addr, sent, completed, received, bytes, replayed, deaths, rebuilds, duplicates;
	_Atomic uint64_t retransmitted, needless, moves;
	_Atomic int connected, accepted;
};

struct drill {
	enum fare_mode mode;
	double seconds;
	unsigned seed;
	char ns[2][32], dir[2][48];
	pid_t child[2];
	struct shared *shared;
	struct shm_writer *writer[2];
	bool calm;
	bool down[PLANES], half[PLANES];
};

static struct in6_addr address(int host)
{
	struct in6_addr a;
	char text[32];

	snprintf(text, sizeof(text), "::ffff:198.19.0.%d", host + 1);
	inet_pton(AF_INET6, text, &a);
	return a;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

__attribute__((format(printf, 1, 2))) static int run(const char *format, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	return system(command);
}

static void fail(struct drill *d, const char *what, uint64_t id)
{
	fprintf(stderr, "group_drill: %s (message %llu)\n", what, (unsigned long long)id);
	d->shared->failed = 1;
	d->shared->stop = 1;
}

static uint64_t pattern(uint64_t id, uint64_t i)
{
	return (id + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ i * UINT64_C(0xc2b2ae3d27d4eb4f);
}

static uint32_t size_of(uint64_t id)
{
	uint64_t h = pattern(id, 77);

	h ^= h >> 31;
	return h % 5 == 0 ? (uint32_t)(h >> 8) % 64 + 8 : ((uint32_t)(h >> 8) % (SLOT_MAX / 8) + 1) * 8;
}

static void fill(uint8_t *slot, uint64_t id)
{
	uint32_t n = size_of(id);

	for (uint32_t i = 0; i + 8 <= n; i += 8)
		*(uint64_t *)(void *)(slot + i) = pattern(id, i);
}

static bool verify(const uint8_t *slot, uint64_t id)
{
	uint32_t n = size_of(id);

	for (uint32_t i = 0; i + 8 <= n; i += 8)
		if (*(const uint64_t *)(const void *)(slot + i) != pattern(id, i))
			return false;
	return true;
}

static struct fare_domain *open_domain(struct drill *d, int host, struct fare **fare)
{
	struct fare_domain_options options = { .accept = host == 1, .secret = 42 };
	struct fare_domain *domain;
	char path[64];
	int fd, err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "/run/netns/%s", d->ns[host]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET)) {
		perror(path);
		exit(1);
	}
	err = fare_attach(fare, d->dir[host]);
	if (!err)
		err = fare_domain_open(&domain, *fare, 0, &options);
	if (err) {
		fprintf(stderr, "group_drill: %s\n", strerror(-err));
		exit(1);
	}
	return domain;
}

static int wait_events(struct fare_domain *domain, struct fare_event *e, int max)
{
	struct pollfd p = { .fd = fare_domain_fd(domain), .events = POLLIN };
	int n = fare_domain_poll(domain, e, max);

	if (n)
		return n;
	poll(&p, 1, 50);
	return fare_domain_poll(domain, e, max);
}

/* The acceptor: verifies, and gives the slot back by a bare notification of the same number. */
static int receiver(struct drill *d)
{
	uint8_t *slots = mmap(NULL, (size_t)SLOTS * SLOT_MAX, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct shared *sh = d->shared;
	struct fare_event e[32];
	struct fare_domain *domain;
	struct fare *fare;
	struct fare_mr *mr;
	uint32_t credits[SLOTS], n_credits = 0;
	struct fare_group *group = NULL;

	domain = open_domain(d, 1, &fare);
	if (fare_mr_register(&mr, domain, slots, (size_t)SLOTS * SLOT_MAX, true))
		return 1;
	sh->slots_addr = (uint64_t)(uintptr_t)slots;
	sh->rkey = fare_mr_rkey(mr) | UINT64_C(1) << 32;
	while (!sh->over) {
		int n = wait_events(domain, e, 32);

		if (n < 0)
			return 1;
		for (int i = 0; i < n; i++) {
			if (e[i].kind == FARE_EVENT_ACCEPTED)
				sh->accepted = 1;
			if (e[i].kind == FARE_EVENT_CLOSED && !sh->over)
				fail(d, "closed", sh->received);
			if (e[i].kind == FARE_EVENT_COMPLETED && e[i].status && !sh->over)
				fail(d, strerror(-e[i].status), sh->received);
			if (e[i].kind != FARE_EVENT_RECEIVED)
				continue;
			group = e[i].group;
			/* ids reach us modulo 2^32, in any order; a slot's owner is unique */
			if (e[i].bytes != size_of(e[i].tag))
				fail(d, "wrong size", e[i].tag);
			if (!verify(slots + (size_t)(e[i].tag % SLOTS) * SLOT_MAX, e[i].tag))
				fail(d, "corrupted", e[i].tag);
			memset(slots + (size_t)(e[i].tag % SLOTS) * SLOT_MAX, 0xee, size_of(e[i].tag));
			sh->received++;
			sh->bytes += e[i].bytes;
			credits[n_credits++] = e[i].tag;
		}
		while (n_credits) {
			struct fare_write w = { .tag = credits[n_credits - 1], .flags = FARE_WRITE_NOTIFY };

			if (fare_group_write(group, &w))
				break;
			n_credits--;
		}
	}
	fare_domain_close(domain);
	fare_detach(fare);
	return 0;
}

struct sender_state {
	uint8_t *slots;
	bool busy[SLOTS], done[SLOTS], credited[SLOTS];
	uint64_t owner[SLOTS], next;
};

static void sender_event(struct drill *d, struct sender_state *s, const struct fare_event *e)
{
	unsigned slot = (unsigned)(e->kind == FARE_EVENT_COMPLETED ? e->context : e->tag) % SLOTS;

	if (e->kind == FARE_EVENT_CONNECTED)
		d->shared->connected = 1;
	if (e->kind == FARE_EVENT_CLOSED && !d->shared->stop)
		fail(d, "closed", s->next);
	if (e->kind == FARE_EVENT_COMPLETED) {
		if (e->status || s->done[slot] || s->owner[slot] != e->context)
			fail(d, "completed wrongly or twice", e->context);
		s->done[slot] = true;
		d->shared->completed++;
	} else if (e->kind == FARE_EVENT_RECEIVED) {
		if (s->credited[slot] || (uint32_t)s->owner[slot] != e->tag)
			fail(d, "notified wrongly or twice", e->tag);
		s->credited[slot] = true;
	} else {
		return;
	}
	if (s->done[slot] && s->credited[slot])
		s->busy[slot] = false;
}

static int sender(struct drill *d)
{
	struct shared *sh = d->shared;
	struct sender_state s = { .slots = mmap(NULL, (size_t)SLOTS * SLOT_MAX, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
	struct fare_group_options options = { .mode = d->mode };
	struct fare_group_stats stats;
	struct fare_event e[32];
	struct fare_domain *domain;
	struct fare_group *group;
	struct in6_addr peer = address(1);
	struct fare *fare;
	struct fare_mr *mr;
	uint64_t patience = 0;

	domain = open_domain(d, 0, &fare);
	while (!sh->rkey)
		sched_yield();
	if (fare_mr_register(&mr, domain, s.slots, (size_t)SLOTS * SLOT_MAX, false) ||
	    fare_group_open(&group, domain, &peer, &options))
		return 1;
	for (;;) {
		int n = wait_events(domain, e, 32);
		bool idle = true;

		if (n < 0)
			return 1;
		for (int i = 0; i < n; i++)
			sender_event(d, &s, &e[i]);
		for (unsigned k = 0; k < SLOTS; k++)
			idle &= !s.busy[k];
		if (sh->failed || (sh->stop && idle))
			break;
		patience = sh->stop && !patience ? now_ns() : patience;
		if (patience && now_ns() - patience > UINT64_C(20000000000)) {
			fail(d, "a message never completed", s.next);
			break;
		}
		while (!sh->stop && sh->connected && !s.busy[s.next % SLOTS]) {
			unsigned k = (unsigned)(s.next % SLOTS);
			uint8_t *slot = s.slots + (size_t)k * SLOT_MAX;
			struct fare_write w = { .data = slot, .mr = mr, .length = size_of(s.next),
						.remote_addr = sh->slots_addr + (uint64_t)k * SLOT_MAX,
						.rkey = (uint32_t)sh->rkey, .tag = (uint32_t)s.next,
						.flags = FARE_WRITE_NOTIFY, .context = s.next };

			s.busy[k] = true;
			s.done[k] = s.credited[k] = false;
			s.owner[k] = s.next;
			fill(slot, s.next);
			if (fare_group_write(group, &w)) {
				s.busy[k] = false;
				break;
			}
			s.next++;
			sh->sent = s.next;
		}
	}
	sh->over = 1;
	fare_group_stats(group, &stats);
	sh->replayed = stats.chunks_replayed;
	sh->deaths = stats.path_deaths;
	sh->rebuilds = stats.path_rebuilds;
	sh->duplicates = stats.duplicate_notifications;
	sh->retransmitted = stats.retransmitted_packets;
	sh->needless = stats.flow_needless_moves;
	sh->moves = stats.flow_moves;
	fare_domain_close(domain);
	fare_detach(fare);
	return 0;
}

static int build(struct drill *d)
{
	for (int h = 0; h < 2; h++) {
		snprintf(d->ns[h], sizeof(d->ns[h]), "fl-drill%d-%d", (int)getpid(), h);
		snprintf(d->dir[h], sizeof(d->dir[h]), "/tmp/fl-drill%d-%d", (int)getpid(), h);
		if (run("mkdir -p %s && ip netns add %s && ip -n %s link set lo up && ip -n %s addr add 198.19.0.%d/32 dev lo",
			d->dir[h], d->ns[h], d->ns[h], d->ns[h], h + 1))
			return 1;
	}
	for (int p = 0; p < PLANES; p++)
		for (int s = 0; s < SUB_PORTS; s++)
			if (run("ip link add p%ds%d netns %s mtu 4200 type veth peer name p%ds%d netns %s mtu 4200 && "
				"ip -n %s addr add 198.18.%d.0/31 dev p%ds%d && ip -n %s addr add 198.18.%d.1/31 dev p%ds%d && "
				"ip -n %s link set p%ds%d up && ip -n %s link set p%ds%d up && "
				"ip netns exec %s tc qdisc add dev p%ds%d root handle 1: tbf rate 200mbit burst 131072 limit 1048576",
				p, s, d->ns[0], p, s, d->ns[1], d->ns[0], p * 8 + s, p, s, d->ns[1], p * 8 + s, p, s,
				d->ns[0], p, s, d->ns[1], p, s, d->ns[0], p, s))
				return 1;
	for (int h = 0; h < 2; h++)
		if (run("ip netns exec %s sysctl -qw net.ipv4.conf.all.rp_filter=0 && "
			"ip -n %s route add 198.19.0.%d/32 via 198.18.0.%d", d->ns[h], d->ns[h], 2 - h, 1 - h))
			return 1;
	for (int h = 0; h < 2; h++)
		for (int p = 0; p < PLANES; p++)
			for (int s = 0; s < SUB_PORTS; s++)
				if (run("ip netns exec %s sysctl -qw net.ipv4.conf.p%ds%d.rp_filter=0", d->ns[h], p, s))
					return 1;
	return 0;
}

static void tear_down(struct drill *d)
{
	for (int h = 0; h < 2; h++) {
		if (d->child[h] > 0) {
			kill(d->child[h], SIGKILL);
			waitpid(d->child[h], NULL, 0);
		}
		if (d->ns[h][0])
			run("ip netns del %s 2>/dev/null; rm -rf %s", d->ns[h], d->dir[h]);
	}
}

static void publish(struct drill *d)
{
	for (int h = 0; h < 2; h++) {
		struct shm_path path[PLANES];
		struct in6_addr peer = address(1 - h);

		for (int p = 0; p < PLANES; p++)
			path[p] = (struct shm_path){ d->down[p] ? 0 : d->half[p] ? 200000000 : 400000000,
						     d->down[p] ? FARE_VERDICT_NO_ROUTE : FARE_VERDICT_OK, 0 };
		shm_writer_publish(d->writer[h], (uint32_t)shm_writer_pair(d->writer[h], 0, peer.s6_addr), path,
				   PLANES);
	}
}

static int start_daemons(struct drill *d)
{
	for (int h = 0; h < 2; h++) {
		struct shm_writer_gpu gpu = { .n_planes = PLANES };
		struct in6_addr own = address(h);

		memcpy(gpu.address[0], &own, 16);
		for (unsigned p = 0; p < PLANES; p++) {
			gpu.n_sub_ports[p] = SUB_PORTS;
			for (unsigned s = 0; s < SUB_PORTS; s++)
				snprintf(gpu.dev[p][s], sizeof(gpu.dev[p][s]), "p%us%u", p % 16, s % 16);
		}
		if (shm_writer_open(&d->writer[h], d->dir[h], 0600, &gpu, 1, NULL))
			return 1;
		for (uint32_t p = 0; p < PLANES; p++)
			for (uint32_t s = 0; s < SUB_PORTS; s++)
				shm_writer_sub_port(d->writer[h], 0, p, s, true, 200000000);
	}
	publish(d);
	return 0;
}

/* One random fault or repair; at least one plane stays. A plane's links really go down, some time before the
 * "daemon" says so or after: applications must cope with either order. */
static void fault(struct drill *d)
{
	int p = rand() % PLANES, alive = 0, kind = rand() % 4;

	for (int q = 0; q < PLANES; q++)
		alive += !d->down[q];
	if (kind == 0) {
		d->half[p] = !d->half[p];
	} else if (d->down[p]) {
		for (int s = 0; s < SUB_PORTS; s++)
			run("ip -n %s link set p%ds%d up", d->ns[1], p, s);
		d->down[p] = false;
	} else if (alive > 1) {
		if (kind == 1)
			for (int s = 0; s < SUB_PORTS; s++)
				run("ip -n %s link set p%ds%d down", d->ns[1], p, s);
		d->down[p] = true;
	}
	publish(d);
}

static int drill(struct drill *d)
{
	struct shared *sh = d->shared;
	uint64_t start, faults = 0, end;
	int status[2] = { 0, 0 };

	for (int h = 0; h < 2; h++) {
		d->child[h] = fork();
		if (d->child[h] == 0)
			_exit(h ? receiver(d) : sender(d));
	}
	start = now_ns();
	while (!sh->connected && !sh->failed && now_ns() - start < UINT64_C(10000000000))
		poll(NULL, 0, 10);
	if (!sh->connected) {
		fprintf(stderr, "group_drill: not connected after 10 s\n");
		return 1;
	}
	start = now_ns();
	end = start + (uint64_t)(d->seconds * 1e9);
	while (now_ns() < end && !sh->failed) {
		poll(NULL, 0, 20 + rand() % 120); /* paces the faults; nothing is waited for by it */
		if (d->calm)
			continue;
		fault(d);
		faults++;
	}
	for (int p = 0; p < PLANES; p++) {
		if (d->down[p])
			for (int s = 0; s < SUB_PORTS; s++)
				run("ip -n %s link set p%ds%d up", d->ns[1], p, s);
		d->down[p] = false;
	}
	publish(d);
	sh->stop = 1; /* the receiver goes on until the sender has all its completions */
	waitpid(d->child[0], &status[0], 0);
	d->child[0] = 0;
	printf("{\"seed\":%u,\"faults\":%llu,\"sent\":%llu,\"completed\":%llu,\"received\":%llu,\"bytes\":%llu,"
	       "\"replayed_chunks\":%llu,\"lane_deaths\":%llu,\"lane_rebuilds\":%llu,\"duplicate_notifications\":%llu,"
	       "\"retransmitted_packets\":%llu,\"flow_moves\":%llu,\"needless_moves\":%llu,\"failed\":%d}\n",
	       d->seed, (unsigned long long)faults, (unsigned long long)sh->sent, (unsigned long long)sh->completed,
	       (unsigned long long)sh->received, (unsigned long long)sh->bytes, (unsigned long long)sh->replayed,
	       (unsigned long long)sh->deaths, (unsigned long long)sh->rebuilds, (unsigned long long)sh->duplicates,
	       (unsigned long long)sh->retransmitted, (unsigned long long)sh->moves,
	       (unsigned long long)sh->needless, sh->failed || status[0]);
	return sh->failed || status[0] || sh->completed != sh->sent || sh->received != sh->sent || !sh->sent ||
	       sh->needless;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "mode", 1, 0, 'm' }, { "seconds", 1, 0, 's' }, { "seed", 1, 0, 'r' },
						 { "calm", 0, 0, 'c' }, { 0, 0, 0, 0 } };
	static struct drill d = { .mode = FARE_MODE_SPRAY, .seconds = 5 };
	int c, rc = 1;

	d.seed = (unsigned)time(NULL);
	while ((c = getopt_long(argc, argv, "m:s:r:c", options, NULL)) != -1) {
		if (c == 'm' && !strcmp(optarg, "flow"))
			d.mode = FARE_MODE_FLOW;
		else if (c == 's')
			d.seconds = atof(optarg);
		else if (c == 'r')
			d.seed = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 'c')
			d.calm = true;
		else if (c == '?')
			return 2;
	}
	if (geteuid()) {
		printf("skipped: needs root to make network namespaces\n");
		return 77;
	}
	srand(d.seed);
	d.shared = mmap(NULL, sizeof(*d.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!build(&d) && !start_daemons(&d))
		rc = drill(&d);
	tear_down(&d);
	return rc;
}
