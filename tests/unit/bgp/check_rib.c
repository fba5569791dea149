/* SPDX-License-Identifier: BSD-2-Clause */
#include "rib.h"

#include "bgp_record.h"

static struct rib *rib_of(struct record *r)
{
	struct rib *rib;

	ck_assert_int_eq(rib_create(&rib, &r->config, false, record_on_path, r), 0);
	return rib;
}

static void set(struct rib *rib, unsigned neighbor, const char *peer, uint32_t path_id,
		enum bgp_bandwidth_kind kind, double bps)
{
	struct rib_route route = {kind, bps};
	struct in6_addr a = addr(peer);

	ck_assert_int_eq(rib_set(rib, neighbor, &a, path_id, &route), 0);
}

static void set_bps(struct rib *rib, unsigned neighbor, const char *peer, double bps)
{
	set(rib, neighbor, peer, 0, BGP_BANDWIDTH_VALUE, bps);
}

static void unset(struct rib *rib, unsigned neighbor, const char *peer)
{
	struct in6_addr a = addr(peer);

	rib_unset(rib, neighbor, &a, 0);
}

START_TEST(one_event_per_change_and_path)
{
	struct record r;
	struct rib *rib;

	record_init(&r);
	rib = rib_of(&r);
	set_bps(rib, 0, "198.19.0.2", 100);
	set_bps(rib, 0, "198.19.0.2", 200);
	set_bps(rib, 2, "198.19.0.2", 300);
	set_bps(rib, 3, "198.19.0.2", 400);
	expect_paths(&r, ""); /* nothing before the flush */
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 up 200\n198.19.0.2 0/1 up 300\n198.19.0.2 1/0 up 400\n");
	set_bps(rib, 0, "198.19.0.2", 999);
	set_bps(rib, 0, "198.19.0.2", 200);
	rib_flush(rib);
	expect_paths(&r, ""); /* came and went between two flushes */
	unset(rib, 0, "198.19.0.2");
	unset(rib, 0, "198.19.0.9"); /* never known */
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 gone\n");
	set_bps(rib, 0, "198.19.0.3", 5);
	unset(rib, 0, "198.19.0.3");
	rib_flush(rib);
	expect_paths(&r, ""); /* nobody heard of it, so nobody hears that it is gone */
	rib_destroy(rib);
}
END_TEST

START_TEST(sessions_of_a_plane_are_not_summed)
{
	struct record r;
	struct rib *rib;

	record_init(&r);
	rib = rib_of(&r);
	set_bps(rib, 0, "198.19.0.2", 400);
	set_bps(rib, 1, "198.19.0.2", 400);
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 up 400\n");
	set_bps(rib, 1, "198.19.0.2", 200); /* the lowest */
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 up 200\n");
	set_bps(rib, 0, "198.19.0.2", 0); /* zero too */
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 up 0\n");
	unset(rib, 0, "198.19.0.2");
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 up 200\n");
	set(rib, 1, "198.19.0.2", 7, BGP_BANDWIDTH_VALUE,
	    50); /* another path id of the same session */
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 up 50\n");
	rib_destroy(rib);
}
END_TEST

START_TEST(a_value_beats_none_and_nonsense)
{
	struct record r;
	struct rib *rib;

	record_init(&r);
	rib = rib_of(&r);
	set(rib, 0, "198.19.0.2", 0, BGP_BANDWIDTH_ABSENT, 0);
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 up absent\n");
	set(rib, 1, "198.19.0.2", 0, BGP_BANDWIDTH_INVALID, 0);
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 up invalid\n");
	set_bps(rib, 0, "198.19.0.2", 300);
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 up 300\n");
	rib_destroy(rib);
}
END_TEST

START_TEST(stale_routes_count_only_without_live_ones)
{
	struct record r;
	struct rib *rib;

	record_init(&r);
	rib = rib_of(&r);
	set_bps(rib, 0, "198.19.0.2", 100);
	set_bps(rib, 1, "198.19.0.2", 400);
	set_bps(rib, 4, "2001:db8:19::2", 70);
	rib_flush(rib);
	r.paths[0] = '\0';
	rib_stale(rib, 0, BGP_FAMILY_IPV4);
	rib_stale(rib, 0, BGP_FAMILY_IPV4);
	ck_assert_uint_eq(rib_n_stale(rib, 0), 1);
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 up 400\n");
	rib_stale(rib, 1, BGP_FAMILY_IPV4);
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 up stale 100\n");
	rib_stale(rib, 4, BGP_FAMILY_IPV4); /* no route of that family there */
	rib_flush(rib);
	expect_paths(&r, "");
	set_bps(rib, 0, "198.19.0.2", 100); /* taught again: live */
	ck_assert_uint_eq(rib_n_stale(rib, 0), 0);
	rib_sweep(rib, 0, BGP_FAMILY_IPV4);
	rib_sweep(rib, 1, BGP_FAMILY_IPV4);
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 up 100\n");
	rib_drop(rib, 0, BGP_FAMILY_IPV6);
	rib_flush(rib);
	expect_paths(&r, "");
	rib_drop(rib, 0, BGP_FAMILY_IPV4);
	rib_drop(rib, 4, BGP_FAMILY_IPV6);
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 gone\n2001:db8:19::2 0/0 gone\n");
	rib_destroy(rib);
}
END_TEST

START_TEST(what_is_a_peer)
{
	static const struct {
		const char *address;
		uint8_t length;
		bool peer;
	} cases[] = {
		{"198.19.0.2", 128, true},	{"198.19.255.255", 128, true},
		{"198.19.0.2", 127, false},	{"198.19.0.0", 112, false},
		{"198.19.0.1", 128, false}, /* ourselves */
		{"198.20.0.2", 128, false},	{"198.18.0.0", 128, false},
		{"2001:db8:19::2", 128, true},	{"2001:db8:19::1", 128, false},
		{"2001:db8:1a::2", 128, false},
	};
	struct bgp_prefix any6 = {.length = 0};
	struct bgp_prefix odd = {addr("198.19.4.0"), 96 + 22}, p;
	struct record r;
	struct rib *rib;

	record_init(&r);
	rib = rib_of(&r);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		p = (struct bgp_prefix){addr(cases[i].address), cases[i].length};
		ck_assert_msg(rib_is_peer(rib, &p) == cases[i].peer, "%s", cases[i].address);
	}
	r.config.peer_prefixes = &odd;
	r.config.n_peer_prefixes = 1;
	p = (struct bgp_prefix){addr("198.19.7.255"), 128};
	ck_assert(rib_is_peer(rib, &p));
	p = (struct bgp_prefix){addr("198.19.8.0"), 128};
	ck_assert(!rib_is_peer(rib, &p));
	r.config.peer_prefixes = &any6; /* ::/0 means IPv6 */
	ck_assert(!rib_is_peer(rib, &p));
	p = (struct bgp_prefix){addr("2001:db8:7::1"), 128};
	ck_assert(rib_is_peer(rib, &p));
	rib_destroy(rib);
}
END_TEST

START_TEST(bounded_per_neighbor)
{
	struct rib_route route = {BGP_BANDWIDTH_ABSENT, 0};
	struct in6_addr a = addr("2001:db8:19::");
	struct record r;
	struct rib *rib;

	record_init(&r);
	rib = rib_of(&r);
	for (uint32_t i = 0; i < RIB_MAX_ROUTES_PER_NEIGHBOR; i++) {
		a.s6_addr[14] = (uint8_t)(i >> 8);
		a.s6_addr[15] = (uint8_t)i;
		ck_assert_int_eq(rib_set(rib, 4, &a, 0, &route), 0);
	}
	ck_assert_int_eq(rib_set(rib, 4, &a, 0, &route), 0); /* a known one may change */
	a.s6_addr[13] = 1;
	ck_assert_int_eq(rib_set(rib, 4, &a, 0, &route), -ENOSPC);
	ck_assert_int_eq(rib_set(rib, 0, &a, 0, &route), 0); /* others are not affected */
	rib_destroy(rib);
}
END_TEST

static bool has_no_room(void *arg, const struct bgp_path_event *e)
{
	struct record *r = arg;

	record_on_path(arg, e);
	return !e->reachable || r->n_paths > 1;
}

/* What is not taken comes again, as it is by then; others that are new wait with it. */
START_TEST(what_is_not_taken_comes_again)
{
	struct record r;
	struct rib *rib;

	record_init(&r);
	ck_assert_int_eq(rib_create(&rib, &r.config, false, has_no_room, &r), 0);
	set_bps(rib, 0, "198.19.0.2", 100);
	set_bps(rib, 0, "198.19.0.3", 100);
	set_bps(rib, 0, "198.19.0.4", 100);
	rib_flush(rib);
	ck_assert_uint_eq(r.n_paths, 1);
	r.paths[0] = '\0';
	set_bps(rib, 0, "198.19.0.2", 200);
	unset(rib, 0, "198.19.0.4");
	rib_flush(rib);
	expect_paths(&r, "198.19.0.2 0/0 up 200\n198.19.0.3 0/0 up 100\n");
	rib_flush(rib);
	expect_paths(&r, "");
	rib_destroy(rib);
}
END_TEST

START_TEST(refuses_bad_configurations)
{
	struct record r;
	struct rib *rib;

	record_init(&r);
	r.config.bandwidth_scale = 0;
	ck_assert_int_eq(rib_create(&rib, &r.config, false, record_on_path, &r), -EINVAL);
	ck_assert_ptr_null(rib);
	r.config.bandwidth_scale = 1;
	r.neighbors[3].address = r.neighbors[1].address;
	ck_assert_int_eq(rib_create(&rib, &r.config, false, record_on_path, &r), -EINVAL);
	rib_destroy(NULL);
}
END_TEST

RUN_TESTS("rib", one_event_per_change_and_path, sessions_of_a_plane_are_not_summed,
	  a_value_beats_none_and_nonsense, stale_routes_count_only_without_live_ones,
	  what_is_a_peer, bounded_per_neighbor, what_is_not_taken_comes_again,
	  refuses_bad_configurations)
