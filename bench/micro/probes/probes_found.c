/* SPDX-License-Identifier: BSD-2-Clause */
/* probes_found.c - see probes_found.h */
#include "micro/probes/probes_found.h"

void probes_found_set(struct probes_found *found, const uint64_t *down_ns, uint32_t n,
		      uint64_t silent_ns)
{
	*found = (struct probes_found){.n_paths = n};
	for (uint32_t i = 0; i < n; i++) {
		bool seen = down_ns[i] >= silent_ns;

		found->n += seen;
		found->ms[i] = seen ? (double)(down_ns[i] - silent_ns) / 1e6 : PROBES_FOUND_MS;
	}
}
