/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration in words: each key once, in the manual's order, defaults included. */
#include "config_list.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

static const char file[] =
	"node: s0\n"
	"bgp: {peer_prefixes: [198.19.0.0/16, \"2001:db8:19::/48\"]}\n"
	"health: {max_loss_percent: 0.25}\n"
	"local_gpus:\n"
	"  - name: g0\n"
	"    addresses: [\"2001:db8:19::1\", 198.19.0.1]\n"
	"    planes:\n"
	"      - sub_ports: [{dev: a0, neighbors: [198.18.0.0, 198.18.0.2]}]\n"
	"      - plane: 2\n"
	"        sub_ports: [{dev: b0, speed_mbps: 400, neighbors: [198.18.0.4]}]\n";

static struct config *config;
static struct config_list *list;

static void setup(void)
{
	struct config_error error;

	ck_assert_msg(!config_parse(&config, file, strlen(file), "f", &error), "%s", error.text);
	ck_assert_int_eq(config_list_create(&list, config), 0);
}

static void teardown(void)
{
	config_list_destroy(list);
	config_destroy(config);
}

static const struct config_entry *entry(const char *key)
{
	const struct config_entry *found = NULL;

	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->entries[i].key, key)) {
			ck_assert_msg(!found, "%s twice", key);
			found = &list->entries[i];
		}
	ck_assert_msg(found, "%s", key);
	return found;
}

START_TEST(values_are_those_in_force)
{
	static const struct {
		const char *key, *value;
		enum config_effect effect;
	} expected[] = {
		{"node", "s0", CONFIG_RESTART},
		{"run_dir", "/run/fared", CONFIG_RESTART},
		{"log_level", "info", CONFIG_AT_ONCE},
		{"kernel_routes", "off", CONFIG_AT_ONCE},
		{"bgp.bmp_port", "5001", CONFIG_SOURCES},
		{"bgp.peer_prefixes", "[198.19.0.0/16, 2001:db8:19::/48]", CONFIG_SOURCES},
		{"health.max_loss_percent", "0.25", CONFIG_RESTART},
		{"health.hold_max_ms", "10000", CONFIG_RESTART},
		{"local_gpus[0].addresses", "[198.19.0.1, 2001:db8:19::1]", CONFIG_RESTART},
		{"local_gpus[0].planes[0].sub_ports[0].neighbors", "[198.18.0.0, 198.18.0.2]",
		 CONFIG_SOURCES},
		{"local_gpus[0].planes[0].sub_ports[0].speed_mbps", "0", CONFIG_AT_ONCE},
		/* the place in the file, and the number of the plane */
		{"local_gpus[0].planes[1].plane", "2", CONFIG_RESTART},
		{"local_gpus[0].planes[1].sub_ports[0].dev", "b0", CONFIG_RESTART},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		ck_assert_str_eq(entry(expected[i].key)->value, expected[i].value);
		ck_assert_int_eq(entry(expected[i].key)->effect, expected[i].effect);
	}
	ck_assert_str_eq(list->entries[0].key, "node");
}
END_TEST

START_TEST(effects_have_the_manuals_words)
{
	ck_assert_str_eq(config_effect_name(CONFIG_AT_ONCE), "yes");
	ck_assert_str_eq(config_effect_name(CONFIG_SOURCES), "sources");
	ck_assert_str_eq(config_effect_name(CONFIG_RESTART), "restart");
}
END_TEST

/* Each key of the list is documented. */
START_TEST(the_manual_names_every_key)
{
	static char manual[1 << 18];
	const char *root = getenv("FARE_SOURCE_DIR");
	char path[500], name[100];
	FILE *f;
	size_t n;

	ck_assert_ptr_nonnull(root);
	snprintf(path, sizeof(path), "%s/docs/man/fared.yaml.5", root);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	n = fread(manual, 1, sizeof(manual) - 1, f);
	manual[n] = '\0';
	fclose(f);
	for (size_t i = 0; i < list->n; i++) {
		const char *key = strrchr(list->entries[i].key, '.');

		snprintf(name, sizeof(name), "%s\n", key ? key + 1 : list->entries[i].key);
		ck_assert_msg(strstr(manual, name), "%s", name);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("config_list");
	TCase *tc = tcase_create("list");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, values_are_those_in_force);
	tcase_add_test(tc, effects_have_the_manuals_words);
	tcase_add_test(tc, the_manual_names_every_key);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
