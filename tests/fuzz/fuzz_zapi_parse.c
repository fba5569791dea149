/* links: bgp; parses: bgp/zapi_parse.c bgp/zapi_station.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stream from zebra behind a byte that picks FRR's version. The station gets it whole and cut in
 * two: both must tell the same paths.
 */
#include <stdlib.h>

#include "zapi_station.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool on_path(void *arg, const struct bgp_path_event *e)
{
	uint64_t *sum = arg;

	if (!e->normalised || !(e->advertised_bps >= 0))
		abort();
	*sum += 1000u + e->peer.s6_addr[15] * 7u + e->reachable + 2u * e->stale;
	return true;
}

static void on_state(void *arg, enum bgp_source_state state, const char *reason)
{
	(void)arg;
	(void)state;
	if (!reason)
		abort();
}

static void on_log(void *arg, int priority, const char *line)
{
	(void)arg;
	(void)priority;
	if (!line)
		abort();
}

static bool on_link(void *arg, uint32_t ifindex, unsigned neighbor)
{
	(void)arg;
	return ifindex == neighbor + 2;
}

static uint64_t feed(const struct zapi_layout *layout, const uint8_t *data, size_t size, size_t cut)
{
	struct bgp_neighbor neighbors[2] = {
		{.address = {.s6_addr = {[10] = 0xff, 0xff, 198, 18, 0, 0}}},
		{.address = {.s6_addr = {[10] = 0xff, 0xff, 198, 18, 0, 2}}, .sub_port = 1},
	};
	struct bgp_prefix prefixes[2] = {{{.s6_addr = {[10] = 0xff, 0xff, 198, 19}}, 112},
					 {{.s6_addr = {0x20, 1, 0xd, 0xb8, 0, 0x19}}, 48}};
	struct bgp_source_config config = {.neighbors = neighbors,
					   .n_neighbors = 2,
					   .peer_prefixes = prefixes,
					   .n_peer_prefixes = 2,
					   .bandwidth_scale = 1};
	struct bgp_source_handlers handlers = {
		.on_path = on_path, .on_state = on_state, .on_log = on_log};
	struct zapi_station *s;
	const char *reason = NULL;
	uint64_t sum = 0;
	int err;

	if (zapi_station_create(&s, layout, &config, &handlers, &sum, on_link, NULL))
		abort();
	zapi_station_connected(s, 1);
	err = zapi_station_receive(s, data, cut, 1, &reason);
	if (!err)
		err = zapi_station_receive(s, data + cut, size - cut, 1, &reason);
	if (err) {
		if (!reason)
			abort();
		zapi_station_lost(s, reason);
	} else {
		zapi_station_tick(s, zapi_station_deadline_ns(s));
	}
	zapi_station_commit(s);
	zapi_station_destroy(s);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const versions[] = {"8.4.4", "10.0", "10.1", "10.2"};
	struct zapi_layout layout;

	if (size < 2)
		return 0;
	if (zapi_parse_version(versions[data[0] % 4], &layout))
		abort();
	data++;
	size--;
	if (feed(&layout, data, size, size) != feed(&layout, data, size, data[size - 1] % size))
		abort();
	return 0;
}
