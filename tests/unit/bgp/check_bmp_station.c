/* SPDX-License-Identifier: BSD-2-Clause */
#include "bmp_station.h"

#include "bgp_record.h"

#define SECOND	 1000000000ull
#define STALE_NS (120 * SECOND)
#define UNIT	 "47f42400" /* 125,000 B/s = 1,000,000 bit/s */
#define TWO	 "48742400"

#define N0 "198.18.0.0"
#define N1 "198.18.0.2"
#define N2 "198.18.1.0"
#define P2 "198.19.0.2"
#define P3 "198.19.0.3"

struct fixture {
	struct record r;
	struct bmp_station *s;
	struct bytes b;
	uint64_t now_ns;
	bool open[5]; /* bgpd's connections over the neighbours' devices */
};

/* Each has its neighbour's number for a port. */
static bool is_open(void *arg, const char *dev, const struct in6_addr *remote,
		    const struct bmp_connection *connection)
{
	struct fixture *f = arg;
	unsigned at = connection->local_port;

	ck_assert(IN6_IS_ADDR_LINKLOCAL(remote));
	ck_assert_uint_lt(at, 5);
	return f->open[at] && (!dev || !strcmp(dev, f->r.neighbors[at].dev));
}

static void begin_with(struct fixture *f, const struct bgp_neighbor *neighbors)
{
	memset(f, 0, sizeof(*f));
	record_init(&f->r);
	if (neighbors)
		memcpy(f->r.neighbors, neighbors, sizeof(f->r.neighbors));
	f->now_ns = 1000 * SECOND;
	ck_assert_int_eq(bmp_station_create(&f->s, STALE_NS, &f->r.config, &f->r.handlers, &f->r,
					    is_open, f),
			 0);
	bmp_station_connected(f->s);
}

static void begin(struct fixture *f)
{
	begin_with(f, NULL);
}

static void end(struct fixture *f)
{
	bmp_station_destroy(f->s);
}

/* Hands over what is in f->b, and commits. */
static void send_all(struct fixture *f)
{
	const char *reason = NULL;

	ck_assert_int_eq(bmp_station_receive(f->s, f->b.p, f->b.n, f->now_ns, &reason), 0);
	bmp_station_commit(f->s);
	f->b.n = 0;
}

/* Lets time pass as the loop would: every deadline on the way is met. */
static void pass(struct fixture *f, uint64_t ns)
{
	uint64_t until_ns = f->now_ns + ns;

	while (bmp_station_deadline_ns(f->s) <= until_ns) {
		f->now_ns = bmp_station_deadline_ns(f->s);
		bmp_station_tick(f->s, f->now_ns);
		bmp_station_commit(f->s);
	}
	f->now_ns = until_ns;
}

/* N0 and N1 are up, N2 too; P2 is taught by all with two units. */
static void settle(struct fixture *f, int gr_s, bool n_bit)
{
	begin(f);
	bmp_peer_up(&f->b, N0, gr_s, n_bit);
	bmp_peer_up(&f->b, N1, gr_s, n_bit);
	bmp_peer_up(&f->b, N2, gr_s, n_bit);
	bmp_route(&f->b, N0, P2, TWO);
	bmp_route(&f->b, N1, P2, TWO);
	bmp_route(&f->b, N2, P2, TWO);
	send_all(f);
	pass(f, 10 * SECOND);
	expect_paths(&f->r, P2 " 0/0 up 2000000\n" P2 " 0/1 up 2000000\n");
	ck_assert_str_eq(f->r.states, "syncing\nup\n");
	ck_assert_uint_eq(bmp_station_deadline_ns(f->s), BMP_STATION_NEVER);
}

START_TEST(learns_and_coalesces)
{
	struct fixture f;

	settle(&f, 120, true);
	bmp_route(&f.b, N0, P2, UNIT);
	bmp_route(&f.b, N1, P2, UNIT);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/0 up 1000000\n"); /* two updates in one read: one event */
	bmp_withdraw(&f.b, N0, P2);
	send_all(&f);
	expect_paths(&f.r, ""); /* the other session still teaches the same */
	bmp_withdraw(&f.b, N1, P2);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/0 gone\n");
	bmp_route(&f.b, N1, P2, NULL);
	bmp_route(&f.b, N2, P2, "7fc00000");
	send_all(&f);
	expect_paths(&f.r, P2 " 0/0 up absent\n" P2 " 0/1 up invalid\n");
	ck_assert_ptr_nonnull(strstr(f.r.logs, "no number >= 0"));
	end(&f);
}
END_TEST

START_TEST(any_cut_of_the_stream_is_the_same_stream)
{
	const char *reason;
	struct fixture whole, cut;
	size_t size;
	uint8_t *data = load("frr-8.4.4-drill.bmp", &size);

	for (size_t step = 1; step < 600; step += step < 70 ? 1 : 97) {
		begin(&whole);
		begin(&cut);
		ck_assert_int_eq(bmp_station_receive(whole.s, data, size, whole.now_ns, &reason),
				 0);
		for (size_t i = 0; i < size; i += step)
			ck_assert_int_eq(bmp_station_receive(cut.s, data + i,
							     step < size - i ? step : size - i,
							     cut.now_ns, &reason),
					 0);
		bmp_station_commit(whole.s);
		bmp_station_commit(cut.s);
		ck_assert_str_eq(whole.r.paths, cut.r.paths);
		ck_assert_str_eq(whole.r.states, cut.r.states);
		ck_assert_str_eq(whole.r.logs, cut.r.logs);
		end(&whole);
		end(&cut);
	}
	free(data);
}
END_TEST

/* The capture of a drill with FRR 8.4.4: offsets are where the drill's next step shows. */
START_TEST(replays_a_drill_of_frr)
{
	static const struct {
		size_t until;
		const char *paths;
	} steps[] = {
		{2791, P2 " 0/0 up 2000000\n2001:db8:19::2 0/0 up 2000000\n"},
		{3347,
		 P2 " 0/0 up 1000000\n2001:db8:19::2 0/0 up 1000000\n"}, /* remote sub-link down */
		{3579, P2 " 0/0 up 2000000\n"},				 /* and up (IPv6 was not) */
		{3681, ""}, /* local sub-link down: the other session still teaches */
		{5396, ""}, /* and up, with a session that flaps on the way */
		{6235,
		 P2 " 0/0 up 200000000\n2001:db8:19::2 0/0 up 200000000\n"}, /* another bandwidth */
		{7110, P2 " 0/0 up absent\n2001:db8:19::2 0/0 up absent\n"},
		{8204, P2 " 0/0 up 2000000\n2001:db8:19::2 0/0 up 1000000\n"},
		{8357,
		 P2 " 0/0 up stale 2000000\n2001:db8:19::2 0/0 up stale 1000000\n"}, /* leaf's bgpd
											killed */
		{9506, ""},							     /* and back */
		{9753, P2 " 0/0 gone\n2001:db8:19::2 0/0 gone\n"}, /* the leaf returned before its
								      GPUs did */
		{11051, P2 " 0/0 up 2000000\n2001:db8:19::2 0/0 up 1000000\n"},
		{11204, P2 " 0/0 up stale 2000000\n2001:db8:19::2 0/0 up stale 1000000\n"},
	};
	struct fixture f;
	size_t size, at = 0;
	uint8_t *data = load("frr-8.4.4-drill.bmp", &size);

	begin(&f);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const char *reason;

		ck_assert_int_eq(
			bmp_station_receive(f.s, data + at, steps[i].until - at, f.now_ns, &reason),
			0);
		bmp_station_commit(f.s);
		at = steps[i].until;
		expect_paths(&f.r, steps[i].paths);
		if (i == 0) { /* every End-of-RIB came, but of neighbors that are not up */
			ck_assert_str_eq(f.r.states, "syncing\n");
			pass(&f, 2 * SECOND);
			ck_assert_str_eq(f.r.states, "syncing\nup\n");
		}
	}
	/* never back: the restart time of 20 s ends it, whatever Peer Downs bgpd repeats meanwhile
	 */
	pass(&f, 19 * SECOND);
	raw(&f.b, data + at, size - at);
	send_all(&f);
	expect_paths(&f.r, "");
	pass(&f, 2 * SECOND);
	expect_paths(&f.r, P2 " 0/0 gone\n2001:db8:19::2 0/0 gone\n");
	ck_assert_str_eq(strstr(f.r.logs, "ignored") ? "a message was ignored" : "", "");
	end(&f);
	free(data);
}
END_TEST

START_TEST(filters_what_is_no_peer)
{
	static const char *const tails[] = {
		/* AS_PATH beside ORIGIN and NEXT_HOP, then prefixes */
		"500e 0203 0000fc01 0000fe4d 0000fc01|20 c6130004",	     /* looped */
		"5012 0204 0000fc01 0000fe4d 0000fc02 0000fc03|20 c6130004", /* too long */
		"5006 0201 0000fc01|20 c6130004",		    /* nobody but ourselves */
		"500e 0203 0000fc01 0000fe4d 0000fc02|20 c6130001", /* our own address */
		"500e 0203 0000fc01 0000fe4d 0000fc02|1f c6130004", /* no host route */
		"500e 0203 0000fc01 0000fe4d 0000fc02|20 c6140004", /* elsewhere */
	};
	struct fixture f;

	settle(&f, 120, true);
	f.r.logs[0] = '\0';
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		struct bytes u = {.n = 0}, at = {.n = 0};
		char path[128];

		snprintf(path, sizeof(path), "%.*s", (int)strcspn(tails[i], "|") - 4, tails[i] + 4);
		hex(&at, "400101 00 400304 c6120000 4002");
		hex(&at, (char[]){tails[i][2], tails[i][3], 0});
		hex(&at, path);
		be(&u, 0, 2);
		be(&u, at.n, 2);
		raw(&u, at.p, at.n);
		hex(&u, strchr(tails[i], '|') + 1);
		bmp_monitoring(&f.b, N0, 0, &u);
		bmp_monitoring(&f.b, N0, 0x40, &u); /* post-policy: never looked at */
		send_all(&f);			    /* each by itself: one must not undo another */
		expect_paths(&f.r, "");
	}
	/* of these, only what an operator would miss */
	ck_assert_ptr_nonnull(strstr(f.r.logs, "route rejected: its AS path has 3 hops"));
	ck_assert_ptr_eq(strchr(f.r.logs, '\n'), f.r.logs + strlen(f.r.logs) - 1);
	end(&f);
}
END_TEST

START_TEST(a_route_made_unusable_replaces_the_usable_one)
{
	struct bytes u = {.n = 0};
	struct fixture f;

	settle(&f, 120, true);
	hex(&u, "0000 0019 400101 00 400304 c6120000 40020a 0202 0000fe4d 0000fc01 20 "
		"c6130002"); /* looped
				now
			      */
	u.p[3] = 0x18;
	bmp_monitoring(&f.b, N2, 0, &u);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/1 gone\n");
	bmp_route(&f.b, N2, P2, TWO);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/1 up 2000000\n");
	u.n = 0;
	hex(&u,
	    "0000 000b 400101 09 400304 c6120000 20 c6130002"); /* malformed: taken as withdrawal */
	bmp_monitoring(&f.b, N2, 0, &u);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/1 gone\n");
	ck_assert_ptr_nonnull(
		strstr(f.r.logs, "taken as withdrawal reason=\"ORIGIN is malformed\""));
	end(&f);
}
END_TEST

START_TEST(an_as_path_that_is_too_long_is_told)
{
	struct bytes u = {.n = 0};
	struct fixture f;

	settle(&f, 120, true);
	/* AS path 65101 64514 64515: three hops, and two are allowed */
	hex(&u, "0000 001c 400101 00 400304 c6120000 40020e 0203 0000fe4d 0000fc02 0000fc03 20 "
		"c6130002");
	bmp_monitoring(&f.b, N2, 0, &u);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/1 gone\n");
	ck_assert_msg(strstr(f.r.logs, "route rejected: its AS path has 3 hops, bgp.max_as_path "
				       "allows 2 peer=198.19.0.2 neighbor="),
		      "%s", f.r.logs);
	end(&f);
}
END_TEST

/* iBGP with a route reflector: a route that begins in our own AS has an empty AS path. */
START_TEST(an_internal_route_has_no_as_path)
{
	static const char route[] = "0000 000e 400101 00 400304 c6120000 400200 20 c6130002";
	struct bytes u = {.n = 0};
	struct fixture f;

	begin(&f);
	bmp_peer_up_of(&f.b, N2, 64513, 120, true);
	hex(&u, route);
	bmp_monitoring(&f.b, N2, 0, &u);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/1 up absent\n");
	bmp_peer_up(&f.b, N0, 120, true); /* of another AS: nobody's route */
	bmp_monitoring(&f.b, N0, 0, &u);
	send_all(&f);
	expect_paths(&f.r, "");
	ck_assert_uint_eq(bmp_station_seen(f.s)->kinds[BMP_SEEN_NO_PATH].n, 1);
	end(&f);
}
END_TEST

/* What gave no path is kept, to explain a missing one. */
START_TEST(what_is_no_peer_is_noted)
{
	const struct bmp_seen *seen;
	struct fixture f;

	begin(&f);
	ck_assert_int_eq(bmp_station_session(f.s, 0), BMP_SESSION_UNKNOWN);
	bmp_peer_up(&f.b, N0, 120, true);
	bmp_peer_up(&f.b, "198.18.9.9", 120, true);
	bmp_route(&f.b, N0, "198.20.0.7", TWO);
	send_all(&f);
	seen = bmp_station_seen(f.s);
	ck_assert_int_eq(bmp_station_session(f.s, 0), BMP_SESSION_UP);
	ck_assert_uint_eq(seen->kinds[BMP_SEEN_STRANGER].n, 1);
	ck_assert_uint_eq(seen->kinds[BMP_SEEN_OUTSIDE].n, 1);
	ck_assert_uint_eq(seen->kinds[BMP_SEEN_NET].n, 0);
	for (unsigned i = 0; i < 2; i++) { /* a default route, an aggregate */
		struct bytes u = {.n = 0};

		hex(&u, i ? "0000 0018 400101 00 400304 c6120000 40020a 0202 0000fe4d 0000fc02 18 "
			    "c61300"
			  : "0000 0018 400101 00 400304 c6120000 40020a 0202 0000fe4d 0000fc02 00");
		bmp_monitoring(&f.b, N0, 0, &u);
		send_all(&f);
		ck_assert_uint_eq(seen->kinds[BMP_SEEN_NET].n, i + 1);
	}
	bmp_station_lost(f.s, "gone", f.now_ns);
	ck_assert_int_eq(bmp_station_session(f.s, 0), BMP_SESSION_DOWN);
	bmp_station_connected(f.s); /* another stream */
	ck_assert_uint_eq(seen->kinds[BMP_SEEN_NET].n, 0);
	ck_assert_int_eq(bmp_station_session(f.s, 0), BMP_SESSION_UNKNOWN);
	end(&f);
}
END_TEST

START_TEST(bad_messages_cost_only_themselves)
{
	struct bytes u = {.n = 0};
	struct fixture f;

	settle(&f, 120, true);
	hex(&u, "0000 0000 21 c613000200"); /* /33 */
	bmp_monitoring(&f.b, N0, 0, &u);
	hex(&f.b, "03 00000031 02 00");
	be(&f.b, 0, 40);
	hex(&f.b, "0000");
	bmp_route(&f.b, N2, P2, UNIT);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/1 up 1000000\n");
	ck_assert_ptr_nonnull(
		strstr(f.r.logs, "UPDATE ignored reason=\"prefixes cannot be read\""));
	end(&f);
}
END_TEST

START_TEST(lost_framing_ends_the_stream)
{
	const char *reason = NULL;
	struct fixture f;

	settle(&f, 120, true);
	hex(&f.b, "47455420 2f");
	ck_assert_int_eq(bmp_station_receive(f.s, f.b.p, f.b.n, f.now_ns, &reason), -EBADMSG);
	ck_assert_str_eq(reason, "not BMP version 3");
	end(&f);
	settle(&f, 120, true);
	f.b.n = 0;
	hex(&f.b, "03 00000006 05");
	ck_assert_int_eq(bmp_station_receive(f.s, f.b.p, f.b.n, f.now_ns, &reason), -ESHUTDOWN);
	end(&f);
}
END_TEST

START_TEST(peer_down_without_graceful_restart_withdraws)
{
	struct fixture f;

	settle(&f, -1, false);
	bmp_peer_down(&f.b, N0, 2, 0);
	send_all(&f);
	expect_paths(&f.r, "");
	bmp_peer_down(&f.b, N1, 4, 0);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/0 gone\n");
	ck_assert_uint_eq(bmp_station_deadline_ns(f.s), BMP_STATION_NEVER);
	end(&f);
}
END_TEST

START_TEST(peer_down_by_reason)
{
	static const struct {
		uint8_t reason;
		uint16_t detail;
		bool n_bit, kept;
	} cases[] = {
		{2, 0x12, false, true},	   {4, 0, false, true},
		{5, 0, true, false},	   {1, 0x0400, true, true},
		{1, 0x0400, false, false}, /* hold timer; RFC 8538 */
		{3, 0x0604, true, true},   {3, 0x0604, false, false},
		{3, 0x0609, true, false}, /* hard reset */
		{77, 0, true, false},
	};
	struct fixture f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		settle(&f, 120, cases[i].n_bit);
		bmp_peer_down(&f.b, N2, cases[i].reason, cases[i].detail);
		send_all(&f);
		expect_paths(&f.r, cases[i].kept ? P2 " 0/1 up stale 2000000\n" : P2 " 0/1 gone\n");
		end(&f);
	}
}
END_TEST

START_TEST(restart_time_is_kept_and_not_extended)
{
	struct fixture f;

	settle(&f, 20, true);
	bmp_peer_down(&f.b, N2, 2, 0);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/1 up stale 2000000\n");
	for (int i = 0; i < 19; i++) { /* repeated at every failed attempt */
		pass(&f, SECOND);
		bmp_peer_down(&f.b, N2, 2, 0x12);
		if (i == 10) { /* comes and goes */
			bmp_peer_up(&f.b, N2, 20, true);
			bmp_peer_down(&f.b, N2, 2, 0);
		}
		send_all(&f);
	}
	expect_paths(&f.r, "");
	pass(&f, SECOND);
	expect_paths(&f.r, P2 " 0/1 gone\n");
	end(&f);
}
END_TEST

START_TEST(restart_ends_with_end_of_rib)
{
	struct fixture f;

	settle(&f, 20, true);
	bmp_route(&f.b, N2, P3, TWO);
	send_all(&f);
	expect_paths(&f.r, P3 " 0/1 up 2000000\n");
	bmp_peer_down(&f.b, N2, 4, 0);
	send_all(&f);
	f.r.paths[0] = '\0';
	pass(&f, 18 * SECOND);
	bmp_peer_up(&f.b, N2, 20, true);
	bmp_route(&f.b, N2, P3, UNIT);
	send_all(&f);
	expect_paths(&f.r, P3 " 0/1 up 1000000\n"); /* live at once; P2 still stale */
	pass(&f, 4 * SECOND); /* past the restart time: it is up, so that no longer counts */
	expect_paths(&f.r, "");
	bmp_end_of_rib(&f.b, N2, false);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/1 gone\n");
	ck_assert_uint_eq(bmp_station_deadline_ns(f.s), BMP_STATION_NEVER);
	end(&f);
}
END_TEST

START_TEST(restart_ends_with_quiet)
{
	struct fixture f;

	settle(&f, 20, true);
	bmp_peer_down(&f.b, N2, 4, 0);
	bmp_peer_up(&f.b, N2, 20, true);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/1 up stale 2000000\n");
	for (int i = 0; i < 5; i++) { /* each route extends the wait */
		pass(&f, BMP_STATION_QUIET_NS - SECOND);
		bmp_route(&f.b, N2, P3, UNIT);
		send_all(&f);
	}
	expect_paths(&f.r, P3 " 0/1 up 1000000\n");
	pass(&f, BMP_STATION_QUIET_NS - SECOND);
	expect_paths(&f.r, "");
	pass(&f, SECOND);
	expect_paths(&f.r, P2 " 0/1 gone\n");
	/* a session that never goes quiet is swept in the end */
	bmp_route(&f.b, N2, P2, TWO);
	bmp_peer_down(&f.b, N2, 4, 0);
	bmp_peer_up(&f.b, N2, 20, true);
	send_all(&f);
	f.r.paths[0] = '\0';
	for (uint64_t t = 0; t < BMP_STATION_QUIET_LIMIT_NS; t += SECOND) {
		bmp_route(&f.b, N2, P3, UNIT);
		send_all(&f);
		pass(&f, SECOND);
	}
	ck_assert_ptr_nonnull(strstr(f.r.paths, P2 " 0/1 gone\n"));
	end(&f);
}
END_TEST

START_TEST(restart_that_lost_its_forwarding_state)
{
	struct fixture f;

	settle(&f, 20, true);
	bmp_peer_down(&f.b, N2, 4, 0);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/1 up stale 2000000\n");
	bmp_peer_up(&f.b, N2, -1, false);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/1 gone\n");
	end(&f);
}
END_TEST

START_TEST(a_lost_source_leaves_everything_stale)
{
	struct fixture f;

	settle(&f, -1, false); /* graceful restart or not: bgpd is ours */
	bmp_station_lost(f.s, "gone", f.now_ns);
	bmp_station_lost(f.s, "gone", f.now_ns); /* told once */
	bmp_station_commit(f.s);
	expect_paths(&f.r, P2 " 0/0 up stale 2000000\n" P2 " 0/1 up stale 2000000\n");
	ck_assert_str_eq(f.r.states, "syncing\nup\ndown\n");
	pass(&f, STALE_NS - 1);
	expect_paths(&f.r, "");
	pass(&f, 1);
	expect_paths(&f.r, P2 " 0/0 gone\n" P2 " 0/1 gone\n");
	end(&f);
}
END_TEST

/* bgpd was restarted: it begins with Peer Downs, for its sessions are not up yet (seen with
 * FRR 8.4.4). */
START_TEST(a_restarted_bgpd_withdraws_nothing_by_starting)
{
	struct fixture f;

	settle(&f, -1, false);
	bmp_station_lost(f.s, "gone", f.now_ns);
	bmp_station_connected(f.s);
	bmp_initiation(&f.b, "FRRouting 8.4.4");
	bmp_peer_down(&f.b, N0, 2, 0);
	bmp_peer_down(&f.b, N1, 2, 0);
	bmp_peer_down(&f.b, N2, 2, 0);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/0 up stale 2000000\n" P2 " 0/1 up stale 2000000\n");
	pass(&f, 3 * SECOND); /* the source counts as in sync, but those sessions have not spoken */
	ck_assert_str_eq(f.r.states, "syncing\nup\ndown\nsyncing\nup\n");
	expect_paths(&f.r, "");
	bmp_peer_up(&f.b, N0, -1, false);
	bmp_route(&f.b, N0, P2, TWO);
	bmp_peer_up(&f.b, N2, -1, false);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/0 up 2000000\n");
	pass(&f, BMP_STATION_QUIET_NS); /* N2 is back and did not teach it again */
	expect_paths(&f.r, P2 " 0/1 gone\n");
	pass(&f, STALE_NS); /* N1 never came back; what it taught is covered by N0 */
	expect_paths(&f.r, "");
	end(&f);
}
END_TEST

/* The kernel accepts for a bgpd that is stopped: its silence is not the end of an empty table. */
START_TEST(a_source_that_says_nothing_withdraws_nothing)
{
	struct fixture f;

	begin(&f);
	bmp_initiation(&f.b, "FRRouting 8.4.4");
	pass(&f, 60 * SECOND);
	ck_assert_uint_eq(bmp_station_deadline_ns(f.s), BMP_STATION_NEVER);
	ck_assert_int_eq(bmp_station_receive(f.s, f.b.p, f.b.n - 1, f.now_ns, &(const char *){0}),
			 0); /* nor is a message that is cut short */
	pass(&f, 60 * SECOND);
	ck_assert_str_eq(f.r.states, "syncing\n");
	ck_assert_int_eq(
		bmp_station_receive(f.s, f.b.p + f.b.n - 1, 1, f.now_ns, &(const char *){0}), 0);
	ck_assert_str_eq(f.r.routers, "FRRouting 8.4.4\n");
	pass(&f, BMP_STATION_SYNC_QUIET_NS - 1);
	ck_assert_str_eq(f.r.states, "syncing\n");
	pass(&f, 1);
	ck_assert_str_eq(f.r.states, "syncing\nup\n");
	end(&f);
}
END_TEST

/* The station came back just after the sessions did: the dump ends before the peers had anything to
 * say. */
START_TEST(an_empty_dump_withdraws_nothing_at_once)
{
	struct fixture f;

	settle(&f, 120, true);
	bmp_station_lost(f.s, "gone", f.now_ns);
	bmp_station_connected(f.s);
	bmp_peer_up(&f.b, N0, 120, true);
	bmp_peer_up(&f.b, N2, 120, true);
	for (int family = 0; family < 2; family++) {
		bmp_end_of_rib(&f.b, N0, family);
		bmp_end_of_rib(&f.b, N2, family);
	}
	send_all(&f);
	/*
	 * N1 may be about to come up: a bgpd that has just started is not to be taken for one that
	 * knows
	 */
	ck_assert_str_eq(f.r.states, "syncing\nup\ndown\nsyncing\n");
	expect_paths(&f.r, P2 " 0/0 up stale 2000000\n" P2 " 0/1 up stale 2000000\n");
	pass(&f, 2 * SECOND);
	ck_assert_str_eq(f.r.states, "syncing\nup\ndown\nsyncing\nup\n");
	bmp_route(&f.b, N0, P2, TWO);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/0 up 2000000\n");
	pass(&f, BMP_STATION_QUIET_NS - 2 * SECOND);
	expect_paths(&f.r, P2 " 0/1 gone\n"); /* N2 had its time */
	end(&f);
}
END_TEST

/*
 * Station and bgpd have both just started: the dump's End-of-RIBs come before the peers have said
 * anything.
 */
START_TEST(sessions_that_have_taught_nothing_are_not_in_sync)
{
	static const char *const all[] = {N0, N1, N2, "198.18.2.0", "2001:db8:18::"};
	struct fixture f;

	begin(&f);
	for (int i = 0; i < 5; i++) {
		bmp_peer_up(&f.b, all[i], 120, true);
		for (int family = 0; family < 2; family++)
			bmp_end_of_rib(&f.b, all[i], family);
	}
	bmp_route(&f.b, N0, P2, TWO);
	send_all(&f);
	ck_assert_str_eq(f.r.states, "syncing\n");
	pass(&f, 1 * SECOND);
	bmp_route(&f.b, N2, P2, TWO);
	send_all(&f);
	ck_assert_str_eq(f.r.states, "syncing\n");
	pass(&f, 2 * SECOND);
	ck_assert_str_eq(f.r.states, "syncing\nup\n");
	end(&f);
}
END_TEST

/* The same as FRR 8.4.4 showed it: Peer Downs, sessions that come up, routes 1.5 s after them, no
 * End-of-RIB. */
START_TEST(replays_a_restart_of_frr)
{
	struct fixture f;
	const char *reason;
	size_t size;
	uint8_t *data = load("frr-8.4.4-restart.bmp", &size);

	settle(&f, -1, false);
	bmp_station_lost(f.s, "gone", f.now_ns);
	bmp_station_commit(f.s);
	f.r.paths[0] = '\0';
	bmp_station_connected(f.s);
	for (size_t i = 0; i < size; i++) { /* a commit after every byte: nothing may flicker */
		ck_assert_int_eq(bmp_station_receive(f.s, data + i, 1, f.now_ns, &reason), 0);
		bmp_station_commit(f.s);
	}
	expect_paths(&f.r, P2 " 0/0 up 2000000\n2001:db8:19::2 0/0 up 1000000\n");
	end(&f);
	free(data);
}
END_TEST

START_TEST(a_source_that_flaps_does_not_extend_the_wait)
{
	struct fixture f;

	settle(&f, -1, false);
	bmp_station_lost(f.s, "gone", f.now_ns);
	for (int i = 0; i < 11; i++) {
		pass(&f, 10 * SECOND);
		bmp_station_connected(f.s);
		bmp_station_lost(f.s, "gone", f.now_ns);
	}
	bmp_station_commit(f.s);
	expect_paths(&f.r, P2 " 0/0 up stale 2000000\n" P2 " 0/1 up stale 2000000\n");
	pass(&f, 10 * SECOND);
	expect_paths(&f.r, P2 " 0/0 gone\n" P2 " 0/1 gone\n");
	end(&f);
}
END_TEST

START_TEST(does_not_use_a_truncated_sum)
{
	struct fixture f;

	settle(&f, 20, true);
	bmp_route(&f.b, N2, P3, "4efaf080");
	send_all(&f);
	expect_paths(&f.r, P3 " 0/1 up invalid\n");
	end(&f);
}
END_TEST

START_TEST(warns_once_of_a_truncated_sum)
{
	struct fixture f;

	settle(&f, 20, true);
	for (int i = 0; i < 3; i++) {
		bmp_route(&f.b, N0, P2, "4efaf080"); /* 2,105,032,704: two 25,600 Mb/s, cut */
		bmp_route(&f.b, N0, P3, "4efaf080");
	}
	send_all(&f);
	ck_assert_ptr_nonnull(strstr(f.r.logs, "looks cut to 32 bits"));
	ck_assert_ptr_null(strstr(strstr(f.r.logs, "looks cut to 32 bits") + 1, "looks cut"));
	end(&f);
}
END_TEST

START_TEST(scale_and_strangers)
{
	struct fixture f;

	begin(&f);
	f.r.config.bandwidth_scale = 200;
	bmp_route(&f.b, N0, P2, UNIT); /* not up yet: ignored */
	bmp_peer_up(&f.b, "198.18.99.0", 20, true);
	bmp_route(&f.b, "198.18.99.0", P3, UNIT);
	bmp_peer_up(&f.b, N0, 20, true);
	bmp_route(&f.b, N0, P2, UNIT);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/0 up 200000000\n");
	ck_assert_ptr_nonnull(
		strstr(f.r.logs, "none of the configured neighbors address=198.18.99.0"));
	ck_assert_ptr_nonnull(strstr(f.r.logs, "session that is not up"));
	end(&f);
}
END_TEST

#define LEAF "fe80::1" /* on every link */

/* All are of one router: GPU 0 has two links on plane 0, and GPU 1 one. Another has plane 1. */
static void begin_link_local(struct fixture *f)
{
	const struct bgp_neighbor neighbors[5] = {{addr(LEAF), 0, 0, 0, "d0"},
						  {BGP_NEIGHBOR_UNNUMBERED, 0, 0, 1, "d1"},
						  {BGP_NEIGHBOR_UNNUMBERED, 0, 1, 0, "d2"},
						  {addr(LEAF), 1, 0, 0, "d3"},
						  {addr("fe80::2"), 1, 1, 0, "d4"}};

	begin_with(f, neighbors);
}

static void put_link_up(struct fixture *f, unsigned neighbor, uint32_t as)
{
	size_t start = f->b.n;

	bmp_peer_up_of(&f->b, LEAF, as, -1, false);
	f->b.p[start + 6 + 42 + 16] = 0;
	f->b.p[start + 6 + 42 + 17] = (uint8_t)neighbor; /* local port */
	f->b.p[start + 6 + 26 + 2] = (uint8_t)(as >> 8);
	f->b.p[start + 6 + 26 + 3] = (uint8_t)as;
}

static void link_up(struct fixture *f, unsigned neighbor, uint32_t as)
{
	put_link_up(f, neighbor, as);
	f->open[neighbor] = true;
	send_all(f);
}

static void link_down(struct fixture *f, unsigned neighbor, const char *from)
{
	f->open[neighbor] = false;
	bmp_peer_down(&f->b, from, 2, 0x12);
	send_all(f);
}

/* FRR's headers are the same for all sessions with one router, and Peer Down lacks the address. */
START_TEST(link_local_sessions_are_told_apart)
{
	struct fixture f;

	begin_link_local(&f);
	link_up(&f, 0, 65101);
	link_up(&f, 1, 65101);
	link_up(&f, 3, 65101);
	link_up(&f, 2, 65102);
	bmp_route(&f.b, LEAF, P2, UNIT);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/0 up 1000000\n" P2 " 1/0 up 1000000\n");
	link_down(&f, 0, "0.0.0.0");
	expect_paths(&f.r, "");
	ck_assert_int_eq(bmp_station_session(f.s, 0), BMP_SESSION_DOWN);
	ck_assert_int_eq(bmp_station_session(f.s, 1), BMP_SESSION_UP);
	bmp_peer_down(&f.b, LEAF, 2, 0); /* of one that was not up */
	send_all(&f);
	ck_assert_int_eq(bmp_station_session(f.s, 1), BMP_SESSION_UP);
	link_down(&f, 3, LEAF);
	expect_paths(&f.r, P2 " 1/0 gone\n");
	bmp_route(&f.b, LEAF, P2, TWO);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/0 up 2000000\n");
	link_up(&f, 0, 65101);
	expect_paths(&f.r, "");
	link_down(&f, 1, "0.0.0.0");
	bmp_withdraw(&f.b, LEAF, P2);
	send_all(&f);
	expect_paths(&f.r, P2 " 0/0 gone\n");
	ck_assert_int_eq(bmp_station_session(f.s, 2), BMP_SESSION_UP);
	ck_assert_int_eq(bmp_station_session(f.s, 4), BMP_SESSION_UNKNOWN);
	end(&f);
}
END_TEST

START_TEST(a_link_local_session_of_no_sub_port_is_a_stranger)
{
	struct fixture f;

	begin_link_local(&f);
	link_up(&f, 4, 65101); /* fe80::1, where fe80::2 was to be */
	ck_assert_uint_eq(bmp_station_seen(f.s)->kinds[BMP_SEEN_STRANGER].n, 1);
	ck_assert_int_eq(bmp_station_session(f.s, 4), BMP_SESSION_UNKNOWN);
	end(&f);
}
END_TEST

START_TEST(a_link_local_session_that_has_gone_already_is_no_stranger)
{
	struct fixture f;

	begin_link_local(&f);
	put_link_up(&f, 0, 65101);
	bmp_peer_down(&f.b, LEAF, 2, 0x12);
	send_all(&f);
	ck_assert_uint_eq(bmp_station_seen(f.s)->kinds[BMP_SEEN_STRANGER].n, 0);
	ck_assert_ptr_nonnull(strstr(f.r.logs, "whose connection is gone address=fe80::1"));
	link_up(&f, 0, 65101);
	ck_assert_int_eq(bmp_station_session(f.s, 0), BMP_SESSION_UP);
	end(&f);
}
END_TEST

/* Old and new state, and why: once for each change. */
START_TEST(changes_of_a_session_are_logged)
{
	struct fixture f;

	settle(&f, -1, false);
	ck_assert_ptr_nonnull(
		strstr(f.r.logs, "session neighbor=" N0 " down -> up reason=\"Peer Up\""));
	bmp_peer_down(&f.b, N0, 2, 0);
	bmp_peer_down(&f.b, N0, 2, 0);
	send_all(&f);
	ck_assert_ptr_nonnull(strstr(f.r.logs, "session neighbor=" N0
					       " up -> down reason=\"Peer Down, reason 2, code "));
	bmp_station_lost(f.s, "closed by bgpd", f.now_ns);
	ck_assert_ptr_nonnull(
		strstr(f.r.logs, "session neighbor=" N1 " up -> down reason=\"closed by bgpd\""));
	ck_assert_ptr_null(
		strstr(strstr(f.r.logs, N0 " up -> down") + 1, N0 " up -> down")); /* once */
	end(&f);
}
END_TEST

START_TEST(logs_are_limited)
{
	struct fixture f;
	unsigned lines = 0;

	begin(&f);
	for (int i = 0; i < 500; i++) {
		bmp_route(&f.b, N0, P2, UNIT);
		send_all(&f);
	}
	for (const char *c = f.r.logs; *c; c++)
		lines += *c == '\n';
	ck_assert_uint_le(lines, 21);
	pass(&f, 2 * SECOND);
	bmp_route(&f.b, N0, P2, UNIT);
	send_all(&f);
	ck_assert_ptr_nonnull(strstr(f.r.logs, "held_back=480"));
	end(&f);
}
END_TEST

RUN_TESTS("bmp_station", learns_and_coalesces, any_cut_of_the_stream_is_the_same_stream,
	  replays_a_drill_of_frr, filters_what_is_no_peer,
	  a_route_made_unusable_replaces_the_usable_one, an_as_path_that_is_too_long_is_told,
	  an_internal_route_has_no_as_path, what_is_no_peer_is_noted,
	  bad_messages_cost_only_themselves, lost_framing_ends_the_stream,
	  peer_down_without_graceful_restart_withdraws, peer_down_by_reason,
	  restart_time_is_kept_and_not_extended, restart_ends_with_end_of_rib,
	  restart_ends_with_quiet, restart_that_lost_its_forwarding_state,
	  a_lost_source_leaves_everything_stale, a_restarted_bgpd_withdraws_nothing_by_starting,
	  a_source_that_says_nothing_withdraws_nothing, an_empty_dump_withdraws_nothing_at_once,
	  replays_a_restart_of_frr, sessions_that_have_taught_nothing_are_not_in_sync,
	  a_source_that_flaps_does_not_extend_the_wait, warns_once_of_a_truncated_sum,
	  does_not_use_a_truncated_sum, scale_and_strangers, link_local_sessions_are_told_apart,
	  a_link_local_session_of_no_sub_port_is_a_stranger,
	  a_link_local_session_that_has_gone_already_is_no_stranger,
	  changes_of_a_session_are_logged, logs_are_limited)
