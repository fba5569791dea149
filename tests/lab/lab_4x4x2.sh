#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The demonstration's fabric comes up, converges, says so, carries packets, and goes without a trace.
. "$(dirname "$0")/lib.sh"

start=$(date +%s%N)
farelab up "$TOPOLOGIES/4x4x2.yaml" --name "$LAB" --wait $PATIENCE_S || fail "not converged"
echo "up and converged in $((($(date +%s%N) - start) / 1000000)) ms"

json=$(farelab status "$LAB" --json) || fail "status --json"
[[ $json = *'"converged":true,"why":null'* ]] || fail "status does not say converged: ${json:0:200}"
[ "$(grep -o '"dev":' <<<"$json" | wc -l)" = 32 ] || fail "status lists other than 32 sub-ports"
[ "$(grep -o '"up":true,"gray' <<<"$json" | wc -l)" = 32 ] || fail "some sub-port is not up"
[ "$(grep -o '"rate_bps":200000000' <<<"$json" | wc -l)" = 32 ] || fail "some rate is not 200 Mbit/s"

for i in 2 3 4; do
	reach s0 198.19.0.1 198.19.0.$i || fail "s0 does not reach 198.19.0.$i"
done
for as in 65101 65102 65103 65104; do
	bandwidths_are s0 198.19.0.4 $as "250000 250000" || fail "s0 holds other bandwidths over $as"
done

# Every host has a hash seed of its own, or GPUs and leaves polarise.
seeds=$(for ns in $(ip netns list | grep -o "^fl-$LAB-[a-z0-9]*"); do
	ip netns exec "$ns" cat /proc/sys/net/ipv4/fib_multipath_hash_seed
done | sort -u | wc -l)
[ "$seeds" = 8 ] || fail "$seeds different hash seeds on 8 hosts"
shaped l0 s0g0s0 200Mbit || fail "the leaf's end is not shaped"
shaped s0 g0p0s0 200Mbit || fail "the server's end is not shaped"
grep -q 'bandwidth_scale: 200' "/run/farelab/$LAB/s0/fared.yaml" || fail "fared.yaml has another scale"

# What a program of its own session runs inside is gone with the lab, too.
farelab exec "$LAB" s0 -- setsid sleep "987.$$" & # like no other's on this machine
within pgrep -fx "sleep 987.$$" >/dev/null || fail "exec ran nothing"
farelab down "$LAB" || fail "down"
gone "$LAB" || fail "down left something"
pgrep -fx "sleep 987.$$" >/dev/null && fail "a process outlived its namespace"
farelab down "$LAB" 2>/dev/null && fail "down of what is not there succeeded"
exit 0
