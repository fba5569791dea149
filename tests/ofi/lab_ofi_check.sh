#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libfabric's semantics (ofi_check): over Debian's tcp provider, which checks the test itself; over fare between two servers,
# and between two processes of one server. Then libfabric's own tools, fi_info and fi_pingpong; and what is said without a daemon.
. "$(dirname "$0")/lib.sh"

# check NAME PROVIDER SERVER CLIENT CASES [OPTION]: ofi_check at both, so many cases of which pass at least; SERVER and CLIENT
# are commands to run it by
check() {
	local name=$1 provider=$2 server=$3 client=$4 pid
	mkdir "$SCRATCH/$name"
	$server "$FARE_BIN/ofi_check" ${6:-} "$provider" serve "$SCRATCH/$name" >"$SCRATCH/$name.server" 2>&1 &
	pid=$!
	$client "$FARE_BIN/ofi_check" ${6:-} "$provider" ask "$SCRATCH/$name" >"$SCRATCH/$name.client" 2>&1 ||
		{ cat "$SCRATCH/$name".{server,client}; fail "$name"; }
	wait $pid || { cat "$SCRATCH/$name.server"; fail "$name, the server"; }
	[ "$(grep -c passed "$SCRATCH/$name.client")" -ge "$5" ] || { cat "$SCRATCH/$name.client"; fail "$name: cases are missing"; }
	echo "$name: $(grep -c passed "$SCRATCH/$name.client") cases passed"
}

FI_TCP_IFACE=lo check tcp "tcp;ofi_rxm" env env 29
lab_up "$TOPOLOGIES/2x2x2.yaml"
check fare-two-servers fare "at s0" "at s1" 40
check fare-two-servers-scalable fare "at s0" "at s1" 43 -s
check fare-one-server fare "at s0" "at s0" 40
check fare-one-server-scalable fare "at s0" "at s0" 43 -s

mkdir "$SCRATCH/lost"
at s0 "$FARE_BIN/ofi_check" fare serve "$SCRATCH/lost" lost >/dev/null 2>&1 &
FI_FARE_DEADLINE_MS=2000 at s1 "$FARE_BIN/ofi_check" fare ask "$SCRATCH/lost" lost || fail "a peer that was killed"
mkdir "$SCRATCH/lost-for-ever"
at s0 "$FARE_BIN/ofi_check" fare serve "$SCRATCH/lost-for-ever" lost >/dev/null 2>&1 &
FI_FARE_LINGER_MS=700 at s1 "$FARE_BIN/ofi_check" fare ask "$SCRATCH/lost-for-ever" lost || fail "a peer that was killed, without a deadline"

at s0 fi_info -p fare >"$SCRATCH/info" || fail "fi_info"
grep -q 'domain: fare0' "$SCRATCH/info" || { cat "$SCRATCH/info"; fail "fi_info shows no domain"; }
# the speed is that of the live planes
shows_speed() { at s0 fi_info -p fare -v | grep -q "speed: $1\$"; }
shows_speed 800000000 || fail "fi_info shows another speed"
farelab fail "$LAB" plane s0 1 || fail "fail plane"
within shows_speed 400000000 || fail "fi_info shows another speed with a plane lost"
within farelab heal "$LAB" plane s0 1 || fail "heal plane"
within shows_speed 800000000 || fail "fi_info shows another speed when the plane is back"
FARE_RUN_DIR=$SCRATCH/none FI_LOG_LEVEL=info fi_info -p fare >"$SCRATCH/none.out" 2>&1 && fail "fi_info finds something without a daemon"
grep -q "no fared to attach to in $SCRATCH/none" "$SCRATCH/none.out" || fail "nothing is said without a daemon"

# a program that exits without closing a domain: libfabric unloads its providers, and the domain's thread must not lose its code
readelf -d "$FI_PROVIDER_PATH/libfare-fi.so" | grep -q NODELETE || fail "libfare-fi.so can be unloaded under its thread"

for mode in msg tagged; do
	at s1 fi_pingpong -p fare -e rdm -c -I 20 -S all -m $mode >"$SCRATCH/pong" 2>&1 &
	pong=$!
	within at s0 fi_pingpong -p fare -e rdm -c -I 20 -S all -m $mode 10.99.0.2 >"$SCRATCH/ping" 2>&1 || { cat "$SCRATCH"/p[io]ng; fail "fi_pingpong, $mode"; }
	wait $pong || { cat "$SCRATCH/pong"; fail "fi_pingpong, the server, $mode"; }
	grep -qE '^6m +20 ' "$SCRATCH/ping" || { cat "$SCRATCH/ping"; fail "fi_pingpong, $mode: no row of 6 MB"; }
done
exit 0
