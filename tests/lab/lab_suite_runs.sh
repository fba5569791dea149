#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs of tests of the methodology: what they are asked for is done, and seen; a run stops and goes on; each row belongs to a KPI that
# the test declares. No bound on figures here: those are in docs/figures.yaml.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/suite.sh"

farelab up "$TOPOLOGIES/4x4x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" || fail "no lab"

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
# table 6 says what the run counted
for indicator in 'BGP/OSPF Stability.*sessions of leaves ended' 'NIC QP State.*paths of QP groups died'; do
	grep -q "$indicator" "$SCRATCH/a/report.md" || fail "table 6 lacks ${indicator%%.\**}: $(grep 'BGP/OSPF\|NIC QP' "$SCRATCH/a/report.md")"
done

# the same directory again: refused, unless it is to go on; then nothing is measured twice
run 5.1 --out "$SCRATCH/a" && fail "an earlier run was overwritten"
grep -q -- '--resume' "$SCRATCH/err" || fail "the refusal says not what to do"
before=$(wc -l <"$SCRATCH/a/rows.jsonl")
printf '{"test":"5.1","strategy":"fare-sp' >>"$SCRATCH/a/rows.jsonl"
run 5.1 5.3 7.1 8.1 8.2 8.4 --trials 1 --strategy ecmp-flow,fare-spray --param size=64K --param qps=8 --param pairs=2 --param ep=4 \
	--param config=M4 --resume "$SCRATCH/a" || fail "resume: $(tail -3 "$SCRATCH/err")"
[ "$(wc -l <"$SCRATCH/a/rows.jsonl")" = "$before" ] || fail "resumed: $(wc -l <"$SCRATCH/a/rows.jsonl") rows, not $before"

# blocks that the decode GPU reads: verified like those that are written, by hashed QPs and by fare's; not where packets are sprayed
run 5.1 --trials 1 --strategy ecmp-stripe,ecmp-flow,fare-spray,fare-packet --param size=256K --param qps=8 --param verb=read --out "$SCRATCH/d" ||
	fail "5.1 by reads: $(tail -3 "$SCRATCH/err")"
for strategy in ecmp-stripe ecmp-flow fare-spray; do
	value of_line "$strategy" <"$SCRATCH/d/rows.jsonl" | awk '{ exit !($1 > 1 && $1 < 105) }' || fail "5.1: no reads by $strategy"
done
grep '"strategy":"fare-packet"' "$SCRATCH/d/rows.jsonl" | grep '"kpi":"of_line"' | grep -q '"missing":"' || fail "5.1: packets of READs were sprayed"
run 6.1 --trials 1 --strategy fare-spray --param prompt=1024 --param verb=read --out "$SCRATCH/e" || fail "6.1 by reads: $(tail -3 "$SCRATCH/err")"
grep '"kpi":"T_transfer"' "$SCRATCH/e/rows.jsonl" | grep -q '"hist":' || fail "6.1 by reads has no T_transfer"

# blocks that end, or begin, in a file opened with O_DIRECT; without a directory for it, and without dma-bufs, the reason stands there
run 5.4 --trials 1 --strategy fare-spray --param tier=dram-nvme,nvme-dram,hbm-hbm --store /var/tmp --out "$SCRATCH/i" || fail "5.4: $(tail -3 "$SCRATCH/err")"
for tier in dram-nvme nvme-dram; do
	grep "\"tier\":\"$tier\"" "$SCRATCH/i/rows.jsonl" >"$SCRATCH/rows"
	grep -q 'no file with O_DIRECT' "$SCRATCH/rows" && continue # tmpfs of an old kernel
	value model_ratio fare-spray <"$SCRATCH/rows" | awk '{ n++; if ($1 < 0.3 || $1 > 1.05) exit 1 } END { exit n != 1 }' || fail "5.4, $tier: $(cat "$SCRATCH/rows")"
	grep '"kpi":"medium"' "$SCRATCH/rows" | grep -q 'O_DIRECT' || fail "5.4, $tier: the medium is not named"
done
[ -e /dev/udmabuf ] || grep '"tier":"dram-nvme"' "$SCRATCH/i/rows.jsonl" | grep '"kpi":"tier_ratio"' | grep -qE '"missing":"(no throughput of hbm-hbm|tier dram-nvme: .*O_DIRECT)' ||
	fail "5.4: no reason for the ratio of dram-nvme"
[ -e /dev/udmabuf ] || grep '"tier":"hbm-hbm"' "$SCRATCH/i/rows.jsonl" | grep -q '"missing":"tier hbm-hbm: .*/dev/udmabuf' || fail "5.4: no reason for hbm"
run 5.4 --trials 1 --strategy fare-spray --param tier=dram-nvme --out "$SCRATCH/j" || fail "5.4 without --store: $(tail -3 "$SCRATCH/err")"
grep -q '"missing":"tier dram-nvme: .*--store' "$SCRATCH/j/rows.jsonl" || fail "5.4: no reason for the missing directory"

# a trace with hashes of prefixes: what a worker has is not sent again, by a router that weighs it against load
sed '1,/^trace:/!d; /^trace:/d' "$TOPOLOGIES/../../docs/examples/workload.yaml" >"$SCRATCH/w.yaml"
cp "$TOPOLOGIES/../../docs/examples/trace.jsonl" "$SCRATCH"
printf 'trace: trace.jsonl\ntrace_tokens: 0.5\n' >>"$SCRATCH/w.yaml"
run 9.2 --trials 1 --strategy fare-spray --param share=90 --workload "$SCRATCH/w.yaml" --out "$SCRATCH/k" && fail "9.2 by a trace takes a share of its own"
run 9.2 --trials 1 --strategy fare-spray --param prefix_router=prefix-load --workload "$SCRATCH/w.yaml" --out "$SCRATCH/k" ||
	fail "9.2 by a trace: $(tail -3 "$SCRATCH/err")"
value Prefix_cache_hit_rate fare-spray <"$SCRATCH/k/rows.jsonl" | awk '{ exit !($1 > 50 && $1 <= 100) }' || fail "9.2: no hits of a trace of four requests"
value model_ratio fare-spray <"$SCRATCH/k/rows.jsonl" | awk '{ exit !($1 > 0.5 && $1 <= 1) }' || fail "9.2 hits more than what came before"

# a cache in four pieces of pages: each page is a message, and the request waits for all of them
run 6.1 --trials 1 --strategy fare-spray --param prompt=1024 --param pieces=4 --param page=64 --out "$SCRATCH/h" || fail "6.1, paged: $(tail -3 "$SCRATCH/err")"
n_of() { jq -r --arg kpi "$1" 'select(.kpi == $kpi) | .n' "$SCRATCH/h/rows.jsonl"; }
for kpi in TTFT T_prefill T_transfer T_decode_init; do
	grep "\"kpi\":\"$kpi\"" "$SCRATCH/h/rows.jsonl" | grep -q '"hist":' || fail "6.1 has no $kpi"
done
requests=$(n_of T_transfer) messages=$(n_of KV_xfer_latency)
[ "${requests:-0}" -gt 0 ] && [ "${messages:-0}" -ge $((32 * requests)) ] || fail "6.1, paged: $messages messages of $requests requests"

farelab rate "$LAB" all 25 || fail "no other rate"
# stopped by a signal: what was measured is kept, and the status says so
"$fb" run 5.1 --lab "$LAB" --even-busy --trials 8 --param size=64K --param qps=8 --strategy fare-spray --out "$SCRATCH/c" \
	>/dev/null 2>"$SCRATCH/err" &
pid=$!
within grep -qs _trial_s "$SCRATCH/c/rows.jsonl" || fail "no trial was made: $(tail -3 "$SCRATCH/err")"
kill -TERM $pid # (a shell starts what runs beside it with SIGINT ignored)
wait $pid
[ $? = 143 ] || fail "stopped by SIGTERM, and the status is another"
grep -q -- "--resume $SCRATCH/c --lab $LAB$" "$SCRATCH/err" || fail "the end says not how to go on"
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

# two runs compared: how many trials are missing is said, and --more makes those, of the run that lacks them
compare() { timeout 300 "$fb" compare "$@" >"$SCRATCH/out" 2>"$SCRATCH/err"; }
trials_of() { jq -r 'select(.kpi == "_trial_s") | .trial' "$1/rows.jsonl" | sort -n | tr '\n' ' '; }
run 5.1 --trials 2 --param size=64K --param qps=8 --strategy fare-spray --out "$SCRATCH/n" || fail "5.1: $(tail -3 "$SCRATCH/err")"
compare "$SCRATCH/c" "$SCRATCH/n"
missed=$(sed -n 's/.*A has 8 trials of each row at least, B 2\. .* A misses 0, B \([1-9][0-9]*\)\. .*/\1/p' <(tr '\n' ' ' <"$SCRATCH/out"))
[ -n "$missed" ] || fail "compare does not say what is missing: $(cat "$SCRATCH/out" "$SCRATCH/err")"
cp -r "$SCRATCH/n" "$SCRATCH/old"
sed -i 's/"version": *"[^"]*"/"version": "0.0.0"/' "$SCRATCH/old/run.json"
compare --more "$SCRATCH/c" "$SCRATCH/old"
[ $? = 1 ] && grep -q "was made by another version" "$SCRATCH/err" && [ "$(trials_of "$SCRATCH/old")" = "0 1 " ] || fail "--more of another version's run"
compare --more "$SCRATCH/c" "$SCRATCH/n" # 3: something is worse, by chance or not
[ $? != 1 ] || fail "--more: $(tail -3 "$SCRATCH/err")"
[ "$(trials_of "$SCRATCH/n")" = "$(seq -s ' ' 0 $((1 + missed))) " ] || fail "$missed trials were missing; now there are: $(trials_of "$SCRATCH/n")"
[ "$(trials_of "$SCRATCH/c")" = "0 1 2 3 4 5 6 7 " ] || fail "--more made trials that were not missing"
grep -q "rows were compared" "$SCRATCH/out" || fail "--more, and nothing is compared: $(cat "$SCRATCH/out")"
grep -q -e "--more" "$SCRATCH/out" && fail "trials are still missing: $(cat "$SCRATCH/out")"

# goodput around a fault: all trials have points at the same times, or the axis has no room for the later ones, and pictures are empty
run demo-shift --trials 1 --profile quick --strategy ecmp-stripe,fare-spray --out "$SCRATCH/v" || fail "demo-shift: $(tail -3 "$SCRATCH/err")"
times=$(jq -r 'select(.kpi == "of_whole") | .params.ms_since_fault' "$SCRATCH/v/rows.jsonl" | sort -u | wc -l)
[ "$times" -ge 40 ] && [ "$times" -le 64 ] || fail "demo-shift: points at $times different times"
grep -q 'nothing that its axes can show' "$SCRATCH/v/report.md" && fail "demo-shift: a picture is empty"

# a libfabric provider that is named: fare's writes, and none of UET, which is said
if [ -x "$FARE_BIN/fare-ofi-write" ]; then
	run T6.1 T6.2 T6.3 T6.7 --trials 1 --param provider=uet,fare --param size=64K --out "$SCRATCH/u" || fail "T6: $(tail -3 "$SCRATCH/err")"
	for test in T6.1:Throughput T6.2:Latency T6.1:Setup_time T6.7:Setup_rate T6.7:Endpoints_held; do
		grep "\"test\":\"${test%:*}\"" "$SCRATCH/u/rows.jsonl" | grep "\"kpi\":\"${test#*:}\"" >"$SCRATCH/rows"
		grep '"provider":"fare"' "$SCRATCH/rows" | grep -qE '"(value|hist)":' || fail "${test%:*}: no ${test#*:} over fare: $(cat "$SCRATCH/rows")"
		grep '"provider":"uet"' "$SCRATCH/rows" | grep -q 'no UET provider on this machine (fi_info shows .*fare' || fail "${test%:*}: uet"
	done
	# payload on eight sub-ports, and headers take their part of it
	jq 'select(.test == "T6.1" and .kpi == "Efficiency" and .value != null) | .value' "$SCRATCH/u/rows.jsonl" |
		awk '{ n++; if ($1 < 5 || $1 > 100) exit 1 } END { exit n != 2 }' || fail "T6.1: $(grep Efficiency "$SCRATCH/u/rows.jsonl")"
	grep '"test":"T6.3"' "$SCRATCH/u/rows.jsonl" | grep -q 'it takes UET hosts over leaves that spray' || fail "T6.3 does not say what it takes"
fi

# a log of MLPerf that was recorded, one that was cut, and none
log() { printf ':::MLLOG {"key": "%s", "time_ms": %s, "value": %s, "metadata": {%s}}\n' "$@"; }
(cd "$SCRATCH" && { log max_sequence_length 0 512 && log run_start 1000 null && log run_stop 61000 null '"status": "success", "samples_count": 6000'; } >whole &&
	head -n 2 whole >cut && run T10.2 --param log=whole,cut,none --out "$SCRATCH/m") || fail "T10.2: $(tail -3 "$SCRATCH/err")"
jq_true -s '[.[] | select(.params.log == "whole" and (.kpi == "Time_to_train" or .kpi == "Tokens_per_s")) | .value] == [1, 51200]' \
	"$SCRATCH/m/rows.jsonl" >/dev/null || fail "T10.2: $(cat "$SCRATCH/m/rows.jsonl")"
grep -q '"log":"cut".*line 2: it ends before run_stop' "$SCRATCH/m/rows.jsonl" && grep -q '"log":"none".*no MLPerf log was given' "$SCRATCH/m/rows.jsonl" ||
	fail "T10.2 does not say what is missing: $(cat "$SCRATCH/m/rows.jsonl")"

# a soak that is stopped twice goes on twice: no sample is made again, and all have one axis of time, on which none begins before the
# one before it ended
samples() { [ -e "$SCRATCH/l/rows.jsonl" ] && [ "$(grep -c '"kpi":"_trial_s"' "$SCRATCH/l/rows.jsonl")" -ge "$1" ]; }
stop_after() { # N WORDS...: a run that is stopped once so many samples are there
	timeout 300 "$fb" run --lab "$LAB" "${@:2}" >/dev/null 2>"$SCRATCH/err" &
	pid=$!
	within samples "$1" || fail "13.1: no $1 samples: $(tail -3 "$SCRATCH/err")"
	kill -TERM $pid
	wait $pid
}
stop_after 1 13.1 --even-busy --trials 6 --strategy fare-spray --out "$SCRATCH/l"
stop_after 3 --resume "$SCRATCH/l"
resume "$SCRATCH/l" || fail "a soak resumed twice: $(tail -3 "$SCRATCH/err")"
jq -r 'select(.kpi == "at_s" or .kpi == "_trial_s") | "\(.trial) \(.kpi) \(.value)"' "$SCRATCH/l/rows.jsonl" | sort -k1,1n -k2,2r >"$SCRATCH/axis"
[ "$(grep -c at_s "$SCRATCH/axis")" = 6 ] || fail "not six samples: $(cat "$SCRATCH/axis")"
awk '$2 == "at_s" { if (NR > 1 && $3 < end) exit 1; at = $3 } $2 == "_trial_s" { end = at + $3 * 0.99 }' "$SCRATCH/axis" ||
	fail "samples overlap, or time begins anew: $(cat "$SCRATCH/axis")"
# each sample has its distribution; some 40 requests carry no P99, so there is none; half a minute carries no slope of the median either
[ "$(jq -r 'select(.kpi == "TTFT" and .hist != null) | .trial' "$SCRATCH/l/rows.jsonl" | sort -u | wc -l)" = 6 ] || fail "13.1: a sample has no TTFT"
grep -q 'n/a (TTFT.*_p99): .* fewer than the 300 measurements' "$SCRATCH/l/report.md" || fail "13.1: a P99 of few: $(grep TTFT_p99 "$SCRATCH/l/rows.jsonl")"
jq_true -s 'map(select(.kpi == "slope_TTFT_median")) | length == 1 and (.[0].missing | contains("carry no trend per hour"))' "$SCRATCH/l/rows.jsonl" ||
	fail "13.1: a slope of half a minute: $(grep slope_TTFT_median "$SCRATCH/l/rows.jsonl")"
jq_true -s 'map(select(.kpi == "soak_length").value) | length == 1 and .[0] > 10' "$SCRATCH/l/rows.jsonl" || fail "13.1: no length: $(grep soak_length "$SCRATCH/l/rows.jsonl")"
