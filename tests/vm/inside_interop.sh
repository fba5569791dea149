# SPDX-License-Identifier: BSD-2-Clause
# inside_interop.sh: inside the VM: the device's end of interop.sh, on rdma_rxe over eth0.
set -u
sysctl -qw net.ipv6.conf.eth0.accept_dad=0
ip addr add 198.18.100.2/24 dev eth0
ip addr add 2001:db8:100::2/64 dev eth0 nodad
ip link set eth0 mtu 4200 up
rdma link add rxe0 type rxe netdev eth0 || exit 1
run() { # twice each: path MTU 1024, then 4096
	for _ in 1024 4096; do
		"$FARE_BIN/interop_device" ::ffff:198.18.100.2 ::ffff:198.18.100.1 &&
			"$FARE_BIN/interop_device" 2001:db8:100::2 2001:db8:100::1 || return 1
	done
}
run || exit 1
# one in fifty lost each way, data and acknowledgements alike: both ends repeat, nothing is wrong at the end. And all that the device
# sends is marked as by a full queue: it is told so by CNPs, which it does not know, and must not mistake for answers
modprobe -a sch_netem sch_ingress cls_matchall act_mirred act_pedit act_csum ifb || exit 1
ip link add ifb0 mtu 4200 type ifb
ip link set ifb0 up
tc qdisc add dev eth0 root netem loss 2% && tc qdisc add dev ifb0 root netem loss 2% && tc qdisc add dev eth0 clsact &&
	tc filter add dev eth0 ingress matchall action mirred egress redirect dev ifb0 &&
	tc filter add dev eth0 egress protocol ip matchall action pedit ex munge ip dsfield set 3 retain 3 pipe action csum ip &&
	tc filter add dev eth0 egress protocol ipv6 matchall action pedit ex munge ip6 traffic_class set 3 retain 3 || exit 1
run
