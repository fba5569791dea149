#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A daemon among enemies: clients that flood, stall and lie, a BMP server that sends garbage as fast as it can, probes from nobody,
# no memory left, a full file system, interfaces that change their names, an FRR that restarts in a loop. The daemon does not end,
# operators are answered meanwhile, weights do not move where they need not, memory and descriptors come back to what they were.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
RUN=/run/farelab/$LAB/s0/fared
# members of a group may ask, and so may abuse it
farelab fail "$LAB" fared s0 && sed -i 's/^group: .*/group: "nogroup"/; s/^log_level: .*/log_level: info/' "/run/farelab/$LAB/s0/fared.yaml" &&
	farelab heal "$LAB" fared s0 || fail "restart fared with a group"
MEMBER=(setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps=-all)
answers() { "$FARE_BIN/farectl" -s "$RUN" show version >/dev/null 2>&1; }
within answers || fail "fared does not answer"
read -r PID _ <"/run/farelab/$LAB/s0/fared.pid"
ctl() { "$FARE_BIN/farectl" -s "$RUN" "$@"; }
rss_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$PID/status"; }
descriptors() { ls "/proc/$PID/fd" | wc -l; }
newest() { ctl -j show events | jq '[.events[].seq] | max // 0'; }
verdicts_ok() { [ "$(ctl -j show paths | jq -c '[.paths[].verdict] | unique')" = '["ok"]' ]; }
whole() { [ "$(ctl -j show paths | jq '[.paths[] | select(.usable_bps == 400000000)] | length')" = 2 ]; }
# moved SINCE: paths whose bandwidth went down after that event
moved() { ctl -j show events | jq -c --argjson since "$1" '[.events[] | select(.seq > $since and .topic == "path" and (.to | test("^ok 0.4") | not))]'; }
alive() { # AFTER WHAT
	kill -0 "$PID" 2>/dev/null || { tail -5 "/run/farelab/$LAB/s0/fared.log"; fail "fared ended: $1"; }
	ctl show version >/dev/null || fail "no answer: $1"
}
unmoved() { # SINCE AFTER WHAT
	alive "$2"
	[ "$(moved "$1")" = "[]" ] || fail "$2: a path moved: $(moved "$1")"
}
within whole || fail "not every path is whole: $(ctl show paths)"
within verdicts_ok || fail "not every path is ok: $(ctl show paths)"

ctl -j show paths >/dev/null # whatever is made on first use
rss=$(rss_kb) open=$(descriptors)

# ---- control clients -----------------------------------------------------------------------------
since=$(newest)
chmod 777 "$SCRATCH"
"${MEMBER[@]}" perl -MIO::Socket::UNIX -e '
	$SIG{PIPE} = "IGNORE";
	for (1 .. 1000) {
		my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or next;
		push @held, $s;
		print $s "{\"cmd\": \"sho" if $_ % 2; # half a request, and never more
	}
	open(my $f, ">", $ARGV[1]); close($f);
	sleep 600' "$RUN/control.sock" "$SCRATCH/held" &
clients=$!
held() { [ -e "$SCRATCH/held" ]; }
within held || fail "the clients did not come"
alive "a thousand clients that stall"
ctl show paths >/dev/null || fail "root is locked out by a thousand clients"
kill "$clients"
wait "$clients" 2>/dev/null
"${MEMBER[@]}" perl -MIO::Socket::UNIX -MSocket -e '
	$SIG{PIPE} = "IGNORE"; srand 1;
	sub say_to { my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or return;
		setsockopt($s, SOL_SOCKET, SO_SNDTIMEO, pack("q2", 1, 0)); print $s $_[0]; close $s }
	say_to("x" x 3_000_000);                       # a line without an end
	say_to("[" x 100_000 . "\n");                  # deeper than any stack
	say_to("{\"cmd\": \"" . "\\u0000" x 1000 . "\"}\n");
	say_to("{\"cmd\": \"paths\", \"cursor\": 18446744073709551615, \"limit\": -1}\n");
	say_to("{\"cmd\": \"drain\", \"peer\": \"\xff\xfe\", \"plane\": 1e308}\n");
	say_to(join("", map { chr rand 256 } 1 .. 5000) . "\n") for 1 .. 50;
	say_to("{\"cmd\": \"watch\"}\n" x 200) for 1 .. 20; # and never read
' "$RUN/control.sock"
unmoved "$since" "garbage on the control socket"

# ---- packets from nobody -------------------------------------------------------------------------
since=$(newest)
farelab exec "$LAB" s1 -- timeout 3 perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0); setsockopt(S, IPPROTO_IP, IP_TTL, 255); srand 2;
	for (;;) { for my $port (7784, 4791) { send(S, join("", map { chr rand 256 } 1 .. rand 100), 0, sockaddr_in($port, inet_aton("198.19.0.1"))) } }'
unmoved "$since" "a flood of datagrams"

# ---- no memory -----------------------------------------------------------------------------------
# Events for watchers that read nothing take memory, and there is none: the log says whom that cost the connection.
since=$(newest)
perl -MIO::Socket::UNIX -e 'for (1 .. 60) { my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die; print $s "{\"cmd\": \"watch\"}\n"; push @s, $s }
	open(my $f, ">", $ARGV[1]); close($f); sleep 600' "$RUN/control.sock" "$SCRATCH/watching" &
clients=$!
watching() { [ -e "$SCRATCH/watching" ]; }
within watching || fail "the watchers did not come"
limit=$(($(awk '/^VmSize/ { print $2 }' "/proc/$PID/status") * 1024 + 4096))
prlimit --pid "$PID" --as="$limit:" || fail "prlimit"
perl -MIO::Socket::UNIX -e '$SIG{PIPE} = "IGNORE"; my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die; $s->autoflush(1);
	for (1 .. 400) { for my $cmd ("drain", "undrain") { print $s "{\"cmd\": \"$cmd\", \"peer\": \"198.19.99.99\"}\n"; <$s> // exit } }' "$RUN/control.sock"
for i in 1 2 3 4 5; do
	for what in paths peers events counters planes qps version; do ctl -j show $what >/dev/null 2>&1; done
done
prlimit --pid "$PID" --as=unlimited: || fail "prlimit"
kill "$clients"
wait "$clients" 2>/dev/null
ctl undrain 198.19.99.99 >/dev/null 2>&1
starved() { grep -q 'reason="out of memory"' "/run/farelab/$LAB/s0/fared.log"; }
within starved || fail "no allocation failed: $(tail -3 "/run/farelab/$LAB/s0/fared.log")"
unmoved "$since" "no memory"

# ---- a BMP server that sends garbage -------------------------------------------------------------
# bgpd's paths are stale meanwhile, and stay in use
farelab fail "$LAB" bgpd s0 || fail "kill bgpd"
farelab exec "$LAB" s0 -- perl -MIO::Socket::INET -e '$SIG{PIPE} = "IGNORE"; $SIG{ALRM} = sub { exit }; alarm 4; srand 3;
	my $l = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 5001, Listen => 5, ReuseAddr => 1) or die;
	my $noise = join("", map { chr rand 256 } 1 .. 65536);
	my $head = pack("CNC", 3, 4_000_000_000, 0);    # a message of four gigabytes
	my $many = pack("CNC", 3, 6, 4) x 10000;        # ten thousand Initiations
	while (my $s = $l->accept) { my $n = 0; print $s ($many, $head, $noise, pack("C", 3) . $noise)[$turn++ % 4]; while ($n++ < 200) { print $s $noise or last } }'
alive "garbage from a BMP server"
[ "$(ctl -j show paths | jq '[.paths[] | select(.usable_bps == 400000000)] | length')" = 2 ] ||
	fail "garbage from a BMP server took bandwidth away: $(ctl show paths)"
within farelab heal "$LAB" bgpd s0 || fail "start bgpd again"
within verdicts_ok || fail "paths are not ok after bgpd's return: $(ctl show paths; ctl show planes)"

# ---- FRR that restarts in a loop -----------------------------------------------------------------
# that nothing moves meanwhile is for lab/drill to say, where leaves are old enough
for i in 1 2 3 4; do
	farelab fail "$LAB" bgpd s0 && farelab heal "$LAB" bgpd s0 || fail "restart bgpd"
done
within verdicts_ok || fail "paths are not ok after bgpd's restarts: $(ctl show paths)"
alive "bgpd restarted in a loop"

# ---- interfaces that change names ----------------------------------------------------------------
ns=fl-$LAB-s0
ip -n "$ns" link set g0p0s0 down && ip -n "$ns" link set g0p0s0 name odd || fail "rename"
half() { [ "$(ctl -j show paths | jq '[.paths[] | select(.plane == 0)][0].usable_bps')" = 200000000 ]; }
within half || fail "an interface that is gone still counts: $(ctl show paths)"
# bgpd has its address back and leaves send to it: of an interface that is none of fared's
ip -n "$ns" link set odd up || fail "up"
ip -n "$ns" link set odd down && ip -n "$ns" link set odd name g0p0s0 && ip -n "$ns" link set g0p0s0 up || fail "rename back"
alive "interfaces renamed"

# ---- what is left of it --------------------------------------------------------------------------
within whole || fail "not every path is whole again: $(ctl show paths)"
# a device's count of received packets is opened when it is first in doubt: four sub-ports
few() { [ "$(descriptors)" -le $((open + 4)) ]; }
within few || fail "$(descriptors) descriptors, and $open before: $(ls -l "/proc/$PID/fd")"
[ "$(rss_kb)" -le $((rss + 4096)) ] || fail "$(rss_kb) KB of memory, and $rss KB before"
echo "memory $rss KB before, $(rss_kb) KB after; $(descriptors) descriptors, $open before"

# ---- a full file system --------------------------------------------------------------------------
# A daemon of its own over the lab's planes: its run directory has no room for one more byte.
cp "/run/farelab/$LAB/s0/fared.yaml" "$SCRATCH/full.yaml"
mkdir "$SCRATCH/full" && mount -t tmpfs -o size=16k tmpfs "$SCRATCH/full" || fail "mount"
head -c 16384 /dev/zero >"$SCRATCH/full/fill" 2>/dev/null
farelab fail "$LAB" fared s0 || fail "stop fared"
farelab exec "$LAB" s0 -- timeout 20 "$FARE_BIN/fared" -c "$SCRATCH/full.yaml" -r "$SCRATCH/full" >"$SCRATCH/full.log" 2>&1
[ $? = 1 ] && grep -qi "no space" "$SCRATCH/full.log" || fail "a full file system: $(cat "$SCRATCH/full.log")"
umount "$SCRATCH/full"
farelab heal "$LAB" fared s0 || fail "start fared again"
read -r PID _ <"/run/farelab/$LAB/s0/fared.pid"
within verdicts_ok || fail "not ok at the end: $(ctl show paths)"
exit 0
