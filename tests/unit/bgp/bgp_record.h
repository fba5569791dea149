/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bgp_record.h - a small fabric for tests, and handlers that write down what a source says, one
 * line per call.
 *
 * Neighbours: 0 and 1 are both sub-ports of local GPU 0 toward plane 0; 2 is plane 1; 3 is plane 0
 * of local GPU 1; 4 is an IPv6 session of GPU 0 toward plane 0.
 */
#ifndef BGP_RECORD_H
#define BGP_RECORD_H

#include "bgp_test.h"

struct record {
	struct bgp_neighbor neighbors[5];
	struct bgp_prefix prefixes[2];
	struct in6_addr own[2];
	struct bgp_source_config config;
	struct bgp_source_handlers handlers;
	char paths[8192]; /* "peer gpu/plane up 250000" and the like, one per line */
	char states[2048];
	char logs[8192];
	char routers[256];
	unsigned n_paths;
};

static inline void record_line(char *to, size_t size, const char *line)
{
	size_t n = strlen(to);

	snprintf(to + n, size - n, "%s\n", line);
}

static inline bool record_on_path(void *arg, const struct bgp_path_event *e)
{
	static const char *const kinds[] = {"", " absent", " invalid"};
	struct record *r = arg;
	char a[INET6_ADDRSTRLEN], line[256], value[64] = "";

	if (IN6_IS_ADDR_V4MAPPED(&e->peer))
		inet_ntop(AF_INET, e->peer.s6_addr + 12, a, sizeof(a));
	else
		inet_ntop(AF_INET6, &e->peer, a, sizeof(a));
	if (e->reachable && e->bandwidth_kind == BGP_BANDWIDTH_VALUE)
		snprintf(value, sizeof(value), " %.0f", e->advertised_bps);
	snprintf(line, sizeof(line), "%s %u/%u %s%s%s%s%s", a, e->local_gpu, e->plane,
		 e->reachable ? "up" : "gone", e->stale ? " stale" : "",
		 e->reachable && e->normalised ? " relative" : "",
		 e->reachable ? kinds[e->bandwidth_kind] : "", value);
	record_line(r->paths, sizeof(r->paths), line);
	r->n_paths++;
	return true;
}

static inline void record_on_state(void *arg, enum bgp_source_state state, const char *reason)
{
	static const char *const names[] = {"down", "syncing", "up"};
	struct record *r = arg;

	ck_assert_ptr_nonnull(reason);
	record_line(r->states, sizeof(r->states), names[state]);
}

static inline void record_on_log(void *arg, int priority, const char *line)
{
	struct record *r = arg;

	(void)priority;
	record_line(r->logs, sizeof(r->logs), line);
}

static inline void record_on_router(void *arg, const char *description)
{
	struct record *r = arg;

	record_line(r->routers, sizeof(r->routers), description);
}

static inline void record_init(struct record *r)
{
	static const struct {
		const char *address;
		uint16_t gpu, plane, sub_port;
		const char *dev;
	} neighbors[5] = {{"198.18.0.0", 0, 0, 0, "d0"},
			  {"198.18.0.2", 0, 0, 1, "d1"},
			  {"198.18.1.0", 0, 1, 0, "d2"},
			  {"198.18.2.0", 1, 0, 0, "d3"},
			  {"2001:db8:18::", 0, 0, 0, "d0"}};

	memset(r, 0, sizeof(*r));
	for (size_t i = 0; i < 5; i++)
		r->neighbors[i] = (struct bgp_neighbor){addr(neighbors[i].address),
							neighbors[i].gpu, neighbors[i].plane,
							neighbors[i].sub_port, neighbors[i].dev};
	r->prefixes[0] = (struct bgp_prefix){addr("198.19.0.0"), 96 + 16};
	r->prefixes[1] = (struct bgp_prefix){addr("2001:db8:19::"), 48};
	r->own[0] = addr("198.19.0.1");
	r->own[1] = addr("2001:db8:19::1");
	r->config = (struct bgp_source_config){.neighbors = r->neighbors,
					       .n_neighbors = 5,
					       .peer_prefixes = r->prefixes,
					       .n_peer_prefixes = 2,
					       .own_addresses = r->own,
					       .n_own_addresses = 2,
					       .bandwidth_scale = 1,
					       .max_as_path = 2};
	r->handlers = (struct bgp_source_handlers){record_on_path, record_on_state, record_on_log,
						   record_on_router};
}

/* What came since the last look must be exactly this; events of one commit are compared in any
 * order. */
static inline void expect_paths(struct record *r, const char *expected)
{
	size_t n = strlen(r->paths);
	char copy[512], *save = NULL;

	ck_assert_msg(n == strlen(expected), "got:\n%swant:\n%s", r->paths, expected);
	snprintf(copy, sizeof(copy), "%s", expected);
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		ck_assert_msg(strstr(r->paths, line) != NULL, "got:\n%swant:\n%s", r->paths,
			      expected);
	r->paths[0] = '\0';
}

#endif
