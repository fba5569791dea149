#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A port with a smaller MTU under traffic: one leaf port at 1500 where servers are at 4200, then one sub-port of a server at 900. Each
# is out of use within 3 s, `farectl why` names the path MTU, nothing is lost, and it comes back once the MTU is right again.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
export FARELAB_NAME=$LAB
declare -A PEER=([s0]=198.19.0.2 [s1]=198.19.0.1)

ctl() { # SERVER ARG...
	"$FARE_BIN/farectl" -s "/run/farelab/$LAB/$1/fared" "${@:2}"
}

# probe SERVER PLANE FIELD: what its prober says of the path to the other server
probe() {
	ctl "$1" -j show paths | jq -r --arg peer "${PEER[$1]}" --argjson plane "$2" --arg field "$3" \
		'[(.paths? // .)[] | select(.peer == $peer and .plane == $plane)][0].probe[$field]'
}

is() { # WANTED SERVER PLANE FIELD
	[ "$(probe "${@:2}" 2>/dev/null)" = "$1" ]
}

says() { # TEXT SERVER PLANE: farectl why
	ctl "$2" why "${PEER[$2]}" "$3" | grep -q "$1"
}

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

all_back() {
	local server plane
	for server in s0 s1; do
		for plane in 0 1; do
			is 4096 $server $plane path_mtu && is 0 $server $plane small_local_sub_ports &&
				is 0 $server $plane small_remote_sub_ports || return 1
		done
	done
}

# found WHAT HOST DEVICE MTU: both servers know within 3 s that it is smaller; a machine that stands still for a second has three tries
found() {
	local try began took
	for try in 1 2 3; do
		[ $try = 1 ] || { farelab exec "$LAB" "$2" -- ip link set "$3" mtu 4200 && within all_back || fail "$1: not back"; }
		began=$(now_ms)
		farelab exec "$LAB" "$2" -- ip link set "$3" mtu "$4" || fail "no $3 on $2"
		within both_know || fail "$1: not found: $(ctl s0 why ${PEER[s0]} 0)"
		took=$(($(now_ms) - began))
		echo "$1: found after $took ms"
		[ $took -gt 3000 ] || return 0
	done
	fail "$1: found after more than 3 s, three times"
}

for server in s0 s1; do
	for plane in 0 1; do
		within is 4096 $server $plane path_mtu || fail "$server plane $plane: no path MTU of 4096 is found"
	done
done

# Messages that are verified one by one until the faults are over: one that fails, or is lost or wrong, ends them. Their end is not
# waited for: zebra (FRR 8.4) keeps a next hop too many of a device whose MTU has changed, which farelab takes for a fault.
cat >"$SCRATCH/plan.yaml" <<END
name: idle
steps:
  - {at_s: 300, do: gray leaf l0 --loss-percent 0}
END
"$FARE_BIN/farebench" run drill --param plan="$SCRATCH/plan.yaml" --even-busy --json "$SCRATCH/drill.json" \
	>"$SCRATCH/drill.log" 2>&1 &
drill=$!
moved() { # BYTES: so many, or more, have been acknowledged to s0
	[ "$(ctl s0 -j show qps 2>/dev/null | jq '[(.qps? // .)[].bytes] | add // 0')" -ge "$1" ]
}
goes_on() {
	local bytes=$(ctl s0 -j show qps | jq '[(.qps? // .)[].bytes] | add // 0')
	kill -0 $drill 2>/dev/null && within moved $((bytes + 10000000)) && kill -0 $drill 2>/dev/null && return
	tail -n 40 "$SCRATCH/drill.log"
	fail "$1: the messages ended"
}
within moved 10000000 || { cat "$SCRATCH/drill.log"; fail "no traffic"; }

# ---- one leaf port at 1500 ------------------------------------------------------------------------
# toward s1: there it is the local sub-port 0 of plane 0, and on s0 the peer's
both_know() {
	is 1 s1 0 small_local_sub_ports && is 1 s0 0 small_remote_sub_ports
}
found "a leaf port at 1500" l0 s1g0s0 1500
says "path MTU: local sub-port 0" s1 0 || fail "why does not say path MTU: $(ctl s1 why ${PEER[s1]} 0)"
says "path MTU: the peer's sub-port 0" s0 0 || fail "why does not say path MTU: $(ctl s0 why ${PEER[s0]} 0)"
within says "local sub-port 0: 1024 bytes" s1 0 || fail "why does not say what passes: $(ctl s1 why ${PEER[s1]} 0)"
ctl s1 why "${PEER[s1]}" 0
farelab exec "$LAB" l0 -- ip link set s1g0s0 mtu 4200
within all_back || fail "not back: $(ctl s1 why ${PEER[s1]} 0)"
goes_on "a leaf port at 1500"

# ---- one sub-port of a server at 900 --------------------------------------------------------------
dev=$(ctl s0 -j show planes | jq -r '[.. | .dev? // empty][0]')
both_know() {
	is 1 s0 0 small_local_sub_ports && is 1 s1 0 small_remote_sub_ports
}
found "a sub-port at 900" s0 "$dev" 900
says "path MTU: local sub-port 0" s0 0 || fail "why does not say path MTU: $(ctl s0 why ${PEER[s0]} 0)"
says "local sub-port 0: 512 bytes" s0 0 || fail "why does not say what passes: $(ctl s0 why ${PEER[s0]} 0)"
farelab exec "$LAB" s0 -- ip link set "$dev" mtu 4200
within all_back || fail "not back: $(ctl s0 why ${PEER[s0]} 0)"

goes_on "a sub-port at 900"
kill -TERM $drill
wait $drill

# ---- all planes of a peer carry less: they stay in use ---------------------------------------------
farelab exec "$LAB" s1 -- sh -c 'for d in /sys/class/net/*; do d=${d##*/}; [ $d = lo ] || ip link set $d mtu 1500; done'
smaller() {
	is 1024 s0 0 path_mtu && is 1024 s0 1 path_mtu
}
within smaller || fail "a peer at 1500: $(ctl s0 why ${PEER[s0]} 0)"
says ": ok, usable" s0 0 && says "path MTU: no plane" s0 0 || fail "a peer at 1500: $(ctl s0 why ${PEER[s0]} 0)"

# ---- the whole fabric carries less than the servers: new groups use what passes -------------------------
farelab exec "$LAB" s1 -- sh -c 'for d in /sys/class/net/*; do d=${d##*/}; [ $d = lo ] || ip link set $d mtu 4200; done'
within all_back || fail "not back: $(ctl s0 why ${PEER[s0]} 0)"
leaves() { # MTU
	local leaf
	for leaf in l0 l1; do
		farelab exec "$LAB" $leaf -- sh -c "for d in /sys/class/net/*; do d=\${d##*/}; [ \$d = lo ] || ip link set \$d mtu $1; done"
	done
}
leaves 1500
smaller_both() {
	local server plane
	for server in s0 s1; do
		for plane in 0 1; do
			is 1024 $server $plane path_mtu || return 1
		done
	done
}
within smaller_both || fail "a fabric at 1500: $(ctl s0 why ${PEER[s0]} 0)"
says ": ok, usable" s0 0 || fail "a fabric at 1500: $(ctl s0 why ${PEER[s0]} 0)"
# an example program: a write of 1 MiB with notification (the benchmark would wait for zebra, as said above)
at() { # SERVER COMMAND...
	FARE_TRUSTED_NETWORK=1 FARE_RUN_DIR=/run/farelab/$LAB/$1/fared farelab exec "$LAB" "$1" -- "${@:2}"
}
at s1 stdbuf -oL "$FARE_BIN/push" receive >"$SCRATCH/received" 2>&1 &
has_address() {
	grep -q "^push send" "$SCRATCH/received"
}
within has_address || fail "no receiver: $(cat "$SCRATCH/received")"
at s0 timeout $PATIENCE_S "$FARE_BIN/push" $(sed -n 's/^push //p' "$SCRATCH/received" | head -n 1) >"$SCRATCH/sent" 2>&1 ||
	fail "a fabric at 1500: a new group carries nothing: $(cat "$SCRATCH/sent" "$SCRATCH/received")"
arrived() {
	grep "1048576 bytes, the first is 42" "$SCRATCH/received"
}
within arrived || fail "a fabric at 1500: $(cat "$SCRATCH/received")"
leaves 4200
within all_back || fail "not back: $(ctl s0 why ${PEER[s0]} 0)"

# ---- a whole plane ----------------------------------------------------------------------------------
farelab exec "$LAB" l0 -- sh -c 'for d in /sys/class/net/*; do d=${d##*/}; [ $d = lo ] || ip link set $d mtu 1500; done'
whole() {
	says ", plane 0: mtu, usable 0" s0 0 && says ", plane 0: mtu, usable 0" s1 0
}
within whole || fail "a leaf at 1500: $(ctl s0 why ${PEER[s0]} 0)"
within says "path MTU:   found 1024 bytes, wanted 4096" s0 0 || fail "a leaf at 1500: $(ctl s0 why ${PEER[s0]} 0)"
ctl s0 why "${PEER[s0]}" 0
exit 0
