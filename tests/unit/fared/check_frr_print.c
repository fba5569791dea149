/* SPDX-License-Identifier: BSD-2-Clause */
/* What FRR is told for a configuration, and what has to be given with it. */
#include "frr_print.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct config *config;
static char *text, why[256];

static void parse(const char *address, const char *neighbor, const char *version)
{
	struct config_error error;
	char yaml[1024];

	snprintf(yaml, sizeof(yaml),
		 "node: n\nbgp:\n  bmp_address: 127.0.0.2\n  bmp_port: 5002\n  frr_version: "
		 "\"%s\"\n  peer_prefixes: [198.19.0.0/16, \"2001:db8:19::/48\"]\n"
		 "local_gpus:\n  - name: g\n    addresses: [\"%s\"]\n    planes:\n"
		 "      - sub_ports:\n          - {dev: d, neighbors: [\"%s\"]}\n",
		 version, address, neighbor);
	ck_assert_msg(!config_parse(&config, yaml, strlen(yaml), "f", &error), "%s", error.text);
}

static int print(struct frr_print_options options)
{
	size_t size;
	FILE *to;
	int rc;

	free(text);
	to = open_memstream(&text, &size);
	rc = frr_print(to, config, &options, why, sizeof(why));
	fclose(to);
	return rc;
}

static void teardown(void)
{
	config_destroy(config);
	free(text);
	config = NULL;
	text = NULL;
}

static void has(const char *line)
{
	ck_assert_msg(strstr(text, line) != NULL, "no \"%s\" in:\n%s", line, text);
}

static void has_not(const char *line)
{
	ck_assert_msg(strstr(text, line) == NULL, "\"%s\" in:\n%s", line, text);
}

START_TEST(a_server)
{
	parse("198.19.0.1", "198.18.0.0", "8.4.4");
	ck_assert_int_eq(print((struct frr_print_options){.as = "4200000001"}), 0);
	has("ip prefix-list SELF4-G0 seq 5 permit 198.19.0.1/32\n");
	has("router bgp 4200000001\n bgp router-id 198.19.0.1\n");
	has(" neighbor LEAF4-G0 remote-as external\n");
	has(" neighbor 198.18.0.0 peer-group LEAF4-G0\n");
	has("  bmp listener 127.0.0.2 port 5002\n  bmp monitor ipv4 unicast pre-policy\n exit\n");
	has("  network 198.19.0.1/32\n");
	has_not("ipv6");
}
END_TEST

START_TEST(an_unnumbered_server)
{
	parse("198.19.0.1", "unnumbered", "8.4.4");
	ck_assert_int_eq(print((struct frr_print_options){.as = "64513"}), 0);
	has(" neighbor LEAF-G0 remote-as external\n");
	has(" neighbor d interface peer-group LEAF-G0\n");
	has("  neighbor LEAF-G0 activate\n");
	has("  neighbor LEAF-G0 prefix-list SELF4-G0 out\n");
	has_not("LEAF4");
}
END_TEST

/* Nothing is printed rather than a server without neighbours. */
START_TEST(sessions_over_the_other_family_are_named)
{
	parse("198.19.0.1", "2001:db8:18::", "8.4.4");
	ck_assert_int_eq(print((struct frr_print_options){.as = "1"}), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "RFC 8950"));
	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(a_server_of_ipv6_alone)
{
	parse("2001:db8:19::1", "2001:db8:18::", "8.4.4");
	ck_assert_int_eq(print((struct frr_print_options){.as = "1"}), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "--router-id"));
	ck_assert_str_eq(text, "");
	ck_assert_int_eq(print((struct frr_print_options){.as = "1", .router_id = "9.8.7.6"}), 0);
	has(" bgp router-id 9.8.7.6\n");
	has("ipv6 prefix-list SELF6-G0 seq 5 permit 2001:db8:19::1/128\n");
	has(" neighbor 2001:db8:18:: peer-group LEAF6-G0\n");
	has_not("ipv4 unicast\n");
}
END_TEST

START_TEST(a_leaf)
{
	struct frr_print_options leaf = {
		.as = "65101", .router_id = "9.8.7.6", .leaf = "198.18.0.1,2001:db8:18::1"};

	parse("198.19.0.1", "198.18.0.0", "8.4.4");
	ck_assert_int_eq(print(leaf), 0);
	has("ip prefix-list LOOPBACKS4 seq 5 permit 198.19.0.0/16 ge 32\n");
	has("ipv6 prefix-list LOOPBACKS6 seq 5 permit 2001:db8:19::/48 ge 128\n");
	has(" set extcommunity bandwidth num-multipaths\n");
	has(" neighbor 198.18.0.1 peer-group GPU4\n");
	has(" neighbor 2001:db8:18::1 peer-group GPU6\n");
	has(" neighbor GPU4 passive\n");
	has_not("bmp");
	has_not("extended-link-bandwidth");
	teardown();
	parse("198.19.0.1", "198.18.0.0", "10.1");
	ck_assert_int_eq(print(leaf), 0);
	has(" neighbor GPU4 extended-link-bandwidth\n");
}
END_TEST

START_TEST(what_is_wrong_is_named)
{
	static const struct {
		struct frr_print_options options;
		const char *word;
	} wrong[] = {
		{{.as = NULL}, "--as"},
		{{.as = ""}, "--as"},
		{{.as = "0"}, "--as"},
		{{.as = "-1"}, "--as"},
		{{.as = "+1"}, "--as"},
		{{.as = "4294967296"}, "--as"},
		{{.as = "99999999999999999999999"}, "--as"},
		{{.as = "65000 "}, "--as"},
		{{.as = "1", .router_id = "x"}, "--router-id"},
		{{.as = "1", .leaf = "198.18.0.1"}, "--router-id"},
		{{.as = "1", .router_id = "1.2.3.4", .leaf = ""}, "--leaf"},
		{{.as = "1", .router_id = "1.2.3.4", .leaf = "198.18.0.1,"}, "--leaf"},
		{{.as = "1",
		  .router_id = "1.2.3.4",
		  .leaf = "1111111111111111111111111111111111111111111111111111111111111"},
		 "--leaf"},
	};

	parse("198.19.0.1", "198.18.0.0", "8.4.4");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert_int_eq(print(wrong[i].options), -EINVAL);
		ck_assert_msg(strstr(why, wrong[i].word) != NULL, "case %zu: %s", i, why);
		ck_assert_str_eq(text, "");
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("frr_print");
	TCase *t = tcase_create("frr_print");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, a_server);
	tcase_add_test(t, an_unnumbered_server);
	tcase_add_test(t, sessions_over_the_other_family_are_named);
	tcase_add_test(t, a_server_of_ipv6_alone);
	tcase_add_test(t, a_leaf);
	tcase_add_test(t, what_is_wrong_is_named);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
