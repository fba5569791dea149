/* links: netns_core; parses: netns/drill_plan.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drill_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A plan that is taken is in order of time, and every step ends within its bounds. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct topology t = {
		.servers = 4, .gpus_per_server = 2, .planes = 4, .sub_ports = 2};
	char error[DRILL_PLAN_ERROR_MAX], undo[DRILL_PLAN_TEXT_MAX];
	struct drill_plan plan;
	int rc = drill_plan_parse("f", (const char *)data, size, &t, 1, 0, &plan, error);

	if (rc == -EINVAL) /* libcyaml refuses what our own check let pass */
		abort();
	if (rc)
		return 0;
	for (unsigned i = 0; i < plan.n_steps; i++) {
		if (i && plan.steps[i].at_s < plan.steps[i - 1].at_s)
			abort();
		if (strnlen(plan.steps[i].text, DRILL_PLAN_TEXT_MAX) == DRILL_PLAN_TEXT_MAX)
			abort();
		drill_plan_undo(plan.steps[i].text, &t, undo);
	}
	drill_plan_fini(&plan);
	return 0;
}
