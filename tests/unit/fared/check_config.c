/* SPDX-License-Identifier: BSD-2-Clause */
/* fared.yaml: a good file means what it says; each kind of mistake names its line, key and remedy.
 */
#include "config.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

static const char good[] = "node: s0\n"
			   "run_dir: /run/x\n"
			   "log_level: warning\n"
			   "bgp:\n"
			   "  bmp_port: 5002\n"
			   "  bandwidth_scale: 200\n"
			   "  stale_s: 60\n"
			   "  peer_prefixes: [198.19.0.0/16, \"2001:db8:19::/48\"]\n"
			   "local_gpus:\n"
			   "  - name: g0\n"
			   "    addresses: [198.19.0.1, \"2001:db8:19::1\"]\n"
			   "    planes:\n"
			   "      - sub_ports:\n"
			   "          - {dev: a0, speed_mbps: 200, neighbors: [198.18.0.0]}\n"
			   "          - {dev: a1, neighbors: [198.18.0.2]}\n"
			   "      - sub_ports:\n"
			   "          - {dev: b0, speed_mbps: 400, neighbors: [198.18.0.4]}\n";

static int parse(struct config **out, const char *text, struct config_error *error)
{
	return config_parse(out, text, strlen(text), "f.yaml", error);
}

/* good with the first `from` replaced by `to` */
static void edit(char *out, size_t size, const char *from, const char *to)
{
	const char *at = strstr(good, from);

	ck_assert_msg(at, "no '%s' in the good file", from);
	snprintf(out, size, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
}

START_TEST(fractions_are_plain_decimals)
{
	struct config_error error;
	struct config *c;
	char text[2048];

	edit(text, sizeof(text), "local_gpus:",
	     "health: {interval_ms: 1.5, max_loss_percent: 0.5, enabled: false}\nlocal_gpus:");
	ck_assert_msg(!parse(&c, text, &error), "%s", error.text);
	ck_assert_uint_eq(c->health.interval_ns, 1500000);
	ck_assert_uint_eq(c->health.max_loss_ppm, 5000);
	ck_assert(!c->health.enabled);
	config_destroy(c);
}
END_TEST

START_TEST(a_good_file)
{
	const struct sockaddr_in *bmp;
	struct config_error error;
	struct config *c;

	ck_assert_msg(!parse(&c, good, &error), "%s", error.text);
	ck_assert_str_eq(c->node, "s0");
	ck_assert_int_eq(c->log_level, LOG_WARNING);
	ck_assert_str_eq(c->user, "");
	bmp = (const struct sockaddr_in *)&c->bmp_address;
	ck_assert_int_eq(bmp->sin_family, AF_INET);
	ck_assert_int_eq(ntohs(bmp->sin_port), 5002);
	ck_assert_str_eq(c->bmp_text, "127.0.0.1:5002");
	ck_assert_uint_eq(c->stale_ns, UINT64_C(60000000000));
	ck_assert_uint_eq(c->bgp.max_as_path, 2);
	ck_assert_double_eq(c->bgp.bandwidth_scale, 200);
	ck_assert_uint_eq(c->bgp.n_peer_prefixes, 2);
	ck_assert_uint_eq(c->bgp.peer_prefixes[0].length, 112);
	ck_assert_uint_eq(c->bgp.peer_prefixes[1].length, 48);
	ck_assert_uint_eq(c->bgp.n_own_addresses, 2);
	ck_assert_uint_eq(c->n_gpus, 1);
	ck_assert_uint_eq(c->gpus[0].n_planes, 2);
	ck_assert_uint_eq(c->gpus[0].planes[0].n_sub_ports, 2);
	ck_assert_uint_eq(c->gpus[0].planes[0].sub_ports[0].speed_bps, 200000000);
	ck_assert_uint_eq(c->gpus[0].planes[0].sub_ports[1].speed_bps, 0);
	ck_assert_uint_eq(c->bgp.n_neighbors, 3);
	ck_assert_uint_eq(c->bgp.neighbors[2].plane, 1);
	ck_assert_uint_eq(c->bgp.neighbors[1].sub_port, 1);
	ck_assert(c->health.enabled);
	ck_assert_uint_eq(c->health.interval_ns, 3000000);
	ck_assert_uint_eq(c->health.multiplier, 3);
	ck_assert_uint_eq(c->health.max_routers, 1);
	ck_assert_uint_eq(c->health.dscp, 48);
	ck_assert_str_eq(c->health.key_file, "");
	ck_assert_str_eq(c->health.second_key_file, "");
	config_destroy(c);
}
END_TEST

/* A server without a port toward plane 1 says so. */
START_TEST(a_plane_may_be_left_out)
{
	struct config_error error;
	struct config *c;
	char text[2048];

	edit(text, sizeof(text), "      - sub_ports:\n          - {dev: b0",
	     "      - plane: 2\n        sub_ports:\n          - {dev: b0");
	ck_assert_msg(!parse(&c, text, &error), "%s", error.text);
	ck_assert_uint_eq(c->gpus[0].n_planes, 3);
	ck_assert_uint_eq(c->gpus[0].planes[0].n_sub_ports, 2);
	ck_assert_uint_eq(c->gpus[0].planes[1].n_sub_ports, 0);
	ck_assert_uint_eq(c->gpus[0].planes[2].n_sub_ports, 1);
	ck_assert_str_eq(c->gpus[0].planes[2].sub_ports[0].dev, "b0");
	ck_assert_uint_eq(c->bgp.n_neighbors, 3);
	ck_assert_uint_eq(c->bgp.neighbors[2].plane, 2);
	config_destroy(c);
	edit(text, sizeof(text), "      - sub_ports:\n          - {dev: b0",
	     "      - plane: 2\n        sub_ports:\n          - {dev: b0, neighbors: [x]}\n#");
	ck_assert_int_eq(parse(&c, text, &error), -EBADMSG);
	/* the place in the file's list, not the plane's number */
	ck_assert_msg(strstr(error.text, "planes[1].sub_ports[0].neighbors[0]"), "%s", error.text);
}
END_TEST

/* One switch may have one link-local address on all its ports. */
START_TEST(link_local_neighbours_are_by_device)
{
	struct config_error error;
	struct config *c;
	char text[2048], of[BGP_NEIGHBOR_TEXT_MAX];

	edit(text, sizeof(text), "198.18.0.0]}\n          - {dev: a1, neighbors: [198.18.0.2]}",
	     "'fe80::1']}\n          - {dev: a1, neighbors: ['fe80::1', unnumbered]}");
	ck_assert_msg(!parse(&c, text, &error), "%s", error.text);
	ck_assert_uint_eq(c->bgp.n_neighbors, 4);
	ck_assert_str_eq(bgp_neighbor_format(&c->bgp.neighbors[0], of), "fe80::1%a0");
	ck_assert_str_eq(bgp_neighbor_format(&c->bgp.neighbors[1], of), "fe80::1%a1");
	ck_assert_str_eq(bgp_neighbor_format(&c->bgp.neighbors[2], of), "a1");
	ck_assert_str_eq(bgp_neighbor_format(&c->bgp.neighbors[3], of), "198.18.0.4");
	config_destroy(c);
	edit(text, sizeof(text), "[198.18.0.0]}", "['fe80::1', 'fe80::1']}");
	ck_assert_int_eq(parse(&c, text, &error), -EBADMSG);
}
END_TEST

static const struct {
	const char *from, *to, *line, *says;
} mistakes[] = {
	{"bmp_port: 5002", "bmp_port: 70000", "f.yaml:5:", "bgp.bmp_port"},
	{"bmp_port: 5002", "bmp_port: -1", "f.yaml:5:", "bgp.bmp_port"},
	{"bmp_port: 5002", "bmp_prt: 5002", "f.yaml:5:", "bmp_prt"},
	{"bmp_port: 5002", "bmp_port: x", "f.yaml:5:", "bmp_port"},
	{"node: s0", "node: s0\nnode: s1", "f.yaml:2:", "given twice"},
	{"run_dir: /run/x", "run_dir: run/x", "f.yaml:2:", "run_dir"},
	{"warning", "loud", "f.yaml:3:", "log_level"},
	{"log_level: warning", "kernel_routes: true", "f.yaml:", "neither on nor off"},
	{"log_level: warning", "kernel_routes: on\nhealth: {enabled: false}",
	 "f.yaml:", "needs probes"},
	{"node: s0", "node: s0\noperator_group: ops", "f.yaml:2: operator_group: ", "give both"},
	{"bandwidth_scale: 200", "bandwidth_scale: 0", "f.yaml:6:", "bandwidth_scale"},
	{"bandwidth_scale: 200", "bandwidth_scale: .nan", "f.yaml:6:", "bandwidth_scale"},
	{"198.19.0.0/16", "198.19.0.1/16", "f.yaml:8:", "peer_prefixes[0]"},
	{"198.19.0.0/16", "198.19.0.0/33", "f.yaml:8:", "peer_prefixes[0]"},
	{"\"2001:db8:19::1\"", "198.19.0.2", "f.yaml:11:", "addresses[1]"},
	{"dev: a1", "dev: a0", "f.yaml:15:", "already another sub-port"},
	{"dev: a1", "dev: a-name-beyond-ifnamsiz", "f.yaml:15:", "sub_ports[1].dev"},
	{"198.18.0.4", "198.18.0.2", "f.yaml:17:", "neighbors[0]"},
	{"198.18.0.4", "leaf", "f.yaml:17:", "neighbors[0]"},
	{"198.18.0.4", "'fe80::'", "f.yaml:17:", "give 'unnumbered'"},
	{"198.18.0.4", "unnumbered, unnumbered", "f.yaml:17:", "neighbors[1]"},
	{"speed_mbps: 200", "speed_mbps: 99999999", "f.yaml:14:", "speed_mbps"},
	{"  peer_prefixes", "  peer_prefixes: [\n  x", "f.yaml:", "not YAML"},
	{"log_level: warning", "log_level: &a warning\nuser: *a", "f.yaml:", "alias"},
	{"local_gpus:", "local_gpus: []\nother:", "f.yaml:", ""},
	{"local_gpus:", "health: {interval_ms: 0.5}\nlocal_gpus:", "f.yaml:9:", "interval_ms"},
	{"local_gpus:", "health: {interval_ms: .nan}\nlocal_gpus:", "f.yaml:9:", "interval_ms"},
	{"local_gpus:", "health: {max_routers: 0}\nlocal_gpus:", "f.yaml:9:", "max_routers"},
	{"local_gpus:", "health: {multiplier: 1}\nlocal_gpus:", "f.yaml:9:", "multiplier"},
	{"local_gpus:", "health: {dscp: 64}\nlocal_gpus:", "f.yaml:9:", "dscp"},
	{"local_gpus:", "health: {enabled: maybe}\nlocal_gpus:", "f.yaml:9:", "enabled"},
	{"local_gpus:", "health: {key_file: k}\nlocal_gpus:", "f.yaml:9:", "key_file"},
	{"local_gpus:", "health: {key_file: /k, second_key_file: k}\nlocal_gpus:", "f.yaml:9:",
	 "health.second_key_file: not an absolute path"},
	{"local_gpus:", "health: {second_key_file: /k}\nlocal_gpus:", "f.yaml:9:",
	 "there is no health.key_file beside it"},
	{"local_gpus:", "health: {max_loss_percent: 0}\nlocal_gpus:", "f.yaml:9:", "max_loss"},
	{"speed_mbps: 200", "speed_mbps: 400G", "f.yaml:14: local_gpus[0].planes[0].sub_ports[0].",
	 "speed_mbps: \"400G\" is not a number of megabits per second: a decimal integer from 0 to "
	 "10000000 is expected"},
	{"speed_mbps: 200", "speed_mbps: 400e3", "f.yaml:14:", "\"400e3\" is not a number"},
	{"speed_mbps: 200", "speed_mbps: 400.5", "f.yaml:14:", "\"400.5\" is not a number"},
	{"speed_mbps: 200", "speed_mbps: 400_000", "f.yaml:14:", "\"400_000\" is not a number"},
	{"speed_mbps: 200", "speed_mbps: 0100", "f.yaml:14:", "\"0100\" is not a number"},
	{"speed_mbps: 200", "speed_mbps: 0x10", "f.yaml:14:", "\"0x10\" is not a number"},
	{"speed_mbps: 200", "speed_mbps: +200", "f.yaml:14:", "\"+200\" is not a number"},
	{"speed_mbps: 200", "speed_mbps: 18446744073709551816", "f.yaml:14:", "out of range"},
	{"bmp_port: 5002", "bmp_port: '5002,'", "f.yaml:5: bgp.bmp_port", "from 1 to 65535"},
	{"bmp_port: 5002", "bmp_port: 50 02", "f.yaml:5: bgp.bmp_port",
	 "\"50 02\" is not a number"},
	{"bmp_port: 5002", "bmp_port:", "f.yaml:", "bmp_port"},
	{"bandwidth_scale: 200", "bandwidth_scale: 1e3", "f.yaml:6:", "\"1e3\" is not a number"},
	{"bandwidth_scale: 200", "bandwidth_scale: inf", "f.yaml:6:", "\"inf\" is not a number"},
	{"local_gpus:", "health: {interval_ms: 10ms}\nlocal_gpus:",
	 "f.yaml:9: health.interval_ms: ",
	 "\"10ms\" is not a number of milliseconds: a decimal number from 1 to 10000"},
	{"local_gpus:", "health: {max_loss_percent: 2%}\nlocal_gpus:", "f.yaml:9:",
	 "\"2%\" is not a number of percent: a decimal number above 0 and at most 100"},
	{"local_gpus:", "health:\n  enabled: yes\nlocal_gpus:", "f.yaml:10: health.enabled: ",
	 "\"yes\": true or false is expected"},
	{"node: s0\n", "", "f.yaml:1: node: ", "required key is missing at the top level"},
	{"dev: a1, ", "", "f.yaml:15: local_gpus[0].planes[0].sub_ports[1].dev: ",
	 "missing in the mapping that begins on this line"},
	{"[198.18.0.0]", "198.18.0.0",
	 "f.yaml:14: local_gpus[0].planes[0].sub_ports[0].neighbors: ",
	 "a list is expected (lines that begin with '- ')"},
	{"node: s0", "node: [s0]", "f.yaml:1: node: ", "one value is expected, not a list"},
	{"bmp_port: 5002", "bmp_prt: 5002", "f.yaml:5: bgp.bmp_prt: ", "known are bmp_address, "},
	{"local_gpus:", "health: on\nlocal_gpus:", "f.yaml:9: health: ", "a mapping is expected"},
	{"      - sub_ports:\n          - {dev: b0",
	 "      - plane: 0\n        sub_ports:\n          - {dev: b0",
	 "f.yaml:16: local_gpus[0].planes[1].plane: ", "plane 0 is given twice"},
	{"      - sub_ports:\n          - {dev: b0",
	 "      - plane: 16\n        sub_ports:\n          - {dev: b0",
	 "f.yaml:16: local_gpus[0].planes[1].plane: ", "16"},
	{"      - sub_ports:\n          - {dev: a0",
	 "      - plane: 15\n        sub_ports:\n          - {dev: a0",
	 "f.yaml:", "the largest number is 15"},
	{"local_gpus:", "health: {hold_ms: 9, hold_max_ms: 8}\nlocal_gpus:", "f.yaml:9:",
	 "hold_max_ms"},
};

START_TEST(a_mistake)
{
	struct config_error error = {""};
	struct config *c = (struct config *)1;
	char text[2048];

	edit(text, sizeof(text), mistakes[_i].from, mistakes[_i].to);
	ck_assert_int_lt(parse(&c, text, &error), 0);
	ck_assert_ptr_null(c);
	ck_assert_msg(!strncmp(error.text, mistakes[_i].line, strlen(mistakes[_i].line)),
		      "'%s' lacks %s", error.text, mistakes[_i].line);
	ck_assert_msg(strcasestr(error.text, mistakes[_i].says), "'%s' lacks %s", error.text,
		      mistakes[_i].says);
}
END_TEST

/* As long as the manual says, and as long as the error says. */
START_TEST(a_run_dir_of_the_command_line)
{
	struct config_error error = {""};
	char dir[200];
	struct config *c;

	ck_assert_msg(!parse(&c, good, &error), "%s", error.text);
	ck_assert_int_eq(config_override_run_dir(c, "run/y", &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, "absolute"));
	memset(dir, 'd', sizeof(dir));
	dir[0] = '/';
	dir[95] = '\0';
	error.text[0] = '\0';
	ck_assert_int_eq(config_override_run_dir(c, dir, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, "at most 94 characters"));
	ck_assert_str_eq(c->run_dir, "/run/x");
	dir[94] = '\0';
	ck_assert_int_eq(config_override_run_dir(c, dir, &error), 0);
	ck_assert_str_eq(c->run_dir, dir);
	config_destroy(c);
}
END_TEST

START_TEST(every_truncation_is_survived)
{
	struct config_error error;
	struct config *c;

	for (size_t n = 0; n < strlen(good); n++) {
		if (!config_parse(&c, good, n, "f.yaml", &error))
			config_destroy(c);
		else
			ck_assert_ptr_null(c);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("config");
	TCase *tc = tcase_create("yaml");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, a_good_file);
	tcase_add_test(tc, link_local_neighbours_are_by_device);
	tcase_add_test(tc, a_plane_may_be_left_out);
	tcase_add_test(tc, fractions_are_plain_decimals);
	tcase_add_loop_test(tc, a_mistake, 0, (int)(sizeof(mistakes) / sizeof(mistakes[0])));
	tcase_add_test(tc, a_run_dir_of_the_command_line);
	tcase_add_test(tc, every_truncation_is_survived);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
