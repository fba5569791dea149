#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `farelab run` leaves nothing, however it ends; what even it cannot clean up, `sweep` does, and nothing else.

# sweep takes every dead lab that it finds: it shall find none but this test's, though other tests run on this machine
if [ "$(id -u)" = 0 ] && [ -z "${FARE_OWN_RUN:-}" ]; then
	export FARE_OWN_RUN=1
	exec unshare --mount sh -c 'mkdir -p /run/netns /run/farelab && mount -t tmpfs none /run/netns &&
		mount -t tmpfs none /run/farelab && exec bash "$0"' "$0"
fi
. "$(dirname "$0")/lib.sh"

run() {
	farelab run "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" -- "$@"
}

run sh -c 'exit 7'
[ $? = 7 ] || fail "the command's exit status is lost"
gone "$LAB" || fail "a normal end left something"
run sh -c 'echo "$FARELAB_NAME"' 2>/dev/null | grep -qx "$LAB" || fail "FARELAB_NAME is not set"
run /nonexistent 2>/dev/null
[ $? = 127 ] || fail "a missing command is not 127"
gone "$LAB" || fail "a missing command left something"

# start PROGRAM-ARGUMENT: a command in the background that has children of its own; sets $front
start() {
	rm -f "$SCRATCH/started"
	"$FARELAB" run "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" -- \
		sh -c "sleep $1 & touch '$SCRATCH/started'; wait" >"$SCRATCH/front" 2>&1 &
	front=$!
	within test -e "$SCRATCH/started" || { cat "$SCRATCH/front"; fail "the command did not start"; }
	command=$(pgrep -P $front -x sh)
	child=$(pgrep -P "$command" -x sleep)
	supervisor=$(pgrep -P $front -x farelab)
	[ -n "$command" ] && [ -n "$child" ] && [ -n "$supervisor" ] || fail "cannot tell who is who"
}
start 6543
kill -9 $front
within gone "$LAB" || fail "kill -9 of the front left something"
within ended "$child" || fail "kill -9 of the front left the command's child"

start 6544
kill -9 "$command"
wait $front
[ $? = 137 ] || fail "a command killed is not 137"
gone "$LAB" || fail "kill -9 of the command left something"
kill "$child" # of a command that ended by itself, children outside of the lab are its own affair

start 6545
kill -9 "$supervisor"
farelab list | grep -q "^$LAB up" || fail "the lab fell with its supervisor"
kill "$command" "$child"
wait $front
gone "$LAB" || fail "a dead supervisor: something is left"

# While it is being built: at several moments.
for pause in 0.02 0.05 0.1 0.2 0.4; do
	"$FARELAB" run "$TOPOLOGIES/4x4x2.yaml" --name "$LAB" -- true 2>/dev/null &
	front=$!
	sleep $pause
	kill -9 $front
	within gone "$LAB" || fail "kill -9 after $pause s of building left something"
done

# Both at once: sweep finds it; a living lab stays.
farelab up "$TOPOLOGIES/2x2x2.yaml" --name "${LAB}a" || fail "up"
start 6546
kill -9 $front "$supervisor"
within sh -c "'$FARELAB' list | grep -q '^$LAB dead'" || fail "list does not know it for dead"
farelab sweep || fail "sweep"
within gone "$LAB" || fail "sweep left something"
kill "$child"
farelab list | grep -q "^${LAB}a up" || fail "sweep took a living lab"
ip netns add "fl-${LAB}b-s0" && farelab sweep
gone "${LAB}b" || fail "sweep left a stray namespace"
farelab down "${LAB}a"
exit 0
