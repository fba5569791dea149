#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests of load balancing of the training methodology, in a lab of two tiers: hashed and sprayed QPs against their closed forms, and
# the leaves get their own mode back.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

farelab up "$TOPOLOGIES/two-tier-lb.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S 2>"$SCRATCH/error" || {
	grep -q 'need Linux 6.6' "$SCRATCH/error" && skip "this kernel has no BPF programs at a device (tcx)"
	cat "$SCRATCH/error"
	fail "not converged"
}
timeout 240 "$FARE_BIN/farebench" run T8.1 T8.2 T8.3 T8.4 --lab "$LAB" --even-busy --seed 7 --trials 1 --param qps=1 --param gap=100 \
	--strategy ecmp,flowlet,spray --out "$SCRATCH/a" >"$SCRATCH/out" 2>&1 || fail "run: $(tail -5 "$SCRATCH/out")"
# between TEST STRATEGY KPI LOW HIGH
between() {
	local value
	value=$(jq -r --arg t "$1" --arg s "$2" --arg k "$3" 'select(.test == $t and .strategy == $s and .kpi == $k) | .value' "$SCRATCH/a/rows.jsonl")
	echo "$1, $2: $3 $value"
	jq_true -n --argjson v "${value:-null}" "\$v != null and \$v >= $4 and \$v <= $5" >/dev/null || fail "not within $4 to $5"
}
# one QP has one of four links, but for what BGP and probes send; sprayed, all four: of so many packets the busiest has little more
for test in T8.1 T8.2 T8.3 T8.4; do
	between $test ecmp MMR 3.6 4
	between $test ecmp JFI 0.25 0.31
	between $test ecmp model 3.99 4.01
done
for test in T8.3 T8.4; do
	between $test spray MMR 1 1.2
	between $test spray JFI 0.97 1
done
between T8.4 spray JFI_delta 0.6 0.76
# 9.3: what KV transfers make of the same uplinks; the own mode is given back between the others
timeout 120 "$FARE_BIN/farebench" run 9.3 --lab "$LAB" --even-busy --seed 7 --trials 1 --param traffic=kv --param balance=own,spray,adaptive \
	--strategy fare-spray --out "$SCRATCH/kv" >"$SCRATCH/out" 2>&1 || fail "9.3: $(tail -5 "$SCRATCH/out")"
for mode in spray adaptive; do
	jq_true -s --arg m $mode 'any(.kpi == "Uplink_JFI" and .params.balance == $m and .value > 0.97 and .value <= 1)' "$SCRATCH/kv/rows.jsonl" >/dev/null ||
		fail "9.3, $mode: $(grep Uplink_JFI "$SCRATCH/kv/rows.jsonl")"
done
jq_true -s 'map(select(.kpi == "Oversubscription").value) == [1, 1, 1]' "$SCRATCH/kv/rows.jsonl" >/dev/null || fail "9.3: links to spines carry what servers' do"
# by one link nothing is overtaken, unless something was lost
[ "$(jq -r 'select(.test == "T8.3" and .strategy == "ecmp" and .kpi == "Packet_drop_rate") | .value' "$SCRATCH/a/rows.jsonl")" != 0 ] ||
	between T8.3 ecmp Out_of_order_rate 0 0
# the fabric's size: both leaves send; one QP of each of 64 simulated leaves has one of four links; the lab has not so many
between T8.1 ecmp Simulated_uplinks_JFI 0.2499 0.2501
between T8.1 ecmp Simulated_uplinks_MMR 3.99 4.01
timeout 120 "$FARE_BIN/farebench" run T8.1 --lab "$LAB" --even-busy --trials 1 --param qps=32 --param leaves=64 --strategy ecmp \
	--out "$SCRATCH/leaves" >"$SCRATCH/out" 2>&1 || fail "64 leaves: $(tail -5 "$SCRATCH/out")"
jq_true -s 'any(.kpi == "MMR" and ((.missing // "") | test("^64 leaves: servers of a plane of this lab are at 2"))) and
	any(.kpi == "Simulated_uplinks_JFI" and .value > 0.85 and .value < 0.97)' "$SCRATCH/leaves/rows.jsonl" >/dev/null ||
	fail "64 leaves: $(cat "$SCRATCH/leaves/rows.jsonl")"
# an uplink of 5 Mb/s: what is sprayed by the others overtakes its packets, which are sent again
farelab throttle "$LAB" uplink l0 sp0 5 || fail throttle
mv "$SCRATCH/a" "$SCRATCH/even"
timeout 120 "$FARE_BIN/farebench" run T8.3 --lab "$LAB" --even-busy --trials 1 --param qps=4 --strategy spray --out "$SCRATCH/a" >"$SCRATCH/out" 2>&1 ||
	fail "a slow uplink: $(tail -5 "$SCRATCH/out")"
between T8.3 spray Out_of_order_rate 1 1e6
between T8.3 spray Retransmission_rate 1 1e6
farelab throttle "$LAB" uplink l0 sp0 50 || fail throttle
[ "$(farelab status "$LAB" --json | jq -r '[.leaves[].lb] | unique | join(" ")')" = ecmp ] || fail "the leaves have not their own mode"
# a kernel without tcx, whose farelab says so: that row has its words, and the others are measured
cat >"$SCRATCH/farelab" <<END
#!/bin/bash
[ "\$1" = lb ] && [ "\$4" != ecmp ] && { echo "farelab: leaves of this kernel cannot do lb: no tcx" >&2; exit 1; }
exec "$FARE_BIN/farelab" "\$@"
END
chmod +x "$SCRATCH/farelab"
FARELAB=$SCRATCH/farelab timeout 120 "$FARE_BIN/farebench" run T8.1 T8.4 --lab "$LAB" --even-busy --trials 1 --param qps=1 --strategy bth,ecmp \
	--out "$SCRATCH/b" >"$SCRATCH/out" 2>&1 || fail "a mode that the kernel has not ended the run: $(tail -5 "$SCRATCH/out")"
for test in T8.1 T8.4; do
	jq_true -s --arg t "$test" '[.[] | select(.test == $t and .kpi == "MMR")] |
		any(.strategy == "ecmp" and .value > 0) and
		any(.strategy == "bth" and ((.missing // "") | test("^farelab lb: .*this kernel cannot do lb")))' "$SCRATCH/b/rows.jsonl" >/dev/null ||
		fail "$test: $(grep MMR "$SCRATCH/b/rows.jsonl")"
done
