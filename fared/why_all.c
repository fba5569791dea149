/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * why_all.c - see why.h: all that is wrong now, grouped by its cause
 *
 * Paths with one reason are one cause: of a plane, or, where all planes of a peer have it, of all
 * planes. What is wrong with a source or a BGP session explains paths, so their own causes are left
 * out then.
 */
#include "why.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addresses.h"
#include "base/address.h"
#include "bmp_source.h"
#include "config.h"
#include "notice_refusals.h"

#define CAUSES_MAX 64
#define ALL_PLANES UINT32_MAX

struct cause {
	char text[240], where[64], advice[320];
	const char *reason; /* of a path; NULL: of something else */
	uint32_t gpu, plane;
	uint32_t n_lost, n_less; /* paths that it takes, and that it lessens */
	uint32_t n_peers;
	bool is_probe_lost, is_carrier_lost;
	unsigned order; /* among those that take as much */
	char example[2 * ADDRESS_TEXT_MAX];
};

struct causes {
	const struct report *r;
	uint32_t n;
	bool is_cut;
	struct cause all[CAUSES_MAX + 1]; /* the last place: all that have none of their own */
	/* explains what is kept without BMP; NULL: it shows peers, or it is not known why not */
	struct cause *bmp;
	/* planes none of whose sessions is up, and which cause says so */
	struct cause *sessions[FARE_MAX_LOCAL_GPUS][FARE_MAX_PLANES];
	struct cause *absent[FARE_MAX_LOCAL_GPUS][FARE_MAX_PLANES]; /* a device of theirs is */
	/* peers that say that their own ports are down */
	uint32_t n_lost_there[FARE_MAX_LOCAL_GPUS][FARE_MAX_PLANES];
	uint32_t n_pairs[FARE_MAX_LOCAL_GPUS];
	uint32_t n_paths, n_usable;
	bool shows_peers; /* BMP, now */
};

__attribute__((format(printf, 3, 4))) static void put(char *out, size_t size, const char *format,
						      ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(out, size, format, ap);
	va_end(ap);
}

#define PUT(field, ...) put(field, sizeof(field), __VA_ARGS__)

static struct cause *add_cause(struct causes *c, unsigned order)
{
	struct cause *cause = &c->all[c->n];

	if (c->n < CAUSES_MAX)
		c->n++;
	else
		c->is_cut = true;
	cause->order = order;
	cause->plane = ALL_PLANES;
	return cause;
}

/* ---- sources --------------------------------------------------------------- */

static void add_bmp_down(struct causes *c, const struct path_source_view *bmp)
{
	struct cause *cause = add_cause(c, 1);
	const char *advice = "is bgpd running, with -M bmp, and 'bmp listener' where bgp.bmp_port "
			     "says? vtysh -c 'show bmp'";

	PUT(cause->text, "BMP is %s: %s", path_source_state_name(bmp->state), bmp->reason);
	PUT(cause->where, "bgpd at %s", c->r->config->bmp_text);
	if (strstr(bmp->reason, "bmp_user"))
		advice = "bgp.bmp_user in fared.yaml: the user that bgpd runs as (ps -C bgpd -o "
			 "user)";
	else if (strstr(bmp->reason, "says nothing"))
		advice = "is there a 'bmp targets' with that listener? vtysh -c 'show "
			 "running-config': bgpd may keep the port of one that was removed; restart "
			 "bgpd then";
	PUT(cause->advice, "%s", advice);
	c->bmp = cause;
}

static void add_sources(struct causes *c)
{
	const struct report *r = c->r;
	struct path_source_view view;
	struct cause *cause;

	path_table_source(r->table, PATH_SOURCE_BMP, &view);
	if (view.state != BGP_SOURCE_UP)
		add_bmp_down(c, &view);
	path_table_source(r->table, PATH_SOURCE_ZSERV, &view);
	if (view.configured && view.state == BGP_SOURCE_DOWN) {
		cause = add_cause(c, 3);
		PUT(cause->text, "zebra is away: %s", view.reason);
		PUT(cause->where, "%s", r->config->zserv_path);
		PUT(cause->advice, "%s",
		    strstr(view.reason, "denied")
			    ? "who may use the socket (ls -l, SELinux): the daemon's user has to"
			    : "is zebra running? which release, bgp.frr_version");
	}
	if (r->ports && r->ports->subject[0]) {
		cause = add_cause(c, 4);
		PUT(cause->text, "%s is %s", r->ports->subject, r->ports->reason);
		PUT(cause->where, "probes");
		PUT(cause->advice, "end that process, or move it to another port");
	}
}

static void add_refusals(struct causes *c)
{
	const struct report *r = c->r;
	struct cause *cause = NULL;
	char text[ADDRESS_TEXT_MAX];
	struct in6_addr peer;
	uint32_t gpu;

	for (uint32_t i = 0; r->refusals && i < path_table_end(r->table); i++) {
		if (!notice_refusals_are_refused(r->refusals, i, r->now_ns) ||
		    !path_table_pair(r->table, i, &gpu, &peer))
			continue;
		if (!cause) {
			cause = add_cause(c, 4);
			PUT(cause->example, "%s -> %s", r->config->gpus[gpu].name,
			    address_format(&peer, text));
		}
		cause->n_peers++;
	}
	if (!cause)
		return;
	PUT(cause->text,
	    "capacity notices of %u peer%s are refused: this server learns of lost "
	    "links from BGP alone",
	    cause->n_peers, cause->n_peers == 1 ? "" : "s");
	PUT(cause->where, "notices");
	PUT(cause->advice, "have all servers the same key (health.key_file)? farectl show events "
			   "-t peer");
}

static const char *prefix_text(const struct bgp_prefix *p, char out[64])
{
	char address[ADDRESS_TEXT_MAX];
	bool is_v4 = IN6_IS_ADDR_V4MAPPED(&p->address);

	snprintf(out, 64, "%s/%u", address_format(&p->address, address),
		 p->length - (is_v4 ? 96u : 0u));
	return out;
}

/* What the stream has shown instead of a peer; false: nothing. */
static bool seen_text(const struct report *r, enum bmp_seen_kind kind, char *text, size_t size,
		      const char **advice)
{
	static const struct {
		const char *what, *advice;
	} kinds[BMP_SEEN_COUNT] = {
		[BMP_SEEN_STRANGER] =
			{"bgpd's sessions are with other addresses than the "
			 "configured neighbors",
			 "neighbors in fared.yaml against vtysh -c 'show bgp summary'"},
		[BMP_SEEN_OUTSIDE] = {"host routes are outside bgp.peer_prefixes",
				      "bgp.peer_prefixes in fared.yaml: the addresses of peers"},
		[BMP_SEEN_NET] = {"routes to nets instead of hosts (a default route, an aggregate)",
				  "peers are host routes: have the leaves send each GPU's /32 or "
				  "/128, not an aggregate or a default route alone"},
		[BMP_SEEN_TOO_LONG] = {"routes of peers rejected: AS path longer than "
				       "bgp.max_as_path",
				       "bgp.max_as_path in fared.yaml: 2 for one tier of leaves"},
		[BMP_SEEN_NO_PATH] =
			{"routes of peers rejected: no AS path on a session of two ASes",
			 "the leaf's 'remote-as' and route-maps"},
		[BMP_SEEN_MALFORMED] = {"routes of peers rejected: malformed attributes",
					"fared's log says which attribute"},
	};
	const struct bmp_seen *seen = r->bmp ? bmp_source_seen(r->bmp) : NULL;
	char example[64], neighbor[BGP_NEIGHBOR_TEXT_MAX] = "";
	int by;

	if (!seen || !seen->kinds[kind].n)
		return false;
	by = seen->kinds[kind].neighbor;
	prefix_text(&seen->kinds[kind].example, example);
	if (by >= 0)
		bgp_neighbor_format(&r->config->bgp.neighbors[by], neighbor);
	put(text, size, "%s: %llu, the last %s%s%s", kinds[kind].what,
	    (unsigned long long)seen->kinds[kind].n, example, by >= 0 ? " from " : "", neighbor);
	*advice = kinds[kind].advice;
	return true;
}

/* BMP is in sync. Routes to nets, and of others, are of interest if there are none of peers. */
static void add_seen(struct causes *c)
{
	const char *advice;
	char text[240];

	for (enum bmp_seen_kind k = 0; k < BMP_SEEN_COUNT; k++) {
		struct cause *cause;

		if (k <= BMP_SEEN_NET && c->shows_peers)
			continue;
		if (!seen_text(c->r, k, text, sizeof(text), &advice))
			continue;
		cause = add_cause(c, 2);
		PUT(cause->text, "%s%s", k <= BMP_SEEN_NET ? "BMP shows no peer; " : "", text);
		PUT(cause->where, "BGP");
		PUT(cause->advice, "%s", advice);
		if (!c->shows_peers)
			c->bmp = cause; /* a rejected route rather than a foreign one */
	}
}

void why_all_missing(const struct report *r, char *out, size_t size)
{
	struct path_source_view bmp;
	const char *advice;
	char text[240];

	*out = '\0';
	path_table_source(r->table, PATH_SOURCE_BMP, &bmp);
	if (bmp.state != BGP_SOURCE_UP) {
		put(out, size, "BMP is %s (%s): farectl why", path_source_state_name(bmp.state),
		    bmp.reason);
		return;
	}
	for (enum bmp_seen_kind k = BMP_SEEN_COUNT; k-- > 0 && !*out;)
		if (seen_text(r, k, text, sizeof(text), &advice))
			put(out, size, "%s", text);
}

/* ---- sessions ------------------------------------------------------------ */

static bool has_carrier(const struct report *r, const struct bgp_neighbor *n)
{
	enum links_state state;
	uint64_t bps;

	return links_view(r->links, n->local_gpu, n->plane, n->sub_port, &state, &bps) &&
	       state == LINKS_UP;
}

/* Over ports that are up; one without its address is a cause of its own. */
static bool is_session_missing(const struct causes *c, const struct bgp_neighbor *n, size_t i)
{
	bool is_v6 = !IN6_IS_ADDR_V4MAPPED(&n->address);

	return bmp_source_session(c->r->bmp, i) != BMP_SESSION_UP && has_carrier(c->r, n) &&
	       addresses_sub_port(c->r->addresses, n->local_gpu, n->plane, n->sub_port, is_v6) <=
		       ADDRESS_SHARED;
}

static void add_sessions_of(struct causes *c, uint32_t gpu, uint32_t plane)
{
	const struct bgp_source_config *bgp = &c->r->config->bgp;
	const struct bmp_seen *seen = bmp_source_seen(c->r->bmp);
	uint32_t n_missing = 0, n_all = 0;
	char first[BGP_NEIGHBOR_TEXT_MAX], other[ADDRESS_TEXT_MAX];
	const char *dev = "";
	struct cause *cause;
	bool is_known = false, is_link_local = false;

	for (size_t i = 0; i < bgp->n_neighbors; i++) {
		const struct bgp_neighbor *n = &bgp->neighbors[i];

		if (n->local_gpu != gpu || n->plane != plane)
			continue;
		n_all++;
		if (!is_session_missing(c, n, i))
			continue;
		if (!n_missing++) {
			bgp_neighbor_format(n, first);
			is_link_local = IN6_IS_ADDR_LINKLOCAL(&n->address);
			dev = c->r->config->gpus[gpu].planes[plane].sub_ports[n->sub_port].dev;
			is_known = bmp_source_session(c->r->bmp, i) == BMP_SESSION_DOWN;
		}
	}
	if (!n_missing)
		return;
	cause = add_cause(c, 2);
	cause->gpu = gpu;
	cause->plane = plane;
	PUT(cause->text, "no BGP session with neighbor %s on %s%s", first, dev,
	    n_missing > 1 ? " and others" : "");
	if (!is_known && seen->kinds[BMP_SEEN_STRANGER].n)
		PUT(cause->advice,
		    "neighbors in fared.yaml: bgpd has a session with %s, which is none of them",
		    address_format(&seen->kinds[BMP_SEEN_STRANGER].example.address, other));
	else
		PUT(cause->advice,
		    "vtysh -c 'show bgp neighbors %s'; the leaf's bgpd; both ends' AS, address and "
		    "password",
		    is_link_local ? dev : first);
	if (n_missing == n_all)
		c->sessions[gpu][plane] = cause;
}

static void add_sessions(struct causes *c)
{
	for (uint32_t g = 0; g < c->r->config->n_gpus; g++)
		for (uint32_t p = 0; p < c->r->config->gpus[g].n_planes; p++)
			add_sessions_of(c, g, p);
}

/* ---- devices ------------------------------------------------------------- */

/* One that was renamed goes on carrying what others send: more than its own part is lost. */
static void add_absent(struct causes *c)
{
	const struct config *config = c->r->config;

	for (uint32_t g = 0; g < config->n_gpus; g++)
		for (uint32_t p = 0; p < config->gpus[g].n_planes; p++)
			for (uint32_t s = 0; s < config->gpus[g].planes[p].n_sub_ports; s++) {
				enum links_state state;
				struct cause *cause;
				uint64_t bps;

				if (!links_view(c->r->links, g, p, s, &state, &bps) ||
				    state != LINKS_ABSENT || c->absent[g][p])
					continue;
				cause = add_cause(c, 0);
				cause->gpu = g;
				cause->plane = p;
				PUT(cause->text, "there is no device %s in this network namespace",
				    config->gpus[g].planes[p].sub_ports[s].dev);
				PUT(cause->advice,
				    "ip -br link: was it renamed, or moved to another "
				    "namespace? Is its driver there? fared.yaml");
				c->absent[g][p] = cause;
			}
}

/* ---- paths --------------------------------------------------------------- */

/* BGP, too, withdraws a plane that the peer has lost: the peer knows why. */
static void prefer_notice(struct path_brief *b)
{
	static const char reason[] = "the peer says that its own ports toward this plane are down "
				     "or drained";

	if (!b->is_lost_there || b->verdict != FARE_VERDICT_NO_ROUTE)
		return;
	b->reason = reason;
	b->look_next = "the peer's own cables and ports toward the plane: farectl show planes, and "
		       "show drains, on that server";
}

static struct cause *cause_of(struct causes *c, uint32_t gpu, uint32_t plane,
			      const struct path_brief *b)
{
	struct cause *cause;

	if (c->bmp && (b->is_stale || (b->verdict == FARE_VERDICT_NO_ROUTE && !c->shows_peers)))
		return c->bmp;
	if (plane != ALL_PLANES && c->absent[gpu][plane] && b->verdict != FARE_VERDICT_DRAINED)
		return c->absent[gpu][plane];
	/* or routes that are kept for a restart, which zebra has removed */
	if (plane != ALL_PLANES && c->sessions[gpu][plane] &&
	    (b->verdict == FARE_VERDICT_NO_ROUTE || b->verdict == FARE_VERDICT_NOT_INSTALLED))
		return c->sessions[gpu][plane];
	for (uint32_t i = 0; i < c->n; i++)
		/* which probes are lost is said below, when all are counted */
		if (c->all[i].gpu == gpu && c->all[i].plane == plane &&
		    (c->all[i].reason == b->reason ||
		     (c->all[i].is_probe_lost && b->is_probe_lost)))
			return &c->all[i];
	cause = add_cause(c, b->verdict == FARE_VERDICT_LOCAL_DOWN ? 0 : 3);
	cause->gpu = gpu;
	cause->plane = plane;
	cause->reason = b->reason;
	cause->is_probe_lost = b->is_probe_lost;
	cause->is_carrier_lost = b->is_carrier_lost;
	PUT(cause->text, "%s", b->reason);
	PUT(cause->advice, "%s", b->look_next);
	return cause;
}

static void add_pair(struct causes *c, uint32_t pair)
{
	struct path_brief b, first;
	char text[ADDRESS_TEXT_MAX];
	struct cause *cause, *last = NULL;
	bool is_one = true;
	struct in6_addr peer;
	uint32_t gpu, n = 0;

	if (!path_table_pair(c->r->table, pair, &gpu, &peer) ||
	    !path_table_brief(c->r->table, pair, 0, &first))
		return;
	c->n_pairs[gpu]++;
	for (; path_table_brief(c->r->table, pair, n, &b); n++) {
		c->n_paths++;
		c->n_usable += b.usable_bps > 0;
		c->n_lost_there[gpu][n] += b.is_lost_there;
		is_one &= b.reason == first.reason;
	}
	for (uint32_t p = 0; p < n && path_table_brief(c->r->table, pair, p, &b); p++) {
		if (b.is_whole || !b.reason)
			continue;
		prefer_notice(&b);
		cause = cause_of(c, gpu, is_one && n > 1 ? ALL_PLANES : p, &b);
		cause->n_lost += !b.usable_bps;
		cause->n_less += b.usable_bps > 0;
		cause->n_peers += cause != last;
		last = cause;
		if (!cause->example[0])
			PUT(cause->example, "%s -> %s", c->r->config->gpus[gpu].name,
			    address_format(&peer, text));
	}
}

/*
 * What one path's reason cannot know: which of its own sub-ports have lost their carrier, whether
 * peers have lost the same plane, whether several peers are silent.
 */
static void revise(const struct causes *c, struct cause *cause)
{
	uint32_t n_there, n_pairs = c->n_pairs[cause->gpu];

	if (cause->plane == ALL_PLANES)
		return;
	n_there = c->n_lost_there[cause->gpu][cause->plane];
	if (cause->is_carrier_lost && n_there) {
		PUT(cause->text,
		    "the leaf: no local sub-port has carrier, and %u of %u peers say that theirs "
		    "toward this plane are down, too",
		    n_there, n_pairs);
		PUT(cause->advice, "the leaf of this plane: is it powered and up?");
	}
	if (cause->is_probe_lost && cause->n_peers > 1) {
		PUT(cause->text, "in-fabric: probes toward %u of %u peers are lost on this plane",
		    cause->n_peers, n_pairs);
		PUT(cause->advice, "the leaf of this plane: its counters of errors and drops");
	}
}

static void name_place(const struct causes *c, struct cause *cause)
{
	const char *gpu = c->r->config->n_gpus > 1 ? c->r->config->gpus[cause->gpu].name : "";

	if (cause->where[0])
		return;
	if (cause->plane == ALL_PLANES)
		PUT(cause->where, "%s%sall planes of %u peer%s", gpu, *gpu ? ", " : "",
		    cause->n_peers, cause->n_peers == 1 ? "" : "s");
	else
		PUT(cause->where, "%s%splane %u", gpu, *gpu ? ", " : "", cause->plane);
}

/* What takes more paths comes first; then what lessens more; then what explains the rest. */
static int compare_causes(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	if (x->n_lost != y->n_lost)
		return x->n_lost < y->n_lost ? 1 : -1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return (x->n_less < y->n_less) - (x->n_less > y->n_less);
}

static json_t *cause_json(const struct cause *cause)
{
	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:s, s:s}", "severity",
			 cause->n_lost ? "lost" : "less", "where", cause->where, "cause",
			 cause->text, "paths_lost", (int)cause->n_lost, "paths_less",
			 (int)cause->n_less, "example", cause->example, "look_next", cause->advice);
}

/* Of those that were too many: how many paths they take or lessen. */
static json_t *cut_json(struct cause *cause)
{
	PUT(cause->text, "more than %d causes: these paths' are left out", CAUSES_MAX);
	PUT(cause->where, "others");
	PUT(cause->advice, "mend what is above, and ask again; farectl show paths");
	return cause_json(cause);
}

/* Over some path, and not of old alone. */
static bool bmp_shows_peers(const struct report *r)
{
	struct path_brief b;

	for (uint32_t i = 0; i < path_table_end(r->table); i++)
		for (uint32_t p = 0; path_table_brief(r->table, i, p, &b); p++)
			if (b.route_source == PATH_FROM_BMP && !b.is_stale)
				return true;
	return false;
}

json_t *why_all_reply(const struct report *r)
{
	struct causes *c = calloc(1, sizeof(*c));
	json_t *list = json_array();
	struct path_source_view bmp;

	if (!c)
		return NULL;
	c->r = r;
	path_table_source(r->table, PATH_SOURCE_BMP, &bmp);
	c->shows_peers = bmp_shows_peers(r);
	add_sources(c);
	add_refusals(c);
	add_absent(c);
	if (r->bmp && bmp.state == BGP_SOURCE_UP) {
		add_seen(c);
		add_sessions(c);
	}
	for (uint32_t i = 0; i < path_table_end(r->table); i++)
		add_pair(c, i);
	if (!c->n_paths && !c->n) {
		struct cause *cause = add_cause(c, 2);

		PUT(cause->text, "BMP shows no peer");
		PUT(cause->where, "BGP");
		PUT(cause->advice, "vtysh -c 'show bgp': have other servers joined, and are their "
				   "addresses inside bgp.peer_prefixes?");
	}
	for (uint32_t i = 0; i < c->n; i++) {
		revise(c, &c->all[i]);
		name_place(c, &c->all[i]);
	}
	qsort(c->all, c->n, sizeof(c->all[0]), compare_causes);
	for (uint32_t i = 0; i < c->n; i++)
		json_array_append_new(list, cause_json(&c->all[i]));
	if (c->is_cut)
		json_array_append_new(list, cut_json(&c->all[CAUSES_MAX]));
	list = json_pack("{s:b, s:i, s:i, s:o}", "ok", 1, "paths", (int)c->n_paths, "usable_paths",
			 (int)c->n_usable, "causes", list);
	free(c);
	return list;
}
