/* links: test_bed */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_replay.c - control messages of groups that are recorded and sent again without the key,
 * in every situation; then a flood of forged ones, without the key and with it.
 *
 * Two hosts (bed.h) with a key and two planes. One group carries bytes that are checked,
 * throughout. Another one lives a whole life: it is refused, opened, loses lanes at both ends, asks
 * whether its peer is there, is closed. The parent records all control datagrams on the links, and
 * repeats them from the host that sent them: while that group lives, after it was closed, after
 * each end was killed and started again. Nothing may come of that: no request, no group, no lane
 * that ends. At the end, openers with the key go no further than their request.
 *
 *   hostile_replay [MESSAGES]     of each flood (120,000)
 *
 * Exit 77: not root.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bed.h"
#include "qp/domain.h"
#include "qp/engine.h"
#include "qp/group.h"
#include "qp/lane.h"
#include "qp/transfer_state.h"
#include "qp/soft/roce_icrc.h"
#include "qp/soft/roce_wire.h"
#include "qp/soft/soft_endpoint.h"

#define SLOTS	    32u
#define SLOT_BYTES  8192u
#define RECORDS	    2048u
#define PACKET_MAX  1600u
#define FLOOD_BATCH 256u
#define PATIENCE_NS UINT64_C(60000000000)
#define QKEY	    0x46415245u /* soft_control.c */

#define VANISHING     2000u
#define STRANGER_PORT 50999
#define FORGED_MAX    (QP_CONTROL_MAX + 128)

enum role { CARRIER, VICTIM, REFUSED };

struct shared {
	_Atomic uint64_t addr, rkey, incarnation;
	_Atomic unsigned requests, groups[2], deaths[2], verified, wrong, victim_got;
	_Atomic unsigned victim_open, victim_closed, refused, all_up;
	/* the parent's orders: what is to be done, how often so far */
	_Atomic unsigned open_victim, write_victim, close_victim, open_refused, ask_alive,
		kill_lane[2];
	_Atomic uint64_t rss_kb, rejected;
};

static unsigned n_forged = 120000;
static struct bed bed;
static struct shared *shared;
static int recorder, sender[2];
static struct {
	int from;
	size_t length;
	uint8_t packet[PACKET_MAX];
} records[RECORDS];
static unsigned n_records, n_of[CONTROL_TYPE_END];
static volatile sig_atomic_t is_interrupted;

/* ---- the hosts ---- */

static bool is_new(_Atomic unsigned *order, unsigned *done)
{
	if (*order == *done)
		return false;
	*done = *order;
	return true;
}

static void report(const struct fare_domain *domain, int host)
{
	unsigned deaths = 0;

	for (const struct fare_group *g = domain->groups; g; g = g->next)
		deaths += (unsigned)lanes_n_deaths(g->lanes);
	shared->deaths[host] = deaths;
	shared->groups[host] = domain->n_groups;
}

static struct fare_group *group_of(struct fare_domain *domain, enum role role)
{
	struct fare_group *g = domain->groups;

	while (g && (enum role)(uintptr_t)fare_group_context(g) != role)
		g = g->next;
	return g;
}

/* The opener says what the group is for. */
static int on_request(void *arg, struct fare_request *request)
{
	(void)arg;
	shared->requests++;
	return request->bytes == 1 && *(const uint8_t *)request->data == REFUSED ? -EDQUOT : 0;
}

static void accepted(struct fare_group *group)
{
	size_t n;
	const uint8_t *role = fare_group_private(group, &n);

	fare_group_set_context(group, (void *)(uintptr_t)(n ? *role : 0));
}

static void check_bytes(const uint8_t *memory, const struct fare_event *e)
{
	if (!bed_holds(memory + (e->tag % SLOTS) * SLOT_BYTES, 0, SLOT_BYTES, e->tag))
		shared->wrong++;
	shared->verified++;
}

/* ASan keeps back 256 MB of what was freed by default: not what is measured here. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=16";
}

static uint64_t rss_kb(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%*s %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * 4;
}

static int acceptor(void *arg)
{
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&bed, 1, &fare);
	uint8_t *memory = bed_memory(SLOTS * SLOT_BYTES);
	unsigned killed = shared->kill_lane[1];
	struct fare_event e[32];
	struct fare_mr *mr;

	(void)arg;
	domain->options.on_request = on_request;
	if (fare_mr_register(&mr, domain, memory, SLOTS * SLOT_BYTES, FARE_REMOTE_WRITE))
		return 1;
	shared->addr = (uintptr_t)memory;
	shared->incarnation = domain->ep.incarnation;
	shared->rkey = fare_mr_rkey(mr) | UINT64_C(1) << 32;
	for (;;) {
		int n = bed_events(domain, e, 32, 5);

		for (int i = 0; i < n; i++) {
			if (e[i].kind == FARE_EVENT_ACCEPTED)
				accepted(e[i].group);
			else if (e[i].kind == FARE_EVENT_CLOSED)
				fare_group_close(e[i].group);
			else if (e[i].kind == FARE_EVENT_RECEIVED && e[i].bytes)
				check_bytes(memory, &e[i]);
			else if (e[i].kind == FARE_EVENT_RECEIVED)
				shared->victim_got++;
		}
		if (is_new(&shared->kill_lane[1], &killed) && group_of(domain, VICTIM))
			lane_kill(&group_of(domain, VICTIM)->lanes->lane[1], "the test");
		report(domain, 1);
		shared->rss_kb = rss_kb();
		shared->rejected = domain->control_rejected;
	}
}

struct opener {
	struct fare_domain *domain;
	struct fare_mr *mr;
	uint8_t *memory;
	unsigned posted, out; /* of the carrier's writes */
	unsigned base;	      /* shared->verified when the carrier was opened */
	unsigned opened, wrote, closed, refused, asked, killed;
};

static void open_for(struct opener *o, enum role role)
{
	uint8_t data = (uint8_t)role;
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY,
					     .in_order = true,
					     .private_data = &data,
					     .private_bytes = 1};
	struct in6_addr peer = bed_address(1);
	struct fare_group *group;

	if (!fare_group_open(&group, o->domain, &peer, &options))
		fare_group_set_context(group, (void *)(uintptr_t)role);
}

/* A slot is used again once the receiver has checked it. */
static void write_on(struct opener *o)
{
	struct fare_group *group = group_of(o->domain, CARRIER);

	if (!group || !shared->rkey || group->state != GROUP_OPEN)
		return;
	while (o->out < 16 && o->posted - (shared->verified - o->base) < SLOTS) {
		uint8_t *slot = o->memory + (o->posted % SLOTS) * SLOT_BYTES;
		struct fare_write w = {.mr = o->mr,
				       .data = slot,
				       .length = SLOT_BYTES,
				       .remote_addr =
					       shared->addr + (o->posted % SLOTS) * SLOT_BYTES,
				       .rkey = (uint32_t)shared->rkey,
				       .tag = o->posted,
				       .flags = FARE_WRITE_NOTIFY};

		bed_fill(slot, 0, SLOT_BYTES, o->posted);
		if (fare_group_write(group, &w))
			return;
		o->posted++;
		o->out++;
	}
}

static void obey(struct opener *o)
{
	struct fare_group *victim = group_of(o->domain, VICTIM);
	struct fare_write w = {.flags = FARE_WRITE_NOTIFY};

	if (is_new(&shared->open_victim, &o->opened))
		open_for(o, VICTIM);
	if (is_new(&shared->open_refused, &o->refused))
		open_for(o, REFUSED);
	if (!victim)
		return;
	if (is_new(&shared->write_victim, &o->wrote))
		fare_group_write(victim, &w);
	if (is_new(&shared->ask_alive, &o->asked)) {
		victim->alive_ns = 1;
		run_queue_add(&victim->run);
	}
	if (is_new(&shared->kill_lane[0], &o->killed))
		lane_kill(&victim->lanes->lane[0], "the test");
	if (is_new(&shared->close_victim, &o->closed))
		fare_group_disconnect(victim);
	shared->all_up =
		victim->lanes->lane[0].state == LANE_UP && victim->lanes->lane[1].state == LANE_UP;
}

static void on_opener_event(struct opener *o, const struct fare_event *e)
{
	enum role role = (enum role)(uintptr_t)fare_group_context(e->group);

	if (e->kind == FARE_EVENT_CONNECTED && role == VICTIM)
		shared->victim_open++;
	if (e->kind == FARE_EVENT_COMPLETED && role == CARRIER)
		o->out--;
	if (e->kind != FARE_EVENT_CLOSED)
		return;
	fare_group_close(e->group);
	if (role == VICTIM)
		shared->victim_closed++;
	else if (role == REFUSED)
		shared->refused++;
	if (role != CARRIER)
		return;
	o->posted = o->out = 0;
	o->base = shared->verified;
	open_for(o, CARRIER);
}

static int opener(void *arg)
{
	struct opener o = {.opened = shared->open_victim,
			   .wrote = shared->write_victim,
			   .closed = shared->close_victim,
			   .refused = shared->open_refused,
			   .asked = shared->ask_alive,
			   .killed = shared->kill_lane[0],
			   .base = shared->verified};
	struct fare_event e[32];
	struct fare *fare;

	(void)arg;
	o.domain = bed_enter(&bed, 0, &fare);
	o.memory = bed_memory(SLOTS * SLOT_BYTES);
	if (fare_mr_register(&o.mr, o.domain, o.memory, SLOTS * SLOT_BYTES, 0))
		return 1;
	open_for(&o, CARRIER);
	for (;;) {
		int n = bed_events(o.domain, e, 32, 5);

		for (int i = 0; i < n; i++)
			on_opener_event(&o, &e[i]);
		write_on(&o);
		obey(&o);
		report(o.domain, 0);
	}
}

/* ---- the recorder ---- */

static int socket_of(int host, int family, int type, int protocol)
{
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), fd;

	bed_enter_namespace(&bed, host);
	fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	if (fd < 0 || setns(own, CLONE_NEWNET)) {
		perror("hostile_replay: socket");
		exit(1);
	}
	close(own);
	return fd;
}

static void open_sockets(void)
{
	/* the BTH's opcode, behind 20 bytes of IP and 8 of UDP */
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 28),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCE_UD_SEND_ONLY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {4, filter};
	int bytes = 8 << 20;

	recorder = socket_of(1, AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));
	setsockopt(recorder, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	setsockopt(recorder, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
	for (int h = 0; h < 2; h++)
		sender[h] = socket_of(h, AF_INET, SOCK_RAW, IPPROTO_RAW);
}

/* Where the message begins: behind BTH, DETH and the envelope. */
#define MESSAGE_AT (28 + 20 + CONTROL_AUTH_BYTES)

static void record(void)
{
	while (n_records < RECORDS) {
		ssize_t n = recv(recorder, records[n_records].packet, PACKET_MAX, 0);
		const uint8_t *packet = records[n_records].packet;

		if (n < 0)
			return;
		if (n < (ssize_t)MESSAGE_AT + 6 || packet[MESSAGE_AT + 5] >= CONTROL_TYPE_END)
			continue;
		records[n_records].from = packet[15] - 1;
		records[n_records].length = (size_t)n;
		n_of[packet[MESSAGE_AT + 5]]++;
		n_records++;
	}
}

static void inject(int from, uint8_t *packet, size_t length)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	struct pollfd p = {sender[from], POLLOUT, 0};

	packet[26] = packet[27] = 0; /* UDP's checksum was not yet computed when it was recorded */
	memcpy(&to.sin_addr, packet + 16, 4);
	while (sendto(sender[from], packet, length, 0, (struct sockaddr *)&to, sizeof(to)) < 0 &&
	       (errno == EAGAIN || errno == ENOBUFS))
		poll(&p, 1, 1);
}

/* ---- what must hold ---- */

static void fail(const char *what)
{
	fprintf(stderr,
		"hostile_replay: %s (requests %u, groups %u and %u, lanes ended %u and %u, "
		"verified %u, wrong %u)\n",
		what, shared->requests, shared->groups[0], shared->groups[1], shared->deaths[0],
		shared->deaths[1], shared->verified, shared->wrong);
	bed_destroy(&bed);
	exit(1);
}

static void look_after(void)
{
	if (is_interrupted)
		fail("interrupted");
	for (int host = 0; host < 2; host++)
		if (waitpid(bed.child[host], NULL, WNOHANG))
			fail("a host's process died");
	record();
}

#define AWAIT(condition)                                                                           \
	do {                                                                                       \
		for (uint64_t end = clock_now_ns() + PATIENCE_NS; !(condition); look_after()) {    \
			if (clock_now_ns() > end)                                                  \
				fail("never came true: " #condition);                              \
			poll(NULL, 0, 2);                                                          \
		}                                                                                  \
	} while (0)

/* The carrier's bytes arrive behind what was sent before. */
static void await_bytes(void)
{
	unsigned before = shared->verified;

	AWAIT(shared->verified - before >= 4 * SLOTS);
	if (shared->wrong)
		fail("wrong bytes");
}

static void replay_all(unsigned n_groups, const char *when)
{
	unsigned n = n_records, requests = shared->requests,
		 ended[2] = {shared->deaths[0], shared->deaths[1]};

	for (unsigned times = 0; times < 3; times++)
		for (unsigned i = 0; i < n; i++)
			inject(records[i].from, records[i].packet, records[i].length);
	await_bytes();
	printf("%s: %u messages, three times each: %u requests, %u and %u groups\n", when, n,
	       shared->requests - requests, shared->groups[0], shared->groups[1]);
	if (shared->requests != requests)
		fail("the application was asked");
	if (shared->groups[0] != n_groups || shared->groups[1] != n_groups)
		fail("a group came or went");
	if (shared->deaths[0] != ended[0] || shared->deaths[1] != ended[1])
		fail("a lane ended");
	n_records = n; /* answers to the copies are not worth keeping */
}

/* ---- the flood ---- */

/* A datagram as soft_control.c sends it. */
static size_t wrap(uint8_t *packet, const uint8_t *data, size_t length, uint16_t port)
{
	struct roce_flow flow = {bed_address(0), bed_address(1), port, ROCE_UDP_PORT};
	struct roce_packet p = {.opcode = ROCE_UD_SEND_ONLY,
				.dest_qpn = SOFT_CONTROL_QPN,
				.src_qpn = SOFT_CONTROL_QPN,
				.qkey = QKEY,
				.payload = data,
				.payload_bytes = (uint32_t)length};
	uint32_t pad = roce_wire_pad_bytes(p.payload_bytes), crc;
	uint8_t *bytes = packet + 28;
	size_t n = roce_wire_build(&p, bytes);
	struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP};
	struct udphdr udp = {.source = htons(port), .dest = htons(ROCE_UDP_PORT)};

	crc = htole32(roce_icrc_compute(&flow, 0, bytes, n, data, length, pad));
	memcpy(bytes + n, data, length);
	memset(bytes + n + length, 0, pad);
	n += length + pad;
	memcpy(bytes + n, &crc, sizeof(crc));
	n += sizeof(crc) + 28;
	ip.tot_len = htons((uint16_t)n);
	ip.frag_off = htons(IP_DF);
	memcpy(&ip.saddr, &flow.source.s6_addr[12], 4);
	memcpy(&ip.daddr, &flow.destination.s6_addr[12], 4);
	udp.len = htons((uint16_t)(n - 20));
	memcpy(packet, &ip, sizeof(ip));
	memcpy(packet + 20, &udp, sizeof(udp));
	return n;
}

/* Any message, its numbers right as often as an attacker can have them. */
static size_t forge(uint8_t *message, uint64_t i)
{
	uint64_t r = bed_mix(i, 1);
	struct control_message m = {
		.type = (enum control_type)(1 + r % (CONTROL_TYPE_END - 1)),
		.source = bed_mix(i, 2) | 1,
		.destination = r >> 8 & 1 ? shared->incarnation : bed_mix(i, 3),
		.source_port = r >> 9 & 1 ? ROCE_UDP_PORT : (uint16_t)(r >> 32 | 1),
		.source_group = (uint32_t)bed_mix(i, 4),
		.destination_group = (uint32_t)bed_mix(i, 5),
	};

	for (unsigned k = 0; k < sizeof(m.nonce); k++)
		m.nonce[k] = (uint8_t)bed_mix(i, 6 + k);
	if (m.type == CONTROL_GROUP_OPEN || m.type == CONTROL_GROUP_ACCEPT) {
		m.open.options.mode = FARE_MODE_SPRAY;
		m.open.n_lanes = 2;
		m.open.qps_per_lane = 1;
		m.open.options.qps_per_sub_port = 1;
		m.open.path_mtu = 4096;
	} else if (control_wire_is_lane(m.type)) {
		m.lane.lane = (uint16_t)(r >> 16 & 1);
		m.lane.epoch = (uint32_t)(r >> 40);
		m.lane.n_qps = 1;
	}
	return (size_t)control_wire_encode(&m, message, QP_CONTROL_MAX - CONTROL_AUTH_BYTES);
}

static void flood(bool has_key)
{
	struct in6_addr from = bed_address(0), to = bed_address(1);
	unsigned requests = shared->requests, before = shared->verified;
	uint64_t rss = shared->rss_kb, began = clock_now_ns(), rejected = shared->rejected;
	struct control_auth auth;

	if (control_auth_load(&auth, has_key ? bed.key : NULL, 0))
		fail("the key cannot be read");
	for (unsigned i = 0; i < n_forged; i++) {
		uint8_t data[QP_CONTROL_MAX], packet[FORGED_MAX];
		size_t n = forge(data + CONTROL_AUTH_BYTES, i);

		control_auth_sign(&auth, &from, &to, data, n);
		n = wrap(packet, data, CONTROL_AUTH_BYTES + n, (uint16_t)(49152 + i % 16));
		inject(0, packet, n);
		if (i % FLOOD_BATCH)
			continue;
		poll(NULL, 0, 1); /* more at a time only overflows the socket */
		look_after();
	}
	await_bytes();
	printf("%u forged messages %s the key in %.1f s: %u rejected, %u writes meanwhile\n",
	       n_forged, has_key ? "with" : "without", (double)(clock_now_ns() - began) / 1e9,
	       (unsigned)(shared->rejected - rejected), shared->verified - before);
	if (!has_key && shared->rejected - rejected < n_forged / 4)
		fail("the flood did not arrive");
	if (shared->requests != requests || shared->groups[0] != 1 || shared->groups[1] != 1)
		fail("the flood made or ended a group");
	if (shared->rss_kb > rss + (64 << 10))
		fail("the flood took memory");
}

/* ---- openers with the key that do not go on ---- */

static void send_open(const struct control_auth *auth, uint32_t id, uint64_t destination,
		      const uint8_t *nonce)
{
	struct in6_addr from = bed_address(0), to = bed_address(1);
	struct control_message m = {.type = CONTROL_GROUP_OPEN,
				    .source = 4711,
				    .source_port = STRANGER_PORT,
				    .source_group = id,
				    .destination = destination,
				    .open.options.mode = FARE_MODE_SPRAY,
				    .open.n_lanes = 2,
				    .open.qps_per_lane = 1,
				    .open.options.qps_per_sub_port = 1,
				    .open.path_mtu = 4096};
	uint8_t data[QP_CONTROL_MAX], packet[FORGED_MAX];
	size_t n;

	if (nonce)
		memcpy(m.nonce, nonce, sizeof(m.nonce));
	n = (size_t)control_wire_encode(&m, data + CONTROL_AUTH_BYTES,
					sizeof(data) - CONTROL_AUTH_BYTES);
	control_auth_sign(auth, &from, &to, data, n);
	n = wrap(packet, data, CONTROL_AUTH_BYTES + n, STRANGER_PORT);
	inject(0, packet, n);
}

static void answer_challenges(const struct control_auth *auth, int fd, unsigned *n_answers)
{
	uint8_t bytes[PACKET_MAX];
	struct control_message m;
	const char *reason;
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > (ssize_t)MESSAGE_AT - 28) {
		if (control_wire_decode(&m, bytes + MESSAGE_AT - 28, (size_t)n + 28 - MESSAGE_AT,
					&reason))
			continue;
		*n_answers += m.type == CONTROL_GROUP_ACCEPT;
		if (m.type == CONTROL_GROUP_CHALLENGE)
			send_open(auth, m.destination_group, m.source, m.nonce);
	}
}

static void open_and_vanish(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(STRANGER_PORT)};
	struct in6_addr own = bed_address(0);
	int fd = socket_of(0, AF_INET, SOCK_DGRAM, 0);
	struct control_auth auth;
	unsigned n_answers = 0;

	memcpy(&at.sin_addr, &own.s6_addr[12], 4);
	if (control_auth_load(&auth, bed.key, 0) || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		fail("the stranger's socket");
	for (uint32_t id = 1; id <= VANISHING; id++) {
		send_open(&auth, id, 0, NULL);
		if (id % 32 == 0)
			poll(NULL, 0, 1);
		answer_challenges(&auth, fd, &n_answers);
	}
	await_bytes();
	answer_challenges(&auth, fd, &n_answers);
	printf("%u openers that vanish: %u accepted, %u groups\n", VANISHING, n_answers,
	       shared->groups[1]);
	if (n_answers < 100 || shared->groups[1] > VANISHING / 2)
		fail("openers that vanish are not accepted, or take any number of places");
	close(fd);
}

/* ---- the test ---- */

/* All kinds that a group's life has; those that need a rare fault are left out. */
static void expect_recorded(void)
{
	static const enum control_type types[] = {CONTROL_ECHO,		 CONTROL_ECHO_REPLY,
						  CONTROL_GROUP_OPEN,	 CONTROL_GROUP_CHALLENGE,
						  CONTROL_GROUP_ACCEPT,	 CONTROL_GROUP_REFUSE,
						  CONTROL_GROUP_CLOSE,	 CONTROL_GROUP_ALIVE,
						  CONTROL_LANE_OPEN,	 CONTROL_LANE_ACCEPT,
						  CONTROL_LANE_READY,	 CONTROL_LANE_RESET,
						  CONTROL_LANE_RESET_ACK};

	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!n_of[types[i]]) {
			fprintf(stderr, "hostile_replay: no message of type %d\n", types[i]);
			fail("not all kinds were recorded");
		}
}

static void restart(int host, int (*main)(void *))
{
	kill(bed.child[host], SIGKILL);
	waitpid(bed.child[host], NULL, 0);
	if (host == 1) {
		shared->rkey = 0;
		shared->requests = 0;
	}
	shared->groups[host] = 0;
	if (bed_start(&bed, host, main, NULL))
		fail("no process");
	AWAIT(shared->groups[0] == 1 && shared->groups[1] == 1 && shared->rkey);
	await_bytes();
}

static void on_signal(int number)
{
	(void)number;
	is_interrupted = 1;
}

int main(int argc, char **argv)
{
	struct bed_options options = {.provider = "soft", .planes = 2, .sub_ports = 1};

	if (argc > 1)
		n_forged = (unsigned)strtoul(argv[1], NULL, 10);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	if (bed_make(&bed, &options))
		return 1;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	open_sockets();
	if (bed_start(&bed, 1, acceptor, NULL) || bed_start(&bed, 0, opener, NULL))
		fail("no processes");
	await_bytes();
	shared->open_refused++;
	AWAIT(shared->refused);
	shared->open_victim++;
	AWAIT(shared->victim_open && shared->groups[1] == 2);
	shared->ask_alive++;
	for (int h = 0; h < 2; h++) {
		unsigned deaths = shared->deaths[0];

		shared->kill_lane[h]++;
		AWAIT(shared->deaths[0] > deaths && shared->all_up);
	}
	await_bytes();
	replay_all(2, "while the group lives");
	shared->write_victim++;
	AWAIT(shared->victim_got == 1);
	shared->close_victim++;
	AWAIT(shared->victim_closed && shared->groups[0] == 1 && shared->groups[1] == 1);
	await_bytes();
	expect_recorded();
	replay_all(1, "after it was closed");
	restart(1, acceptor);
	replay_all(1, "after the acceptor's restart");
	restart(0, opener);
	replay_all(1, "after the opener's restart");
	flood(false);
	flood(true);
	open_and_vanish();
	bed_destroy(&bed);
	return 0;
}
