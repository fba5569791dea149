/* links: fared_core; parses: fared/trial_file.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/* The record of a trial from an adversary: refused with a reason, or what a reload could do. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "config_diff.h"
#include "trial_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] =
	"node: s0\n"
	"bgp: {peer_prefixes: [198.19.0.0/16], stale_s: 91}\n"
	"local_gpus:\n"
	"  - {name: g0, addresses: [198.19.0.1], planes: [{sub_ports: [{dev: a0, "
	"neighbors: [198.18.0.0]}]}]}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config *on_trial, *out;
	struct config_error error;
	struct config_diff *diff;
	char why[400] = "";

	if (config_parse(&on_trial, text, strlen(text), "f", &error))
		abort();
	if (trial_file_parse(&out, on_trial, (const char *)data, size, why, sizeof(why))) {
		if (!why[0] || out)
			abort();
	} else if (out) {
		if (strcmp(out->health.key_file, on_trial->health.key_file) ||
		    strcmp(out->run_dir, on_trial->run_dir) ||
		    config_diff_create(&diff, on_trial, out) ||
		    config_diff_has(diff, CONFIG_RESTART))
			abort();
		config_diff_destroy(diff);
		config_destroy(out);
	}
	config_destroy(on_trial);
	return 0;
}
