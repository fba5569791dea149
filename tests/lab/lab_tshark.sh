#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# lab_tshark.sh - what the soft provider puts on a wire, seen by others: tshark dissects every
# frame as RoCEv2 with the opcodes that were meant, and a checker of its own finds every ICRC
# right. IPv4 and IPv6, segmentation offload off, so that batches are cut into the packets that a
# switch would see.
set -u
cd "$(dirname "$0")" || exit 1
. ./soft_net.sh

skip() { echo "skipped: $1"; exit 77; }
fail() { echo "FAILED: $1"; exit 1; }
[ "$(id -u)" = 0 ] || skip "needs root for network namespaces"
for tool in tshark dumpcap ethtool "${CC:-cc}"; do
	command -v "$tool" >/dev/null || skip "no $tool"
done

work=$(mktemp -d)
p=st$$
capture=
cleanup() {
	[ -n "$capture" ] && kill "$capture" 2>/dev/null
	soft_net_down $p
	rm -rf "$work"
}
trap cleanup EXIT
"${CC:-cc}" -O2 -Wall -o "$work/icrc_check" icrc_check.c || fail "icrc_check does not compile"
soft_net_up $p 4200 || fail "namespaces"
for ns in a b; do
	ip netns exec $p-$ns ethtool -K s0 gso off tso off gro off tx-udp-segmentation off ||
		fail "cannot turn segmentation offload off"
done

# wait_for SECONDS CMD...: until CMD succeeds
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

count() { # FILTER: how many frames of the capture match
	tshark -r "$work/raw" -Y "$1" 2>/dev/null | wc -l
}

captured() { [ "$(count 'infiniband.bth.opcode < 0x0c')" -ge "$1" ]; }

# Into $work/raw. The buffer holds more than all that is sent: dumpcap may be late as long as it likes. A super-packet
# shows by its length, whole or not.
start_capture() {
	ip netns exec $p-b dumpcap -q -P -i s0 -f 'udp port 4791' -s 9000 -B 64 -w "$work/raw" 2>"$work/log" &
	capture=$!
	wait_for 60 grep -q '^File:' "$work/log" || fail "dumpcap did not start: $(cat "$work/log")"
}

end_capture() {
	kill -INT $capture
	wait $capture
	capture=
}

one_run() { # FAMILY ADDRESS_A ADDRESS_B
	local requests opcode n
	start_capture
	timeout 300 "$FARE_BIN/soft_perf" -m check -s 1048576 -q 3 -B $p-a $p-b "$2" "$3" >"$work/out" ||
		fail "soft_perf ($1): $(cat "$work/out")"
	requests=$(sed -n 's/^A: .* tx \([0-9]*\) packets.*/\1/p' "$work/out")
	wait_for 60 captured "$requests" || {
		end_capture
		fail "$1: $requests packets were sent, $(count 'infiniband.bth.opcode < 0x0c') captured: $(tail -n 1 "$work/log")"
	}
	end_capture

	[ "$(count 'frame')" = "$(count 'infiniband && udp.dstport == 4791')" ] ||
		fail "$1: a frame is not dissected as RoCEv2"
	[ "$(count '_ws.malformed')" = 0 ] || fail "$1: tshark calls a frame malformed"
	[ "$(count 'frame.len > 4214')" = 0 ] || fail "$1: a super-packet was not cut"
	[ "$(count 'ip.dsfield.dscp != 26 || ipv6.tclass.dscp != 26')" = 0 ] || fail "$1: a DSCP is not 26"
	[ "$(count 'ip.dsfield.ecn != 2 || ipv6.tclass.ecn != 2')" = 0 ] || fail "$1: a frame is not ECT(0)"
	[ "$(count 'infiniband.bth.p_key != 0xffff')" = 0 ] || fail "$1: a foreign P_Key"
	for opcode in 6 7 9 10 11 17 100; do
		n=$(count "infiniband.bth.opcode == $opcode")
		echo "$1: opcode $opcode: $n frames"
		[ "$n" -gt 0 ] || fail "$1: no frame with opcode $opcode"
	done
	[ "$(count 'infiniband.bth.opcode in {6,7,9,10,11,17,100}')" = "$(count frame)" ] ||
		fail "$1: a frame with an opcode of nobody's"
	[ "$(count 'infiniband.reth.dmalen == 100000')" = 1 ] ||
		fail "$1: no RETH with the length that was written"
	"$work/icrc_check" "$work/raw" || fail "$1: ICRC"
}

# An order-free QP, four ports (the standard one before it adds nothing new): vendor opcodes, and nothing malformed.
order_free_run() {
	local opcode
	start_capture
	# nothing shuffles here, so it finds its standard QP too good: what counts is that every byte was right
	timeout 300 "$FARE_BIN/spray" $p-a ::ffff:198.19.0.1 $p-b ::ffff:198.19.0.2 s0 4 >"$work/out"
	grep -q order_free "$work/out" && ! grep -q wrong "$work/out" || fail "spray: $(cat "$work/out")"
	wait_for 60 enough_order_free || fail "order-free: packets are missing in the capture"
	end_capture
	[ "$(count '_ws.malformed')" = 0 ] || fail "order-free: tshark calls a frame malformed"
	for opcode in 202 203; do
		[ "$(count "infiniband.bth.opcode == $opcode")" -gt 0 ] || fail "no frame with opcode $opcode"
	done
	[ "$(tshark -r "$work/raw" -Y 'infiniband.bth.opcode == 202' -T fields -e udp.srcport 2>/dev/null | sort -u | wc -l)" = 4 ] ||
		fail "order-free: not all of its ports were used"
	"$work/icrc_check" "$work/raw" || fail "order-free: ICRC"
}
enough_order_free() { [ "$(count 'infiniband.bth.opcode == 202 || infiniband.bth.opcode == 203')" -ge 4096 ]; }

one_run ipv4 198.19.0.1 198.19.0.2
one_run ipv6 2001:db8:19::1 2001:db8:19::2
if [ -x "${FARE_BIN:-}/spray" ]; then
	order_free_run
else
	echo "order-free: skipped, FARE_BIN names no directory with spray"
fi
echo ok
