/* SPDX-License-Identifier: BSD-2-Clause */
#include "bed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_BPS 200000000
#define DEFAULT_MTU 4200u
#define DROP_ALL    "1,6 0 0 2" /* classic BPF: return TC_ACT_SHOT */

struct in6_addr bed_address(int host)
{
	struct in6_addr a;
	char text[32];

	snprintf(text, sizeof(text), "::ffff:198.19.0.%d", host + 1);
	inet_pton(AF_INET6, text, &a);
	return a;
}

struct in6_addr bed_address_in(const struct bed *bed, int host)
{
	struct in6_addr a = {.s6_addr = {0x20, 1, 0xd, 0xb8}};

	a.s6_addr[15] = (uint8_t)(host + 1);
	return bed->options.ipv6 ? a : bed_address(host);
}

const char *bed_device(const struct bed *bed, int host, unsigned plane, unsigned sub_port,
		       char text[16])
{
	if (bed->verbs)
		snprintf(text, 16, "h%dp%us%u", host & 1, plane % FARE_MAX_PLANES,
			 sub_port % FARE_MAX_SUB_PORTS);
	else
		snprintf(text, 16, "p%us%u", plane % FARE_MAX_PLANES,
			 sub_port % FARE_MAX_SUB_PORTS);
	return text;
}

int bed_run(const char *format, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	return system(command);
}

const char *bed_in(const struct bed *bed, int host, char text[48])
{
	text[0] = 0;
	if (!bed->verbs)
		snprintf(text, 48, "ip netns exec %s ", bed->ns[host]);
	return text;
}

/* ---- the fabric ---- */

static int build_link(const struct bed *bed, unsigned p, unsigned s)
{
	const struct bed_options *o = &bed->options;
	unsigned x = p * FARE_MAX_SUB_PORTS + s;

	if (bed_run("ip link add p%us%u netns %s mtu %u type veth peer name p%us%u netns %s mtu %u",
		    p, s, bed->ns[0], o->mtu, p, s, bed->ns[1], o->mtu))
		return 1;
	for (int h = 0; h < 2; h++) {
		const char *ns = bed->ns[h];

		if (bed_run("ip -n %s addr add 198.18.%u.%d/31 dev p%us%u && ip -n %s link set "
			    "p%us%u up && "
			    "tc -n %s qdisc add dev p%us%u clsact",
			    ns, x, h, p, s, ns, p, s, ns, p, s))
			return 1;
		if (o->rate_mbps && bed_run("tc -n %s qdisc add dev p%us%u root handle 1: tbf rate "
					    "%umbit burst 131072 "
					    "limit 1048576",
					    ns, p, s, o->rate_mbps))
			return 1;
	}
	return 0;
}

/* The same link in IPv6; a socket bound to its device needs a route by it. */
static int build_link6(const struct bed *bed, unsigned p, unsigned s)
{
	unsigned x = p * FARE_MAX_SUB_PORTS + s;

	for (int h = 0; h < 2; h++)
		if (bed_run("ip -n %s addr add 2001:db8:1:%x::%d/64 dev p%us%u nodad && ip -n %s "
			    "route add 2001:db8::%d/128 via 2001:db8:1:%x::%d dev p%us%u metric %u",
			    bed->ns[h], x, h + 1, p, s, bed->ns[h], 2 - h, x, 2 - h, p, s, x + 1))
			return 1;
	return 0;
}

static int build_links(const struct bed *bed)
{
	for (unsigned p = 0; p < bed->options.planes; p++)
		for (unsigned s = 0; s < bed->options.sub_ports; s++)
			if (build_link(bed, p, s) || (bed->options.ipv6 && build_link6(bed, p, s)))
				return 1;
	return 0;
}

/* Of plane 0: every sub-port ends at the leaf, which routes to either host over all of them. */
static int build_leaf(struct bed *bed)
{
	char ways[2][256] = {"", ""};

	snprintf(bed->leaf, sizeof(bed->leaf), "fl-bed%d-leaf", (int)getpid());
	if (bed_run("ip netns add %s && ip netns exec %s sysctl -qw net.ipv4.ip_forward=1 "
		    "net.ipv4.conf.all.rp_filter=0 "
		    "net.ipv4.conf.default.rp_filter=0 net.ipv4.fib_multipath_hash_policy=1 "
		    "net.ipv4.fib_multipath_hash_seed=4711",
		    bed->leaf, bed->leaf))
		return 1;
	for (int h = 0; h < 2; h++) {
		const char *ns = bed->ns[h];

		for (unsigned s = 0; s < bed->options.sub_ports; s++) {
			unsigned x = (unsigned)h * FARE_MAX_SUB_PORTS + s;
			size_t used = strlen(ways[0]);

			if (bed_run("ip link add p0s%u netns %s mtu %u type veth peer name h%ds%u "
				    "netns %s mtu %u && "
				    "ip -n %s addr add 198.18.%u.0/31 dev p0s%u && ip -n %s link "
				    "set p0s%u up && "
				    "ip -n %s addr add 198.18.%u.1/31 dev h%ds%u && ip -n %s link "
				    "set h%ds%u up",
				    s, ns, bed->options.mtu, h, s, bed->leaf, bed->options.mtu, ns,
				    x, s, ns, s, bed->leaf, x, h, s, bed->leaf, h, s))
				return 1;
			snprintf(ways[0] + used, sizeof(ways[0]) - used,
				 " nexthop via 198.18.%u.1 dev p0s%u", x, s);
			used = strlen(ways[1]);
			snprintf(ways[1] + used, sizeof(ways[1]) - used, " nexthop via 198.18.%u.0",
				 x);
		}
		if (bed_run("ip netns exec %s sysctl -qw net.ipv4.fib_multipath_hash_policy=1 "
			    "net.ipv4.fib_multipath_hash_seed=%d && "
			    "ip -n %s route add 198.19.0.%d/32 src 198.19.0.%d%s && ip -n %s route "
			    "add 198.19.0.%d/32%s",
			    ns, 17 + h, ns, 2 - h, h + 1, ways[0], bed->leaf, h + 1, ways[1]))
			return 1;
		ways[0][0] = ways[1][0] = 0;
	}
	return 0;
}

static int build(struct bed *bed)
{
	for (int h = 0; h < 2; h++) {
		snprintf(bed->ns[h], sizeof(bed->ns[h]), "fl-bed%d-%d", (int)getpid(), h);
		if (bed_run("ip netns add %s && ip -n %s link set lo up && ip -n %s addr add "
			    "198.19.0.%d/32 dev lo && "
			    "ip netns exec %s sysctl -qw net.ipv4.conf.all.rp_filter=0 "
			    "net.ipv4.conf.default.rp_filter=0",
			    bed->ns[h], bed->ns[h], bed->ns[h], h + 1, bed->ns[h]))
			return 1;
		if (bed->options.ipv6 &&
		    bed_run("ip -n %s addr add 2001:db8::%d/128 dev lo nodad", bed->ns[h], h + 1))
			return 1;
	}
	if (bed->options.leaf)
		return build_leaf(bed);
	if (build_links(bed))
		return 1;
	for (int h = 0; h < 2; h++)
		if (bed_run("ip -n %s route add 198.19.0.%d/32 via 198.18.0.%d", bed->ns[h], 2 - h,
			    1 - h))
			return 1;
	return 0;
}

static void fabric(const char *function, unsigned plane, const char *more)
{
	if (bed_run("bash -c '. tests/vm/fabric.sh; fabric_%s %u %s'", function, plane, more))
		fprintf(stderr, "bed: fabric_%s %u %s failed\n", function, plane, more);
}

void bed_link(struct bed *bed, unsigned plane, unsigned sub_port, bool up)
{
	char more[64];

	if (!bed->verbs) {
		bed_run("ip -n %s link set p%us%u %s", bed->ns[1], plane, sub_port,
			up ? "up" : "down");
		return;
	}
	snprintf(more, sizeof(more), "%u %u; [ %d = 0 ] || fabric_leaf_routes %u %u", plane,
		 sub_port, up, plane, bed->options.sub_ports);
	fabric(up ? "link_up" : "link_down", 0, more);
}

void bed_gray(struct bed *bed, unsigned plane, bool gray)
{
	if (bed->verbs) {
		fabric(gray ? "gray" : "clear", plane, "");
		return;
	}
	for (int h = 0; h < 2; h++)
		for (unsigned s = 0; s < bed->options.sub_ports; s++)
			bed_run("tc -n %s filter %s dev p%us%u ingress pref 1 %s", bed->ns[h],
				gray ? "add" : "del", plane, s,
				gray ? "bpf da bytecode '" DROP_ALL "'" : "");
}

int bed_sink(struct bed *bed, int host, size_t bytes, _Atomic uint64_t *addr,
	     _Atomic uint64_t *rkey, _Atomic int *over)
{
	struct fare *fare;
	struct fare_domain *domain = bed_enter(bed, host, &fare);
	uint8_t *memory = bed_memory(bytes);
	struct fare_event e[32];
	struct fare_mr *mr;

	if (fare_mr_register(&mr, domain, memory, bytes, true))
		return 1;
	*addr = (uint64_t)(uintptr_t)memory;
	*rkey = fare_mr_rkey(mr) | UINT64_C(1) << 32;
	while (!*over) {
		int n = bed_events(domain, e, 32, 20);

		for (int i = 0; i < n; i++)
			if (e[i].kind == FARE_EVENT_CLOSED)
				fare_group_close(e[i].group);
	}
	fare_domain_close(domain);
	return 0;
}

uint64_t bed_rx_bytes(const struct bed *bed, int host, unsigned plane, unsigned sub_port)
{
	char command[160], in[48], dev[16], text[32] = "";
	FILE *f;

	snprintf(command, sizeof(command), "%scat /sys/class/net/%s/statistics/rx_bytes",
		 bed_in(bed, host, in), bed_device(bed, host, plane, sub_port, dev));
	f = popen(command, "r");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		pclose(f);
	return strtoull(text, NULL, 10);
}

int bed_rehash(const struct bed *bed, unsigned seed)
{
	return bed_run("ip netns exec %s sysctl -qw net.ipv4.fib_multipath_hash_seed=%u", bed->leaf,
		       seed);
}

/* ---- the daemons' part ---- */

static uint64_t live_bps(const struct bed *bed, int host, unsigned plane)
{
	uint64_t bps = 0;

	for (unsigned s = 0; s < bed->options.sub_ports; s++)
		bps += bed->sub_port_down[host][plane][s] ? 0 : bed->options.bps;
	return bps;
}

void bed_publish(struct bed *bed)
{
	const struct bed_options *o = &bed->options;

	for (int h = 0; h < 2; h++) {
		struct in6_addr peer = bed_address_in(bed, 1 - h);
		struct shm_path path[FARE_MAX_PLANES] = {0};

		for (unsigned p = 0; p < o->planes; p++) {
			uint64_t own = live_bps(bed, h, p), its = live_bps(bed, 1 - h, p);

			for (unsigned s = 0; s < o->sub_ports; s++)
				shm_writer_sub_port(bed->writer[h], 0, p, s,
						    !bed->sub_port_down[h][p][s],
						    bed->sub_port_down[h][p][s] ? 0 : o->bps);
			path[p].usable_bps = bed->plane_down[p] ? 0 : own < its ? own : its;
			path[p].verdict =
				path[p].usable_bps ? FARE_VERDICT_OK : FARE_VERDICT_NO_ROUTE;
		}
		shm_writer_publish(bed->writer[h],
				   (uint32_t)shm_writer_pair(bed->writer[h], 0, peer.s6_addr), path,
				   o->planes);
	}
}

static int start_daemons(struct bed *bed)
{
	for (int h = 0; h < 2; h++) {
		struct shm_writer_gpu gpu = {.n_planes = bed->options.planes};
		struct in6_addr own = bed_address_in(bed, h);

		snprintf(bed->dir[h], sizeof(bed->dir[h]), "/tmp/fl-bed%d-%d", (int)getpid(), h);
		memcpy(gpu.address[bed->options.ipv6], &own, 16);
		for (unsigned p = 0; p < bed->options.planes; p++) {
			gpu.n_sub_ports[p] = bed->options.sub_ports;
			for (unsigned s = 0; s < bed->options.sub_ports; s++)
				bed_device(bed, h, p, s, gpu.dev[p][s]);
		}
		if (bed_run("mkdir -p %s", bed->dir[h]) ||
		    shm_writer_open(&bed->writer[h], bed->dir[h], 0600, &gpu, 1, NULL))
			return 1;
	}
	bed_publish(bed);
	return 0;
}

/* ---- making and removing ---- */

/* What a bed of process pid has made, or part of it. */
static void remove_all(int pid)
{
	for (int h = 0; h < 2; h++)
		bed_run("ip netns del fl-bed%d-%d 2>/dev/null; rm -rf /tmp/fl-bed%d-%d", pid, h,
			pid, h);
	bed_run("ip netns del fl-bed%d-leaf 2>/dev/null; rm -f /tmp/fl-bed%d-key", pid, pid);
}

/*
 * A process that removes the bed when the other end of its socket is shut, or when nobody has it
 * any more: the test has died, however it did. It is nobody's child and in no group, so that what
 * kills a test with all of its processes spares it.
 */
static int start_guard(struct bed *bed)
{
	int ends[2], pid = (int)getpid();
	pid_t child;
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		if (setsid() < 0 || fork() != 0)
			_exit(0);
		close(ends[1]);
		while (read(ends[0], &byte, 1) > 0)
			;
		remove_all(pid);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	close(ends[0]);
	bed->guard = ends[1];
	return child < 0;
}

static void end_guard(struct bed *bed)
{
	char byte;

	if (!bed->guard)
		return;
	shutdown(bed->guard, SHUT_WR);
	while (read(bed->guard, &byte, 1) > 0)
		;
	close(bed->guard);
	bed->guard = 0;
}

int bed_make(struct bed *bed, const struct bed_options *options)
{
	memset(bed, 0, sizeof(*bed));
	bed->options = *options;
	bed->options.bps = options->bps ? options->bps : DEFAULT_BPS;
	bed->options.mtu = options->mtu ? options->mtu : DEFAULT_MTU;
	bed->verbs = !strcmp(options->provider, "verbs");
	if (geteuid()) {
		printf("skipped: needs root to make network namespaces\n");
		exit(77);
	}
	snprintf(bed->key, sizeof(bed->key), "/tmp/fl-bed%d-key", (int)getpid());
	if (start_guard(bed) ||
	    bed_run("(umask 077; head -c 32 /dev/urandom | base64 > %s)", bed->key) ||
	    (!bed->verbs && build(bed)) || start_daemons(bed)) {
		fprintf(stderr, "bed: cannot be made\n");
		bed_destroy(bed);
		return 1;
	}
	return 0;
}

void bed_destroy(struct bed *bed)
{
	for (int h = 0; h < 2; h++) {
		if (bed->child[h] > 0) {
			kill(bed->child[h], SIGKILL);
			waitpid(bed->child[h], NULL, 0);
		}
		shm_writer_close(bed->writer[h]);
		bed->writer[h] = NULL;
	}
	end_guard(bed);
}

/* ---- the children ---- */

int bed_start(struct bed *bed, int host, int (*main)(void *arg), void *arg)
{
	fflush(NULL);
	bed->child[host] = fork();
	if (bed->child[host] == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(main(arg));
	}
	return bed->child[host] < 0;
}

int bed_join(struct bed *bed, int host)
{
	int status = 1;

	if (bed->child[host] > 0)
		waitpid(bed->child[host], &status, 0);
	bed->child[host] = 0;
	return status;
}

void bed_enter_namespace(const struct bed *bed, int host)
{
	char path[64];
	int fd;

	if (bed->verbs)
		return;
	snprintf(path, sizeof(path), "/run/netns/%s", bed->ns[host]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET)) {
		perror(path);
		exit(1);
	}
	close(fd);
}

struct fare_domain *bed_enter(const struct bed *bed, int host, struct fare **fare)
{
	struct fare_domain_options options = {.provider = bed->options.provider,
					      .family = bed->options.ipv6 ? AF_INET6 : AF_INET,
					      .accept = host == 1,
					      .key_file = bed->key,
					      .path_mtu = bed->options.mtu < 4200 ? 1024 : 4096};
	struct fare_domain *domain;
	int err;

	bed_enter_namespace(bed, host);
	err = fare_attach(fare, bed->dir[host]);
	if (!err)
		err = fare_domain_open(&domain, *fare, 0, &options);
	if (err) {
		fprintf(stderr, "bed: host %d: %s\n", host, strerror(-err));
		exit(1);
	}
	return domain;
}

int bed_events(struct fare_domain *domain, struct fare_event *events, int max, int ms)
{
	struct pollfd p = {.fd = fare_domain_fd(domain), .events = POLLIN};
	int n = fare_domain_poll(domain, events, max);

	if (n)
		return n;
	poll(&p, 1, ms);
	return fare_domain_poll(domain, events, max);
}

uint8_t *bed_memory(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED) {
		perror("bed: memory");
		exit(1);
	}
	return at;
}

/* ---- small change ---- */

uint64_t bed_mix(uint64_t id, uint64_t i)
{
	uint64_t x = (id + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ i * UINT64_C(0xc2b2ae3d27d4eb4f);

	return x ^ x >> 29;
}

void bed_fill(uint8_t *message, uint64_t from, uint64_t to, uint64_t id)
{
	uint64_t i, word;

	for (i = from; i + 8 <= to; i += 8) {
		word = bed_mix(id, i);
		memcpy(message + i, &word, 8);
	}
	word = bed_mix(id, i);
	memcpy(message + i, &word, to - i);
}

bool bed_holds(const uint8_t *message, uint64_t from, uint64_t to, uint64_t id)
{
	uint64_t i, word, found, wrong = 0;

	for (i = from; i + 8 <= to; i += 8) {
		memcpy(&found, message + i, 8);
		wrong |= found ^ bed_mix(id, i);
	}
	word = bed_mix(id, i);
	return !wrong && !memcmp(message + i, &word, to - i);
}
