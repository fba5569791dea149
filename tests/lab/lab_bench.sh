#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What farebench says of a small fabric is true at the edges too: of messages that are large against the time measured.
# A loaded machine can take goodput away, never add to it: there are upper bounds, and how much it is, is for ./fare check.
. "$(dirname "$0")/lib.sh"

# kv NAME ARGUMENT...: one repetition of fare-spray, results in $SCRATCH/NAME.json
kv() {
	"$FARE_BIN/farebench" run 5.1 --lab "$LAB" --trials 1 --strategy fare-spray --param qps=8 --json "$SCRATCH/$1.json" "${@:2}" \
		--even-busy >"$SCRATCH/$1.log" 2>&1 || { tail -n 40 "$SCRATCH/$1.log"; fail "farebench run 5.1 ${*:2}"; }
}

# ratio NAME: no more than what a fabric can carry, and something though no message may have ended in the time measured
ratio() {
	jq -r '.trials["5.1"][] | "kv of \(.size): \(.of_line * 10 | round / 10)% of the line"' "$SCRATCH/$1.json"
	jq_true '.trials["5.1"] | length == 1 and all(.of_line > 0 and .of_line < 105)' "$SCRATCH/$1.json" >/dev/null ||
		fail "large messages count as more or less than what was moved"
}

# misspelt NAMES COMMAND...: refused as wrong usage, with the names there are, and nothing is written
misspelt() {
	"$FARE_BIN/farebench" "${@:2}" --json "$SCRATCH/misspelt.json" >"$SCRATCH/misspelt.log" 2>&1
	[ $? = 2 ] || fail "farebench ${*:2}: not refused"
	grep -qE "there are .*$1" "$SCRATCH/misspelt.log" || fail "farebench ${*:2}: does not say what there is"
	[ ! -e "$SCRATCH/misspelt.json" ] || fail "farebench ${*:2}: wrote a document"
}

misspelt "healthy, .*chaos" demo --lab none --scenario helthy
misspelt "leaf-gray," run failover --lab none --param scenario=leaf-gary
misspelt "kv,ep" run failover --lab none --param traffic=kv,pe
misspelt "fare-spray" run 5.1 --lab none --strategy spray
misspelt "fare,absl" run sched-lookup --param table=abls
misspelt "soft," run transport-goodput --param method=sotf
misspelt "fare,hash" run fluid --param choice=hsah

# stands_on FILE NAME...: a document has these lines of what its figures stand on
stands_on() {
	local name
	for name in "${@:2}"; do
		jq_true --arg name "$name" 'any(.run.tables[].rows[]; .[0] == $name and .[1] != "")' "$1" >/dev/null ||
			fail "$1 does not say: $name"
	done
}

cd "$TOPOLOGIES" || fail "no $TOPOLOGIES"
"$FARE_BIN/farebench" run converge --param topology=2x2x2.yaml --trials 1 --json "$SCRATCH/converge.json" ||
	fail "farebench run converge"
stands_on "$SCRATCH/converge.json" Command Kernel Processor
jq_true '.trials.converge[0].converged > 0' "$SCRATCH/converge.json" >/dev/null || fail "no time to converge"

# WRITE, READ and SEND over one QP of the soft provider: every byte of each is compared by who holds the copies
"$FARE_BIN/farebench" run transport-goodput --param method=soft,soft-read,soft-send --param bytes=1K,1M --trials 1 --even-busy \
	--json "$SCRATCH/verbs.json" >"$SCRATCH/verbs.log" 2>&1 || { tail "$SCRATCH/verbs.log"; fail "farebench run transport-goodput"; }
jq_true '.trials["transport-goodput"] | length == 6 and all(.goodput > 0)' "$SCRATCH/verbs.json" >/dev/null || fail "a verb moved nothing"

# a lab without daemons is no lab for traffic, and what to do about it is said
farelab run "$TOPOLOGIES/2x2x2.yaml" --name "${LAB}a" -- "$FARE_BIN/farebench" run 5.1 --json "$SCRATCH/bare.json" \
	>"$SCRATCH/bare.log" 2>&1
[ $? = 1 ] || fail "5.1 runs in a lab without fared"
grep -q "bring the lab up with --fared" "$SCRATCH/bare.log" || { cat "$SCRATCH/bare.log"; fail "no word of --fared"; }

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" || fail "no lab"

# the README's way to check a configuration, with one that farelab wrote
check=$(grep -o 'fared --check-config --config.*' "$TOPOLOGIES/../../README.md")
"$FARE_BIN"/${check//etc\/fared\/fared.yaml//run/farelab/$LAB/s0/fared.yaml} || fail "README: $check"

"$FARE_BIN/farebench" run probes-false-downs --lab "$LAB" --param seconds=1 --json "$SCRATCH/false.json" || fail "farebench run probes-false-downs"
jq_true '.trials["probes-false-downs"][0] | .probes > 0 and .runs > 0' "$SCRATCH/false.json" >/dev/null || fail "probes-false-downs counts nothing"

# those under way take longer than the time measured, and end together
kv eight --param size=32M
ratio eight
# the first one ends long after it
kv two --param size=256M
ratio two
stands_on "$SCRATCH/two.json" Real Emulated "Link speed" Command Kernel
