/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor.c - see doctor.h: the table of checks */
#include "doctor_check.h"

#define PRINT_FRR "fared --print-frr-config prints a configuration that has it"

static const struct {
	const char *name;
	doctor_check_fn *check;
	const char *remedy;
} checks[] = {
	{"fared", doctor_fared, "systemctl start fared; journalctl -u fared says why it ended"},
	{"config", doctor_config, "correct the file where the line points; fared.yaml(5)"},
	{"in-force", doctor_in_force,
	 "farectl reload; what needs a restart: farectl show config says so"},
	{"trial", doctor_trial, "farectl confirm keeps it, farectl reload puts the file in force"},
	{"namespace", doctor_namespace,
	 "run farectl doctor where fared runs: ip netns exec NAME, or in its container"},
	{"bgpd", doctor_bgpd, "bgpd=yes in /etc/frr/daemons; systemctl restart frr"},
	{"bgpd-bmp", doctor_bgpd_bmp,
	 "bgpd_options=\"... -M bmp\" in /etc/frr/daemons; systemctl restart frr"},
	{"bmp-user", doctor_bmp_user, "set bgp.bmp_user in fared.yaml to bgpd's user"},
	{"zebra", doctor_zebra, "zebra runs with bgpd: systemctl restart frr"},
	{"frr-release", doctor_release, "docs/routes.md says what each release of FRR can do"},
	{"bmp-targets", doctor_bmp_targets,
	 "`bmp listener` of bgpd and bgp.bmp_address, bgp.bmp_port have to be the "
	 "same; " PRINT_FRR},
	{"bmp-monitor", doctor_bmp_monitor, PRINT_FRR},
	{"bmp", doctor_bmp, "the lines above say what BMP takes; vtysh -c 'show bmp'"},
	{"zserv", doctor_zserv,
	 "bgp.zserv_path is zebra's socket; fared's user has to be allowed to open it"},
	{"neighbors", doctor_neighbors,
	 "neighbors in fared.yaml are the leaves' addresses that bgpd has sessions with"},
	{"multipath-relax", doctor_multipath_relax,
	 "add `bgp bestpath as-path multipath-relax`: else one leaf alone is used; " PRINT_FRR},
	{"maximum-paths", doctor_maximum_paths,
	 "remove `maximum-paths`: bgpd then uses as many as it was built for"},
	{"soft-reconfig", doctor_soft_reconfiguration,
	 "add `neighbor ... soft-reconfiguration inbound`: without it BMP shows no "
	 "routes; " PRINT_FRR},
	{"network", doctor_network,
	 "add `network ADDRESS`: peers have no route to this GPU; " PRINT_FRR},
	{"nexthop-groups", doctor_nexthop_groups,
	 "add `no zebra nexthop kernel enable` to zebra: a group may stay one member short"},
	{"peer-prefixes", doctor_peer_prefixes,
	 "add the prefix of the peers' addresses to bgp.peer_prefixes"},
	{"peers", doctor_peers,
	 "vtysh -c 'show bgp summary': are sessions up? Are peers in bgp.peer_prefixes?"},
	{"bandwidth", doctor_bandwidth,
	 "leaves send Link Bandwidth in Mb/s, or bgp.bandwidth_scale says what their unit is"},
	{"devices", doctor_devices, "ip -br link; correct dev in fared.yaml"},
	{"carrier", doctor_carrier, "cable, transceiver and the leaf's port; ip -br link"},
	{"speed", doctor_speed, "set speed_mbps in fared.yaml, or look why the port is slower"},
	{"mtu", doctor_mtu, "ip link set DEV mtu N: the same on all sub-ports"},
	{"path-mtu", doctor_path_mtu,
	 "the MTU of the leaves' ports and of the peer; farectl why PEER PLANE"},
	{"subnets", doctor_subnets,
	 "the sub-port's address and its neighbour are of one subnet; are ports exchanged?"},
	{"addresses", doctor_addresses, "ip addr add ADDRESS dev lo"},
	{"vrf", doctor_vrf, "sysctl -w net.ipv4.udp_l3mdev_accept=1, or take the device out of it"},
	{"rp-filter", doctor_rp_filter,
	 "sysctl -w net.ipv4.conf.all.rp_filter=0, and of the device: replies come over one plane "
	 "while the route points to another"},
	{"hash-policy", doctor_hash_policy,
	 "sysctl -w net.ipv4.fib_multipath_hash_policy=1 net.ipv6.fib_multipath_hash_policy=1: "
	 "programs without libfare use one plane to a peer"},
	{"ports", doctor_ports, "end the process that holds them: ss -ulnp"},
	{"reserved-ports", doctor_reserved_ports,
	 "sysctl -w net.ipv4.ip_local_reserved_ports=7784,49152-53247: else any program may be "
	 "given one"},
	{"realtime", doctor_realtime,
	 "LimitRTPRIO=10 (docs/ops/fared.service), or CAP_SYS_NICE: a busy machine looks like a "
	 "dead plane"},
	{"memlock", doctor_memory, "LimitMEMLOCK=infinity (docs/ops/fared.service)"},
	{"clock", doctor_clock, "timedatectl; chronyc tracking: incarnations are by the clock"},
	{"key-file", doctor_key_file,
	 "health.key_file: without it peers learn of lost links from BGP alone"},
	{"keys", doctor_keys,
	 "copy the key to these peers; farectl reload (docs/ops/key-rotation.md)"},
	{"packets", doctor_packets, "farectl show counters says what each count means"},
	{"probes", doctor_probes,
	 "is fared running on that peer, with health.enabled? BGP alone says that its paths work"},
	{"probe-class", doctor_probe_class,
	 "0 where probes pass before data on every plane, else the default, 100: docs/health.md"},
	{"drains", doctor_drains, "farectl undrain, when the work is done"},
	{"paths", doctor_paths, "farectl why PEER PLANE"},
};

_Static_assert(sizeof(checks) / sizeof(checks[0]) <= DOCTOR_MAX_LINES, "a line for each check");

size_t doctor_run(const json_t *facts, struct doctor_line lines[DOCTOR_MAX_LINES])
{
	size_t n = sizeof(checks) / sizeof(checks[0]);

	for (size_t i = 0; i < n; i++) {
		lines[i] = (struct doctor_line){.name = checks[i].name, .remedy = checks[i].remedy};
		lines[i].state = checks[i].check(facts, &lines[i]);
	}
	return n;
}

const char *doctor_state_name(enum doctor_state state)
{
	static const char *const names[] = {[DOCTOR_OK] = "ok",
					    [DOCTOR_UNKNOWN] = "unknown",
					    [DOCTOR_ADVICE] = "advice",
					    [DOCTOR_WRONG] = "wrong"};

	return names[state];
}
