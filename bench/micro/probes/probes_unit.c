/* SPDX-License-Identifier: BSD-2-Clause */
/* probes_unit.c - see probes.h: the prober and reflector under test, in a process of their own */
#include <errno.h>
#include <ev.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "health_loop.h"
#include "prober.h"
#include "micro/probes/probes.h"
#include "reflector.h"
#include "udp.h"

#define MS_NS	  UINT64_C(1000000)
#define WARM_UP_S 3.
#define TRAFFIC_S 0.2

struct unit {
	const struct probes_load *load;
	struct ev_loop *loop;
	struct sub_ports ports;
	struct udp *udp;
	struct prober *prober;
	struct reflector *reflector;
	struct health_loop *watchers;
	ev_timer window, traffic;
	int out;
	bool is_done; /* the window has been measured */
	uint64_t downs;
	/* when each peer's path over plane 0 went down last; 0: it did not */
	uint64_t down_ns[PROBES_MAX_PEERS];
	/* at the start of the window */
	double cpu_s, at_s;
	uint64_t lost;
	struct prober_counters probed;
	struct reflector_counters reflected;
};

static const struct notice_keys no_keys;

static double cpu_s(void)
{
	return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static void probes_unit_on_path(void *arg, uint32_t gpu, const struct in6_addr *peer,
				uint32_t plane, const struct prober_view *view,
				const struct probe_fsm_change *change)
{
	struct unit *u = arg;

	(void)gpu;
	if (!change || view->state != PROBE_DOWN)
		return;
	u->downs++;
	if (plane == 0)
		u->down_ns[probes_net_index(peer)] = clock_now_ns();
}

static void on_log(void *arg, int priority, const char *line)
{
	(void)arg;
	(void)priority;
	fprintf(stderr, "farebench: prober: %s\n", line);
}

static bool on_capacity(void *arg, uint32_t gpu, const struct in6_addr *peer,
			const struct notice_capacity *c, struct notice_ack *held)
{
	(void)arg;
	(void)gpu;
	(void)peer;
	*held = (struct notice_ack){c->incarnation, c->sequence};
	return true;
}

static void on_received(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
			const struct notice_trailer *t, uint64_t waited_ns)
{
	struct unit *u = arg;

	prober_received(u->prober, gpu, peer, plane, t->has_received,
			t->has_report ? &t->report : NULL, t->authentic, waited_ns, clock_now_ns());
}

static bool on_report(void *arg, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		      uint32_t sub_port, bool is_try, struct report_wire *out)
{
	struct unit *u = arg;

	return prober_report(u->prober, gpu, peer, plane, sub_port, is_try, clock_now_ns(), out);
}

static void on_drain(void *arg)
{
	struct unit *u = arg;

	health_loop_drain(u->watchers);
}

static uint64_t lost_ever(const struct unit *u)
{
	struct prober_view v;
	uint64_t lost = 0;

	for (uint32_t i = 0; i < u->load->n_peers; i++) {
		struct in6_addr peer = probes_net_peer(i);

		for (uint32_t plane = 0; plane < PROBES_PLANES; plane++)
			lost += prober_path(u->prober, 0, &peer, plane, clock_now_ns(), &v)
					? v.n_lost
					: 0;
	}
	return lost;
}

static int write_all(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length) {
		ssize_t n = write(fd, at, length);

		if (n <= 0)
			return -EIO;
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

static int read_all(int fd, void *bytes, size_t length)
{
	char *at = bytes;

	while (length) {
		ssize_t n = read(fd, at, length);

		if (n <= 0)
			return -EREMOTEIO;
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

static void start_window(struct unit *u)
{
	u->lost = lost_ever(u);
	prober_counters(u->prober, &u->probed);
	reflector_counters(u->reflector, &u->reflected);
	u->downs = 0;
	u->at_s = (double)clock_now_ns() / 1e9;
	u->cpu_s = cpu_s();
}

static void end_window(struct unit *u)
{
	double cpu = cpu_s() - u->cpu_s, s = (double)clock_now_ns() / 1e9 - u->at_s;
	struct reflector_counters reflected;
	struct prober_counters probed;
	struct probes_sample sample;

	prober_counters(u->prober, &probed);
	reflector_counters(u->reflector, &reflected);
	sample = (struct probes_sample){
		.cpu_percent = 100 * cpu / s,
		.sent_per_s = (double)(probed.sent - u->probed.sent) / s,
		.answered_per_s = (double)(probed.answered - u->probed.answered) / s,
		.reflected_per_s = (double)(reflected.answered - u->reflected.answered) / s,
		.lost = lost_ever(u) - u->lost,
		.late = probed.late_ticks - u->probed.late_ticks,
		.downs = u->downs,
	};
	if (write_all(u->out, &sample, sizeof(sample)))
		_exit(1);
}

/* After the warm-up begins the window, and after the window the time to find a silent plane in. */
static void on_window(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct unit *u = w->data;

	(void)loop;
	(void)revents;
	if (u->is_done)
		_exit(write_all(u->out, u->down_ns, u->load->n_peers * sizeof(u->down_ns[0])) != 0);
	if (u->at_s > 0) {
		u->is_done = true;
		end_window(u);
	}
	start_window(u);
	w->repeat = u->is_done ? PROBES_FOUND_MS / 1e3 : u->load->window_s;
	ev_timer_again(loop, w);
}

/* Stands for the segments of clients whose QP groups use the active peers. */
static void on_traffic(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct unit *u = w->data;
	uint64_t now = clock_now_ns();

	(void)loop;
	(void)revents;
	for (uint32_t i = 0; i < u->load->n_active; i++) {
		struct in6_addr peer = probes_net_peer(i);

		for (uint32_t plane = 0; plane < PROBES_PLANES; plane++)
			prober_traffic(u->prober, 0, &peer, plane, now, 0, now);
	}
}

/* As fared's, unless so many sessions are asked for that they need more. */
static uint32_t budget_of(const struct probes_load *load)
{
	uint64_t wanted = load->n_active * PROBES_PLANES * UINT64_C(1000) / PROBES_INTERVAL_MS;

	return wanted > PROBER_MAX_PROBES_PER_S ? (uint32_t)wanted : PROBER_MAX_PROBES_PER_S;
}

static int probes_unit_start(struct unit *u)
{
	static const struct prober_handlers on_prober = {
		.on_path = probes_unit_on_path, .on_log = on_log, .on_drain = on_drain};
	static const struct reflector_handlers on_reflector = {
		.on_capacity = on_capacity, .on_received = on_received, .report = on_report};
	const struct prober_options options = {
		.times = {.interval_ns = PROBES_INTERVAL_MS * MS_NS,
			  .detect_multiplier = 3,
			  .recover_probes = 10,
			  .hold_ns = 50 * MS_NS,
			  .hold_max_ns = 10000 * MS_NS,
			  .ramp_ns = 200 * MS_NS,
			  .unproven_ns = 1000 * MS_NS,
			  .max_loss_ppm = 20000},
		.slow_interval_ns = 1000 * MS_NS,
		.max_probes_per_s = budget_of(u->load),
	};
	int rc;

	probes_net_ports(&u->ports);
	rc = udp_create(&u->udp, 26);
	if (!rc)
		rc = reflector_create(&u->reflector, u->udp, &u->ports, &no_keys, &on_reflector, u);
	if (!rc)
		rc = prober_create(&u->prober, u->udp, &options, &u->ports, &no_keys, &on_prober, u,
				   clock_now_ns());
	if (!rc)
		rc = health_loop_create(&u->watchers, u->loop, u->prober, u->reflector);
	for (uint32_t i = 0; !rc && i < u->load->n_peers; i++) {
		struct in6_addr peer = probes_net_peer(i);

		for (uint32_t plane = 0; !rc && plane < PROBES_PLANES; plane++)
			rc = prober_want(u->prober, 0, &peer, plane, true, false, clock_now_ns());
	}
	return rc;
}

static void probes_unit_measure(struct unit *u, const struct probes_net *net)
{
	const struct sched_param rr = {.sched_priority = 10};
	int rc = probes_net_enter(net->near);

	probes_net_pin(0);
	sched_setscheduler(0, SCHED_RR, &rr); /* as fared does */
	u->loop = ev_loop_new(EVFLAG_AUTO);
	if (!rc)
		rc = u->loop ? probes_unit_start(u) : -ENOMEM;
	if (rc) {
		fprintf(stderr, "farebench: the prober cannot start: %s\n", strerror(-rc));
		_exit(1);
	}
	ev_timer_init(&u->window, on_window, WARM_UP_S, 0.);
	u->window.data = u->traffic.data = u;
	ev_timer_start(u->loop, &u->window);
	if (u->load->n_active < u->load->n_peers) {
		for (uint32_t plane = 0; plane < PROBES_PLANES; plane++)
			prober_set_traffic_known(u->prober, 0, plane, true, clock_now_ns());
		ev_init(&u->traffic, on_traffic);
		u->traffic.repeat = TRAFFIC_S;
		u->traffic.data = u;
		ev_timer_again(u->loop, &u->traffic);
		on_traffic(u->loop, &u->traffic, 0);
	}
	ev_run(u->loop, 0);
	_exit(1);
}

static int read_found(int fd, uint32_t n_peers, uint64_t silent_ns, struct probes_found *found)
{
	uint64_t down_ns[PROBES_MAX_PEERS];
	int rc = read_all(fd, down_ns, n_peers * sizeof(down_ns[0]));

	if (!rc)
		probes_found_set(found, down_ns, n_peers, silent_ns);
	return rc;
}

int probes_unit_run(const struct probes_net *net, const struct probes_load *load, pid_t peers,
		    struct probes_sample *sample, struct probes_found *found)
{
	static struct unit u;
	int fds[2], status, rc = 0;
	uint64_t silent_ns;

	u = (struct unit){.load = load};
	pid_t pid;

	if (pipe(fds))
		return -errno;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		u.out = fds[1];
		probes_unit_measure(&u, net);
	}
	close(fds[1]);
	if (pid > 0)
		rc = read_all(fds[0], sample, sizeof(*sample));
	silent_ns = clock_now_ns();
	if (pid > 0 && !rc)
		rc = kill(peers, PROBES_SILENT)
			     ? -errno
			     : read_found(fds[0], load->n_peers, silent_ns, found);
	close(fds[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return pid < 0 ? -EAGAIN : rc;
}
