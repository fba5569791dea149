#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A local user takes the UDP ports of probing while fared is not there: 7784 of all addresses, of IPv4 or of both families, or
# nearly all that probes are sent from. fared starts all the same, says who it was, and takes the ports as soon as they are free.
. "$(dirname "$0")/lone.sh"

# hold FAMILY ADDRESS FIRST LAST: in the background, as a user without rights, until killed; HOLDER is its process
hold() {
	ip netns exec "$NS" setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all bash -c 'ulimit -n 20000; exec -a holder perl -e "$0" "$@"' '
		use Socket qw(:all);
		my ($family, $address, $first, $last) = @ARGV;
		my @sockets;
		for my $port ($first .. $last) {
			socket(my $s, $family == 6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0) or die "socket: $!";
			bind($s, $family == 6 ? pack_sockaddr_in6($port, inet_pton(AF_INET6, $address)) : pack_sockaddr_in($port, inet_aton($address)));
			push @sockets, $s;
		}
		$| = 1;
		print "held\n";
		sleep 1 while 1;' "$@" >"$DIR/held" &
	HOLDER=$!
	is_held() { grep -q held "$DIR/held"; }
	within is_held || fail "the port cannot be held"
}
release() {
	kill "$HOLDER"
	wait "$HOLDER" 2>/dev/null
	: >"$DIR/held"
}

probes() { ctl -j show planes | jq -r '.sources[] | select(.source == "probes").state'; }
probes_are() { [ "$(probes)" = "$1" ]; }
# reads: the reflector takes note of a probe that comes in by lo, which is no sub-port
reads() {
	ip netns exec "$NS" perl -MSocket=:all -e '
		socket(my $s, AF_INET, SOCK_DGRAM, 0) or die;
		setsockopt($s, IPPROTO_IP, IP_TTL, 255) or die;
		send($s, pack("C4N5", 0x20, 0xc2, 3, 24, 7, 0xc6130001, 10000, 0, 0), 0, pack_sockaddr_in(7784, inet_aton("198.19.0.1")));'
	[ "$(ctl -j show counters | jq '.counters[] | select(.part == "reflector" and .counter == "wrong_device").count')" -gt 0 ]
}
bound() { [ -n "$(ip netns exec "$NS" ss -Hulnp "sport = :7784" | grep "pid=$PID,")" ]; }

configure 30
for holder in "4 0.0.0.0" "6 ::" "4 198.19.0.1"; do
	: >"$DIR/log"
	hold $holder 7784 7784
	start
	within settled && answers || fail "fared does not run while $holder is held"
	probes_are down || fail "held by $holder: probes are $(probes)"
	ctl show planes | grep -q "UDP 7784 at 198.19.0.1 held by uid 65534, pid $HOLDER (" || fail "the holder is not named: $(ctl show planes)"
	event '.topic == "probe" and .to == "not taken" and (.reason | contains("uid 65534"))' || fail "no event names it"
	grep -q "held by uid 65534" "$DIR/log" || fail "the log does not name it"
	bound && fail "fared has the port, too"
	release
	within probes_are up || fail "the port is free and fared does not take it"
	bound || fail "fared says that it has the port, and has not"
	within reads || fail "fared has the port, and reads no probes: $(ctl show counters)"
	event '.topic == "probe" and .to == "taken"' || fail "no event says that it is free again"
	kill "$PID"
	within ended || fail "fared does not end"
done
echo "ok: UDP 7784 is waited for, its holder is named"

hold 4 0.0.0.0 49152 65535
start
within settled && answers || fail "fared does not run while all source ports are held"
probes_are down || fail "all source ports are held and probes are $(probes)"
ctl show planes | grep -q "UDP 49168 and up at 198.19.0.1 held by uid 65534" || fail "the holder is not named: $(ctl show planes)"
release
within probes_are up || fail "source ports are free and fared does not take them"
kill "$PID"
within ended || fail "fared does not end"
echo "ok: source ports of probes are waited for, their holder is named"
