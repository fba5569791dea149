/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_bench_hosts.h - two hosts of a GPU each for tests, as if their agents were there.
 *
 * Owns: what bench_hosts() made, until bench_hosts_end().
 */
#ifndef CHECK_BENCH_HOSTS_H
#define CHECK_BENCH_HOSTS_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "launch/hosts_internal.h"

#define BENCH_HOSTS                                                                                \
	"name: two\nmtu: 4200\nmax_rate_mbps: %u\nmax_run_s: 60\nmax_total_s: 600\nhosts:\n"       \
	"  - name: h0\n    run_dir: /run/a\n    gpus:\n      - address: 198.19.0.1\n"              \
	"        planes:\n          - sub_ports: [{dev: p0, rate_mbps: 50}]\n"                     \
	"          - sub_ports: [{dev: p1, rate_mbps: 50}]\n"                                      \
	"  - name: h1\n    run_dir: /run/b\n    gpus:\n      - address: 198.19.0.2\n"              \
	"        planes:\n          - sub_ports: [{dev: p0, rate_mbps: 50}]\n"                     \
	"          - sub_ports: [{dev: p1, rate_mbps: 50}]\n"                                      \
	"    faults:\n      - {plane: 0, sub_port: 0, down: \"true\", up: \"true\"}\n"

struct bench_hosts {
	struct hosts hosts;
	struct hosts_member member[2];
};

/* h0's GPU has its address on gpu0, h1's on a loopback device alone. */
static inline struct bench_hosts bench_hosts(unsigned max_rate_mbps)
{
	struct bench_hosts b = {.hosts = {.n = 2}};
	char text[2048], error[INVENTORY_ERROR_MAX];

	snprintf(text, sizeof(text), BENCH_HOSTS, max_rate_mbps);
	ck_assert_msg(!inventory_parse(&b.hosts.inventory, "two", text, strlen(text), error), "%s",
		      error);
	b.member[0].about = json_pack("{s:[s]}", "gpu_devices", "gpu0");
	b.member[1].about = json_pack("{s:[n]}", "gpu_devices");
	return b;
}

static inline void bench_hosts_end(struct bench_hosts *b)
{
	json_decref(b->member[0].about);
	json_decref(b->member[1].about);
	inventory_destroy(b->hosts.inventory);
}

#endif
