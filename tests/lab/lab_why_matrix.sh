#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What `farectl why` names first, for each fault of why_matrix: within 5 seconds (2 of planes that are exchanged or not separate), and
# gone again once the fault is undone.
# ROWS=REGEX: only rows of that name.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "needs jq"
NAME_S=5
PLANES_S=2
cat >"$SCRATCH/topology.yaml" <<END
name: why
servers: 3
planes: 3
sub_ports: 2
rate_mbps: 100
END
farelab up "$SCRATCH/topology.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"

of() { echo "/run/farelab/$LAB/$1"; }
lab() { local what=$1; shift; farelab "$what" "$LAB" "$@"; }
s0() { ip netns exec "fl-$LAB-s0" "$@"; }
s1() { ip netns exec "fl-$LAB-s1" "$@"; }
l1() { ip netns exec "fl-$LAB-l1" "$@"; }
l2() { ip netns exec "fl-$LAB-l2" "$@"; }
ctl0() { "$FARE_BIN/farectl" -s "$(of s0)/fared" "$@"; }
ctl1() { "$FARE_BIN/farectl" -s "$(of s1)/fared" "$@"; }
yaml() { # HOST SED
	sed "$2" "$SCRATCH/$1.yaml" >"$(of "$1")/fared.yaml"
	"$FARE_BIN/farectl" -s "$(of "$1")/fared" reload
}
again() { # HOST SED: the file is read at the start
	lab fail fared "$1"
	sed "$2" "$SCRATCH/$1.yaml" >"$(of "$1")/fared.yaml"
	lab heal fared "$1"
}
vty() { # HOST LINE...
	local host=$1 args=()
	shift
	for line in "$@"; do args+=(-c "$line"); done
	farelab vtysh "$LAB" "$host" -- "${args[@]}"
}
leaves() { # LINE LINE
	for leaf in 0 1 2; do
		vty l$leaf 'conf t' "$1" "router bgp $((65101 + leaf))" 'address-family ipv4 unicast' "$2"
	done
}
rename() { # DEV DEV
	s0 ip link set "$1" down && s0 ip link set "$2" down
	s0 ip link set "$1" name x && s0 ip link set "$2" name "$1" && s0 ip link set x name "$2"
	s0 ip link set "$1" up && s0 ip link set "$2" up
}
# what is kept for a restart is gone from the kernel, and probes have seen it
uninstalled() { ctl0 -j show paths | jq_true 'any(.paths[]; .plane == 1 and .verdict == "not-installed")'; }
first() { ctl0 -j why 2>/dev/null | jq -r '.causes[0] // empty | .cause + "; look next: " + .look_next'; }
named() { said=$(first); grep -qE -- "$1" <<<"$said"; }
# at all servers: s0 has its sessions back before the others have their routes, and until then a plane carries nothing
clear() {
	local host
	for host in s0 s1 s2; do "$FARE_BIN/farectl" -s "$(of $host)/fared" why >/dev/null || return 1; done
}

cp "$(of s0)/fared.yaml" "$SCRATCH/s0.yaml"
cp "$(of s1)/fared.yaml" "$SCRATCH/s1.yaml"
within clear || fail "a healthy lab has causes: $(ctl0 why; ctl1 why)"
[ "$(ctl0 why | awk 'length > 80' | wc -l)" = 0 ] || fail "why is wider than 80 columns"
n=0 wrong=0 slowest=0
while IFS='|' read -r name make undo want; do
	name=${name%"${name##*[! ]}"}
	[[ "$name" =~ ^\# || -z "$name" || ! "$name" =~ ${ROWS:-.} ]] && continue
	want=${want# }
	n=$((n + 1))
	began=$(date +%s%N)
	eval "$make" >"$SCRATCH/out" 2>&1 </dev/null || { echo "WRONG $name: not made: $(tail -3 "$SCRATCH/out")"; wrong=$((wrong + 1)); }
	limit_s=$NAME_S
	[[ ! "$name" =~ exchange|one.subnet ]] || limit_s=$PLANES_S
	made=$(date +%s%N)
	until named "$want" || [ $(($(date +%s%N) - made)) -gt $((limit_s * 1000000000)) ]; do sleep 0.05; done
	ms=$((($(date +%s%N) - made) / 1000000))
	if named "$want"; then
		echo "ok    $name: $ms ms"
		[ $ms -le $slowest ] || slowest=$ms
		[ "$(ctl0 why | awk 'length > 80' | wc -l)" = 0 ] || { echo "WRONG $name: wider than 80 columns"; wrong=$((wrong + 1)); }
	else
		echo "WRONG $name: '$said', not '$want'"
		wrong=$((wrong + 1))
	fi
	eval "$undo" >"$SCRATCH/out" 2>&1 </dev/null || { echo "WRONG $name: not undone: $(tail -3 "$SCRATCH/out")"; wrong=$((wrong + 1)); }
	within clear || fail "$name leaves causes behind: $(for host in s0 s1 s2; do "$FARE_BIN/farectl" -s "$(of $host)/fared" why; done)"
	[ -z "${VERBOSE:-}" ] || echo "      whole row $((($(date +%s%N) - began) / 1000000)) ms"
done <"$(dirname "$0")/why_matrix"
echo "$n rows, $wrong wrong, the slowest named after $slowest ms"
[ $wrong = 0 ]
