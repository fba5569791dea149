#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# interop.sh: the soft provider here against rdma_rxe in the VM, over a tap: IPv4 and IPv6, clean, then with the guest
# losing packets and all of them marked (CE); then what crossed the wire in front of an independent dissector.
set -uo pipefail
: "${FARE_BIN:?where the programs are}"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ "$(id -u)" = 0 ] || { echo "skipped: needs root to make a tap"; exit 77; }
for tool in qemu-system-x86_64 tshark; do
	command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
cache=${FARE_VM_KERNEL:-build/vm-kernel}
mkdir -p "$(dirname "$cache")"
kernel=$(tests/vm/kernel "$cache") || exit $?

ns=fare-interop-$$ pcap=$(mktemp /tmp/fare-interop.XXXXXX) capture=''
finish() {
	[ -n "$capture" ] && kill "$capture" 2>/dev/null && wait "$capture" 2>/dev/null
	ip netns del "$ns" 2>/dev/null
	rm -f "$pcap"
}
trap finish EXIT

ip netns add "$ns" || exit 1
ip -n "$ns" link set lo up
ip netns exec "$ns" ip tuntap add tap0 mode tap || { echo "skipped: no tun device"; exit 77; }
ip netns exec "$ns" sysctl -qw net.ipv6.conf.tap0.accept_dad=0
ip -n "$ns" link set tap0 mtu 4200 up
ip -n "$ns" addr add 198.18.100.1/24 dev tap0
ip -n "$ns" addr add 2001:db8:100::1/64 dev tap0 nodad
ip netns exec "$ns" tshark -q -i tap0 -f 'udp port 4791' -w "$pcap" 2>/dev/null &
capture=$!
until [ -s "$pcap" ]; do # it listens once it has written its header
	kill -0 $capture || exit 1
	sleep 0.1
done

soft() { ip netns exec "$ns" timeout 900 "$FARE_BIN/interop_soft" "$1" "$2" tap0 "${@:3}"; }
{ # one after the other, as the guest comes to them
	failed=0
	for lossy in "" lossy; do
		for mtu in 1024 4096; do
			soft ::ffff:198.18.100.1 ::ffff:198.18.100.2 $mtu $lossy || failed=1
			soft 2001:db8:100::1 2001:db8:100::2 $mtu $lossy || failed=1
		done
	done
	exit $failed
} &
softs=$!
ip netns exec "$ns" tests/vm/vm -k "$kernel" -t 900 -n tap0 -- env FARE_BIN="$FARE_BIN" bash tests/vm/inside_interop.sh
guest=$?
# also the one that waits for the guest: whoever reads our output would wait with it
[ $guest = 0 ] || kill $softs $(pgrep -P $softs) 2>/dev/null
wait $softs
ours=$?

kill -INT "$capture" && wait "$capture"
capture=
packets=$(tshark -r "$pcap" 2>/dev/null | wc -l)
# its guess that what a SEND carries is RPC-over-RDMA finds fault with messages of a few bytes, rxe's as well as ours
malformed=$(tshark --disable-heuristic rpcrdma_infiniband -r "$pcap" -Y '_ws.malformed' 2>/dev/null | wc -l)
echo "{\"packets\":$packets,\"malformed\":$malformed,\"guest\":$guest,\"soft\":$ours}"
# from either end: 31 acknowledged; 44 not ready, come back in 0.64 ms; 96 sequence error (the lossy run); 97 invalid
# request; 98 remote access error
for end in ours:198.18.100.1,2001:db8:100::1 theirs:198.18.100.2,2001:db8:100::2; do
	at=${end#*:}
	said=$(tshark -r "$pcap" -Y "infiniband.aeth.syndrome && (ip.src == ${at%,*} || ipv6.src == ${at#*,})" \
		-T fields -e infiniband.aeth.syndrome 2>/dev/null | sort | uniq -c | tr -s ' \n' ' ')
	echo "${end%%:*}: $said"
	for wanted in 31 44 96 97 98; do
		[[ " $said" == *" $wanted "* ]] || { echo "no syndrome $wanted from that end"; ours=1; }
	done
done
cnps=$(tshark -r "$pcap" -Y "infiniband.bth.opcode == 0x81 && (ip.src == 198.18.100.1 || ipv6.src == 2001:db8:100::1)" 2>/dev/null | wc -l)
echo "CNPs of ours: $cnps"
[ "$cnps" -gt 0 ] || { echo "no CNP although all is marked"; ours=1; }
[ $guest = 0 ] && [ $ours = 0 ] && [ "$packets" -gt 0 ] && [ "$malformed" = 0 ]
