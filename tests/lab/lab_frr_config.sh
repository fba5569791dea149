#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The bgpd.conf that fared prints for an operator is the one that the lab's routers run with, to the byte: on a server and on a
# leaf, of both families and with several GPUs a server. FRR takes every line of it.
. "$(dirname "$0")/lib.sh"

as_of() { awk '/^router bgp/ { print $3 }' "$1"; }
id_of() { awk '/bgp router-id/ { print $3 }' "$1"; }
neighbors_of() { awk '/^ neighbor .* peer-group / { print $2 }' "$1" | paste -sd,; }
printed() { "$FARE_BIN/fared" --print-frr-config "$@"; }

for topology in ipv6 2gpu-per-server ipv6-only; do
	farelab up "$TOPOLOGIES/$topology.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "$topology: not converged"
	run=/run/farelab/$LAB
	server=$run/s1/frr/bgpd.conf leaf=$run/l1/frr/bgpd.conf
	printed --config "$run/s1/fared.yaml" --as "$(as_of "$server")" --router-id "$(id_of "$server")" | diff - "$server" || fail "$topology: a server's is another"
	printed --config "$run/s1/fared.yaml" --as "$(as_of "$leaf")" --router-id "$(id_of "$leaf")" --leaf "$(neighbors_of "$leaf")" |
		diff - "$leaf" || fail "$topology: a leaf's is another"
	printed --config "$run/s1/fared.yaml" --zebra | diff - "$run/s1/frr/zebra.conf" || fail "$topology: zebra's is another"
	# bgpd logs a line that it does not take, with its number
	grep -ihE 'unknown command|error occurred|% ' "$run"/s1/bgpd.log "$run"/l1/bgpd.log "$run"/s1/zebra.log && fail "$topology: FRR refuses a line"
	cp "$run/s1/fared.yaml" "$SCRATCH/s1.yaml"
	farelab down "$LAB" || fail "down"
done

for wrong in "" "--as 0" "--as 4294967296" "--as 65000x" "--as 1 --leaf 198.18.0.1" "--as 1 --router-id 1 --leaf 198.18.0.1" \
	"--as 1 --router-id 1.2.3.4 --leaf 198.18.0.1,,198.18.0.3" "--as 1 --router-id 1.2.3.4 --leaf ,"; do
	said=$(printed --config "$SCRATCH/s1.yaml" $wrong 2>&1 >"$SCRATCH/out")
	[ $? = 2 ] && [ ! -s "$SCRATCH/out" ] && [ -n "$said" ] || fail "'$wrong' is not refused: $said"
done
exit 0
