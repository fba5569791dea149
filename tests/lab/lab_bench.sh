#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What farebench says of a small fabric is true at the edges too: of messages that are large against the time measured.
# A loaded machine can take goodput away, never add to it: there are upper bounds, and how much it is, is for ./fare check.
. "$(dirname "$0")/lib.sh"

# kv NAME ARGUMENT...: one repetition of fare-spray, results in $SCRATCH/NAME.json
kv() {
	"$FARE_BIN/farebench" kv --lab "$LAB" --n 1 --strategy fare-spray --json "$SCRATCH/$1.json" "${@:2}" \
		>"$SCRATCH/$1.log" 2>&1 || { tail -n 40 "$SCRATCH/$1.log"; fail "farebench kv ${*:2}"; }
}

# ratio NAME: no more than what a fabric can carry, and something though no message may have ended in the time measured
ratio() {
	jq -r '.runs[] | "kv of \(.size_bytes) bytes: \(.ratio * 1000 | round / 10)% of optimum"' "$SCRATCH/$1.json"
	jq -e '.runs | length == 1 and all(.ratio > 0 and .ratio < 1.05)' "$SCRATCH/$1.json" >/dev/null ||
		fail "large messages count as more or less than what was moved"
}

# same_goodput NAME: the timeline tells of what the run does, whatever the machine made of it
same_goodput() {
	jq -e '(.timeline_bps[0] | add / length) / .runs[0].goodput_bps | . > 0.99 and . < 1.01' "$SCRATCH/$1.json" \
		>/dev/null || fail "the timeline tells of another goodput than the run"
}

# misspelt NAMES COMMAND...: refused as wrong usage, with the names there are, and nothing is written
misspelt() {
	"$FARE_BIN/farebench" "${@:2}" --json "$SCRATCH/misspelt.json" >"$SCRATCH/misspelt.log" 2>&1
	[ $? = 2 ] || fail "farebench ${*:2}: not refused"
	grep -qE "there are .*$1" "$SCRATCH/misspelt.log" || fail "farebench ${*:2}: does not say what there is"
	[ ! -e "$SCRATCH/misspelt.json" ] || fail "farebench ${*:2}: wrote a document"
}

misspelt "healthy, .*chaos" demo --lab none --scenario helthy
misspelt "leaf-gray, " failover --lab none --scenario leaf-gary
misspelt "kv, ep" failover --lab none --traffic kv,pe
misspelt "fare-spray" kv --lab none --strategy spray
misspelt "pick, publish" sched --only pikc
misspelt "fare-conn" sched --tables abls
misspelt "goodput, " transport --only goodptu
misspelt "soft, " transport --methods sotf
misspelt "fare, hash" fluid "$TOPOLOGIES/2x2x2.yaml" --choice hsah
misspelt "cost, most, bfdd" probes --only coast

# stands_on FILE: a document says what is real, what is emulated, and where it was observed
stands_on() {
	jq -e '.environment | [.real, .emulated, .observation_point, .kernel, .command]
		| all(type == "string" and . != "")' "$1" >/dev/null || fail "$1 does not say what its figures stand on"
}

"$FARE_BIN/farebench" converge --topology "$TOPOLOGIES/2x2x2.yaml" --trials 1 --json "$SCRATCH/converge.json" ||
	fail "farebench converge"
stands_on "$SCRATCH/converge.json"

# a lab without daemons is no lab for traffic, and what to do about it is said
farelab run "$TOPOLOGIES/2x2x2.yaml" --name "${LAB}a" -- "$FARE_BIN/farebench" kv >"$SCRATCH/bare.log" 2>&1
[ $? = 1 ] || fail "kv runs in a lab without fared"
grep -q "bring the lab up with --fared" "$SCRATCH/bare.log" || { cat "$SCRATCH/bare.log"; fail "no word of --fared"; }

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" || fail "no lab"

# the README's way to check a configuration, with one that farelab wrote
check=$(grep -o 'fared --check-config --config.*' "$TOPOLOGIES/../../README.md")
"$FARE_BIN"/${check//etc\/fared\/fared.yaml//run/farelab/$LAB/s0/fared.yaml} || fail "README: $check"

"$FARE_BIN/farebench" probes --lab "$LAB" --calm 1 --json "$SCRATCH/calm.json" || fail "farebench probes --calm"
stands_on "$SCRATCH/calm.json"

# eight under way take 2.6 s, and end together
kv eight --size 32M --timeline
ratio eight
same_goodput eight
# the first one ends long after the time measured
kv two --size 256M --depth 2 --timeline
ratio two
same_goodput two
stands_on "$SCRATCH/two.json"
