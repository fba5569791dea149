/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_bench_fabric.h - a fabric for tests, as JSON in the shape of `farelab status --json`, and
 * parsed.
 *
 * Owns nothing; both results are the caller's.
 */
#ifndef CHECK_BENCH_FABRIC_H
#define CHECK_BENCH_FABRIC_H

#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/topo.h"

/* A fabric as farelab tells it: gpus servers of one GPU, 4 planes, 2 sub-ports of 200 Mb/s. */
static inline json_t *fabric(int gpus)
{
	json_t *servers = json_array(), *leaves = json_array();

	for (int s = 0; s < gpus; s++) {
		json_t *planes = json_array();
		char name[32], netns[32], address[32];

		for (int p = 0; p < 4; p++) {
			json_t *ports = json_array();
			char leaf[32];

			for (int i = 0; i < 2; i++) {
				char dev[32];

				snprintf(dev, sizeof(dev), "g0p%ds%d", p, i);
				json_array_append_new(ports,
						      json_pack("{s:s, s:I, s:b, s:i}", "dev", dev,
								"rate_bps", (json_int_t)200000000,
								"up", 1, "gray_loss_ppm", 0));
			}
			snprintf(leaf, sizeof(leaf), "l%d", p);
			json_array_append_new(planes, json_pack("{s:i, s:s, s:o}", "plane", p,
								"leaf", leaf, "sub_ports", ports));
		}
		snprintf(name, sizeof(name), "s%d", s);
		snprintf(netns, sizeof(netns), "fl-demo-s%d", s);
		snprintf(address, sizeof(address), "198.19.0.%d", s + 1);
		json_array_append_new(servers,
				      json_pack("{s:s, s:s, s:s, s:s, s:{s:i, s:i, s:n}, s:[{s:s, "
						"s:i, s:i, s:s, s:n, s:o}]}",
						"name", name, "netns", netns, "run_dir", "/run/x",
						"fared_run_dir", "/run/x/fared", "pids", "zebra",
						100, "bgpd", 101, "fared", "gpus", "name", "g0",
						"index", 0, "global_index", s, "ipv4", address,
						"ipv6", "planes", planes));
	}
	for (int p = 0; p < 4; p++) {
		char name[32], netns[32];

		snprintf(name, sizeof(name), "l%d", p);
		snprintf(netns, sizeof(netns), "fl-demo-l%d", p);
		json_array_append_new(leaves, json_pack("{s:s, s:s, s:i, s:b}", "name", name,
							"netns", netns, "plane", p, "up", 1));
	}
	return json_pack("{s:s, s:b, s:n, s:i, s:i, s:i, s:o, s:o}", "lab", "demo", "converged", 1,
			 "why", "planes", 4, "sub_ports", 2, "mtu_bytes", 4200, "servers", servers,
			 "leaves", leaves);
}

/*
 * The same four servers, with two leaves a plane (s0 and s1 at the first) and two spines: links of
 * 400 Mb/s between them, as many as the servers of a leaf fill.
 */
static inline json_t *two_tiers(void)
{
	json_t *root = fabric(4), *leaves = json_array(), *spines = json_array(),
	       *uplinks = json_array();
	char leaf[32], spine[32];

	for (int p = 0; p < 4; p++)
		for (int i = 0; i < 4; i++) {
			json_t *gpu = json_array_get(
				json_object_get(
					json_array_get(json_object_get(root, "servers"), (size_t)i),
					"gpus"),
				0);
			json_t *plane = json_array_get(json_object_get(gpu, "planes"), (size_t)p);

			snprintf(leaf, sizeof(leaf), "l%d", 2 * p + i / 2);
			snprintf(spine, sizeof(spine), "sp%d", 2 * p + i % 2);
			json_object_set_new(plane, "leaf", json_string(leaf));
			if (i % 2 == 0)
				json_array_append_new(leaves, json_pack("{s:s, s:s, s:i, s:b}",
									"name", leaf, "netns", leaf,
									"plane", p, "up", 1));
			if (i < 2)
				json_array_append_new(spines,
						      json_pack("{s:s, s:s, s:b}", "name", spine,
								"netns", spine, "up", 1));
			json_array_append_new(uplinks, json_pack("{s:s, s:s, s:i, s:b}", "leaf",
								 leaf, "spine", spine, "rate_bps",
								 400000000, "up", 1));
		}
	json_object_set_new(root, "leaves", leaves);
	json_object_set_new(root, "spines", spines);
	json_object_set_new(root, "uplinks", uplinks);
	return root;
}

static inline struct topo *parsed(json_t *root)
{
	char *text = json_dumps(root, 0), reason[256];
	struct topo *topo = NULL;

	ck_assert_msg(topo_parse(&topo, text, strlen(text), reason, sizeof(reason)) == 0, "%s",
		      reason);
	free(text);
	json_decref(root);
	return topo;
}

#endif
