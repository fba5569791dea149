/* SPDX-License-Identifier: BSD-2-Clause */
#include "path_route.h"

#include "path_planted.h"

struct search {
	const struct path_facts *f;
	struct path_route *out;
};

void path_route_sooner(uint64_t *deadline, uint64_t candidate)
{
	if (!*deadline || candidate < *deadline)
		*deadline = candidate;
}

/* In sync, and so able to withdraw by silence: a source that has said nothing withdraws nothing. */
static bool is_up(const struct path_facts *f, enum path_source s)
{
	return f->sources[s].configured && f->sources[s].state == BGP_SOURCE_UP &&
	       (f->sources[s].has_advertised || PATH_PLANTED(silence_withdraws));
}

/*
 * A source in sync that has not repeated an old route since its restart has withdrawn it. Nobody is
 * left to withdraw the route of a source that the configuration no longer has: it counts no more.
 */
static bool is_accepted(const struct path_facts *f, enum path_source s)
{
	const struct path_received *b = &f->received[s];

	return f->sources[s].configured && b->known && b->reachable &&
	       (b->confirmed || !is_up(f, s) || PATH_PLANTED(old_route_counts));
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool learns_anew(const struct path_facts *f)
{
	return f->sources[PATH_SOURCE_BMP].state == BGP_SOURCE_SYNCING ||
	       f->received[PATH_SOURCE_BMP].stale;
}

/*
 * true once zebra, in sync, has had no route over this plane for long enough while the route source
 * has had one since accepted_since. The two learn of one change 50 to 120 ms apart: so a difference
 * has to last.
 *
 * If what the route source said is old, zebra may know better: it has kept the peer's other planes.
 * If it has nothing at all toward the peer, bgpd is more likely restarting (zebra flushes its
 * routes then); no other plane is left to move to, so nothing is urgent. Nor is it while a
 * restarted bgpd learns anew: it installs the planes whose sessions are back first, so that the
 * others are missing for a while, and probes find those that do not work.
 */
static bool is_missing(struct search *s, uint64_t accepted_since, bool is_old)
{
	const struct path_facts *f = s->f;
	uint64_t since = accepted_since, hold = f->times->installed_ns, ripe;

	if (!is_up(f, PATH_SOURCE_ZSERV) || is_accepted(f, PATH_SOURCE_ZSERV) ||
	    PATH_PLANTED(zebra_unheard))
		return false;
	since = later(since, f->received[PATH_SOURCE_ZSERV].since_ns);
	since = later(since, f->sources[PATH_SOURCE_ZSERV].since_ns);
	since = later(since, f->sources[PATH_SOURCE_BMP].since_ns);
	if (is_old) {
		since = later(since, f->installed_change_ns);
		if (!f->installed_elsewhere || learns_anew(f))
			hold = f->times->restart_ns;
	}
	ripe = since + hold;
	if (f->now_ns >= ripe)
		return true;
	path_route_sooner(&s->out->deadline_ns, ripe);
	return false;
}

/* In sync, or synchronising and this path has been received anew already. */
static bool is_current(const struct path_facts *f, enum path_source s)
{
	const struct path_received *b = &f->received[s];

	return is_up(f, s) || (f->sources[s].state == BGP_SOURCE_SYNCING && b->confirmed &&
			       b->received_ns > f->sources[s].entered_ns);
}

bool path_route_is_answered(const struct path_facts *f)
{
	return f->probe.judged && !f->probe.silent;
}

/*
 * A source that does not come back takes nothing away. What it said last counts for stale_ns, and
 * longer only while probes are answered.
 */
static bool is_too_old(struct search *s, enum path_source from)
{
	const struct path_facts *f = s->f;
	uint64_t stale_at = f->sources[from].since_ns + f->times->stale_ns;

	if (f->sources[from].state == BGP_SOURCE_UP || path_route_is_answered(f))
		return false;
	if (f->now_ns >= stale_at)
		return true;
	path_route_sooner(&s->out->deadline_ns, stale_at);
	return false;
}

static const char *why_away(enum bgp_source_state bmp)
{
	switch (bmp) {
	case BGP_SOURCE_SYNCING:
		return "the BMP session is synchronising; kept as last learned";
	case BGP_SOURCE_UP:
		return "BMP has not advertised any path yet; kept as last learned";
	case BGP_SOURCE_DOWN:
		break;
	}
	return "the BMP session is away; kept as last learned";
}

static void take_bmp(struct search *s)
{
	const struct path_received *b = &s->f->received[PATH_SOURCE_BMP];
	bool away = !is_current(s->f, PATH_SOURCE_BMP);
	bool missing = is_missing(s, b->since_ns, away || b->stale);

	if ((away || b->stale) && missing) {
		s->out->none = "BMP is not in sync and zebra has no route over this plane";
		return;
	}
	/* bmp_station.c sweeps a lost session's routes; after a reload there is nobody who does */
	if (!b->confirmed && is_too_old(s, PATH_SOURCE_BMP)) {
		s->out->none = "BMP has been away for longer than stale_s since a reload";
		return;
	}
	s->out->source = PATH_FROM_BMP;
	s->out->uninstalled = missing;
	if (away)
		s->out->stale = why_away(s->f->sources[PATH_SOURCE_BMP].state);
	else if (b->stale)
		s->out->stale =
			"bgpd has lost or not yet re-learned it (graceful restart); kept as "
			"last learned";
}

/*
 * Beyond stale_ns only while its probes are answered: that they are not any more is an event, not
 * waited for.
 */
static void take_adopted(struct search *s)
{
	uint64_t stale_at = s->f->adopted_ns + s->f->times->stale_ns;

	if (is_missing(s, s->f->adopted_ns, true)) {
		s->out->none = "BMP is not in sync yet and zebra has no route over this plane";
		return;
	}
	s->out->source = PATH_FROM_ADOPTED;
	s->out->stale = "kept as the former daemon published it; BMP is not in sync yet";
	if (s->f->now_ns < stale_at)
		path_route_sooner(&s->out->deadline_ns, stale_at);
}

/* zebra's route counts only when BMP has been away for a while: its weights are rounded and
 * relative. */
static void take_zserv(struct search *s)
{
	const struct path_facts *f = s->f;
	uint64_t ripe = f->sources[PATH_SOURCE_BMP].since_ns + f->times->fallback_ns;

	if (!is_accepted(f, PATH_SOURCE_ZSERV)) {
		s->out->none = f->received[PATH_SOURCE_BMP].known
				       ? "neither BMP nor zebra has a route"
				       : "not learned from any source";
		return;
	}
	if (f->now_ns < ripe) {
		s->out->none = "waiting for BMP before zebra's relative weights are used";
		path_route_sooner(&s->out->deadline_ns, ripe);
		return;
	}
	if (is_too_old(s, PATH_SOURCE_ZSERV)) {
		s->out->none = "BMP and zebra have been away for longer than stale_s";
		return;
	}
	s->out->source = PATH_FROM_ZSERV;
	if (!is_up(f, PATH_SOURCE_ZSERV))
		s->out->stale = "BMP and zebra are away; kept as zebra last said";
	else if (f->received[PATH_SOURCE_ZSERV].stale)
		s->out->stale = "zebra keeps it from a lost session";
}

/*
 * BMP is in sync and has not mentioned a path that has been in use without it, and that zebra has
 * installed: it may be about to. zebra has the route from the same bgpd, whose BMP stream can
 * be some tenths of a second behind.
 */
static bool is_kept_for_zebra(struct search *s)
{
	const struct path_facts *f = s->f;
	uint64_t ripe = f->sources[PATH_SOURCE_BMP].since_ns + f->times->installed_ns;

	if ((f->before != PATH_FROM_ZSERV && f->before != PATH_FROM_ADOPTED) ||
	    f->received[PATH_SOURCE_BMP].known || !is_up(f, PATH_SOURCE_ZSERV) ||
	    !is_accepted(f, PATH_SOURCE_ZSERV) || f->now_ns >= ripe)
		return false;
	s->out->source = f->before;
	s->out->stale =
		"BMP is in sync and has not advertised it yet; kept, for zebra has installed it";
	path_route_sooner(&s->out->deadline_ns, ripe);
	return true;
}

/*
 * zebra, in sync, still has a route that BMP does not show: bgpd keeps it, and has left it out of
 * what it sends. The two learn of one withdrawal 50 to 120 ms apart: so a difference has to last.
 */
static bool is_unshown(struct search *s)
{
	const struct path_facts *f = s->f;
	uint64_t ripe = later(f->received[PATH_SOURCE_BMP].since_ns,
			      f->received[PATH_SOURCE_ZSERV].since_ns);

	if (!is_up(f, PATH_SOURCE_ZSERV) || !is_accepted(f, PATH_SOURCE_ZSERV))
		return false;
	ripe = later(ripe, f->sources[PATH_SOURCE_ZSERV].since_ns);
	ripe = later(ripe, f->sources[PATH_SOURCE_BMP].since_ns) + f->times->installed_ns;
	if (f->now_ns >= ripe)
		return true;
	path_route_sooner(&s->out->deadline_ns, ripe);
	return false;
}

static void find_withdrawn(struct search *s)
{
	s->out->unshown = is_unshown(s);
	s->out->none = s->f->received[PATH_SOURCE_BMP].known
			       ? "BMP has withdrawn it"
			       : "BMP is in sync and does not advertise it";
}

void path_route_find(const struct path_facts *f, struct path_route *out)
{
	const struct path_received *bmp = &f->received[PATH_SOURCE_BMP];
	struct search search = {f, out}, *s = &search;
	bool adopted =
		f->adopted && !bmp->known &&
		(path_route_is_answered(f) || f->now_ns < f->adopted_ns + f->times->stale_ns);

	*out = (struct path_route){.none = "not learned from any source"};
	if (is_accepted(f, PATH_SOURCE_BMP))
		take_bmp(s);
	else if (is_up(f, PATH_SOURCE_BMP) && is_kept_for_zebra(s))
		;
	else if (is_up(f, PATH_SOURCE_BMP) || (bmp->known && is_current(f, PATH_SOURCE_BMP)))
		find_withdrawn(s);
	else if (adopted)
		take_adopted(s);
	else
		take_zserv(s);
}
