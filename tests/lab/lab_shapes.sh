#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Other shapes of a fabric: one plane, two GPUs in a server, IPv6 beside IPv4.
. "$(dirname "$0")/lib.sh"

up() {
	farelab up "$TOPOLOGIES/$1.yaml" --name "$LAB" --wait $PATIENCE_S || fail "$1: not converged"
}
down() {
	farelab down "$LAB" && gone "$LAB" || fail "$1: down"
}

up 1-plane
reach s0 198.19.0.1 198.19.0.3 || fail "1-plane: no packets"
farelab fail "$LAB" subport s2 0 1
within bandwidths_are s0 198.19.0.3 65101 "125000 125000" || fail "1-plane: 2 -> 1 not seen"
down 1-plane

# Each GPU's loopback is known over its own sub-ports only.
up 2gpu-per-server
reach s0 198.19.0.1 198.19.0.3 || fail "2gpu: g0 to g0"
reach s0 198.19.0.2 198.19.0.4 || fail "2gpu: g1 to g1"
farelab vtysh "$LAB" l0 -- -c "show bgp ipv4 unicast 198.19.0.4 json" | tr -d ' \n' >"$SCRATCH/l0"
[ "$(grep -o '"peerId":"[^"]*"' "$SCRATCH/l0" | sort | xargs)" = "peerId:198.18.0.25 peerId:198.18.0.27" ] ||
	fail "2gpu: s1/g1 is advertised elsewhere than on its own sub-ports: $(grep -o '"peerId":"[^"]*"' "$SCRATCH/l0" | xargs)"
farelab fail "$LAB" plane s1/g1 0
within bandwidths_are s0 198.19.0.4 65101 "" || fail "2gpu: s1/g1 is still on plane 0"
bandwidths_are s0 198.19.0.3 65101 "250000 250000 250000 250000" || fail "2gpu: s1/g0 went as well"
[ "$(grep -c 'name: g' "/run/farelab/$LAB/s0/fared.yaml")" = 2 ] || fail "2gpu: fared.yaml lacks a GPU"
down 2gpu-per-server

up ipv6
reach s0 2001:db8:19::1 2001:db8:19::2 || fail "ipv6: no packets"
reach s0 198.19.0.1 198.19.0.2 || fail "ipv6: no IPv4 packets"
bandwidths_are s0 2001:db8:19::2 65101 "250000 250000" || fail "ipv6: other bandwidths"
farelab fail "$LAB" subport s1 0 0
within bandwidths_are s0 2001:db8:19::2 65101 "125000 125000" || fail "ipv6: 2 -> 1 not seen"
farelab heal "$LAB" subport s1 0 0
within bandwidths_are s0 2001:db8:19::2 65101 "250000 250000" || fail "ipv6: 1 -> 2 not seen"
farelab status "$LAB" --wait $PATIENCE_S || fail "ipv6: not converged after healing"
down ipv6
exit 0
