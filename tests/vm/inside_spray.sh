# SPDX-License-Identifier: BSD-2-Clause
# inside_spray.sh MEGABYTES: inside the VM: two hosts and between them a leaf that delays every packet by another time.
set -u
modprobe sch_netem || exit 1
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
for h in a b; do
	x=$([ $h = a ] && echo 0 || echo 2)
	ip netns add $h
	ip link add l$h mtu 4200 type veth peer name p0 mtu 4200 netns $h
	ip addr add 198.18.200.$((x + 1))/31 dev l$h
	ip link set l$h up
	ip -n $h link set lo up
	ip -n $h addr add 198.18.200.$x/31 dev p0
	ip -n $h link set p0 up
	ip -n $h route add default via 198.18.200.$((x + 1))
	# packets, not batches of them, shall meet the leaf
	ip netns exec $h ethtool -K p0 tx-udp-segmentation off || exit 1
	tc qdisc add dev l$h root netem limit 100000 delay 3ms 2ms || exit 1
done
exec "$FARE_BIN/spray" a ::ffff:198.18.200.0 b ::ffff:198.18.200.2 p0 "$1"
