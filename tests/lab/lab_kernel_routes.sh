#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernel_routes: TCP of programs that know nothing of fared leaves a plane that drops everything with its carrier up, weighs
# planes by their bandwidth, follows a drain; and BGP's routes are in force again when fared is killed.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tcp_flows.sh"
PATIENCE_S=30
RATE=100 # Mb/s of a sub-port

printf 'name: kr\nservers: 2\nplanes: 4\nsub_ports: 2\nrate_mbps: %s\n' $RATE >"$SCRATCH/topology.yaml"
farelab up "$SCRATCH/topology.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
farelab status "$LAB" --json >"$SCRATCH/status"
config() { echo "$(dirname "$(host "$1" .fared_run_dir)")/fared.yaml"; }
# in the server's namespace, whose routes it compares
kernel() { on "$1" -- "$FARE_BIN/farectl" -s "$(host "$1" .fared_run_dir)" "${@:2}" show kernel; }
s0=$(host s0 '.gpus[0].ipv4') s1=$(host s1 '.gpus[0].ipv4')
for of in s0 s1; do on $of -- sysctl -qw net.ipv4.fib_multipath_hash_policy=1; done
hops() { on s0 -- ip route show table 7784 "$s1" 2>/dev/null | grep -o 'dev [^ ]*' | sort -u | wc -l; }
hops_are() { [ "$(hops)" = "$1" ]; }
as_wanted() { kernel "$1" -j | jq_true '.on and .connected and .rule and (.kernel | length >= 1) and all(.kernel[]; .same and .given and (.hops | length == '"$2"'))' >/dev/null; }
rules() { { on "$1" -- ip rule; on "$1" -- ip -6 rule; } | grep -c 'lookup 7784'; }
rules_are() { [ "$(rules "$1")" = "$2" ]; }
same_as_bgp() { ! on s0 -- ip route show table 7784 2>/dev/null | grep -q .; }

gap() { jq .longest_gap_ms "$SCRATCH/flows"; }
# goodput MBPS: after the first second, over what the links carry
goodput() { jq --argjson mbps "$1" '.bins_bytes[10:] | add / length * 80 / ($mbps * 1e6) * 1000 | round / 1000' "$SCRATCH/flows"; }
# gap_of WHAT COMMAND...: the longest gap while COMMAND is done after a second
gap_of() {
	local what=$1
	shift
	flows 3 1400
	sleep 1
	"$@" || fail "$what"
	arrived
	echo "$what: longest gap $(gap) ms"
}
at_most() { jq -n -e "$1 <= $2" >/dev/null || fail "$3: $1, more than $2"; }
at_least() { jq -n -e "$1 >= $2" >/dev/null || fail "$3: $1, less than $2"; }
gray() { farelab gray "$LAB" leaf l1 --loss-percent "$1"; }
heal() { gray 0 && within all_ok s0 && within all_ok s1 || fail "not healed"; }

within all_ok s0 && within all_ok s1 || fail "paths are not ok"
echo "# off: BGP alone, no route of fared's, no rule"
same_as_bgp || fail "routes without kernel_routes"
gap_of "off, gray leaf" gray 100
at_least "$(gap)" 1500 "BGP alone does not notice it"
heal

echo "# on: as root, at the start, fared adds the rule"
for of in s0 s1; do
	sed -i '1i kernel_routes: on' "$(config $of)"
	farelab fail "$LAB" fared $of && farelab heal "$LAB" fared $of || fail "restart of $of"
done
within as_wanted s0 8 && within as_wanted s1 8 || fail "not installed: $(kernel s0)"
rules_are s0 2 || fail "not one rule each: $(on s0 -- ip rule; on s0 -- ip -6 rule)"
on s0 -- ip route show "$s1" | grep -q 'proto bgp' || fail "BGP's route is not in the main table any more"
within all_ok s0 && within all_ok s1 || fail "paths are not ok"

echo "# planes that carry nothing are probed at the full rate: the next connection does not meet a dead one"
sent() { ctl s0 -j show counters | jq '[.counters[] | select(.part == "prober" and .counter == "sent") | .count] | add'; }
# for a second what fared, restarted, has found new is probed fast in any case
known() { ctl s0 -j show paths | jq_true 'all(.paths[]; .since_s > 3)'; }
within known || fail "paths do not stay as they are: $(ctl s0 show paths)"
until_sent=$(($(sent) + 200)) began=$(date +%s%N)
more() { [ "$(sent)" -ge "$until_sent" ]; }
within more || fail "idle planes are not probed"
took=$((($(date +%s%N) - began) / 1000000))
echo "200 probes in $took ms" # four paths that are slow: 50 s
at_most "$took" 10000 "idle planes are probed slowly"

gap_of "on, gray leaf" gray 100
gray_gap=$(gap)
hops_are 6 || fail "the dead plane is in the route: $(kernel s0)"
ctl s0 -j show paths "$s1" 1 | jq_true '.paths[0].verdict == "probe-down"' >/dev/null || fail "the verdict is another"
flows 4 0
arrived
gray_goodput=$(goodput $((6 * RATE)))
echo "on, gray leaf: goodput $gray_goodput of the optimum"
heal
within hops_are 8 || fail "the plane is not back: $(kernel s0)"
at_most "$gray_gap" 300 "gap with a gray leaf"

gap_of "on, a remote sub-port is lost" farelab fail "$LAB" subport s1 2 0
remote_gap=$(gap)
flows 4 0
arrived
remote_goodput=$(goodput $((7 * RATE)))
echo "on, a remote sub-port is lost: goodput $remote_goodput of the optimum"
farelab heal "$LAB" subport s1 2 0
within all_ok s0 && within all_ok s1 || fail "not healed"

drain() { ctl s0 drain all 3 >/dev/null; }
gap_of "on, drain" drain
drain_gap=$(gap)
hops_are 6 || fail "the drained plane is in the route"
ctl s0 undrain all 3 >/dev/null
within hops_are 8 || fail "not undrained"

# ends HOW: no route and no rule of s0's fared is left, BGP's are used; and the next fared has them again
ends() {
	within same_as_bgp || fail "left behind by $1: $(on s0 -- ip route show table 7784)"
	within rules_are s0 0 || fail "a rule is left behind by $1: $(on s0 -- ip rule; on s0 -- ip -6 rule)"
	on s0 -- ip route get "$s1" >/dev/null || fail "no route after $1"
	farelab heal "$LAB" fared s0
	within as_wanted s0 8 || fail "not given again after $1: $(kernel s0)"
	within rules_are s0 2 || fail "not two rules after $1: $(on s0 -- ip rule; on s0 -- ip -6 rule)"
}
pid_of_fared() { farelab status "$LAB" --json | jq '.servers[] | select(.name == "s0") | .pids.fared'; }
echo "# fared ends: BGP's route, nothing left behind"
kill -TERM "$(pid_of_fared)" || fail "no process"
ends SIGTERM
farelab fail "$LAB" fared s0
ends SIGKILL
# kill_both: fared, and the process that keeps the rules, which then stay, and lead nowhere
kill_both() {
	local keeper
	keeper=$(pgrep -P "$(pid_of_fared)" -x fared-rule) || fail "no process keeps the rules"
	kill -KILL "$keeper" && farelab fail "$LAB" fared s0 && within same_as_bgp && rules_are s0 2 && on s0 -- ip route get "$s1" >/dev/null ||
		fail "both killed: $(on s0 -- ip rule)"
}
kill_both
farelab heal "$LAB" fared s0
within as_wanted s0 8 && rules_are s0 2 || fail "not taken over: $(on s0 -- ip rule)"
farelab fail "$LAB" fared s0
within rules_are s0 0 || fail "rules that were taken over are left behind"
farelab heal "$LAB" fared s0
within as_wanted s0 8 || fail "not given again"
kill_both
# as docs/ops/plain-ip.md says
for v in -4 -6; do on s0 -- ip $v rule del pref 32765 lookup 7784 || fail "ip $v rule del"; done
rules_are s0 0 || fail "rules are left"
farelab heal "$LAB" fared s0
within as_wanted s0 8 && rules_are s0 2 || fail "not added again"
farelab vtysh "$LAB" s0 -- -c 'show ip route table 7784' | grep -q "$s1/32" || fail "zebra does not show fared's route"

echo "# a peer that answers no probe has no route; off and on by a reload"
farelab fail "$LAB" fared s1
within same_as_bgp || fail "a route to a silent peer: $(kernel s0)"
farelab heal "$LAB" fared s1
within as_wanted s0 8 || fail "not back: $(kernel s0)"
sed -i 's/^kernel_routes: on/kernel_routes: off/' "$(config s0)"
ctl s0 reload >/dev/null || fail "reload to off"
within same_as_bgp && within rules_are s0 0 || fail "left behind by a reload: $(on s0 -- ip rule)"
sed -i 's/^kernel_routes: off/kernel_routes: on/' "$(config s0)"
ctl s0 reload >/dev/null || fail "reload to on"
within as_wanted s0 8 && within rules_are s0 2 || fail "not back after a reload: $(kernel s0)"

echo "# zebra is killed: another one is given all again"
farelab fail "$LAB" zebra s0 && farelab heal "$LAB" zebra s0 || fail "restart of zebra"
within as_wanted s0 8 || fail "not given to another zebra: $(kernel s0)"
exit 0
