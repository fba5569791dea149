#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Sub-ports of different rates: shaped, told to fared, announced by BGP, used by the leaf's kernel; a speed that changes is told,
# a throttled link is not; status names what is in force.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

farelab up "$TOPOLOGIES/unequal.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"

# path HOST PEER PLANE: "verdict usable_bps"; peers are numbered as servers
path() {
	"$FARE_BIN/farectl" -s "/run/farelab/$LAB/$1/fared" -j show paths "198.19.0.$(($2 + 1))" "$3" 2>/dev/null |
		jq -r '.paths[0] | "\(.verdict) \(.usable_bps)"'
}
path_is() { [ "$(path "$1" "$2" "$3")" = "$4" ]; }
expect() { within path_is "$@" || fail "$1 -> s$2 on plane $3 is '$(path "$1" "$2" "$3")', not '$4'"; }
faults() { farelab status "$LAB" --json | jq -c .faults; }

for end in s0:g0p0s0:50Mbit l2:s1g0s1:100Mbit s1:g0p1s1:25Mbit l0:s2g0s0:10Mbit s2:g0p0s0:10Mbit; do
	IFS=: read -r host device rate <<<"$end"
	shaped "$host" "$device" "$rate" || fail "$host: $device has not $rate"
done
expect s0 1 0 "ok 100000000"
expect s0 1 1 "ok 75000000"
expect s0 1 2 "ok 200000000"
expect s0 2 0 "ok 60000000" # what the receiver has
expect s2 0 0 "ok 60000000" # what the sender has
bandwidths_are s0 198.19.0.3 65101 "7500000 7500000" || fail "BGP has not the sum: $(bandwidths s0 198.19.0.3 65101 | xargs)"
# the leaf sends one sixth over the slow cable: 16 of 99 with FRR 8.4, 50 of 304 with 10.3
ip -n "fl-$LAB-l0" -j route show 198.19.0.3 | jq_true '.[0].nexthops | map({(.dev): .weight}) | add |
	keys == ["s2g0s0", "s2g0s1"] and (.s2g0s0 / (.s2g0s0 + .s2g0s1) | . > 0.155 and . < 0.178)' >/dev/null ||
	fail "weights of the leaf: $(ip -n "fl-$LAB-l0" route show 198.19.0.3)"

# Traffic of one pair, as much as the sum: 475 Mb/s in four planes, of which the benchmark knows.
"$FARE_BIN/farebench" run 5.1 --lab "$LAB" --trials 1 --even-busy --strategy fare-spray --param size=1M --param qps=8 \
	--param dst=s1 --json "$SCRATCH/kv.json" >"$SCRATCH/kv.log" 2>&1 ||
	{ tail -n 20 "$SCRATCH/kv.log"; fail "farebench run 5.1"; }
jq -r '.trials["5.1"][0] | "kv: \(.of_line * 10 | round / 10)% of \(.line * 8 | round) Mb/s"' "$SCRATCH/kv.json"
jq_true '.trials["5.1"][0] | .line * 8 > 460 and .line * 8 < 475 and .KV_xfer_bandwidth > 0 and .of_line < 105' "$SCRATCH/kv.json" >/dev/null ||
	fail "another optimum: $(jq -c '.trials["5.1"][0]' "$SCRATCH/kv.json")"

# A speed that changes is told, at both ends; BGP restarted has it as well; and back.
[ "$(faults)" = "[]" ] || fail "faults in a whole lab: $(faults)"
farelab rate "$LAB" subport s1 2 1 40 || fail "rate"
shaped s1 g0p2s1 40Mbit && shaped l2 s1g0s1 40Mbit || fail "an end kept its rate"
expect s0 1 2 "ok 140000000"
expect s1 0 2 "ok 140000000"
expect s2 1 2 "ok 140000000"
expect s0 2 2 "ok 200000000"
farelab status "$LAB" --wait $PATIENCE_S || fail "not converged with another speed"
farelab fail "$LAB" bgpd s1 && farelab heal "$LAB" bgpd s1 || fail "bgpd"
farelab status "$LAB" --wait $PATIENCE_S || fail "bgpd started anew does not know the speed"
expect s0 1 2 "ok 140000000"

# A throttled link is told nobody.
farelab throttle "$LAB" subport s1 3 0 20 || fail "throttle"
shaped s1 g0p3s0 20Mbit && shaped l3 s1g0s0 20Mbit || fail "an end kept its rate"
bandwidths_are s0 198.19.0.2 65104 "12500000 12500000" || fail "BGP was told of a throttled link"
grep -q 'g0p3s0, speed_mbps: 50,' "/run/farelab/$LAB/s1/fared.yaml" || fail "fared was told of a throttled link"
[ "$(faults)" = '["rate subport s1/g0 2 1 40","throttle subport s1/g0 3 0 20"]' ] || fail "status names other faults: $(faults)"
farelab status "$LAB" | grep -q 'fault: throttle subport s1/g0 3 0 20' || fail "status does not print the faults"
farelab rate "$LAB" subport s1 2 1 100 && farelab throttle "$LAB" subport s1 3 0 50 || fail "back"
expect s0 1 2 "ok 200000000"
[ "$(faults)" = "[]" ] || fail "faults after all is as it was: $(faults)"

# What cannot be is refused, with the reason.
refused() { # REASON WORDS...
	farelab "${@:2}" 2>"$SCRATCH/error" && fail "farelab ${*:2}: not refused"
	grep -q "$1" "$SCRATCH/error" || fail "farelab ${*:2}: $(cat "$SCRATCH/error")"
}
refused "1 to 17000" rate "$LAB" subport s1 2 1 0
refused "1 to 17000" rate "$LAB" subport s1 2 1 20000
refused "differ" rate "$LAB" all 50
refused "no spine\|0 spines" throttle "$LAB" uplink l0 sp0 50
exit 0
