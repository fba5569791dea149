/* links: fared_core; parses: fared/config.c base/yaml/strict_yaml.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/* fared.yaml from an adversary: parsed whole or refused with a reason, and never half. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "config.h"
#include "config_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_error error = {""};
	struct config_list *list = NULL;
	struct config *config;
	int rc = config_parse(&config, (const char *)data, size, "fuzz.yaml", &error);

	/* -EINVAL: libcyaml refuses what our own check let pass */
	if (rc && (config || !error.text[0] || rc == -EINVAL))
		abort();
	if (!rc && (!config->n_gpus || config->n_gpus > FARE_MAX_LOCAL_GPUS ||
		    !(config->bgp.bandwidth_scale > 0)))
		abort();
	if (!rc && (config_list_create(&list, config) || !list->n))
		abort();
	config_list_destroy(list);
	config_destroy(config);
	return 0;
}
