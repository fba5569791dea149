/* links: netns_core; parses: netns/topology.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a topology file: refused with a reason, or a topology whose numbers are all in
 * range. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char error[TOPOLOGY_ERROR_MAX] = "";
	struct topology t = {0};
	int rc = topology_parse("f", (const char *)data, size, &t, error);

	if (rc) { /* -EINVAL: libcyaml refuses what our own check let pass */
		if (!error[0] || t.servers || rc == -EINVAL)
			abort();
		return 0;
	}
	if (!t.servers || !t.planes || !t.sub_ports || t.servers * t.gpus_per_server > 1024 ||
	    t.servers * t.gpus_per_server * t.planes * t.sub_ports > 32768 || t.hold_s < 3 ||
	    (t.name[0] && !topology_name_valid(t.name)) || !(t.ipv4 || t.ipv6) ||
	    t.n_rates > TOPOLOGY_RATES_MAX ||
	    topology_leaf(&t, t.servers - 1) + 1 != t.leaves_per_plane ||
	    (t.n_rates && !topology_rate(&t, 0, 0, 0, 0)))
		abort();
	return 0;
}
