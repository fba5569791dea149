# SPDX-License-Identifier: BSD-2-Clause
# fabric.sh - sourced inside the VM: two GPUs and their leaves for rdma_rxe.
#
# Stock rxe looks up routes in the initial namespace only, so both GPUs live there, each with its own devices, and are
# kept apart by routing: what is sent from here is routed by table 100 first, which knows only ways through the
# leaves; only what arrives from a leaf finds the local addresses. Leaves are namespaces of their own, plain routers.
#
#   GPU h, plane p, sub-port s: device h<h>p<p>s<s>, 198.18.X.0/31 with X = 64 h + 8 p + s, and rxe device r<h>p<p>s<s>;
#   its leaf's end: l<h>s<s> in leaf<p>, 198.18.X.1.  GPU h itself: 198.19.0.<h + 1> on lo.

fabric_x() { echo $((64 * $1 + 8 * $2 + $3)); }

fabric_leaf_routes() { # plane sub_ports: (again) after a link of the leaf was down
	local h s ways
	for h in 0 1; do
		ways=
		for ((s = 0; s < $2; s++)); do
			ip -n "leaf$1" link show "l${h}s$s" up 2>/dev/null | grep -q UP &&
				ways="$ways nexthop via 198.18.$(fabric_x $h "$1" $s).0"
		done
		[ -z "$ways" ] || ip -n "leaf$1" route replace "198.19.0.$((h + 1))/32" $ways
	done
}

fabric_up() { # planes sub_ports
	local h p s x dev o t
	sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 \
		net.ipv4.conf.all.accept_local=1 net.ipv4.conf.default.accept_local=1
	ip rule add pref 10 iif lo lookup 100
	ip rule add pref 20 lookup local
	ip rule del pref 0
	for ((p = 0; p < $1; p++)); do
		ip netns add "leaf$p"
		ip netns exec "leaf$p" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 \
			net.ipv4.conf.default.rp_filter=0 net.ipv4.fib_multipath_hash_policy=1
		for h in 0 1; do
			for ((s = 0; s < $2; s++)); do
				x=$(fabric_x $h $p $s) dev=h${h}p${p}s$s
				ip link add "$dev" mtu 4200 type veth peer name "l${h}s$s" mtu 4200 netns "leaf$p"
				ip addr add "198.18.$x.0/31" dev "$dev"
				ip link set "$dev" up
				ip -n "leaf$p" addr add "198.18.$x.1/31" dev "l${h}s$s"
				ip -n "leaf$p" link set "l${h}s$s" up
			done
		done
		fabric_leaf_routes $p "$2"
	done
	for h in 0 1; do
		ip addr add "198.19.0.$((h + 1))/32" dev lo
		o=$((1 - h))
		for ((p = 0; p < $1; p++)); do
			for ((s = 0; s < $2; s++)); do
				dev=h${h}p${p}s$s x=$(fabric_x $h $p $s)
				# one way per device: whoever sends is bound to one, and finds the route that fits
				ip route add "198.19.0.$((o + 1))/32" via "198.18.$x.1" dev "$dev" table 100 \
					metric $((1 + 8 * p + s))
				for ((t = 0; t < $2; t++)); do
					ip route add "198.18.$(fabric_x $o $p $t).0/32" via "198.18.$x.1" dev "$dev" \
						table 100 metric $((1 + s))
				done
			done
		done
	done
	for h in 0 1; do
		for ((p = 0; p < $1; p++)); do
			for ((s = 0; s < $2; s++)); do
				rdma link add "r${h}p${p}s$s" type rxe netdev "h${h}p${p}s$s" || return 1
			done
		done
	done
}

# A gray failure: the leaf drops everything, its links stay up.
fabric_gray() { ip netns exec "leaf$1" sysctl -qw net.ipv4.ip_forward=0; }
fabric_clear() { ip netns exec "leaf$1" sysctl -qw net.ipv4.ip_forward=1; }
# One link of GPU h loses its carrier, at the leaf's end; and has it again.
fabric_link_down() { ip -n "leaf$2" link set "l${1}s$3" down; } # gpu plane sub_port
fabric_link_up() { ip -n "leaf$2" link set "l${1}s$3" up; }

# Another address for a sub-port: X + 128. The old one goes.
fabric_readdress() { # gpu plane sub_port sub_ports
	local x=$(fabric_x "$1" "$2" "$3") o=$((1 - $1)) t
	ip -n "leaf$2" addr add "198.18.$((x + 128)).1/31" dev "l${1}s$3"
	ip addr add "198.18.$((x + 128)).0/31" dev "h${1}p${2}s$3"
	for ((t = 0; t < $4; t++)); do
		ip route add "198.18.$((x + 128)).0/32" via "198.18.$(fabric_x $o "$2" $t).1" dev "h${o}p${2}s$t" \
			onlink table 100 metric $((1 + t)) # that way's own address may have changed before
	done
	ip addr del "198.18.$x.0/31" dev "h${1}p${2}s$3"
}

# Each program, with these options before its own arguments; all of them, whatever becomes of one. Not 0: one failed.
fabric_programs() { # options "program [arg...]"...
	local options=$1 line words status=0
	shift
	for line; do
		read -ra words <<<"$line"
		echo "== $line"
		"$FARE_BIN/${words[0]}" $options "${words[@]:1}" || { echo "FAIL: $line: status $?"; status=1; }
	done
	return $status
}
