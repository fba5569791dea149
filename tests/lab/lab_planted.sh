#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A benchmark with a defect has no result. Each defect is planted in a build of its own (bench/engine/planted.h), and the run has to
# end with an error that names what cannot be, or to make trials again, and say so. Without a defect the same run has a result.
. "$(dirname "$0")/lib.sh"

farelab up "$TOPOLOGIES/4x4x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"

# run PLANT ARGUMENT...: its status
run() {
	rm -rf "$SCRATCH/json"
	FARE_PLANT=$1 timeout 300 "$FARE_BIN/farebench_planted" run --lab "$LAB" --trials 1 --strategy fare-spray --json "$SCRATCH/json" \
		"${@:2}" >"$SCRATCH/out" 2>"$SCRATCH/err"
}

# caught PLANT WORDS: all-to-all traffic ends with these words and without a result
caught() {
	run "$1" 7.1 --param ep=4 --param config=M4 --param batch=128 --even-busy
	[ $? = 1 ] || fail "$1 was not found out: $(tail -3 "$SCRATCH/err")"
	grep -q "$2" "$SCRATCH/err" || fail "$1: not said: $(tail -3 "$SCRATCH/err")"
	[ ! -e "$SCRATCH/json" ] || fail "$1 has a result"
	echo "$1: $(grep "$2" "$SCRATCH/err" | head -1)"
}

run none 7.1 --param ep=4 --param config=M4 --param batch=128 --even-busy || fail "without a defect: $(tail -3 "$SCRATCH/err")"
jq_true '.trials["7.1"][0].EP_alltoall_bandwidth > 0' "$SCRATCH/json" >/dev/null || fail "without a defect there is no result"

caught no_verify "is not what was sent, or they have not read it"
caught lost_message "messages were posted"
caught shifted_clock "arrived before they were sent"

# a byte that was sent and is nowhere: the trial is spoilt, and has no figure
run lost_bytes 7.1 --param ep=4 --param config=M4 --param batch=128 --even-busy || fail "lost_bytes: $(tail -3 "$SCRATCH/err")"
grep -q "is spoilt: .* bytes were sent, and received are" "$SCRATCH/err" || fail "lost_bytes: not said: $(tail -3 "$SCRATCH/err")"
jq_true '.trials["7.1"] | all(.EP_alltoall_bandwidth == null)' "$SCRATCH/json" >/dev/null || fail "lost_bytes has a figure"

# a rate over half the time: more than the links carry, which bound it, and not the machine
farelab rate "$LAB" all 10 || fail "no other rate"
run wrong_denominator 5.1 --param size=64K --param qps=8 --even-busy
[ $? = 1 ] || fail "wrong_denominator was not found out: $(tail -3 "$SCRATCH/err")"
grep -q "and its links carry" "$SCRATCH/err" || fail "wrong_denominator: not said: $(tail -3 "$SCRATCH/err")"

farelab rate "$LAB" all 200 || fail "no other rate"
# one GPU of four stands still for 300 ms: the trial is made again, as often as that helps, and counted
run stalled_gpu 7.1 --param ep=4 --param config=M4 --param batch=128 || fail "stalled_gpu: $(tail -3 "$SCRATCH/err")"
grep -q "GPU 1 stalled for" "$SCRATCH/err" || fail "stalled_gpu: not said: $(tail -3 "$SCRATCH/err")"
jq_true '.run.trials_repeated >= 1' "$SCRATCH/json" >/dev/null || fail "stalled_gpu: not counted"
exit 0
