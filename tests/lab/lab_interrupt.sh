#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A benchmark that is stopped in the middle of a fault leaves none, whatever stopped it; and what one left all the same
# is seen, and healed. What breaks links and forwarding here is not farelab, which therefore has no record of it.
. "$(dirname "$0")/lib.sh"

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"

inside() { # CODE: a shell in the first leaf
	ip netns exec "fl-$LAB-l0" sh -c "$1"
}

forwarding_is() { # WHAT VALUE
	[ "$(inside "cat /proc/sys/net/ipv4/conf/$1/forwarding")" = "$2" ]
}

# By hand: what failover does to a leaf, with nobody to undo it.
inside "echo 0 >/proc/sys/net/ipv4/conf/s0g0s1/forwarding"
farelab status "$LAB" >"$SCRATCH/status" && fail "status overlooks a leaf that drops what one device takes in"
grep -q "heal $LAB leaf l0" "$SCRATCH/status" || fail "status does not say what to do: $(cat "$SCRATCH/status")"
farelab heal "$LAB" leaf l0 || fail "heal leaf"
forwarding_is s0g0s1 1 || fail "heal leaf leaves a device that does not forward"
inside "echo 0 >/proc/sys/net/ipv4/conf/all/forwarding"
farelab status "$LAB" && fail "status overlooks a leaf that forwards nothing"
farelab heal "$LAB" leaf l0 || fail "heal leaf"
forwarding_is all 1 && forwarding_is s1g0s0 1 || fail "heal leaf does not restore forwarding"
farelab status "$LAB" --wait $PATIENCE_S || fail "not converged after healing"

# start SCENARIO: in a process group of its own, as a terminal would have it (and with SIGINT as a terminal leaves it)
start() {
	setsid perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV or die' "$FARE_BIN/farebench" run failover --lab "$LAB" \
		--param traffic=kv --strategy fare-flow --param scenario="$1" --json "$SCRATCH/json" >"$SCRATCH/out" 2>&1 &
	bench=$!
}

# broken CODE: until that is so in the first leaf (of the first trial's plane), without a pause: a fault lasts some 400 ms. The
# benchmark is halted there, for nobody else to heal it before it has been stopped.
broken() {
	while inside "until $1; do kill -0 $bench || exit 1; done; kill -STOP $bench"; do
		inside "$1" && return
		kill -CONT $bench
	done
	cat "$SCRATCH/out"
	fail "the benchmark ended before its fault"
}

stopped() { # STATUS: the benchmark, halted and sent a signal, ended with it
	kill -CONT $bench 2>/dev/null
	wait $bench
	local rc=$?
	[ $rc = "$1" ] || { cat "$SCRATCH/out"; fail "exit status $rc, not $1"; }
}

start leaf-gray
broken '[ "$(cat /proc/sys/net/ipv4/conf/all/forwarding)" = 0 ]'
kill -INT -- -$bench # Ctrl-C: workers and farelab get it, too
stopped 130
forwarding_is all 1 || fail "Ctrl-C left a leaf that forwards nothing"
grep -q 'undoing: a leaf forwards nothing' "$SCRATCH/out" || fail "not said: $(cat "$SCRATCH/out")"
farelab status "$LAB" --wait $PATIENCE_S || fail "not converged after Ctrl-C"

start remote-plane
broken 'ip -o link show dev s1g0s1 | grep -q "state DOWN"'
kill -TERM $bench
stopped 143
inside 'ip -o link show dev s1g0s0 | grep -q "[<,]UP[,>]"' || fail "SIGTERM left a link down"
farelab status "$LAB" --wait $PATIENCE_S || fail "not converged after SIGTERM"

start leaf-gray
broken '[ "$(cat /proc/sys/net/ipv4/conf/all/forwarding)" = 0 ]'
kill -KILL "$(pgrep -P $bench -f 'farebench worker' | head -1)" # an error
stopped 1
forwarding_is all 1 || fail "a run that failed left a leaf that forwards nothing"
farelab status "$LAB" --wait $PATIENCE_S || fail "not converged after an error"

start leaf-gray-one-way
broken '[ "$(cat /proc/sys/net/ipv4/conf/s0g0s1/forwarding)" = 0 ]'
kill -KILL -- -$bench
stopped 137
within forwarding_is s0g0s0 1 && within forwarding_is s0g0s1 1 || fail "SIGKILL left a gray leaf"

start bgpd-killed
pid=$(cut -d' ' -f1 "/run/farelab/$LAB/s0/bgpd.pid")
broken "! kill -0 $pid 2>/dev/null"
kill -KILL $bench
stopped 137
farelab status "$LAB" --wait $PATIENCE_S || fail "not converged after SIGKILL"
exit 0
