#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Latency and bandwidth of MPI between two servers of the lab $FARELAB_NAME, over fare and over libfabric's tcp in turn.
#
#   two_ranks.sh OUT --n N
#
# OUT: JSON, a line of medians for each transport and size: half round trips in us (operation latency), Gb/s of 64 messages at
# once (operation bandwidth), with the lowest and the highest of N runs.
set -euo pipefail
[ $# -eq 3 ] && [ "$2" = --n ] || { echo "usage: two_ranks.sh OUT --n N" >&2; exit 2; }
out=$1 n=$3
bin=${FARE_BIN:-$(dirname "$(command -v farebench)")}
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

# one TRANSPORT OPERATION BYTES
one() {
	"$bin/farelab-mpi" run "$FARELAB_NAME" "$1" 2 -- "$bin/fare-mpi-coll" "$2" "$3" 1 |
		jq -ce --arg transport "$1" 'select(.event == "answer") | (.took_ns | sort | .[length / 2 | floor]) as $t
			| {transport: $transport, operation, bytes, value: (if .operation == "latency" then $t / 200e3 else .bytes * 512 / $t end)}' >>"$rows"
}

for ((i = 0; i < n; i++)); do
	for point in latency:8 latency:4096 latency:16384 bandwidth:65536 bandwidth:1048576; do
		for transport in fare ofi-tcp; do
			one $transport "${point%:*}" "${point#*:}"
		done
	done
done
jq -s '{mpi: (group_by([.operation, .bytes, .transport]) | map((map(.value) | sort) as $v
	| .[0] + {n: ($v | length), value: $v[($v | length) / 2 | floor], min: $v[0], max: $v[-1]}))}' "$rows" >"$out"
