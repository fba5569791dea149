# SPDX-License-Identifier: BSD-2-Clause
# inside_ecn.sh: inside the VM, for its kernel has queues that mark: two hosts send to a third through a leaf whose port to it is a
# tenth as fast. The queue marks (RED with ECN), the receiver says so (CNP), and both senders make room: nothing is lost. Before that
# the same queue drops instead, to show that it would. How well they share is told, in one line of JSON, for a figure.
set -u
modprobe -a sch_htb sch_red || exit 1
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
fail() { echo "FAILED: $1"; cat /tmp/a /tmp/b; tc -s qdisc show dev lc; exit 1; }
at=0
for h in a b c; do
	ip netns add $h
	ip link add l$h mtu 4200 type veth peer name s0 mtu 4200 netns $h
	ip addr add 198.18.200.$((at + 1))/31 dev l$h
	ip link set l$h up
	ip -n $h link set lo up
	ip -n $h addr add 198.18.200.$at/31 dev s0
	ip -n $h link set s0 up
	ip -n $h route add default via 198.18.200.$((at + 1))
	# packets, not batches of them, shall meet the queue
	ip netns exec $h ethtool -K s0 tx-udp-segmentation off || exit 1
	at=$((at + 2))
done
ip -n c addr add 198.19.0.2/32 dev lo # a process serves an address: the second receiver's
ip route add 198.19.0.2/32 via 198.18.200.4
tc qdisc add dev lc root handle 1: htb default 1
tc class add dev lc parent 1: classid 1:1 htb rate 20mbit burst 16k

field() { sed -n "s/^$2.*$3.*/\1/p" "/tmp/$1"; } # OUTPUT LINE PATTERN
run() { # ACK-TIMEOUT [MARK]
	tc qdisc replace dev lc parent 1:1 handle 2: red limit 1500000 min 50000 max 150000 avpkt 4200 burst 20 bandwidth 20mbit \
		probability 0.1 ${2:-} || exit 1
	timeout 300 "$FARE_BIN/soft_perf" -B -t 6 -o "$1" -s 262144 a c 198.18.200.0 198.18.200.4 >/tmp/a 2>&1 &
	timeout 300 "$FARE_BIN/soft_perf" -B -t 6 -o "$1" -s 262144 b c 198.18.200.2 198.19.0.2 >/tmp/b 2>&1 || fail "the second sender"
	wait $! || fail "the first sender"
	again=$(($(field a A '(\([0-9]*\) again)') + $(field b A '(\([0-9]*\) again)')))
	timeouts=$(($(field a A '; \([0-9]*\) timeouts') + $(field b A '; \([0-9]*\) timeouts')))
	naks=$(($(field a A 'sent \([0-9]*\) received, cnps') + $(field b A 'sent \([0-9]*\) received, cnps')))
	cnps=$(($(field a A 'sent \([0-9]*\) received, icrc') + $(field b A 'sent \([0-9]*\) received, icrc')))
	writes="$(field a bw '(\([0-9]* writes in [0-9.]*\) s') $(field b bw '(\([0-9]* writes in [0-9.]*\) s')"
	rates=$(echo "$writes" | awk '{ printf "%.1f %.1f", $1 * 2.097152 / $4, $5 * 2.097152 / $8 }')
	jfi=$(echo "$rates" | awk '{ printf "%.3f", ($1 + $2) ^ 2 / 2 / ($1 ^ 2 + $2 ^ 2) }')
	echo "red ${2:-without ecn}: $rates Mb/s of 20, Jain's index $jfi, $cnps CNPs, $again packets again (emulated)"
}
run 18
[ "$cnps" = 0 ] || fail "marks out of nowhere"
[ "$again" -gt 0 ] || fail "this queue never drops: what follows says nothing"
dropping=$rates
run 22 ecn # a busy machine delays; 17 s, and what is sent again was lost
[ "$cnps" -gt 0 ] || fail "nobody was told of a mark"
# a packet that is lost is NAKed; one that is late, on this slow machine, may be sent twice at a time-out
[ "$naks" = 0 ] && [ "$again" -le "$timeouts" ] || fail "packets were lost although the queue marks"
echo "$rates $dropping $jfi" | awk '{
	printf "{\"ecn\":{\"over_dropping_ratio\":%.3f,\"jfi_ratio\":%s}}\n", ($1 + $2) / ($3 + $4), $5
	exit !($1 > 0 && $2 > 0) }' || fail "a sender gets nothing through"
