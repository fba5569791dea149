#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# BGP unnumbered (sessions by device, link-local next hops that are the same on all ports of all leaves), and unnumbered within one AS,
# with route reflectors; each with IPv4 and IPv6: all paths are up with their bandwidth, sub-ports and planes fail and come back, data
# flows while one does, and `farectl why` names it.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "needs jq"

ctl() { "$FARE_BIN/farectl" -s "/run/farelab/$LAB/s0/fared" "$@"; }
# paths PLANE: "peer verdict usable_bps probe" of each of s0's, in one line
paths() { ctl -j show paths 2>/dev/null | jq -r --arg plane "$1" '.paths[] | select(.plane == ($plane | tonumber)) | "\(.peer) \(.verdict) \(.usable_bps) \(.probe.state)"' | sort | xargs; }
# expect PLANE TO-S1 TO-S2
expect() { within expect_now "$@" || fail "$kind: plane $1 is '$(paths "$1")', not '$2' to s1 and '$3' to s2; $(ctl why)"; }
expect_now() {
	[ "$(paths "$1")" = "198.19.0.2 $2 198.19.0.3 $3 2001:db8:19::2 $2 2001:db8:19::3 $3" ]
}
first() { ctl -j why 2>/dev/null | jq -r '.causes[0] // empty | .cause + "; look next: " + .look_next'; }
named() { [[ "$(first)" =~ $1 ]]; }
why_is() { within named "$1" || fail "$kind: why says '$(first)', not '$1'"; }
clear() { ctl why >/dev/null; }
sent() { ip -n "fl-$LAB-s0" -j -s link show "$1" | jq '.[0].stats64.tx.bytes'; }
sent_more() { [ "$(sent "$1")" -gt "$2" ]; }
kv() {
	"$FARE_BIN/farebench" run 5.1 --lab "$LAB" --trials 1 --even-busy --strategy fare-spray --param size=1M --param qps=8 \
		--json "$SCRATCH/kv.json" >"$SCRATCH/kv.log" 2>&1
}
kv_flows() { jq_true '.trials["5.1"] | length == 1 and all(.KV_xfer_bandwidth > 0)' "$SCRATCH/kv.json" >/dev/null; }

# healthy HALF_BPS: and through every fault
through() {
	local half="ok $1 up" whole="ok $((2 * $1)) up" before data
	for plane in 0 1; do expect $plane "$whole" "$whole"; done
	reach s0 198.19.0.1 198.19.0.2 && reach s0 2001:db8:19::1 2001:db8:19::2 || fail "$kind: no packets"
	within clear || fail "$kind: a healthy lab has causes: $(ctl why)"

	farelab fail "$LAB" subport s1 0 1
	expect 0 "$half" "$whole"
	expect 1 "$whole" "$whole"
	why_is 'carr(y|ies) less|less than the local links'
	farelab heal "$LAB" subport s1 0 1
	expect 0 "$whole" "$whole"

	farelab fail "$LAB" subport s0 1 0
	expect 1 "$half" "$half"
	why_is 'a local sub-port has no carrier'
	farelab heal "$LAB" subport s0 1 0
	expect 1 "$whole" "$whole"
	within clear || fail "$kind: causes are left: $(ctl why)"

	# a plane of the peer's: the session over the other planes' same addresses stays
	farelab fail "$LAB" plane s1 1
	expect 1 "no-route 0 down" "$whole"
	why_is 'its own ports toward this plane are down'
	farelab heal "$LAB" plane s1 1
	expect 1 "$whole" "$whole"

	# data flows, and goes on without a plane that drops everything
	before=$(sent g0p1s0)
	kv &
	data=$!
	within sent_more g0p1s0 $((before + 2000000)) || fail "$kind: no data on plane 1"
	farelab gray "$LAB" leaf "$leaf"
	why_is '^in-fabric: probes toward'
	wait $data && kv_flows || { tail -n 20 "$SCRATCH/kv.log"; fail "$kind: data lost with the plane"; }
	farelab gray "$LAB" leaf "$leaf" --loss-percent 0
	expect 1 "$whole" "$whole"

	farelab fail "$LAB" leaf "$leaf"
	expect 0 "$whole" "$whole"
	why_is "$dead"
	farelab heal "$LAB" leaf "$leaf"
	expect 1 "$whole" "$whole"

	# one that ends a session without its link: named by what bgpd calls it
	vty "neighbor $neighbor shutdown"
	why_is "^no BGP session with neighbor $neighbor"
	vty "no neighbor $neighbor shutdown"
	within clear || fail "$kind: causes are left: $(ctl why)"

	# and a daemon that starts anew finds all sessions again
	farelab fail "$LAB" fared s0 && farelab heal "$LAB" fared s0
	for plane in 0 1; do expect $plane "$whole" "$whole"; done
	within clear || fail "$kind: causes after a restart: $(ctl why)"
	farelab down "$LAB" && gone "$LAB" || fail "$kind: down"
}
vty() { farelab vtysh "$LAB" s0 -- -c 'conf t' -c "router bgp $as" -c "$1" >/dev/null; }

kind=unnumbered leaf=l1 dead='^the leaf: no local sub-port has carrier' neighbor=g0p1s1 as=64513
farelab up "$TOPOLOGIES/unnumbered.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "unnumbered: not converged"
for host in s0 l0 l1; do
	[ -z "$(ip -n "fl-$LAB-$host" -o address show scope global | grep -v ' lo ')" ] || fail "unnumbered: $host has addresses on its links"
done
[ "$(ip -n "fl-$LAB-l0" -o address show scope link | awk '{ print $4 }' | sort -u | wc -l)" = 1 ] || fail "unnumbered: leaf l0 has several link-local addresses"
through 100000000

kind=ibgp leaf=l2 dead='no local sub-port( toward this plane)? has carrier' neighbor=g0p1s1 as=64512
farelab up "$TOPOLOGIES/ibgp.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "ibgp: not converged"
farelab vtysh "$LAB" s0 -- -c 'show bgp ipv4 unicast 198.19.0.3' >"$SCRATCH/route"
grep -q 'Cluster list: .* .* ' "$SCRATCH/route" || fail "ibgp: no two reflectors on the way to s2: $(cat "$SCRATCH/route")"
through 50000000
