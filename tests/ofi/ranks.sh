#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# N processes of ofi_ranks on the servers of the lab $FARELAB_NAME in turn; what they cost, as JSON in OUT.
#
#   ranks.sh N COMPUTE_S OUT
#
# FARE_BIN: the directory of the built programs; FI_PROVIDER_PATH: that of libfare-fi.so. Exit status 0: every byte was right.
set -u
[ $# = 3 ] || { echo "usage: ranks.sh N COMPUTE_S OUT" >&2; exit 2; }
lab=$FARELAB_NAME n=$1 compute_s=$2 out=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export FI_PROVIDER_PATH=${FI_PROVIDER_PATH:-$(readlink -f "$FARE_BIN/../sched")} FARE_TRUSTED_NETWORK=1
servers=$(ls -d "/run/farelab/$lab"/s[0-9]* | wc -l)
[ "$servers" -gt 0 ] || { echo "no such lab: $lab" >&2; exit 1; }

pids=()
for ((i = n - 1; i >= 0; i--)); do
	server=s$((i % servers))
	FARE_RUN_DIR=/run/farelab/$lab/$server/fared "$FARE_BIN/farelab" exec "$lab" $server -- \
		"$FARE_BIN/ofi_ranks" "$dir" "$i" "$n" "$compute_s" >>"$dir/out" 2>&1 &
	pids+=($!)
done
status=0
for pid in "${pids[@]}"; do
	wait "$pid" || status=1
done
[ $status = 0 ] && grep '^{' "$dir/out" >"$out" || { tail -20 "$dir/out" >&2; exit 1; }
