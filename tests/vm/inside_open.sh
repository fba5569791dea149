# SPDX-License-Identifier: BSD-2-Clause
# inside_open.sh: inside the VM: every way in which opening a verbs endpoint fails has an error of its own.
set -u
failed=0
expect() { # wanted description command...
	local wanted=$1 what=$2 got
	shift 2
	got=$("$@")
	echo "$what: $got"
	[ "$got" = "$wanted" ] || { echo "  but $wanted was expected"; failed=1; }
}

ip link add d0 mtu 4200 type veth peer name d1 mtu 4200
ip link set d0 up
ip link set d1 up
ip addr add 198.19.0.1/32 dev lo
open="$FARE_BIN/verbs_open"
expect ENODEV "RDMA, but no device at all" "$open" d0 ::ffff:198.19.0.1
rdma link add r0 type rxe netdev d0 || exit 1
expect EADDRNOTAVAIL "a device without an address" "$open" d0 ::ffff:198.19.0.1
ip addr add 198.18.0.0/31 dev d0
expect ok "a device with an address" "$open" d0 ::ffff:198.19.0.1
expect EADDRNOTAVAIL "an address of the other family only" "$open" d0 2001:db8:19::1
expect ENODEV "a device, but not on this sub-port" "$open" d1 ::ffff:198.19.0.1
expect ok "the largest MTU that fits" "$open" d0 ::ffff:198.19.0.1 4096
expect EOPNOTSUPP "placement in any order" "$open" d0 ::ffff:198.19.0.1 1024 order-free
expect "4798 4799 ok" "two processes at one address" "$open" d0 ::ffff:198.19.0.1 1024 twice
ip link set d0 mtu 1500
expect "1024 ok" "the path MTU that a port carries" "$open" d0 ::ffff:198.19.0.1 0
expect EMSGSIZE "a port MTU below the path MTU" "$open" d0 ::ffff:198.19.0.1 4096
chmod 600 /dev/infiniband/uverbs*
expect EACCES "no permission" setpriv --reuid 65534 --clear-groups "$open" d0 ::ffff:198.19.0.1
exit $failed
