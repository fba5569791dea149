/* SPDX-License-Identifier: BSD-2-Clause */
#include "health_loop.h"

#include <errno.h>
#include <ev.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "health_limits.h"
#include "prober.h"
#include "reflector.h"

/* A socket that replies come in by. */
struct reply_io {
	struct health_loop *loop;
	uint32_t i;
	ev_io io;
};

/* One that probes come in by. */
struct probe_io {
	struct health_loop *loop;
	uint32_t i;
	ev_io io;
	unsigned n_burst; /* probes since burst_ns */
	uint64_t burst_ns;
	ev_timer tick; /* instead of io, while many come */
};

struct health_loop {
	struct ev_loop *loop;
	struct prober *prober;
	struct reflector *reflector;
	int timer_fd;
	uint64_t armed_ns;
	ev_io timer;
	ev_prepare prepare;
	bool watches;	    /* replies, as they come in */
	uint64_t tick_ns;   /* a burst of probes is answered so often */
	unsigned burst_min; /* so many probes within a tick are a burst */
	uint32_t n_replies, n_probes;
	struct reply_io *replies;
	struct probe_io *probes;
};

/* ---- the prober ---------------------------------------------------------- */

static void on_reply(struct ev_loop *loop, ev_io *w, int revents)
{
	struct reply_io *s = w->data;

	(void)loop;
	(void)revents;
	prober_read(s->loop->prober, s->i, clock_now_ns());
}

static void watch_replies(struct health_loop *l, bool watch)
{
	if (l->watches == watch)
		return;
	l->watches = watch;
	for (uint32_t i = 0; i < l->n_replies; i++)
		if (watch)
			ev_io_start(l->loop, &l->replies[i].io);
		else
			ev_io_stop(l->loop, &l->replies[i].io);
}

static void on_timer(struct ev_loop *loop, ev_io *w, int revents)
{
	struct health_loop *l = w->data;
	uint64_t ticks;

	(void)loop;
	(void)revents;
	if (read(l->timer_fd, &ticks, sizeof(ticks)) != sizeof(ticks))
		return;
	prober_run(l->prober, clock_now_ns());
	watch_replies(l, !prober_reads_by_tick(l->prober));
}

/* Before the loop waits: whatever was read or said may have made something due. */
static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct health_loop *l = w->data;
	uint64_t next = prober_next_ns(l->prober, clock_now_ns());
	struct itimerspec at = {.it_interval = {0, 0}};

	(void)loop;
	(void)revents;
	if (next == l->armed_ns)
		return;
	l->armed_ns = next;
	at.it_value.tv_sec = (time_t)(next / 1000000000);
	at.it_value.tv_nsec = (long)(next % 1000000000);
	timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static int start_prober(struct health_loop *l)
{
	l->n_replies = prober_n_sockets(l->prober);
	l->replies = calloc(l->n_replies + 1, sizeof(*l->replies));
	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (!l->replies || l->timer_fd < 0)
		return l->replies ? -errno : -ENOMEM;
	for (uint32_t i = 0; i < l->n_replies; i++) {
		struct reply_io *s = &l->replies[i];

		*s = (struct reply_io){.loop = l, .i = i};
		ev_io_init(&s->io, on_reply, prober_fd(l->prober, i), EV_READ);
		s->io.data = s;
	}
	watch_replies(l, true);
	ev_io_init(&l->timer, on_timer, l->timer_fd, EV_READ);
	ev_set_priority(&l->timer, EV_MINPRI); /* what has come in is heard first */
	ev_io_start(l->loop, &l->timer);
	ev_prepare_start(l->loop, &l->prepare);
	return 0;
}

/* ---- the reflector ------------------------------------------------------- */

static unsigned answer_all(struct probe_io *s)
{
	return reflector_read(s->loop->reflector, s->i, clock_now_ns());
}

/*
 * The first of a burst is answered at once; those within a tick after it, if they are many,
 * together.
 */
static void on_probe(struct ev_loop *loop, ev_io *w, int revents)
{
	struct probe_io *s = w->data;
	uint64_t now = clock_now_ns();

	(void)revents;
	s->n_burst = now < s->burst_ns + s->loop->tick_ns ? s->n_burst : 0;
	s->burst_ns = s->n_burst ? s->burst_ns : now;
	s->n_burst += answer_all(s);
	if (s->n_burst < s->loop->burst_min)
		return;
	ev_io_stop(loop, &s->io);
	ev_timer_again(loop, &s->tick);
}

static void answer_burst(struct probe_io *s)
{
	struct ev_loop *loop = s->loop->loop;

	if (answer_all(s) >= s->loop->burst_min) {
		ev_timer_again(loop, &s->tick);
		return;
	}
	s->n_burst = 0;
	ev_timer_stop(loop, &s->tick);
	ev_io_start(loop, &s->io);
}

static void on_tick(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	answer_burst(w->data);
}

void health_loop_drain(struct health_loop *l)
{
	for (uint32_t i = 0; i < l->n_probes; i++)
		if (ev_is_active(&l->probes[i].tick))
			answer_burst(&l->probes[i]);
		else
			answer_all(&l->probes[i]);
}

/*
 * A reply waits no longer for the tick than the peer's prober is exact. Half of what replies are
 * read by the tick for: answering one by one costs a sending as well.
 */
static void set_tick(struct health_loop *l)
{
	uint64_t ns = l->prober ? prober_tick_ns(l->prober) : HEALTH_TICK_MIN_NS;

	l->tick_ns = ns;
	l->burst_min = (unsigned)(HEALTH_BY_TICK_PER_S / 2 * ns / UINT64_C(1000000000));
	if (l->burst_min < 2)
		l->burst_min = 2;
}

static int start_reflector(struct health_loop *l)
{
	set_tick(l);
	l->n_probes = reflector_n_sockets(l->reflector);
	l->probes = calloc(l->n_probes + 1, sizeof(*l->probes));
	if (!l->probes)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->n_probes; i++) {
		struct probe_io *s = &l->probes[i];

		*s = (struct probe_io){.loop = l, .i = i};
		ev_io_init(&s->io, on_probe, reflector_fd(l->reflector, i), EV_READ);
		ev_timer_init(&s->tick, on_tick, 0., (ev_tstamp)l->tick_ns / 1e9);
		s->io.data = s->tick.data = s;
		ev_io_start(l->loop, &s->io);
	}
	return 0;
}

/* ---- life ---------------------------------------------------------------- */

int health_loop_create(struct health_loop **out, struct ev_loop *loop, struct prober *prober,
		       struct reflector *reflector)
{
	struct health_loop *l = calloc(1, sizeof(*l));
	int rc = 0;

	*out = NULL;
	if (!l)
		return -ENOMEM;
	l->loop = loop;
	l->prober = prober;
	l->reflector = reflector;
	l->timer_fd = -1;
	ev_prepare_init(&l->prepare, on_prepare);
	ev_init(&l->timer, on_timer);
	l->prepare.data = l->timer.data = l;
	if (prober)
		rc = start_prober(l);
	if (!rc && reflector)
		rc = start_reflector(l);
	if (rc)
		health_loop_destroy(l);
	else
		*out = l;
	return rc;
}

void health_loop_destroy(struct health_loop *l)
{
	if (!l)
		return;
	watch_replies(l, false);
	ev_prepare_stop(l->loop, &l->prepare);
	ev_io_stop(l->loop, &l->timer);
	for (uint32_t i = 0; i < l->n_probes; i++) {
		ev_io_stop(l->loop, &l->probes[i].io);
		ev_timer_stop(l->loop, &l->probes[i].tick);
	}
	if (l->timer_fd >= 0)
		close(l->timer_fd);
	free(l->replies);
	free(l->probes);
	free(l);
}
