# inside_interop.sh: inside the VM: the device's end of interop.sh, on rdma_rxe over eth0.
set -u
sysctl -qw net.ipv6.conf.eth0.accept_dad=0
ip addr add 198.18.100.2/24 dev eth0
ip addr add 2001:db8:100::2/64 dev eth0 nodad
ip link set eth0 mtu 1500 up
rdma link add rxe0 type rxe netdev eth0 || exit 1
run() {
	"$FARE_BIN/interop_device" ::ffff:198.18.100.2 ::ffff:198.18.100.1 &&
		"$FARE_BIN/interop_device" 2001:db8:100::2 2001:db8:100::1
}
run || exit 1
# one in fifty lost on its way out, data and acknowledgements alike: both ends repeat, nothing is wrong at the end
modprobe sch_netem
tc qdisc add dev eth0 root netem loss 2% || exit 1
run
