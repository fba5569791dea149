#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Plane health end to end: probes run and dissect as BFD, a gray leaf goes probe-down and comes back by itself, a lost
# sub-port is told peer to peer before BGP tells it, a prober that dies moves nothing, foreign reflectors are used,
# forged packets change nothing.
. "$(dirname "$0")/lib.sh"

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
PEER=198.19.0.2

ctl() { # ctl SERVER ARG...
	local server=$1
	shift
	"$FARE_BIN/farectl" -s "/run/farelab/$LAB/$server/fared" "$@"
}

# field PLANE PATH...: of s0's path to the peer over that plane, as jq would say
field() {
	local plane=$1
	shift
	ctl s0 -j show paths | jq -r --arg peer "$PEER" --argjson plane "$plane" \
		'[(.paths? // .)[] | select(.peer == $peer and .plane == $plane)][0] | getpath($ARGS.positional) |
		if type == "number" then . + 0 else . end' --args "$@" # jq 1.7 prints 2.0 as it came
}

is() { # is WANTED PLANE PATH...
	local wanted=$1
	shift
	[ "$(field "$@" 2>/dev/null)" = "$wanted" ]
}

for plane in 0 1; do
	within is up $plane probe state || fail "plane $plane: not probed: $(field $plane probe)"
	within is ok $plane verdict || fail "plane $plane: $(field $plane verdict)"
done
ctl s0 why $PEER 0 | grep -q "probes: *up" || fail "why does not tell of probes"

# ---- on the wire ---------------------------------------------------------------------------------
if command -v tshark >/dev/null; then
	capture=$SCRATCH/probes.pcap
	farelab exec "$LAB" l0 -- timeout 120 tshark -q -i s0g0s0 -f "udp port 7784" -c 40 -w "$capture" 2>/dev/null
	fields=$(tshark -r "$capture" -d udp.port==7784,bfd -T fields -e ip.ttl -e bfd.version -e bfd.sta \
		-e bfd.flags.d -e bfd.detect_time_multiplier -e bfd.message_length 2>/dev/null | sort | uniq -c)
	echo "$fields"
	[ "$(tshark -r "$capture" -d udp.port==7784,bfd -Y bfd 2>/dev/null | wc -l)" -ge 40 ] ||
		fail "tshark does not take the packets for BFD"
	[ "$(tshark -r "$capture" -d udp.port==7784,bfd -Y "_ws.malformed or bfd.version != 1" 2>/dev/null | wc -l)" = 0 ] ||
		fail "tshark calls packets malformed"
	[ "$(tshark -r "$capture" -d udp.port==7784,bfd -Y "udp.dstport == 7784 and bfd.flags.d == 0" 2>/dev/null | wc -l)" = 0 ] ||
		fail "a probe without the demand bit"
	[ "$(tshark -r "$capture" -Y "ip.ttl < 254 or (ip.dsfield.dscp != 48 and ip.dsfield.dscp != 26)" 2>/dev/null | wc -l)" = 0 ] ||
		fail "a TTL below 254, or not the DSCP of network control"
	data=$(tshark -r "$capture" -Y "ip.dsfield.dscp == 26" 2>/dev/null | wc -l) # one of two of each pair that compares classes
	[ "$data" -le $((40 - data + 1)) ] || fail "$data of 40 packets have data's DSCP"
else
	echo "tshark is not installed: dissection not checked"
fi

# ---- a gray leaf ---------------------------------------------------------------------------------
"$FARE_BIN/farectl" -s "/run/farelab/$LAB/s0/fared" -j trace $PEER 0 --count 10000 >"$SCRATCH/trace" &
trace=$!
traced() { grep -q "$1" "$SCRATCH/trace"; }
within traced '"what":"answered"' || fail "no trace: $(cat "$SCRATCH/trace")"
ctl s0 trace $PEER 1 2>"$SCRATCH/second" && fail "two traces at once"
grep -q 'another trace is under way, by uid=0' "$SCRATCH/second" || fail "who traces is not told: $(cat "$SCRATCH/second")"
farelab gray "$LAB" leaf l0 --loss-percent 100 || fail "gray leaf"
within is probe-down 0 verdict || fail "gray leaf: $(field 0 verdict)"
within traced '"what":"state".*"to":"down"' || fail "the trace does not tell of the path's end: $(tail -3 "$SCRATCH/trace")"
kill $trace
five() { ctl s0 trace $PEER 1 --count 5 >"$SCRATCH/five" 2>&1; } # once the daemon has seen the other one's end
within five || fail "a trace of five probes: $(cat "$SCRATCH/five")"
[ "$(grep -c ' sent ' "$SCRATCH/five")" = 5 ] && grep -qE '^5 probes sent, [45] answered' "$SCRATCH/five" ||
	fail "not five probes: $(cat "$SCRATCH/five")"
cat "$SCRATCH/five"
is ok 1 verdict || fail "gray leaf l0 took plane 1 along: $(field 1 verdict)"
field 0 reason
farelab gray "$LAB" leaf l0 --loss-percent 0 || fail "heal gray leaf"
within is ok 0 verdict || fail "healed leaf: $(field 0 verdict): $(field 0 reason)"
ctl s0 show events | grep "probe-down -> ramping" >/dev/null || fail "bandwidth was not given back in steps"

# ---- a gray sub-port -----------------------------------------------------------------------------
farelab gray "$LAB" subport s1 0 1 --loss-percent 100 || fail "gray sub-port"
within is 200000000 0 usable_bps || fail "gray remote sub-port: $(field 0 usable_bps): $(field 0 reason)"
is ok 0 verdict || fail "a gray sub-port took its plane along: $(field 0 reason)"
field 0 reason | grep -q "sub-port 1" || fail "the reason does not name the sub-port: $(field 0 reason)"
is 2 0 probe gray_remote_sub_ports || fail "not the remote sub-port 1: $(field 0 probe)"
is 400000000 1 usable_bps || fail "a gray sub-port of plane 0 took from plane 1"
farelab gray "$LAB" subport s1 0 1 --loss-percent 0 || fail "heal gray sub-port"
within is 400000000 0 usable_bps || fail "healed sub-port: $(field 0 usable_bps): $(field 0 reason)"

# ---- routes that are away over one sub-port ------------------------------------------------------
# A bgpd that restarts has the kernel's routes back session by session: for a moment one of a plane's sub-ports has none.
newest_event() { # SERVER
	ctl "$1" -j show events | grep -o '"seq": *[0-9]*' | tail -1 | grep -o '[0-9]*'
}
told_gray() { # SERVER SINCE
	ctl "$1" -j show events | jq -er --argjson seq "$2" '.events[] | select(.seq > $seq and .to == "gray").from'
}
grep_own() { # the server's own sub-port 1 of plane 0
	told_gray s0 "$before0" | grep -q "local sub-port 1"
}
# An application that is not attached: its packets alone have the plane probed fast.
farelab exec "$LAB" s0 -- perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0);
	setsockopt(S, SOL_SOCKET, 25, "g0p0s0") or die $!; # SO_BINDTODEVICE
	for (;;) { send(S, "x", 0, sockaddr_in(9, inet_aton("198.19.0.2"))); select(undef, undef, undef, 0.004) }' &
talker=$!
route=$(ip -n "fl-$LAB-s0" route show $PEER | tr -d '\\\n\t')
fewer=$(echo "$route" | sed 's/nexthop via [0-9.]* dev g0p0s1 weight [0-9]* *//')
[ "$(echo "$fewer" | grep -o nexthop | wc -l)" = 3 ] || fail "unexpected route: $route"
probed() { # so many probes later
	[ "$(field 0 probe sent)" -ge "$enough" ]
}
before0=$(newest_event s0) before1=$(newest_event s1)
for i in 1 2 3; do
	# the fault's own length, not a wait: beyond a second it would rightly be found out
	ip -n "fl-$LAB-s0" route replace $fewer && sleep 0.2 && ip -n "fl-$LAB-s0" route replace $route || fail "ip route replace"
	enough=$(($(field 0 probe sent) + 1000)) # seconds: flapping routes are a fault (or a quarter of an hour, without traffic)
	within probed || fail "no probes: $(field 0 probe)"
done
told_gray s0 "$before0" && fail "a sub-port without a route for 200 ms was blamed"
told_gray s1 "$before1" && fail "a peer's sub-port without a route for 200 ms was blamed"
is up 0 probe state || fail "a route that was away for 200 ms: $(field 0 probe)"
ip -n "fl-$LAB-s0" route replace $fewer || fail "ip route replace"
within grep_own || fail "a sub-port without a route for good is not found out: $(field 0 probe)"
ip -n "fl-$LAB-s0" route replace $route || fail "ip route replace"
within is 400000000 0 usable_bps || fail "routes are back: $(field 0 usable_bps): $(field 0 reason)"
told_gray s1 "$before1" && fail "a peer's sub-port without a route was blamed, though its answers had another way"
kill $talker

# ---- one part in ten lost ------------------------------------------------------------------------
farelab gray "$LAB" leaf l1 --loss-percent 10 || fail "lossy leaf"
within is probe-down 1 verdict || fail "10% loss: $(field 1 verdict), $(field 1 probe loss_ppm) ppm"
is ok 0 verdict || fail "lossy leaf l1 took plane 0 along"
farelab gray "$LAB" leaf l1 --loss-percent 0 || fail "heal lossy leaf"
within is ok 1 verdict || fail "healed lossy leaf: $(field 1 verdict): $(field 1 reason)"

# ---- in-band notice ------------------------------------------------------------------------------
within farelab status "$LAB" >/dev/null || fail "not converged again"
farelab fail "$LAB" subport s1 0 1 || fail "fail subport"
within is 200000000 0 noticed_bps || fail "no notice of the peer's lost sub-port: $(field 0 noticed_bps)"
is 200000000 0 usable_bps || fail "the notice is not heeded: $(field 0 usable_bps)"
# which comes first, notice or BGP, is a figure (farebench run failover): the kernel may sit on a carrier's event for a second.
# Here BGP has told of the loss before the port is healed, else it would tell of it after the path is whole again.
within is 200000000 0 advertised_bps || fail "BGP does not tell of the lost sub-port: $(field 0 advertised_bps)"
farelab heal "$LAB" subport s1 0 1 || fail "heal subport"
within is 400000000 0 usable_bps || fail "healed sub-port: $(field 0 usable_bps): $(field 0 reason)"
within is null 0 noticed_bps || fail "a notice outlives its cause"

# ---- nothing moves -------------------------------------------------------------------------------
counted() { # what the reflector did not believe
	ctl s0 -j show counters | jq '[.counters[] | select(.part == "reflector" and (.counter | IN("malformed", "forged"))).count] | add'
}
before=$(counted)
seq=$(ctl s0 -j show events | grep -o '"seq": *[0-9]*' | tail -1 | grep -o '[0-9]*')
farelab exec "$LAB" s1 -- perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0); $to = sockaddr_in(7784, inet_aton("198.19.0.1"));
	setsockopt(S, IPPROTO_IP, IP_TTL, 255); srand 1;
	for (1..500) { send(S, join("", map { chr rand 256 } 1..int rand 300), 0, $to);
		send(S, pack("C4N5", 0x20, 0xc2, 3, 24, $_, 0xc6130001, 3000, 0, 0) . "FARE\1\0\0\0" .
			pack("CCQ>NNCQ>2", 3, 33, 1e18, 1, 5000, 2, 0, 0), 0, $to) }'
all_counted() { [ "$(counted)" -ge $((before + 900)) ]; } # of a thousand, as some of chance's own are counted otherwise
within all_counted || fail "forged packets are not counted: $(ctl s0 show counters)"
ctl s0 show counters
farelab fail "$LAB" fared s1 || fail "kill fared"
for plane in 0 1; do
	within is unproven $plane probe state || fail "silent peer: $(field 0 probe) $(field 1 probe)"
done
for plane in 0 1; do
	is ok $plane verdict || fail "a dead prober or a forged notice moved plane $plane: $(field $plane reason)"
done

# a reflector that knows BFD and nothing else, in the place of the dead one
farelab exec "$LAB" s1 -- perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0); setsockopt(S, IPPROTO_IP, IP_TTL, 255);
	bind(S, sockaddr_in(7784, inet_aton("198.19.0.2"))) or die; $SIG{ALRM} = sub { exit }; alarm 600;
	while ($from = recv(S, $p, 2000, 0)) { ($a, $f, $m, $l, $my, $your, @t) = unpack("C4N5", $p);
		send(S, pack("C4N5", $a, 0xc0, $m, 24, $your, $my, $t[0], 1000, 0), 0, $from) }' &
reflector=$!
within is true 0 probe third_party || fail "a foreign reflector is not used: $(field 0 probe)"
within is up 0 probe state || fail "a foreign reflector is not believed: $(field 0 probe)"
kill $reflector 2>/dev/null
farelab exec "$LAB" s1 -- sh -c 'for p in $(ip netns pids $(ip netns identify $$)); do
	[ "$(cat /proc/$p/comm)" = perl ] && kill $p; done' 2>/dev/null
within farelab heal "$LAB" fared s1 || fail "start fared again"
within is false 0 probe third_party || fail "its return is not noticed"
for plane in 0 1; do
	within is up $plane probe state || fail "plane $plane after all: $(field $plane probe)"
done
moved=$(ctl s0 -j show events | jq --argjson seq "$seq" '[.events[] | select(.seq > $seq and .topic == "path")] | length')
[ "$moved" = 0 ] || { ctl s0 show events | tail -20; fail "$moved paths moved for nothing"; }
exit 0
