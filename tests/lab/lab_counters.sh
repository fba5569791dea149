#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# farelab counters: 400 packets that a gray link drops, that a leaf drops silently or has no route for, and what the queue of a slow
# link drops, are counted packet by packet; what daemons use is shown.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

cat >"$SCRATCH/counters.yaml" <<END
servers: 2
planes: 1
sub_ports: 1
rate_mbps: 100
queue_bytes: 65536
END
farelab up "$SCRATCH/counters.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"

# count HOST DEVICE KEY
count() {
	farelab counters "$LAB" --json |
		jq --arg h "$1" --arg d "$2" ".hosts[] | select(.name == \$h) | .devices[] | select(.dev == \$d) | .$3"
}
# send DATAGRAMS: of 1000 bytes, from s0 to s1, 20 ms for each 100 so that s0's own queue drops none
send() {
	farelab exec "$LAB" s0 -- perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0) or die; for (1 .. $ARGV[0]) {
		send(S, "x" x 1000, 0, sockaddr_in(4791, inet_aton("198.19.0.2"))) or die "$!"; select(undef, undef, undef, 0.02) unless $_ % 50 }' "$1"
}

# What else would be counted: fared, bgpd and zebra stand still, and no neighbour is resolved anew.
stopped=
for host in s0 s1 l0; do
	for pid in $(farelab counters "$LAB" --json | jq ".hosts[] | select(.name == \"$host\") | .daemons[] | .pid"); do
		stopped+=" $pid"
	done
done
[ "$(wc -w <<<"$stopped")" -ge 8 ] || fail "daemons: $stopped"
kill -STOP $stopped
for host in s0 s1 l0; do
	ip -n "fl-$LAB-$host" neigh show | while read -r address _ dev _ lladdr _; do
		[ -n "$lladdr" ] && ip -n "fl-$LAB-$host" neigh replace "$address" dev "$dev" lladdr "$lladdr" nud permanent
	done
done
farelab gray "$LAB" subport s1 0 0 --direction from-leaf || fail "gray"
send 400
gray=$(count l0 s1g0s0 gray_drops)
[ "$gray" = 400 ] || fail "400 packets dropped, $gray counted"
farelab gray "$LAB" subport s1 0 0 --loss-percent 0 || fail "heal"

# A leaf that forwards nothing, with all links up, and one that has no route: no queue counts that, and it is dropped all the same.
dropped() { farelab counters "$LAB" --json | jq .dropped_packets; }
without() { # WORDS... 400 packets are dropped, as packets without a route
	local before no_route
	before=$(dropped) no_route=$(farelab counters "$LAB" --json | jq '.hosts[] | select(.name == "l0") | .route_drops')
	send 400
	[ $(($(dropped) - before)) = 400 ] && [ $(($(farelab counters "$LAB" --json | jq '.hosts[] | select(.name == "l0") | .route_drops') - no_route)) = 400 ] ||
		fail "$*: 400 packets dropped, $(($(dropped) - before)) counted"
}
farelab exec "$LAB" l0 -- sysctl -qw net.ipv4.conf.all.forwarding=0 || fail "forwarding off"
without "a leaf that drops silently"
farelab exec "$LAB" l0 -- sysctl -qw net.ipv4.conf.all.forwarding=1 || fail "forwarding on"
route=$(ip -n "fl-$LAB-l0" route show 198.19.0.2 | head -1)
ip -n "fl-$LAB-l0" route del 198.19.0.2 || fail "no route to take away"
without "a leaf without a route"
ip -n "fl-$LAB-l0" route add $route || fail "route '$route'"
farelab counters "$LAB" | grep -q "^l0 dropped .* no route for" || fail "the table does not show it"

# A slow link: what was sent and did not leave the leaf was dropped in its queue.
farelab throttle "$LAB" subport s1 0 0 1 || fail "throttle"
out=$(count l0 s1g0s0 tx_packets)
# on a busy machine the queue may drain while it is looked at: more is sent then
sent=0
queue_seen() {
	send 800
	sent=$((sent + 800))
	[ "$(count l0 s1g0s0 backlog_bytes)" -gt 0 ] && [ "$(count l0 s1g0s0 queue_drops)" -gt 0 ]
}
within queue_seen || fail "no drop, or no backlog"
empty() { [ "$(count l0 s1g0s0 backlog_packets)" = 0 ]; }
within empty || fail "the queue does not drain"
out=$(($(count l0 s1g0s0 tx_packets) - out)) drops=$(count l0 s1g0s0 queue_drops)
echo "slow link: $out of $sent sent, $drops drops counted"
[ $((sent - out)) = "$drops" ] || fail "$((sent - out)) packets are missing, $drops drops were counted"
farelab throttle "$LAB" subport s1 0 0 100
kill -CONT $stopped
farelab counters "$LAB" | grep -q "l0 .*s1g0s0 .* $drops " || fail "the table does not show $drops drops"
farelab counters "$LAB" --json | jq_true '[.hosts[].daemons[] | select(.name == "fared" and .cpu_s >= 0 and .rss_bytes > 1000000)] |
	length == 2' >/dev/null || fail "fared's use is not shown"
exit 0
