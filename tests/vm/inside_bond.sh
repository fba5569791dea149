# SPDX-License-Identifier: BSD-2-Clause
# inside_bond.sh: inside the VM: a bond of two links to a leaf, and rdma_rxe on it.
set -u
modprobe bonding max_bonds=0 || { echo "skipped: no module bonding"; exit 77; }
ip netns add leaf
ip -n leaf link add br0 mtu 4200 type bridge
ip link add bond0 mtu 4200 type bond mode active-backup miimon 50
for m in 0 1; do
	ip link add m$m mtu 4200 type veth peer name l$m mtu 4200 netns leaf
	ip link set m$m master bond0
	ip -n leaf link set l$m master br0 up
done
ip link set bond0 up
ip -n leaf link set br0 up
ip addr add 198.18.0.0/31 dev bond0
ip addr add 198.19.0.1/32 dev lo
ip -n leaf addr add 198.18.0.1/31 dev br0
ip -n leaf route add 198.19.0.1/32 via 198.18.0.0
rdma link add rxe0 type rxe netdev bond0 || exit 1
# until the bond has chosen a member
for _ in $(seq 100); do
	[ -n "$(cat /sys/class/net/bond0/bonding/active_slave)" ] && break
	sleep 0.1
done
"$FARE_BIN/verbs_bond" m0 m1 && "$FARE_BIN/verbs_bond" bond0
