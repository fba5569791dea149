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
# the value of a KPI by a strategy, of rows
value() {
	jq -r --arg kpi "$1" --arg strategy "$2" 'select(.kpi == $kpi and (.strategy // "") == $strategy and .value != null) | .value'
}
run() {
	timeout 300 "$fb" run --lab "$LAB" --even-busy --seed 7 "$@" >"$SCRATCH/out" 2>"$SCRATCH/err"
}

# some of them, as little as can be: 8.1, 8.2 and 8.4 cannot be measured here, and say why
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
jq_true ".tables | length > 2" "$SCRATCH/a/run.json" >/dev/null || fail "run.json is no JSON"

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

# blocks that the decode GPU reads: verified like those that are written, by hashed QPs and by fare's; not where packets are sprayed
run 5.1 --trials 1 --strategy ecmp-stripe,ecmp-flow,fare-spray,fare-packet --param size=256K --param qps=8 --param verb=read --out "$SCRATCH/d" ||
	fail "5.1 by reads: $(tail -3 "$SCRATCH/err")"
for strategy in ecmp-stripe ecmp-flow fare-spray; do
	value of_line "$strategy" <"$SCRATCH/d/rows.jsonl" | awk '{ exit !($1 > 1 && $1 < 105) }' || fail "5.1: no reads by $strategy"
done
grep '"strategy":"fare-packet"' "$SCRATCH/d/rows.jsonl" | grep '"kpi":"of_line"' | grep -q '"missing":"' || fail "5.1: packets of READs were sprayed"
run 6.1 --trials 1 --strategy fare-spray --param prompt=1024 --param verb=read --out "$SCRATCH/e" || fail "6.1 by reads: $(tail -3 "$SCRATCH/err")"
grep '"kpi":"T_transfer"' "$SCRATCH/e/rows.jsonl" | grep -q '"hist":' || fail "6.1 by reads has no T_transfer"

# a cache in four pieces of pages: each page is a message, and the request waits for all of them
run 6.1 --trials 1 --strategy fare-spray --param prompt=1024 --param pieces=4 --param page=64 --out "$SCRATCH/h" || fail "6.1, paged: $(tail -3 "$SCRATCH/err")"
n_of() { jq -r --arg kpi "$1" 'select(.kpi == $kpi) | .n' "$SCRATCH/h/rows.jsonl"; }
requests=$(n_of T_transfer) messages=$(n_of KV_xfer_latency)
[ "${requests:-0}" -gt 0 ] && [ "${messages:-0}" -ge $((32 * requests)) ] || fail "6.1, paged: $messages messages of $requests requests"

# a server joins, then leaves: all see it, transfers to it begin, throughput follows; so slow that the links bound it, not the machine
farelab rate "$LAB" all 10 || fail "no other rate"
run 12.2 --trials 1 --param pool=decode --out "$SCRATCH/f" || fail "12.2: $(tail -3 "$SCRATCH/err")"
for event in up down; do
	grep "\"event\":\"$event\"" "$SCRATCH/f/rows.jsonl" >"$SCRATCH/rows"
	value fabric_convergence "" <"$SCRATCH/rows" | awk '{ exit !($1 > 0 && $1 < 6000) }' || fail "12.2, $event: no convergence: $(cat "$SCRATCH/rows")"
	before=$(value throughput_before "" <"$SCRATCH/rows") after=$(value throughput_after "" <"$SCRATCH/rows")
	awk -v e="$event" -v b="$before" -v a="$after" 'BEGIN { r = a / b; exit !(e == "up" ? r > 1.5 : r < 0.7 && r > 0.3) }' ||
		fail "12.2, $event: $before MB/s before, $after after"
done
grep '"kpi":"first_transfer"' "$SCRATCH/f/rows.jsonl" | grep -q '"hist":' || fail "12.2: nothing was transferred to who joined"

# two services share nothing on one tier of leaves: that is said, and nothing measured (two tiers: lab/tiers)
run 10.3 --trials 1 --strategy fare-spray --out "$SCRATCH/g" || fail "10.3: $(tail -3 "$SCRATCH/err")"
grep '"kpi":"TTFT"' "$SCRATCH/g/rows.jsonl" | grep -q '"missing":"the fabric has one tier' || fail "10.3 does not say that tenants share no link"

# all tests, as short as profile quick is: in no trial anything is made or lost, and what has a model comes out near it. Ranges are
# wide toward what a busy machine does (less on the links, longer times) and where a trial has few requests; toward what no fabric
# can do they are narrow.
farelab rate "$LAB" all 25 || fail "no other rate"
run all --profile quick --trials 1 --strategy fare-spray --param size=1M --param qps=8 --param pairs=2 --param prompt=8192 \
	--param config=M4 --param ep=4 --param batch=8 --param tier=dram-dram --param ratio=6P6D --param shape=tp8-tp8 --param rate=20 \
	--param routing=top-k --param first=kv --param router=kv-aware --param share=90 --param prefix=256 --param decode=2 \
	--param background=0,50 --param gpus=4 --param event=up --param pool=decode --param failure=decode-link --out "$SCRATCH/o" ||
	fail "run all: $(tail -3 "$SCRATCH/err")"
grep -h '"missing":"spoilt' "$SCRATCH/o/rows.jsonl" && fail "something was made or lost"
jq -r 'select(.kpi == "model_ratio" and .value != null) | "\(.test) \(.value)"' "$SCRATCH/o/rows.jsonl" >"$SCRATCH/ratios"
n=$(cut -d' ' -f1 "$SCRATCH/ratios" | sort -u | wc -l)
[ "$n" -ge 25 ] || fail "$n tests have a model, not 25: $(cut -d' ' -f1 "$SCRATCH/ratios" | sort -uV | tr '\n' ' ')"
while read -r test low high; do
	awk -v t="$test" -v l="$low" -v h="$high" '$1 == t && ($2 < l || $2 > h) { print; bad = 1 } END { exit bad }' "$SCRATCH/ratios" ||
		fail "$test: of its model, not within $low to $high"
done <<-END
	5.1 0.6 1.03
	5.2 0.85 10
	5.3 0.6 1.03
	5.4 0.6 1.03
	6.1 0.6 10
	6.2 0.4 1.6
	6.3 0.95 10
	6.4 0.4 1.8
	7.1 0.3 1.15
	7.2 0.3 1.15
	7.3 0.3 1.15
	7.4 0.3 1.1
	8.3 0.4 1.05
	9.1 0.4 1.6
	9.2 0.9 10
	9.3 0.6 1
	9.4 0.4 1
	10.1 0.4 1.6
	10.2 0.95 10
	10.4 0.6 10
	11.1 0.4 1.6
	11.2 0.4 1.6
	11.3 0.4 1.6
	12.1 0.6 1.03
	12.2 0.6 1.05
	12.3 0.6 1.05
	13.1 0.4 1.6
	13.3 0.4 1.6
END

# stopped by a signal: what was measured is kept, and the status says so
"$fb" run 5.1 --lab "$LAB" --even-busy --trials 8 --param size=64K --param qps=8 --strategy fare-spray --out "$SCRATCH/c" \
	>/dev/null 2>"$SCRATCH/err" &
pid=$!
within grep -qs _trial_s "$SCRATCH/c/rows.jsonl" || fail "no trial was made: $(tail -3 "$SCRATCH/err")"
kill -TERM $pid # (a shell starts what runs beside it with SIGINT ignored)
wait $pid
[ $? = 143 ] || fail "stopped by SIGTERM, and the status is another"
grep -q -- "--resume $SCRATCH/c" "$SCRATCH/err" || fail "the end says not how to go on"
# it goes on with no other word than that: the same test, levels, strategy, trials and seed
before=$(grep -c _trial_s "$SCRATCH/c/rows.jsonl") seed=$(jq .seed "$SCRATCH/c/run.json")
[ "$before" -lt 8 ] || fail "nothing is left to go on with"
resume() { timeout 300 "$fb" run --lab "$LAB" --resume "$1" >"$SCRATCH/out" 2>"$SCRATCH/err"; }
resume "$SCRATCH/c" || fail "resume alone: $(tail -3 "$SCRATCH/err")"
[ "$(jq -r 'select(.kpi == "_trial_s") | .trial' "$SCRATCH/c/rows.jsonl" | sort -n | tr '\n' ' ')" = "0 1 2 3 4 5 6 7 " ] ||
	fail "resumed: not the trials that were missing"
[ "$(jq .seed "$SCRATCH/c/run.json")" = "$seed" ] || fail "resumed with another seed"
[ "$(jq '[.words[] | select(startswith("--qps") or startswith("--param=qps"))] | length' "$SCRATCH/c/run.json")" = 1 ] || fail "run.json has not the words"
resume "$SCRATCH/none" && fail "what is not there was resumed"
grep -q "does not say what was run" "$SCRATCH/err" || fail "a directory without a run is not named: $(tail -3 "$SCRATCH/err")"
