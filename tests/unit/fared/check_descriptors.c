/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The need of descriptors by the rules of udp.h and udp_raw.h, and the limit, which a process may
 * raise.
 */
#include "descriptors.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "control.h"

/* n GPUs of four planes with two sub-ports each */
static struct config *config_of(uint32_t n, bool v4, bool v6)
{
	struct config *c = calloc(1, sizeof(*c));

	ck_assert_ptr_nonnull(c);
	c->n_gpus = n;
	c->gpus = calloc(n, sizeof(*c->gpus));
	ck_assert_ptr_nonnull(c->gpus);
	c->health.enabled = true;
	for (uint32_t g = 0; g < n; g++) {
		c->gpus[g].address[0].s6_addr[15] = v4;
		c->gpus[g].address[1].s6_addr[15] = v6;
		c->gpus[g].n_planes = 4;
		for (uint32_t p = 0; p < 4; p++)
			c->gpus[g].planes[p].n_sub_ports = 2;
	}
	return c;
}

static uint32_t needed(uint32_t n, bool v4, bool v6, bool probing)
{
	struct config *c = config_of(n, v4, v6);
	uint32_t result;

	c->health.enabled = probing;
	result = descriptors_needed(c);
	free(c->gpus);
	free(c);
	return result;
}

START_TEST(what_each_address_and_sub_port_takes)
{
	uint32_t none = needed(0, true, true, true);

	ck_assert_uint_ge(none, 2 * CONTROL_MAX_CLIENTS);
	ck_assert_uint_eq(needed(1, true, false, false) - none, 8);
	/* sixteen ports and the reflector's, and two raw ones, beside two counts of each device */
	ck_assert_uint_eq(needed(1, true, false, true) - none, 17 + 2 + 16);
	/*
	 * each of the seventeen with a set and a socket for each device more, the raw one that
	 * sends, too
	 */
	ck_assert_uint_eq(needed(1, false, true, true) - none, 17 * 10 + 2 + 8 + 16);
	ck_assert_uint_eq(needed(8, true, true, true) - none, 8 * (19 + 180 + 16));
}
END_TEST

START_TEST(the_soft_limit_becomes_the_hard_one)
{
	struct rlimit l;
	uint64_t limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &l), 0);
	l.rlim_cur = 64;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &l), 0);
	ck_assert_int_eq(descriptors_raise(&limit), 0);
	ck_assert_uint_eq(limit, l.rlim_max);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &l), 0);
	ck_assert_uint_eq(l.rlim_cur, l.rlim_max);
	ck_assert_int_eq(descriptors_raise(&limit), 0); /* and stays so */
	ck_assert_uint_eq(limit, l.rlim_max);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("descriptors");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, what_each_address_and_sub_port_takes);
	tcase_add_test(tc, the_soft_limit_becomes_the_hard_one);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
