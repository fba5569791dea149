#!/usr/bin/env bash
# What farebench says of a small fabric is true at the edges too: of messages that are large against the time measured.
# A loaded machine can take goodput away, never add to it, so the lower bounds are wide.
. "$(dirname "$0")/lib.sh"

# kv NAME ARGUMENT...: one repetition of fare-spray, results in $SCRATCH/NAME.json
kv() {
	"$FARE_BIN/farebench" kv --lab "$LAB" --n 1 --strategy fare-spray --json "$SCRATCH/$1.json" "${@:2}" \
		>"$SCRATCH/$1.log" 2>&1 || { tail -n 40 "$SCRATCH/$1.log"; fail "farebench kv ${*:2}"; }
}

# ratio NAME: within what a fabric can carry
ratio() {
	jq -r '.runs[] | "kv of \(.size_bytes) bytes: \(.ratio * 1000 | round / 10)% of optimum"' "$SCRATCH/$1.json"
	jq -e '.runs | length == 1 and all(.ratio > 0.5 and .ratio < 1.05)' "$SCRATCH/$1.json" >/dev/null ||
		fail "large messages count as more or less than what was moved"
}

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" || fail "no lab"

# eight under way take 2.6 s, and end together
kv eight --size 32M --timeline
ratio eight
jq -e '(.timeline_bps[0] | add / length) / .runs[0].goodput_bps | . > 0.99 and . < 1.01' "$SCRATCH/eight.json" \
	>/dev/null ||
	fail "the timeline tells of another goodput than the run"
# the first one ends long after the time measured
kv two --size 256M --depth 2
ratio two
