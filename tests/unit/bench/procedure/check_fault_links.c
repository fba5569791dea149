/* SPDX-License-Identifier: BSD-2-Clause */
/* Which link is cut, by hand. */
#include <check.h>
#include <errno.h>
#include <math.h>

#include "bench/check_bench_fabric.h"
#include "procedure/fault.h"

/* One device of a host, as farelab counters has it; other devices and hosts beside it. */
static void add(json_t *hosts, const char *host, const char *dev, const char *key, double bytes)
{
	json_array_append_new(hosts, json_pack("{s:s, s:[{s:s, s:i}, {s:s, s:I}]}", "name", host,
					       "devices", "dev", "other", key, 7, "dev", dev, key,
					       (json_int_t)bytes));
}

static void take(struct fault_links *links, json_t *hosts, double at_s, int expected)
{
	json_t *root =
		json_pack("{s:I, s:o}", "monotonic_ns", (json_int_t)(at_s * 1e9), "hosts", hosts);
	char *text = json_dumps(root, 0);

	ck_assert_int_eq(fault_links_read(links, text), expected);
	free(text);
	json_decref(root);
}

/* Bytes of each of 8 sub-ports of 200 Mb/s within 0.25 s: 6.25 MB are all that one carries. */
static void read_ports(struct fault_links *links, const double bytes[8])
{
	for (unsigned reading = 0; reading < 2; reading++) {
		json_t *hosts = json_array();

		for (unsigned i = 0; i < 8; i++) {
			char dev[32];

			snprintf(dev, sizeof(dev), "g0p%us%u", i / 2, i % 2);
			add(hosts, "s2", dev, "rx_bytes", 1e6 * i + (reading ? bytes[i] : 0));
		}
		take(links, hosts, 10 + .25 * reading, 0);
	}
	fault_links_choose(links);
}

static struct fault_links ports_of(struct topo *topo, unsigned wanted, unsigned turn)
{
	struct fault_links links;

	ck_assert(fault_links_init(&links, topo, FAULT_SUB_PORT, 2, wanted, turn));
	ck_assert_uint_eq(links.n, 8);
	return links;
}

/* Hashed traffic leaves links idle but for probes: the one that carries is cut, whatever the turn.
 */
START_TEST(an_idle_link_is_not_cut)
{
	static const double bytes[] = {2e5, 2e5, 2e5, 3.125e6, 2e5, 2e5, 5e6, 2e5};
	struct topo *topo = parsed(fabric(3));

	for (unsigned turn = 0; turn < 8; turn++) {
		struct fault_links links = ports_of(topo, 1, turn);

		read_ports(&links, bytes);
		ck_assert_str_eq(links.spec, "subport s2/g0 3 0");
		ck_assert_str_eq(links.text, "subport s2/g0 3 0 (80%)");
		ck_assert_double_eq_tol(links.share, .8, 1e-9);
		links = ports_of(topo, 2, turn);
		read_ports(&links, bytes);
		ck_assert_str_eq(links.spec, "subport s2/g0 3 0,subport s2/g0 1 1");
		ck_assert_double_eq_tol(links.share, .65, 1e-9);
	}
	topo_destroy(topo);
}
END_TEST

/* All but one are as busy: another each turn. */
START_TEST(links_as_busy_are_cut_in_turn)
{
	static const double bytes[] = {6e6, 6e6, 1e6, 6e6, 6e6, 6e6, 6e6, 5.9e6};
	struct topo *topo = parsed(fabric(3));
	struct fault_links links = ports_of(topo, 1, 1);

	read_ports(&links, bytes);
	ck_assert_str_eq(links.spec, "subport s2/g0 0 1");
	links = ports_of(topo, 1, 2);
	read_ports(&links, bytes);
	ck_assert_str_eq(links.spec, "subport s2/g0 1 1");
	links = ports_of(topo, 1, 15);
	read_ports(&links, bytes);
	ck_assert_str_eq(links.spec, "subport s2/g0 3 1");
	topo_destroy(topo);
}
END_TEST

/* One carries 18%, all others probes: a second one that is cut with it carried little, and still
 * there is a link that did. */
START_TEST(one_of_two_carries)
{
	static const double bytes[] = {6e4, 6e4, 6e4, 1.125e6, 6e4, 6e4, 6e4, 6e4};
	struct topo *topo = parsed(fabric(3));
	struct fault_links links = ports_of(topo, 2, 0);

	read_ports(&links, bytes);
	ck_assert_double_lt(links.share, FAULT_CARRIES);
	ck_assert_ptr_null(strstr(links.text, "no link"));
	topo_destroy(topo);
}
END_TEST

/* Probes are 3% of the line: that is said, and so is that nothing was read. */
START_TEST(nothing_that_carries)
{
	static const double bytes[] = {2e5, 2e5, 2e5, 2e5, 2e5, 2e5, 2e5, 2e5};
	struct topo *topo = parsed(fabric(3));
	struct fault_links links = ports_of(topo, 1, 3);

	fault_links_choose(&links);
	ck_assert_str_eq(links.spec, "subport s2/g0 1 1");
	ck_assert(isnan(links.share));
	ck_assert_ptr_nonnull(strstr(links.text, "was not read"));
	read_ports(&links, bytes);
	ck_assert_double_eq_tol(links.share, .032, 1e-9);
	ck_assert_ptr_nonnull(strstr(links.text, "(3%); no link of its tier carried a tenth"));
	topo_destroy(topo);
}
END_TEST

/* Toward the last GPU: what each spine sent to its leaf. Two that fail are of two planes. */
START_TEST(links_to_spines)
{
	struct topo *topo = parsed(two_tiers()), *flat = parsed(fabric(3));
	struct fault_links links;

	ck_assert(!fault_links_init(&links, flat, FAULT_LEAF_SPINE, 2, 1, 0));
	ck_assert(!fault_links_init(&links, topo, FAULT_SPINE_SPINE, 3, 1, 0));
	ck_assert(fault_links_init(&links, topo, FAULT_LEAF_SPINE, 3, 2, 0));
	ck_assert_uint_eq(links.n, 8);
	for (unsigned reading = 0; reading < 2; reading++) {
		json_t *hosts = json_array();

		for (unsigned i = 0; i < 8; i++) {
			char spine[32], leaf[32];

			snprintf(spine, sizeof(spine), "sp%u", i);
			snprintf(leaf, sizeof(leaf), "l%u", i / 2 * 2 + 1);
			/* both of plane 1 carry most */
			add(hosts, spine, leaf, "tx_bytes", reading * (i / 2 == 1 ? 9e6 : i * 1e6));
		}
		take(&links, hosts, 1 + reading * .25, 0);
	}
	fault_links_choose(&links);
	ck_assert_str_eq(links.spec, "uplink l3 sp2,uplink l7 sp7");
	take(&links, json_array(), 2, -EBADMSG);
	topo_destroy(topo);
	topo_destroy(flat);
}
END_TEST

/* Something has to be left. */
START_TEST(the_last_link_is_not_cut)
{
	struct topo *topo = parsed(fabric(3));
	struct fault_links links;

	for (unsigned i = 2; i < 8; i++)
		topo->gpus[2].plane[i / 2].sub_port[i % 2].up = false;
	ck_assert(fault_links_init(&links, topo, FAULT_SUB_PORT, 2, 1, 0));
	ck_assert(!fault_links_init(&links, topo, FAULT_SUB_PORT, 2, 2, 0));
	topo_destroy(topo);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fault_links");
	TCase *tcase = tcase_create("fault_links");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, an_idle_link_is_not_cut);
	tcase_add_test(tcase, links_as_busy_are_cut_in_turn);
	tcase_add_test(tcase, one_of_two_carries);
	tcase_add_test(tcase, nothing_that_carries);
	tcase_add_test(tcase, links_to_spines);
	tcase_add_test(tcase, the_last_link_is_not_cut);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
