#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Faults under traffic lose nothing: a short random drill with every message checked, and a trial of failover each way.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"
SEED=${FARE_DRILL_SEED:-$((RANDOM * 32768 + RANDOM))}
FAULTS=${FARE_DRILL_FAULTS:-25}
echo "seed $SEED, $FAULTS faults; FARE_DRILL_SEED and FARE_DRILL_FAULTS change them"

farelab up "$TOPOLOGIES/4x4x2-drill.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
export FARELAB_NAME=$LAB

"$FARE_BIN/farebench" drill "$TOPOLOGIES/../drills/random.yaml" --seed "$SEED" --faults "$FAULTS" \
	--json "$SCRATCH/drill.json" || fail "the drill, seed $SEED"
drill() { jq -r ".drill.$1" "$SCRATCH/drill.json"; }
[ "$(drill faults)" = "$FAULTS" ] || fail "$(drill faults) faults, not $FAULTS"
[ "$(drill lost)" = 0 ] || fail "$(drill lost) messages were lost" # a wrong one ends the run
[ "$(drill needless_flows)" = 0 ] || fail "$(drill needless_flows) flows moved needlessly"
jq -e '.drill.weights_back_s >= 0' "$SCRATCH/drill.json" >/dev/null || fail "weights are not back"
jq -e '[.drill_faults[] | select(.healed_s < 0)] == []' "$SCRATCH/drill.json" >/dev/null || fail "a fault was not healed"

"$FARE_BIN/farebench" failover --trials 1 --scenario leaf-gray,remote-plane --strategy fare-flow,fare-spray \
	--json "$SCRATCH/failover.json" || fail "failover"
# whether goodput is back to the last percent, and when, is a figure: a busy machine has no say in what is asked here
jq -e '[.failover[] | select(.lost != 0 or .weights_ms < 0)] == []' "$SCRATCH/failover.json" >/dev/null ||
	{ jq -c '.failover[]' "$SCRATCH/failover.json"; fail "failover: something was lost, or weights did not come back"; }
[ "$(jq '.failover | length' "$SCRATCH/failover.json")" = 8 ] || fail "failover: not eight trials"
for plan in "$TOPOLOGIES"/../drills/*.yaml; do
	grep -q '^name: ' "$plan" || fail "$plan has no name"
done
exit 0
