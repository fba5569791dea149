#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# FRR of a server exchanged for another release and back, under traffic whose messages are all checked. Killed, as
# docs/ops/frr-upgrade.md has it, it leaves its routes in the kernel: packets are lost for 300 ms at most. Stopped by SIGTERM, it
# takes them along, and fared says so while it is away. No message is lost in either case.
#
# FARE_FRR_OTHER: the directory of the other release; without it the same one is started again. Two releases on one host: a
# directory of scripts zebra, bgpd and mgmtd, each of which runs the program out of another distribution's package:
#   exec DIR/ld-linux-x86-64.so.2 --library-path DIR --argv0 zebra DIR/programs/zebra --moduledir DIR/modules "$@"
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"
HOLE_MS=${FARE_UPGRADE_HOLE_MS:-300}
OTHER=${FARE_FRR_OTHER:-$FRR_DIR}
run=/run/farelab/$LAB

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"

ctl() { # SERVER ARG...
	"$FARE_BIN/farectl" -s "$run/$1/fared" "${@:2}"
}

paths_are() { # SERVER VERDICT BIT/S: both paths to the other server
	ctl "$1" -j show paths | jq_true --arg verdict "$2" --argjson bps "$3" \
		'[.paths[] | select(.verdict == $verdict and .usable_bps == $bps)] | length == 2' >/dev/null
}

whole() {
	paths_are s0 ok 400000000 && paths_are s1 ok 400000000 &&
		ctl s0 -j show planes | jq_true '[.sources[] | select((.source == "bmp" or .source == "zserv") and .state == "up")] | length == 2' >/dev/null
}

# ---- what packets meet: numbered datagrams every 2 ms between the loopbacks -----------------------
cat >"$SCRATCH/echo" <<'END'
use IO::Socket::INET;
my $s = IO::Socket::INET->new(LocalAddr => $ARGV[0], LocalPort => 4000, Proto => 'udp') or die $!;
while (my $from = recv($s, my $number, 16, 0)) { send($s, $number, 0, $from) }
END
# the longest time in which none was answered, in ms; one that is sent late is not lost
cat >"$SCRATCH/hole" <<'END'
use IO::Socket::INET;
use Time::HiRes qw(time sleep);
my ($n, $over, $longest, $since, @sent, @seen) = (0, 0, 0);
my $s = IO::Socket::INET->new(LocalAddr => $ARGV[0], Proto => 'udp', Blocking => 0) or die $!;
my $peer = sockaddr_in(4000, inet_aton($ARGV[1]));
my $take = sub { while (defined recv($s, my $number, 16, 0)) { $seen[unpack 'N', $number] = 1 } };
$SIG{TERM} = sub { $over = 1 };
while (!$over) {
	$sent[$n] = time;
	send($s, pack('N', $n++), 0, $peer);
	$take->();
	sleep 0.002;
}
sleep 0.3;
$take->();
for (0 .. $n - 1) {
	$since //= $sent[$_] if !$seen[$_];
	next if !$seen[$_] || !defined $since;
	$longest = $sent[$_] - $since if $sent[$_] - $since > $longest;
	undef $since;
}
$longest = $sent[$n - 1] - $since if defined $since && $sent[$n - 1] - $since > $longest;
printf "%d\n", $longest * 1000;
END
"$FARELAB" exec "$LAB" s1 -- perl "$SCRATCH/echo" 198.19.0.2 &
echo=$!
trap 'kill ${echo:-} ${hole:-} ${drill:-} 2>/dev/null; on_exit' EXIT

# ---- FRR of s0 ------------------------------------------------------------------------------------
pid_of() { # DAEMON: of s0; nothing if it does not run
	cut -d' ' -f1 "$run/s0/$1.pid" 2>/dev/null
}

# stop SIGNAL: as FRR's own script does, zebra after bgpd
stop() {
	local daemon pid
	for daemon in bgpd zebra mgmtd; do
		pid=$(pid_of $daemon)
		[ -n "$pid" ] || continue
		kill -s "$1" "$pid"
		within ended "$pid" || fail "$daemon does not end by SIG$1"
		rm -f "$run/s0/$daemon.pid"
	done
}

# start DIRECTORY: with the configuration that this release wants
start() {
	local found version
	found=$(farelab frr --frr "$1") || fail "no FRR in $1"
	version=$(cut -d' ' -f2 <<<"$found")
	sed "s/frr_version: .*/frr_version: \"$version\"/" "$run/s0/fared.yaml" >"$SCRATCH/fared.yaml"
	"$FARE_BIN/fared" -P -Z -c "$SCRATCH/fared.yaml" >"$run/s0/frr/zebra.conf" || fail "fared prints no zebra.conf"
	# for this start alone: the rest of the lab keeps its FRR
	cp "$run/lab.json" "$SCRATCH/lab.json"
	jq --arg dir "$1" --arg version "$version" '.frr_dir = $dir | .frr_version = $version' "$SCRATCH/lab.json" >"$run/lab.json"
	farelab heal "$LAB" zebra s0 || fail "FRR of $1 does not start"
	cp "$SCRATCH/lab.json" "$run/lab.json"
}

# exchange SIGNAL DIRECTORY
exchange() {
	"$FARELAB" exec "$LAB" s0 -- perl "$SCRATCH/hole" 198.19.0.1 198.19.0.2 >"$SCRATCH/ms" &
	hole=$!
	stop "$1"
	if [ "$1" = TERM ]; then
		within paths_are s0 not-installed 0 || fail "SIGTERM: s0 says: $(ctl s0 show paths)"
		ctl s0 why 198.19.0.2 0 | grep -q 'kernel has no route' || fail "not said why: $(ctl s0 why 198.19.0.2 0)"
	fi
	start "$2"
	within whole || fail "$2 by SIG$1: not whole again: $(ctl s0 show planes; ctl s0 show paths; ctl s1 show paths)"
	kill -TERM $hole && wait $hole || fail "the datagrams ended"
	echo "SIG$1, then $(farelab frr --frr "$2"): no packet for $(cat "$SCRATCH/ms") ms"
	[ "$1" = TERM ] || [ "$(cat "$SCRATCH/ms")" -le "$HOLE_MS" ] || fail "no packet for $(cat "$SCRATCH/ms") ms, not $HOLE_MS"
}

# under_traffic SIGNAL: there and back, within one run of checked messages; a longer one if it was over before
under_traffic() {
	local seconds
	for seconds in 15 60 200; do
		printf 'name: idle\nsteps:\n  - {at_s: %d, do: gray leaf l0 --loss-percent 0}\n' $seconds >"$SCRATCH/plan.yaml"
		"$FARE_BIN/farebench" run drill --lab "$LAB" --param plan="$SCRATCH/plan.yaml" --even-busy --json "$SCRATCH/drill.json" \
			>"$SCRATCH/drill.log" 2>&1 &
		drill=$!
		within moved || { cat "$SCRATCH/drill.log"; fail "no traffic"; }
		exchange "$1" "$OTHER"
		exchange "$1" "$FRR_DIR"
		kill -0 $drill 2>/dev/null && break
	done
	wait $drill || { tail -n 20 "$SCRATCH/drill.log"; fail "SIG$1: the messages ended"; }
	jq_true '.trials.drill[0] | .messages > 0 and .lost == 0' "$SCRATCH/drill.json" >/dev/null ||
		{ jq -c '.trials.drill[0]' "$SCRATCH/drill.json"; fail "SIG$1: messages were lost"; }
	echo "SIG$1: $(jq '.trials.drill[0].messages' "$SCRATCH/drill.json") messages, 0 lost"
}
moved() { # megabytes have been acknowledged to s0
	[ "$(ctl s0 -j show qps 2>/dev/null | jq '[(.qps? // .)[].bytes] | add // 0')" -ge 5000000 ]
}

within whole || fail "not whole: $(ctl s0 show planes; ctl s0 show paths)"
under_traffic KILL
under_traffic TERM
exit 0
