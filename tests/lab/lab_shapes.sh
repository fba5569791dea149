#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Other shapes of a fabric: one plane, two GPUs in a server, IPv6 beside IPv4, IPv6 alone.
. "$(dirname "$0")/lib.sh"

up() {
	farelab up "$TOPOLOGIES/$1.yaml" --name "$LAB" --wait $PATIENCE_S "${@:2}" || fail "$1: not converged"
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

# Without IPv4: no address of it but 127.0.0.1, no route, no session. Data, probes and the kernel's own routes by IPv6 alone.
up ipv6-only --fared "$FARE_BIN/fared"
for host in s0 s1 l0 l1; do
	[ -z "$(ip -4 -n "fl-$LAB-$host" -o addr show | grep -v ' lo .* 127.0.0.1/8 ')" ] || fail "ipv6-only: $host has an IPv4 address"
	[ -z "$(ip -4 -n "fl-$LAB-$host" route show)" ] || fail "ipv6-only: $host has IPv4 routes"
	grep -qE '198\.1[89]\.[0-9]+\.[0-9]+ peer-group|ipv4 unicast$' "/run/farelab/$LAB/$host/frr/bgpd.conf" && fail "ipv6-only: $host speaks IPv4"
done
bandwidths_are s0 2001:db8:19::2 65101 "250000 250000" || fail "ipv6-only: other bandwidths"
path() { "$FARE_BIN/farectl" -s "/run/farelab/$LAB/s0/fared" -j show paths 2001:db8:19::2 "$1" | jq -r '.paths[0] | "\(.verdict) \(.usable_bps) \(.probe.state)"'; }
path_is() { [ "$(path "$1")" = "$2" ]; }
for plane in 0 1; do within path_is $plane "ok 400000000 up" || fail "ipv6-only: plane $plane: $(path $plane)"; done
"$FARE_BIN/farebench" run 5.1 --lab "$LAB" --trials 1 --even-busy --strategy fare-spray,ecmp-stripe --param size=1M --param qps=8 --json "$SCRATCH/kv.json" >"$SCRATCH/kv.log" 2>&1 ||
	{ tail -n 20 "$SCRATCH/kv.log"; fail "ipv6-only: farebench run 5.1"; }
jq_true '.trials["5.1"] | length == 2 and all(.KV_xfer_bandwidth > 0 and .of_line < 105)' "$SCRATCH/kv.json" >/dev/null || fail "ipv6-only: no data"
farelab fail "$LAB" subport s1 0 0
within path_is 0 "ok 200000000 up" || fail "ipv6-only: 2 -> 1 not seen by fared: $(path 0)"
farelab fail "$LAB" leaf l1
within path_is 0 "ok 200000000 up" && farelab status "$LAB" --wait $PATIENCE_S || fail "ipv6-only: a failed leaf"
down ipv6-only
exit 0
