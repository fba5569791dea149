/* SPDX-License-Identifier: BSD-2-Clause */
/* probes_net.c - namespaces, links and addresses of what is measured (probes.h) */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/command.h"
#include "netns.h"
#include "micro/probes/probes.h"
#include "sub_ports.h"

#define IP_TIMEOUT_MS 60000

struct in6_addr probes_net_near_address(void)
{
	struct in6_addr a;

	inet_pton(AF_INET6, "::ffff:198.19.255.1", &a);
	return a;
}

struct in6_addr probes_net_peer(uint32_t i)
{
	struct in6_addr a = probes_net_near_address();

	a.s6_addr[14] = (uint8_t)(i / 250);
	a.s6_addr[15] = (uint8_t)(i % 250 + 1);
	return a;
}

uint32_t probes_net_index(const struct in6_addr *peer)
{
	return peer->s6_addr[14] * 250u + peer->s6_addr[15] - 1u;
}

static void device(char out[IFNAMSIZ], unsigned plane, unsigned sub_port)
{
	snprintf(out, IFNAMSIZ, "p%us%u", plane % PROBES_PLANES, sub_port % PROBES_SUB_PORTS);
}

static int batch(const char *netns, const char *lines, size_t length)
{
	const char *argv[] = {"ip", "-n", netns, "-batch", "-", NULL};
	struct command_result result;
	int rc = command_feed(argv, lines, length, IP_TIMEOUT_MS, &result);

	if (rc)
		return rc;
	free(result.out);
	if (!result.status)
		return 0;
	fprintf(stderr, "farebench: ip -n %s: %s\n", netns, result.err);
	return -EREMOTEIO;
}

/* One end: its devices, a route over each of them, its loopbacks. */
static int build_end(const struct probes_net *net, bool far)
{
	char *lines = NULL, dev[IFNAMSIZ], text[INET6_ADDRSTRLEN];
	size_t length = 0;
	FILE *f = open_memstream(&lines, &length);
	int rc;

	if (!f)
		return -ENOMEM;
	fprintf(f, "link set lo up\n");
	for (unsigned i = 0; i < PROBES_PLANES * PROBES_SUB_PORTS; i++) {
		device(dev, i / PROBES_SUB_PORTS, i % PROBES_SUB_PORTS);
		fprintf(f, "link set %s up\naddr add 198.18.0.%u/31 dev %s\n", dev, 2 * i + far,
			dev);
		fprintf(f, "route add 198.19.0.0/16 via 198.18.0.%u dev %s metric %u\n",
			2 * i + !far, dev, i + 1);
	}
	for (uint32_t i = 0; i < (far ? net->n_peers : 1); i++) {
		struct in6_addr a = far ? probes_net_peer(i) : probes_net_near_address();

		inet_ntop(AF_INET, a.s6_addr + 12, text, sizeof(text));
		fprintf(f, "addr add %s/32 dev lo\n", text);
	}
	rc = fclose(f) ? -ENOMEM : batch(far ? net->far : net->near, lines, length);
	free(lines);
	return rc;
}

static int ip(const char *const *argv)
{
	return command_check(argv, IP_TIMEOUT_MS, NULL);
}

int probes_net_up(struct probes_net *net, uint32_t n_peers)
{
	const char *near[] = {"ip", "netns", "add", net->near, NULL},
		   *far[] = {"ip", "netns", "add", net->far, NULL};
	char dev[IFNAMSIZ];
	int rc;

	snprintf(net->near, sizeof(net->near), "fareprobes-%d-n", (int)getpid());
	snprintf(net->far, sizeof(net->far), "fareprobes-%d-f", (int)getpid());
	net->n_peers = n_peers;
	rc = ip(near);
	if (!rc)
		rc = ip(far);
	for (unsigned i = 0; !rc && i < PROBES_PLANES * PROBES_SUB_PORTS; i++) {
		const char *link[] = {"ip",   "link", "add",  dev, "netns", net->near, "type",
				      "veth", "peer", "name", dev, "netns", net->far,  NULL};

		device(dev, i / PROBES_SUB_PORTS, i % PROBES_SUB_PORTS);
		rc = ip(link);
	}
	if (!rc)
		rc = build_end(net, false);
	if (!rc)
		rc = build_end(net, true);
	if (rc)
		probes_net_down(net);
	return rc;
}

void probes_net_down(const struct probes_net *net)
{
	const char *near[] = {"ip", "netns", "del", net->near, NULL},
		   *far[] = {"ip", "netns", "del", net->far, NULL};
	struct command_result result;

	if (!command_run(near, IP_TIMEOUT_MS, &result))
		free(result.out);
	if (!command_run(far, IP_TIMEOUT_MS, &result))
		free(result.out);
}

int probes_net_enter(const char *name)
{
	int rc = netns_join(name);

	if (rc)
		fprintf(stderr, "farebench: cannot enter network namespace %s: %s\n", name,
			strerror(-rc));
	return rc;
}

void probes_net_ports(struct sub_ports *out)
{
	struct sub_ports_gpu *gpu = &out->gpus[0];
	char dev[IFNAMSIZ];

	memset(out, 0, sizeof(*out));
	out->n_gpus = 1;
	gpu->address[0] = probes_net_near_address();
	gpu->n_planes = PROBES_PLANES;
	for (unsigned p = 0; p < PROBES_PLANES; p++) {
		gpu->n_sub_ports[p] = PROBES_SUB_PORTS;
		gpu->live[p] = (1u << PROBES_SUB_PORTS) - 1;
		for (unsigned s = 0; s < PROBES_SUB_PORTS; s++) {
			device(dev, p, s);
			gpu->ifindex[p][s] = (int)if_nametoindex(dev);
		}
	}
}

void probes_net_pin(unsigned core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}
