/* SPDX-License-Identifier: BSD-2-Clause */
#include "path_rules.h"

#include <math.h>
#include <stddef.h>

#include "path_route.h"

/* What the rules look at: the facts, and which source's route is in force. */
struct judgement {
	const struct path_facts *f;
	struct path_route route;
};

static bool is_silent(const struct path_facts *f)
{
	return f->probe.judged && f->probe.silent;
}

/* BMP's route is in force, and has a bandwidth. */
static bool has_bandwidth(const struct judgement *j)
{
	return j->route.source == PATH_FROM_BMP &&
	       j->f->received[PATH_SOURCE_BMP].kind == BGP_BANDWIDTH_VALUE;
}

static double advertised_bps(const struct judgement *j)
{
	return j->f->received[PATH_SOURCE_BMP].bps;
}

static bool is_bmp_up(const struct judgement *j)
{
	return j->f->sources[PATH_SOURCE_BMP].state == BGP_SOURCE_UP;
}

/* ---- whether a rule applies that has one reason -------------------------- */

static bool is_unshown(const struct judgement *j)
{
	return j->route.source == PATH_FROM_NONE && j->route.unshown;
}

/* Less than one bit per second is nothing: usable_bps is an integer, and 0 must never read "ok". */
static bool is_zero(const struct judgement *j)
{
	return has_bandwidth(j) && advertised_bps(j) < 1;
}

/* Another route is preferred. Probes are asked as well: that one may lead to the peer, too. */
static bool is_routed_elsewhere(const struct judgement *j)
{
	return j->f->kernel_route == PATH_KERNEL_ELSEWHERE && is_silent(j->f);
}

static bool is_not_multipath(const struct judgement *j)
{
	return j->route.uninstalled && j->f->installed_elsewhere;
}

static bool is_peer_down(const struct judgement *j)
{
	return j->f->noticed_bps == 0;
}

/* Of some sub-ports alone: until the others are silent, too. */
static bool is_crossed(const struct judgement *j)
{
	const struct path_probe *probe = &j->f->probe;
	uint32_t n_crossed = (uint32_t)__builtin_popcount(probe->crossed);

	return probe->judged && n_crossed && !probe->answered &&
	       (probe->silent || n_crossed >= j->f->n_up_sub_ports);
}

static bool is_small(const struct judgement *j)
{
	return j->f->probe.judged && j->f->probe.mtu_is_small;
}

/* Nothing comes back over any plane, or never has: that takes nothing away, and is a fault. */
static bool is_unanswered(const struct judgement *j)
{
	return is_silent(j->f);
}

/* None carries less than a hundredth of what ours do: a number of links. */
static bool is_tiny(const struct judgement *j)
{
	return has_bandwidth(j) && advertised_bps(j) * 100 < (double)j->f->local_bps;
}

static bool is_partly_crossed(const struct judgement *j)
{
	return j->f->probe.judged && j->f->probe.crossed;
}

static bool is_small_everywhere(const struct judgement *j)
{
	const struct path_probe *p = &j->f->probe;

	return p->judged && p->mtu_carried < p->mtu_wanted;
}

static bool is_shared(const struct judgement *j)
{
	return j->f->sub_port_address == ADDRESS_SHARED;
}

static bool is_partly_drained(const struct judgement *j)
{
	return j->f->has_drained_sub_ports;
}

static bool is_partly_down(const struct judgement *j)
{
	return j->f->n_up_sub_ports < j->f->n_sub_ports;
}

/* FRR's pre-policy BMP has nothing where bgpd keeps no copy of what came in. */
static bool is_relative_in_sync(const struct judgement *j)
{
	return j->route.source == PATH_FROM_ZSERV && is_bmp_up(j);
}

static bool is_relative(const struct judgement *j)
{
	return j->route.source == PATH_FROM_ZSERV;
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

	return j->route.source == PATH_FROM_BMP &&
	       f->received[PATH_SOURCE_BMP].kind == BGP_BANDWIDTH_ABSENT &&
	       f->sources[PATH_SOURCE_ZSERV].state == BGP_SOURCE_UP && z->known && z->reachable &&
	       !z->stale && z->kind == BGP_BANDWIDTH_VALUE && z->bps < f->largest_weight;
}

static bool is_noticed(const struct judgement *j)
{
	return (double)j->f->noticed_bps < advertised_bps(j) && j->f->noticed_bps < j->f->local_bps;
}

static bool is_advertised_less(const struct judgement *j)
{
	return advertised_bps(j) < (double)j->f->local_bps;
}

static bool is_whole(const struct judgement *j)
{
	(void)j;
	return true;
}

/* ---- which of several reasons applies, or NULL --------------------------- */

static const char *why_drained(const struct judgement *j)
{
	const struct path_facts *f = j->f;

	if (f->drained)
		return "an operator drained it";
	if (f->has_drained_sub_ports && !f->n_live_sub_ports && f->n_up_sub_ports)
		return "an operator drained the only local sub-ports with carrier";
	return NULL;
}

static const char *why_local_down(const struct judgement *j)
{
	if (j->f->n_sub_ports == 0)
		return "this server is not connected to this plane (fared.yaml)";
	if (j->f->n_live_sub_ports == 0)
		return "no local sub-port toward this plane has carrier";
	if (j->f->local_bps == 0)
		return "sub-ports have carrier, but neither driver nor configuration has a speed";
	return NULL;
}

static const char *why_own_address(const struct judgement *j)
{
	static const char *const reasons[] = {
		[ADDRESS_MISSING] = "this GPU's own address is on no device of this server",
		[ADDRESS_DUPLICATE] = "this GPU's own address is another host's as well: duplicate "
				      "address detection failed",
		[ADDRESS_TENTATIVE] = "this GPU's own address is tentative: duplicate address "
				      "detection has not ended",
	};

	return path_route_is_answered(j->f) ? NULL : reasons[j->f->own_address];
}

static const char *why_sub_port_address(const struct judgement *j)
{
	static const char *const reasons[] = {
		[ADDRESS_MISSING] =
			"no live sub-port of this plane has an address of its neighbour's family",
		[ADDRESS_DUPLICATE] = "the addresses of this plane's sub-ports are other hosts' as "
				      "well: duplicate address detection failed",
		[ADDRESS_TENTATIVE] = "the addresses of this plane's sub-ports are tentative: "
				      "duplicate address detection has not ended",
		[ADDRESS_OFF_SUBNET] =
			"no live sub-port of this plane has an address in its neighbour's subnet",
	};

	if (!j->f->n_misaddressed || j->f->n_misaddressed < j->f->n_undrained_up ||
	    path_route_is_answered(j->f))
		return NULL;
	return reasons[j->f->sub_port_address];
}

static const char *why_no_route(const struct judgement *j)
{
	return j->route.source == PATH_FROM_NONE ? j->route.none : NULL;
}

/* FRR that ends takes its routes along, while BMP and zebra are away and say nothing. */
static const char *why_not_installed(const struct judgement *j)
{
	if (j->f->kernel_route == PATH_KERNEL_NONE && is_silent(j->f))
		return "the kernel has no route to the peer over this plane, and probes are not "
		       "answered";
	return j->route.uninstalled
		       ? "BMP advertises it, but zebra has not installed it over this plane"
		       : NULL;
}

static const char *why_probe_down(const struct judgement *j)
{
	return j->f->probe.judged && j->f->probe.permille == 0 ? j->f->probe.reason : NULL;
}

static const char *why_ramping(const struct judgement *j)
{
	return j->f->probe.judged && j->f->probe.permille < 1000 ? j->f->probe.reason : NULL;
}

/* In sync, and with nothing of any peer. */
static const char *why_stale_without_peers(const struct judgement *j)
{
	return is_bmp_up(j) && !j->f->sources[PATH_SOURCE_BMP].has_advertised ? j->route.stale
									      : NULL;
}

static const char *why_stale(const struct judgement *j)
{
	return j->route.stale;
}

static const char *why_misaddressed(const struct judgement *j)
{
	if (!j->f->n_misaddressed)
		return NULL;
	return j->f->n_misaddressed < j->f->n_undrained_up
		       ? "a local sub-port has no usable address in its neighbour's subnet; out of "
			 "use"
		       : "no local sub-port has a usable address in its neighbour's subnet; "
			 "probes are answered all the same";
}

/* Reasons are static text, so each sub-port has its own. */
#define EACH_SUB_PORT(before, after)                                                               \
	{                                                                                          \
		before " 0 " after, before " 1 " after, before " 2 " after, before " 3 " after,    \
			before " 4 " after, before " 5 " after, before " 6 " after,                \
			before " 7 " after,                                                        \
	}

/* Of the first sub-port of those, or NULL. */
static const char *of_first(uint32_t mask, const char *const reasons[FARE_MAX_SUB_PORTS])
{
	return mask ? reasons[__builtin_ctz(mask)] : NULL;
}

static const char *why_gray(const struct judgement *j)
{
	static const char *const local[FARE_MAX_SUB_PORTS] = EACH_SUB_PORT(
		"local sub-port", "loses probes and is out of use; the others are not affected");
	static const char *const remote[FARE_MAX_SUB_PORTS] =
		EACH_SUB_PORT("the peer's sub-port", "loses probes; counted without it");
	const struct path_probe *p = &j->f->probe;

	if (!p->judged)
		return NULL;
	if (p->returning_local)
		return "a local sub-port has carrier again and is used once a probe out of it is "
		       "answered";
	return p->gray_local ? of_first(p->gray_local, local) : of_first(p->gray_remote, remote);
}

static const char *why_partly_small(const struct judgement *j)
{
	static const char *const local[FARE_MAX_SUB_PORTS] = EACH_SUB_PORT(
		"path MTU: local sub-port", "passes smaller packets than the others; out of use");
	static const char *const remote[FARE_MAX_SUB_PORTS] =
		EACH_SUB_PORT("path MTU: the peer's sub-port",
			      "takes smaller packets than the others; counted without it");
	const struct path_probe *p = &j->f->probe;

	if (!p->judged)
		return NULL;
	return p->small_local ? of_first(p->small_local, local) : of_first(p->small_remote, remote);
}

static const char *why_not_advertised(const struct judgement *j)
{
	static const char *const reasons[] = {
		[BGP_BANDWIDTH_ABSENT] = "no bandwidth advertised: the local bandwidth counts",
		[BGP_BANDWIDTH_INVALID] = "the advertised bandwidth is invalid (no number, or cut "
					  "to 32 bits by FRR): the local bandwidth counts",
		[BGP_BANDWIDTH_VALUE] = NULL,
	};

	return reasons[j->f->received[PATH_SOURCE_BMP].kind];
}

/*
 * The rules, first that applies. What an operator wants comes before what the hardware can; what is
 * certain (our own carrier) before what others say; what takes a path away before what merely
 * qualifies it.
 */
static const struct rule {
	enum fare_verdict verdict;
	bool usable;
	bool (*applies)(const struct judgement *j);
	const char *reason;
	const char *(*why)(const struct judgement *j); /* in the place of both */
	const char *look_next;
	enum path_rule_kind kind;
} rules[] = {
	/* the operator */
	{FARE_VERDICT_DRAINED, false, .why = why_drained,
	 .look_next = "farectl undrain, when the work on that plane is done"},
	/* rtnetlink: carrier and speed */
	{FARE_VERDICT_LOCAL_DOWN, false, .why = why_local_down,
	 .look_next = "the cables between this server and the leaf, at both ends, and the leaf "
		      "itself: farectl show planes; ip -br link; speed_mbps in fared.yaml"},
	/* rtnetlink: own addresses */
	{FARE_VERDICT_LOCAL_DOWN, false, .why = why_own_address,
	 .look_next = "ip -br address: the GPU's address of fared.yaml belongs on lo, or on "
		      "another device that is always up"},
	{FARE_VERDICT_LOCAL_DOWN, false, .why = why_sub_port_address,
	 .look_next = "ip -br address, and the device and neighbors of that plane in fared.yaml: "
		      "have two ports exchanged their names?"},
	/* BMP, and zebra where BMP is away */
	{FARE_VERDICT_NO_ROUTE, false, .applies = is_unshown,
	 .reason = "BMP does not show it, and zebra has it installed: bgpd has left it out of what "
		   "it sends",
	 .look_next = "vtysh -c 'show bgp PEER': is it of a session that is up? then restart "
		      "fared, to which bgpd sends its whole table"},
	{FARE_VERDICT_NO_ROUTE, false, .why = why_no_route,
	 .look_next = "vtysh -c 'show bgp summary' and the peer's prefix in 'show bgp'; then the "
		      "leaf and the peer's cables"},
	{FARE_VERDICT_ZERO_BANDWIDTH, false, .applies = is_zero,
	 .reason = "the advertised bandwidth is zero",
	 .look_next = "the leaf of that plane: which of the peer's sub-ports does it see up? its "
		      "link-bandwidth route-map"},
	/* the kernel's route, and zebra */
	{FARE_VERDICT_NOT_INSTALLED, false, .applies = is_routed_elsewhere,
	 .reason = "the kernel's route to the peer leads out of no sub-port of this plane, and "
		   "probes are not answered",
	 .look_next = "ip route get PEER, and vtysh -c 'show ip route PEER': who else advertises "
		      "it (a management network?); filter the peers' prefixes there"},
	{FARE_VERDICT_NOT_INSTALLED, false, .applies = is_not_multipath,
	 .reason = "BMP advertises it, and zebra has installed other planes to this peer but not "
		   "this one",
	 .look_next = "vtysh -c 'show bgp PEER': 'bgp bestpath as-path multipath-relax' and "
		      "'maximum-paths' in bgpd; is the next hop of that plane active in 'show ip "
		      "route PEER'?"},
	{FARE_VERDICT_NOT_INSTALLED, false, .why = why_not_installed,
	 .look_next = "is zebra running? vtysh -c 'show ip route PEER': is the next hop of that "
		      "plane there and active?"},
	/* the peer's notice */
	{FARE_VERDICT_ZERO_BANDWIDTH, false, .applies = is_peer_down,
	 .reason = "the peer says that its own ports toward this plane are down or drained",
	 .look_next = "the peer's own cables and ports toward the plane: farectl show planes, and "
		      "show drains, on that server"},
	/* probes */
	{FARE_VERDICT_PROBE_DOWN, false, .applies = is_crossed,
	 .reason = "crossed: what leaves by this plane is received over another one",
	 .look_next = "which device is which plane in fared.yaml, here and on the peer; then the "
		      "cables: farectl why PEER says over which plane they arrive"},
	{FARE_VERDICT_PROBE_DOWN, false, .why = why_probe_down,
	 .look_next = "the leaf of that plane, then the peer's ports toward it; farectl show paths "
		      "tells loss and round-trip time, farectl show events what came before",
	 .kind = PATH_RULE_PROBES},
	{FARE_VERDICT_MTU, false, .applies = is_small,
	 .reason = "path MTU: probes of full size are lost and short ones pass; other planes carry "
		   "larger packets",
	 .look_next = "the MTU of the ports in between: ip link, here and on the peer; both sides "
		      "of the leaf's ports of that plane, and what is beyond the leaf; farectl why "
		      "says what was found"},
	{FARE_VERDICT_RAMPING, true, .why = why_ramping, .look_next = "nothing: it ends by itself"},
	/* usable: how old the route is */
	{FARE_VERDICT_STALE, true, .why = why_stale_without_peers,
	 .look_next = "bgpd: 'neighbor ... soft-reconfiguration inbound' in the address family; "
		      "bgp.peer_prefixes in fared.yaml: are the peers' addresses inside?",
	 .kind = PATH_RULE_BMP_AWAY},
	{FARE_VERDICT_STALE, true, .why = why_stale,
	 .look_next = "is bgpd running, and its 'bmp listener' reachable? farectl show planes "
		      "names the sources' state",
	 .kind = PATH_RULE_BMP_AWAY},
	/* usable: what limits it */
	{FARE_VERDICT_OK, true, .applies = is_unanswered,
	 .reason = "the peer answers probes over no plane: BGP alone says that the path works",
	 .look_next = "fared on the peer: does it run, and is health.enabled? systemctl status "
		      "fared, and farectl show planes, on that server"},
	{FARE_VERDICT_OK, true, .applies = is_tiny,
	 .reason = "the advertised bandwidth is under 1% of the local links: is it a number of "
		   "links?",
	 .look_next = "bgp.bandwidth_scale in fared.yaml: where leaves send their number of links, "
		      "it is the Mb/s of a sub-port"},
	{FARE_VERDICT_OK, true, .why = why_misaddressed,
	 .look_next = "ip -br address, and the neighbors of that sub-port in fared.yaml"},
	{FARE_VERDICT_OK, true, .applies = is_partly_crossed,
	 .reason = "crossed: what leaves by one of this plane's sub-ports is received over another "
		   "plane",
	 .look_next = "that sub-port's cable, at both ends: farectl why PEER says which one and "
		      "over which plane"},
	{FARE_VERDICT_OK, true, .why = why_gray,
	 .look_next = "that sub-port's cable and transceivers, at both ends; it comes back by "
		      "itself once probes pass on it"},
	{FARE_VERDICT_OK, true, .why = why_partly_small,
	 .look_next =
		 "the MTU of that sub-port's device (ip link) and of the leaf's port that it is "
		 "connected to; it comes back by itself once probes of full size pass on it"},
	{FARE_VERDICT_OK, true, .applies = is_small_everywhere,
	 .reason = "path MTU: no plane to this peer carries packets as large as this server sends; "
		   "all are in use with smaller ones",
	 .look_next = "the peer's MTU (ip link, there) and the leaves'; groups that are opened "
		      "from now on use what is carried"},
	{FARE_VERDICT_OK, true, .applies = is_shared,
	 .reason =
		 "a sub-port is in one subnet with another plane's: these planes are not separate",
	 .look_next =
		 "ip -br address: give each plane subnets of its own, and no bridge in common"},
	{FARE_VERDICT_OK, true, .applies = is_partly_drained,
	 .reason = "an operator drained a local sub-port; counted without it",
	 .look_next = "farectl undrain, when the work on that sub-port is done"},
	{FARE_VERDICT_OK, true, .applies = is_partly_down,
	 .reason = "a local sub-port has no carrier; counted without it",
	 .look_next = "that sub-port's cable and port: farectl show planes; ip -br link"},
	{FARE_VERDICT_OK, true, .applies = is_relative_in_sync,
	 .reason = "BMP shows no peer, and zebra has installed some: local bandwidth shared out by "
		   "zebra's relative weights",
	 .look_next = "bgpd: 'neighbor ... soft-reconfiguration inbound' in the address family, "
		      "and 'bmp monitor ... pre-policy'; bgp.peer_prefixes in fared.yaml",
	 .kind = PATH_RULE_BMP_AWAY},
	{FARE_VERDICT_OK, true, .applies = is_relative,
	 .reason = "BMP is away: local bandwidth shared out by zebra's relative weights",
	 .look_next = "is bgpd running, and its 'bmp listener' reachable? farectl show planes "
		      "names the sources' state",
	 .kind = PATH_RULE_BMP_AWAY},
	{FARE_VERDICT_OK, true, .applies = is_weighed_by_zebra_alone,
	 .reason = "BMP shows no bandwidth, and zebra weighs the planes: local bandwidth shared "
		   "out by its relative weights",
	 .look_next = "what the leaf of that plane sends: BMP (FRR 8.4) leaves out a Link "
		      "Bandwidth that is non-transitive; have it send a transitive one, which has "
		      "the bandwidth itself"},
	{FARE_VERDICT_OK, true, .why = why_not_advertised,
	 .look_next = "the leaf of that plane: its link-bandwidth route-map; is what it sends "
		      "transitive?"},
	{FARE_VERDICT_OK, true, .applies = is_noticed,
	 .reason = "the peer says that its own ports carry less than BGP advertises",
	 .look_next = "the peer's own cables and ports toward the plane: farectl show planes, on "
		      "that server"},
	{FARE_VERDICT_OK, true, .applies = is_advertised_less,
	 .reason = "BGP advertises less than the local links carry",
	 .look_next = "nothing, if the peer's ports are slower than these; else its cables and "
		      "ports toward the plane: farectl show planes, on that server"},
	{FARE_VERDICT_OK, true, .applies = is_whole, .reason = "no limit beyond the local links",
	 .look_next = "nothing: the path is in use", .kind = PATH_RULE_WHOLE},
};

bool path_rules_is(const struct path_result *result, enum path_rule_kind kind)
{
	return result->rule && rules[result->rule - 1].kind == kind;
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

	switch (j->route.source) {
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

	path_route_find(f, &j.route);
	for (i = 0; !reason; i++) /* the last rule always applies */
		if (rules[i].why)
			reason = rules[i].why(&j);
		else if (rules[i].applies(&j))
			reason = rules[i].reason;
	i--;
	if (f->noticed_bps != UINT64_MAX)
		path_route_sooner(&j.route.deadline_ns, f->notice_expires_ns);
	*out = (struct path_result){
		.verdict = rules[i].verdict,
		.rule = i + 1,
		.reason = reason,
		.look_next = rules[i].look_next,
		.route_source = j.route.source,
		.normalised = j.route.source == PATH_FROM_ZSERV || is_weighed_by_zebra_alone(&j),
		.usable_bps = rules[i].usable ? usable_bps(&j) : 0,
		.deadline_ns = j.route.deadline_ns,
		.routed = j.route.source != PATH_FROM_NONE && f->n_live_sub_ports && f->local_bps,
		.noticed = f->noticed_bps != UINT64_MAX,
	};
}
