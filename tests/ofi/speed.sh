#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Tagged messages of libfabric between two servers of the lab $FARELAB_NAME, over fare and over libfabric's tcp in turn.
#
#   speed.sh OUT --n N [OPERATION:BYTES...]
#
# OUT: JSON, a line for each operation and size: the medians of both over N pairs of runs, and fare's over tcp's: median, lowest and
# highest of the pairs. Latency in us (half a round trip, less is better), bandwidth in Gb/s. FARE_BIN: the directory of the built
# programs; FI_PROVIDER_PATH: that of libfare-fi.so.
set -euo pipefail
[ $# -ge 3 ] && [ "$2" = --n ] || { echo "usage: speed.sh OUT --n N [OPERATION:BYTES...]" >&2; exit 2; }
out=$1 n=$3 lab=$FARELAB_NAME
shift 3
[ $# -gt 0 ] || set -- latency:8 latency:4096 latency:16384 latency:65536 bandwidth:65536 bandwidth:1048576
bin=${FARE_BIN:-$(dirname "$(command -v farebench)")}
export FI_PROVIDER_PATH=${FI_PROVIDER_PATH:-$(readlink -f "$bin/../sched")} FARE_TRUSTED_NETWORK=1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# how many rounds take about a third of a second
count() {
	case $1 in
	latency) echo $((200000000 / ($2 + 30000))) ;;
	*) echo $((60000000 / ($2 + 100000))) ;;
	esac
}

# rank RANK PROVIDER OPERATION BYTES: each on a core of its own
rank() {
	local address=
	[ "$2" = fare ] || address=$("$bin/farelab" exec "$lab" "s$1" -- ip -4 -o addr show lo | awk '$4 !~ /^127/ {sub("/.*", "", $4); print $4; exit}')
	FARE_RUN_DIR=/run/farelab/$lab/s$1/fared "$bin/farelab" exec "$lab" "s$1" -- \
		taskset -c "$1" "$bin/ofi_speed" "$dir/meet" "$1" "$2" "$address" "$3" "$4" "$(count "$3" "$4")"
}

# one PROVIDER OPERATION BYTES
one() {
	rm -rf "$dir/meet"
	mkdir "$dir/meet"
	rank 1 "$@" &
	rank 0 "$@" >>"$dir/rows"
	wait $!
}

for ((i = 0; i < n; i++)); do
	for point in "$@"; do
		for provider in fare "tcp;ofi_rxm"; do
			one "$provider" "${point%:*}" "${point#*:}"
		done
	done
done
jq -s 'def median: sort | .[length / 2 | floor];
	{ofi_speed: (group_by([.operation, .bytes]) | map((map(select(.provider == "fare"))) as $f | (map(select(.provider != "fare"))) as $t
		| [$f, $t | map(.value)] as [$a, $b] | [range($a | length)] | map($a[.] / $b[.]) as $r
		| {operation: $f[0].operation, bytes: $f[0].bytes, n: ($r | length), fare: ($a | median), tcp: ($b | median),
		   over_tcp: ($r | median), lowest: ($r | min), highest: ($r | max)}))}' "$dir/rows" >"$out"
