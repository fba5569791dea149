# SPDX-License-Identifier: BSD-2-Clause
# soft_net.sh - sourced: two namespaces joined by two veth pairs, for programs over the soft
# provider.
#
# soft_net_up PREFIX MTU makes PREFIX-a and PREFIX-b with loopbacks 198.19.0.1, .2 (and
# 2001:db8:19::1, ::2), devices s0 and s1 in each, and routes over both. soft_net_down PREFIX
# removes them.

soft_net_up() {
	local p=$1 mtu=$2 i ns
	for ns in a b; do
		ip netns add "$p-$ns" || return 1
		ip -n "$p-$ns" link set lo up
		ip netns exec "$p-$ns" sysctl -qw net.ipv4.conf.all.rp_filter=0 \
			net.ipv4.conf.default.rp_filter=0 net.ipv4.fib_multipath_hash_policy=1 \
			net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
	done
	ip -n "$p-a" addr add 198.19.0.1/32 dev lo
	ip -n "$p-b" addr add 198.19.0.2/32 dev lo
	ip -n "$p-a" addr add 2001:db8:19::1/128 dev lo nodad
	ip -n "$p-b" addr add 2001:db8:19::2/128 dev lo nodad
	for i in 0 1; do
		ip link add "s$i" netns "$p-a" mtu "$mtu" type veth \
			peer name "s$i" netns "$p-b" mtu "$mtu" || return 1
		ip -n "$p-a" addr add "198.18.0.$((2 * i))/31" dev "s$i"
		ip -n "$p-b" addr add "198.18.0.$((2 * i + 1))/31" dev "s$i"
		ip -n "$p-a" addr add "2001:db8:18:$i::1/64" dev "s$i" nodad
		ip -n "$p-b" addr add "2001:db8:18:$i::2/64" dev "s$i" nodad
		ip -n "$p-a" link set "s$i" up
		ip -n "$p-b" link set "s$i" up
		# known from the start: what is sent to a neighbour that is being asked for may be dropped
		soft_net_neighbor "$p-a" "$p-b" "s$i" "198.18.0.$((2 * i + 1))" "2001:db8:18:$i::2"
		soft_net_neighbor "$p-b" "$p-a" "s$i" "198.18.0.$((2 * i))" "2001:db8:18:$i::1"
	done
	ip -n "$p-a" route add 198.19.0.2/32 src 198.19.0.1 \
		nexthop via 198.18.0.1 dev s0 nexthop via 198.18.0.3 dev s1
	ip -n "$p-b" route add 198.19.0.1/32 src 198.19.0.2 \
		nexthop via 198.18.0.0 dev s0 nexthop via 198.18.0.2 dev s1
	ip -n "$p-a" route add 2001:db8:19::2/128 nexthop via 2001:db8:18:0::2 dev s0 \
		nexthop via 2001:db8:18:1::2 dev s1
	ip -n "$p-b" route add 2001:db8:19::1/128 nexthop via 2001:db8:18:0::1 dev s0 \
		nexthop via 2001:db8:18:1::1 dev s1
}

# soft_net_neighbor HERE THERE DEVICE ADDRESS...: those of THERE at the other end of the device
soft_net_neighbor() {
	local here=$1 there=$2 dev=$3 mac address
	mac=$(ip netns exec "$there" cat "/sys/class/net/$dev/address") || return 1
	for address in "${@:4}"; do
		ip -n "$here" neigh replace "$address" lladdr "$mac" dev "$dev" nud permanent || return 1
	done
}

soft_net_down() {
	ip netns del "$1-a" 2>/dev/null
	ip netns del "$1-b" 2>/dev/null
	return 0
}
