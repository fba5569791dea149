#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# many_groups_table.sh FILE [GROUPS...]: many_groups with so many groups (1 64 256 1023), a peer for each, in four processes. One
# document into FILE: {"many_groups": [one of each]}.
set -euo pipefail
out=$1
shift
[ $# -gt 0 ] || set -- 1 64 256 1023
each=$(mktemp -d)
trap 'rm -rf "$each"' EXIT
for n in "$@"; do
	echo "many_groups: $n groups" >&2
	"$FARE_BIN/many_groups" --groups "$n" --peers "$n" --processes 4 --settle-s 12 --json "$each/$(printf %05d "$n").json" >&2
done
jq -cs '{many_groups: map(.many_groups)}' "$each"/*.json >"$out"
