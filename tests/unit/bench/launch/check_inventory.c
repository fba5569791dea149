/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/inventory.h"
#include "base/text_file.h"

#define HOST(name, address, more)                                                                  \
	"  - name: " name "\n    run_dir: /run/fared\n    gpus:\n      - address: " address        \
	"\n        planes:\n          - sub_ports: [{dev: p0, rate_mbps: 100}]\n"                  \
	"          - sub_ports: [{dev: p1, rate_mbps: 200}, {dev: p2, rate_mbps: 300}]\n" more
#define TOP(more) "name: two\nmtu: 4200\nmax_rate_mbps: 500\nmax_run_s: 60\nmax_total_s: 600\n" more
#define FAULTS                                                                                     \
	"    faults:\n      - {plane: 1, down: a, up: b}\n"                                        \
	"      - {plane: 1, sub_port: 1, down: c, up: d}\n"

static char error[INVENTORY_ERROR_MAX];

static struct inventory *parsed(const char *text)
{
	struct inventory *inventory;
	int err = inventory_parse(&inventory, "hosts.yaml", text, strlen(text), error);

	ck_assert_msg(err == 0, "%s", error);
	return inventory;
}

START_TEST(hosts_become_a_fabric)
{
	struct inventory *i = parsed(TOP("hosts:\n") HOST(
		"h0", "198.19.0.1", "    store: /mnt/nvme0\n") HOST("h1", "198.19.0.2", FAULTS));
	const struct topo *topo = i->topo;

	ck_assert_uint_eq(topo->n_servers, 2);
	ck_assert_uint_eq(topo->n_gpus, 2);
	ck_assert_uint_eq(topo->n_planes, 2);
	ck_assert_str_eq(topo->servers[1].name, "h1");
	ck_assert_str_eq(topo->servers[1].fared_run_dir, "/run/fared");
	ck_assert_str_eq(i->host[0].store, "/mnt/nvme0");
	ck_assert_str_eq(i->host[1].store, "");
	ck_assert_str_eq(topo_gpu_address(topo, 1), "198.19.0.2");
	ck_assert_uint_eq(topo_capacity_bps(topo, 0, 0), 100000000);
	ck_assert_uint_eq(topo_capacity_bps(topo, 0, 1), 500000000);
	ck_assert_str_eq(topo->gpus[0].plane[1].sub_port[1].dev, "p2");
	ck_assert_uint_eq(i->limits.max_bps, 500000000);
	ck_assert_uint_eq(i->limits.max_run_ns, UINT64_C(60000000000));
	ck_assert(!i->verbs);
	ck_assert(inventory_has_faults(i));
	ck_assert_int_eq(inventory_find_host(i, "h1"), 1);
	ck_assert_int_eq(inventory_find_host(i, "h2"), -ENOENT);
	ck_assert_uint_eq(strlen(i->digest), 64);
	inventory_destroy(i);
}
END_TEST

START_TEST(words_name_faults)
{
	struct inventory *i = parsed(TOP("hosts:\n") HOST("h0", "198.19.0.1", "")
					     HOST("h1", "198.19.0.2", FAULTS));
	unsigned host, fault;

	ck_assert_int_eq(inventory_find_fault(i, "plane h1/g0 1", &host, &fault), 0);
	ck_assert_uint_eq(host, 1);
	ck_assert_str_eq(i->host[host].fault[fault].down, "a");
	ck_assert_int_eq(inventory_find_fault(i, "subport h1/g0 1 1", &host, &fault), 0);
	ck_assert_str_eq(i->host[host].fault[fault].up, "d");
	ck_assert_int_eq(inventory_find_fault(i, "subport h1/g0 1 0", &host, &fault), -ENOENT);
	ck_assert_int_eq(inventory_find_fault(i, "plane h0/g0 1", &host, &fault), -ENOENT);
	ck_assert_int_eq(inventory_find_fault(i, "plane h7/g0 1", &host, &fault), -EINVAL);
	ck_assert_int_eq(inventory_find_fault(i, "leaf l0", &host, &fault), -EINVAL);
	ck_assert_int_eq(inventory_find_fault(i, "", &host, &fault), -EINVAL);
	inventory_destroy(i);
}
END_TEST

START_TEST(another_file_has_another_digest)
{
	struct inventory *a = parsed(TOP("hosts:\n") HOST("h0", "198.19.0.1", ""));
	struct inventory *b = parsed(TOP("hosts:\n") HOST("h0", "198.19.0.2", ""));

	ck_assert_str_ne(a->digest, b->digest);
	inventory_destroy(a);
	inventory_destroy(b);
}
END_TEST

START_TEST(ranges_and_ipv6)
{
	struct inventory *i = parsed(TOP("provider: verbs\nranges: [\"10.1.0.0/16\"]\nhosts:\n")
					     HOST("h0", "10.1.2.3", ""));

	ck_assert(i->verbs);
	inventory_destroy(i);
	i = parsed(TOP("hosts:\n") HOST("h0", "\"2001:db8::1\"", ""));
	ck_assert_str_eq(topo_gpu_address(i->topo, 0), "2001:db8::1");
	ck_assert_str_eq(i->topo->gpus[0].ipv4, "");
	inventory_destroy(i);
}
END_TEST

START_TEST(what_is_wrong_is_named)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{TOP("hosts:\n") HOST("h0", "10.1.2.3", ""),
		 "hosts.yaml:10: hosts[0].gpus[0].address: 10.1.2.3 is outside of 198.18.0.0/15"},
		{TOP("hosts:\n") HOST("h0", "198.20.0.1", ""), "is outside of"},
		{TOP("ranges: [10.1.0.1/16]\nhosts:\n") HOST("h0", "198.19.0.1", ""), "ranges[0]"},
		{TOP("hosts:\n") HOST("h0", "localhost", ""), "is no address"},
		{TOP("hosts:\n") HOST("h0", "198.19.0.1", "") HOST("h0", "198.19.0.2", ""),
		 "another host's"},
		{TOP("hosts:\n") HOST("h0", "198.19.0.1", "") HOST("h1", "198.19.0.1", ""),
		 "another GPU's"},
		{TOP("hosts:\n") HOST("h0", "198.19.0.1", "") HOST("h1", "\"2001:db8::1\"", ""),
		 "all IPv6"},
		{TOP("hosts:\n") HOST("-oProxyCommand=x", "198.19.0.1", ""), "letters, digits"},
		{TOP("hosts:\n") HOST("a;b", "198.19.0.1", ""), "letters, digits"},
		{TOP("provider: tcp\nhosts:\n") HOST("h0", "198.19.0.1", ""), "soft or verbs"},
		{TOP("hosts:\n")
			 HOST("h0", "198.19.0.1", "    faults: [{plane: 2, down: a, up: b}]\n"),
		 "no such GPU, plane or sub-port"},
		{TOP("hosts:\n") HOST("h0", "198.19.0.1", "    faults: [{plane: 1, down: a}]\n"),
		 "up"},
		{TOP("hosts:\n") HOST("h0", "198.19.0.1", "    store: tmp\n"), "absolute path"},
		{TOP("hosts:\n")
			 HOST("h0", "198.19.0.1", "") "switches: [{name: a.b, counters: x}]\n",
		 "switches[0].name: letters"},
		{TOP("hosts:\n") HOST("h0", "198.19.0.1", "") "switches: [{name: a}]\n",
		 "counters"},
		{TOP("hosts:\n")
			 HOST("h0", "198.19.0.1",
			      "") "switches: [{name: a, counters: x}, {name: a, counters: y}]\n",
		 "another switch's"},
		{TOP("max_run_s: 5\nhosts:\n") HOST("h0", "198.19.0.1", ""), "max_run_s"},
		{TOP("mtus: 5\nhosts:\n") HOST("h0", "198.19.0.1", ""), "mtus"},
		{"name: two\nmtu: 4200\nmax_run_s: 60\nmax_total_s: 600\nhosts:\n" HOST(
			 "h0", "198.19.0.1", ""),
		 "max_rate_mbps"},
		{TOP("hosts: []\n"), "hosts"},
		{"", "hosts.yaml"},
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct inventory *inventory;

		ck_assert_int_eq(inventory_parse(&inventory, "hosts.yaml", bad[i].text,
						 strlen(bad[i].text), error),
				 -EBADMSG);
		ck_assert_ptr_null(inventory);
		ck_assert_msg(strstr(error, bad[i].says) != NULL, "%u: %s", i, error);
	}
}
END_TEST

/* What docs/cluster.md shows is an inventory. */
START_TEST(the_documented_example)
{
	const char *source = getenv("FARE_SOURCE_DIR");
	char path[512], *text, *from, *to;
	struct inventory *inventory;
	size_t length;
	int err;

	ck_assert_ptr_nonnull(source);
	snprintf(path, sizeof(path), "%s/docs/cluster.md", source);
	ck_assert_int_eq(text_file_read(path, 1 << 20, &text, &length), 0);
	from = strstr(text, "```yaml\n");
	ck_assert_ptr_nonnull(from);
	from += strlen("```yaml\n");
	to = strstr(from, "```");
	ck_assert_ptr_nonnull(to);
	err = inventory_parse(&inventory, path, from, (size_t)(to - from), error);
	ck_assert_msg(err == 0, "%s", error);
	ck_assert_uint_eq(inventory->topo->n_gpus, 2);
	ck_assert_ptr_nonnull(
		strstr(inventory->host[0].equal, "-c 'bgp bestpath bandwidth ignore'"));
	inventory_destroy(inventory);
	free(text);
}
END_TEST

START_TEST(a_file_that_is_not_there)
{
	struct inventory *inventory;

	ck_assert_int_eq(inventory_load(&inventory, "/nonexistent/hosts.yaml", error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error, "/nonexistent/hosts.yaml"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inventory");
	TCase *tcase = tcase_create("inventory");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, hosts_become_a_fabric);
	tcase_add_test(tcase, words_name_faults);
	tcase_add_test(tcase, another_file_has_another_digest);
	tcase_add_test(tcase, ranges_and_ipv6);
	tcase_add_test(tcase, what_is_wrong_is_named);
	tcase_add_test(tcase, the_documented_example);
	tcase_add_test(tcase, a_file_that_is_not_there);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
