#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# fared against real FRR and real links: what it learns, what each fault makes of a path, and that neither the death
# of bgpd nor its own moves anything. Exit status: 0 passed, 1 failed, 77 skipped (the reason is printed).
# FARE_BIN: the directory of fared, farectl and farelab.
set -u
. "$(dirname "$0")/../jq_true.sh"

here=$(cd "$(dirname "$0")/../.." && pwd)
bin=${FARE_BIN:-$here/build/release/bin}
topology=$here/netns/topologies/4x4x2.yaml
lab=fdt$$

skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root for network namespaces"
command -v jq >/dev/null || skip "needs jq"
for tool in fared farectl farelab; do
	[ -x "$bin/$tool" ] || skip "no $bin/$tool; set FARE_BIN to where the binaries are"
done
"$bin/farelab" frr || skip "needs FRR"

failed() {
	echo "FAILED: $*"
	for host in s0 s1; do
		echo "## $host"
		ctl $host show planes
		ctl $host show paths
		ctl $host show events | tail -30
	done
	exit 1
}
cleanup() { [ -z "${holder:-}" ] || kill "$holder" 2>/dev/null; [ -z "${second:-}" ] || kill "$second" 2>/dev/null; "$bin/farelab" down "$lab" >/dev/null 2>&1; rm -rf "/tmp/$lab".*; }
trap cleanup EXIT
trap 'exit 1' INT TERM

fared_dir() { jq -r --arg s "$1" '.servers[] | select(.name == $s) | .fared_run_dir' "/tmp/$lab.status"; }
ctl() { local host=$1; shift; "$bin/farectl" -s "$(fared_dir "$host")" "$@"; }
lab() { "$bin/farelab" "$@" || failed "farelab $*"; }
pid_of() { "$bin/farelab" status "$lab" --json | jq -r --arg s "$1" --arg d "$2" '.servers[] | select(.name == $s) | .pids[$d]'; }

# path HOST PEER PLANE: "verdict usable_bps", as published
path() {
	ctl "$1" -j show paths "$2" "$3" 2>/dev/null | jq -r '.paths[0] | "\(.verdict) \(.usable_bps)"'
}
# await WHAT COMMAND...: until COMMAND succeeds; the limit only ends what would wait for ever
await() {
	local limit=$((SECONDS + 90)) what=$1
	shift
	until "$@"; do
		[ $SECONDS -lt $limit ] || failed "$what: not within the time allowed"
		sleep 0.05
	done
}
is() { [ "$(path "$1" "$2" "$3")" = "$4" ]; }
# expect HOST PEER PLANE "verdict bps"
expect() {
	await "$1 -> $2 plane $3 should be '$4'" is "$1" "$2" "$3" "$4"
	echo "ok: $1 -> $2 plane $3 is $4"
}
# Weights toward PEER as one line, whatever the verdicts
weights() { ctl "$1" -j show paths "$2" 2>/dev/null | jq -c '[.paths[].usable_bps]'; }
verdicts() { ctl "$1" -j show paths "$2" 2>/dev/null | jq -c '[.paths[].verdict] | unique'; }
verdicts_are() { [ "$(verdicts "$1" "$2")" = "$3" ]; }

echo "# the lab comes up, and every path is worth what its links are"
lab up "$topology" --name "$lab" --fared "$bin/fared" --wait 90
"$bin/farelab" status "$lab" --json >"/tmp/$lab.status"
peer() { jq -r --arg s "$1" '.servers[] | select(.name == $s) | .gpus[0].ipv4' "/tmp/$lab.status"; }
s1=$(peer s1) s2=$(peer s2) s3=$(peer s3) s0=$(peer s0)
rate=$(jq '.servers[0].gpus[0].planes[0].sub_ports[0].rate_bps' "/tmp/$lab.status")
whole="ok $((2 * rate))" half="ok $rate"
for peer in "$s1" "$s2" "$s3"; do
	for plane in 0 1 2 3; do expect s0 "$peer" $plane "$whole"; done
done

echo "# the daemon has given up what it does not need"
has() { grep -q "^$1:[[:space:]]*$2\$" "/proc/$(pid_of s0 fared)/status" || failed "$1 is not $2: $(grep "^$1:" "/proc/$(pid_of s0 fared)/status")"; }
has Seccomp 2
has NoNewPrivs 1
has CapEff 0000000000000002 # CAP_DAC_OVERRIDE: it stays root here
has CapBnd 0000000000000000
for file in control.sock:600 operate.sock:600 paths.shm:640 fared.lock:600 events:600; do
	is=$(stat -c %a "$(fared_dir s0)/${file%:*}")
	[ "$is" = "${file#*:}" ] || failed "${file%:*} has mode $is"
done

echo "# peers are listed in the order of their addresses; why names what limits a path"
[ "$(ctl s0 -j show peers | jq -c '[.peers[].peer]')" = "[\"$s1\",\"$s2\",\"$s3\"]" ] || failed "peers unsorted: $(ctl s0 show peers)"
ctl s0 why "$s1" 1 | grep -q 'look next:  nothing' || failed "why finds fault with a whole path"

echo "# one sub-port of s1 on plane 1 fails: half, at both ends, on that plane alone"
lab fail "$lab" subport s1 1 0
expect s0 "$s1" 1 "$half"
expect s1 "$s0" 1 "$half"
expect s0 "$s1" 0 "$whole"
expect s0 "$s2" 1 "$whole"
lab heal "$lab" subport s1 1 0
expect s0 "$s1" 1 "$whole"
expect s1 "$s0" 1 "$whole"

echo "# s1 loses plane 2: local-down at home, no-route elsewhere"
lab fail "$lab" plane s1 2
expect s1 "$s0" 2 "local-down 0"
expect s0 "$s1" 2 "no-route 0"
expect s0 "$s2" 2 "$whole"
ctl s0 why "$s1" 2 | grep -q 'BMP has withdrawn it' || failed "why does not tell the reason"
lab heal "$lab" plane s1 2
expect s1 "$s0" 2 "$whole"
expect s0 "$s1" 2 "$whole"

echo "# another rate for the whole lab: fared follows"
lab rate "$lab" all $((rate / 2000000))
expect s0 "$s1" 1 "ok $rate"
expect s3 "$s2" 0 "ok $rate"
lab rate "$lab" all $((rate / 1000000))
expect s0 "$s1" 1 "$whole"
expect s3 "$s2" 0 "$whole"

echo "# drain and undrain"
ctl s0 drain all 3 >/dev/null || failed "drain"
for peer in "$s1" "$s2" "$s3"; do is s0 "$peer" 3 "drained 0" || failed "not drained at once"; done
for host in s1 s2 s3; do expect $host "$s0" 3 "zero-bandwidth 0"; done # they are told
ctl s0 undrain all 3 >/dev/null || failed "undrain"
ctl s0 drain all 2-3 >/dev/null || failed "drain of two planes"
for plane in 2 3; do is s0 "$s1" $plane "drained 0" || failed "plane $plane is not drained"; done
ctl s0 drain all 1-9 2>/dev/null && failed "a plane that is not here was drained"
is s0 "$s1" 1 "$whole" || failed "half of a drain is in force"
ctl s0 undrain all 2,3 >/dev/null || failed "undrain of two planes"
is s0 "$s1" 3 "$whole" || failed "not back at once"
for host in s1 s2 s3; do expect $host "$s0" 3 "$whole"; done

echo "# bgpd of s0 is killed: stale, weights as they were; then ok again"
before=$(weights s0 "$s2")
lab fail "$lab" bgpd s0
await "the loss of bgpd to show" verdicts_are s0 "$s2" '["stale"]'
[ "$(weights s0 "$s2")" = "$before" ] || failed "weights moved when bgpd died: $(weights s0 "$s2"), were $before"
echo "ok: stale, weights $before"
lab heal "$lab" bgpd s0
await "paths to be ok after bgpd's return" verdicts_are s0 "$s2" '["ok"]'
[ "$(weights s0 "$s2")" = "$before" ] || failed "weights differ after bgpd's return"
echo "ok: back to ok" # that nothing moves meanwhile is for lab/drill to say, where leaves are old enough

echo "# a reload with another stale_s: the sources start anew, no weight moves; a bad one changes nothing"
config=$(dirname "$(fared_dir s0)")/fared.yaml
mark=$(ctl s0 -j show events | jq '.events[-1].seq')
events_since() { ctl s0 -j show events | jq -c --argjson m "$mark" "[.events[] | select(.seq > \$m and $1)]"; }
reloads() { [ "$(events_since '.topic == "config"' | jq length)" = "$1" ]; }
sed -i 's/stale_s: .*/stale_s: 90/' "$config"
kill -HUP "$(pid_of s0 fared)"
await "the reload" reloads 1
[ "$(events_since '.topic == "config"' | jq -r '.[0].to')" = "in force" ] || failed "reload refused"
await "paths to be ok after the reload" verdicts_are s0 "$s2" '["ok"]'
sed -i 's/bmp_port: .*/bmp_port: none/' "$config"
kill -HUP "$(pid_of s0 fared)"
await "the second reload" reloads 2
sed -i 's/bmp_port: .*/bmp_port: 5001/' "$config"
[ "$(events_since '.topic == "config"' | jq -r '.[1].to')" = "refused, nothing changed" ] || failed "a bad file was taken"
[ "$(weights s0 "$s2")" = "$before" ] || failed "weights differ after a reload"
[ "$(events_since '.topic == "path" and (.to | test("no-route|not-installed|zero"))')" = "[]" ] ||
	failed "a reload took paths away"
echo "ok: reloaded, and refused to"

echo "# farectl reload: what differs is shown, put in force, refused as a whole, undone, and no weight moves"
sed -i 's/stale_s: .*/stale_s: 91/' "$config"
ctl s0 reload --dry-run | grep -q '^sources  *bgp.stale_s: 90 -> 91$' || failed "dry run: $(ctl s0 reload --dry-run)"
value() { ctl s0 -j show config | jq -r --arg k "$1" '.config[] | select(.key == $k).value'; }
[ "$(value bgp.stale_s)" = 90 ] || failed "a dry run changes something"
[ "$(ctl s0 -j reload --confirm 2 | jq .in_force)" = true ] || failed "reload on trial"
undone() { [ "$(value bgp.stale_s)" = 90 ] && [ "$(ctl s0 -j show events | jq -c '[.events[] | select(.topic == "config").to][-2:]')" = '["in force","undone"]' ]; }
await "the reload to be undone" undone
ctl s0 reload >/dev/null || failed "reload"
[ "$(value bgp.stale_s)" = 91 ] || failed "not in force"
sed -i 's/interval_ms: .*/interval_ms: 7/; s/^node: .*/node: other/' "$config"
out=$(ctl s0 reload 2>&1) && failed "a reload that needs a restart was taken"
echo "$out" | grep -q 'need a restart: .*node' || failed "keys are not named: $out"
sed -i 's/^node: .*/node: s0/' "$config"
await "paths to be ok after reloads" verdicts_are s0 "$s2" '["ok"]'
[ "$(weights s0 "$s2")" = "$before" ] || failed "weights differ after reloads"

echo "# an advertised bandwidth that is a number of links is told of, with what to set"
scale=$(value bgp.bandwidth_scale)
sed -i 's/bandwidth_scale: .*/bandwidth_scale: 1/' "$config"
ctl s0 reload >/dev/null || failed "reload with another scale"
weights_are_back() { [ "$(weights s0 "$s2")" = "$before" ]; }
is_told() { ctl s0 -j show events --topic bandwidth | jq_true '.events | any(.to == "tiny" and (.reason | contains("bandwidth_scale")))' >/dev/null; }
await "the event of a tiny bandwidth" is_told
sed -i "s/bandwidth_scale: .*/bandwidth_scale: $scale/" "$config"
ctl s0 reload >/dev/null || failed "reload with the former scale"
await "weights as before" weights_are_back

echo "# events of a topic, of a plane, since a time"
[ "$(ctl s0 -j show events --topic config | jq -c '[.events[].topic] | unique')" = '["config"]' ] || failed "--topic"
all=$(ctl s0 -j show events | jq -c '[.events[].seq]') # more may follow
[ "$(ctl s0 -j show events --since 1h | jq -c --argjson all "$all" '[.events[].seq | select(. <= $all[-1])]')" = "$all" ] || failed "--since 1h"
[ "$(ctl s0 -j show events --since '2000-01-01 00:00' --plane 1 | jq -c '[.events[].plane] | unique')" = '[1]' ] || failed "--plane"
ctl s0 show events --since yesterday 2>/dev/null && failed "a time that is none was taken"

echo "# what is drained toward all stays so over a restart, and a sub-port's drain takes its half"
ctl s0 drain all 3 >/dev/null || failed "drain before a restart"
ctl s0 drain all 2 1 >/dev/null || failed "drain of a sub-port"
is s0 "$s1" 2 "ok $rate" || failed "a drained sub-port still counts"
expect s1 "$s0" 2 "ok $rate"
lab fail "$lab" fared s0
lab heal "$lab" fared s0
expect s0 "$s1" 3 "drained 0"
expect s0 "$s1" 2 "ok $rate"
expect s1 "$s0" 3 "zero-bandwidth 0"
expect s1 "$s0" 2 "ok $rate"
ctl s0 undrain all >/dev/null || failed "undrain all"
for peer in "$s1" "$s2" "$s3"; do
	for plane in 2 3; do expect s0 "$peer" $plane "$whole"; done
done

echo "# fared of s0 is killed and restarted: the segment is adopted, no weight moves; that its configuration names another"
echo "# release of FRR than runs makes no difference once BMP has named it"
before=$(for p in "$s1" "$s2" "$s3"; do weights s0 "$p"; done)
dir=$(fared_dir s0)
head -c 32 "$dir/paths.shm" >/dev/null || failed "no segment"
inode=$(stat -c %i "$dir/paths.shm")
sources_up() { ctl s0 -j show planes | jq_true '[.sources[] | select((.source == "bmp" or .source == "zserv") and .state == "up")] | length == 2'; }
await "sources to be up, which is an event" sources_up
mark=$(ctl s0 -j show events | jq -c '.events[-1]')
lab fail "$lab" fared s0
[ "$(stat -c %i "$dir/paths.shm")" = "$inode" ] || failed "the segment went with the daemon"
cp "$config" "/tmp/$lab.right"
sed -i 's/frr_version: .*/frr_version: "10.7"/' "$config"
lab heal "$lab" fared s0
answers() { ctl s0 -j show version >"/tmp/$lab.version" 2>/dev/null; }
await "fared to answer" answers
[ "$(jq .adopted "/tmp/$lab.version")" = true ] || failed "not adopted: $(cat "/tmp/$lab.version")"
[ "$(stat -c %i "$dir/paths.shm")" = "$inode" ] || failed "the segment was replaced"
await "paths to be ok after fared's return" verdicts_are s0 "$s2" '["ok"]'
[ "$(for p in "$s1" "$s2" "$s3"; do weights s0 "$p"; done)" = "$before" ] || failed "weights moved over fared's restart"
[ "$(ctl s0 -j show events | jq -c --argjson m "$mark" '[.events[] | select(.seq == $m.seq)]')" = "[$mark]" ] ||
	failed "the last event of the former daemon is not known: $mark"
[ "$(ctl s0 -j show events | jq --argjson m "$mark" '[.events[] | select(.seq > $m.seq)][0] | "\(.seq - $m.seq) \(.topic)"')" = '"1 daemon"' ] ||
	failed "events do not go on from there"
moves=$(ctl s0 -j show events | jq -c --argjson m "$mark" '[.events[] | select(.seq > $m.seq and .topic == "path") | select((.from | sub("^[a-z-]+ "; "")) != (.to | sub("^[a-z-]+ "; "")))]')
[ "$moves" = "[]" ] || failed "published differently after the restart: $moves"
zserv_is_up() { [ "$(ctl s0 -j show planes | jq -r '.sources[] | select(.source == "zserv").state')" = up ]; }
await "zebra to be understood" zserv_is_up
[ "$(verdicts s0 "$s2")" = '["ok"]' ] || failed "a stale frr_version takes paths away"
cp "/tmp/$lab.right" "$config"
echo "ok: adopted $(jq .pairs_adopted "/tmp/$lab.version") pairs; no bandwidth was republished differently"

echo "# s3 has no ports toward plane 1 any more: it says so, and its other planes keep their numbers"
config3=$(dirname "$(fared_dir s3)")/fared.yaml
cp "$config3" "/tmp/$lab.right"
awk '/- sub_ports:/ { n++; if (n == 3) { print "      - plane: 2"; print "        sub_ports:"; next } } n != 2' \
	"/tmp/$lab.right" >"$config3"
lab fail "$lab" fared s3
lab heal "$lab" fared s3
expect s3 "$s2" 1 "local-down 0"
expect s3 "$s2" 2 "$whole"
expect s2 "$s3" 1 "zero-bandwidth 0"
expect s2 "$s3" 2 "$whole"
cp "/tmp/$lab.right" "$config3"
lab fail "$lab" fared s3
lab heal "$lab" fared s3
expect s3 "$s2" 1 "$whole"
expect s2 "$s3" 1 "$whole"

echo "# a second fared, not root, whose BMP never comes: zebra's relative weights, marked as such"
lab fail "$lab" subport s1 1 0
expect s0 "$s1" 1 "$half"
install -d -o frr "/tmp/$lab.second" || failed "no run directory for the second fared"
sed -e 's/bmp_port:.*/bmp_port: 5999/' -e 's/^user:.*/user: frr/' -e 's/enabled: true/enabled: false/' "$(dirname "$dir")/fared.yaml" >"/tmp/$lab.yaml"
# what a killed fared holds until its last thread has gone: here, until the next one has seen that it is held
mkfifo "/tmp/$lab.held" "/tmp/$lab.release"
(exec 9>"/tmp/$lab.second/fared.lock" && flock 9 && echo >"/tmp/$lab.held" && read -r _ <"/tmp/$lab.release") >/dev/null 2>&1 &
holder=$!
read -r <"/tmp/$lab.held"
"$bin/farelab" exec "$lab" s0 -- "$bin/fared" --config "/tmp/$lab.yaml" --run-dir "/tmp/$lab.second" 2>"/tmp/$lab.log" &
second=$!
lock_is_open() { ! kill -0 $second 2>/dev/null || ls -l "/proc/$second/fd" 2>/dev/null | grep -q "/tmp/$lab.second/fared.lock"; }
await "the second fared to open its lock" lock_is_open
kill -0 $second 2>/dev/null || failed "fared does not wait for the lock: $(cat "/tmp/$lab.log")"
echo >"/tmp/$lab.release"
ctl2() { "$bin/farectl" -s "/tmp/$lab.second" "$@"; }
# FRR 8.4 weighs 50:100, 10.x 127:255
near2() { # PEER PLANE BPS: usable, within a percent, from relative weights
	ctl2 -j show paths "$1" "$2" 2>/dev/null | jq_true --argjson bps "$3" \
		'.paths[0] | .verdict == "ok" and .normalised and .usable_bps >= 0.99 * $bps and .usable_bps <= 1.01 * $bps' >/dev/null
}
weights_count() { near2 "$s1" 0 $((2 * rate)) && near2 "$s1" 1 "$rate"; }
await "zebra's weights to be used: $(cat "/tmp/$lab.log")" weights_count
uid=$(stat -c %u "/proc/$(pgrep -f "run-dir /tmp/$lab.second" | tail -1)")
[ "$uid" = "$(id -u frr)" ] || failed "the second fared runs as uid $uid"
echo "ok: normalised weights 2:1, without root"
kill "$second"; wait "$second" 2>/dev/null; second=
lab heal "$lab" subport s1 1 0

echo "PASSED"
