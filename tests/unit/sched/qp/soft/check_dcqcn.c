/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "dcqcn_model.h"
#include "qp/provider.h"
#include "qp/soft/dcqcn.h"

#define LINE 40e9
#define US   UINT64_C(1000)

static struct dcqcn d;

static void setup(void)
{
	struct dcqcn_config c = dcqcn_published(LINE);

	dcqcn_init(&d, &c);
}

START_TEST(the_line_is_free_until_the_first_cnp)
{
	dcqcn_advance(&d, 10000000 * US, 1u << 30);
	ck_assert_double_eq(d.rate_bps, LINE);
	ck_assert_double_eq(d.alpha, 1);
	dcqcn_cnp(&d, 10000000 * US);
	ck_assert_double_eq(d.rate_bps, LINE / 2);
	ck_assert_double_eq(d.target_bps, LINE);
	ck_assert_double_eq(d.alpha, 1);
}
END_TEST

START_TEST(alpha_follows_the_share_of_intervals_with_a_cnp)
{
	double g = 1. / 256;

	dcqcn_cnp(&d, 0);
	dcqcn_advance(&d, 54 * US, 0);
	ck_assert_double_eq(d.alpha, 1);
	dcqcn_advance(&d, 3 * 55 * US, 0); /* late: three at once */
	ck_assert_double_eq_tol(d.alpha, pow(1 - g, 3), 1e-12);
	dcqcn_cnp(&d, 170 * US);
	ck_assert_double_eq_tol(d.alpha, pow(1 - g, 4) + g, 1e-12);
	dcqcn_advance(&d, 224 * US, 0); /* the interval begins anew with a CNP */
	ck_assert_double_eq_tol(d.alpha, pow(1 - g, 4) + g, 1e-12);
}
END_TEST

/* Fast recovery halves the distance four times; the fifth expiry raises the target. */
START_TEST(the_timer_recovers_then_adds)
{
	double rate = LINE / 4;

	dcqcn_cnp(&d, 0);
	dcqcn_cnp(&d, 0);
	ck_assert_double_eq(d.rate_bps, rate);
	ck_assert_double_eq(d.target_bps, LINE / 2);
	for (unsigned i = 1; i < 5; i++) {
		dcqcn_advance(&d, i * 55 * US, 0);
		rate = (rate + LINE / 2) / 2;
		ck_assert_double_eq(d.rate_bps, rate);
		ck_assert_double_eq(d.target_bps, LINE / 2);
	}
	dcqcn_advance(&d, 5 * 55 * US, 0);
	ck_assert_double_eq(d.target_bps, LINE / 2 + 40e6);
	dcqcn_advance(&d, 9 * 55 * US, 0); /* never hyper without bytes */
	ck_assert_double_eq(d.target_bps, LINE / 2 + 5 * 40e6);
	dcqcn_cnp(&d, 9 * 55 * US);
	ck_assert_uint_eq(d.n_timer, 0);
}
END_TEST

START_TEST(bytes_recover_too_and_both_are_hyper)
{
	dcqcn_cnp(&d, 0);
	dcqcn_cnp(&d, 0);
	dcqcn_advance(&d, 0, 9999999);
	ck_assert_double_eq(d.rate_bps, LINE / 4);
	dcqcn_advance(&d, 0, 1);
	ck_assert_double_eq(d.rate_bps, LINE * 3 / 8);
	dcqcn_advance(&d, 0, 5 * d.config.bytes);
	ck_assert_double_eq(d.target_bps, LINE / 2 + 2 * 40e6);
	dcqcn_advance(&d, 5 * 55 * US, 0);
	ck_assert_double_eq(d.target_bps, LINE / 2 + 7 * 40e6);
	dcqcn_advance(&d, 6 * 55 * US, 0); /* more than F of both */
	ck_assert_double_eq(d.target_bps, LINE / 2 + 7 * 40e6 + 400e6);
	dcqcn_advance(&d, 7 * 55 * US, d.config.bytes); /* the timer's first: still 6 of bytes */
	ck_assert_double_eq(d.target_bps, LINE / 2 + 7 * 40e6 + 400e6 + 400e6 + 800e6);
}
END_TEST

START_TEST(it_stays_between_least_rate_and_line)
{
	for (unsigned i = 0; i < 100; i++)
		dcqcn_cnp(&d, 0);
	ck_assert_double_eq(d.rate_bps, LINE / 100);
	dcqcn_advance(&d, 3600000000 * US, 0); /* idle for an hour */
	ck_assert_double_eq(d.rate_bps, LINE);
	ck_assert_double_eq(d.target_bps, LINE);
	ck_assert_double_le(d.alpha, 1e-9);
}
END_TEST

/* As many packets in an interval of a slow line, and rates in proportion. */
START_TEST(a_slow_line_has_longer_intervals)
{
	struct dcqcn_config slow = dcqcn_published(1e9), fast = dcqcn_published(400e9);

	ck_assert_uint_eq(slow.timer_ns, 40 * 55 * US);
	ck_assert_double_eq_tol(slow.rai_bps, 1e6, 1);
	ck_assert_uint_eq(fast.timer_ns, 55 * US);
	ck_assert_double_eq_tol(fast.rai_bps, 400e6, 1);
}
END_TEST

/* A group's own values, each by itself, and the ranges that provider.h has. */
START_TEST(a_group_has_its_own_parameters)
{
	struct qp_dcqcn tuning = {.g_ppb = 62500000, .timer_us = 5500, .rai_kbps = 100};
	struct dcqcn_config c = dcqcn_tuned(50e6, &tuning), p = dcqcn_published(50e6);

	ck_assert_double_eq_tol(c.g, 1. / 16, 1e-12);
	ck_assert_uint_eq(c.timer_ns, 5500 * US);
	ck_assert_uint_eq(c.alpha_ns, 5500 * US);
	ck_assert_uint_eq(c.cnp_ns, 5000 * US);
	ck_assert_double_eq_tol(c.rai_bps, 100e3, 1e-6);
	ck_assert_double_eq_tol(c.rhai_bps, 1e6, 1e-6);
	ck_assert_uint_eq(c.bytes, p.bytes);
	ck_assert_ptr_null(dcqcn_wrong(&tuning));
	tuning = (struct qp_dcqcn){.counter_bytes = 100000};
	c = dcqcn_tuned(50e6, &tuning);
	ck_assert_uint_eq(c.bytes, 100000);
	ck_assert_uint_eq(c.timer_ns, p.timer_ns);
	ck_assert_uint_eq(c.cnp_ns, p.cnp_ns);
	ck_assert_double_eq(c.rai_bps, p.rai_bps);
	ck_assert_double_eq(c.g, p.g);
	ck_assert_str_eq(dcqcn_wrong(&(struct qp_dcqcn){.g_ppb = 1000000001}), "g_ppb");
	ck_assert_str_eq(dcqcn_wrong(&(struct qp_dcqcn){.timer_us = 9}), "timer_us");
	ck_assert_str_eq(dcqcn_wrong(&(struct qp_dcqcn){.timer_us = 10000001}), "timer_us");
	ck_assert_str_eq(dcqcn_wrong(&(struct qp_dcqcn){.counter_bytes = 999}), "counter_bytes");
	ck_assert_str_eq(dcqcn_wrong(&(struct qp_dcqcn){.rai_kbps = 1000000001}), "rai_kbps");
}
END_TEST

/* ---- flows over one queue ---- */

#define MOST   32u
#define PACKET 1000.
#define K_MIN  5e3 /* Zhu et al., 2015 */
#define K_MAX  200e3
#define P_MAX  0.1 /* ten times theirs: the fixed point of 16 flows lies on the ramp */
#define CNP_US 50u

/* Several reaction points, a queue that marks by RED, and a notification point for each. */
static struct fluid {
	struct dcqcn flow[MOST];
	double queue, credit[MOST], sent[MOST], marks, packets;
	uint64_t now_us, seed;
	bool is_marked[MOST];
} f;

static void fluid_join(unsigned from, unsigned to)
{
	struct dcqcn_config c = dcqcn_published(LINE);

	for (unsigned i = from; i < to; i++)
		dcqcn_init(&f.flow[i], &c);
}

static double draw(void)
{
	f.seed = f.seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(f.seed >> 11) / 9007199254740992.;
}

static double marking(double queue)
{
	return queue <= K_MIN ? 0 : queue > K_MAX ? 1 : P_MAX * (queue - K_MIN) / (K_MAX - K_MIN);
}

/*
 * The notification point is the model's: at the end of each interval, a CNP if a packet in it was
 * marked. One that sends at once and is then silent for an interval lets p rise by two fifths.
 */
static void flow_step(unsigned i, double p)
{
	struct dcqcn *flow = &f.flow[i];
	double bytes = flow->rate_bps / 8e6;

	f.queue += bytes;
	f.sent[i] += bytes;
	dcqcn_advance(flow, f.now_us * US, (uint64_t)bytes);
	for (f.credit[i] += bytes; f.credit[i] >= PACKET; f.credit[i] -= PACKET) {
		bool marked = draw() < p;

		f.packets++;
		f.marks += marked;
		f.is_marked[i] |= marked;
	}
	if (f.is_marked[i] && (f.now_us + 3 * i) % CNP_US == 0) {
		f.is_marked[i] = false;
		dcqcn_cnp(flow, f.now_us * US);
	}
}

/* A microsecond. */
static void fluid_step(unsigned n)
{
	double p = marking(f.queue);

	f.now_us++;
	for (unsigned i = 0; i < n; i++)
		flow_step(i, p);
	f.queue = fmax(f.queue - LINE / 8e6, 0);
}

static const unsigned flows[] = {4, 8, 16};

START_TEST(flows_settle_at_the_published_fixed_point)
{
	unsigned n = flows[_i];
	double expected = dcqcn_model_marked(LINE, PACKET, n), sum = 0;

	f = (struct fluid){.seed = 7};
	fluid_join(0, n);
	for (unsigned i = 0; i < 200000; i++)
		fluid_step(n);
	f.packets = f.marks = 0;
	for (unsigned i = 0; i < n; i++)
		f.sent[i] = 0;
	for (unsigned i = 0; i < 1000000; i++)
		fluid_step(n);
	for (unsigned i = 0; i < n; i++)
		sum += f.sent[i];
	printf("%u flows: marked %.5f, model %.5f, of the line %.3f, shares", n,
	       f.marks / f.packets, expected, sum / (LINE / 8));
	for (unsigned i = 0; i < n; i++)
		printf(" %.2f", f.sent[i] / (sum / n));
	printf("\n");
	ck_assert_double_eq_tol(f.marks / f.packets, expected, expected * 0.2);
	ck_assert_double_eq_tol(sum, LINE / 8, LINE / 8 * 0.05);
	for (unsigned i = 0; i < n; i++)
		ck_assert_double_eq_tol(f.sent[i], sum / n, sum / n * 0.2);
}
END_TEST

/*
 * As many join. A gap between rates shrinks by alpha / 2 at each CNP: at the fixed point of 8 flows
 * that is a factor e in 4 ms, and one JFI of 0.95 in about 10.
 */
START_TEST(those_that_join_get_their_share)
{
	unsigned m = flows[_i], bad_ms = 0;

	f = (struct fluid){.seed = 11};
	fluid_join(0, m);
	for (unsigned i = 0; i < 200000; i++)
		fluid_step(m);
	fluid_join(m, 2 * m);
	for (unsigned ms = 10; ms <= 400; ms += 10) {
		double sum = 0, squares = 0, jfi;

		for (unsigned i = 0; i < 2 * m; i++)
			f.sent[i] = 0;
		for (unsigned i = 0; i < 10000; i++)
			fluid_step(2 * m);
		for (unsigned i = 0; i < 2 * m; i++) {
			sum += f.sent[i];
			squares += f.sent[i] * f.sent[i];
		}
		jfi = sum * sum / (2 * m * squares);
		if (jfi < 0.95)
			bad_ms = ms;
	}
	printf("%u + %u flows: JFI of 10 ms at least 0.95 after %u ms\n", m, m, bad_ms);
	ck_assert_uint_le(bad_ms, 40);
}
END_TEST

/* ---- T7.3's lab: 50 Mb/s, a ramp of 20 to 200 KiB up to 10%; four flows, four that join ---- */

#define LAB_FLOWS  8u
#define LAB_LINE   50e6
#define LAB_PACKET 1086.
#define LAB_BURST  8u /* a message of 8 KiB leaves at once */
#define LAB_JOIN_S 3.5
#define LAB_END_S  12.5
#define LAB_BIN_S  0.1
#define LAB_BINS   125u

static struct lab {
	struct dcqcn flow[LAB_FLOWS];
	/* when a burst is due, a CNP arrives, and the last one was sent */
	double send_s[LAB_FLOWS], cnp_s[LAB_FLOWS], notified_s[LAB_FLOWS];
	double bin[LAB_FLOWS][LAB_BINS];
	uint8_t fifo[65536]; /* flows of the packets in the queue */
	uint16_t head, tail;
	double leave_s;
} lab;

static void lab_send(unsigned i, double now_s)
{
	for (unsigned k = 0; k < LAB_BURST; k++)
		lab.fifo[lab.tail++] = (uint8_t)i;
	if (isinf(lab.leave_s))
		lab.leave_s = now_s + LAB_PACKET * 8 / LAB_LINE;
	dcqcn_advance(&lab.flow[i], (uint64_t)(now_s * 1e9), (uint64_t)(LAB_BURST * LAB_PACKET));
	lab.send_s[i] = now_s + LAB_BURST * LAB_PACKET * 8 / lab.flow[i].rate_bps;
}

static void lab_leave(double now_s)
{
	double queue = (uint16_t)(lab.tail - lab.head) * LAB_PACKET / 1024;
	double p = queue <= 20 ? 0 : queue > 200 ? 1 : 0.1 * (queue - 20) / 180;
	unsigned i = lab.fifo[lab.head++];

	lab.bin[i][(unsigned)(now_s / LAB_BIN_S)] += LAB_PACKET;
	lab.leave_s = lab.head == lab.tail ? INFINITY : now_s + LAB_PACKET * 8 / LAB_LINE;
	if (draw() < p && (now_s - lab.notified_s[i]) * 1e9 >= (double)lab.flow[i].config.cnp_ns) {
		lab.notified_s[i] = now_s;
		lab.cnp_s[i] = now_s + 0.0005;
	}
}

static void lab_run(const struct qp_dcqcn *tuning)
{
	struct dcqcn_config c = dcqcn_tuned(LAB_LINE, tuning);

	lab = (struct lab){.leave_s = INFINITY};
	for (unsigned i = 0; i < LAB_FLOWS; i++) {
		dcqcn_init(&lab.flow[i], &c);
		lab.send_s[i] = draw() / 100 + (i < LAB_FLOWS / 2 ? 0 : LAB_JOIN_S);
		lab.cnp_s[i] = INFINITY;
		lab.notified_s[i] = -1;
	}
	for (;;) {
		double *next = &lab.leave_s;

		for (unsigned i = 0; i < LAB_FLOWS; i++) {
			next = lab.send_s[i] < *next ? &lab.send_s[i] : next;
			next = lab.cnp_s[i] < *next ? &lab.cnp_s[i] : next;
		}
		if (*next >= LAB_END_S)
			return;
		if (next == &lab.leave_s) {
			lab_leave(*next);
		} else if (next >= lab.send_s && next < lab.send_s + LAB_FLOWS) {
			lab_send((unsigned)(next - lab.send_s), *next);
		} else {
			unsigned i = (unsigned)(next - lab.cnp_s);
			uint64_t now_ns = (uint64_t)(*next * 1e9);

			*next = INFINITY;
			dcqcn_advance(&lab.flow[i], now_ns, 0);
			dcqcn_cnp(&lab.flow[i], now_ns);
		}
	}
}

static double lab_mean(unsigned i, unsigned from, unsigned n)
{
	double sum = 0;

	for (unsigned k = 0; k < n; k++)
		sum += lab.bin[i][from + k] / n;
	return sum;
}

/* Seconds until the means of so many bins of all flows stay within 10%; infinite: they do not. */
static double lab_settled_s(unsigned bins)
{
	unsigned join = (unsigned)(LAB_JOIN_S / LAB_BIN_S + 0.5), since = join;
	double fair = 0;

	for (unsigned i = 0; i < LAB_FLOWS; i++)
		fair += lab_mean(i, LAB_BINS - 45, 45) / LAB_FLOWS;
	for (unsigned at = join; at + bins <= LAB_BINS; at++)
		for (unsigned i = 0; i < LAB_FLOWS; i++)
			if (fabs(lab_mean(i, at, bins) - fair) > 0.1 * fair)
				since = at + 1;
	return since + bins <= LAB_BINS ? (since - join) * LAB_BIN_S : INFINITY;
}

static double lab_jfi(void)
{
	double sum = 0, squares = 0;

	for (unsigned i = 0; i < LAB_FLOWS; i++) {
		double rate = lab_mean(i, LAB_BINS - 45, 45);

		sum += rate;
		squares += rate * rate;
	}
	return sum * sum / (LAB_FLOWS * squares);
}

/*
 * Why 12 s of a lab do not converge with the published values: at 50 Mb/s alpha falls from 1 by
 * 1/256 in 44 ms, so it takes 11 s, and a CNP still takes a fifth of a rate. Shorter intervals and
 * a larger g settle; what they settle within is the mean over many CNPs.
 */
START_TEST(a_slow_lab_settles_with_shorter_intervals)
{
	static const struct qp_dcqcn published,
		tuned = {.g_ppb = 62500000, .timer_us = 5000, .rai_kbps = 100};
	static const unsigned bins[] = {4, 10, 20};
	unsigned settled[2][3] = {{0}};
	double jfi[2] = {0}, seconds = 0;

	f.seed = 5;
	for (unsigned run = 0; run < 20; run++) {
		unsigned is_tuned = run & 1;

		lab_run(is_tuned ? &tuned : &published);
		jfi[is_tuned] += lab_jfi() / 10;
		for (unsigned k = 0; k < 3; k++)
			settled[is_tuned][k] += isfinite(lab_settled_s(bins[k]));
		if (is_tuned && isfinite(lab_settled_s(20)))
			seconds += lab_settled_s(20);
	}
	for (unsigned k = 0; k < 2; k++)
		printf("%s: JFI %.4f, of 10 runs means of 0.4, 1 and 2 s settle in %u, %u, %u\n",
		       k ? "5 ms, g 1/16, Rai 0.1 Mb/s" : "published", jfi[k], settled[k][0],
		       settled[k][1], settled[k][2]);
	printf("means of 2 s: after %.1f s\n", seconds / settled[1][2]);
	ck_assert_double_lt(jfi[0], 0.995);
	ck_assert_double_gt(jfi[1], 0.999);
	ck_assert_uint_le(settled[0][2], 2);
	ck_assert_uint_ge(settled[1][2], 9);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dcqcn");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, the_line_is_free_until_the_first_cnp);
	tcase_add_test(t, alpha_follows_the_share_of_intervals_with_a_cnp);
	tcase_add_test(t, the_timer_recovers_then_adds);
	tcase_add_test(t, bytes_recover_too_and_both_are_hyper);
	tcase_add_test(t, it_stays_between_least_rate_and_line);
	tcase_add_test(t, a_slow_line_has_longer_intervals);
	tcase_add_test(t, a_group_has_its_own_parameters);
	tcase_add_loop_test(t, flows_settle_at_the_published_fixed_point, 0, 3);
	tcase_add_loop_test(t, those_that_join_get_their_share, 0, 3);
	tcase_add_test(t, a_slow_lab_settles_with_shorter_intervals);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
