#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# stale_rounds.sh ROUNDS [EACH]: stale_write over devices, a guest of its own for every EACH (250) rounds, because rdma_rxe's kernel
# does not live through a thousand. Prints one document: {"stale": [one of each guest], "guests_lost": N}. A guest that dies
# of its own kernel has told nothing: its rounds are done again, in at most as many guests as were planned.
set -euo pipefail
rounds=$1 each=${2:-250}
here=$(dirname "${BASH_SOURCE[0]}")
lost=0 left=$rounds spare=$(((rounds + each - 1) / each))
results=()
said=$(mktemp)
trap 'rm -f "$said"' EXIT
while [ "$left" -gt 0 ]; do
	n=$((left < each ? left : each)) rc=0
	echo "stale_rounds: $((rounds - left)) of $rounds rounds done, the next $n" >&2
	bash "$here/run.sh" $((300 + 6 * n)) tests/vm/inside_bed.sh 2 2 "stale_write --rounds $n --patience 120" \
		>"$said" || rc=$?
	cat "$said" >&2
	[ "$rc" != 77 ] || exit 77
	line=$(grep -a '"stale"' "$said") || true
	if [ -n "$line" ]; then # whatever it says
		results+=("$line")
		left=$((left - n))
		continue
	fi
	lost=$((lost + 1))
	[ "$lost" -le "$spare" ] || { echo "stale_rounds: $lost guests died (the last: $rc); giving up" >&2; exit 1; }
done
printf '%s\n' "${results[@]}" | jq -cs --argjson lost "$lost" '{stale: map(.stale), guests_lost: $lost}'
