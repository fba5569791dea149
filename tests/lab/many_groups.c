/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many_groups.c - many QP groups of one process, opened at once: how long it takes, and what they
 * cost afterwards.
 *
 *   many_groups [--groups N] [--peers P] [--processes K] [--busy B] [--random-ports]
 *               [--settle-s S] [--limit-s S] [--limit-cpu-s S] [--json FILE]
 *
 * Two hosts (bed.h), 4 planes of 2 sub-ports, cables. Host 1 has P addresses (1..1023), each a GPU
 * with a domain of its own, in K processes; host 0 has one process with one domain. That opens one
 * group and measures; closes it; opens N groups, spread evenly over the peers, all before its next
 * poll, waits until all are CONNECTED, and measures again:
 *   open_s         from the first fare_group_open() to the last CONNECTED
 *   cpu_s          of the opener's process meanwhile; peers_cpu_s: of all peers' processes
 *   deaths, rebuilds, blocked   of its groups until then and a second after: nothing is faulty
 *   descriptors    open in its process
 *   bytes_per_group  allocated by malloc() (mallinfo2), over the domain without groups
 *   idle_poll_us   a fare_domain_poll() with nothing to do, CPU time
 *   write_us       a 64-byte write with notification on one group, until COMPLETED, CPU time of
 *                  the opener; the others idle
 * Both are measured S seconds (1.5) after the last CONNECTED: while a path is new its ports are
 * asked for again, ever more seldom. idle_poll_over_1 and write_over_1: over the same with one
 * group. B processes spin all the while.
 * Fails if a group does not connect, if anything died, or beyond a limit. Exit 77: not root.
 */
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <dirent.h>
#include <signal.h>
#include <arpa/inet.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"
#include "qp/baseline.h"

#define MAX_PEERS     1023
#define MAX_PROCESSES 16
#define PLANES	      4
#define SUB_PORTS     2
#define LIMIT_NS      UINT64_C(120000000000)
#define SETTLE_S      1.5
#define POLLS	      20000
#define WRITES	      2000
#define PAYLOAD	      64

struct shared {
	_Atomic unsigned n_ready, n_accepted, n_received;
	_Atomic int over, failed;
	_Atomic uint64_t addr[MAX_PEERS], rkey[MAX_PEERS];
	_Atomic uint64_t cpu_ns[MAX_PROCESSES];
};

struct cost {
	double idle_poll_us, write_us;
};

struct test {
	struct bed bed;
	unsigned groups, peers, processes, busy;
	bool random_ports;
	double settle_s, limit_s, limit_cpu_s;
	struct shared *shared;
	pid_t children[MAX_PROCESSES], spinners[64];
	struct shm_writer *own;			       /* host 0's segment */
	struct shm_writer *theirs[MAX_PEERS / 16 + 1]; /* the peers', 16 GPUs each */
	char dir[64];
	/* the opener's */
	struct fare_domain *domain;
	struct fare_group *opened[4096];
	unsigned connected, completed, blocked, closed;
	struct cost one, many;
	double open_s, cpu_s, peers_cpu_s, bytes_per_group;
	uint64_t deaths, rebuilds;
	unsigned descriptors;
};

static struct in6_addr peer_address(unsigned peer)
{
	struct in6_addr a;
	char text[32];

	snprintf(text, sizeof(text), "::ffff:198.20.%u.%u", peer / 250, 1 + peer % 250);
	inet_pton(AF_INET6, text, &a);
	return a;
}

static uint64_t process_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void raise_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

/* ---- the fabric: more addresses on host 1, and the daemons' part for them ---- */

static int route_planes(const struct bed *bed)
{
	for (unsigned p = 0; p < PLANES; p++)
		for (unsigned s = 0; s < SUB_PORTS; s++)
			if (bed_run("ip -n %s route add 198.20.0.0/16 via 198.18.%u.1 dev p%us%u "
				    "metric %u",
				    bed->ns[0], p * FARE_MAX_SUB_PORTS + s, p, s,
				    100 + p * SUB_PORTS + s))
				return 1;
	return 0;
}

static void fill_gpu(struct shm_writer_gpu *gpu, const struct in6_addr *address)
{
	memset(gpu, 0, sizeof(*gpu));
	gpu->n_planes = PLANES;
	memcpy(gpu->address[0], address, 16);
	for (unsigned p = 0; p < PLANES; p++) {
		gpu->n_sub_ports[p] = SUB_PORTS;
		for (unsigned s = 0; s < SUB_PORTS; s++)
			snprintf(gpu->dev[p][s], sizeof(gpu->dev[p][s]), "p%us%u", p, s);
	}
}

static void publish(struct shm_writer *w, unsigned gpu, const struct in6_addr *peer)
{
	struct shm_path path[FARE_MAX_PLANES] = {0};

	for (unsigned p = 0; p < PLANES; p++) {
		path[p] = (struct shm_path){400000000, FARE_VERDICT_OK, 0, 0};
		for (unsigned s = 0; s < SUB_PORTS; s++)
			shm_writer_sub_port(w, gpu, p, s, true, 200000000);
	}
	shm_writer_publish(w, (uint32_t)shm_writer_pair(w, gpu, peer->s6_addr), path, PLANES);
}

static int publish_peers(struct test *t, unsigned segment)
{
	unsigned first = 16 * segment, n = t->peers - first < 16 ? t->peers - first : 16;
	struct in6_addr own = bed_address(0);
	struct shm_writer_gpu gpus[16];
	char dir[96];

	for (unsigned g = 0; g < n; g++) {
		struct in6_addr a = peer_address(first + g);

		fill_gpu(&gpus[g], &a);
	}
	snprintf(dir, sizeof(dir), "%s/%u", t->dir, segment);
	if (mkdir(dir, 0700) || shm_writer_open(&t->theirs[segment], dir, 0600, gpus, n, NULL))
		return 1;
	for (unsigned g = 0; g < n; g++) {
		struct in6_addr a = peer_address(first + g);

		publish(t->theirs[segment], g, &own);
		publish(t->own, 0, &a);
	}
	return 0;
}

static int build(struct test *t)
{
	struct in6_addr own = bed_address(0);
	struct shm_writer_gpu gpu;
	char path[96];
	FILE *batch;

	snprintf(t->dir, sizeof(t->dir), "/tmp/fl-many%d", (int)getpid());
	snprintf(path, sizeof(path), "%s/own", t->dir);
	fill_gpu(&gpu, &own);
	if (mkdir(t->dir, 0700) || mkdir(path, 0700) ||
	    shm_writer_open(&t->own, path, 0600, &gpu, 1, NULL) || route_planes(&t->bed))
		return 1;
	for (unsigned segment = 0; 16 * segment < t->peers; segment++)
		if (publish_peers(t, segment))
			return 1;
	snprintf(path, sizeof(path), "ip -n %s -batch -", t->bed.ns[1]);
	batch = popen(path, "w");
	if (!batch)
		return 1;
	for (unsigned i = 0; i < t->peers; i++)
		fprintf(batch, "addr add 198.20.%u.%u/32 dev lo\n", i / 250, 1 + i % 250);
	return pclose(batch) != 0;
}

static struct fare_domain *enter(struct test *t, struct fare *fare, unsigned gpu, bool accept)
{
	struct fare_domain_options options = {
		.provider = "soft", .accept = accept, .key_file = t->bed.key, .path_mtu = 4096};
	struct fare_domain *domain;
	int err = fare_domain_open(&domain, fare, gpu, &options);

	if (err) {
		fprintf(stderr, "many_groups: no domain: %s\n", strerror(-err));
		exit(1);
	}
	return domain;
}

/* ---- the peers ---- */

struct peer {
	struct fare_domain *domain;
	struct fare_mr *mr;
	uint8_t memory[PAYLOAD];
};

static void serve(struct test *t, struct peer *peer)
{
	struct fare_event e[32];
	int n = fare_domain_poll(peer->domain, e, 32);

	for (int i = 0; i < n; i++) {
		t->shared->n_accepted += e[i].kind == FARE_EVENT_ACCEPTED;
		t->shared->n_received += e[i].kind == FARE_EVENT_RECEIVED;
		if (e[i].kind == FARE_EVENT_CLOSED)
			fare_group_close(e[i].group);
	}
}

/* Peers k, k + processes, ...: each with a domain of its own. */
static int peers_process(struct test *t, unsigned k)
{
	unsigned n = (t->peers - k + t->processes - 1) / t->processes;
	struct peer *peers = calloc(n, sizeof(*peers));
	struct pollfd *fds = calloc(n, sizeof(*fds));

	raise_limit();
	bed_enter_namespace(&t->bed, 1);
	for (unsigned i = 0; i < n; i++) {
		unsigned peer = k + i * t->processes;
		struct fare *fare;
		char dir[96];

		snprintf(dir, sizeof(dir), "%s/%u", t->dir, peer / 16);
		if (fare_attach(&fare, dir))
			return 1;
		peers[i].domain = enter(t, fare, peer % 16, true);
		if (fare_mr_register(&peers[i].mr, peers[i].domain, peers[i].memory, PAYLOAD, true))
			return 1;
		fds[i] = (struct pollfd){.fd = fare_domain_fd(peers[i].domain), .events = POLLIN};
		t->shared->addr[peer] = (uint64_t)(uintptr_t)peers[i].memory;
		t->shared->rkey[peer] = fare_mr_rkey(peers[i].mr);
		t->shared->n_ready++;
	}
	while (!t->shared->over) {
		poll(fds, n, 100);
		for (unsigned i = 0; i < n; i++)
			if (fds[i].revents)
				serve(t, &peers[i]);
		t->shared->cpu_ns[k] = process_cpu_ns();
	}
	_exit(0); /* to close a thousand domains is not measured here */
}

/* ---- the opener ---- */

static void take_events(struct test *t, int ms)
{
	struct fare_event e[64];
	int n = bed_events(t->domain, e, 64, ms);

	for (int i = 0; i < n; i++) {
		t->connected += e[i].kind == FARE_EVENT_CONNECTED;
		t->completed += e[i].kind == FARE_EVENT_COMPLETED && !e[i].status;
		t->blocked += e[i].kind == FARE_EVENT_BLOCKED;
		t->closed += e[i].kind == FARE_EVENT_CLOSED;
		if (e[i].kind == FARE_EVENT_CLOSED)
			fprintf(stderr, "many_groups: a group is over: %s\n",
				strerror(-e[i].status));
	}
}

static void idle(struct test *t, uint64_t ns)
{
	for (uint64_t end = clock_now_ns() + ns; clock_now_ns() < end;)
		take_events(t, 5);
}

static bool open_groups(struct test *t, unsigned n)
{
	struct fare_group_options options = {
		.mode = FARE_MODE_SPRAY,
		.baseline = &(struct fare_baseline){.random_ports = t->random_ports}};
	uint64_t end = clock_now_ns() + LIMIT_NS;

	t->connected = 0;
	for (unsigned g = 0; g < n; g++) {
		struct in6_addr peer = peer_address(g % t->peers);
		int err = fare_group_open(&t->opened[g], t->domain, &peer, &options);

		if (err) {
			fprintf(stderr, "many_groups: group %u: %s\n", g, strerror(-err));
			return false;
		}
	}
	while (t->connected < n && !t->closed && clock_now_ns() < end)
		take_events(t, 20);
	if (t->connected == n)
		return true;
	fprintf(stderr, "many_groups: %u of %u connected\n", t->connected, n);
	for (unsigned g = 0, said = 0; g < n && said < 3; g++, said++)
		fare_group_dump(t->opened[g], STDERR_FILENO);
	return false;
}

static bool measure(struct test *t, struct cost *cost)
{
	static uint8_t payload[PAYLOAD];
	struct fare_write w = {.data = payload,
			       .length = PAYLOAD,
			       .remote_addr = t->shared->addr[0],
			       .rkey = (uint32_t)t->shared->rkey[0],
			       .flags = FARE_WRITE_NOTIFY};
	struct fare_event e[64];
	uint64_t began;

	idle(t, (uint64_t)(t->settle_s * 1e9));
	began = process_cpu_ns();
	for (unsigned i = 0; i < POLLS; i++)
		fare_domain_poll(t->domain, e, 64);
	cost->idle_poll_us = (double)(process_cpu_ns() - began) / 1e3 / POLLS;
	if (fare_mr_register(&w.mr, t->domain, payload, PAYLOAD, false))
		return false;
	began = process_cpu_ns();
	t->completed = 0;
	for (unsigned i = 1; i <= WRITES; i++) {
		uint64_t end = clock_now_ns() + LIMIT_NS;

		if (fare_group_write(t->opened[0], &w))
			return false;
		while (t->completed < i && clock_now_ns() < end)
			take_events(t, 20);
		if (t->completed < i)
			return false;
	}
	cost->write_us = (double)(process_cpu_ns() - began) / 1e3 / WRITES;
	fare_mr_deregister(w.mr);
	return true;
}

static uint64_t peers_cpu_ns(const struct test *t)
{
	uint64_t ns = 0;

	for (unsigned k = 0; k < t->processes; k++)
		ns += t->shared->cpu_ns[k];
	return ns;
}

static unsigned count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n > 3 ? n - 3 : 0; /* ".", "..", and the directory itself */
}

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void sum_up(struct test *t)
{
	for (unsigned g = 0; g < t->groups; g++) {
		struct fare_group_stats s;

		fare_group_stats(t->opened[g], &s);
		t->deaths += s.path_deaths;
		t->rebuilds += s.path_rebuilds;
	}
}

static bool opener(struct test *t)
{
	uint64_t began, cpu_began, peers_began, end = clock_now_ns() + LIMIT_NS;
	size_t before;
	struct fare *fare;
	char dir[96];

	while (t->shared->n_ready < t->peers && clock_now_ns() < end)
		poll(NULL, 0, 10);
	bed_enter_namespace(&t->bed, 0);
	snprintf(dir, sizeof(dir), "%s/own", t->dir);
	if (fare_attach(&fare, dir))
		return false;
	t->domain = enter(t, fare, 0, false);
	if (!open_groups(t, 1) || !measure(t, &t->one))
		return false;
	fare_group_close(t->opened[0]);
	idle(t, (uint64_t)(t->settle_s * 1e9));
	before = allocated();
	peers_began = peers_cpu_ns(t);
	began = clock_now_ns();
	cpu_began = process_cpu_ns();
	if (!open_groups(t, t->groups))
		return false;
	t->open_s = (double)(clock_now_ns() - began) / 1e9;
	t->cpu_s = (double)(process_cpu_ns() - cpu_began) / 1e9;
	t->peers_cpu_s = (double)(peers_cpu_ns(t) - peers_began) / 1e9;
	t->bytes_per_group = (double)(allocated() - before) / t->groups;
	if (!measure(t, &t->many))
		return false;
	t->descriptors = count_descriptors();
	sum_up(t);
	return true;
}

/* ---- the parent ---- */

static bool start(struct test *t)
{
	for (unsigned b = 0; b < t->busy; b++) {
		t->spinners[b] = fork();
		if (t->spinners[b] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (volatile unsigned x = 0;; x++)
				;
		}
	}
	for (unsigned k = 0; k < t->processes; k++) {
		t->children[k] = fork();
		if (t->children[k] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(peers_process(t, k));
		}
		if (t->children[k] < 0)
			return false;
	}
	return true;
}

static void stop(struct test *t)
{
	t->shared->over = 1;
	for (unsigned b = 0; b < t->busy; b++)
		if (t->spinners[b] > 0) {
			kill(t->spinners[b], SIGKILL);
			waitpid(t->spinners[b], NULL, 0);
		}
	for (unsigned k = 0; k < t->processes; k++)
		if (t->children[k] > 0)
			waitpid(t->children[k], NULL, 0);
	if (t->dir[0])
		bed_run("rm -rf %s", t->dir);
}

static void report(const struct test *t, FILE *to, bool ok)
{
	fprintf(to,
		"{\"many_groups\":{\"groups\":%u,\"peers\":%u,\"planes\":%u,\"sub_ports\":%u,"
		"\"busy\":%u,\"random_ports\":%s,\"open_s\":%.3f,\"cpu_s\":%.3f,"
		"\"peers_cpu_s\":%.3f,\"deaths\":%llu,\"rebuilds\":%llu,\"blocked\":%u,"
		"\"descriptors\":%u,\"bytes_per_group\":%.0f,\"idle_poll_us\":%.2f,"
		"\"idle_poll_over_1\":%.2f,\"write_us\":%.1f,\"write_over_1\":%.2f,\"ok\":%s}}\n",
		t->groups, t->peers, PLANES, SUB_PORTS, t->busy, t->random_ports ? "true" : "false",
		t->open_s, t->cpu_s, t->peers_cpu_s, (unsigned long long)t->deaths,
		(unsigned long long)t->rebuilds, t->blocked, t->descriptors, t->bytes_per_group,
		t->many.idle_poll_us,
		t->one.idle_poll_us > 0 ? t->many.idle_poll_us / t->one.idle_poll_us : 0,
		t->many.write_us, t->one.write_us > 0 ? t->many.write_us / t->one.write_us : 0,
		ok ? "true" : "false");
}

static bool parse(struct test *t, int argc, char **argv, const char **json)
{
	static const struct option options[] = {{"groups", 1, 0, 'g'},	     {"peers", 1, 0, 'p'},
						{"processes", 1, 0, 'k'},    {"busy", 1, 0, 'b'},
						{"random-ports", 0, 0, 'r'}, {"limit-s", 1, 0, 's'},
						{"limit-cpu-s", 1, 0, 'c'},  {"json", 1, 0, 'j'},
						{"settle-s", 1, 0, 'w'},     {0, 0, 0, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'g')
			t->groups = (unsigned)atoi(optarg);
		else if (c == 'p')
			t->peers = (unsigned)atoi(optarg);
		else if (c == 'k')
			t->processes = (unsigned)atoi(optarg);
		else if (c == 'b')
			t->busy = (unsigned)atoi(optarg);
		else if (c == 'r')
			t->random_ports = true;
		else if (c == 's')
			t->limit_s = atof(optarg);
		else if (c == 'c')
			t->limit_cpu_s = atof(optarg);
		else if (c == 'w')
			t->settle_s = atof(optarg);
		else if (c == 'j')
			*json = optarg;
		else
			return false;
	}
	if (t->processes > t->peers)
		t->processes = t->peers;
	return t->groups && t->groups <= 4096 && t->peers && t->peers <= MAX_PEERS &&
	       t->processes && t->processes <= MAX_PROCESSES && t->busy <= 64;
}

int main(int argc, char **argv)
{
	static struct test t = {.groups = 64, .peers = 1, .processes = 4, .settle_s = SETTLE_S};
	struct bed_options bed = {.provider = "soft", .planes = PLANES, .sub_ports = SUB_PORTS};
	const char *json = NULL;
	bool ok = false;
	FILE *f;

	if (!parse(&t, argc, argv, &json))
		return 2;
	raise_limit();
	t.shared = mmap(NULL, sizeof(*t.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (!bed_make(&t.bed, &bed) && !build(&t) && start(&t))
		ok = opener(&t) && !t.deaths && !t.rebuilds && !t.blocked && !t.closed &&
		     (!t.limit_s || t.open_s <= t.limit_s) &&
		     (!t.limit_cpu_s || t.cpu_s <= t.limit_cpu_s);
	stop(&t);
	bed_destroy(&t.bed);
	report(&t, stdout, ok);
	f = json ? fopen(json, "w") : NULL;
	if (f) {
		report(&t, f, ok);
		fclose(f);
	}
	return !ok;
}
