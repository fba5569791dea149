#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Ten faults, one after the other: `show events -l warning` shows each, and so does `journalctl -p warning`, which reads the priority
# before each line of the log; what brings it back is no warning.
. "$(dirname "$0")/lib.sh"

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
RUN=/run/farelab/$LAB/s0/fared
ctl() { "$FARE_BIN/farectl" -s "$RUN" "$@"; }
is_well() {
	ctl -j show paths | jq_true '(.paths | length) == 2 and all(.paths[]; .verdict == "ok" and .usable_bps == .local_bps and
		.live_sub_ports == 2 and .probe.state == "up" and .probe.gray_local_sub_ports == 0 and .probe.gray_remote_sub_ports == 0)' &&
		ctl -j show planes | jq_true 'all(.sources[] | select(.configured); .state == "up")'
}
# said LEVEL FILTER: some event since MARK, of that level or more important
said() { ctl -j show events -l "$1" 2>/dev/null | jq_true --argjson mark "$MARK" "[.events[] | select(.seq > \$mark) | select($2)] | length > 0"; }
mark() { MARK=$(ctl -j show events | jq '[.events[].seq] | max'); }

LOG=/run/farelab/$LAB/s0/fared.log
lines() { wc -l <"$LOG"; }
warnings_since() { tail -n +$(($1 + 1)) "$LOG" | grep '^<[0-4]>'; }
faults_since() { warnings_since "$1" | grep -v 'source: bmp up -> down'; } # bgpd begins anew with its zebra

# fault FILTER BREAK HEAL [takes]: the commands, and what warns of it; takes: what brings it back may take paths away for a moment
n=0
fault() {
	local line
	mark
	line=$(lines)
	eval "$2" || fail "$2"
	within said warning "$1" || fail "no warning of: $2: $(ctl show events)"
	within warnings_since "$line" >/dev/null || fail "no warning in the log of: $2: $(tail -n +$((line + 1)) "$LOG")"
	mark
	line=$(lines)
	eval "$3" || fail "$3"
	within is_well || fail "not well after: $3: $(ctl show paths)"
	[ "${4:-}" = takes ] || ! faults_since "$line" || fail "a warning of what brings it back: $3"
	n=$((n + 1))
}
lab() { farelab "$1" "$LAB" "${@:2}"; }
inside() { farelab exec "$LAB" s0 -- "$@"; }

within is_well || fail "not well: $(ctl show paths)"
fault '.topic == "link" and (.subject == "g0p0s1") and (.to | startswith("up") | not)' 'lab fail subport s0 0 1' 'lab heal subport s0 0 1'
fault '.topic == "path" and .plane == 1 and .to == "local-down"' 'lab fail plane s0 1' 'lab heal plane s0 1'
# what the peer says comes first; what BGP says follows
half() { ctl -j show paths | jq_true 'any(.paths[]; .plane == 0 and .advertised_bps == 200000000)'; }
fault '.topic == "path" and .plane == 0 and (.to | startswith("ok"))' 'lab fail subport s1 0 0 && within half' 'lab heal subport s1 0 0'
fault '.topic == "path" and .plane == 1 and (.to | startswith("ok") | not)' 'lab fail plane s1 1' 'lab heal plane s1 1'
fault '.topic == "link" and .plane == 0 and .to == "no-carrier"' 'lab fail leaf l0' 'lab heal leaf l0'
fault '.topic == "probe" and .plane == 1 and .to == "down"' 'lab gray leaf l1' 'lab gray leaf l1 --loss-percent 0'
fault '.topic == "probe" and .to == "gray"' 'lab gray subport s0 0 1' 'lab gray subport s0 0 1 --loss-percent 0'
fault '.topic == "link" and (.to | startswith("mtu"))' 'inside ip link set g0p1s0 mtu 1400' 'inside ip link set g0p1s0 mtu 4200'
fault '.topic == "source" and .subject == "zserv" and .to == "down"' 'lab fail zebra s0' 'lab heal zebra s0'
# while leaves are young FRR takes routes out of the kernel here (see leaves_settled): lab/drill waits for that
fault '.topic == "source" and .subject == "bmp" and .to == "down"' 'lab fail bgpd s0' 'lab heal bgpd s0' takes
[ "$n" = 10 ] || fail "$n faults"

# what was asked for is no warning
mark
ctl drain all 1 >/dev/null || fail "drain"
within said notice '.topic == "path" and .plane == 1 and .to == "drained"' || fail "no event of a drain: $(ctl show events)"
said warning '.topic == "path"' && fail "a drain is a warning: $(ctl show events)"
ctl undrain all 1 >/dev/null || fail "undrain"

# A daemon that never reaches bgpd says so after 10 s, with what the kernel answers.
RUN=$SCRATCH/lone
sed "s,^run_dir:.*,run_dir: $RUN,; s,bmp_port: [0-9]*,bmp_port: 5999," "/run/farelab/$LAB/s0/fared.yaml" >"$SCRATCH/lone.yaml"
grep -q 5999 "$SCRATCH/lone.yaml" || fail "the configuration has no bmp_port"
lab fail fared s0 || fail "fail fared"
inside "$FARE_BIN/fared" -c "$SCRATCH/lone.yaml" 2>"$SCRATCH/log" &
MARK=0
within said warning '.topic == "source" and .subject == "bmp" and (.reason | contains("Connection refused")) and
	(.evidence | startswith("for 1"))' || fail "a daemon without bgpd says nothing: $(cat "$SCRATCH/log")"
exit 0
