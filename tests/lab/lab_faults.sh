#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Faults show where they should, as they should, and heal: seen from another server's bgpd and kernel.
. "$(dirname "$0")/lib.sh"

farelab up "$TOPOLOGIES/4x4x2.yaml" --name "$LAB" --wait $PATIENCE_S || fail "not converged"

sub_port_up() {
	farelab status "$LAB" --json | grep -o '"name":"s1".*"name":"s2"' | grep -o '"dev":"'"$1"'"[^}]*' | grep -q "\"up\":$2"
}

# One of two sub-links: half the bandwidth on that plane, the others untouched.
farelab fail "$LAB" subport s1 2 0 || fail "fail subport"
within bandwidths_are s0 198.19.0.2 65103 "125000 125000" || fail "2 -> 1 not seen: $(bandwidths s0 198.19.0.2 65103 | xargs)"
bandwidths_are s0 198.19.0.2 65102 "250000 250000" || fail "another plane changed"
sub_port_up g0p2s0 false || fail "status does not show the lost carrier"
farelab status "$LAB" --wait $PATIENCE_S || fail "a lab with a known fault does not converge"
farelab heal "$LAB" subport s1 2 0 || fail "heal subport"
within bandwidths_are s0 198.19.0.2 65103 "250000 250000" || fail "1 -> 2 not seen"
farelab status "$LAB" --wait $PATIENCE_S || fail "not converged after healing a sub-port"
sub_port_up g0p2s0 true || fail "status does not show the carrier's return"

# A whole port: no path on that plane.
farelab fail "$LAB" plane s1 0 || fail "fail plane"
within bandwidths_are s0 198.19.0.2 65101 "" || fail "2 -> 0 not seen"
farelab heal "$LAB" plane s1 0 || fail "heal plane"
within bandwidths_are s0 198.19.0.2 65101 "250000 250000" || fail "0 -> 2 not seen"

# A leaf, with a sub-link of it failed on its own account: healing the leaf does not heal the sub-link.
farelab fail "$LAB" subport s2 1 1 || fail "fail subport"
farelab fail "$LAB" leaf l1 || fail "fail leaf"
farelab status "$LAB" --wait $PATIENCE_S || fail "a failed leaf is not out of everybody's tables"
bandwidths_are s0 198.19.0.2 65102 "" || fail "routes of a dead leaf"
reach s0 198.19.0.1 198.19.0.2 || fail "no packets with one leaf dead"
farelab heal "$LAB" leaf l1 || fail "heal leaf"
within bandwidths_are s0 198.19.0.2 65102 "250000 250000" || fail "the leaf did not come back"
within bandwidths_are s0 198.19.0.3 65102 "125000 125000" || fail "healing the leaf healed a sub-link"
farelab heal "$LAB" subport s2 1 1
farelab status "$LAB" --wait $PATIENCE_S || fail "not converged after all is healed"

# longest_gone FILE ADDRESS: the longest time, ms, that a kernel was without that route; FILE is of ip -o -ts monitor route
longest_gone() {
	awk -v address="$2" '
		{ split(substr($1, 13), c, "[:\\]]"); now = (c[1] * 60 + c[2]) * 60 + c[3] }
		$2 == "Deleted" && $3 == address { gone = now }
		$2 == address && gone != "" {
			for_ms = (now < gone ? now + 86400 - gone : now - gone) * 1000 # over midnight
			longest = for_ms > longest ? for_ms : longest
			gone = ""
		}
		END { print gone == "" ? int(longest) : "ever: it did not come back" }' "$1"
}

# bgpd dies and comes back: graceful restart keeps the loopback in every table all the while. Its own kernel may be without
# routes while FRR exchanges the old ones for the new ones, for these leaves have just started; they come back, and how long that
# takes is told.
watch_routes() {
	local least=99 n
	while [ -d "$SCRATCH" ] && [ ! -e "$SCRATCH/stop" ]; do
		n=$(ip -n "fl-$LAB-s0" route show 198.19.0.2 | grep -c nexthop)
		[ "$n" -lt "$least" ] && least=$n
	done
	echo "$least" >"$SCRATCH/least"
}
watch_routes &
watcher=$!
ip -o -ts -n "fl-$LAB-s1" monitor route >"$SCRATCH/own" &
monitor=$!
old=$(cat "/run/farelab/$LAB/s1/bgpd.pid")
farelab fail "$LAB" bgpd s1 || fail "fail bgpd"
farelab status "$LAB" && fail "status overlooks a dead bgpd"
farelab heal "$LAB" bgpd s1 || fail "heal bgpd"
[ "$old" != "$(cat "/run/farelab/$LAB/s1/bgpd.pid")" ] || fail "bgpd was not replaced"
farelab status "$LAB" --wait $PATIENCE_S || fail "not converged after bgpd's restart"
touch "$SCRATCH/stop"
wait $watcher
kill $monitor
own=$(longest_gone "$SCRATCH/own" 198.19.0.1)
echo "longest without the route to s0 in the kernel of the server itself: $own ms"
[[ $own =~ ^[0-9]+$ ]] || fail "a restarted bgpd leaves its own kernel without the route"
echo "fewest next hops of the loopback while its bgpd was restarted: $(cat "$SCRATCH/least") of 8"
[ "$(cat "$SCRATCH/least")" -ge 1 ] || fail "the loopback was out of the fabric"

# Rates, and wrong words.
farelab throttle "$LAB" subport s3 3 1 50 || fail "throttle"
shaped l3 s3g0s1 50Mbit || fail "the leaf's end kept its rate"
shaped s3 g0p3s1 50Mbit || fail "the server's end kept its rate"
farelab status "$LAB" --json | grep -q '"rate_bps":50000000' || fail "status has the old rate"
[ "$(farelab status "$LAB" --json | jq -c .faults)" = '["throttle subport s3/g0 3 1 50"]' ] || fail "status names other faults"
farelab rate "$LAB" subport s3 3 1 50 2>"$SCRATCH/error" && fail "a rate was told in a lab whose BGP counts links"
grep -q announce_rates "$SCRATCH/error" || fail "no word of announce_rates"

# The rate of the lab as a whole: both ends of every sub-link, also of one that had a rate of its own; other faults stay. A lab
# without fared has its configuration changed all the same.
farelab fail "$LAB" subport s2 0 1 && farelab rate "$LAB" all 80 || fail "rate all"
status=$(farelab status "$LAB" --wait 20 --json) || fail "not converged after rate all"
[ "$(grep -o '"rate_bps":80000000' <<<"$status" | wc -l)" = 32 ] || fail "some rate is not 80 Mbit/s"
[ "$(grep -o '"up":false' <<<"$status" | wc -l)" = 1 ] || fail "rate all changed another fault"
for end in l3:s3g0s1 s3:g0p3s1 l0:s0g0s0; do
	shaped "${end%:*}" "${end#*:}" 80Mbit || fail "$end kept its rate"
done
grep -q 'bandwidth_scale: 80$' "/run/farelab/$LAB/s1/fared.yaml" || fail "fared's unit of bandwidth is not the rate"
[ "$(grep -c 'speed_mbps: 80,' "/run/farelab/$LAB/s1/fared.yaml")" = 8 ] || fail "fared's speeds are not the rate"

for words in "subport s9 0 0" "subport s0 4 0" "subport s0 0 2" "plane s0/g1 0" "leaf s0" "leaf l4" "bgpd x" \
	"cable s0" "fared s0"; do
	farelab fail "$LAB" $words 2>"$SCRATCH/error" && fail "'fail $words' succeeded"
	[ -s "$SCRATCH/error" ] || fail "'fail $words' failed silently"
done
exit 0
