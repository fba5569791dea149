#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# soft_perf.sh - throughput, latency and loss recovery of the soft provider between two
# namespaces of this machine. A measurement, not a test. Absolute figures are the machine's;
# nothing here is a NIC.
set -u
cd "$(dirname "$0")" || exit 1
. ./soft_net.sh
[ "$(id -u)" = 0 ] || { echo "skipped: needs root for network namespaces"; exit 77; }
seconds=${1:-3}
: "${FARE_BIN:?where soft_perf is}"
p=sp$$
trap 'soft_net_down $p' EXIT
soft_net_up $p 4200 || exit 1

run() {
	echo "+ soft_perf $*"
	timeout 120 "$FARE_BIN/soft_perf" "$@" $p-a $p-b 198.19.0.1 198.19.0.2
}
run -t "$seconds" -w 1048576
run -m read -t "$seconds" -w 1048576
run -t "$seconds" -q 8 -u 2
run -t "$seconds" -q 8 -u 2 -s 61440
run -m lat -s 64 -t 3
run -m lat -s 64 -t 1 -B
echo "# each direction shaped to 200 Mb/s; the limit holds less than the windows, so that it drops"
for ns in a b; do
	for i in 0 1; do
		ip netns exec $p-$ns tc qdisc add dev s$i root handle 1: \
			tbf rate 200mbit burst 131072 limit 262144
	done
done
run -t "$seconds" -q 2 -u 2 -s 262144 -B
run -t "$seconds" -q 8 -u 2 -s 262144 -B
