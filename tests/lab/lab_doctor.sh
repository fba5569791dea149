#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# farectl doctor against real FRR, kernel and fared: nothing wrong in a lab that is well, and each fault that is made there is
# named by the check that is for it. (Thirty and more on recorded facts: tests/unit/fared/doctor.)
. "$(dirname "$0")/lib.sh"

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
CONFIG=/run/farelab/$LAB/s0/fared.yaml
RUN=/run/farelab/$LAB/s0/fared
inside() { farelab exec "$LAB" s0 -- "$@"; }
doctor() { inside "$FARE_BIN/farectl" -s "$RUN" doctor --config "$CONFIG" "$@"; }
# of what is wrong: the checks' names
wrong() { doctor --json | jq -r '[.checks[] | select(.state == "wrong").check] | join(" ")'; }
is_well() { [ -z "$(wrong)" ]; }
names() { [[ " $(wrong) " = *" $1 "* ]]; }
within is_well || fail "a lab that is well has something wrong: $(doctor)"

# planted CHECK BREAK HEAL
n=0
planted() {
	eval "$2" || fail "$2"
	within names "$1" || fail "$1 is not named after: $2: $(doctor)"
	doctor --quiet >"$SCRATCH/quiet" && fail "status 0 after: $2"
	grep -q "^fare: $1: " "$SCRATCH/quiet" || fail "--quiet does not name $1: $(cat "$SCRATCH/quiet")"
	eval "$3" || fail "$3"
	within is_well || fail "still wrong after: $3: $(doctor)"
	n=$((n + 1))
}
vty() { farelab vtysh "$LAB" s0 -- -c 'configure terminal' -c "router bgp $AS" "$@"; }
AS=$(farelab vtysh "$LAB" s0 -- -c 'show running-config' | awk '/^router bgp/ { print $3; exit }')
six() { vty -c 'address-family ipv4 unicast' -c "$1"; }

planted multipath-relax 'vty -c "no bgp bestpath as-path multipath-relax"' 'vty -c "bgp bestpath as-path multipath-relax"'
planted soft-reconfig 'six "no neighbor LEAF4-G0 soft-reconfiguration inbound"' 'six "neighbor LEAF4-G0 soft-reconfiguration inbound"'
planted maximum-paths 'six "maximum-paths 1"' 'six "no maximum-paths"'
planted network 'six "no network 198.19.0.1/32"' 'six "network 198.19.0.1/32"'
planted mtu 'inside ip link set g0p1s1 mtu 1400' 'inside ip link set g0p1s1 mtu 4200'
planted carrier 'farelab fail "$LAB" subport s0 0 1' 'farelab heal "$LAB" subport s0 0 1'
planted rp-filter 'inside sysctl -qw net.ipv4.conf.all.rp_filter=1' 'inside sysctl -qw net.ipv4.conf.all.rp_filter=0'
planted in-force 'sed -i s/stale_s:.*/stale_s:\ 77/ "$CONFIG"' 'sed -i s/stale_s:.*/stale_s:\ 120/ "$CONFIG"'
planted config 'sed -i s/^node:/noode:/ "$CONFIG"' 'sed -i s/^noode:/node:/ "$CONFIG"'
planted bgpd 'farelab fail "$LAB" bgpd s0' 'farelab heal "$LAB" bgpd s0'
planted fared 'farelab fail "$LAB" fared s0' 'farelab heal "$LAB" fared s0'
hold() {
	ip netns exec "fl-$LAB-s0" perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Proto => "udp", LocalPort => 7784) or exit 1; sleep 100' &
	holder=$!
}
planted ports 'farelab fail "$LAB" fared s0; hold' 'kill $holder; farelab heal "$LAB" fared s0'

# tables for people, within 80 columns (one whose addresses are longer is not)
for what in "show planes" "show peers" "show paths" "show flows" "show qps" "show events" "show drains" "show counters" "show config" \
	"show version" "show kernel" why "why 198.19.0.2" doctor; do
	inside "$FARE_BIN/farectl" -s "$RUN" $what >"$SCRATCH/table"
	[ -s "$SCRATCH/table" ] || fail "farectl $what prints nothing"
	awk 'length > 80 { exit 1 }' "$SCRATCH/table" || fail "farectl $what is wider than 80 columns: $(cat "$SCRATCH/table")"
done

# libfare from Python: the example of fare(3)
if command -v python3 >/dev/null; then
	paths() {
		LD_LIBRARY_PATH=$FARE_BIN/../sched python3 "$(dirname "$0")/../../docs/examples/paths.py" "$RUN" 198.19.0.2 >"$SCRATCH/paths" &&
			[ "$(grep -c 'ok 0.4 Gb/s' "$SCRATCH/paths")" = 2 ]
	}
	within paths || fail "paths.py: $(cat "$SCRATCH/paths")"
fi

# elsewhere; and what cannot be written
"$FARE_BIN/farectl" -s "$RUN" doctor --quiet | grep -q '^fare: namespace: fared has g0p0s0' || fail "another namespace is not named"
doctor --json >/dev/full 2>/dev/null
[ $? = 3 ] || fail "a full device"
took_ms=$(inside perl -MTime::HiRes=time -e '$from = time; system(@ARGV); printf "%d", 1000 * (time - $from)' \
	"$FARE_BIN/farectl" -s "$RUN" doctor --quiet | tail -1)
[ "$took_ms" -lt 2000 ] || fail "it took $took_ms ms"
echo "$n faults named; $took_ms ms"
exit 0
