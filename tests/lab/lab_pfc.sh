#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# PFC: an incast loses nothing with headroom, and something without; each of N senders is paused 1 - 1/N of the time; a ring of
# buffers that wait for one another stands still for ever without a watchdog, and moves again with one; a tree has none.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

# pfc EXPRESSION: of `farelab pfc`, .ports first
pfc() { farelab pfc "$LAB" --json | jq -r "$1"; }
# bring_up PFC [LINES]: servers of one plane at 50 Mb/s
bring_up() {
	{
		printf 'planes: 1\nsub_ports: 1\nrate_mbps: 50\npfc: {xoff_bytes: 131072, %s}\n' "$1"
		printf '%s\n' "${@:2}"
	} >"$SCRATCH/pfc.yaml"
	farelab up "$SCRATCH/pfc.yaml" --name "$LAB" --wait $PATIENCE_S 2>"$SCRATCH/error" || {
		grep -q 'need Linux 6.6' "$SCRATCH/error" && skip "this kernel has no BPF programs at a device (tcx)"
		cat "$SCRATCH/error"
		fail "not converged"
	}
	within eval '[ "$(pfc .agent_runs)" = true ]' || fail "its agent does not run: $(cat "/run/farelab/$LAB/l0/pfc.log")"
}
# flood FROM TO SECONDS: datagrams, as many as the queue takes; a queue that stands still is left after 3 seconds more
flood() {
	farelab exec "$LAB" "s$1" -- timeout $(($3 + 3)) perl -MSocket -MTime::HiRes=time -e 'socket(S, PF_INET, SOCK_DGRAM, 0) or die;
		connect(S, sockaddr_in(4791, inet_aton("198.19.0.$ARGV[0]"))) or die; $end = time + $ARGV[1];
		send(S, "x" x 4000, 0) while time < $end' $(($2 + 1)) "$3" &
}
held() { pfc '[.ports[].buffered_bytes] | add'; }
drained() { [ "$(held)" = 0 ]; }
drops() { pfc '[.ports[].headroom_drops] | add'; }
# incast N SECONDS: s1 to sN send to s0, until all has arrived
incast() {
	for s in $(seq "$1"); do flood "$s" 0 "$2"; done
	wait $(jobs -p)
	within drained || fail "what an incast left does not drain: $(held) bytes"
}
report() { farelab pfc "$LAB" | grep -vE ' 0 +0 +0\.0 +0 +0 +0 +0 '; }

# total_ms: of the 3 s and what it took to drain: the time in which the receiver's link carried all
total_ms() { farelab counters "$LAB" --json | jq '.hosts[] | select(.name == "l0").devices[] | select(.dev == "s0g0s0").tx_bytes * 8 / 50000 | round'; }

# N:1, with the headroom that the rate needs
for n in 2 3; do
	for try in 1 2 3; do # on a busy machine the senders may leave the link idle: then nothing has to be paused
		bring_up "xon_bytes: 8192" "servers: $((n + 1))"
		incast $n 3
		total_ms=$(total_ms)
		[ "$total_ms" -lt 2900 ] && [ $try -lt 3 ] || break
		echo "$n:1: the senders filled $total_ms of 3000 ms: again"
		farelab down "$LAB" || fail "down"
	done
	echo "$n:1, with headroom:"
	report
	[ "$(drops)" = 0 ] || fail "$n:1: $(drops) packets met no headroom"
	[ "$(farelab counters "$LAB" --json | jq .dropped_packets)" = 0 ] || fail "$n:1: dropped"
	pfc ".ports[] | select(.host != \"l0\" and .host != \"s0\") | .paused_ms / $total_ms" | while read -r share; do
		echo "$n:1: paused $share of $total_ms ms; 1 - 1/N is $(jq -n "1 - 1 / $n")"
		jq_true -n "($share - (1 - 1 / $n) | fabs) < 0.05" || fail "$n:1: paused $share of the time"
	done || exit 1
	# 802.1Qbb frames are on the wire: XOFF and XON of each cycle
	[ "$(pfc '[.ports[].tx_pauses] | add')" = "$(pfc '[.ports[].rx_pauses] | add')" ] || fail "pauses were lost"
	[ "$(pfc '[.ports[].tx_pauses] | add')" -gt 10 ] || fail "no pauses"
	jq_true -n "$(pfc '[.ports[].reaction_max_us] | max') < $(pfc .reaction_limit_us)" ||
		echo "NOTE: a reaction took $(pfc '[.ports[].reaction_max_us] | max') us: a busy machine"
	farelab down "$LAB" || fail "down"
done

# without headroom
bring_up "headroom_bytes: 0" "servers: 3"
incast 2 1
echo "2:1, headroom 0: $(drops) packets dropped"
[ "$(drops)" -gt 0 ] || fail "nothing is lost without headroom"
[ "$(farelab counters "$LAB" --json | jq .dropped_packets)" -ge "$(drops)" ] || fail "the lab's counters have fewer drops"
farelab down "$LAB" || fail "down"

# a rate that the headroom does not bear
bring_up "headroom_bytes: 65536" "servers: 2"
farelab throttle "$LAB" subport s1 0 0 200 2>"$SCRATCH/error" && fail "200 Mbit/s with a headroom for 50"
grep -q "needs a headroom of 116856 bytes at 200 Mbit/s" "$SCRATCH/error" || fail "$(cat "$SCRATCH/error")"
farelab throttle "$LAB" subport s1 0 0 20 || fail "throttle"
# it is for labs, and for those that have it
for name in lo eth0 "$LAB"x; do
	for command in pfc pfc-agent; do
		timeout 10 "$FARELAB" $command "$name" 2>"$SCRATCH/error" && fail "'$command $name' succeeded"
		grep -q "no lab $name is up" "$SCRATCH/error" || fail "$command $name: $(cat "$SCRATCH/error")"
	done
done
farelab down "$LAB" || fail "down"

# via HOST DST DEVICE: a route of its own to s<DST>, by a link between leaf and spine
via() {
	local leaf spine end
	case $1 in
	sp*) spine=${1#sp} leaf=${3#l} end=0 ;;
	*) leaf=${1#l} spine=${3#up} end=1 ;;
	esac
	ip -n "fl-$LAB-$1" route add "198.19.0.$(($2 + 1))" metric 1 via "198.19.128.$((2 * (leaf * 3 + spine) + end))" dev "$3" ||
		fail "route at $1"
}
# three flows, each over two spines and the leaf between them: together they close a ring of six links
ring() {
	via l0 2 up0 && via sp0 2 l1 && via l1 2 up1
	via l1 0 up1 && via sp1 0 l2 && via l2 0 up2
	via l2 1 up2 && via sp2 1 l0 && via l0 1 up0
}
exchange() {
	flood 0 2 2 && flood 1 0 2 && flood 2 1 2
	wait $(jobs -p)
}
tiers=("servers: 3" "leaves_per_plane: 3" "spines_per_plane: 3" "spine_rate_mbps: 50")
queues() { pfc '[.ports[].buffered_bytes] | map(tostring) | join(" ")'; }

bring_up "watchdog_ms: 0" "${tiers[@]}"
exchange
within drained || fail "a tree does not drain: $(held) bytes"
[ "$(drops)" = 0 ] || fail "a tree: $(drops) packets dropped"
ring
# its six buffers have to be full all at once, or it stays open and drains
for try in 1 2 3 4 5; do
	exchange
	before=$(queues)
	farelab counters "$LAB" >/dev/null # some time passes
	sleep 1
	after=$(queues)
	[ "$before" != "$after" ] || [ "$(held)" -le 500000 ] || break
	echo "the ring stayed open: again"
	within drained || fail "a ring neither stands still nor drains: $before, then $after"
done
echo "a ring, no watchdog: $(held) bytes stand still"
[ "$before" = "$after" ] && [ "$(held)" -gt 500000 ] || fail "a ring moves by itself: $before, then $after"
[ "$(pfc '[.ports[] | select(.paused)] | length')" -ge 6 ] || fail "a ring, and no six links paused"
farelab down "$LAB" || fail "down"

bring_up "watchdog_ms: 200" "${tiers[@]}"
exchange
within drained || fail "a tree does not drain: $(held) bytes"
[ "$(pfc '[.ports[].storms] | add')" = 0 ] || fail "a tree has storms: $(report)"
ring
for try in 1 2 3 4 5; do
	exchange
	within drained || fail "the watchdog does not end a deadlock: $(queues)"
	[ "$(pfc '[.ports[].storms] | add')" = 0 ] || break
	echo "the ring stayed open: again"
done
echo "a ring, watchdog 200 ms: $(pfc '[.ports[].storms] | add') storms, $(drops) packets dropped"
[ "$(pfc '[.ports[].storms] | add')" -gt 0 ] || fail "it drained, and no storm was seen"
farelab down "$LAB" && gone "$LAB" || fail "down left something"
exit 0
