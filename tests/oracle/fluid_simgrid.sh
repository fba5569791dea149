#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# usage: fluid_simgrid.sh [JSON]
# Solves all-to-all and KV on up to 64 GPUs with `farebench run fluid` and, flow by flow, with SimGrid; completion times,
# the last and each flow's own, must agree within 1e-5 of each other. 77: SimGrid is not there.
set -euo pipefail
bin=${FARE_BIN:?where farebench lies}
topologies=$(dirname "$0")/../../netns/topologies
limit=1e-5

[ -x "$bin/fluid_simgrid" ] || { echo "skipped: built without SimGrid (libsimgrid-dev)"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# An all-to-all of 64 GPUs at 1 and 4 QPs a pair by libfare's choice, at 1 by chance, where flows end at thousands
# of different times; fewer GPUs at 16; KV; servers of two GPUs on two planes.
solve() {
	local name=$1 file=$2 params=() word
	shift 2
	for word; do params+=(--param "$word"); done
	(cd "$topologies" && FAREBENCH_FLUID_DUMP=$dir/$file "$bin/farebench" run fluid --param topology="$name" "${params[@]}" --json "$dir/json")
}
solve 64x4x2.yaml 1 choice=fare qps=1,4 halve=3
solve 64x4x2.yaml 2 qps=1 choice=hash,weighted-hash halve=3
solve 64x4x2.yaml 3 gpus=16 qps=4,16 choice=fare,hash,weighted-hash halve=0
solve 64x4x2.yaml 4 pattern=kv qps=1,4,16 choice=fare,hash,weighted-hash halve=1
solve 2gpu-per-server.yaml 5 gpus=16 qps=1,4,16 choice=fare,hash
solve 64x4x2.yaml 6 gpus=32 qps=1,4 choice=fare,hash vary=90 halve=2
solve 64x4x2.yaml 7 pattern=kv qps=4 choice=fare,hash vary=50
"$bin/fluid_simgrid" "$limit" "${1:--}" "$dir"/[1-7]
