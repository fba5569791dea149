#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# FARE in SUN, Figure 1: 64 GPUs on four planes with two sub-ports each come up and converge.
. "$(dirname "$0")/lib.sh"

available_mb=$(awk '/MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)
[ "$available_mb" -ge 3000 ] || skip "136 daemons want 3 GB of memory, $available_mb MB are there"

start=$(date +%s%N)
farelab up "$TOPOLOGIES/64x4x2.yaml" --name "$LAB" --wait 180 || fail "not converged"
echo "up and converged in $((($(date +%s%N) - start) / 1000000)) ms"
bandwidths_are s0 198.19.0.64 65104 "250000 250000" || fail "s0 holds other bandwidths of s63"
reach s0 198.19.0.1 198.19.0.64 || fail "s0 does not reach s63"
farelab fail "$LAB" subport s63 3 1
within bandwidths_are s0 198.19.0.64 65104 "125000 125000" || fail "2 -> 1 not seen"
farelab fail "$LAB" leaf l0
farelab status "$LAB" --wait 180 || fail "not converged without a leaf"
farelab heal "$LAB" leaf l0
farelab heal "$LAB" subport s63 3 1
farelab status "$LAB" --wait 180 || fail "not converged after healing"
farelab down "$LAB" || fail "down"
gone "$LAB" || fail "down left something"
exit 0
