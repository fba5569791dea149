/* links: bgp; parses: bgp/bmp_parse.c bgp/bmp_station.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A BMP stream as bgpd sends it. The station gets it whole and once more cut in two: both must tell
 * the same paths. Whatever comes, each single message also keeps inside its bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "bmp_parse.h"
#include "bmp_station.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct tally {
	uint64_t paths, sum;
};

static bool on_path(void *arg, const struct bgp_path_event *e)
{
	struct tally *t = arg;

	if (e->bandwidth_kind == BGP_BANDWIDTH_VALUE && !(e->advertised_bps >= 0))
		abort();
	t->paths++; /* order within one commit is free: add up what does not depend on it */
	t->sum += e->peer.s6_addr[15] * 7u + e->plane * 3u + e->reachable + 2u * e->stale;
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
	if (strlen(line) >= 1024)
		abort();
}

static struct in6_addr ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct in6_addr){
		.s6_addr = {[10] = 0xff, [11] = 0xff, [12] = a, [13] = b, [14] = c, [15] = d}};
}

static struct tally feed(const uint8_t *data, size_t size, size_t cut)
{
	struct bgp_neighbor neighbors[3] = {
		{.address = ipv4(198, 18, 0, 0)},
		{.address = ipv4(198, 18, 0, 2), .sub_port = 1},
		{.address = {.s6_addr = {0x20, 1, 0xd, 0xb8, 0, 0x18}}, .plane = 1},
	};
	struct bgp_prefix prefixes[2] = {{ipv4(198, 19, 0, 0), 112},
					 {{.s6_addr = {0x20, 1, 0xd, 0xb8, 0, 0x19}}, 48}};
	struct in6_addr own = ipv4(198, 19, 0, 1);
	struct bgp_source_config config = {.neighbors = neighbors,
					   .n_neighbors = 3,
					   .peer_prefixes = prefixes,
					   .n_peer_prefixes = 2,
					   .own_addresses = &own,
					   .n_own_addresses = 1,
					   .bandwidth_scale = 1,
					   .max_as_path = 2};
	struct bgp_source_handlers handlers = {
		.on_path = on_path, .on_state = on_state, .on_log = on_log};
	uint64_t now_ns = 1000000000ull;
	struct tally tally = {0, 0};
	struct bmp_station *s;
	const char *reason = NULL;
	int err;

	if (bmp_station_create(&s, 60000000000ull, &config, &handlers, &tally, NULL, NULL))
		abort();
	bmp_station_connected(s);
	err = bmp_station_receive(s, data, cut, now_ns, &reason);
	if (!err)
		err = bmp_station_receive(s, data + cut, size - cut, now_ns, &reason);
	if (err) {
		if (!reason)
			abort();
		bmp_station_lost(s, reason, now_ns);
	}
	bmp_station_commit(s);
	for (int i = 0; bmp_station_deadline_ns(s) != BMP_STATION_NEVER; i++) {
		if (i > 100)
			abort(); /* a deadline that is met goes away */
		now_ns = bmp_station_deadline_ns(s);
		bmp_station_tick(s, now_ns);
		bmp_station_commit(s);
	}
	bmp_station_destroy(s);
	return tally;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct octets_error error = {NULL, 0};
	struct tally whole, cut;
	struct bmp_message message;

	if (bmp_parse(data, size, &message, &error) && !error.reason)
		abort();
	whole = feed(data, size, size);
	cut = feed(data, size, size > 0 ? data[size - 1] % size : 0);
	if (whole.paths != cut.paths || whole.sum != cut.sum)
		abort();
	return 0;
}
