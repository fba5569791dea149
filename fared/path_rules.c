/* SPDX-License-Identifier: BSD-2-Clause */
/* path_rules.c - see path_rules.h */
#include "path_rules.h"

#include <math.h>
#include <stddef.h>

#include "path_planted.h"

/* What the rules look at: the facts, and which source's route is in force. */
struct judgement {
	const struct path_facts *f;
	enum path_route_source route_source;
	const char *no_route; /* why no source has the path */
	const char *stale;    /* why the route in force is old, or NULL */
	bool uninstalled;     /* zebra has disagreed for long enough */
	uint64_t deadline_ns;
};

static void sooner(uint64_t *deadline, uint64_t candidate)
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
 * others are missing for a while, and probes tell of those that do not work.
 */
static bool is_missing(struct judgement *j, uint64_t accepted_since, bool is_old)
{
	const struct path_facts *f = j->f;
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
	sooner(&j->deadline_ns, ripe);
	return false;
}

/* In sync, or synchronising and this path has been received anew already. */
static bool is_current(const struct path_facts *f, enum path_source s)
{
	const struct path_received *b = &f->received[s];

	return is_up(f, s) || (f->sources[s].state == BGP_SOURCE_SYNCING && b->confirmed &&
			       b->received_ns > f->sources[s].entered_ns);
}

/*
 * Probes are answered, but for a single reply that may be late. An answer that came in by an
 * address proves it, however it came to be this server's.
 */
static bool is_answered(const struct path_facts *f)
{
	return f->probe.judged && !f->probe.silent;
}

/*
 * A source that does not come back takes nothing away. What it said last counts for stale_ns, and
 * longer only while probes are answered.
 */
static bool is_too_old(struct judgement *j, enum path_source s)
{
	const struct path_facts *f = j->f;
	uint64_t stale_at = f->sources[s].since_ns + f->times->stale_ns;

	if (f->sources[s].state == BGP_SOURCE_UP || is_answered(f))
		return false;
	if (f->now_ns >= stale_at)
		return true;
	sooner(&j->deadline_ns, stale_at);
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

static void take_bmp(struct judgement *j)
{
	const struct path_received *b = &j->f->received[PATH_SOURCE_BMP];
	bool away = !is_current(j->f, PATH_SOURCE_BMP);
	bool missing = is_missing(j, b->since_ns, away || b->stale);

	if ((away || b->stale) && missing) {
		j->no_route = "BMP is not in sync and zebra has no route over this plane";
		return;
	}
	/* bmp_station.c sweeps a lost session's routes; after a reload there is nobody who does */
	if (!b->confirmed && is_too_old(j, PATH_SOURCE_BMP)) {
		j->no_route = "BMP has been away for longer than stale_s since a reload";
		return;
	}
	j->route_source = PATH_FROM_BMP;
	j->uninstalled = missing;
	if (away)
		j->stale = why_away(j->f->sources[PATH_SOURCE_BMP].state);
	else if (b->stale)
		j->stale = "bgpd has lost or not yet re-learned it (graceful restart); kept as "
			   "last learned";
}

/*
 * Beyond stale_ns only while its probes are answered: that they are not any more is an event, not
 * waited for.
 */
static void take_adopted(struct judgement *j)
{
	uint64_t stale_at = j->f->adopted_ns + j->f->times->stale_ns;

	if (is_missing(j, j->f->adopted_ns, true)) {
		j->no_route = "BMP is not in sync yet and zebra has no route over this plane";
		return;
	}
	j->route_source = PATH_FROM_ADOPTED;
	j->stale = "kept as the former daemon published it; BMP is not in sync yet";
	if (j->f->now_ns < stale_at)
		sooner(&j->deadline_ns, stale_at);
}

/* zebra's route counts only when BMP has been away for a while: its weights are rounded and
 * relative. */
static void take_zserv(struct judgement *j)
{
	const struct path_facts *f = j->f;
	uint64_t ripe = f->sources[PATH_SOURCE_BMP].since_ns + f->times->fallback_ns;

	if (!is_accepted(f, PATH_SOURCE_ZSERV)) {
		j->no_route = f->received[PATH_SOURCE_BMP].known
				      ? "neither BMP nor zebra has a route"
				      : "not learned from any source";
		return;
	}
	if (f->now_ns < ripe) {
		j->no_route = "waiting for BMP before zebra's relative weights are used";
		sooner(&j->deadline_ns, ripe);
		return;
	}
	if (is_too_old(j, PATH_SOURCE_ZSERV)) {
		j->no_route = "BMP and zebra have been away for longer than stale_s";
		return;
	}
	j->route_source = PATH_FROM_ZSERV;
	if (!is_up(f, PATH_SOURCE_ZSERV))
		j->stale = "BMP and zebra are away; kept as zebra last said";
	else if (f->received[PATH_SOURCE_ZSERV].stale)
		j->stale = "zebra keeps it from a lost session";
}

/*
 * BMP is in sync and has not mentioned a path that has been in use without it, and that zebra has
 * installed: it may be about to. zebra has the route from the same bgpd, whose BMP stream can
 * be some tenths of a second behind.
 */
static bool is_kept_for_zebra(struct judgement *j)
{
	const struct path_facts *f = j->f;
	uint64_t ripe = f->sources[PATH_SOURCE_BMP].since_ns + f->times->installed_ns;

	if ((f->before != PATH_FROM_ZSERV && f->before != PATH_FROM_ADOPTED) ||
	    f->received[PATH_SOURCE_BMP].known || !is_up(f, PATH_SOURCE_ZSERV) ||
	    !is_accepted(f, PATH_SOURCE_ZSERV) || f->now_ns >= ripe)
		return false;
	j->route_source = f->before;
	j->stale = "BMP is in sync and has not advertised it yet; kept, for zebra has installed it";
	sooner(&j->deadline_ns, ripe);
	return true;
}

/* Whose route is in force? Raw bandwidth first, then what was published before us, then zebra's
 * weights. */
static void find_route_source(struct judgement *j)
{
	const struct path_facts *f = j->f;
	const struct path_received *bmp = &f->received[PATH_SOURCE_BMP];
	bool adopted = f->adopted && !bmp->known &&
		       (is_answered(f) || f->now_ns < f->adopted_ns + f->times->stale_ns);

	j->no_route = "not learned from any source";
	if (is_accepted(f, PATH_SOURCE_BMP))
		take_bmp(j);
	else if (is_up(f, PATH_SOURCE_BMP) && is_kept_for_zebra(j))
		;
	else if (is_up(f, PATH_SOURCE_BMP) || (bmp->known && is_current(f, PATH_SOURCE_BMP)))
		j->no_route = bmp->known ? "BMP has withdrawn it"
					 : "BMP is in sync and does not advertise it";
	else if (adopted)
		take_adopted(j);
	else
		take_zserv(j);
}

static const char *rule_drained(const struct judgement *j)
{
	const struct path_facts *f = j->f;

	if (f->drained)
		return "an operator drained it";
	if (f->has_drained_sub_ports && !f->n_live_sub_ports && f->n_up_sub_ports)
		return "an operator drained the only local sub-ports with carrier";
	return NULL;
}

static const char *rule_local_down(const struct judgement *j)
{
	if (j->f->n_sub_ports == 0)
		return "this server is not connected to this plane (fared.yaml)";
	if (j->f->n_live_sub_ports == 0)
		return "no local sub-port toward this plane has carrier";
	if (j->f->local_bps == 0)
		return "sub-ports have carrier, but neither driver nor configuration has a speed";
	return NULL;
}

static const char *rule_own_address(const struct judgement *j)
{
	if (is_answered(j->f))
		return NULL;
	switch (j->f->own_address) {
	case ADDRESS_MISSING:
		return "this GPU's own address is on no device of this server";
	case ADDRESS_DUPLICATE:
		return "this GPU's own address is another host's as well: duplicate address "
		       "detection failed";
	case ADDRESS_TENTATIVE:
		return "this GPU's own address is tentative: duplicate address detection has not "
		       "ended";
	default:
		return NULL;
	}
}

static const char *rule_sub_port_address(const struct judgement *j)
{
	if (!j->f->n_misaddressed || j->f->n_misaddressed < j->f->n_up_sub_ports ||
	    is_answered(j->f))
		return NULL;
	switch (j->f->sub_port_address) {
	case ADDRESS_MISSING:
		return "no live sub-port of this plane has an address of its neighbour's family";
	case ADDRESS_DUPLICATE:
		return "the addresses of this plane's sub-ports are other hosts' as well: "
		       "duplicate address detection failed";
	case ADDRESS_TENTATIVE:
		return "the addresses of this plane's sub-ports are tentative: duplicate address "
		       "detection has not ended";
	default:
		return "no live sub-port of this plane has an address in its neighbour's subnet";
	}
}

static const char *rule_no_route(const struct judgement *j)
{
	return j->route_source == PATH_FROM_NONE ? j->no_route : NULL;
}

/* Less than one bit per second is nothing: usable_bps is an integer, and 0 must never read "ok". */
static const char *rule_zero_bandwidth(const struct judgement *j)
{
	const struct path_received *b = &j->f->received[PATH_SOURCE_BMP];

	if (j->route_source == PATH_FROM_BMP && b->kind == BGP_BANDWIDTH_VALUE && b->bps < 1)
		return "the advertised bandwidth is zero";
	return NULL;
}

static bool is_silent(const struct path_facts *f)
{
	return f->probe.judged && f->probe.silent;
}

/* Another route is preferred. Probes are asked as well: that one may lead to the peer, too. */
static const char *rule_routed_elsewhere(const struct judgement *j)
{
	return j->f->kernel_route == PATH_KERNEL_ELSEWHERE && is_silent(j->f)
		       ? "the kernel's route to the peer leads out of no sub-port of this plane, "
			 "and probes are not answered"
		       : NULL;
}

static const char *rule_not_multipath(const struct judgement *j)
{
	return j->uninstalled && j->f->installed_elsewhere
		       ? "BMP advertises it, and zebra has installed other planes to this peer "
			 "but not this one"
		       : NULL;
}

/* FRR that ends takes its routes along, while BMP and zebra are away and say nothing. */
static const char *rule_not_installed(const struct judgement *j)
{
	if (j->f->kernel_route == PATH_KERNEL_NONE && is_silent(j->f))
		return "the kernel has no route to the peer over this plane, and probes are not "
		       "answered";
	return j->uninstalled ? "BMP advertises it, but zebra has not installed it over this plane"
			      : NULL;
}

static const char *rule_peer_down(const struct judgement *j)
{
	return j->f->noticed_bps == 0
		       ? "the peer says that its own ports toward this plane are down or drained"
		       : NULL;
}

static const char *rule_crossed(const struct judgement *j)
{
	const struct path_probe *probe = &j->f->probe;
	uint32_t n_crossed = (uint32_t)__builtin_popcount(probe->crossed);

	/* of some sub-ports alone: until the others are silent, too */
	return probe->judged && n_crossed && !probe->answered &&
			       (probe->silent || n_crossed >= j->f->n_up_sub_ports)
		       ? "crossed: what leaves by this plane is received over another one"
		       : NULL;
}

static const char *rule_probe_down(const struct judgement *j)
{
	return j->f->probe.judged && j->f->probe.permille == 0 ? j->f->probe.reason : NULL;
}

static const char *rule_mtu(const struct judgement *j)
{
	return j->f->probe.judged && j->f->probe.mtu_is_small
		       ? "path MTU: probes of full size are lost and short ones pass; other planes "
			 "carry larger packets"
		       : NULL;
}

static const char *rule_ramping(const struct judgement *j)
{
	return j->f->probe.judged && j->f->probe.permille < 1000 ? j->f->probe.reason : NULL;
}

static const char *rule_stale(const struct judgement *j)
{
	return j->stale;
}

/* In sync, and with nothing of any peer. */
static const char *rule_stale_without_peers(const struct judgement *j)
{
	const struct path_source_view *bmp = &j->f->sources[PATH_SOURCE_BMP];

	return j->stale && bmp->state == BGP_SOURCE_UP && !bmp->has_advertised ? j->stale : NULL;
}

/* None carries less than a hundredth of what ours do: a number of links. */
static const char *rule_tiny(const struct judgement *j)
{
	const struct path_received *b = &j->f->received[PATH_SOURCE_BMP];

	return j->route_source == PATH_FROM_BMP && b->kind == BGP_BANDWIDTH_VALUE &&
			       b->bps * 100 < (double)j->f->local_bps
		       ? "the advertised bandwidth is under 1% of the local links: is it a number "
			 "of links?"
		       : NULL;
}

static const char *rule_some_misaddressed(const struct judgement *j)
{
	if (!j->f->n_misaddressed)
		return NULL;
	return j->f->n_misaddressed < j->f->n_up_sub_ports
		       ? "a local sub-port has no usable address in its neighbour's subnet; out of "
			 "use"
		       : "no local sub-port has a usable address in its neighbour's subnet; "
			 "probes are answered all the same";
}

static const char *rule_some_crossed(const struct judgement *j)
{
	return j->f->probe.judged && j->f->probe.crossed
		       ? "crossed: what leaves by one of this plane's sub-ports is received over "
			 "another plane"
		       : NULL;
}

static const char *rule_shared(const struct judgement *j)
{
	return j->f->sub_port_address == ADDRESS_SHARED
		       ? "a sub-port is in one subnet with another plane's: these planes are not "
			 "separate"
		       : NULL;
}

/* Reasons are static text, so each sub-port has its own. */
static const char *rule_gray(const struct judgement *j)
{
	static const char *const local[FARE_MAX_SUB_PORTS] = {
		"local sub-port 0 loses probes and is out of use; the others are not affected",
		"local sub-port 1 loses probes and is out of use; the others are not affected",
		"local sub-port 2 loses probes and is out of use; the others are not affected",
		"local sub-port 3 loses probes and is out of use; the others are not affected",
		"local sub-port 4 loses probes and is out of use; the others are not affected",
		"local sub-port 5 loses probes and is out of use; the others are not affected",
		"local sub-port 6 loses probes and is out of use; the others are not affected",
		"local sub-port 7 loses probes and is out of use; the others are not affected",
	};
	static const char *const remote[FARE_MAX_SUB_PORTS] = {
		"the peer's sub-port 0 loses probes; counted without it",
		"the peer's sub-port 1 loses probes; counted without it",
		"the peer's sub-port 2 loses probes; counted without it",
		"the peer's sub-port 3 loses probes; counted without it",
		"the peer's sub-port 4 loses probes; counted without it",
		"the peer's sub-port 5 loses probes; counted without it",
		"the peer's sub-port 6 loses probes; counted without it",
		"the peer's sub-port 7 loses probes; counted without it",
	};
	const struct path_probe *p = &j->f->probe;

	if (!p->judged)
		return NULL;
	if (p->returning_local)
		return "a local sub-port has carrier again and is used once a probe out of it is "
		       "answered";
	if (p->gray_local)
		return local[__builtin_ctz(p->gray_local)];
	return p->gray_remote ? remote[__builtin_ctz(p->gray_remote)] : NULL;
}

static const char *rule_small(const struct judgement *j)
{
	static const char *const local[FARE_MAX_SUB_PORTS] = {
		"path MTU: local sub-port 0 passes smaller packets than the others; out of use",
		"path MTU: local sub-port 1 passes smaller packets than the others; out of use",
		"path MTU: local sub-port 2 passes smaller packets than the others; out of use",
		"path MTU: local sub-port 3 passes smaller packets than the others; out of use",
		"path MTU: local sub-port 4 passes smaller packets than the others; out of use",
		"path MTU: local sub-port 5 passes smaller packets than the others; out of use",
		"path MTU: local sub-port 6 passes smaller packets than the others; out of use",
		"path MTU: local sub-port 7 passes smaller packets than the others; out of use",
	};
	static const char *const remote[FARE_MAX_SUB_PORTS] = {
		"path MTU: the peer's sub-port 0 takes smaller packets than the others; counted "
		"without it",
		"path MTU: the peer's sub-port 1 takes smaller packets than the others; counted "
		"without it",
		"path MTU: the peer's sub-port 2 takes smaller packets than the others; counted "
		"without it",
		"path MTU: the peer's sub-port 3 takes smaller packets than the others; counted "
		"without it",
		"path MTU: the peer's sub-port 4 takes smaller packets than the others; counted "
		"without it",
		"path MTU: the peer's sub-port 5 takes smaller packets than the others; counted "
		"without it",
		"path MTU: the peer's sub-port 6 takes smaller packets than the others; counted "
		"without it",
		"path MTU: the peer's sub-port 7 takes smaller packets than the others; counted "
		"without it",
	};
	const struct path_probe *p = &j->f->probe;

	if (!p->judged)
		return NULL;
	if (p->small_local)
		return local[__builtin_ctz(p->small_local)];
	return p->small_remote ? remote[__builtin_ctz(p->small_remote)] : NULL;
}

static const char *rule_small_everywhere(const struct judgement *j)
{
	const struct path_probe *p = &j->f->probe;

	return p->judged && p->mtu_carried < p->mtu_wanted
		       ? "path MTU: no plane to this peer carries packets as large as this server "
			 "sends; all are in use with smaller ones"
		       : NULL;
}

static const char *rule_sub_port_drained(const struct judgement *j)
{
	return j->f->has_drained_sub_ports
		       ? "an operator drained a local sub-port; counted without it"
		       : NULL;
}

static const char *rule_sub_port_down(const struct judgement *j)
{
	return j->f->n_up_sub_ports < j->f->n_sub_ports
		       ? "a local sub-port has no carrier; counted without it"
		       : NULL;
}

/* FRR's pre-policy BMP has nothing where bgpd keeps no copy of what came in. */
static const char *rule_relative_in_sync(const struct judgement *j)
{
	const struct path_source_view *bmp = &j->f->sources[PATH_SOURCE_BMP];

	return j->route_source == PATH_FROM_ZSERV && bmp->state == BGP_SOURCE_UP
		       ? "BMP shows no peer, and zebra has installed some: local bandwidth shared "
			 "out by zebra's relative weights"
		       : NULL;
}

static const char *rule_relative(const struct judgement *j)
{
	return j->route_source == PATH_FROM_ZSERV
		       ? "BMP is away: local bandwidth shared out by zebra's relative weights"
		       : NULL;
}

/*
 * BMP shows no bandwidth, and zebra weighs this path all the same: BMP (FRR 8.4) leaves
 * non-transitive Link Bandwidth communities out, by which bgpd has shared traffic out. Where none
 * is advertised at all, zebra's weights are equal.
 */
static bool is_weighed_by_zebra_alone(const struct judgement *j)
{
	const struct path_facts *f = j->f;
	const struct path_received *z = &f->received[PATH_SOURCE_ZSERV];

	return j->route_source == PATH_FROM_BMP &&
	       f->received[PATH_SOURCE_BMP].kind == BGP_BANDWIDTH_ABSENT &&
	       f->sources[PATH_SOURCE_ZSERV].state == BGP_SOURCE_UP && z->known && z->reachable &&
	       !z->stale && z->kind == BGP_BANDWIDTH_VALUE && z->bps < f->largest_weight;
}

static const char *rule_weighed(const struct judgement *j)
{
	return is_weighed_by_zebra_alone(j) ? "BMP shows no bandwidth, and zebra weighs the "
					      "planes: local bandwidth shared "
					      "out by its relative weights"
					    : NULL;
}

static const char *rule_not_advertised(const struct judgement *j)
{
	switch (j->f->received[PATH_SOURCE_BMP].kind) {
	case BGP_BANDWIDTH_ABSENT:
		return "no bandwidth advertised: the local bandwidth counts";
	case BGP_BANDWIDTH_INVALID:
		return "the advertised bandwidth is invalid (no number, or cut to 32 bits by FRR): "
		       "the local bandwidth counts";
	case BGP_BANDWIDTH_VALUE:
		break;
	}
	return NULL;
}

static const char *rule_noticed(const struct judgement *j)
{
	const struct path_facts *f = j->f;

	return (double)f->noticed_bps < f->received[PATH_SOURCE_BMP].bps &&
			       f->noticed_bps < f->local_bps
		       ? "the peer says that its own ports carry less than BGP advertises"
		       : NULL;
}

static const char *rule_advertised_less(const struct judgement *j)
{
	return j->f->received[PATH_SOURCE_BMP].bps < (double)j->f->local_bps
		       ? "BGP advertises less than the local links carry"
		       : NULL;
}

static const char *rule_ok(const struct judgement *j)
{
	(void)j;
	return "no limit beyond the local links";
}

/*
 * The rules, first that applies. What an operator wants comes before what the hardware can; what is
 * certain (our own carrier) before what others say; what takes a path away before what merely
 * qualifies it.
 */
static const struct rule {
	enum fare_verdict verdict;
	bool usable;
	const char *(*applies)(const struct judgement *j); /* the reason, or NULL */
	const char *look_next;
} rules[] = {
	{FARE_VERDICT_DRAINED, false, rule_drained,
	 "farectl undrain, when the work on that plane is done"},
	{FARE_VERDICT_LOCAL_DOWN, false, rule_local_down,
	 "the cables between this server and the leaf, at both ends, and the leaf itself: farectl "
	 "show planes; ip -br link; speed_mbps in fared.yaml"},
	{FARE_VERDICT_LOCAL_DOWN, false, rule_own_address,
	 "ip -br address: the GPU's address of fared.yaml belongs on lo, or on another device that "
	 "is always up"},
	{FARE_VERDICT_LOCAL_DOWN, false, rule_sub_port_address,
	 "ip -br address, and the device and neighbors of that plane in fared.yaml: have two ports "
	 "exchanged their names?"},
	{FARE_VERDICT_NO_ROUTE, false, rule_no_route,
	 "vtysh -c 'show bgp summary' and the peer's prefix in 'show bgp'; then the leaf and the "
	 "peer's cables"},
	{FARE_VERDICT_ZERO_BANDWIDTH, false, rule_zero_bandwidth,
	 "the leaf of that plane: which of the peer's sub-ports does it see up? its link-bandwidth "
	 "route-map"},
	{FARE_VERDICT_NOT_INSTALLED, false, rule_routed_elsewhere,
	 "ip route get PEER, and vtysh -c 'show ip route PEER': who else advertises it (a "
	 "management network?); filter the peers' prefixes there"},
	{FARE_VERDICT_NOT_INSTALLED, false, rule_not_multipath,
	 "vtysh -c 'show bgp PEER': 'bgp bestpath as-path multipath-relax' and 'maximum-paths' in "
	 "bgpd; is the next hop of that plane active in 'show ip route PEER'?"},
	{FARE_VERDICT_NOT_INSTALLED, false, rule_not_installed,
	 "is zebra running? vtysh -c 'show ip route PEER': is the next hop of that plane there and "
	 "active?"},
	{FARE_VERDICT_ZERO_BANDWIDTH, false, rule_peer_down,
	 "the peer's own cables and ports toward the plane: farectl show planes, and show drains, "
	 "on "
	 "that server"},
	{FARE_VERDICT_PROBE_DOWN, false, rule_crossed,
	 "which device is which plane in fared.yaml, here and on the peer; then the cables: "
	 "farectl "
	 "why PEER says over which plane they arrive"},
	{FARE_VERDICT_PROBE_DOWN, false, rule_probe_down,
	 "the leaf of that plane, then the peer's ports toward it; farectl show paths tells loss "
	 "and "
	 "round-trip time, farectl show events what came before"},
	{FARE_VERDICT_MTU, false, rule_mtu,
	 "the MTU of the ports in between: ip link, here and on the peer; both sides of the leaf's "
	 "ports of that plane, and what is beyond the leaf; farectl why says what was found"},
	{FARE_VERDICT_RAMPING, true, rule_ramping, "nothing: it ends by itself"},
	{FARE_VERDICT_STALE, true, rule_stale_without_peers,
	 "bgpd: 'neighbor ... soft-reconfiguration inbound' in the address family; "
	 "bgp.peer_prefixes in fared.yaml: are the peers' addresses inside?"},
	{FARE_VERDICT_STALE, true, rule_stale,
	 "is bgpd running, and its 'bmp listener' reachable? farectl show planes names the "
	 "sources' state"},
	{FARE_VERDICT_OK, true, rule_tiny,
	 "bgp.bandwidth_scale in fared.yaml: where leaves send their number of links, it is the "
	 "Mb/s of a sub-port"},
	{FARE_VERDICT_OK, true, rule_some_misaddressed,
	 "ip -br address, and the neighbors of that sub-port in fared.yaml"},
	{FARE_VERDICT_OK, true, rule_some_crossed,
	 "that sub-port's cable, at both ends: farectl why PEER says which one and over which "
	 "plane"},
	{FARE_VERDICT_OK, true, rule_gray,
	 "that sub-port's cable and transceivers, at both ends; it comes back by itself once "
	 "probes "
	 "pass on it"},
	{FARE_VERDICT_OK, true, rule_small,
	 "the MTU of that sub-port's device (ip link) and of the leaf's port that it is connected "
	 "to; "
	 "it comes back by itself once probes of full size pass on it"},
	{FARE_VERDICT_OK, true, rule_small_everywhere,
	 "the peer's MTU (ip link, there) and the leaves'; groups that are opened from now on use "
	 "what is carried"},
	{FARE_VERDICT_OK, true, rule_shared,
	 "ip -br address: give each plane subnets of its own, and no bridge in common"},
	{FARE_VERDICT_OK, true, rule_sub_port_drained,
	 "farectl undrain, when the work on that sub-port is done"},
	{FARE_VERDICT_OK, true, rule_sub_port_down,
	 "that sub-port's cable and port: farectl show planes; ip -br link"},
	{FARE_VERDICT_OK, true, rule_relative_in_sync,
	 "bgpd: 'neighbor ... soft-reconfiguration inbound' in the address family, and 'bmp "
	 "monitor ... pre-policy'; bgp.peer_prefixes in fared.yaml"},
	{FARE_VERDICT_OK, true, rule_relative,
	 "is bgpd running, and its 'bmp listener' reachable? farectl show planes names the "
	 "sources' state"},
	{FARE_VERDICT_OK, true, rule_weighed,
	 "what the leaf of that plane sends: BMP (FRR 8.4) leaves out a Link Bandwidth that is "
	 "non-transitive; have it send a transitive one, which has the bandwidth itself"},
	{FARE_VERDICT_OK, true, rule_not_advertised,
	 "the leaf of that plane: its link-bandwidth route-map; is what it sends transitive?"},
	{FARE_VERDICT_OK, true, rule_noticed,
	 "the peer's own cables and ports toward the plane: farectl show planes, on that server"},
	{FARE_VERDICT_OK, true, rule_advertised_less,
	 "nothing, if the peer's ports are slower than these; else its cables and ports toward the "
	 "plane: farectl show planes, on that server"},
	{FARE_VERDICT_OK, true, rule_ok, "nothing: the path is in use"},
};

bool path_rules_is(const struct path_result *result, enum path_rule_kind kind)
{
	const char *(*applies)(const struct judgement *j) =
		result->rule ? rules[result->rule - 1].applies : NULL;

	switch (kind) {
	case PATH_RULE_WHOLE:
		return applies == rule_ok;
	case PATH_RULE_PROBES:
		return applies == rule_probe_down;
	case PATH_RULE_BMP_AWAY:
		return applies == rule_stale || applies == rule_relative ||
		       applies == rule_stale_without_peers || applies == rule_relative_in_sync;
	}
	return false;
}

static uint64_t smaller(uint64_t local_bps, double other)
{
	return other >= (double)local_bps ? local_bps : (uint64_t)llround(other);
}

/* The part of what is advertised that the peer's sub-ports carry which lose nothing. */
static double far_part(const struct path_facts *f)
{
	int n = f->probe.n_remote,
	    out = __builtin_popcount(f->probe.gray_remote | f->probe.small_remote);

	return f->probe.judged && n && out < n ? (double)(n - out) / n : 1.;
}

/* The local bandwidth x zebra's weight / the largest of this peer's. */
static uint64_t weighed_bps(const struct path_facts *f)
{
	const struct path_received *z = &f->received[PATH_SOURCE_ZSERV];
	double share;

	if (z->kind != BGP_BANDWIDTH_VALUE || f->largest_weight <= 0)
		return f->local_bps;
	share = far_part(f) * (double)f->local_bps * (z->bps / f->largest_weight);
	return share < 1 ? 1 : smaller(f->local_bps, share);
}

static uint64_t accepted_bps(const struct judgement *j)
{
	const struct path_facts *f = j->f;
	const struct path_received *b = &f->received[PATH_SOURCE_BMP];

	switch (j->route_source) {
	case PATH_FROM_BMP:
		if (is_weighed_by_zebra_alone(j))
			return weighed_bps(f);
		return smaller(f->local_bps, far_part(f) * (b->kind == BGP_BANDWIDTH_VALUE
								    ? b->bps
								    : (double)f->local_bps));
	case PATH_FROM_ADOPTED:
		return smaller(f->local_bps, far_part(f) * (double)f->adopted_bps);
	case PATH_FROM_ZSERV:
		return weighed_bps(f);
	case PATH_FROM_NONE:
		break;
	}
	return 0;
}

/* Notices and probes only ever lower it. What is usable is never 0: that would read "ok". */
static uint64_t usable_bps(const struct judgement *j)
{
	const struct path_facts *f = j->f;
	uint64_t bps = accepted_bps(j);

	if (f->noticed_bps < bps)
		bps = f->noticed_bps;
	if (f->probe.judged && f->probe.permille < 1000)
		bps = bps / 1000 * f->probe.permille;
	return bps ? bps : 1;
}

void path_rules_apply(const struct path_facts *facts, struct path_result *out)
{
	const struct path_facts *f = facts;
	struct judgement j = {.f = facts};
	const char *reason = NULL;
	uint32_t i;

	find_route_source(&j);
	for (i = 0; !reason; i++) /* the last rule always applies */
		reason = rules[i].applies(&j);
	i--;
	if (f->noticed_bps != UINT64_MAX)
		sooner(&j.deadline_ns, f->notice_expires_ns);
	*out = (struct path_result){
		.verdict = rules[i].verdict,
		.rule = i + 1,
		.reason = reason,
		.look_next = rules[i].look_next,
		.route_source = j.route_source,
		.normalised = j.route_source == PATH_FROM_ZSERV || is_weighed_by_zebra_alone(&j),
		.usable_bps = rules[i].usable ? usable_bps(&j) : 0,
		.deadline_ns = j.deadline_ns,
		.routed = j.route_source != PATH_FROM_NONE && f->n_live_sub_ports && f->local_bps,
		.noticed = f->noticed_bps != UINT64_MAX,
	};
}
