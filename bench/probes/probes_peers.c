/* probes_peers.c - see probes.h: all peers in one process, as cheaply as can be */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "notice_wire.h"
#include "probes.h"
#include "sbfd_wire.h"
#include "sub_ports.h"
#include "udp.h"

#define TICK_NS 1000000

struct peers {
	const struct probes_load *load;
	struct sub_ports ports;
	struct udp_socket *answers, *asks;
	struct udp_batch *in, *out;
	uint32_t next_fast, next_slow;
	double due_fast, due_slow;
};

static const struct notice_key no_key;

/* The sub-port by which a packet came in; -1: none of ours. */
static int find(const struct sub_ports *ports, int ifindex, uint32_t *plane)
{
	uint32_t sub_port;

	return sub_ports_find(ports, 0, ifindex, plane, &sub_port) ? (int)sub_port : -1;
}

static void answer(struct peers *s, const struct udp_packet *in)
{
	struct notice_ends ends = {in->from, in->to}, back = {in->to, in->from};
	struct notice_trailer t, reply = {.has_stamp = true, .has_arrival = true};
	struct sbfd_wire_error error;
	struct udp_packet *out;
	struct sbfd_packet p;
	uint32_t plane;
	int sub_port;

	if (sbfd_wire_decode(in->bytes, in->length, &p, &error) || !p.demand)
		return;
	sub_port = find(&s->ports, in->ifindex, &plane);
	if (sub_port < 0 || notice_wire_decode(in->bytes, in->length, &no_key, &ends, &t, &error) || !t.has_stamp)
		return;
	out = udp_next(s->out); /* as many as came in fit */
	p = sbfd_wire_reflection(&p, false, 1000);
	sbfd_wire_encode(&p, out->bytes);
	reply.stamp = t.stamp;
	reply.arrival = (struct notice_arrival){(uint8_t)plane, (uint8_t)sub_port, PROBES_SUB_PORTS};
	out->length = notice_wire_encode(&reply, &no_key, &back, out->bytes);
	out->from = in->to;
	out->to = in->from;
	out->to_port = in->from_port;
	out->ifindex = in->ifindex;
}

static void answer_all(struct peers *s)
{
	int n;

	do {
		n = udp_receive(s->answers, s->in);
		for (int i = 0; i < n; i++)
			answer(s, udp_received(s->in, (unsigned)i));
		udp_send(s->answers, s->out);
	} while (n == (int)UDP_BATCH);
}

/* The probe of peer i over one of its planes. */
static void ask(struct peers *s, uint32_t path)
{
	uint32_t peer = path / PROBES_PLANES, plane = path % PROBES_PLANES;
	struct in6_addr to = probes_net_near_address();
	struct notice_trailer t = {.has_stamp = true, .stamp = {path, path * UINT64_C(0x9e3779b97f4a7c15)}};
	struct sbfd_packet p = {.state = SBFD_UP,
				.demand = true,
				.detect_multiplier = 3,
				.my_discriminator = path + 1,
				.your_discriminator = sbfd_wire_discriminator(&to)};
	struct notice_ends ends = {probes_net_peer(peer), to};
	struct udp_packet *out = udp_next(s->out);

	if (!out) {
		udp_send(s->asks, s->out);
		out = udp_next(s->out);
	}
	sbfd_wire_encode(&p, out->bytes);
	out->length = notice_wire_encode(&t, &no_key, &ends, out->bytes);
	out->from = ends.from;
	out->to = to;
	out->to_port = SBFD_WIRE_PORT;
	out->ifindex = s->ports.gpus[0].ifindex[plane][path / 7 % PROBES_SUB_PORTS];
}

/* As many as are due after another tick, evenly. */
static void ask_some(struct peers *s, uint64_t ticks)
{
	uint32_t fast = s->load->n_active * PROBES_PLANES, all = s->load->n_peers * PROBES_PLANES;

	s->due_fast += (double)ticks * fast / s->load->interval_ms;
	s->due_slow += (double)ticks * (all - fast) / 1000;
	for (; s->due_fast >= 1; s->due_fast--)
		ask(s, s->next_fast++ % fast);
	for (; s->due_slow >= 1; s->due_slow--)
		ask(s, fast + s->next_slow++ % (all - fast));
	udp_send(s->asks, s->out);
}

/*
 * By the clock alone: a thousand servers would not share a core with us, and waking them for each packet would be charged to
 * the prober.
 */
static void play(struct peers *s)
{
	const struct itimerspec every = {{0, TICK_NS}, {0, TICK_NS}};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t ticks;

	timerfd_settime(timer, 0, &every, NULL);
	while (read(timer, &ticks, sizeof(ticks)) == sizeof(ticks)) {
		answer_all(s);
		while (udp_receive(s->asks, s->in) == (int)UDP_BATCH)
			; /* what they are answered is of no interest */
		ask_some(s, ticks);
	}
}

pid_t probes_peers_start(const struct probes_net *net, const struct probes_load *load)
{
	struct in6_addr any = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
	const struct sched_param rr = {.sched_priority = 10};
	static struct peers s;
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	probes_net_pin(1);
	sched_setscheduler(0, SCHED_RR, &rr);
	s.load = load;
	if (getppid() != parent || probes_net_enter(net->far) || udp_batch_create(&s.in) || udp_batch_create(&s.out) ||
	    udp_open(&s.answers, &any, SBFD_WIRE_PORT, 26) || udp_open(&s.asks, &any, 50000, 26)) {
		fprintf(stderr, "farebench: the peers cannot start\n");
		_exit(1);
	}
	probes_net_ports(&s.ports);
	play(&s);
	_exit(1);
}
