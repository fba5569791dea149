/* SPDX-License-Identifier: BSD-2-Clause */
/* net.c - two network namespaces joined by one veth pair per plane (end.h) */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/command.h"
#include "fare_verdict.h"
#include "micro/transport/end.h"
#include "micro/transport/method.h"
#include "netns.h"

#define PLANE_BPS UINT64_C(100000000000)

/* A command in words, without a shell. */
__attribute__((format(printf, 1, 2))) static int run(const char *format, ...)
{
	const char *argv[32];
	char text[512], *arg;
	unsigned n = 0;
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	for (char *rest = text; n < 31 && (arg = strsep(&rest, " "));)
		argv[n++] = arg;
	argv[n] = NULL;
	return command_check(argv, 10000, NULL);
}

static int add_end(struct transport_net *net, unsigned who)
{
	const char *ns = net->netns[who];
	int err = run("ip netns add %s", ns);

	if (!err)
		err = run("ip -n %s link set lo up", ns);
	if (!err)
		err = run("ip -n %s addr add %s/32 dev lo", ns, net->address[who]);
	if (!err)
		err = run("ip netns exec %s sysctl -qw net.ipv4.conf.all.rp_filter=0 "
			  "net.ipv4.conf.default.rp_filter=0",
			  ns);
	/* what TCP may use of memory, so that no default of a desktop limits it */
	if (!err)
		err = run("ip netns exec %s sysctl -q -w net.ipv4.tcp_rmem=4096\t1048576\t67108864 "
			  "net.ipv4.tcp_wmem=4096\t1048576\t67108864",
			  ns);
	snprintf(net->run_dir[who], sizeof(net->run_dir[who]), "/tmp/fb-transport.XXXXXX");
	if (!err && !mkdtemp(net->run_dir[who]))
		err = -errno;
	if (err)
		net->run_dir[who][0] = '\0';
	return err;
}

static int add_plane(struct transport_net *net, unsigned plane)
{
	int err = run("ip link add p%u netns %s mtu 4200 type veth peer name p%u netns %s mtu 4200",
		      plane, net->netns[0], plane, net->netns[1]);

	for (unsigned who = 0; !err && who < 2; who++) {
		err = run("ip -n %s addr add 198.18.%u.%u/31 dev p%u", net->netns[who], plane, who,
			  plane);
		/*
		 * receives through a queue of its own, as a NIC does: an end awake may poll it
		 */
		if (!err)
			err = run("ip netns exec %s ethtool -K p%u gro on", net->netns[who], plane);
		if (!err)
			err = run("ip -n %s link set p%u up", net->netns[who], plane);
	}
	return err;
}

static int open_writer(struct transport_net *net, unsigned who)
{
	struct shm_writer_gpu gpu = {.n_planes = net->n_planes};
	struct in6_addr own = transport_address(net->address[who]);
	int err;

	memcpy(gpu.address[0], &own, sizeof(own));
	for (unsigned p = 0; p < net->n_planes; p++) {
		gpu.n_sub_ports[p] = 1;
		snprintf(gpu.dev[p][0], sizeof(gpu.dev[p][0]), "p%u", p);
	}
	err = shm_writer_open(&net->writer[who], net->run_dir[who], 0600, &gpu, 1, NULL);
	for (uint32_t p = 0; !err && p < net->n_planes; p++)
		shm_writer_sub_port(net->writer[who], 0, p, 0, true, PLANE_BPS);
	return err;
}

int transport_net_publish(struct transport_net *net, unsigned n)
{
	for (unsigned who = 0; who < 2; who++) {
		struct in6_addr peer = transport_address(net->address[!who]);
		struct shm_path path[FARE_MAX_PLANES];
		int pair = shm_writer_pair(net->writer[who], 0, peer.s6_addr), err;

		if (pair < 0)
			return pair;
		memset(path, 0, sizeof(path));
		for (unsigned p = 0; p < net->n_planes; p++) {
			path[p].usable_bps = p < n ? PLANE_BPS : 0;
			path[p].verdict = p < n ? FARE_VERDICT_OK : FARE_VERDICT_DRAINED;
		}
		err = shm_writer_publish(net->writer[who], (uint32_t)pair, path, net->n_planes);
		if (err < 0)
			return err;
	}
	return 0;
}

int transport_net_up(struct transport_net *net, unsigned n_planes)
{
	int err = 0;

	memset(net, 0, sizeof(*net));
	net->n_planes = n_planes;
	for (unsigned who = 0; who < 2; who++) {
		snprintf(net->netns[who], sizeof(net->netns[who]), "fb-transport-%d-%c",
			 (int)getpid(), "ab"[who]);
		snprintf(net->address[who], sizeof(net->address[who]), "198.19.0.%u", who + 1);
	}
	for (unsigned who = 0; !err && who < 2; who++)
		err = add_end(net, who);
	for (unsigned p = 0; !err && p < n_planes; p++)
		err = add_plane(net, p);
	for (unsigned who = 0; !err && who < 2; who++)
		err = run("ip -n %s route add %s/32 via 198.18.0.%u src %s", net->netns[who],
			  net->address[!who], !who, net->address[who]);
	for (unsigned who = 0; !err && who < 2; who++)
		err = open_writer(net, who);
	return err ? err : transport_net_publish(net, n_planes);
}

void transport_net_down(struct transport_net *net)
{
	for (unsigned who = 0; who < 2; who++) {
		char path[96];

		shm_writer_close(net->writer[who]);
		snprintf(path, sizeof(path), "/run/netns/%s", net->netns[who]);
		if (net->netns[who][0] && access(path, F_OK) == 0)
			run("ip netns del %s", net->netns[who]);
		if (net->run_dir[who][0] && access(net->run_dir[who], F_OK) == 0)
			run("rm -r %s", net->run_dir[who]);
	}
	memset(net, 0, sizeof(*net));
}

int transport_net_enter(const struct transport_net *net, unsigned who)
{
	return netns_join(net->netns[who]);
}
