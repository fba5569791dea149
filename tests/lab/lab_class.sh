#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A leaf that drops data's class alone: probes pass, so fared has nothing against the path; libfare's messages are not acknowledged
# there and arrive over the other plane, as fast as that one carries.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

printf 'servers: 2\nplanes: 2\nsub_ports: 1\nrate_mbps: 50\n' >"$SCRATCH/class.yaml"
farelab up "$SCRATCH/class.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
# IPv4's TOS is byte 15 of a frame: DSCP 26 is dropped (2, TC_ACT_SHOT)
for dev in s0g0s0 s1g0s0; do
	tc -n "fl-$LAB-l0" qdisc add dev $dev clsact &&
		tc -n "fl-$LAB-l0" filter add dev $dev ingress pref 1 bpf da bytecode \
			"5,48 0 0 15,84 0 0 252,21 0 1 104,6 0 0 2,6 0 0 4294967295" || fail "no filter"
done
"$FARE_BIN/farebench" run 5.1 --lab "$LAB" --trials 1 --even-busy --strategy fare-spray --param size=1M --param qps=8 \
	--param dst=s1 --json "$SCRATCH/kv.json" >"$SCRATCH/kv.log" 2>&1 || { tail -n 20 "$SCRATCH/kv.log"; fail "farebench run 5.1"; }
jq -r '.trials["5.1"][0] | "kv: \(.of_line * 10 | round / 10)% of two planes"' "$SCRATCH/kv.json"
jq_true '.trials["5.1"][0] | .of_line > 25 and .of_line < 55' "$SCRATCH/kv.json" >/dev/null || fail "not what one plane carries"
verdict=$("$FARE_BIN/farectl" -s "/run/farelab/$LAB/s0/fared" -j show paths 198.19.0.2 0 | jq -r '.paths[0].verdict')
[ "$verdict" = ok ] || fail "fared calls the path $verdict: probes have data's class"
[ "$(farelab counters "$LAB" --json | jq '[.hosts[].devices[].gray_drops] | add')" -gt 0 ] || fail "nothing was dropped"
exit 0
