/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_ecn.c - what is marked at which depth of the queue, by the kernel, on a loopback; and that
 * ecn_marks() and the program decide the same.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>

#include "bpf_run.h"
#include "ecn.h"
#include "own_net.h"
#include "tcx.h"

#define ROUNDS	   100
#define BURST	   150	 /* packets of 1000 bytes: more than the ramp is high */
#define DRAINED_US 16000 /* 150 KB at 80 Mb/s: 15 ms */

static const struct sockaddr_in to = {.sin_family = AF_INET,
				      .sin_port = 0xb712, /* 4791 */
				      .sin_addr = {0x0100007f}};
static int tx, tx_plain, rx;

static void set_up(void)
{
	tx = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	tx_plain = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	rx = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert(tx >= 0 && tx_plain >= 0 && rx >= 0);
	ck_assert(!bind(rx, (const struct sockaddr *)&to, sizeof(to))); /* so that nobody objects */
}

static void tear_down(void)
{
	close(tx);
	close(tx_plain);
	close(rx);
}

/* Of bursts in which every so many packets one does ECN; 0: none does. */
static struct ecn_counters counters_after(const struct ecn_ramp *ramp, unsigned every)
{
	struct ecn_counters out;
	char packet[958] = {0};
	const int ecn = 2;

	ck_assert_int_eq(setsockopt(tx, IPPROTO_IP, IP_TOS, &ecn, sizeof(ecn)), 0);
	ck_assert_int_eq(ecn_attach("lo", ramp), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned k = 0; k < BURST; k++)
			sendto(every && k % every == 0 ? tx : tx_plain, packet, sizeof(packet), 0,
			       (const struct sockaddr *)&to, sizeof(to));
		usleep(DRAINED_US);
	}
	ck_assert_int_eq(ecn_read("lo", &out), 0);
	ck_assert_int_eq(ecn_detach("lo"), 0);
	ck_assert_uint_eq(out.packets, ROUNDS * BURST);
	return out;
}

/* Each part's share is that of its middle, within 4.5 standard deviations and 1%. */
static void hold_ramp(unsigned every)
{
	const struct ecn_ramp ramp = {80, 2000, 20000, 120000, 40};
	struct ecn_counters c = counters_after(&ramp, every);
	uint64_t marked = 0;

	for (unsigned i = 0; i < ECN_RAMP_PARTS; i++) {
		double n = (double)c.ramp_packets[i], p = 0.4 * (i + 0.5) / ECN_RAMP_PARTS;

		printf("part %u: %.4f of %.0f marked, %.4f expected\n", i,
		       (double)c.ramp_marked[i] / n, n, p);
		ck_assert(n > 200);
		ck_assert(fabs((double)c.ramp_marked[i] - n * p) <
			  4.5 * sqrt(n * p * (1 - p)) + 0.01 * n);
		marked += c.ramp_marked[i];
	}
	ck_assert_uint_gt(c.ramp_packets[ECN_RAMP_PARTS], 100);
	ck_assert_uint_eq(c.ramp_marked[ECN_RAMP_PARTS], c.ramp_packets[ECN_RAMP_PARTS]);
	ck_assert_uint_eq(c.marked, marked + c.ramp_marked[ECN_RAMP_PARTS]);
}

START_TEST(a_ramp)
{
	hold_ramp(1);
}
END_TEST

/* As probes beside data: they fill the queue, and are no part of the share. */
START_TEST(a_ramp_with_others_between)
{
	hold_ramp(2);
}
END_TEST

/* Without a ramp: nothing below the threshold, all from it on. */
START_TEST(a_step)
{
	const struct ecn_ramp ramp = {80, 2000, 100000, 0, 100};
	struct ecn_counters c = counters_after(&ramp, 1);

	for (unsigned i = 0; i < ECN_RAMP_PARTS; i++)
		ck_assert_uint_eq(c.ramp_packets[i], 0);
	ck_assert_uint_gt(c.marked, ROUNDS);
	ck_assert_uint_eq(c.marked, c.ramp_packets[ECN_RAMP_PARTS]);
	ck_assert_uint_ge(c.queue_at_first_mark_ns, 10000000); /* 100,000 bytes at 80 Mb/s */
	ck_assert_uint_lt(c.queue_at_first_mark_ns, 10200000);
	ck_assert_uint_gt(c.queue_peak_ns, c.queue_at_first_mark_ns);
}
END_TEST

START_TEST(a_sender_without_ecn)
{
	const struct ecn_ramp ramp = {80, 2000, 20000, 0, 100};
	struct ecn_counters c = counters_after(&ramp, 0);

	ck_assert_uint_eq(c.marked, 0);
	ck_assert_uint_eq(c.ramp_packets[ECN_RAMP_PARTS], 0);
}
END_TEST

/* ---- the rule ---- */

#define NOW_NS (1 << 30)

/* With the time that the test says; the draw is the packet's mark. */
static int load_at_now(int map, const struct ecn_ramp *ramp)
{
	struct bpf_code c;
	int program;

	ecn_program(&c, map, ramp);
	bpf_run_replace(&c, (struct bpf_insn)HELPER(BPF_FUNC_ktime_get_ns),
			(struct bpf_insn)MOV_NUMBER(R0, NOW_NS));
	bpf_run_replace(&c, (struct bpf_insn)HELPER(BPF_FUNC_get_prandom_u32),
			(struct bpf_insn)LOAD(BPF_W, R0, R6, SKB(mark)));
	program = tcx_load("check", c.insn, c.n);
	ck_assert_int_ge(program, 0);
	return program;
}

/* Whether the program marks a packet of a sender that does ECN. */
static bool program_marks(int program, int map, uint64_t queue_ns, uint32_t random)
{
	const struct ecn_counters queue = {.queue_empty_ns = NOW_NS + queue_ns};
	/* version and length of its header; ECT(0) */
	uint8_t packet[100] = {[12] = 8, [14] = 0x45, [15] = 2};
	struct ecn_counters after;

	ck_assert_int_eq(tcx_map_write(map, 0, &queue), 0);
	ck_assert_int_eq(bpf_run(program, packet, sizeof(packet), random), TCX_NEXT);
	ck_assert_int_eq(tcx_map_read(map, 0, &after), 0);
	ck_assert_uint_eq(after.queue_peak_ns, queue_ns);
	return packet[15] == 3;
}

static const struct ecn_ramp ramps[] = {
	{80, 2000, 20000, 120000, 40},	     {25, 4214, 100 << 10, 400 << 10, 80},
	{50, 8428, 20 << 10, 200 << 10, 10}, {40000, 9000, 5000, 200000, 10}, /* a simulation's */
	{80, 2000, 0, 120000, 100},	     {80, 2000, 100000, 0, 100},      /* a step */
	{80, 2000, 50000, 50001, 50},
};

/* Depths around both ends and across the ramp; draws around the share there, and the ends. */
START_TEST(the_program_marks_as_the_rule)
{
	const struct ecn_rule rule = ecn_rule(&ramps[_i]);
	int map = tcx_make_array("check", sizeof(struct ecn_counters), 1);
	int program = load_at_now(map, &ramps[_i]);
	unsigned marked = 0, n = 0;

	for (int k = -4; k <= 40; k++) {
		for (int off = -1; off <= 1; off++) {
			int64_t queue_ns = rule.min_ns + (int64_t)rule.width_ns * k / 32 + off;
			int64_t share = (queue_ns - rule.min_ns) * rule.most / rule.width_ns;
			const int64_t draws[] = {0,
						 1,
						 share * 2 - 1,
						 share * 2,
						 share * 2 + 1,
						 share * 2 + 2,
						 share,
						 UINT32_MAX};

			for (unsigned d = 0; queue_ns >= 0 && d < 8; d++) {
				uint32_t draw = (uint32_t)draws[d];
				bool expected = ecn_marks(&rule, (uint64_t)queue_ns, draw);

				ck_assert_msg(program_marks(program, map, (uint64_t)queue_ns,
							    draw) == expected,
					      "queue %lld ns, draw %u: the rule says %d",
					      (long long)queue_ns, draw, expected);
				marked += expected;
				n++;
			}
		}
	}
	printf("%u of %u marked\n", marked, n);
	ck_assert_uint_gt(marked, n / 10);
	ck_assert_uint_lt(marked, n - n / 10);
	close(program);
	close(map);
}
END_TEST

int main(void)
{
	const struct ecn_ramp any = {80, 2000, 20000, 0, 100};
	Suite *s = suite_create("ecn");
	TCase *t = tcase_create("ecn");
	SRunner *r;
	int failed;

	if (own_net())
		return 77;
	failed = ecn_attach("lo", &any);
	if (failed == -EPERM || failed == -EOPNOTSUPP) {
		puts("skipped: no BPF program can be attached here (root, Linux 6.6)");
		return 77;
	}
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_ramp);
	tcase_add_test(t, a_ramp_with_others_between);
	tcase_add_test(t, a_step);
	tcase_add_test(t, a_sender_without_ecn);
	tcase_add_loop_test(t, the_program_marks_as_the_rule, 0, 7);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
