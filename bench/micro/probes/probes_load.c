/* SPDX-License-Identifier: BSD-2-Clause */
/* probes_load.c - see probes.h: one load, from its namespaces to what came of it */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "micro/probes/probes.h"

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

int probes_load_run(const struct probes_load *load, struct probes_sample *sample,
		    struct probes_found *found)
{
	struct probes_net net;
	int rc = probes_net_up(&net, load->n_peers);
	pid_t peers = 0;

	if (!rc)
		peers = probes_peers_start(&net, load);
	if (!rc)
		rc = peers < 0 ? peers : probes_unit_run(&net, load, peers, sample, found);
	if (peers > 0) {
		kill(peers, SIGKILL);
		waitpid(peers, NULL, 0);
	}
	probes_net_down(&net);
	if (rc)
		fprintf(stderr, "farebench: probing %u peers: %s\n", load->n_peers, strerror(-rc));
	return rc;
}
