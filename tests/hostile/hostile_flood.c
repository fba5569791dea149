/* links: test_bed */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_flood.c - forged packets against both ends of a QP group that carries byte-checked data.
 *
 *   hostile_flood [--mode flow|spray|packet] [--kind KIND] [--packets N] [--json FILE]
 *
 * Two attackers, one for each end, send N packets of each kind (default 20,000) with the address of
 * the peer as their source. They read what passes, so they know the numbers of live QPs; they do
 * not guess a PSN that is in use, since who can do that can write where the group can (fare(3),
 * SECURITY). A kind fails if a message is lost, doubled or corrupted, or if a path dies. Printed
 * for each kind: the goodput during the flood, and the time until it is 0.8 of what it was before.
 * Exit 77: not root.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "drill_hosts.h"
#include "qp/soft/roce_icrc.h"
#include "qp/soft/roce_wire.h"
#include "qp/soft/soft_endpoint.h"
#include "roce_ports.h"

#define MAX_QPS	       64
#define FORGED_TTL     63 /* by which an attacker knows its own packets */
#define MAX_PAYLOAD    256u
#define FAR	       0x200000u  /* an eighth of all PSNs */
#define SAMPLE_NS      200000000u /* over which goodput is measured */
#define BEFORE_SAMPLES 3
#define PATIENCE_S     60

enum kind { LIVE_QP, UNKNOWN_QP, WRONG_ICRC, CUT, CONTROL, STRANGER, KINDS };

static const char *const kind_names[KINDS] = {
	[LIVE_QP] = "live-qp",	       /* of a live QP, a PSN far from those in use */
	[UNKNOWN_QP] = "unknown-qp",   /* of no QP */
	[WRONG_ICRC] = "wrong-icrc",   /* of a live QP, of alternating lengths */
	[CUT] = "cut",		       /* random bytes */
	[CONTROL] = "control-message", /* without the key */
	[STRANGER] = "stranger",       /* as live-qp, from an address that is no peer's */
};

static const uint8_t opcodes[] = {
	ROCE_SEND_FIRST,   ROCE_SEND_ONLY_IMM,	    ROCE_WRITE_FIRST,	     ROCE_WRITE_MIDDLE,
	ROCE_WRITE_LAST,   ROCE_WRITE_LAST_IMM,	    ROCE_WRITE_ONLY,	     ROCE_WRITE_ONLY_IMM,
	ROCE_READ_REQUEST, ROCE_READ_RESPONSE_ONLY, ROCE_READ_RESPONSE_LAST, ROCE_ACK,
	ROCE_PLACE,	   ROCE_PLACE_LAST_IMM,	    ROCE_SELECTIVE_ACK,
};

/* What an attacker and the parent share. */
struct order {
	_Atomic unsigned round; /* the attackers start when it changes */
	_Atomic int kind, done;
	_Atomic int ready;
};

struct live_qp {
	uint32_t qpn;
	uint32_t psn[2]; /* of answers and of requests: numbers of either direction ... */
	bool seen[2];	 /* ... which are known */
	uint16_t source_port;
	bool is_control;
};

struct attacker {
	struct drill_hosts *hosts;
	struct order *order;
	int from; /* host whose address is forged; the packets leave in its namespace */
	uint64_t packets;
	int raw, capture;
	uint64_t random;
	struct live_qp qps[MAX_QPS];
	unsigned n_qps;
};

struct flood {
	struct drill_hosts hosts;
	struct attacker attackers[2];
	pid_t pids[2];
	struct order *orders;
	const char *only; /* NULL: all kinds */
};

static uint64_t next_random(struct attacker *a)
{
	a->random++;
	return bed_mix(a->random, a->random << 7);
}

/* ---- what passes ---- */

static struct live_qp *find_qp(struct attacker *a, uint32_t qpn)
{
	for (unsigned i = 0; i < a->n_qps; i++)
		if (a->qps[i].qpn == qpn)
			return &a->qps[i];
	if (a->n_qps == MAX_QPS)
		return NULL;
	a->qps[a->n_qps] = (struct live_qp){.qpn = qpn};
	return &a->qps[a->n_qps++];
}

/* Takes the QP of a packet that leaves for the peer. */
static void on_frame(struct attacker *a, const uint8_t *ip, size_t bytes)
{
	struct in6_addr peer = bed_address(1 - a->from);
	const uint8_t *udp = ip + 20, *bth = udp + 8;
	struct live_qp *qp;

	if (bytes < 20 + 8 + ROCE_BTH_BYTES || ip[0] != 0x45 || ip[8] == FORGED_TTL ||
	    ip[9] != IPPROTO_UDP || memcmp(ip + 16, &peer.s6_addr[12], 4) ||
	    (udp[2] << 8 | udp[3]) != ROCE_UDP_PORT)
		return;
	qp = find_qp(a, (uint32_t)bth[5] << 16 | (uint32_t)bth[6] << 8 | bth[7]);
	if (!qp)
		return;
	qp->source_port = (uint16_t)(udp[0] << 8 | udp[1]);
	qp->psn[roce_wire_is_request(bth[0])] =
		(uint32_t)bth[9] << 16 | (uint32_t)bth[10] << 8 | bth[11];
	qp->seen[roce_wire_is_request(bth[0])] = true;
	qp->is_control = bth[0] == ROCE_UD_SEND_ONLY;
}

static void watch(struct attacker *a)
{
	uint8_t frame[128];
	ssize_t n;

	for (int i = 0; i < 256; i++) {
		n = recv(a->capture, frame, sizeof(frame), MSG_DONTWAIT);
		if (n < 0)
			return;
		on_frame(a, frame, (size_t)n);
	}
}

/* ---- what is forged ---- */

/* Any QP that was seen, of data; the control channel has a number that all know. */
static bool some_qp(struct attacker *a, bool control, struct live_qp *out)
{
	unsigned first = (unsigned)next_random(a);

	for (unsigned i = 0; i < a->n_qps; i++) {
		*out = a->qps[(first + i) % a->n_qps];
		if (control)
			out->qpn = SOFT_CONTROL_QPN;
		/* a PSN that is not known may be hit by chance */
		if (control || (!out->is_control && out->seen[0] && out->seen[1]))
			return true;
	}
	return false;
}

static bool is_near(uint32_t psn, uint32_t used)
{
	return ((psn - used + FAR) & ROCE_PSN_MASK) < 2 * FAR;
}

static void fill_fields(struct attacker *a, enum kind kind, const struct live_qp *qp,
			struct roce_packet *p)
{
	p->opcode = opcodes[next_random(a) % sizeof(opcodes)];
	p->ack_req = next_random(a) & 1;
	p->remote_addr = next_random(a);
	p->rkey = (uint32_t)next_random(a);
	p->dma_bytes = (uint32_t)next_random(a) & 0xffff;
	p->imm = (uint32_t)next_random(a);
	p->syndrome = (uint8_t)next_random(a);
	p->msn = (uint32_t)next_random(a) & ROCE_PSN_MASK;
	p->qkey = (uint32_t)next_random(a);
	p->src_qpn = (uint32_t)next_random(a) & ROCE_PSN_MASK;
	if (kind == CONTROL)
		p->opcode = ROCE_UD_SEND_ONLY;
	if (kind == UNKNOWN_QP)
		p->dest_qpn ^= 0x800000; /* QPNs are counted up from one start */
	do
		p->psn = (uint32_t)next_random(a) & ROCE_PSN_MASK;
	while (is_near(p->psn, qp->psn[0]) || is_near(p->psn, qp->psn[1]));
}

/* A UDP payload; its length. */
static size_t forge(struct attacker *a, enum kind kind, const struct live_qp *qp,
		    const struct roce_flow *flow, uint8_t *out)
{
	uint8_t payload[MAX_PAYLOAD];
	struct roce_packet p = {.dest_qpn = qp->qpn, .payload = payload};
	size_t header, pad;
	uint32_t icrc;

	for (unsigned i = 0; i < MAX_PAYLOAD; i += 8)
		memcpy(payload + i, &(uint64_t){next_random(a)}, 8);
	p.payload_bytes = (uint32_t)next_random(a) % MAX_PAYLOAD;
	fill_fields(a, kind, qp, &p);
	header = roce_wire_build(&p, out);
	pad = roce_wire_pad_bytes(p.payload_bytes);
	if (kind == CUT) {
		header = 0;
		pad = 0;
	}
	memcpy(out + header, payload, p.payload_bytes);
	memset(out + header + p.payload_bytes, 0, pad);
	icrc = roce_icrc_compute(flow, 0, out, header, payload, p.payload_bytes, pad);
	icrc ^= kind == WRONG_ICRC || (kind == CUT && (icrc & 1));
	header += p.payload_bytes + pad;
	for (int i = 0; i < 4; i++)
		out[header++] = (uint8_t)(icrc >> 8 * i);
	return header;
}

static int send_forged(struct attacker *a, enum kind kind)
{
	struct live_qp qp;
	struct roce_flow flow = {.source = bed_address(a->from),
				 .destination = bed_address(1 - a->from),
				 .destination_port = ROCE_UDP_PORT};
	struct sockaddr_in to = {.sin_family = AF_INET};
	uint8_t packet[20 + 8 + ROCE_HEADER_MAX + MAX_PAYLOAD + ROCE_TRAILER_MAX + 1] = {0};
	struct iphdr ip = {.version = 4, .ihl = 5, .ttl = FORGED_TTL, .protocol = IPPROTO_UDP};
	struct udphdr udp = {.dest = htons(ROCE_UDP_PORT)};
	size_t bytes;

	if (!some_qp(a, kind == CONTROL, &qp))
		return -ENOENT;
	if (kind == STRANGER)
		flow.source.s6_addr[15] = 77;
	flow.source_port = qp.source_port;
	bytes = forge(a, kind, &qp, &flow, packet + 28);
	ip.frag_off = htons(IP_DF);
	ip.id = 0;
	ip.tot_len = htons((uint16_t)(28 + bytes));
	memcpy(&ip.saddr, &flow.source.s6_addr[12], 4);
	memcpy(&ip.daddr, &flow.destination.s6_addr[12], 4);
	udp.source = htons(flow.source_port);
	udp.len = htons((uint16_t)(8 + bytes));
	memcpy(packet, &ip, sizeof(ip));
	memcpy(packet + 20, &udp, sizeof(udp));
	to.sin_addr.s_addr = ip.daddr;
	/* it blocks while the queue of the link holds as much as the socket may */
	return sendto(a->raw, packet, 28 + bytes, 0, (struct sockaddr *)&to, sizeof(to)) < 0
		       ? -errno
		       : 0;
}

static int flood_once(struct attacker *a, enum kind kind)
{
	uint64_t end = clock_now_ns() + PATIENCE_S * UINT64_C(1000000000);

	for (uint64_t sent = 0; sent < a->packets;) {
		int err;

		if (sent % 64 == 0)
			watch(a);
		err = send_forged(a, kind);
		sent += !err;
		if (!err || err == -ENOBUFS || err == -EINTR)
			continue;
		if (err != -ENOENT || clock_now_ns() > end)
			return err;
		poll(&(struct pollfd){.fd = a->capture, .events = POLLIN}, 1, 100);
		watch(a);
	}
	return 0;
}

static int attack(struct attacker *a)
{
	unsigned round = 0;

	bed_enter_namespace(&a->hosts->bed, a->from);
	a->raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	a->capture = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ALL));
	if (a->raw < 0 || a->capture < 0) {
		perror("hostile_flood: raw socket");
		return 1;
	}
	a->order->ready = 1;
	for (;;) {
		int err;

		while (a->order->round == round) {
			poll(&(struct pollfd){.fd = a->capture, .events = POLLIN}, 1, 10);
			watch(a);
		}
		round = a->order->round;
		err = flood_once(a, (enum kind)a->order->kind);
		if (err)
			fprintf(stderr, "hostile_flood: %s: %s\n", kind_names[a->order->kind],
				strerror(-err));
		a->order->done = err ? -1 : 1;
	}
}

/* ---- the parent ---- */

static double goodput(struct drill_hosts *h)
{
	uint64_t bytes = h->shared->bytes, start = clock_now_ns(), now;

	do {
		poll(NULL, 0, 20); /* the length of a sample */
		now = clock_now_ns();
	} while (now - start < SAMPLE_NS && drill_hosts_alive(h));
	return (double)(h->shared->bytes - bytes) * 1e3 / (double)(now - start);
}

static double mean_goodput(struct drill_hosts *h, unsigned samples)
{
	double sum = 0;

	for (unsigned i = 0; i < samples; i++)
		sum += goodput(h);
	return sum / samples;
}

static bool attackers_done(const struct flood *f, bool *failed)
{
	bool done = true;

	for (int i = 0; i < 2; i++) {
		done &= f->orders[i].done != 0;
		*failed |= f->orders[i].done < 0;
	}
	return done;
}

static bool run_kind(struct flood *f, enum kind kind, FILE *json)
{
	struct drill_hosts *h = &f->hosts;
	double before = mean_goodput(h, BEFORE_SAMPLES), during = 0, after = 0, recovery_s;
	uint64_t deaths = h->shared->deaths, start;
	unsigned samples = 0;
	bool failed = false, ok;

	for (int i = 0; i < 2; i++) {
		f->orders[i].kind = kind;
		f->orders[i].done = 0;
		f->orders[i].round++;
	}
	while (!attackers_done(f, &failed) && drill_hosts_alive(h)) {
		during += goodput(h);
		samples++;
	}
	start = clock_now_ns();
	do
		after = goodput(h);
	while (after < 0.8 * before && drill_hosts_alive(h) &&
	       clock_now_ns() - start < PATIENCE_S * UINT64_C(1000000000));
	recovery_s = (double)(clock_now_ns() - start) / 1e9;
	ok = !failed && !h->shared->failed && after >= 0.8 * before && h->shared->deaths == deaths;
	printf("%-16s %llu to each end: %.1f MB/s before, %.1f during, %.1f after %.1f s; paths "
	       "lost "
	       "%llu: %s\n",
	       kind_names[kind], (unsigned long long)f->attackers[0].packets, before,
	       samples ? during / samples : 0, after, recovery_s,
	       (unsigned long long)(h->shared->deaths - deaths), ok ? "ok" : "FAILED");
	fflush(stdout);
	if (json)
		fprintf(json,
			"{\"kind\":\"%s\",\"packets\":%llu,\"before_mbps\":%.3f,\"during_mbps\":%."
			"3f,\"recovery_s\":%.3f,\"ok\":%s}\n",
			kind_names[kind], (unsigned long long)f->attackers[0].packets, before * 8,
			samples ? during / samples * 8 : 0, recovery_s, ok ? "true" : "false");
	return ok;
}

static void start_attackers(struct flood *f, uint64_t packets)
{
	f->orders = mmap(NULL, 2 * sizeof(*f->orders), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 2; i++) {
		f->attackers[i] = (struct attacker){
			.hosts = &f->hosts, .order = &f->orders[i], .from = i, .packets = packets};
		if (getrandom(&f->attackers[i].random, 8, 0) != 8)
			f->attackers[i].random = clock_now_ns();
	}
}

static bool run(struct flood *f, FILE *json)
{
	bool ok = true;

	for (int i = 0; i < 2; i++) {
		f->pids[i] = fork();
		if (!f->pids[i]) {
			alarm(600); /* in case that the parent is killed */
			_exit(attack(&f->attackers[i]));
		}
	}
	for (int i = 0; i < 2; i++)
		while (!f->orders[i].ready && drill_hosts_alive(&f->hosts))
			poll(NULL, 0, 10);
	for (int kind = 0; kind < KINDS && drill_hosts_alive(&f->hosts); kind++)
		if (!f->only || !strcmp(f->only, kind_names[kind]))
			ok &= run_kind(f, (enum kind)kind, json);
	return ok;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"kind", required_argument, NULL, 'k'},
						{"mode", required_argument, NULL, 'm'},
						{"packets", required_argument, NULL, 'p'},
						{"json", required_argument, NULL, 'j'},
						{0}};
	struct bed_options bed = {
		.provider = "soft", .planes = 2, .sub_ports = 1, .rate_mbps = 100};
	struct flood f = {.hosts = {.mode = FARE_MODE_SPRAY,
				    .max_bytes = 1 << 20,
				    .seed = 1,
				    .patience_s = PATIENCE_S}};
	uint64_t packets = 20000;
	FILE *json = NULL;
	bool ok;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'm')
			f.hosts.mode = !strcmp(optarg, "packet") ? FARE_MODE_PACKET
				       : !strcmp(optarg, "flow") ? FARE_MODE_FLOW
								 : FARE_MODE_SPRAY;
		else if (c == 'k')
			f.only = optarg;
		else if (c == 'p')
			packets = strtoull(optarg, NULL, 10);
		else if (c == 'j')
			json = fopen(optarg, "w");
		else
			return 2;
	}
	bed.bps = bed.rate_mbps * UINT64_C(1000000);
	start_attackers(&f, packets);
	ok = !drill_hosts_start(&f.hosts, &bed) && run(&f, json);
	for (int i = 0; i < 2; i++)
		if (f.pids[i] > 0)
			kill(f.pids[i], SIGKILL);
	ok = drill_hosts_end(&f.hosts) && ok;
	drill_hosts_report(&f.hosts, stdout);
	printf("\n");
	bed_destroy(&f.hosts.bed);
	if (json)
		fclose(json);
	return !ok;
}
