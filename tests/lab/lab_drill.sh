#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Faults under traffic lose nothing: a short random drill with every message checked; daemons killed and reloaded in any order,
# which also moves nothing; and a trial of failover each way.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"
SEED=${FARE_DRILL_SEED:-$((RANDOM * 32768 + RANDOM))}
FAULTS=${FARE_DRILL_FAULTS:-25}
echo "seed $SEED, $FAULTS faults; FARE_DRILL_SEED and FARE_DRILL_FAULTS change them"

farelab up "$TOPOLOGIES/4x4x2-drill.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
export FARELAB_NAME=$LAB

cd "$TOPOLOGIES/.." || fail "no $TOPOLOGIES/.."
run_drill() { # PLAN FAULTS
	"$FARE_BIN/farebench" run drill --param plan="drills/$1" --seed "$SEED" --param faults="$2" \
		--json "$SCRATCH/drill.json" || fail "the drill $1, seed $SEED"
}
drill() { jq -r ".trials.drill[0].$1" "$SCRATCH/drill.json"; }
run_drill random.yaml "$FAULTS"
[ "$(drill faults)" = "$FAULTS" ] || fail "$(drill faults) faults, not $FAULTS"
[ "$(drill lost)" = 0 ] || fail "$(drill lost) messages were lost" # a wrong one ends the run
[ "$(drill needless_flows)" = 0 ] || fail "$(drill needless_flows) flows moved needlessly"
[ "$(drill all_back)" = 1 ] || fail "weights are not back"
[ "$(drill not_healed)" = 0 ] || fail "a fault was not healed"

"$FARE_BIN/farebench" run failover --trials 1 --param scenario=leaf-gray,remote-plane --strategy fare-flow,fare-spray \
	--json "$SCRATCH/failover.json" || fail "failover"
# whether goodput is back to the last percent, and when, is a figure: a busy machine has no say in what is asked here
jq_true '[.trials.failover[] | select(.lost != 0 or .weights == null)] == []' "$SCRATCH/failover.json" >/dev/null ||
	{ jq -c '.trials.failover[]' "$SCRATCH/failover.json"; fail "failover: something was lost, or weights did not come back"; }
[ "$(jq '[.trials.failover[]] | length' "$SCRATCH/failover.json")" = 8 ] || fail "failover: not eight trials"
PATIENCE_S=150 within leaves_settled || fail "leaves stay young"
run_drill restarts.yaml 10
for kpi in lost needless_flows needless_weights not_healed; do
	[ "$(drill $kpi)" = 0 ] || fail "daemons killed and reloaded: $kpi is $(drill $kpi)"
done
[ "$(drill faults)" -gt 0 ] || fail "daemons killed and reloaded: none was"

for plan in "$TOPOLOGIES"/../drills/*.yaml; do
	grep -q '^name: ' "$plan" || fail "$plan has no name"
done
exit 0
