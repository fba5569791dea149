/*
 * verbs_drill.c - a QP group over the verbs provider, between two GPUs of fabric.sh, under faults
 * of every kind in turn.
 *
 *   verbs_drill PLANES SUB_PORTS MODE        (MODE: flow or spray; inside the VM, after fabric_up)
 *
 * Three processes: a sender, a receiver, and this one, which plays the daemon for both (it writes
 * their segments) and breaks things. Messages of random sizes go into a ring of slots, each with a
 * pattern of its own; the receiver verifies every byte when it is notified and gives the slot back.
 * A message lost, delivered twice or corrupted fails the drill. Each step ends when what it is for
 * has been seen, or fails after a limit. One line of JSON at the end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
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

#define SLOTS	     8
#define SLOT_MAX     (256u << 10)
#define STEP_SECONDS 60

struct shared {
	_Atomic int stop, over, failed, connected;
	_Atomic uint64_t rkey, slots_addr, sent, completed, received, bytes;
	_Atomic uint64_t replayed, deaths, rebuilds, duplicates, needless;
	_Atomic uint64_t plane_bytes[FARE_MAX_PLANES];
};

struct drill {
	unsigned planes, sub_ports;
	enum fare_mode mode;
	char dir[2][32];
	pid_t child[2];
	struct shm_writer *writer[2];
	bool plane_down[FARE_MAX_PLANES];
	struct shared *shared;
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

static void fail(struct drill *d, const char *what, uint64_t id)
{
	fprintf(stderr, "verbs_drill: %s (message %llu)\n", what, (unsigned long long)id);
	d->shared->failed = 1;
	d->shared->stop = 1;
}

/* ---- messages ---- */

static uint64_t pattern(uint64_t id, uint64_t i)
{
	return (id + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ i * UINT64_C(0xc2b2ae3d27d4eb4f);
}

static uint32_t size_of(uint64_t id)
{
	uint64_t h = pattern(id, 77) >> 20;

	return h % 4 == 0 ? (uint32_t)(h >> 8) % 64 + 1 : (uint32_t)(h >> 8) % SLOT_MAX + 1;
}

static void fill(uint8_t *slot, uint64_t id)
{
	for (uint32_t i = 0, n = size_of(id); i < n; i++)
		slot[i] = (uint8_t)(pattern(id, i / 8) >> 8 * (i % 8));
}

static bool verify(const uint8_t *slot, uint64_t id)
{
	for (uint32_t i = 0, n = size_of(id); i < n; i++)
		if (slot[i] != (uint8_t)(pattern(id, i / 8) >> 8 * (i % 8)))
			return false;
	return true;
}

static uint8_t *make_slots(void)
{
	return mmap(NULL, (size_t)SLOTS * SLOT_MAX, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static struct fare_domain *open_domain(struct drill *d, int host)
{
	struct fare_domain_options options = {
		.provider = "verbs", .accept = host == 1, .secret = 42, .trusted_network = true};
	struct fare_domain *domain;
	struct fare *fare;
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	err = fare_attach(&fare, d->dir[host]);
	if (!err)
		err = fare_domain_open(&domain, fare, 0, &options);
	if (err) {
		fprintf(stderr, "verbs_drill: host %d: %s\n", host, strerror(-err));
		exit(1);
	}
	return domain;
}

static int wait_events(struct fare_domain *domain, struct fare_event *e, int max)
{
	struct pollfd p = {.fd = fare_domain_fd(domain), .events = POLLIN};
	int n = fare_domain_poll(domain, e, max);

	if (n)
		return n;
	poll(&p, 1, 50);
	return fare_domain_poll(domain, e, max);
}

/* ---- receiver ---- */

static void check_arrival(struct drill *d, uint8_t *slots, const struct fare_event *e)
{
	uint8_t *slot = slots + (size_t)(e->tag % SLOTS) * SLOT_MAX;

	if (e->bytes != size_of(e->tag))
		fail(d, "wrong size", e->tag);
	if (!verify(slot, e->tag))
		fail(d, "corrupted", e->tag);
	memset(slot, 0xee, size_of(e->tag)); /* a ghost of this message would show in the next */
	d->shared->received++;
	d->shared->bytes += e->bytes;
}

static int receiver(struct drill *d)
{
	struct fare_domain *domain = open_domain(d, 1);
	struct fare_group *group = NULL;
	struct fare_event e[32];
	uint32_t credits[SLOTS];
	unsigned n_credits = 0;
	uint8_t *slots = make_slots();
	struct fare_mr *mr;

	if (fare_mr_register(&mr, domain, slots, (size_t)SLOTS * SLOT_MAX, true))
		return 1;
	d->shared->slots_addr = (uint64_t)(uintptr_t)slots;
	d->shared->rkey = fare_mr_rkey(mr) | UINT64_C(1) << 32;
	while (!d->shared->over) {
		int n = wait_events(domain, e, 32);

		if (n < 0)
			return 1;
		for (int i = 0; i < n; i++) {
			if (e[i].kind == FARE_EVENT_CLOSED && !d->shared->stop)
				fail(d, "the receiver's group closed", d->shared->received);
			if (e[i].kind != FARE_EVENT_RECEIVED)
				continue;
			group = e[i].group;
			check_arrival(d, slots, &e[i]);
			if (n_credits == SLOTS) {
				fail(d, "more arrivals than slots", e[i].tag);
				return 1;
			}
			credits[n_credits++] = e[i].tag;
		}
		while (n_credits) {
			struct fare_write w = {.tag = credits[n_credits - 1],
					       .flags = FARE_WRITE_NOTIFY};

			if (fare_group_write(group, &w))
				break;
			n_credits--;
		}
	}
	fare_domain_close(domain);
	return 0;
}

/* ---- sender ---- */

struct sending {
	uint8_t *slots;
	bool busy[SLOTS], done[SLOTS], credited[SLOTS];
	uint64_t owner[SLOTS], next;
};

static void on_event(struct drill *d, struct sending *s, const struct fare_event *e)
{
	unsigned slot = (unsigned)(e->kind == FARE_EVENT_COMPLETED ? e->context : e->tag) % SLOTS;

	if (e->kind == FARE_EVENT_CONNECTED)
		d->shared->connected = 1;
	if (e->kind == FARE_EVENT_CLOSED && !d->shared->over)
		fail(d, "the sender's group closed", s->next);
	if (e->kind == FARE_EVENT_COMPLETED) {
		if (e->status || s->done[slot] || s->owner[slot] != e->context)
			fail(d, e->status ? strerror(-e->status) : "completed twice", e->context);
		s->done[slot] = true;
		d->shared->completed++;
	} else if (e->kind == FARE_EVENT_RECEIVED) {
		if (s->credited[slot] || (uint32_t)s->owner[slot] != e->tag)
			fail(d, "notified wrongly or twice", e->tag);
		s->credited[slot] = true;
	}
	if (s->done[slot] && s->credited[slot])
		s->busy[slot] = false;
}

static void send_more(struct drill *d, struct sending *s, struct fare_group *group,
		      struct fare_mr *mr)
{
	struct shared *sh = d->shared;

	while (!sh->stop && sh->connected && !s->busy[s->next % SLOTS]) {
		unsigned k = (unsigned)(s->next % SLOTS);
		struct fare_write w = {.data = s->slots + (size_t)k * SLOT_MAX,
				       .mr = mr,
				       .length = size_of(s->next),
				       .rkey = (uint32_t)sh->rkey,
				       .remote_addr = sh->slots_addr + (uint64_t)k * SLOT_MAX,
				       .tag = (uint32_t)s->next,
				       .flags = FARE_WRITE_NOTIFY,
				       .context = s->next};

		fill(s->slots + (size_t)k * SLOT_MAX, s->next);
		if (fare_group_write(group, &w))
			return;
		s->busy[k] = true;
		s->done[k] = s->credited[k] = false;
		s->owner[k] = s->next++;
		sh->sent = s->next;
	}
}

static void publish_stats(struct drill *d, struct fare_group *group)
{
	struct fare_group_stats stats;

	fare_group_stats(group, &stats);
	d->shared->replayed = stats.chunks_replayed;
	d->shared->deaths = stats.path_deaths;
	d->shared->rebuilds = stats.path_rebuilds;
	d->shared->duplicates = stats.duplicate_notifications;
	d->shared->needless = stats.flow_needless_moves;
	for (unsigned p = 0; p < d->planes; p++)
		d->shared->plane_bytes[p] = stats.plane_bytes[p];
}

/* A write that the peer does not allow fails alone, whether its library or its device says so. */
static void expect_refusal(struct drill *d, struct fare_domain *domain, struct fare_group *group,
			   struct fare_write w, const char *what)
{
	uint64_t end = now_ns() + STEP_SECONDS * UINT64_C(1000000000);
	struct fare_event e;

	w.context = UINT64_MAX;
	w.flags = 0;
	if (fare_group_write(group, &w)) {
		fail(d, what, w.context);
		return;
	}
	while (now_ns() < end) {
		if (wait_events(domain, &e, 1) != 1 || e.kind != FARE_EVENT_COMPLETED)
			continue;
		if (e.context != w.context || e.status != -EACCES)
			break;
		return;
	}
	fail(d, what, w.context);
}

static void refusals(struct drill *d, struct fare_domain *domain, struct fare_group *group,
		     struct fare_mr *mr, uint8_t *slots)
{
	struct fare_write w = {.data = slots,
			       .mr = mr,
			       .length = 5000,
			       .remote_addr = d->shared->slots_addr,
			       .rkey = (uint32_t)d->shared->rkey};

	w.rkey ^= 1u << 20;
	expect_refusal(d, domain, group, w, "a key that names nothing was not refused");
	w.rkey ^= 1u << 20;
	w.remote_addr += (uint64_t)SLOTS * SLOT_MAX - 100;
	expect_refusal(d, domain, group, w, "a write past the end was not refused");
}

static int sender(struct drill *d)
{
	struct fare_domain *domain = open_domain(d, 0);
	struct fare_group_options options = {.mode = d->mode};
	struct sending s = {.slots = make_slots()};
	struct in6_addr peer = address(1);
	struct fare_event e[32];
	struct fare_group *group;
	struct fare_mr *mr;

	while (!d->shared->rkey)
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
			on_event(d, &s, &e[i]);
		for (unsigned k = 0; k < SLOTS; k++)
			idle &= !s.busy[k];
		publish_stats(d, group);
		if (d->shared->failed || (d->shared->stop && idle))
			break;
		send_more(d, &s, group, mr);
	}
	if (!d->shared->failed)
		refusals(d, domain, group, mr, s.slots);
	d->shared->over = 1;
	fare_domain_close(domain);
	return 0;
}

/* ---- the daemon's part, and the breaking ---- */

static void publish(struct drill *d)
{
	for (int h = 0; h < 2; h++) {
		struct shm_path path[FARE_MAX_PLANES] = {0};
		struct in6_addr peer = address(1 - h);

		for (unsigned p = 0; p < d->planes; p++)
			path[p] = (struct shm_path){
				d->plane_down[p] ? 0 : 400000000,
				d->plane_down[p] ? FARE_VERDICT_NO_ROUTE : FARE_VERDICT_OK, 0};
		shm_writer_publish(d->writer[h],
				   (uint32_t)shm_writer_pair(d->writer[h], 0, peer.s6_addr), path,
				   d->planes);
	}
}

static int start_daemons(struct drill *d)
{
	for (int h = 0; h < 2; h++) {
		struct shm_writer_gpu gpu = {.n_planes = d->planes};
		struct in6_addr own = address(h);

		snprintf(d->dir[h], sizeof(d->dir[h]), "/tmp/verbs-drill-%d", h);
		if (system(h ? "mkdir -p /tmp/verbs-drill-1" : "mkdir -p /tmp/verbs-drill-0"))
			return 1;
		memcpy(gpu.address[0], &own, 16);
		for (unsigned p = 0; p < d->planes; p++) {
			gpu.n_sub_ports[p] = d->sub_ports;
			for (unsigned s = 0; s < d->sub_ports; s++)
				snprintf(gpu.dev[p][s], sizeof(gpu.dev[p][s]), "h%up%us%u", (unsigned)h % 2,
					 p % 16, s % 8);
		}
		if (shm_writer_open(&d->writer[h], d->dir[h], 0600, &gpu, 1, NULL))
			return 1;
		for (uint32_t p = 0; p < d->planes; p++)
			for (uint32_t s = 0; s < d->sub_ports; s++)
				shm_writer_sub_port(d->writer[h], 0, p, s, true, 200000000);
	}
	publish(d);
	return 0;
}

/* A function of fabric.sh. */
__attribute__((format(printf, 1, 2))) static void fabric(const char *format, ...)
{
	char call[128], command[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(call, sizeof(call), format, ap);
	va_end(ap);
	snprintf(command, sizeof(command), "bash -c '. tests/vm/fabric.sh; fabric_%s'", call);
	if (system(command))
		fprintf(stderr, "verbs_drill: %s failed\n", call);
}

/* Until *counter exceeds what it was, or time is up, or something failed. */
static bool wait_beyond(struct drill *d, _Atomic uint64_t *counter, uint64_t was, const char *what)
{
	uint64_t end = now_ns() + STEP_SECONDS * UINT64_C(1000000000);

	while (*counter <= was && !d->shared->failed && now_ns() < end)
		poll(NULL, 0, 10);
	if (*counter > was)
		return true;
	fprintf(stderr, "verbs_drill: waited in vain: %s\n", what);
	return false;
}

static bool wait_traffic(struct drill *d, unsigned messages, const char *when)
{
	return wait_beyond(d, &d->shared->received, d->shared->received + messages, when);
}

/* The leaf drops everything and nobody says so: the QPs' own time-outs must. */
static bool step_gray(struct drill *d, unsigned plane)
{
	uint64_t deaths = d->shared->deaths, rebuilds, bytes;

	fabric("gray %u", plane);
	if (!wait_beyond(d, &d->shared->deaths, deaths, "death of a gray plane's QPs") ||
	    !wait_traffic(d, 20, "traffic without the gray plane"))
		return false;
	rebuilds = d->shared->rebuilds;
	bytes = d->shared->plane_bytes[plane];
	fabric("clear %u", plane);
	return wait_beyond(d, &d->shared->rebuilds, rebuilds,
			   "rebuilding after the gray plane cleared") &&
	       wait_beyond(d, &d->shared->plane_bytes[plane], bytes,
			   "traffic on the cleared plane");
}

/* The daemon says first that the plane is gone; its links follow. */
static bool step_told(struct drill *d, unsigned plane)
{
	uint64_t deaths = d->shared->deaths, rebuilds = d->shared->rebuilds, bytes;

	d->plane_down[plane] = true;
	publish(d);
	fabric("gray %u", plane);
	if (!wait_beyond(d, &d->shared->deaths, deaths,
			 "death of a plane that was told to be gone") ||
	    !wait_traffic(d, 20, "traffic without it"))
		return false;
	bytes = d->shared->plane_bytes[plane];
	fabric("clear %u", plane);
	d->plane_down[plane] = false;
	publish(d);
	return wait_beyond(d, &d->shared->rebuilds, rebuilds,
			   "rebuilding of the plane told to be back") &&
	       wait_beyond(d, &d->shared->plane_bytes[plane], bytes, "traffic on it");
}

/* A sub-port's carrier goes: its device says so before anybody else does. Then the daemon does,
 * too. */
static bool step_link(struct drill *d, unsigned plane)
{
	uint64_t deaths = d->shared->deaths, rebuilds, bytes;
	bool half = d->sub_ports > 1;

	fabric("link_down 0 %u 0", plane);
	if (!wait_beyond(d, &d->shared->deaths, deaths, "death by a port event"))
		return false;
	shm_writer_sub_port(d->writer[0], 0, plane, 0, false, 0);
	d->plane_down[plane] = !half;
	publish(d);
	bytes = d->shared->plane_bytes[plane];
	if (!wait_traffic(d, 20, "traffic without the link") ||
	    (half &&
	     !wait_beyond(d, &d->shared->plane_bytes[plane], bytes, "the plane's other sub-port")))
		return false;
	rebuilds = d->shared->rebuilds;
	bytes = d->shared->plane_bytes[plane];
	fabric("link_up 0 %u 0; fabric_leaf_routes %u %u", plane, plane, d->sub_ports);
	shm_writer_sub_port(d->writer[0], 0, plane, 0, true, 200000000);
	d->plane_down[plane] = false;
	publish(d);
	return wait_beyond(d, &d->shared->rebuilds, rebuilds,
			   "rebuilding after the link came back") &&
	       wait_beyond(d, &d->shared->plane_bytes[plane], bytes, "traffic on it");
}

/* A sub-port's address changes: its GID goes and another comes. */
static bool step_gid(struct drill *d, int host, unsigned plane)
{
	uint64_t deaths = d->shared->deaths, rebuilds = d->shared->rebuilds, bytes;

	fabric("readdress %d %u 0 %u", host, plane, d->sub_ports);
	if (!wait_beyond(d, &d->shared->deaths, deaths, "death by a GID event") ||
	    !wait_beyond(d, &d->shared->rebuilds, rebuilds, "rebuilding on the new GID"))
		return false;
	bytes = d->shared->plane_bytes[plane];
	return wait_beyond(d, &d->shared->plane_bytes[plane], bytes, "traffic on the new GID");
}

static void report(const struct drill *d, bool ok)
{
	const struct shared *sh = d->shared;

	printf("{\"provider\":\"verbs\",\"planes\":%u,\"sub_ports\":%u,\"mode\":\"%s\",\"sent\":%"
	       "llu,\"completed\":%llu,"
	       "\"received\":%llu,\"bytes\":%llu,\"replayed_chunks\":%llu,\"lane_deaths\":%llu,"
	       "\"lane_rebuilds\":%llu,"
	       "\"duplicate_notifications\":%llu,\"ok\":%s}\n",
	       d->planes, d->sub_ports, d->mode == FARE_MODE_FLOW ? "flow" : "spray",
	       (unsigned long long)sh->sent, (unsigned long long)sh->completed,
	       (unsigned long long)sh->received, (unsigned long long)sh->bytes,
	       (unsigned long long)sh->replayed, (unsigned long long)sh->deaths,
	       (unsigned long long)sh->rebuilds, (unsigned long long)sh->duplicates,
	       ok ? "true" : "false");
}

static bool run(struct drill *d)
{
	struct shared *sh = d->shared;
	int status = 0;
	bool ok;

	for (int h = 0; h < 2; h++) {
		d->child[h] = fork();
		if (d->child[h] == 0)
			_exit(h ? receiver(d) : sender(d));
	}
	ok = wait_traffic(d, 30, "the first messages") && step_gray(d, 1 % d->planes) &&
	     step_told(d, 2 % d->planes) && step_link(d, 3 % d->planes) && step_gid(d, 0, 0) &&
	     step_gid(d, 1, 0) && wait_traffic(d, 20, "the last messages");
	for (unsigned p = 0; p < d->planes; p++)
		ok &= sh->plane_bytes[p] > 0;
	sh->stop = 1;
	if (!ok)
		sh->failed = 1;
	for (uint64_t end = now_ns() + STEP_SECONDS * UINT64_C(1000000000);
	     !sh->over && now_ns() < end;)
		poll(NULL, 0, 10);
	ok &= sh->over;
	for (int h = 0; h < 2; h++) {
		if (!sh->over)
			kill(d->child[h], SIGKILL);
		waitpid(d->child[h], &status, 0);
		ok &= !status;
	}
	return ok && !sh->failed && sh->completed == sh->sent && sh->received == sh->sent &&
	       !sh->needless;
}

int main(int argc, char **argv)
{
	static struct drill d;
	bool ok;

	if (argc != 4) {
		fprintf(stderr, "usage: verbs_drill PLANES SUB_PORTS flow|spray\n");
		return 2;
	}
	d.planes = (unsigned)atoi(argv[1]);
	d.sub_ports = (unsigned)atoi(argv[2]);
	d.mode = strcmp(argv[3], "flow") ? FARE_MODE_SPRAY : FARE_MODE_FLOW;
	if (!d.planes || d.planes > FARE_MAX_PLANES || !d.sub_ports ||
	    d.sub_ports > FARE_MAX_SUB_PORTS)
		return 2;
	d.shared = mmap(NULL, sizeof(*d.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (start_daemons(&d))
		return 1;
	ok = run(&d);
	report(&d, ok);
	return !ok;
}
