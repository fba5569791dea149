#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A seed is a run, bit for bit: in another process, after other seeds, and in the words of the trace.
set -eu
sim=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$sim" --schedules 200 --seed 1 --digest | grep -v schedules >"$dir/a"
"$sim" --schedules 200 --seed 1 --digest | grep -v schedules >"$dir/b"
cmp "$dir/a" "$dir/b"
[ "$(sort -u -k 2 "$dir/a" | wc -l)" -eq 200 ] || { echo "seeds repeat each other"; exit 1; }
"$sim" --schedules 1 --seed 150 --digest | grep -v schedules >"$dir/alone"
grep '^150 ' "$dir/a" | cmp - "$dir/alone"
"$sim" --schedules 1 --seed 150 --trace | grep ' ms ' >"$dir/trace-a"
"$sim" --schedules 1 --seed 150 --trace | grep ' ms ' >"$dir/trace-b"
cmp "$dir/trace-a" "$dir/trace-b"
[ -s "$dir/trace-a" ]
echo "200 schedules are the same twice"
