/* links: fared_core; parses: fared/drain_file.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/* A drain file from an adversary: refused with a reason, or a set that is within its bounds. */
#include <stdint.h>
#include <stdlib.h>

#include "config.h"
#include "drain_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct config_gpu gpu = {.name = "g0"};
static const struct config config = {.run_dir = "/run", .n_gpus = 1, .gpus = &gpu};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[400] = "";
	struct drain_set set;

	if (drain_file_parse(&config, (const char *)data, size, &set, why, sizeof(why))) {
		if (!why[0] || set.n)
			abort();
		return 0;
	}
	if (set.n > DRAIN_RULES_MAX)
		abort();
	for (uint32_t i = 0; i < set.n; i++)
		if (set.rules[i].plane >= FARE_MAX_PLANES || set.rules[i].gpu >= config.n_gpus ||
		    set.rules[i].sub_port >= FARE_MAX_SUB_PORTS)
			abort();
	return 0;
}
