/* SPDX-License-Identifier: BSD-2-Clause */
/* check_pauses.c - sums over ports, and texts that are none. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "fabric/pauses.h"

#define HEAD "{\"xoff_bytes\":131072,\"xon_bytes\":65536,\"ports\":["
#define PORT(host, dev, tx, rx, paused, storms, drops, held, reactions, mean, max)                 \
	"{\"host\":\"" host "\",\"dev\":\"" dev "\",\"tx_pauses\":" tx ",\"rx_pauses\":" rx        \
	",\"paused_ms\":1500.5,\"paused\":" paused ",\"storms\":" storms                           \
	",\"headroom_drops\":" drops ",\"buffered_bytes\":" held ",\"buffered_peak_bytes\":" held  \
	",\"reactions\":" reactions ",\"reaction_mean_us\":" mean ",\"reaction_max_us\":" max "}"

START_TEST(sums)
{
	static const char text[] =
		HEAD PORT("s0", "g0p0s0", "0", "4", "true", "2", "0", "0", "0", "0",
			  "0") "," PORT("l0", "s0g0s0", "4", "0", "false", "0", "7", "-5", "1",
					"30", "30.5") "," PORT("sp1", "l0", "5", "1", "true", "1",
							       "1", "900", "3", "10", "70") "]}";
	struct pauses p;

	ck_assert_int_eq(pauses_parse(&p, text), 0);
	ck_assert_uint_eq(p.n, 3);
	ck_assert_uint_eq(p.xoff_bytes, 131072);
	ck_assert_uint_eq(p.xon_bytes, 65536);
	ck_assert_str_eq(p.port[1].name, "l0/s0g0s0");
	ck_assert(p.port[0].is_server && !p.port[1].is_server && !p.port[2].is_server);
	ck_assert_double_eq_tol(p.port[0].paused_s, 1.5005, 1e-9);
	ck_assert_uint_eq(p.sent, 9);
	ck_assert_uint_eq(p.storms, 3);
	ck_assert_uint_eq(p.dropped, 8);
	ck_assert_uint_eq(p.held_bytes, 900);
	ck_assert_uint_eq(p.peak_bytes, 900);
	ck_assert_uint_eq(p.paused, 2);
	ck_assert_uint_eq(p.reactions, 4);
	ck_assert_double_eq_tol(p.reaction_mean_us, 15, 1e-9);
	ck_assert_double_eq_tol(p.reaction_max_us, 70, 1e-9);
	pauses_fini(&p);
}
END_TEST

START_TEST(what_is_none)
{
	static const char *const bad[] = {
		"",
		"{}",
		"{\"xoff_bytes\":0,\"xon_bytes\":0,\"ports\":[]}",
		"{\"ports\":3}",
		"{\"ports\":[]}",
		HEAD "{}]}",
		HEAD PORT("s0", "g", "-1", "4", "true", "2", "0", "0", "0", "0", "0") "]}",
		HEAD PORT("s0", "g", "1", "4", "3", "2", "0", "0", "0", "0", "0") "]}",
		HEAD PORT("s0",
			  "0123456789012345678901234567890123456789012345678901234"
			  "5678901234567890",
			  "1", "4", "true", "2", "0", "0", "0", "0", "0") "]}"};
	struct pauses p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ck_assert_int_eq(pauses_parse(&p, bad[i]), -EBADMSG);
		ck_assert_ptr_null(p.port);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pauses");
	TCase *tcase = tcase_create("pauses");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, sums);
	tcase_add_test(tcase, what_is_none);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
