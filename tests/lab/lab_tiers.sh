#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Planes of leaves and spines: a link between them fails, is gray, is slow; routes, weights and traffic follow, and what is told
# of it is what docs/methodology.md says.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

farelab up "$TOPOLOGIES/two-tier.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"

# path HOST PEER PLANE: "verdict usable_bps probe"; peers are numbered as servers
path() {
	"$FARE_BIN/farectl" -s "/run/farelab/$LAB/$1/fared" -j show paths "198.19.0.$(($2 + 1))" "$3" 2>/dev/null |
		jq -r '.paths[0] | "\(.verdict) \(.usable_bps) \(.probe.state)"'
}
path_is() { [ "$(path "$1" "$2" "$3")" = "$4" ]; }
expect() { within path_is "$@" || fail "$1 -> s$2 on plane $3 is '$(path "$1" "$2" "$3")', not '$4'"; }
settled() { farelab status "$LAB" --wait $PATIENCE_S || fail "not converged: $1"; }
# hops LEAF ADDRESS: devices of the leaf's routes to that GPU
hops() { ip -n "fl-$LAB-$1" -j route show "$2" | jq -r '.[0] | [.dev // empty, (.nexthops // [])[].dev] | sort | join(" ")'; }
hops_are() { [ "$(hops "$1" "$2")" = "$3" ]; }
# kv s0 DST: goodput of one repetition, Mb/s
kv() {
	"$FARE_BIN/farebench" run 5.1 --lab "$LAB" --trials 1 --even-busy --strategy fare-spray --param size=1M --param qps=8 \
		--param dst="$2" --json "$SCRATCH/kv.json" >"$SCRATCH/kv.log" 2>&1 ||
		{ tail -n 20 "$SCRATCH/kv.log"; fail "farebench run 5.1 dst=$2"; }
	jq -r '.trials["5.1"][0] | .KV_xfer_bandwidth * 8 | round' "$SCRATCH/kv.json"
}
within_range() { awk -v v="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(v >= low && v <= high) }'; }
# sent LEAF DEVICE: bytes that the leaf has sent there
sent() { ip -n "fl-$LAB-$1" -j -s link show "$2" | jq '.[0].stats64.tx.bytes'; }

# Whole: from leaf to leaf over both spines, within a leaf over none.
for peer in 1 2 3; do
	for plane in 0 1; do expect s0 $peer $plane "ok 100000000 up"; done
done
hops_are l0 198.19.0.3 "up0 up1" || fail "l0 does not use both spines: $(hops l0 198.19.0.3)"
hops_are l0 198.19.0.2 "s1g0s0 s1g0s1" || fail "l0 does not reach its own server directly: $(hops l0 198.19.0.2)"
bandwidths_are s0 198.19.0.3 65101 "500000 500000" || fail "2 sub-ports x 2 spines are $(bandwidths s0 198.19.0.3 65101 | xargs)"
whole=$(kv s0 s2)
echo "s0 -> s2, whole: $whole Mb/s"

# A remote sub-port: half of the plane, at every other server, whether a spine is between or not.
farelab fail "$LAB" subport s2 0 1 || fail "fail subport"
expect s0 2 0 "ok 50000000 up"
expect s3 2 0 "ok 50000000 up"
settled "sub-port"
farelab heal "$LAB" subport s2 0 1
expect s0 2 0 "ok 100000000 up"

# A link to a spine, at the far leaf: routes and weights follow at all who use it, and at nobody else.
farelab fail "$LAB" uplink l1 sp0 || fail "fail uplink"
expect s0 2 0 "ok 50000000 up"
expect s1 3 0 "ok 50000000 up"
expect s2 0 0 "ok 50000000 up"
expect s0 2 1 "ok 100000000 up"
expect s0 1 0 "ok 100000000 up"
expect s2 3 0 "ok 100000000 up"
within hops_are l0 198.19.0.3 "up1" || fail "l0 still uses the spine that does not reach l1: $(hops l0 198.19.0.3)"
settled "uplink"
before0=$(sent l0 up0) before1=$(sent l0 up1)
lost=$(kv s0 s2)
echo "s0 -> s2, a link to a spine lost: $lost Mb/s"
by0=$(($(sent l0 up0) - before0)) by1=$(($(sent l0 up1) - before1))
[ "$by1" -gt 5000000 ] && [ $((by0 * 20)) -lt "$by1" ] || fail "traffic did not follow: $by0 bytes by the dead way, $by1 by the other"
[ "$(farelab status "$LAB" --json | jq -c '[.faults, [.uplinks[] | select(.up | not) | .leaf + " " + .spine]]')" = '[["fail uplink l1 sp0"],["l1 sp0"]]' ] ||
	fail "status tells of another fault: $(farelab status "$LAB" --json | jq -c '[.faults, .uplinks]')"
farelab heal "$LAB" uplink l1 sp0 || fail "heal uplink"
expect s0 2 0 "ok 100000000 up"
settled "uplink healed"
within hops_are l0 198.19.0.3 "up0 up1" || fail "l0 did not take the spine back"

# A spine dies, and comes back.
farelab fail "$LAB" spine sp2 || fail "fail spine"
expect s0 3 1 "ok 50000000 up"
expect s0 1 1 "ok 100000000 up"
settled "spine"
farelab heal "$LAB" spine sp2 || fail "heal spine"
expect s0 3 1 "ok 100000000 up"

# Both links of a leaf to its spines: no route between leaves on that plane; within the leaf all is well.
farelab fail "$LAB" uplink l0 sp0 && farelab fail "$LAB" uplink l0 sp1 || fail "fail uplinks"
expect s0 2 0 "no-route 0 down"
expect s0 1 0 "ok 100000000 up"
settled "both uplinks"
farelab heal "$LAB" uplink l0 sp0 && farelab heal "$LAB" uplink l0 sp1 || fail "heal uplinks"
expect s0 2 0 "ok 100000000 up"

# Silent faults: BGP tells nothing of a throttled link; of a link that drops everything, when its session times out.
farelab throttle "$LAB" uplink l1 sp1 30 || fail "throttle uplink"
shaped l1 up1 30Mbit && shaped sp1 l1 30Mbit || fail "an end kept its rate"
bandwidths_are s0 198.19.0.3 65101 "500000 500000" || fail "BGP was told of a throttled link"
farelab rate "$LAB" uplink l1 sp1 30 2>"$SCRATCH/error" && fail "the rate of a link to a spine was told"
farelab throttle "$LAB" uplink l1 sp1 100
farelab gray "$LAB" uplink l1 sp1 || fail "gray uplink"
within hops_are l0 198.19.0.3 "up0" || fail "a silent link to a spine is still used: $(hops l0 198.19.0.3)"
expect s0 2 0 "ok 50000000 up"
farelab gray "$LAB" uplink l1 sp1 --loss-percent 0
expect s0 2 0 "ok 100000000 up"
settled "all healed"
[ "$(farelab status "$LAB" --json | jq -c .faults)" = "[]" ] || fail "faults left"

for words in "uplink l0 sp2" "uplink l0 l1" "uplink s0 sp0" "spine sp4" "spine l0" "leaf sp0"; do
	farelab fail "$LAB" $words 2>"$SCRATCH/error" && fail "'fail $words' succeeded"
	[ -s "$SCRATCH/error" ] || fail "'fail $words' failed silently"
done
# Two services share the links between leaves and spines, each with figures of its own.
timeout 120 "$FARE_BIN/farebench" run 10.3 --lab "$LAB" --even-busy --trials 1 --strategy fare-spray --out "$SCRATCH/tenants" \
	>"$SCRATCH/out" 2>"$SCRATCH/error" || fail "10.3: $(tail -3 "$SCRATCH/error")"
for tenants in alone together; do
	for tenant in first second; do
		ratio=$(jq -r --arg s "$tenants" --arg t "$tenant" 'select(.kpi == "model_ratio" and .params == {tenants: $s, tenant: $t}) | .value' "$SCRATCH/tenants/rows.jsonl")
		within_range "$ratio" 0.9 3 || fail "10.3, $tenants, $tenant: $ratio of the model"
		grep "\"tenants\":\"$tenants\"" "$SCRATCH/tenants/rows.jsonl" | grep "\"tenant\":\"$tenant\"" | grep '"kpi":"TTFT"' | grep -q '"hist":' ||
			fail "10.3, $tenants: the $tenant tenant has no TTFT"
	done
done
# a run that goes on keeps them
before=$(grep -c '"tenant"' "$SCRATCH/tenants/rows.jsonl")
timeout 60 "$FARE_BIN/farebench" run --lab "$LAB" --resume "$SCRATCH/tenants" >"$SCRATCH/out" 2>"$SCRATCH/error" || fail "resume: $(tail -3 "$SCRATCH/error")"
[ "$(grep -c '"tenant"' "$SCRATCH/tenants/rows.jsonl")" = "$before" ] || fail "rows of tenants were lost by going on"
# Pairs between leaves fill the links to spines that leaves choose by their load; where they hash, some flows meet.
if farelab lb "$LAB" all adaptive 2>"$SCRATCH/error"; then
	timeout 300 "$FARE_BIN/farebench" run 5.3 12.1 --lab "$LAB" --even-busy --profile quick --trials 3 --strategy fare-spray --param pairs=2 \
		--param gpus=4 --out "$SCRATCH/pairs" >"$SCRATCH/out" 2>"$SCRATCH/error" || fail "5.3: $(tail -3 "$SCRATCH/error")"
	for test in 5.3 12.1; do
		ratio=$(jq -s --arg t $test 'map(select(.test == $t and .kpi == "model_ratio").value) | sort | .[length / 2 | floor]' "$SCRATCH/pairs/rows.jsonl")
		echo "$test, adaptive leaves: $ratio of the model, median of three"
		within_range "$ratio" 0.6 1.05 || fail "$test: $ratio of the model"
	done
else
	echo "not checked: $(cat "$SCRATCH/error")"
fi
farelab down "$LAB" && gone "$LAB" || fail "down left something"
exit 0
