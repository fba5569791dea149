/*
 * ghost_write.c - packets of a dead plane that come back from the grave: nothing of them may land.
 *
 *   ghost_write [--rounds N] [--provider soft|verbs]
 *
 * One round: a sub-port of plane 0 is shaped to almost nothing, so that what goes out there stays
 * queued. Messages are sent; the plane is declared dead; its chunks go again over the other plane,
 * and the messages complete. At once both ends use their buffers for something else. The plane
 * comes back by its other sub-port, with new QPs. Only then is the queue let go: the old writes
 * arrive, well-formed, for buffers that now hold other data. None of it may show. In every fourth
 * round the plane does not die: its QPs move to the other sub-port, and the packets let go later
 * are duplicates of living QPs.
 *
 * soft: two network namespaces made here. verbs: the devices of tests/vm/fabric.sh with 2 planes
 * and 2 sub-ports (there a QP cannot move: every round is of the first kind). Exit 77: not root.
 * One line of JSON at the end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
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

#define PLANES	  2
#define SUB_PORTS 2
#define MESSAGES  8 /* a round */
#define SLOT	  (192u << 10)
#define LIMIT_S	  20 /* for anything that is waited for */

struct shared {
	_Atomic uint64_t rkey, slots_addr, go, completed, received, check, checked, polls, deaths,
		rebuilds, p0_bytes;
	_Atomic int connected, stop, failed;
};

struct drill {
	const char *provider;
	bool verbs;
	uint64_t rounds;
	char ns[2][32], dir[2][48];
	pid_t child[2];
	struct shm_writer *writer[2];
	struct shared *shared;
	bool plane_down, sub_port_down;
	uint64_t held_bytes, held_packets;
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

static bool fail(struct drill *d, const char *what, uint64_t round)
{
	fprintf(stderr, "ghost_write: round %llu: %s\n", (unsigned long long)round, what);
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

static uint64_t word(enum content content, uint64_t round, uint64_t i)
{
	return ((round * 4 + content + 1) * UINT64_C(0x9e3779b97f4a7c15)) ^
	       i * UINT64_C(0xc2b2ae3d27d4eb4f);
}

static void fill(uint8_t *slot, enum content content, uint64_t round)
{
	for (uint64_t i = 0; i < SLOT / 8; i++)
		((uint64_t *)(void *)slot)[i] = word(content, round, i);
}

static bool holds(const uint8_t *slot, enum content content, uint64_t round)
{
	for (uint64_t i = 0; i < SLOT / 8; i++)
		if (((const uint64_t *)(const void *)slot)[i] != word(content, round, i))
			return false;
	return true;
}

/* ---- the two applications ---- */

static struct fare_domain *open_domain(struct drill *d, int host)
{
	struct fare_domain_options options = {
		.provider = d->provider, .accept = host == 1, .secret = 7, .path_mtu = 1024};
	struct fare_domain *domain;
	struct fare *fare;
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!d->verbs) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/run/netns/%s", d->ns[host]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, CLONE_NEWNET)) {
			perror(path);
			exit(1);
		}
	}
	err = fare_attach(&fare, d->dir[host]);
	if (!err)
		err = fare_domain_open(&domain, fare, 0, &options);
	if (err) {
		fprintf(stderr, "ghost_write: %s\n", strerror(-err));
		exit(1);
	}
	return domain;
}

static uint8_t *make_slots(void)
{
	return mmap(NULL, (size_t)MESSAGES * SLOT, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int wait_events(struct fare_domain *domain, struct fare_event *e, int max)
{
	struct pollfd p = {.fd = fare_domain_fd(domain), .events = POLLIN};
	int n = fare_domain_poll(domain, e, max);

	if (n)
		return n;
	poll(&p, 1, 5);
	return fare_domain_poll(domain, e, max);
}

/* tag: round * MESSAGES + slot */
static int receiver(struct drill *d)
{
	struct fare_domain *domain = open_domain(d, 1);
	struct shared *sh = d->shared;
	uint8_t *slots = make_slots();
	struct fare_event e[32];
	struct fare_mr *mr;

	if (fare_mr_register(&mr, domain, slots, (size_t)MESSAGES * SLOT, true))
		return 1;
	sh->slots_addr = (uint64_t)(uintptr_t)slots;
	sh->rkey = fare_mr_rkey(mr) | UINT64_C(1) << 32;
	for (; !sh->stop; sh->polls++) {
		int n = wait_events(domain, e, 32);

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
				fail(d, "a ghost has written", sh->check);
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

static int sender(struct drill *d)
{
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY};
	struct fare_domain *domain = open_domain(d, 0);
	struct shared *sh = d->shared;
	uint8_t *slots = make_slots();
	struct in6_addr peer = address(1);
	struct fare_group_stats stats;
	struct fare_group *group;
	struct fare_event e[32];
	struct fare_mr *mr;
	uint64_t round = 0;

	while (!sh->rkey)
		sched_yield();
	if (fare_mr_register(&mr, domain, slots, (size_t)MESSAGES * SLOT, false) ||
	    fare_group_open(&group, domain, &peer, &options))
		return 1;
	while (!sh->stop) {
		int n = wait_events(domain, e, 32);

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
		sh->p0_bytes = stats.plane_bytes[0];
	}
	fare_domain_close(domain);
	return 0;
}

/* ---- the fabric, and the daemons' part ---- */

static const char *device(const struct drill *d, int host, unsigned plane, unsigned sub_port,
			  char text[16])
{
	if (d->verbs)
		snprintf(text, 16, "h%dp%us%u", host & 1, plane % 8, sub_port % 8);
	else
		snprintf(text, 16, "p%us%u", plane % 8, sub_port % 8);
	return text;
}

static int build(struct drill *d)
{
	for (int h = 0; h < 2 && !d->verbs; h++) {
		snprintf(d->ns[h], sizeof(d->ns[h]), "fl-ghost%d-%d", (int)getpid(), h);
		if (run("ip netns add %s && ip -n %s link set lo up && ip -n %s addr add "
			"198.19.0.%d/32 dev lo && "
			"ip netns exec %s sysctl -qw net.ipv4.conf.all.rp_filter=0 "
			"net.ipv4.conf.default.rp_filter=0",
			d->ns[h], d->ns[h], d->ns[h], h + 1, d->ns[h]))
			return 1;
	}
	for (int p = 0; p < PLANES && !d->verbs; p++)
		for (int s = 0; s < SUB_PORTS; s++)
			if (run("ip link add p%ds%d netns %s type veth peer name p%ds%d netns %s",
				p, s, d->ns[0], p, s, d->ns[1]) ||
			    run("ip -n %s addr add 198.18.%d.0/31 dev p%ds%d && ip -n %s addr add "
				"198.18.%d.1/31 dev p%ds%d",
				d->ns[0], p * 8 + s, p, s, d->ns[1], p * 8 + s, p, s) ||
			    run("ip -n %s link set p%ds%d up && ip -n %s link set p%ds%d up",
				d->ns[0], p, s, d->ns[1], p, s))
				return 1;
	for (int h = 0; h < 2 && !d->verbs; h++)
		if (run("ip -n %s route add 198.19.0.%d/32 via 198.18.0.%d", d->ns[h], 2 - h,
			1 - h))
			return 1;
	return 0;
}

static void publish(struct drill *d)
{
	for (int h = 0; h < 2; h++) {
		struct shm_path path[PLANES] = {
			{d->plane_down ? 0 : 400000000,
			 d->plane_down ? FARE_VERDICT_NO_ROUTE : FARE_VERDICT_OK, 0},
			{400000000, FARE_VERDICT_OK, 0}};
		struct in6_addr peer = address(1 - h);

		shm_writer_sub_port(d->writer[h], 0, 0, 0, !d->sub_port_down,
				    d->sub_port_down ? 0 : 200000000);
		shm_writer_publish(d->writer[h],
				   (uint32_t)shm_writer_pair(d->writer[h], 0, peer.s6_addr), path,
				   PLANES);
	}
}

static int start_daemons(struct drill *d)
{
	for (int h = 0; h < 2; h++) {
		struct shm_writer_gpu gpu = {.n_planes = PLANES};
		struct in6_addr own = address(h);
		char name[16];

		snprintf(d->dir[h], sizeof(d->dir[h]), "/tmp/fl-ghost%d-%d", (int)getpid(), h);
		memcpy(gpu.address[0], &own, 16);
		for (unsigned p = 0; p < PLANES; p++) {
			gpu.n_sub_ports[p] = SUB_PORTS;
			for (unsigned s = 0; s < SUB_PORTS; s++)
				memcpy(gpu.dev[p][s], device(d, h, p, s, name),
				       sizeof(gpu.dev[p][s]));
		}
		if (run("mkdir -p %s", d->dir[h]) ||
		    shm_writer_open(&d->writer[h], d->dir[h], 0600, &gpu, 1, NULL))
			return 1;
		for (uint32_t p = 0; p < PLANES; p++)
			for (uint32_t s = 0; s < SUB_PORTS; s++)
				shm_writer_sub_port(d->writer[h], 0, p, s, true, 200000000);
	}
	publish(d);
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
			run("ip netns del %s 2>/dev/null", d->ns[h]);
		if (d->dir[h][0])
			run("rm -rf %s", d->dir[h]);
	}
}

/* tc on the held device: the sender's end of plane 0, sub-port 0. */
static int tc(struct drill *d, const char *verb, const char *rate)
{
	char name[16], in[48] = "";

	if (!d->verbs)
		snprintf(in, sizeof(in), "ip netns exec %s ", d->ns[0]);
	return run("%stc qdisc %s dev %s root handle 1: tbf rate %s burst 1600 limit 8388608", in,
		   verb, device(d, 0, 0, 0, name), rate);
}

static bool backlog(struct drill *d, uint64_t *bytes, uint64_t *packets)
{
	char command[160], name[16], line[256], in[48] = "";
	unsigned long long b = 0, p = 0;
	bool found = false;
	char unit;
	FILE *f;

	if (!d->verbs)
		snprintf(in, sizeof(in), "ip netns exec %s ", d->ns[0]);
	snprintf(command, sizeof(command), "%stc -s qdisc show dev %s", in,
		 device(d, 0, 0, 0, name));
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

/* A datagram of no meaning through the held device: the queue looks at its new rate. */
static void nudge(struct drill *d)
{
	char in[48] = "";

	if (!d->verbs)
		snprintf(in, sizeof(in), "ip netns exec %s ", d->ns[0]);
	run("%sbash -c 'echo > /dev/udp/198.18.0.1/9' 2>/dev/null; true", in);
}

/* ---- rounds ---- */

static bool wait_for(struct drill *d, const _Atomic uint64_t *counter, uint64_t at_least,
		     const char *what, uint64_t round)
{
	uint64_t end = now_ns() + LIMIT_S * UINT64_C(1000000000);

	while (*counter < at_least && !d->shared->failed) {
		if (now_ns() > end)
			return fail(d, what, round);
		poll(NULL, 0, 1);
	}
	return !d->shared->failed;
}

static bool wait_held(struct drill *d, uint64_t round)
{
	uint64_t end = now_ns() + LIMIT_S * UINT64_C(1000000000), bytes = 0, packets = 0;

	while (!backlog(d, &bytes, &packets) || packets < 2) {
		if (now_ns() > end || d->shared->failed)
			return fail(d, "nothing is held back", round);
	}
	return true;
}

static bool wait_released(struct drill *d, uint64_t round)
{
	uint64_t end = now_ns() + LIMIT_S * UINT64_C(1000000000), bytes = 1, packets = 1;

	do {
		nudge(d);
		if (now_ns() > end)
			return fail(d, "the queue does not empty", round);
	} while (!backlog(d, &bytes, &packets) || packets);
	return true;
}

static bool one_round(struct drill *d, uint64_t round)
{
	struct shared *sh = d->shared;
	bool dies = d->verbs || round % 4;
	uint64_t rebuilds, deaths = sh->deaths, bytes, packets, total = round * MESSAGES;

	if (tc(d, "change", "1kbit"))
		return fail(d, "tc", round);
	sh->go = round;
	if (!wait_held(d, round))
		return false;
	rebuilds = sh->rebuilds;
	d->plane_down = dies;
	d->sub_port_down = true;
	publish(d);
	if ((dies && !wait_for(d, &sh->deaths, deaths + 1, "the plane does not die", round)) ||
	    !wait_for(d, &sh->completed, total, "messages do not complete", round) ||
	    !wait_for(d, &sh->received, total, "messages do not arrive", round))
		return false;
	backlog(d, &bytes, &packets);
	d->held_bytes += bytes;
	d->held_packets += packets;
	if (!packets)
		return fail(d, "nothing was held past completion", round);
	d->plane_down = false;
	publish(d);
	if (dies && !wait_for(d, &sh->rebuilds, rebuilds + 1, "the plane is not rebuilt", round))
		return false;
	if (tc(d, "change", "10gbit") || !wait_released(d, round) ||
	    !wait_for(d, &sh->polls, sh->polls + 3, "the receiver stopped", round))
		return false;
	sh->check = round;
	if (!wait_for(d, &sh->checked, round, "no check", round))
		return false;
	rebuilds = sh->rebuilds;
	d->sub_port_down = false;
	publish(d);
	/* devices cannot be moved to: new QPs spread over both */
	return !d->verbs ||
	       wait_for(d, &sh->rebuilds, rebuilds + 1, "the sub-port is not taken back", round);
}

static bool drill(struct drill *d)
{
	struct shared *sh = d->shared;
	uint64_t start = now_ns();
	bool ok = true;

	if (tc(d, "add", "10gbit"))
		return fail(d, "tc", 0);
	for (int h = 0; h < 2; h++) {
		d->child[h] = fork();
		if (d->child[h] == 0)
			_exit(h ? receiver(d) : sender(d));
	}
	while (!sh->connected && !sh->failed && now_ns() - start < LIMIT_S * UINT64_C(1000000000))
		poll(NULL, 0, 5);
	if (!sh->connected)
		return fail(d, "not connected", 0);
	start = now_ns();
	for (uint64_t round = 1; ok && round <= d->rounds; round++)
		ok = one_round(d, round);
	sh->stop = 1;
	for (int h = 0; h < 2; h++) {
		int status;

		waitpid(d->child[h], &status, 0);
		d->child[h] = 0;
		ok &= !status;
	}
	printf("{\"provider\":\"%s\",\"rounds\":%llu,\"held_packets\":%llu,\"held_bytes\":%llu,"
	       "\"deaths\":%llu,"
	       "\"rebuilds\":%llu,\"seconds\":%.1f,\"ghost_writes\":%s}\n",
	       d->provider, (unsigned long long)d->rounds, (unsigned long long)d->held_packets,
	       (unsigned long long)d->held_bytes, (unsigned long long)sh->deaths,
	       (unsigned long long)sh->rebuilds, (double)(now_ns() - start) / 1e9,
	       ok && !sh->failed ? "0" : "null");
	return ok && !sh->failed;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"rounds", 1, 0, 'r'}, {"provider", 1, 0, 'p'}, {0, 0, 0, 0}};
	static struct drill d = {.provider = "soft", .rounds = 12};
	bool ok = false;
	int c;

	while ((c = getopt_long(argc, argv, "r:p:", options, NULL)) != -1) {
		if (c == 'r')
			d.rounds = strtoull(optarg, NULL, 0);
		else if (c == 'p')
			d.provider = optarg;
		else
			return 2;
	}
	d.verbs = !strcmp(d.provider, "verbs");
	if (geteuid()) {
		printf("skipped: needs root to make network namespaces\n");
		return 77;
	}
	d.shared = mmap(NULL, sizeof(*d.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (!build(&d) && !start_daemons(&d))
		ok = drill(&d);
	tear_down(&d);
	return !ok;
}
