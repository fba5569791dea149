/* SPDX-License-Identifier: BSD-2-Clause */
/* probes_peers.c - see probes.h: all peers in one process, as cheaply as can be */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/address.h"
#include "health_limits.h"
#include "notice_wire.h"
#include "micro/probes/probes.h"
#include "sbfd_wire.h"
#include "sub_ports.h"
#include "udp.h"

#define TICK_NS	 1000000
#define SLOW_NS	 UINT64_C(1000000000)
#define ASK_PORT 50000
#define N_PATHS	 (PROBES_MAX_PEERS * PROBES_PLANES)

struct path {
	uint64_t due_ns;   /* the next probe */
	uint64_t acked_ns; /* one of the other end's came that had heard this end */
	bool was_answered; /* the last one */
	uint8_t n_skipped;
};

struct peers {
	const struct probes_load *load;
	struct sub_ports ports;
	struct udp_socket *answers, *asks;
	struct udp *udp;
	uint64_t random;
	struct path paths[N_PATHS];
};

static const struct notice_keys no_keys;
static volatile sig_atomic_t silent; /* over plane 0 */

static void on_silent(int sig)
{
	(void)sig;
	silent = 1;
}

/* Less than the interval by 0 to 25%. */
static uint64_t jittered(struct peers *s, uint64_t interval_ns)
{
	s->random = s->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return interval_ns - interval_ns / 4 * (s->random >> 48) / 65536;
}

static uint64_t interval_of(const struct peers *s, uint32_t path)
{
	return path < s->load->n_active * PROBES_PLANES ? PROBES_INTERVAL_MS * UINT64_C(1000000)
							: SLOW_NS;
}

/* The sub-port by which a packet came in; -1: none of ours. */
static int probes_peers_find(const struct sub_ports *ports, int ifindex, uint32_t *plane)
{
	uint32_t sub_port;

	return sub_ports_find(ports, 0, ifindex, plane, &sub_port) ? (int)sub_port : -1;
}

static void probes_peers_answer(struct peers *s, const struct udp_packet *in)
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
	sub_port = probes_peers_find(&s->ports, in->ifindex, &plane);
	if (sub_port < 0 || (silent && plane == 0) ||
	    notice_wire_decode(in->bytes, in->length, &no_keys, &ends, &t, &error) || !t.has_stamp)
		return;
	if (t.has_received)
		s->paths[probes_net_index(&in->to) * PROBES_PLANES + plane].acked_ns =
			clock_now_ns();
	out = udp_next(s->udp);
	p = sbfd_wire_reflection(&p, 1000);
	sbfd_wire_encode(&p, out->bytes);
	reply.stamp = t.stamp;
	reply.arrival =
		(struct notice_arrival){(uint8_t)plane, (uint8_t)sub_port, PROBES_SUB_PORTS};
	out->length = notice_wire_encode(&reply, &no_keys.own, &back, out->bytes);
	out->from = in->to;
	out->from_port = SBFD_WIRE_PORT;
	out->to = in->from;
	out->to_port = in->from_port;
	out->ifindex = in->ifindex;
}

static void answer_all(struct peers *s)
{
	unsigned n;

	do {
		n = udp_receive(s->udp, s->answers);
		for (unsigned i = 0; i < n; i++)
			probes_peers_answer(s, udp_received(s->udp, i));
		udp_send(s->udp);
	} while (n == UDP_BATCH);
}

/* What their own probes are answered: that they were is all that is of interest. */
static void receive_answers(struct peers *s)
{
	unsigned n;

	do {
		n = udp_receive(s->udp, s->asks);
		for (unsigned i = 0; i < n; i++) {
			const struct udp_packet *in = udp_received(s->udp, i);
			struct notice_ends ends = {in->from, in->to};
			struct sbfd_wire_error error;
			struct notice_trailer t;

			if (in->length >= SBFD_WIRE_BYTES &&
			    !notice_wire_decode(in->bytes, in->length, &no_keys, &ends, &t,
						&error) &&
			    t.has_stamp && t.stamp.sequence < N_PATHS)
				s->paths[t.stamp.sequence].was_answered = true;
		}
	} while (n == UDP_BATCH);
}

/* The probe of one path: the peers' planes in order. */
static void probes_peers_ask(struct peers *s, uint32_t path, uint64_t now)
{
	uint32_t peer = path / PROBES_PLANES, plane = path % PROBES_PLANES;
	struct in6_addr to = probes_net_near_address();
	struct notice_trailer t = {.has_stamp = true,
				   .has_received = s->paths[path].was_answered,
				   .stamp = {path, path * UINT64_C(0x9e3779b97f4a7c15)}};
	struct sbfd_packet p = {.state = SBFD_UP,
				.demand = true,
				.detect_multiplier = 3,
				.my_discriminator = path + 1,
				.your_discriminator = sbfd_wire_discriminator(&to)};
	struct notice_ends ends = {probes_net_peer(peer), to};
	struct udp_packet *out = udp_next(s->udp);

	sbfd_wire_encode(&p, out->bytes);
	out->length = notice_wire_encode(&t, &no_keys.own, &ends, out->bytes);
	out->from = ends.from;
	out->from_port = ASK_PORT;
	out->to = to;
	out->to_port = SBFD_WIRE_PORT;
	out->ifindex = s->ports.gpus[0].ifindex[plane][path / 7 % PROBES_SUB_PORTS];
	s->paths[path].was_answered = false;
	s->paths[path].n_skipped = 0;
	s->paths[path].due_ns = now + jittered(s, interval_of(s, path));
}

/* As prober_pace_skips() has it. */
static bool skips(struct peers *s, uint32_t path, uint64_t now)
{
	struct path *of = &s->paths[path];
	uint64_t interval = interval_of(s, path);

	if (now >= of->acked_ns + interval || of->n_skipped == HEALTH_SKIP_MAX)
		return false;
	of->n_skipped++;
	of->due_ns = of->acked_ns + interval;
	return true;
}

static void ask_those_due(struct peers *s)
{
	uint64_t now = clock_now_ns();

	for (uint32_t path = 0; path < s->load->n_peers * PROBES_PLANES; path++)
		if (now >= s->paths[path].due_ns && !(silent && path % PROBES_PLANES == 0) &&
		    !skips(s, path, now))
			probes_peers_ask(s, path, now);
	udp_send(s->udp);
}

/* Not all at once. */
static void probes_peers_begin(struct peers *s)
{
	uint64_t now = clock_now_ns();

	s->random = now;
	for (uint32_t path = 0; path < s->load->n_peers * PROBES_PLANES; path++)
		s->paths[path].due_ns =
			now + 4 * (interval_of(s, path) - jittered(s, interval_of(s, path)));
}

/*
 * By the clock alone: a thousand servers would not share a core with us, and waking them for each
 * packet would be charged to the prober.
 */
static void play(struct peers *s)
{
	const struct itimerspec every = {{0, TICK_NS}, {0, TICK_NS}};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t ticks;

	probes_peers_begin(s);
	timerfd_settime(timer, 0, &every, NULL);
	while (read(timer, &ticks, sizeof(ticks)) == sizeof(ticks) || errno == EINTR) {
		answer_all(s);
		receive_answers(s);
		ask_those_due(s);
	}
}

pid_t probes_peers_start(const struct probes_net *net, const struct probes_load *load)
{
	struct in6_addr any = address_of_v4(&(struct in_addr){0});
	const struct sched_param rr = {.sched_priority = 10};
	static struct peers s;
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(PROBES_SILENT, on_silent);
	probes_net_pin(1);
	sched_setscheduler(0, SCHED_RR, &rr);
	s.load = load;
	if (getppid() != parent || probes_net_enter(net->far) || udp_create(&s.udp, 26) ||
	    udp_open(&s.answers, &any, SBFD_WIRE_PORT) || udp_open(&s.asks, &any, ASK_PORT)) {
		fprintf(stderr, "farebench: the peers cannot start\n");
		_exit(1);
	}
	probes_net_ports(&s.ports);
	play(&s);
	_exit(1);
}
