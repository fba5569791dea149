#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Pods of leaves and spines below superspines: routes and weights between pods, traffic over superspines and its counters, and
# that a superspine or a spine's link to it that fails takes its share and no more.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

farelab up "$TOPOLOGIES/three-tier.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"

ctl() { "$FARE_BIN/farectl" -s "/run/farelab/$LAB/$1/fared" "${@:2}"; }
# path HOST PEER PLANE: "verdict usable_bps probe"; peers are numbered as servers
path() { ctl "$1" -j show paths "198.19.0.$(($2 + 1))" "$3" 2>/dev/null | jq -r '.paths[0] | "\(.verdict) \(.usable_bps) \(.probe.state)"'; }
path_is() { [ "$(path "$1" "$2" "$3")" = "$4" ]; }
expect() { within path_is "$@" || fail "$1 -> s$2 on plane $3 is '$(path "$1" "$2" "$3")', not '$4'"; }
settled() { farelab status "$LAB" --wait $PATIENCE_S || fail "not converged: $1"; }
# sent SWITCH DEVICE: bytes that it has sent there, as farelab counters has it
sent() {
	farelab counters "$LAB" --json | jq -e --arg host "$1" --arg dev "$2" \
		'.hosts[] | select(.name == $host) | .devices[] | select(.dev == $dev) | .tx_bytes' || fail "farelab counters has no $1 $2"
}
# transfer PEER: goodput of one repetition from s0, Mb/s
transfer() {
	timeout 60 "$FARE_BIN/farebench" run 5.1 --lab "$LAB" --trials 1 --even-busy --strategy fare-spray --param size=1M --param qps=8 \
		--param dst="$1" --json "$SCRATCH/kv.json" >"$SCRATCH/kv.log" 2>&1 || { tail -n 20 "$SCRATCH/kv.log" >&2; return 1; }
	jq -r '.trials["5.1"][0] | .KV_xfer_bandwidth * 8 | round' "$SCRATCH/kv.json"
}

# Whole: the full rate within a pod and between pods, over five routers; both superspines join the pods of a plane.
for peer in 1 2 3; do
	for plane in 0 1; do expect s0 $peer $plane "ok 50000000 up"; done
done
bandwidths_are s0 198.19.0.2 65101 "250000" || fail "within the pod: $(bandwidths s0 198.19.0.2 65101 | xargs)"
bandwidths_are s0 198.19.0.3 65101 "250000" || fail "between pods: $(bandwidths s0 198.19.0.3 65101 | xargs)"
[ "$(farelab status "$LAB" --json | jq -c '[(.superspines | length), (.spine_uplinks | map(select(.up)) | length), ([.uplinks[].spine] | unique | length)]')" = "[4,8,8]" ] ||
	fail "status: $(farelab status "$LAB" --json | jq -c '[.superspines, .spine_uplinks]')"
grep -q "max_routers: 5" "/run/farelab/$LAB/s0/fared.yaml" || fail "probes may not cross five routers"

# Traffic within the pod crosses no superspine, traffic between pods does (probes of all servers cross all the time).
before=$(($(sent ss0 sp2) + $(sent ss1 sp3)))
within_pod=$(transfer s1) || fail "farebench run 5.1"
apart=$(($(sent ss0 sp2) + $(sent ss1 sp3) - before))
before0=$(sent ss0 sp2) before1=$(sent ss1 sp3)
between=$(transfer s2) || fail "farebench run 5.1"
by0=$(($(sent ss0 sp2) - before0)) by1=$(($(sent ss1 sp3) - before1))
echo "s0 -> s1: $within_pod Mb/s, $apart bytes by superspines; s0 -> s2: $between Mb/s, $by0 and $by1 bytes"
# which of the two is for the leaves' and spines' hash to say
[ $((by0 + by1)) -gt 3000000 ] || fail "between pods: $by0 and $by1 bytes by the superspines"
[ $((apart * 3)) -lt $((by0 + by1)) ] || fail "within the pod: $apart bytes by superspines"

# A superspine dies: half of the plane between pods; within a pod, and on the other plane, all is well.
farelab fail "$LAB" superspine ss0 || fail "fail superspine"
expect s0 2 0 "ok 25000000 up"
expect s3 1 0 "ok 25000000 up"
expect s0 1 0 "ok 50000000 up"
expect s0 2 1 "ok 50000000 up"
settled "superspine"
[ "$(farelab status "$LAB" --json | jq -c .faults)" = '["fail superspine ss0"]' ] || fail "status: $(farelab status "$LAB" --json | jq -c .faults)"
ctl s0 why 198.19.0.3 0 >"$SCRATCH/why"
grep -q "advertises 0.025 Gb/s" "$SCRATCH/why" && grep -q "usable 0.025 Gb/s" "$SCRATCH/why" ||
	fail "why does not say that BGP advertises half: $(cat "$SCRATCH/why")"
before0=$(sent ss0 sp2) before1=$(sent ss1 sp3)
lost=$(transfer s2) || fail "farebench run 5.1"
by0=$(($(sent ss0 sp2) - before0)) by1=$(($(sent ss1 sp3) - before1))
echo "s0 -> s2 without ss0: $lost Mb/s, $by0 and $by1 bytes"
[ "$by1" -gt 1000000 ] && [ $((by0 * 20)) -lt "$by1" ] || fail "traffic did not follow: $by0 bytes by the dead superspine, $by1 by the other"
farelab heal "$LAB" superspine ss0 || fail "heal superspine"
expect s0 2 0 "ok 50000000 up"

# A spine's link to its superspine: the same for its pod alone with others; both: no route between the pods on that plane.
farelab fail "$LAB" uplink sp2 ss0 || fail "fail uplink"
expect s0 2 0 "ok 25000000 up"
expect s3 2 0 "ok 50000000 up"
settled "uplink of a spine"
farelab fail "$LAB" uplink sp3 ss1 || fail "fail uplink"
expect s0 2 0 "no-route 0 down"
expect s2 3 0 "ok 50000000 up"
expect s0 2 1 "ok 50000000 up"
settled "both uplinks"
[ "$(farelab status "$LAB" --json | jq -c '[.spine_uplinks[] | select(.up | not) | .spine + " " + .superspine]')" = '["sp2 ss0","sp3 ss1"]' ] || fail "uplinks that are down"
farelab heal "$LAB" uplink sp2 ss0 && farelab heal "$LAB" uplink sp3 ss1 || fail "heal uplinks"
expect s0 2 0 "ok 50000000 up"
settled "all healed"

# Test 12.3 cuts such links by itself, one and one in each plane at once; capacity is the link's to take, and comes back.
timeout 300 "$FARE_BIN/farebench" run 12.3 --lab "$LAB" --even-busy --profile quick --trials 1 --strategy fare-spray \
	--param failure=spine-spine,dual-spine-spine --out "$SCRATCH/failures" >"$SCRATCH/out" 2>"$SCRATCH/error" || fail "12.3: $(tail -3 "$SCRATCH/error")"
for failure in spine-spine dual-spine-spine; do
	jq -e -s --arg failure $failure '[.[] | select(.params.failure == $failure and .value != null)] | map({key: .kpi, value: .value}) | from_entries |
		.full_recovery > 0 and .disruption >= 0 and .capacity_kept > 30 and (.TPS_reduction | type) == "number"' "$SCRATCH/failures/rows.jsonl" >/dev/null ||
		fail "12.3, $failure: $(cat "$SCRATCH/failures/rows.jsonl")"
done
[ "$(farelab status "$LAB" --json | jq -c .faults)" = '[]' ] || fail "12.3 left faults: $(farelab status "$LAB" --json | jq -c .faults)"
farelab throttle "$LAB" uplink sp0 ss0 10 && shaped sp0 up0 10Mbit && shaped ss0 sp0 10Mbit || fail "throttle of a spine's uplink"

for words in "uplink sp0 ss1" "uplink l0 sp2" "uplink ss0 sp0" "uplink l0 ss0" "superspine ss4" "superspine sp0" "spine ss0"; do
	farelab fail "$LAB" $words 2>"$SCRATCH/error" && fail "'fail $words' succeeded"
	[ -s "$SCRATCH/error" ] || fail "'fail $words' failed silently"
done
farelab down "$LAB" && gone "$LAB" || fail "down left something"
exit 0
