#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A seed is a run, bit for bit: in another process, after other seeds, and in the words of the trace.
set -eu
sim=$1 n=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$sim" --schedules "$n" --seed 1 --digest | grep -E '^[0-9]+ [0-9a-f]{16}$' >"$dir/a"
"$sim" --schedules "$n" --seed 1 --digest | grep -E '^[0-9]+ [0-9a-f]{16}$' >"$dir/b"
cmp "$dir/a" "$dir/b"
[ "$(sort -u -k 2 "$dir/a" | wc -l)" -eq "$n" ] || { echo "seeds repeat each other"; exit 1; }
"$sim" --schedules 1 --seed "$n" --digest | grep -E '^[0-9]+ [0-9a-f]{16}$' >"$dir/alone"
grep "^$n " "$dir/a" | cmp - "$dir/alone"
"$sim" --schedules 1 --seed "$n" --trace | grep ' ms ' >"$dir/trace-a"
"$sim" --schedules 1 --seed "$n" --trace | grep ' ms ' >"$dir/trace-b"
cmp "$dir/trace-a" "$dir/trace-b"
[ -s "$dir/trace-a" ]
echo "$n schedules are the same twice"
