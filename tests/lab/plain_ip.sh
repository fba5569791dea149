#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# plain_ip.sh FILE [ROUTING...]: TCP of programs that know nothing of fared, 64 connections between two servers, while something
# breaks: by BGP alone with timers 60/180, 3/9, 1/3, with bfdd (50 ms x 3) beside 1/3, and with kernel_routes on beside 1/3. Of each
# fault (FAULTS of the environment: gray remote-sub-port plane drain):
#   gap_ms   the longest time in which some connection received nothing, at a third of the rate: nothing waits for a queue
#   before, during, after
#            what arrived over what the links that were left carry, each connection sending all that TCP takes: in the 2 s before the fault,
#            from 1 s after it to its end (idle: what was idle of the machine's cores meanwhile, percent: where that is little, the
#            figure is the machine's), and in the last 2 s, which begin 6 s after it was healed
# One document into FILE: {"plain_ip": [one of each]}; a table to standard output.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tcp_flows.sh"
OUT=$1
shift
[ $# -gt 0 ] || set -- 60/180 3/9 1/3 bfdd fared
FAULTS=${FAULTS:-gray remote-sub-port plane drain}
RATE=${RATE:-50} PATIENCE_S=30 # Mb/s of a sub-port
HOSTS="s0 s1 l0 l1 l2 l3"

vty() { farelab vtysh "$LAB" "$1" -- -c "conf t" -c "router bgp $(as_of "$1")" "${@:2}" >/dev/null; }
as_of() { awk '/^router bgp/ { print $3 }' "/run/farelab/$LAB/$1/frr/bgpd.conf"; }
# next_hops N: over the kernel's own route and, where there is one, over fared's
next_hops() {
	local of t
	for of in s0:$s1 s1:$s0; do
		for t in main $tables; do
			[ "$(on "${of%%:*}" -- ip route show table "$t" "${of#*:}" | grep -o 'dev [^ ]*' | sort -u | wc -l)" = "$1" ] || return 1
		done
	done
}
is_whole() { all_ok s0 && all_ok s1 && next_hops 8; }

# the lab, with that routing
up() {
	local timers=${1/\// hold_s} h file
	case $1 in bfdd | fared) timers=1/3 ;; *) timers=$1 ;; esac
	printf 'name: pi\nservers: 2\nplanes: 4\nsub_ports: 2\nrate_mbps: %s\nbgp_timers: {keepalive_s: %s, hold_s: %s}\n' \
		$RATE "${timers%/*}" "${timers#*/}" >"$SCRATCH/topology.yaml"
	farelab up "$SCRATCH/topology.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S >&2 || fail "not converged"
	farelab status "$LAB" --json >"$SCRATCH/status"
	s0=$(host s0 '.gpus[0].ipv4') s1=$(host s1 '.gpus[0].ipv4') tables=
	for h in s0 s1; do on $h -- sysctl -qw net.ipv4.fib_multipath_hash_policy=1; done
	[ "$1" != bfdd ] || for h in $HOSTS; do start_bfdd $h; done
	[ "$1" != bfdd ] || within bfd_up || fail "bfdd's sessions are not up: $(farelab vtysh "$LAB" s0 -- -c 'show bfd peers brief')"
	[ "$1" != fared ] || for h in s0 s1; do
		tables=7784
		file=$(dirname "$(host $h .fared_run_dir)")/fared.yaml
		sed -i '1i kernel_routes: on' "$file"
		farelab fail "$LAB" fared $h && farelab heal "$LAB" fared $h || fail "restart of $h"
	done
	within is_whole || fail "not whole"
}

start_bfdd() {
	local dir=/run/farelab/$LAB/$1/frr group
	on "$1" -- "$FRR_DIR/bfdd" -d -i "$dir/bfdd.pid" --vty_socket "$dir" -P 0 -z "$dir/zserv.api" --bfdctl "$dir/bfdd.sock" \
		>/dev/null 2>&1 || fail "bfdd"
	for group in $(awk '$1 == "neighbor" && $3 == "peer-group" && !$4 { print $2 }' "$dir/bgpd.conf"); do
		vty "$1" -c "neighbor $group bfd" -c "neighbor $group bfd 3 50 50" || fail "no BFD in $1"
	done
}
bfd_up() { for h in s0 s1; do [ "$(farelab vtysh "$LAB" $h -- -c 'show bfd peers json' | jq '[.[] | select(.status == "up")] | length')" = 8 ] || return 1; done; }

# breaks and mends WHAT
breaks() {
	case $1 in
	gray) farelab gray "$LAB" leaf l1 --loss-percent 100 ;;
	remote-sub-port) farelab fail "$LAB" subport s1 2 0 ;;
	plane) farelab fail "$LAB" leaf l1 ;;
	drain) drain drain "" ;;
	esac >&2 || fail "$1"
}
mends() {
	case $1 in
	gray) farelab gray "$LAB" leaf l1 --loss-percent 0 ;;
	remote-sub-port) farelab heal "$LAB" subport s1 2 0 ;;
	plane) farelab heal "$LAB" leaf l1 ;;
	drain) drain undrain "no " ;;
	esac >&2 || fail "healing $1"
}
# drain VERB NO: by fared's rule, or, with BGP alone, by shutting the plane's sessions down; on both servers
drain() {
	local h neighbor lines
	for h in s0 s1; do
		[ "$routing" != fared ] || { ctl $h "$1" all 3 && continue || return 1; }
		lines=()
		for neighbor in $(farelab vtysh "$LAB" $h -- -c 'show bgp ipv4 unicast summary json' |
			jq -r --argjson number "$(as_of l3)" '.peers | to_entries[] | select(.value.remoteAs == $number) | .key'); do
			lines+=(-c "$2neighbor $neighbor shutdown")
		done
		[ ${#lines[@]} = 4 ] && vty $h "${lines[@]}" || return 1
	done
}

# patience FAULT: how long connections are looked at, seconds. BGP keeps a silent leaf's routes for its hold time and then 20 s of
# graceful restart; TCP tries again 0.2, 0.6, 1.4, 3, 6, 13, 26, 52 s... after the fault, and then every 120 s.
patience() { case $routing$1 in 60/180gray) echo 240 ;; 3/9gray) echo 65 ;; 1/3gray) echo 40 ;; *) echo 4 ;; esac; }
left_of() { [ "$1" = remote-sub-port ] && echo 7 || echo 6; }

# idle and all ticks of the machine's cores
ticks() { awk '$1 == "cpu" { print $5 + $6, $2 + $3 + $4 + $5 + $6 + $7 + $8 }' /proc/stat; }
idle() { awk '{ printf "%d", 100 * ($3 - $1) / ($4 - $2) }' <<<"$idle_begin $idle_end"; }

# measure FAULT: a row
measure() {
	local gap broken mended idle_begin idle_end
	flows "$(patience "$1")" $((RATE * 28))
	sleep 1
	breaks "$1"
	arrived
	gap=$(jq .longest_gap_ms "$SCRATCH/flows")
	mends "$1"
	within is_whole || fail "not whole after $1"
	flows 17 0
	sleep 4
	broken=$EPOCHREALTIME
	breaks "$1"
	sleep 1
	idle_begin=$(ticks)
	sleep 4
	idle_end=$(ticks)
	mended=$EPOCHREALTIME
	mends "$1"
	arrived
	within is_whole || fail "not whole after $1"
	jq -c --arg routing "$routing" --arg fault "$1" --argjson gap "$gap" --argjson broken "$broken" --argjson mended "$mended" \
		--argjson idle "$(idle)" --argjson rate $RATE --argjson left "$(left_of "$1")" '
		def share($from; $to; $links): .bins_bytes[($from * 10 | round):($to * 10 | round)] | add / length * 80 / ($links * $rate * 1e6)
			* 1000 | round / 1000;
		($broken - .start_s) as $b | ($mended - .start_s) as $m |
		{routing: $routing, fault: $fault, gap_ms: $gap, before: share($b - 2; $b; 8), during: share($b + 1; $m; $left),
		idle: $idle, after: share(15; 17; 8)}' "$SCRATCH/flows"
}

echo "routing  fault            gap (ms)  goodput over the optimum: before  during  after  idle (%)"
for routing in "$@"; do
	up "$routing"
	for fault in $FAULTS; do
		measure "$fault" | tee -a "$SCRATCH/rows" |
			jq -r '"\(.routing)|\(.fault)|\(.gap_ms)|\(.before)|\(.during)|\(.after)|\(.idle)"' |
			awk -F'|' '{ printf "%-8s %-16s %8.0f %33.3f  %6.3f  %5.3f  %8d\n", $1, $2, $3, $4, $5, $6, $7 }'
		[ "${PIPESTATUS[0]}" = 0 ] || exit 1
	done
	farelab down "$LAB" >&2
done
jq -cs '{plain_ip: .}' "$SCRATCH/rows" >"$OUT"
