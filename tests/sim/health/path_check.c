/* SPDX-License-Identifier: BSD-2-Clause */
#include "path_check.h"

#include <math.h>

#define STEP_NS (20 * LOOP_MS) /* a table is evaluated at least so often */

struct case_of {
	const struct server *s;
	unsigned to, plane;
	uint64_t now;
	const struct bgp_feed *bmp, *zserv;
	const struct path_probe *probe;
	struct path_view view;
	bool bmp_denies, zserv_denies;
	uint64_t bmp_ns, zserv_ns; /* since when */
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t local_bps(const struct case_of *c)
{
	uint32_t live = c->s->ports.gpus[0].live[c->plane];
	uint32_t used = live & ~(uint32_t)(c->probe->gray_local | c->probe->returning_local |
					   c->probe->small_local);

	return (unsigned)__builtin_popcount(used ? used : live) * BGP_PORT_BPS;
}

static bool is_limited(const struct case_of *c)
{
	return c->s->held[c->to].incarnation && c->now < c->s->held_till_ns[c->to] &&
	       c->s->held_bps[c->to][c->plane] != NOTICE_WIRE_ANY;
}

/* ---- usable ---------------------------------------------------------------- */

/* What BMP's last word, or the former daemon's, makes of the local bandwidth. */
static double advertised_bps(const struct case_of *c)
{
	unsigned n = c->probe->n_remote, gray = (unsigned)__builtin_popcount(
						 c->probe->gray_remote | c->probe->small_remote);
	double part = c->probe->judged && n && gray < n ? (double)(n - gray) / n : 1;

	return part * (c->view.route_source == PATH_FROM_BMP
			       ? c->bmp->last[c->to][c->plane].bps
			       : (double)c->s->adopted_bps[c->to][c->plane]);
}

static bool is_weight_right(const struct case_of *c)
{
	double bps = (double)local_bps(c);

	if (c->view.route_source == PATH_FROM_ZSERV)
		return c->view.usable_bps <=
		       local_bps(c); /* shares alone: nothing to compare with */
	bps = fmin(bps, advertised_bps(c));
	if (is_limited(c))
		bps = fmin(bps, (double)c->s->held_bps[c->to][c->plane]);
	if (c->probe->judged)
		bps = bps / 1000 * c->probe->permille;
	return fabs(bps - (double)c->view.usable_bps) < 1001; /* it is rounded to 1,000 bit/s */
}

/* zebra has not had it for long, BMP has, and both are in sync: time enough to install it. */
static bool is_uninstalled(const struct case_of *c)
{
	const struct bgp_word *w = &c->bmp->word[c->to][c->plane];
	uint64_t since =
		later(later(c->zserv_ns, w->said_ns), later(c->zserv->up_ns, c->bmp->up_ns));

	return c->zserv_denies && c->zserv->state == BGP_SOURCE_UP &&
	       c->bmp->state == BGP_SOURCE_UP && w->said && !w->stale &&
	       c->now > since + PATH_INSTALLED_NS + STEP_NS;
}

/* In use without BMP until now, and installed: BMP gets a moment to say it, too. */
static bool is_kept(const struct case_of *c)
{
	return c->view.route_source != PATH_FROM_BMP && !c->bmp->word[c->to][c->plane].said &&
	       c->now <= c->bmp->up_ns + PATH_INSTALLED_NS + STEP_NS;
}

static const char *check_usable(const struct case_of *c)
{
	if (c->probe->judged && !c->probe->permille)
		return "is used though its probes are not answered";
	if (c->probe->judged && c->probe->mtu_is_small)
		return "is used though other planes carry larger packets";
	if (!c->s->ports.gpus[0].live[c->plane])
		return "is used without a local sub-port";
	if (c->bmp_denies && !is_kept(c))
		return "is used though BMP has withdrawn it";
	if (is_uninstalled(c))
		return "is used though zebra has not installed it";
	if (is_limited(c) && !c->s->held_bps[c->to][c->plane])
		return "is used though the peer says that its ports are down";
	return is_weight_right(c) ? NULL : "has another bandwidth than all say";
}

/* ---- not usable ------------------------------------------------------------ */

/* Was there a word for it, of any source or of a former daemon, that nobody has taken back? */
static bool was_known(const struct case_of *c)
{
	const struct bgp_word *last = &c->bmp->last[c->to][c->plane];

	return last->said ? last->reachable : c->s->adopted_bps[c->to][c->plane] > 0;
}

static bool is_installed_elsewhere(const struct case_of *c)
{
	for (unsigned p = 0; p < c->s->net->n_planes; p++)
		if (c->zserv->word[c->to][p].said && c->zserv->word[c->to][p].reachable)
			return true;
	return false;
}

/* While BMP does not speak, zebra alone may take a path away: after a while, and not all planes. */
static bool is_taken_away(const struct case_of *c)
{
	if (c->bmp_denies || !was_known(c))
		return true;
	return c->zserv_denies && c->now >= c->zserv_ns + PATH_INSTALLED_NS &&
	       is_installed_elsewhere(c);
}

static const char *check_unusable(const struct case_of *c)
{
	switch (c->view.verdict) {
	case FARE_VERDICT_NO_ROUTE:
		return is_taken_away(c) ? NULL : "is withdrawn by sources that have said nothing";
	case FARE_VERDICT_NOT_INSTALLED:
		return c->zserv_denies ? NULL
				       : "is not installed, says a zebra that has said nothing";
	case FARE_VERDICT_LOCAL_DOWN:
		return c->s->ports.gpus[0].live[c->plane] ? "is down with a live sub-port" : NULL;
	case FARE_VERDICT_PROBE_DOWN:
		return c->probe->judged && !c->probe->permille ? NULL
							       : "is down though probes pass";
	case FARE_VERDICT_MTU:
		return c->probe->mtu_is_small ? NULL : "carries as large packets as other planes";
	case FARE_VERDICT_ZERO_BANDWIDTH:
		return is_limited(c) && !c->s->held_bps[c->to][c->plane]
			       ? NULL
			       : "carries nothing, and nobody says so";
	default:
		return "is usable by its verdict, and carries nothing";
	}
}

const char *path_check(const struct server *s, unsigned to, unsigned plane)
{
	struct case_of c = {.s = s,
			    .to = to,
			    .plane = plane,
			    .now = s->net->loop.now_ns,
			    .bmp = &s->feeds[PATH_SOURCE_BMP],
			    .zserv = &s->feeds[PATH_SOURCE_ZSERV],
			    .probe = &s->probe[to][plane]};
	struct in6_addr peer = net_address(to);
	uint32_t pair;

	if (!path_table_find(s->table, 0, &peer, &pair))
		return was_known(&c) ? "is not known to the table" : NULL;
	path_table_view(s->table, pair, plane, &c.view);
	c.bmp_denies = bgp_feed_denies(c.bmp, to, plane, &c.bmp_ns);
	c.zserv_denies = bgp_feed_denies(c.zserv, to, plane, &c.zserv_ns);
	return c.view.usable_bps ? check_usable(&c) : check_unusable(&c);
}
