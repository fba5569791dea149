/* SPDX-License-Identifier: BSD-2-Clause */
/* descriptors.c - see descriptors.h */
#include "descriptors.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>

#include "closer.h"
#include "control.h"
#include "prober.h"

/* log, loop, lock, segment, netlink, BMP, zebra, clocks, and libraries' own */
#define OTHERS	   32u
#define PER_CLIENT 2u /* its socket, and what it passes */

static uint32_t sub_ports_of(const struct config_gpu *gpu)
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < gpu->n_planes; p++)
		n += gpu->planes[p].n_sub_ports;
	return n;
}

/*
 * Probes' ports and the reflector's (udp.h), and two for where the data's ports lead (udp_raw.h).
 */
static uint32_t sockets_of(uint32_t n_sub_ports, bool v6)
{
	uint32_t each = v6 ? 2 + n_sub_ports : 1;

	return (PROBER_PORTS + 1) * each + 2 + (v6 ? n_sub_ports : 0);
}

uint32_t descriptors_needed(const struct config *config)
{
	uint32_t n = OTHERS + PER_CLIENT * CONTROL_MAX_CLIENTS + CLOSER_FULL + CONTROL_MAX_PASSED;

	for (uint32_t g = 0; g < config->n_gpus; g++) {
		const struct config_gpu *gpu = &config->gpus[g];
		uint32_t n_sub_ports = sub_ports_of(gpu);

		n += n_sub_ports; /* links.c: how often carrier was lost */
		if (!config->health.enabled)
			continue;
		n += n_sub_ports; /* prober_rx.c: what has come in */
		for (int family = 0; family < 2; family++)
			if (!IN6_IS_ADDR_UNSPECIFIED(&gpu->address[family]))
				n += sockets_of(n_sub_ports, family == 1);
	}
	return n;
}

int descriptors_raise(uint64_t *limit)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l))
		return -errno;
	*limit = l.rlim_cur;
	if (l.rlim_cur == l.rlim_max)
		return 0;
	l.rlim_cur = l.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &l))
		return -errno;
	*limit = l.rlim_cur;
	return 0;
}
