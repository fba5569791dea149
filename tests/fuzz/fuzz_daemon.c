/* links: fared_core; parses: fared/control.c fared/daemon.c fared/daemon_health.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The whole daemon, by its sockets: FRR's BMP and zserv, operators, packets on its links, links
 * that come and go, reloads, and time that passes. It runs in this process, in namespaces of its
 * own, so that coverage leads the fuzzer through all of it; the clock jumps when an input says so.
 *
 * An input is a list of operations. Each has one octet for the operation (enum operation), one for
 * the client, port or other object that it acts on, two octets of length (big-endian), and its
 * data. At the end all connections are closed and hours pass. The daemon must still answer, and
 * hold no more descriptors than before.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/un.h>
#include <time.h>

#include "../unit/own_net.h"
#include "config.h"
#include "daemon_internal.h"
#include "notice_wire.h"
#include "roce_ports.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum operation {
	OP_BMP,		 /* octets from bgpd; none: it closes */
	OP_ZSERV,	 /* from zebra; none: it closes */
	OP_ASK,		 /* from an operator's client; none: it hangs up */
	OP_ASK_UNREAD,	 /* from one that reads no answer */
	OP_PACKET,	 /* a datagram to port `who` of PORTS, on the first link */
	OP_ANSWER,	 /* all probes under way; the octets change the answers */
	OP_LINK,	 /* `who` & 3: which, & 4: up */
	OP_MILLISECONDS, /* pass: 16 bits of them */
	OP_RELOAD,	 /* of configuration `who` */
	OPERATIONS
};

enum {
	CLIENTS = 4,
	MOST_STEPS = 64,
	MOST_BYTES = 16384,
	TURNS_TO_ANSWER = 50,
	BMP_PORT = 5999,
};

#define FORGOTTEN_NS UINT64_C(4000000000000) /* peers are forgotten after an hour */
#define RUN_DIR	     "/run/fared"
#define CONFIG_PATH  "/run/fared.yaml"
#define KEY	     "the key of all servers"

/* the peer's end of each link, and the daemon's: 02:00:00:00:00:0n, n odd and even */
static const char *const links[] = {"a0", "a1", "b0"};
#define N_LINKS (sizeof(links) / sizeof(links[0]))
#define PEER	0xc6130002u /* 198.19.0.2 */
#define OWN	0xc6130001u

struct link_change {
	unsigned link;
	bool up;
};

static struct daemon *fared;
static struct log log_none;
static uint64_t skew_ns;
static int bmp_listener, zserv_listener, bmp = -1, zserv = -1, client[2 * CLIENTS];
static int wire[N_LINKS]; /* packets at the peers' ends */
static int changer;	  /* of links */
static int lowest_fd;
static struct notice_keys keys = {.own = {KEY, sizeof(KEY) - 1}};

/* ---- the clock ------------------------------------------------------------- */

/* In place of libc's, for libev too. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
	static int (*real)(clockid_t clock, struct timespec * ts);
	uint64_t ns;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	if (real(clock, ts))
		return -1;
	if (clock != CLOCK_MONOTONIC)
		return 0;
	ns = (uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec + skew_ns;
	ts->tv_sec = (time_t)(ns / 1000000000u);
	ts->tv_nsec = (long)(ns % 1000000000u);
	return 0;
}

/* ---- what it runs in ------------------------------------------------------- */

static void must(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "fuzz_daemon: %s: %s\n", what, strerror(errno));
	abort();
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(fd);
}

static void write_config(unsigned variant)
{
	char text[2000];

	snprintf(text, sizeof(text),
		 "node: s0\nrun_dir: " RUN_DIR "\nlog_level: err\n%s"
		 "bgp: {bmp_port: %d, stale_s: %u, max_as_path: 2, zserv_path: /run/zserv.api,"
		 " frr_version: %s, bmp_user: root, peer_prefixes: [198.19.0.0/16, "
		 "2001:db8:19::/48]}\n"
		 "health: {realtime: false, key_file: /run/key, interval_ms: %u}\n"
		 "local_gpus:\n"
		 "  - name: g0\n    addresses: [198.19.0.1, 2001:db8:19::1]\n    planes:\n"
		 "    - sub_ports: [{dev: a0, speed_mbps: 400, neighbors: [198.18.0.0]},"
		 " {dev: a1, speed_mbps: 400, neighbors: [198.18.0.2]}]\n"
		 "    - sub_ports: [{dev: b0, speed_mbps: 400, neighbors: [\"2001:db8:18::\"]}]\n",
		 variant & 8 ? "user: nobody\n" : "", BMP_PORT, variant & 1 ? 60 : 120,
		 variant & 2 ? "\"10.1\"" : "\"8.4.4\"", variant & 4 ? 10 : 3);
	write_file(CONFIG_PATH, text);
}

/* All of it goes with the process. */
static void make_net(void)
{
	static const char *const setup =
		"for n in 0:a0 2:a1 4:b0; do i=${n%:*} d=${n#*:};"
		" ip link add $d address 02:00:00:00:00:0$i type veth peer name $d.x address "
		"02:00:00:00:00:0$((i + 1)) && ip link set $d up && ip link set $d.x up || exit 1;"
		" echo 0 >/proc/sys/net/ipv4/conf/$d/rp_filter; done;"
		"echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter;"
		"ip addr add 198.19.0.1/32 dev lo; ip addr add 2001:db8:19::1/128 dev lo;"
		"ip addr add 198.18.0.1/31 dev a0; ip addr add 198.18.0.3/31 dev a1;"
		"ip addr add 2001:db8:18::1/127 dev b0 nodad;"
		"ip neigh add 198.18.0.0 dev a0 lladdr 02:00:00:00:00:01 nud permanent;"
		"ip neigh add 198.18.0.2 dev a1 lladdr 02:00:00:00:00:03 nud permanent;"
		"ip neigh add 2001:db8:18:: dev b0 lladdr 02:00:00:00:00:05 nud permanent;"
		"ip route add 198.19.0.0/16 via 198.18.0.0 dev a0 metric 10;"
		"ip route add 198.19.0.0/16 via 198.18.0.2 dev a1 metric 11;"
		"ip route add 2001:db8:19::/48 via 2001:db8:18:: dev b0";

	must(!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		     !mount("tmpfs", "/run", "tmpfs", 0, NULL),
	     "a /run of its own");
	must(!system(setup), "links");
}

/* The daemon gives up what this takes: so another process does it, until this one ends. */
static void change_links(int fd)
{
	int by = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct link_change change;

	while (recv(fd, &change, sizeof(change), 0) == (ssize_t)sizeof(change)) {
		struct ifreq r = {.ifr_flags = change.up ? IFF_UP : 0};

		snprintf(r.ifr_name, sizeof(r.ifr_name), "%s.x", links[change.link]);
		must(!ioctl(by, SIOCSIFFLAGS, &r) && send(fd, "", 1, 0) == 1, r.ifr_name);
	}
	_exit(0);
}

static void start_changer(void)
{
	int pair[2];
	pid_t pid;

	must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), "a pair of sockets");
	pid = fork();
	must(pid >= 0, "a process");
	if (!pid) {
		close(pair[0]);
		change_links(pair[1]);
	}
	close(pair[1]);
	changer = pair[0];
}

static void open_wires(void)
{
	for (unsigned i = 0; i < N_LINKS; i++) {
		char name[8];
		struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};

		snprintf(name, sizeof(name), "%s.x", links[i]);
		at.sll_ifindex = (int)if_nametoindex(name);
		wire[i] = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC,
				 htons(ETH_P_ALL));
		must(wire[i] >= 0 && !bind(wire[i], (struct sockaddr *)&at, sizeof(at)), name);
	}
}

static void listen_for_it(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons(BMP_PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/run/zserv.api"};
	int flags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

	bmp_listener = socket(AF_INET, flags, 0);
	zserv_listener = socket(AF_UNIX, flags, 0);
	must(!bind(bmp_listener, (struct sockaddr *)&in, sizeof(in)) && !listen(bmp_listener, 8),
	     "bgpd's port");
	must(!bind(zserv_listener, (struct sockaddr *)&un, sizeof(un)) &&
		     !listen(zserv_listener, 8),
	     "zebra's socket");
}

static void start(void)
{
	static const struct daemon_options options = {.path = CONFIG_PATH, .sandbox = SANDBOX_OFF};
	const struct privileges p = {.socket_gid = (gid_t)-1,
				     .attach_gid = (gid_t)-1,
				     .operator_gid = (gid_t)-1,
				     .bmp_uid = getuid()};
	struct config_error error;
	struct config *config;
	int skipped = own_net();

	if (skipped)
		exit(skipped);
	make_net();
	write_file("/run/key", KEY "\n");
	write_config(0);
	listen_for_it();
	open_wires();
	start_changer();
	signal(SIGPIPE, SIG_IGN);
	log_init(&log_none, open("/dev/null", O_WRONLY | O_CLOEXEC), LOG_EMERG);
	for (int i = 0; i < 2 * CLIENTS; i++)
		client[i] = -1;
	must(!config_load(&config, CONFIG_PATH, &error), "its configuration");
	must(!daemon_create(&fared, config, &options, &p, &log_none), "the daemon");
}

/* ---- its turns ------------------------------------------------------------- */

static void take(int listener, int *fd)
{
	int new = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (new < 0)
		return;
	if (*fd >= 0)
		close(*fd);
	*fd = new;
}

static void turn(void)
{
	ev_run(fared->loop, EVRUN_NOWAIT);
	take(bmp_listener, &bmp);
	take(zserv_listener, &zserv);
}

static void turns(int n)
{
	while (n--)
		turn();
}

static void pass(uint64_t ns)
{
	skew_ns += ns;
	turns(2);
}

static void hang_up(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- operations ------------------------------------------------------------ */

static void send_or_close(int *fd, const uint8_t *bytes, size_t n)
{
	if (!n)
		hang_up(fd);
	else if (*fd >= 0 && send(*fd, bytes, n, MSG_NOSIGNAL) < 0 && errno != EAGAIN)
		hang_up(fd);
}

static int connect_client(bool operates)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(at.sun_path, operates ? RUN_DIR "/" CONTROL_OPERATE_NAME : RUN_DIR "/" CONTROL_NAME);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)))
		hang_up(&fd);
	return fd;
}

static void ask(unsigned who, bool reads, const uint8_t *bytes, size_t n)
{
	int *fd = &client[who % CLIENTS + (reads ? 0 : CLIENTS)];
	char answer[4096];

	if (*fd < 0)
		*fd = connect_client(who & 1);
	send_or_close(fd, bytes, n);
	if (*fd >= 0 && n)
		send(*fd, "\n", 1, MSG_NOSIGNAL);
	turns(2);
	while (reads && *fd >= 0 && recv(*fd, answer, sizeof(answer), 0) > 0)
		turn();
}

static uint16_t checksum(const void *header, size_t n)
{
	const uint8_t *bytes = header;
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t) ~(sum + (sum >> 16)));
}

/* From the peer to the daemon's server. */
static void send_datagram(unsigned link, uint16_t from, uint16_t to, const uint8_t *bytes, size_t n)
{
	struct {
		struct ether_header ether;
		struct iphdr ip;
		struct udphdr udp;
		uint8_t bytes[1400];
	} __attribute__((packed))
	frame = {.ether = {.ether_dhost = {2, 0, 0, 0, 0, (uint8_t)(2 * link)},
			   .ether_shost = {2, 0, 0, 0, 0, (uint8_t)(2 * link + 1)},
			   .ether_type = htons(ETHERTYPE_IP)},
		 .ip = {.ihl = 5,
			.version = 4,
			.ttl = 254,
			.protocol = IPPROTO_UDP,
			.saddr = htonl(PEER),
			.daddr = htonl(OWN)},
		 .udp = {.source = htons(from), .dest = htons(to)}};
	struct iphdr ip;
	size_t head = sizeof(frame) - sizeof(frame.bytes);

	if (n > sizeof(frame.bytes))
		n = sizeof(frame.bytes);
	memcpy(frame.bytes, bytes, n);
	frame.udp.len = htons((uint16_t)(sizeof(frame.udp) + n));
	frame.ip.tot_len = htons((uint16_t)(sizeof(frame.ip) + sizeof(frame.udp) + n));
	ip = frame.ip;
	frame.ip.check = checksum(&ip, sizeof(ip));
	send(wire[link], &frame, head + n, 0);
}

static void packet(unsigned who, const uint8_t *bytes, size_t n)
{
	const uint16_t ports[] = {SBFD_WIRE_PORT, ROCE_UDP_PORT, FARE_PROBE_PORT_FIRST,
				  FARE_PROBE_PORT_FIRST + 1};

	send_datagram(who >> 4 & 1, who & 8 ? SBFD_WIRE_PORT : 50000, ports[who & 3], bytes, n);
}

/* As the peer's reflector does; octets of `change` are XORed in behind an offset of one octet. */
static void answer_probe(unsigned link, const struct udphdr *udp, const uint8_t *bytes, size_t n,
			 const uint8_t *change, size_t n_change)
{
	struct notice_ends there = {.from.s6_addr = {[10] = 0xff, 0xff, 198, 19, 0, 1},
				    .to.s6_addr = {[10] = 0xff, 0xff, 198, 19, 0, 2}};
	struct notice_ends back = {there.to, there.from};
	struct notice_trailer t, reply = {0};
	uint8_t out[NOTICE_WIRE_MAX_BYTES];
	size_t length = SBFD_WIRE_BYTES;
	struct sbfd_wire_error error;
	struct sbfd_packet p;

	if (sbfd_wire_decode(bytes, n, &p, &error) ||
	    notice_wire_decode(bytes, n, &keys, &there, &t, &error))
		return;
	p = sbfd_wire_reflection(&p, 1);
	sbfd_wire_encode(&p, out);
	reply.has_stamp = reply.has_arrival = t.has_stamp;
	reply.stamp = t.stamp;
	reply.arrival = (struct notice_arrival){0, (uint8_t)link, 2};
	reply.has_ack = t.has_capacity;
	reply.ack = (struct notice_ack){t.capacity.incarnation, t.capacity.sequence};
	length = notice_wire_encode(&reply, &keys.own, &back, out);
	for (size_t i = 1; i < n_change; i++)
		out[(change[0] + i) % length] ^= change[i];
	send_datagram(link, SBFD_WIRE_PORT, ntohs(udp->source), out, length);
}

static void answer(const uint8_t *change, size_t n_change)
{
	uint8_t frame[2048];
	struct udphdr udp;
	size_t head = sizeof(struct ether_header) + sizeof(struct iphdr);
	ssize_t n;

	for (unsigned i = 0; i < N_LINKS; i++)
		while ((n = recv(wire[i], frame, sizeof(frame), 0)) > 0) {
			if ((size_t)n <= head + sizeof(udp) || frame[5] != 2 * i + 1 ||
			    frame[12] != 8 || frame[13] || frame[23] != IPPROTO_UDP)
				continue;
			memcpy(&udp, frame + head, sizeof(udp));
			head += sizeof(udp);
			answer_probe(i, &udp, frame + head, (size_t)n - head, change, n_change);
			head -= sizeof(udp);
		}
}

static void set_link(unsigned which, bool up)
{
	struct link_change change = {which % N_LINKS, up};
	char done;

	must(send(changer, &change, sizeof(change), 0) == (ssize_t)sizeof(change) &&
		     recv(changer, &done, 1, 0) == 1,
	     "a link's state");
}

static void operate(enum operation op, unsigned who, const uint8_t *bytes, size_t n)
{
	switch (op) {
	case OP_BMP:
		send_or_close(&bmp, bytes, n);
		break;
	case OP_ZSERV:
		send_or_close(&zserv, bytes, n);
		break;
	case OP_ASK:
	case OP_ASK_UNREAD:
		ask(who, op == OP_ASK, bytes, n);
		break;
	case OP_PACKET:
		packet(who, bytes, n);
		break;
	case OP_ANSWER:
		answer(bytes, n);
		break;
	case OP_LINK:
		set_link(who & 3, who & 4);
		break;
	case OP_MILLISECONDS:
		pass(n < 2 ? 1000000u : (bytes[0] * 256u + bytes[1]) * UINT64_C(1000000));
		break;
	case OP_RELOAD:
		write_config(who);
		daemon_on_hangup(fared->loop, &fared->hangup, 0);
		break;
	case OPERATIONS:
		break;
	}
	turns(2);
}

/* ---- afterwards ------------------------------------------------------------ */

static void must_answer(void)
{
	static const char question[] = "{\"cmd\":\"version\"}\n";
	int fd = connect_client(false);
	char text[4096];
	ssize_t n = -1;
	json_t *reply;

	must(fd >= 0 && send(fd, question, strlen(question), 0) > 0, "no connection");
	for (int i = 0; n < 0 && i < TURNS_TO_ANSWER; i++) {
		turn();
		n = recv(fd, text, sizeof(text), 0);
	}
	must(n > 0 && text[n - 1] == '\n', "no answer");
	reply = json_loadb(text, (size_t)n, 0, NULL);
	must(reply && json_is_true(json_object_get(reply, "ok")), "another answer");
	json_decref(reply);
	close(fd);
}

/* A daemon that keeps what clients opened runs out of descriptors: the lowest free one climbs. */
static void must_hold_no_more(int allowed)
{
	int fd = dup(lowest_fd);

	must(fd >= 0 && fd <= allowed, "descriptors are kept");
	close(fd);
}

static void end_all(void)
{
	for (int i = 0; i < 2 * CLIENTS; i++)
		hang_up(&client[i]);
	for (unsigned i = 0; i < N_LINKS; i++)
		set_link(i, true);
	hang_up(&bmp);
	hang_up(&zserv);
	turns(2);
	write_config(0);
	daemon_on_hangup(fared->loop, &fared->hangup, 0);
	for (int i = 0; i < 3; i++)
		pass(FORGOTTEN_NS);
	answer(NULL, 0);
	turns(2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int allowed;

	if (!fared) {
		start();
		lowest_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		end_all();
		must_answer();
		allowed = dup(lowest_fd);
		close(allowed);
		allowed += 16; /* counters of devices and the like are opened when first in doubt */
	}
	for (int i = 0; size >= 4 && i < MOST_STEPS; i++) {
		size_t n = data[2] * 256u + data[3];

		if (n > size - 4 || n > MOST_BYTES)
			n = size - 4;
		operate(data[0] % OPERATIONS, data[1], data + 4, n);
		data += 4 + n;
		size -= 4 + n;
	}
	end_all();
	must_answer();
	must_hold_no_more(allowed);
	return 0;
}
