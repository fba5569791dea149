#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The whole path, as the demo runs it, for one fault: a lost sub-port is learned by BGP, the weight halves for that one pair and
# plane, traffic follows, every byte is verified; then daemons are killed in mid-transfer. The bounds on goodput are wide, and a
# loaded machine gets three attempts at them, for all it can do is take goodput away; whatever must hold at any speed (every byte,
# no message lost) is asked of each attempt. The promised figures are those of docs/figures.yaml.
. "$(dirname "$0")/lib.sh"

SOURCE=${FARE_SOURCE_DIR:?the source tree}
ATTEMPTS=3

# scenario NAME [OPTION...]: the demo of that one in a lab of its own, results in $SCRATCH/NAME.json
scenario() {
	farelab run "$SOURCE/netns/topologies/4x4x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" -- \
		"$FARE_BIN/farebench" demo --quick --scenario "$@" --json "$SCRATCH/$1.json" >"$SCRATCH/$1.log" 2>&1 ||
		{ tail -n 40 "$SCRATCH/$1.log"; fail "farebench demo --scenario $1"; }
}

# of NAME FILTER: what the filter says of that scenario's results; fails where it says false
of() {
	jq -er "$2" "$SCRATCH/$1.json"
}

# too_slow: prints each bound on goodput that is not met; fails where all are
too_slow() {
	of sub-port-lost '[.runs[] | select(.test == "kv") | {key: .strategy, value: .ratio}] | from_entries as $kv
		| ("fare-flow", "fare-spray") | . as $s
		| (if $kv[.] < 0.85 then "kv \($s) does not reach 85% of optimum" else empty end),
		  (if $kv[.] <= $kv.ecmp then "kv \($s) is not ahead of ecmp" else empty end)'
}

for ((attempt = 1; attempt <= ATTEMPTS; attempt++)); do
	scenario sub-port-lost
	of sub-port-lost '.runs[] | "\(.test) \(.strategy) \(.ratio * 1000 | round / 10)% of optimum, \(.stolen_percent | round)% stolen"'
	of sub-port-lost '.runs | length == 8' >/dev/null || fail "eight measurements"
	unmet=$(too_slow) || break
	echo "attempt $attempt: ${unmet//$'\n'/; }"
	[ "$attempt" -lt "$ATTEMPTS" ] || fail "$unmet"
done

scenario chaos --n 2
of chaos '.chaos[] | "chaos: \(.messages_lost) lost, longest gap \(.longest_gap_ms) ms"'
of chaos '.chaos | length == 2' >/dev/null || fail "daemons are killed as often as --n says"
of chaos 'has("idle_cpu_percent") | not' >/dev/null || fail "idle time of a run that was none"
of chaos 'all(.chaos[]; .messages_lost == 0)' >/dev/null || fail "nothing lost while daemons were killed"
