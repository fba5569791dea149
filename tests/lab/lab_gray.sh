#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Gray failure drops the stated share, in the stated direction, with carrier up and the sub-port said to be up.
. "$(dirname "$0")/lib.sh"

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --wait $PATIENCE_S || fail "not converged"
N=5000

# UDP datagrams that the kernel of HOST took in, whether or not somebody listened
udp_in() {
	farelab exec "$LAB" "$1" -- awk '/^Udp: [0-9]/ {print $2 + $3}' /proc/net/snmp
}

# lost FROM_HOST TO_HOST ADDRESS: how many of N datagrams across one sub-link do not arrive
lost() {
	local before=$(udp_in "$2") now=-1 last still=0
	farelab exec "$LAB" "$1" -- perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0);
		$to = sockaddr_in(9, inet_aton($ARGV[0]));
		for (1..$ARGV[1]) { send(S, "x" x 64, 0, $to); select(undef, undef, undef, 0.001) if $_ % 100 == 0 }' \
		"$3" $N
	until [ "$now" -ge $((before + N)) ] || [ $still = 10 ]; do # all are there, or a second long no more came
		last=$now
		sleep 0.1
		now=$(udp_in "$2")
		[ "$now" = "$last" ] && still=$((still + 1)) || still=0
	done
	echo $((N - (now - before)))
}

# about COUNT PERCENT: within five standard deviations of N throws (and exactly, for 0 and 100)
about() {
	awk -v n=$N -v c="$1" -v p="$2" 'BEGIN {
		m = n * p / 100; d = 5 * sqrt(n * p / 100 * (1 - p / 100));
		exit !(c >= m - d && c <= m + d) }'
}

check() { # WHAT FROM TO ADDRESS PERCENT
	local n=$(lost "$2" "$3" "$4")
	echo "$1: $n of $N lost, $5% wanted"
	about "$n" "$5" || fail "$1"
}

check "before, to the leaf" s0 l0 198.18.0.0 0
check "before, from the leaf" l0 s0 198.18.0.1 0

farelab gray "$LAB" leaf l0 --loss-percent 20 --direction to-leaf || fail "gray leaf to-leaf"
check "20% to the leaf" s0 l0 198.18.0.0 20
check "20% to the leaf, the other direction" l0 s0 198.18.0.1 0
farelab gray "$LAB" leaf l0 --loss-percent 2.5 --direction from-leaf || fail "gray leaf from-leaf"
check "still 20% to the leaf" s0 l0 198.18.0.0 20
check "2.5% from the leaf" l0 s0 198.18.0.1 2.5
check "the other leaf" s0 l1 198.18.0.4 0
[ "$(farelab status "$LAB" --json | grep -o '"up":true,"gray_loss_ppm":200000' | wc -l)" = 4 ] ||
	fail "status does not show four sub-ports, up, at 200000 ppm"

farelab gray "$LAB" leaf l0 --loss-percent 0 || fail "heal gray leaf"
check "healed, to the leaf" s0 l0 198.18.0.0 0
farelab gray "$LAB" subport s0 0 0 || fail "gray subport, all of it"
check "100% of one sub-port, to the leaf" s0 l0 198.18.0.0 100
check "100% of one sub-port, from the leaf" l0 s0 198.18.0.1 100
check "its sibling" s0 l0 198.18.0.2 0
farelab gray "$LAB" subport s0 0 0 --loss-percent 0 || fail "heal gray subport"
farelab status "$LAB" --wait $PATIENCE_S || fail "not converged after healing"
farelab gray "$LAB" leaf l0 --loss-percent 101 2>/dev/null && fail "101% was taken"
farelab gray "$LAB" leaf l0 --direction sideways 2>/dev/null && fail "a direction of sideways was taken"
exit 0
