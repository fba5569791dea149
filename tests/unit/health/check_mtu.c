/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What path MTU a path carries, and by which sub-ports: over a network that is two tables of sizes,
 * with losses and queues, in time that is simulated.
 */
#include "mtu.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "health_limits.h"

#define MS	UINT64_C(1000000)
#define PORTS	16u
#define RTT_NS	(2 * MS)
#define STEP_NS (3 * MS)

static struct mtu m;
static uint64_t now, settle_ns; /* unanswered for so long it is lost */
static uint64_t pace_ns;	/* of rounds, while nothing is in doubt */
static uint32_t seed, live;
static int8_t remote[PORTS];
static unsigned carries[GRAY_SIDES][GRAY_MAX_SUB_PORTS]; /* path MTUs */
static unsigned lost_percent, padded_percent;		 /* of all, and more of padded ones */
static bool is_old;					 /* the peer reports no sizes */
static unsigned n_sent, n_padded;
static struct under_way {
	struct mtu_round round;
	int8_t remote;
	bool is_open; /* not answered yet */
} way[MTU_ROUNDS];

static void setup(void)
{
	memset(&m, 0, sizeof(m));
	memset(way, 0, sizeof(way));
	mtu_init(&m, 5);
	now = 1000 * MS;
	seed = 1;
	live = 3;
	lost_percent = padded_percent = n_sent = n_padded = 0;
	is_old = false;
	settle_ns = 110 * MS;
	pace_ns = 12 * MS;
	for (unsigned i = 0; i < PORTS; i++)
		remote[i] = (int8_t)(i % 2);
	for (int side = 0; side < GRAY_SIDES; side++)
		for (unsigned s = 0; s < GRAY_MAX_SUB_PORTS; s++)
			carries[side][s] = 5;
}

static bool is_lost(unsigned percent)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % 100 < percent;
}

static bool arrives(const struct mtu_round *r, int8_t to, uint32_t k)
{
	if (is_lost(lost_percent) || is_lost(lost_percent))
		return false;
	if (k != MTU_PADDED)
		return true;
	return !is_lost(padded_percent) && r->number <= carries[GRAY_LOCAL][r->local] &&
	       r->number <= carries[GRAY_REMOTE][to];
}

static void answer(struct under_way *w)
{
	for (uint32_t k = 0; k < MTU_PROBES; k++) {
		bool is_sent = k == MTU_PADDED ? w->round.number : w->round.has_short, changed;

		n_sent += is_sent;
		n_padded += is_sent && k == MTU_PADDED;
		if (is_sent && arrives(&w->round, w->remote, k) && !is_old)
			ck_assert(mtu_answered(
				&m, w->round.sequence + k, w->round.nonce, w->remote,
				k == MTU_PADDED ? path_mtu_datagram_bytes(w->round.number) : 90,
				now, &changed));
	}
	w->is_open = false;
}

static void step(void)
{
	struct mtu_routes routes = {live, remote, PORTS};
	struct mtu_round r;

	now += STEP_NS;
	for (unsigned i = 0; i < MTU_ROUNDS; i++)
		if (way[i].is_open && now >= way[i].round.sent_ns + RTT_NS)
			answer(&way[i]);
	mtu_settle(&m, now - settle_ns, now);
	if (now < mtu_due_ns(&m, pace_ns))
		return;
	if (mtu_next(&m, &routes, now, now, &r))
		way[r.sequence / 4 % MTU_ROUNDS] = (struct under_way){r, remote[r.port], true};
}

static void run(uint64_t ms)
{
	for (uint64_t end = now + ms * MS; now < end;)
		step();
}

static unsigned carried(void)
{
	bool proven;
	unsigned number = mtu_carried(&m, &proven);

	return proven ? number : 100 + number;
}

static void expect(unsigned path, uint32_t local, uint32_t far)
{
	ck_assert_uint_eq(carried(), path);
	ck_assert_uint_eq(mtu_small(&m, GRAY_LOCAL), local);
	ck_assert_uint_eq(mtu_small(&m, GRAY_REMOTE), far);
}

START_TEST(a_whole_path_is_proven_at_a_low_rate)
{
	run(1000);
	expect(5, 0, 0);
	n_sent = n_padded = 0;
	run(10000);
	expect(5, 0, 0);
	ck_assert_uint_eq(n_sent, n_padded); /* no short ones while there is no doubt */
	ck_assert_uint_ge(n_sent, 38);
	ck_assert_uint_le(n_sent, 41);
}
END_TEST

/* Runs, and no sub-port but those of that side may be taken for small. */
static void run_watching(uint64_t ms, enum gray_side side, uint32_t which)
{
	for (uint64_t end = now + ms * MS; now < end;) {
		step();
		ck_assert_uint_eq(mtu_small(&m, 1 - side), 0);
		ck_assert_uint_eq(mtu_small(&m, side) & ~which, 0);
	}
}

/* Within 3 s that sub-port is out, and what it carries is known a little later. */
START_TEST(one_sub_port_is_found)
{
	enum gray_side side = _i % 2 ? GRAY_REMOTE : GRAY_LOCAL;
	unsigned s = (unsigned)_i / 2 % 2, size = (unsigned)_i / 4 % 5;

	for (unsigned phase = 0; phase < 20; phase++) {
		setup();
		seed = phase;
		settle_ns = (110 + phase * 20) * MS;
		run(2000 + phase * 137);
		carries[side][s] = size;
		run_watching(2200 + 2 * (settle_ns / MS - 110), side, 1u << s);
		ck_assert_uint_eq(mtu_small(&m, side), 1u << s);
		run_watching(4000, side, 1u << s);
		expect(5, side == GRAY_LOCAL ? 1u << s : 0, side == GRAY_REMOTE ? 1u << s : 0);
		ck_assert_uint_eq(m.parts[side][s].passes, size);
		carries[side][s] = 5;
		run_watching(20000, side, 1u << s);
		expect(5, 0, 0);
		ck_assert_uint_eq(m.parts[side][s].passes, 5);
	}
}
END_TEST

START_TEST(one_sub_port_of_eight_is_found)
{
	live = 255;
	for (unsigned i = 0; i < PORTS; i++)
		remote[i] = (int8_t)(i % 8);
	run(3000);
	carries[_i % 2][_i / 2] = 3;
	run_watching(3000, _i % 2, 1u << _i / 2);
	ck_assert_uint_eq(mtu_small(&m, _i % 2), 1u << _i / 2);
	ck_assert_uint_eq(mtu_small(&m, 1 - _i % 2), 0);
}
END_TEST

START_TEST(both_ends_may_have_one)
{
	run(2000);
	carries[GRAY_LOCAL][1] = 3;
	carries[GRAY_REMOTE][0] = 2;
	run(6000);
	expect(5, 2, 1);
}
END_TEST

/* No sub-port is better: it is the path; smaller packets pass, and then larger ones again. */
START_TEST(the_whole_path_may_carry_less)
{
	unsigned size = (unsigned)_i % 5;
	bool proven;

	live = _i / 5 % 2 ? 1 : 3;
	if (_i / 10)
		memset(remote, 0, sizeof(remote));
	run(2000);
	for (unsigned s = 0; s < 2; s++)
		carries[_i / 5 % 2][s] = size;
	run(2500);
	ck_assert_uint_lt(mtu_carried(&m, &proven), 5);
	run(2500);
	ck_assert_uint_eq(mtu_carried(&m, &proven), size);
	ck_assert(proven || !size);
	for (unsigned s = 0; s < 2; s++)
		carries[_i / 5 % 2][s] = 5;
	run(20000);
	expect(5, 0, 0);
}
END_TEST

/* A sub-port whose device is smaller is out at once, and back when probes pass. */
/* Without traffic an ordinary probe leaves once a second: an operator waits 5 s at most. */
START_TEST(an_idle_path_is_known_in_time)
{
	uint64_t began;

	pace_ns = HEALTH_MTU_SLOWER * 1000 * MS;
	run(40000);
	expect(5, 0, 0);
	run(100 * (unsigned)_i); /* wherever it is between two rounds */
	for (unsigned s = 0; s < 2; s++)
		carries[GRAY_REMOTE][s] = 3;
	began = now;
	while (carried() == 5 && now < began + 20000 * MS)
		step();
	ck_assert_uint_le((now - began) / MS, 4800);
}
END_TEST

START_TEST(a_device_is_known)
{
	run(2000);
	carries[GRAY_LOCAL][1] = 2;
	ck_assert(mtu_limit(&m, 1, 2));
	ck_assert(!mtu_limit(&m, 1, 2));
	expect(5, 2, 0);
	run(3000);
	expect(5, 2, 0);
	carries[GRAY_LOCAL][1] = 5;
	mtu_limit(&m, 1, 5);
	expect(5, 2, 0);
	run(15000);
	expect(5, 0, 0);
}
END_TEST

/* Losses of any size are nothing, however many; nor are queues that drop large packets. */
START_TEST(losses_are_no_path_mtu)
{
	static const struct {
		unsigned all, padded;
	} losses[] = {{1, 0},  {10, 0}, {30, 0}, {50, 0}, {60, 0}, {80, 0},
		      {0, 20}, {2, 20}, {0, 40}, {5, 30}, {100, 0}};

	run(1000);
	for (seed = 1000; seed < 1020; seed++) {
		lost_percent = losses[_i].all;
		padded_percent = losses[_i].padded;
		for (unsigned i = 0; i < 200; i++) {
			bool proven;

			run(300);
			ck_assert_uint_eq(mtu_carried(&m, &proven), 5);
			ck_assert_uint_eq(mtu_small(&m, GRAY_LOCAL) | mtu_small(&m, GRAY_REMOTE),
					  0);
		}
	}
}
END_TEST

/* It is found all the same where one in fifty is lost. */
START_TEST(it_is_found_among_losses)
{
	lost_percent = 2;
	seed = (uint32_t)_i;
	run(2000);
	carries[GRAY_REMOTE][1] = 3;
	run(3500);
	ck_assert_uint_eq(mtu_small(&m, GRAY_REMOTE), 2);
}
END_TEST

START_TEST(an_older_peer_is_not_judged)
{
	is_old = true;
	run(20000);
	ck_assert_uint_eq(n_padded, 0);
	ck_assert_uint_eq(carried(), 105);
	is_old = false;
	run(3000);
	expect(5, 0, 0);
	is_old = true; /* it was replaced by an older one */
	run(20000);
	ck_assert_uint_eq(carried(), 5);
}
END_TEST

START_TEST(answers_are_checked)
{
	struct mtu_routes routes = {live, remote, PORTS};
	struct mtu_round r;
	bool changed;

	m.takes_padding = true;
	ck_assert(mtu_next(&m, &routes, now, 77, &r));
	ck_assert_uint_eq(r.number, 5);
	ck_assert(!mtu_answered(&m, r.sequence + 1, 78, 0, 4132, now, &changed));
	ck_assert(!mtu_answered(&m, r.sequence + 1, 77, 0, 4131, now, &changed)); /* cut short */
	ck_assert(!mtu_answered(&m, r.sequence + 3, 77, 0, 4132, now, &changed));
	ck_assert(!mtu_answered(&m, r.sequence + 4 * MTU_ROUNDS + 1, 77, 0, 4132, now, &changed));
	ck_assert(mtu_answered(&m, r.sequence + 1, 77, 100, 4132, now, &changed));
	ck_assert(changed);
	ck_assert(mtu_answered(&m, r.sequence + 1, 77, 0, 4132, now, &changed)); /* twice */
	ck_assert(!changed);
	ck_assert(mtu_next(&m, &routes, now, 79, &r));
	mtu_void(&m, r.local);
	ck_assert(mtu_answered(&m, r.sequence + 1, 79, 0, 4132, now, &changed));
	ck_assert(!changed);
	routes.live = 0;
	ck_assert(!mtu_next(&m, &routes, now, 80, &r));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mtu");
	TCase *tc = tcase_create("core");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_whole_path_is_proven_at_a_low_rate);
	tcase_add_loop_test(tc, one_sub_port_is_found, 0, 20);
	tcase_add_loop_test(tc, one_sub_port_of_eight_is_found, 0, 16);
	tcase_add_test(tc, both_ends_may_have_one);
	tcase_add_loop_test(tc, the_whole_path_may_carry_less, 0, 20);
	tcase_add_loop_test(tc, an_idle_path_is_known_in_time, 0, 40);
	tcase_add_test(tc, a_device_is_known);
	tcase_add_loop_test(tc, losses_are_no_path_mtu, 0, 11);
	tcase_add_loop_test(tc, it_is_found_among_losses, 0, 40);
	tcase_add_test(tc, an_older_peer_is_not_judged);
	tcase_add_test(tc, answers_are_checked);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
