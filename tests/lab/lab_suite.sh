#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests of the inference methodology: every test is listed, a run stops and goes on, each row belongs to a KPI that the test declares,
# and what a service does is seen by those who ask for it. No bound on figures here: those are in docs/figures.yaml.
. "$(dirname "$0")/lib.sh"

fb="$FARE_BIN/farebench"
[ "$("$fb" list | grep -c "^  [0-9]")" = 33 ] || fail "not 33 tests of the methodology: $("$fb" list)"
"$fb" list -v | grep -q 'KV_xfer_bandwidth (MB/s)' || fail "list -v names no KPI"
"$fb" run 99.9 --lab none 2>"$SCRATCH/err" && fail "a test that does not exist was run"
grep -q 'farebench list' "$SCRATCH/err" || fail "the error says not what to do"

farelab up "$TOPOLOGIES/4x4x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" || fail "no lab"
run() {
	timeout 300 "$fb" run --lab "$LAB" --even-busy --seed 7 "$@" >"$SCRATCH/out" 2>"$SCRATCH/err"
}

# all of them, as little as can be: 8.1, 8.2, 8.4 and 12.2 cannot be measured here, and say why
run 5.1 5.3 7.1 8.1 8.2 8.4 --trials 1 --strategy ecmp-flow,fare-spray --param size=64K --param qps=8 --param pairs=2 --param ep=4 \
	--param config=M4 --out "$SCRATCH/a" || fail "run: $(tail -3 "$SCRATCH/err")"
for test in 8.1 8.2 8.4; do
	grep "\"test\":\"$test\"" "$SCRATCH/a/rows.jsonl" | grep -q '"missing":"' || fail "$test does not say why it is missing"
done
for strategy in ecmp-flow fare-spray; do
	grep "\"test\":\"5.1\"" "$SCRATCH/a/rows.jsonl" | grep "\"strategy\":\"$strategy\"" | grep '"kpi":"of_line"' | grep -q '"value":' ||
		fail "5.1 has no throughput by $strategy"
done
grep '"test":"7.1"' "$SCRATCH/a/rows.jsonl" | grep '"kpi":"EP_alltoall_latency"' | grep -q '"hist":' || fail "7.1 has no latencies"
jq -e ".tables | length > 2" "$SCRATCH/a/run.json" >/dev/null || fail "run.json is no JSON"

# the same directory again: refused, unless it is to go on; then nothing is measured twice
run 5.1 --out "$SCRATCH/a" && fail "an earlier run was overwritten"
grep -q -- '--resume' "$SCRATCH/err" || fail "the refusal says not what to do"
before=$(wc -l <"$SCRATCH/a/rows.jsonl")
printf '{"test":"5.1","strategy":"fare-sp' >>"$SCRATCH/a/rows.jsonl"
run 5.1 5.3 7.1 8.1 8.2 8.4 --trials 1 --strategy ecmp-flow,fare-spray --param size=64K --param qps=8 --param pairs=2 --param ep=4 \
	--param config=M4 --resume "$SCRATCH/a" || fail "resume: $(tail -3 "$SCRATCH/err")"
[ "$(wc -l <"$SCRATCH/a/rows.jsonl")" = "$before" ] || fail "resumed: $(wc -l <"$SCRATCH/a/rows.jsonl") rows, not $before"

# a service: requests are served, their caches cross the fabric
run 6.1 --trials 1 --strategy fare-spray --param prompt=1024 --out "$SCRATCH/b" || fail "6.1: $(tail -3 "$SCRATCH/err")"
for kpi in TTFT T_prefill T_transfer T_decode_init; do
	grep "\"kpi\":\"$kpi\"" "$SCRATCH/b/rows.jsonl" | grep -q '"hist":' || fail "6.1 has no $kpi"
done

# stopped by a signal: what was measured is kept, and the status says so
"$fb" run 5.1 --lab "$LAB" --even-busy --trials 50 --param size=64K --param qps=8 --strategy fare-spray --out "$SCRATCH/c" \
	>/dev/null 2>"$SCRATCH/err" &
pid=$!
within grep -qs _trial_s "$SCRATCH/c/rows.jsonl" || fail "no trial was made: $(tail -3 "$SCRATCH/err")"
kill -TERM $pid # (a shell starts what runs beside it with SIGINT ignored)
wait $pid
[ $? = 143 ] || fail "stopped by SIGTERM, and the status is another"
grep -q -- "--resume $SCRATCH/c" "$SCRATCH/err" || fail "the end says not how to go on"
