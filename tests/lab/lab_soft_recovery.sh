#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# lab_soft_recovery.sh - the soft provider across links that lose: queues that overflow, and a
# sub-port that dies under its QPs until they move to the other one. Every byte is compared at
# the receiver; no write may fail.
set -u
cd "$(dirname "$0")" || exit 1
. ./soft_net.sh

skip() { echo "skipped: $1"; exit 77; }
fail() { echo "FAILED: $1"; cat "$work/out" 2>/dev/null; exit 1; }
[ "$(id -u)" = 0 ] || skip "needs root for network namespaces"
for tool in tc ip; do
	command -v "$tool" >/dev/null || skip "no $tool"
done
work=$(mktemp -d)
p=sr$$
trap 'soft_net_down $p; rm -rf "$work"' EXIT
soft_net_up $p 4200 || fail "namespaces"

shape() { # RATE LIMIT
	local ns i
	for ns in a b; do
		for i in 0 1; do
			ip netns exec $p-$ns tc qdisc replace dev s$i root handle 1: \
				tbf rate "$1" burst 131072 limit "$2"
		done
	done
}
run() { # DESCRIPTION ARGS...
	local what=$1
	shift
	timeout 300 "$FARE_BIN/soft_perf" "$@" $p-a $p-b 198.19.0.1 198.19.0.2 >"$work/out" 2>&1 || fail "$what"
	echo "$what:"
	cat "$work/out"
}
field() { sed -n "s/^A: .*$1.*/\1/p" "$work/out"; }

datagrams() { ip netns exec $p-a awk '$1 == "Udp:" && $2 ~ /^[0-9]/ { print $5 }' /proc/net/snmp; }

# 11,000 messages each way: A sends each once, and at most one acknowledgement of each; what goes again, at either end, is
# on top. How few suffice, of ends that are not kept off their cores: unit/sched/qp/soft/check_soft_endpoint.
before=$(datagrams)
run "ping-pong" -m lat -s 64 -t 1
sent=$(($(datagrams) - before))
again=$(sed -n 's/^[AB]: .*(\([0-9]*\) again).*/\1/p' "$work/out" | awk '{ n += $1 } END { print n + 0 }')
[ "$sent" -ge 11000 ] && [ "$sent" -le $((2 * (11000 + again))) ] ||
	fail "$sent datagrams for 11,000 messages, $again again: some are acknowledged more than once"

# 16 windows of 128 KiB into two queues of 256 KiB
shape 200mbit 262144
run "overflowing queues" -t 3 -q 16 -u 2 -s 262144 -B
[ "$(field '(\([0-9]*\) again)')" -gt 0 ] || fail "nothing was lost, so nothing was shown"

# batches cut into packets by the shaper: a burst smaller than a super-packet
ip netns exec $p-a tc qdisc replace dev s0 root handle 1: tbf rate 200mbit burst 16384 limit 131072
run "batches cut on the way, some of them lost" -t 3 -q 4 -s 262144 -B
[ "$(field '(\([0-9]*\) again)')" -gt 0 ] || fail "nothing was lost, so nothing was shown"
if grep -q 'icrc errors [1-9]' "$work/out"; then fail "ICRC errors"; fi

# the sub-port dies at once; the QPs move after a second; retries must bridge it
shape 200mbit 1048576
ip -n $p-b link set s0 down
run "dead sub-port, then moved" -t 3 -q 4 -u 1 -o 16 -M 1 -s 262144 -B
[ "$(field " \([0-9]*\) timeouts")" -gt 0 ] || fail "the dead sub-port was not noticed"

# without privilege: socket buffers smaller than the window fill up, and a socket may not change
# its device
ip -n $p-b link set s0 up
shape 200mbit 67108864
run "without privilege, a window beyond the socket's buffer, moved" \
	-t 3 -q 2 -u 2 -w 33554432 -o 20 -M 1 -B -n -s 1048576 -d 32
echo ok
