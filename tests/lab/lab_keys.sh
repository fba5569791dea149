#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The key of the capacity notices is rotated server by server, as docs/ops/key-rotation.md says, under all-to-all traffic and
# with a notice in force: every notice is acknowledged at every step, none is rejected, nothing is lost, no path moves.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

cat >"$SCRATCH/three.yaml" <<END
name: three
servers: 3
planes: 2
sub_ports: 2
rate_mbps: 50
END
farelab up "$SCRATCH/three.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
SERVERS="s0 s1 s2"
OLD=/run/farelab/$LAB/health.key NEW=$SCRATCH/new.key
(umask 077; head -c 32 /dev/urandom | base64 >"$NEW")

ctl() { # ctl SERVER ARG...
	local server=$1
	shift
	"$FARE_BIN/farectl" -s "/run/farelab/$LAB/$server/fared" "$@"
}
count() { # count SERVER PART COUNTER
	ctl "$1" -j show counters | jq --arg p "$2" --arg c "$3" '.counters[] | select(.part == $p and .counter == $c).count'
}
sum() { # sum PART COUNTER: of all servers
	local n=0 server
	for server in $SERVERS; do n=$((n + $(count "$server" "$1" "$2"))); done
	echo $n
}
newest() { ctl "$1" -j show events | jq '[.events[].seq] | max'; }

# ---- a notice in force, and traffic --------------------------------------------------------------
noticed() { [ "$(ctl s0 -j show paths 198.19.0.2 0 | jq '.paths[0].noticed_bps')" = 50000000 ]; }
farelab fail "$LAB" subport s1 0 1 || fail "fail subport"
within noticed || fail "s0 knows of no notice of s1: $(ctl s0 show paths)"
halved() { ctl s2 -j show paths 198.19.0.2 0 | jq_true '.paths[0].advertised_bps == 50000000' >/dev/null; }
within halved || fail "BGP does not tell of the lost sub-port"
within farelab status "$LAB" >/dev/null || fail "not converged: $(farelab status "$LAB")"
flowing() { [ "$(ctl s0 -j show qps | jq '[.qps[] | select(.state == "ready" or .state == "up" or .state == "rts")] | length')" -gt 0 ]; }
declare -A mark
# traffic SECONDS: so long at least; in the background
traffic() {
	printf 'name: keys\nsteps:\n  - {at_s: 0, do: throttle subport s2 1 1 50}\n  - {at_s: %d, do: throttle subport s2 1 1 50}\n' "$1" >"$SCRATCH/plan.yaml"
	FARELAB_NAME=$LAB "$FARE_BIN/farebench" run drill --param plan="$SCRATCH/plan.yaml" --json "$SCRATCH/drill.json" >"$SCRATCH/drill.log" 2>&1 &
	traffic=$!
	within flowing || fail "no traffic: $(ctl s0 -j show qps | head -c 600)"
	for server in $SERVERS; do mark[$server]=$(newest $server); done
}

# ---- the rotation --------------------------------------------------------------------------------
# keys SERVER KEY [SECOND]: puts these in force, and all peers acknowledge a notice under the first
acked() { [ "$(count "$1" prober acknowledged)" -ge "$2" ]; }
keys() {
	local config=/run/farelab/$LAB/$1/fared.yaml before
	before=$(count "$1" prober acknowledged)
	sed -i -e '/second_key_file:/d' -e "s|key_file:.*|key_file: $2|" "$config"
	[ -z "${3:-}" ] || sed -i "s|^  key_file:.*|&\n  second_key_file: $3|" "$config"
	[ "$(ctl "$1" -j reload | jq -c '[.in_force, .keys_changed]')" = '[true,true]' ] || fail "$1: keys $2 ${3:-}: not in force"
	within acked "$1" $((before + ${4:-2})) || fail "$1: peers do not acknowledge its notices: $(ctl "$1" show counters)"
}
# rotate FROM TO
rotate() {
	for server in $SERVERS; do keys $server "$1" "$2"; done
	for server in $SERVERS; do keys $server "$2" "$1"; done
	for server in $SERVERS; do keys $server "$2"; done
}
# on a busy machine it takes longer than the traffic: then back again, with more of that
traffic 40
rotate "$OLD" "$NEW"
if ! kill -0 $traffic 2>/dev/null; then
	wait $traffic || { cat "$SCRATCH/drill.log"; fail "the traffic"; }
	traffic 160
	rotate "$NEW" "$OLD"
fi
[ "$(sum reflector second_key)" -gt 0 ] || fail "no notice ever came under the second key"
[ "$(sum reflector forged)" = 0 ] || fail "$(sum reflector forged) notices were rejected"
noticed || fail "the notice of s1 is in force no more"
kill -0 $traffic 2>/dev/null || { cat "$SCRATCH/drill.log"; fail "traffic ended before the rotation did"; }
for server in $SERVERS; do
	moved=$(ctl $server -j show events | jq -c --argjson m "${mark[$server]}" '[.events[] | select(.seq > $m and (.topic == "path" or .topic == "probe"))]')
	[ "$moved" = "[]" ] || fail "$server: paths moved while keys were rotated: $moved"
done
wait $traffic || { cat "$SCRATCH/drill.log"; fail "the traffic"; }
[ "$(jq -c '.trials.drill[0] | [.lost, .needless_flows]' "$SCRATCH/drill.json")" = "[0,0]" ] ||
	fail "lost or moved: $(jq -c '.trials.drill[0]' "$SCRATCH/drill.json")"

# ---- what the second key is for ------------------------------------------------------------------
(umask 077; echo "another key of more than sixteen bytes" >"$SCRATCH/third.key")
rejected() { [ "$(count s0 reflector forged)" -gt 0 ]; }
keys s2 "$SCRATCH/third.key" "" 0
within rejected || fail "a key that only one server has is accepted"
[ "$(ctl s0 -j show paths 198.19.0.3 | jq -c '[.paths[].verdict]')" = '["ok","ok"]' ] || fail "a wrong key took paths down"
exit 0
