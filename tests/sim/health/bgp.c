/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp.h"

#include <string.h>

#define SYNC_NS (1000 * LOOP_MS) /* bgpd's sessions come back one after the other */

const char *bgp_event_name(enum bgp_event_kind kind)
{
	static const char *const names[] = {"withdrawn",    "replaced",	    "uninstalled",
					    "bgpd restart", "bgpd stalled", "zebra restart",
					    "reload"};

	return names[kind];
}

/* ---- what happens --------------------------------------------------------- */

static void draw_event(struct bgp *b, struct bgp_event *e, enum bgp_event_kind first,
		       enum bgp_event_kind last, uint64_t from_ns, uint64_t to_ns)
{
	struct prng *prng = &b->prng;

	*e = (struct bgp_event){
		.kind = (enum bgp_event_kind)prng_between(prng, first, last),
		.host = (unsigned)prng_below(prng, b->net->n_hosts),
		.to = (unsigned)prng_below(prng, b->net->n_hosts),
		.plane = (unsigned)prng_below(prng, b->net->n_planes),
		.per_mille = (uint32_t)prng_between(prng, 100, 900),
		.from_ns = prng_between(prng, from_ns, to_ns),
	};
	e->to_ns = e->from_ns + prng_log(prng, 400 * LOOP_MS, 2500 * LOOP_MS);
}

void bgp_init(struct bgp *b, const struct net *net, uint64_t seed, uint64_t from_ns, uint64_t to_ns)
{
	*b = (struct bgp){.net = net, .prng = {prng_mix(seed ^ UINT64_C(0x42475020))}};
	for (unsigned n = (unsigned)prng_below(&b->prng, BGP_EVENTS_MAX); n; n--)
		draw_event(b, &b->events[b->n++], BGP_WITHDRAWN, BGP_UNINSTALLED, from_ns, to_ns);
	/* one server's sources at most */
	if (prng_chance(&b->prng, 400))
		draw_event(b, &b->events[b->n++], BGP_BGPD_RESTART, BGP_RELOAD, from_ns, to_ns);
}

static const struct bgp_event *find(const struct bgp *b, enum bgp_event_kind kind, unsigned host,
				    unsigned to, unsigned plane)
{
	for (unsigned i = 0; i < b->n; i++) {
		const struct bgp_event *e = &b->events[i];
		bool is_route = kind < BGP_BGPD_RESTART;

		if (e->kind == kind && b->net->loop.now_ns >= e->from_ns &&
		    b->net->loop.now_ns < e->to_ns &&
		    (!is_route || (e->to == to && e->plane == plane)) &&
		    (kind < BGP_UNINSTALLED || e->host == host))
			return e;
	}
	return NULL;
}

/* As it is, whether or not it has been said. bps 0: no route. */
static double truth(const struct bgp *b, enum path_source source, unsigned host, unsigned to,
		    unsigned plane)
{
	const struct bgp_event *less = find(b, BGP_REPLACED, host, to, plane);
	double bps =
		(unsigned)__builtin_popcount(net_live(b->net, to, plane)) * (double)BGP_PORT_BPS;

	if (!net_live(b->net, host, plane) || find(b, BGP_WITHDRAWN, host, to, plane))
		return 0;
	if (less)
		bps = bps * less->per_mille / 1000;
	if (source == PATH_SOURCE_BMP)
		return bps;
	if (find(b, BGP_UNINSTALLED, host, to, plane) || find(b, BGP_BGPD_RESTART, host, to, plane))
		return 0;
	return BGP_WEIGHT_MAX * bps / (double)(b->net->n_sub_ports * BGP_PORT_BPS);
}

/* ---- what is said ---------------------------------------------------------- */

static void say_state(const struct bgp *b, struct bgp_feed *f, struct path_table *t,
		      enum bgp_source_state state)
{
	if ((f->state == BGP_SOURCE_UP) != (state == BGP_SOURCE_UP))
		f->up_ns = b->net->loop.now_ns;
	if (f->state != state)
		f->entered_ns = b->net->loop.now_ns;
	f->state = state;
	path_table_source_state(t, f->source, state, "simulated", b->net->loop.now_ns);
}

static void say(const struct bgp *b, struct bgp_feed *f, unsigned to, unsigned plane, double bps,
		bool stale, struct path_table *t)
{
	struct bgp_word *w = &f->word[to][plane];
	struct bgp_path_event e = {.peer = net_address(to),
				   .plane = (uint16_t)plane,
				   .reachable = bps > 0,
				   .stale = stale,
				   .normalised = f->source == PATH_SOURCE_ZSERV,
				   .advertised_bps = bps};

	if (!w->said || w->reachable != e.reachable || w->stale != stale)
		w->said_ns = b->net->loop.now_ns;
	*w = (struct bgp_word){true, e.reachable, stale, bps, w->said_ns};
	f->last[to][plane] = *w;
	f->has_spoken = true;
	f->due_ns[to][plane] = 0;
	path_table_route(t, f->source, &e, b->net->loop.now_ns);
}

static bool is_said(const struct bgp_word *w, double bps)
{
	if (!w->said)
		return bps <= 0;
	return w->reachable ? bps > 0 && !w->stale && !(w->bps < bps || w->bps > bps) : bps <= 0;
}

/* Whatever differs, now. */
static void say_all(struct bgp *b, struct bgp_feed *f, unsigned host, struct path_table *t)
{
	for (unsigned to = 0; to < b->net->n_hosts; to++)
		for (unsigned p = 0; to != host && p < b->net->n_planes; p++) {
			double bps = truth(b, f->source, host, to, p);

			if (!is_said(&f->word[to][p], bps))
				say(b, f, to, p, bps, false, t);
		}
}

/* Whatever differs, when it is due: a leaf takes its time, and zebra more. */
static void say_due(struct bgp *b, struct bgp_feed *f, unsigned host, struct path_table *t)
{
	uint64_t now = b->net->loop.now_ns;

	for (unsigned to = 0; to < b->net->n_hosts; to++)
		for (unsigned p = 0; to != host && p < b->net->n_planes; p++) {
			double bps = truth(b, f->source, host, to, p);
			uint64_t *due = &f->due_ns[to][p];

			if (is_said(&f->word[to][p], bps))
				*due = 0;
			else if (!*due)
				*due = now + prng_between(&b->prng, 10, 70) * LOOP_MS +
				       (f->source == PATH_SOURCE_ZSERV ? 50 * LOOP_MS : 0);
			else if (now >= *due)
				say(b, f, to, p, bps, false, t);
		}
}

static void say_stale(struct bgp *b, struct bgp_feed *f, struct path_table *t)
{
	for (unsigned to = 0; to < b->net->n_hosts; to++)
		for (unsigned p = 0; p < b->net->n_planes; p++)
			if (f->word[to][p].said && f->word[to][p].reachable)
				say(b, f, to, p, f->word[to][p].bps, true, t);
}

static void forget(struct bgp_feed *f)
{
	f->has_spoken = false;
	memset(f->word, 0, sizeof(f->word));
	memset(f->due_ns, 0, sizeof(f->due_ns));
}

/* It connects: one session after the other says what it has. */
static void come_back(struct bgp *b, struct bgp_feed *f, struct path_table *t)
{
	uint64_t now = b->net->loop.now_ns;

	say_state(b, f, t, BGP_SOURCE_SYNCING);
	for (unsigned to = 0; to < b->net->n_hosts; to++)
		for (unsigned p = 0; p < b->net->n_planes; p++)
			f->due_ns[to][p] = now + prng_between(&b->prng, 20, 900) * LOOP_MS;
	f->sync_ns = now + SYNC_NS;
}

static enum bgp_away away_of(const struct bgp *b, const struct bgp_feed *f, unsigned host)
{
	bool is_bmp = f->source == PATH_SOURCE_BMP;

	if (find(b, BGP_RELOAD, host, 0, 0))
		return BGP_NEW;
	if (is_bmp && find(b, BGP_BGPD_STALLED, host, 0, 0))
		return BGP_MUTE;
	return find(b, is_bmp ? BGP_BGPD_RESTART : BGP_ZEBRA_RESTART, host, 0, 0) ? BGP_DOWN
										  : BGP_THERE;
}

static void begin_away(struct bgp *b, struct bgp_feed *f, struct path_table *t)
{
	if (f->away == BGP_NEW) {
		forget(f);
		path_table_source_replaced(t, f->source, true, b->net->loop.now_ns);
		f->state = BGP_SOURCE_DOWN;
		f->up_ns = b->net->loop.now_ns;
		say_state(b, f, t, BGP_SOURCE_SYNCING);
		f->sync_ns = b->net->loop.now_ns + 200 * LOOP_MS;
		return;
	}
	say_state(b, f, t, BGP_SOURCE_DOWN);
	say_stale(b, f, t);
	if (f->away == BGP_MUTE)
		say_state(b, f, t, BGP_SOURCE_SYNCING);
}

static void end_away(struct bgp *b, struct bgp_feed *f, unsigned host, enum bgp_away was,
		     struct path_table *t)
{
	if (was == BGP_NEW)
		say_all(b, f, host, t); /* in sync already */
	else
		come_back(b, f, t);
}

void bgp_feed_step(struct bgp *b, struct bgp_feed *f, unsigned host, struct path_table *t)
{
	enum bgp_away was = f->away;

	f->away = away_of(b, f, host);
	if (f->away != was) {
		if (f->away)
			begin_away(b, f, t);
		else
			end_away(b, f, host, was, t);
	}
	if (f->state == BGP_SOURCE_SYNCING && f->away != BGP_MUTE &&
	    b->net->loop.now_ns >= f->sync_ns) {
		if (!f->away)
			say_all(b, f, host, t);
		say_state(b, f, t, BGP_SOURCE_UP);
	}
	if (!f->away)
		say_due(b, f, host, t);
}

void bgp_feed_start(struct bgp *b, struct bgp_feed *f, enum path_source source, unsigned host,
		    struct path_table *t, bool at_once)
{
	*f = (struct bgp_feed){.source = source, .up_ns = b->net->loop.now_ns};
	path_table_source_replaced(t, source, true, b->net->loop.now_ns);
	come_back(b, f, t);
	if (!at_once)
		return;
	say_all(b, f, host, t);
	say_state(b, f, t, BGP_SOURCE_UP);
}

bool bgp_feed_denies(const struct bgp_feed *f, unsigned to, unsigned plane, uint64_t *since_ns)
{
	const struct bgp_word *w = &f->word[to][plane];

	*since_ns = w->said && w->said_ns > f->up_ns ? w->said_ns : f->up_ns;
	if (f->state == BGP_SOURCE_UP)
		return f->has_spoken && !(w->said && w->reachable);
	/* on the way there: what it has said since */
	return f->state == BGP_SOURCE_SYNCING && w->said && !w->reachable &&
	       w->said_ns > f->entered_ns;
}
