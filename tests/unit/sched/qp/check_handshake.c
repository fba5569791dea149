/* SPDX-License-Identifier: BSD-2-Clause */
/* When handshake messages are sent again, and whose turn it is. */
#include <check.h>
#include <stdlib.h>

#include "qp/handshake.h"

#define MS UINT64_C(1000000)
#define N  400

static struct handshake_pace pace;
static struct run_item *queue, items[N];
static struct handshake groups[N];
static uint64_t now_ns;

static void setup(void)
{
	now_ns = 1;
	pace = (struct handshake_pace){0};
	queue = NULL;
	for (unsigned i = 0; i < N; i++) {
		items[i] = (struct run_item){.queue = &queue};
		groups[i] = (struct handshake){.run = &items[i]};
	}
}

static unsigned count(enum handshake_state state)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N; i++)
		n += groups[i].state == state;
	return n;
}

START_TEST(intervals_follow_the_round_trip)
{
	struct handshake_rtt rtt = {0};

	ck_assert_uint_eq(handshake_resend_ns(&rtt, 0), 100 * MS);
	ck_assert_uint_eq(handshake_resend_ns(&rtt, 2), 400 * MS);
	handshake_rtt_sample(&rtt, 40 * MS);
	ck_assert_uint_eq(handshake_resend_ns(&rtt, 0), 120 * MS); /* RFC 6298 (2.2) */
	for (unsigned i = 0; i < 100; i++)
		handshake_rtt_sample(&rtt, 40 * MS);
	ck_assert_uint_ge(handshake_resend_ns(&rtt, 0), 40 * MS);
	ck_assert_uint_le(handshake_resend_ns(&rtt, 0), 41 * MS);
	for (unsigned i = 0; i < 200; i++)
		handshake_rtt_sample(&rtt, 1000);
	ck_assert_uint_eq(handshake_resend_ns(&rtt, 0), 5 * MS);
	for (unsigned n = 0; n < 100; n++)
		ck_assert_uint_le(handshake_resend_ns(&rtt, n), 500 * MS);
	ck_assert_uint_eq(handshake_resend_ns(&rtt, 99), 500 * MS);
	for (unsigned i = 0; i < 100; i++)
		handshake_rtt_sample(&rtt, 10000 * MS);
	ck_assert_uint_eq(handshake_resend_ns(&rtt, 99), 500 * MS);
	for (unsigned i = 0; i < 100; i++)
		handshake_rtt_sample(&rtt, 0); /* a clock that stands still */
	ck_assert_uint_eq(handshake_resend_ns(&rtt, 0), 5 * MS);
}
END_TEST

START_TEST(so_many_at_a_time_and_in_order)
{
	unsigned begun = 0;

	for (unsigned i = 0; i < N; i++)
		begun += handshake_begin(&pace, &groups[i]);
	ck_assert_uint_gt(begun, 0);
	ck_assert_uint_lt(begun, N);
	ck_assert_uint_eq(count(HANDSHAKE_ACTIVE), begun);
	ck_assert(!handshake_begin(&pace, &groups[N - 1])); /* to ask again changes nothing */
	ck_assert(handshake_begin(&pace, &groups[0]));
	handshake_end(&pace, &groups[0]); /* one place is free, and one more there is */
	ck_assert_int_eq(groups[begun].state, HANDSHAKE_ACTIVE);
	ck_assert(items[begun].is_queued);
	ck_assert_int_eq(groups[begun + 1].state, HANDSHAKE_ACTIVE);
	ck_assert_int_eq(groups[begun + 2].state, HANDSHAKE_WAITING);
	/* one that is closed while it waits */
	handshake_end(&pace, &groups[begun + 2]);
	handshake_end(&pace, &groups[begun]);
	ck_assert_int_eq(groups[begun + 3].state, HANDSHAKE_ACTIVE);
	/* it may be over twice */
	handshake_end(&pace, &groups[0]);
	for (unsigned i = 1; i < N; i++)
		if (i != begun && i != begun + 2)
			handshake_end(&pace, &groups[i]);
	ck_assert_uint_eq(pace.n_active, 0);
	ck_assert_ptr_null(pace.waiting);
	ck_assert_uint_eq(count(HANDSHAKE_NONE), N);
}
END_TEST

START_TEST(losses_cut_their_number)
{
	unsigned begun = 0, most;

	now_ns = 1000 * MS;
	for (unsigned i = 0; i < N; i++)
		begun += handshake_begin(&pace, &groups[i]);
	for (unsigned i = 0; i < 2 * begun; i++)
		handshake_end(&pace, &groups[i]);
	most = pace.n_active;
	ck_assert_uint_eq(most, 3 * begun);
	handshake_congested(&pace, now_ns);
	handshake_congested(&pace, now_ns); /* the same event */
	for (unsigned i = 2 * begun; pace.n_active > most / 2; i++)
		handshake_end(&pace, &groups[i]);
	ck_assert_uint_ge(pace.n_active, most / 2);
	for (unsigned i = 0; i < 20; i++) {
		now_ns += 100 * MS;
		handshake_congested(&pace, now_ns);
	}
	for (unsigned i = 0; i < N; i++)
		handshake_end(&pace, &groups[i]);
	ck_assert_uint_eq(pace.n_active, 0);
	pace.limit = 0;
	for (unsigned i = begun = 0; i < N; i++)
		begun += handshake_begin(&pace, &groups[i]);
	ck_assert_uint_gt(begun, 0); /* never none */
}
END_TEST

/* Peers that do not answer keep nobody waiting. */
START_TEST(one_that_yields_goes_on_and_lets_others_in)
{
	unsigned begun = 0;

	for (unsigned i = 0; i < N; i++)
		begun += handshake_begin(&pace, &groups[i]);
	for (unsigned i = 0; i < begun; i++) {
		handshake_yield(&pace, &groups[i]);
		handshake_yield(&pace, &groups[i]);
		ck_assert(handshake_begin(&pace, &groups[i]));
	}
	ck_assert_uint_eq(count(HANDSHAKE_YIELDED), begun);
	ck_assert_uint_eq(count(HANDSHAKE_ACTIVE), begun);
	ck_assert_uint_eq(pace.n_active, begun);
	for (unsigned i = 0; i < N; i++)
		handshake_end(&pace, &groups[i]);
	ck_assert_uint_eq(pace.n_active, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("handshake");
	TCase *tc = tcase_create("all");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, intervals_follow_the_round_trip);
	tcase_add_test(tc, so_many_at_a_time_and_in_order);
	tcase_add_test(tc, losses_cut_their_number);
	tcase_add_test(tc, one_that_yields_goes_on_and_lets_others_in);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
