#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Labs side by side do not touch each other; what is refused leaves nothing.
. "$(dirname "$0")/lib.sh"

# One's name starts with the other's: the prefix must not be enough.
farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --wait $PATIENCE_S &
first=$!
farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB-x" --wait $PATIENCE_S || fail "second lab"
trap 'farelab down "$LAB-x" 2>/dev/null; on_exit' EXIT
wait $first || fail "first lab"
farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" 2>"$SCRATCH/error" && fail "a name was taken twice"
grep -q 'already' "$SCRATCH/error" || fail "no word of the name being taken"
farelab status "$LAB" || fail "the refused second 'up' hurt the first lab"
farelab fail "$LAB" leaf l0 || fail "fail leaf"
farelab status "$LAB-x" || fail "a fault in one lab shows in the other"
farelab down "$LAB" || fail "down"
gone "$LAB" || fail "down left something"
farelab status "$LAB-x" || fail "down of one lab hurt the other"
farelab down "$LAB-x" || fail "down"

printf 'servers: 2\nplanes: 2\nsub_ports: none\n' >"$SCRATCH/bad.yaml"
farelab up "$SCRATCH/bad.yaml" --name "$LAB" 2>"$SCRATCH/error" && fail "a bad topology came up"
grep -q "bad.yaml:3: sub_ports" "$SCRATCH/error" || fail "file, line and key are not named: $(cat "$SCRATCH/error")"
farelab up "$TOPOLOGIES/2x2x2.yaml" --name 'A/b' 2>/dev/null && fail "a bad name was taken"
farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared /nonexistent 2>/dev/null && fail "a missing fared was taken"
farelab up "$SCRATCH/absent.yaml" --name "$LAB" 2>/dev/null && fail "an absent topology came up"
gone "$LAB" && [ ! -e "/run/farelab/.locks/$LAB" ] || fail "a refusal left something"

# An error half-way: a namespace of that name is in the way.
ip netns add "fl-$LAB-l1"
farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" 2>"$SCRATCH/error" && fail "came up over a namespace of somebody's"
gone "$LAB" || fail "an error half-way left something"

# Interrupted while it is built (a tenth of a second in, or before, or after: either whole or not there).
for pause in 0.02 0.05 0.1 0.2; do
	"$FARELAB" up "$TOPOLOGIES/4x4x2.yaml" --name "$LAB" 2>/dev/null &
	up=$!
	sleep $pause
	kill -TERM $up 2>/dev/null
	if wait $up; then
		farelab status "$LAB" --wait $PATIENCE_S 2>/dev/null || fail "said to be up after SIGTERM, and is not"
		farelab down "$LAB"
	fi
	gone "$LAB" || fail "SIGTERM after $pause s of building left something"
done
exit 0
