#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A capacity notice is recorded on the wire and replayed in its sender's name, without the key, after its receiver has
# restarted: no path moves. And a server that has another key is named by its peer.
. "$(dirname "$0")/../lab/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"
command -v perl >/dev/null || skip "perl is not installed"

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
ctl() { "$FARE_BIN/farectl" -s "/run/farelab/$LAB/$1/fared" "${@:2}"; }
address() { farelab status "$LAB" --json | jq -r --arg s "$1" '.servers[] | select(.name == $s) | .gpus[0].ipv4'; }
S0=$(address s0) S1=$(address s1)
verdict() { ctl s0 -j show paths "$S1" 1 2>/dev/null | jq -r '.paths[0].verdict'; }
is() { [ "$(verdict)" = "$1" ]; }
within is ok || fail "not ok at first: $(ctl s0 show paths)"

# record FILE: the first notice of S1 to S0 that says that plane 1 carries nothing, as the link shows it
record() {
	ip netns exec "fl-$LAB-s0" timeout $PATIENCE_S perl -MSocket -e '
		my ($file, $from) = @ARGV;
		socket(my $s, 17, SOCK_DGRAM, unpack("S", pack("n", 0x0800))) or die "socket: $!";
		open(my $ready, ">", "$file.ready") or die; close $ready;
		while (defined recv($s, my $p, 2048, 0)) {
			my $payload = substr($p, (ord($p) & 15) * 4 + 8);
			next unless length($p) > 60 && substr($p, 12, 4) eq inet_aton($from) && unpack("n", substr($p, 22, 2)) == 7784;
			next unless substr($payload, 24, 4) eq "FARE";
			for (my $at = 32; $at + 2 <= length $payload; $at += 2 + ord substr($payload, $at + 1, 1)) {
				next unless ord(substr($payload, $at, 1)) == 3 && substr($payload, $at + 2 + 17 + 8, 8) eq "\0" x 8;
				open(my $f, ">", $file) or die; binmode $f; print $f $payload; exit 0;
			}
		}' "$1" "$S1"
}
record "$SCRATCH/notice" &
recorder=$!
is_ready() { [ -e "$SCRATCH/notice.ready" ]; }
within is_ready || fail "no recorder"
ctl s1 drain all 1 >/dev/null || fail "drain"
wait $recorder || fail "no notice was seen"
within is zero-bandwidth || fail "the notice does not count: $(verdict)"
ctl s1 undrain all 1 >/dev/null || fail "undrain"
within is ok || fail "not ok after undrain"

# replay: from the leaf of plane 1, with S1 as source, until it ends with this test
replay() {
	ip netns exec "fl-$LAB-l1" perl -MSocket -e '
		my ($file, $from, $to) = @ARGV;
		open(my $f, "<", $file) or die; binmode $f; local $/; my $payload = <$f>;
		socket(my $s, AF_INET, SOCK_RAW, 255) or die "socket: $!";
		my $udp = pack("n4", 50000, 7784, 8 + length $payload, 0) . $payload;
		my $ip = pack("C2n3C2na4a4", 0x45, 0, 20 + length $udp, 0, 0x4000, 255, 17, 0, inet_aton($from), inet_aton($to));
		while (1) { send($s, $ip . $udp, 0, pack_sockaddr_in(0, inet_aton($to))); select(undef, undef, undef, 0.02); }
	' "$SCRATCH/notice" "$S1" "$S0"
}
farelab fail "$LAB" fared s0 && farelab heal "$LAB" fared s0 || fail "restart fared of s0"
replay &
disown $!
answers() { ctl s0 show version >/dev/null 2>&1; }
within answers || fail "fared of s0 does not answer"
newest=0
moved() { ctl s0 -j show events | jq_true --arg s "g0->$S1" '.events | any(.seq > '$newest' and .topic == "path" and .plane == 1 and (.to | startswith("zero-bandwidth")))' >/dev/null; }
newest=$(ctl s0 -j show events | jq '[.events[] | select(.topic == "daemon")][-1].seq')
rejected() { [ "$(ctl s0 -j show counters | jq '[.counters[] | select(.part == "reflector" and .counter == "replayed").count] | add // 0')" -ge 50 ]; }
decided() { moved || rejected; }
within decided || fail "replays do not arrive: $(ctl s0 show counters)"
moved && fail "a recorded notice took a plane away: $(ctl s0 show paths)"
within is ok || fail "not ok under replays: $(ctl s0 show paths)"
ctl s1 drain all 1 >/dev/null || fail "drain"
within is zero-bandwidth || fail "under replays a notice of the peer itself does not count"
ctl s1 undrain all 1 >/dev/null || fail "undrain"
within is ok || fail "not ok after undrain under replays"
echo "ok: recorded notices do not count after a restart"

(umask 077; head -c 32 /dev/urandom | base64 >"$SCRATCH/other.key")
config=/run/farelab/$LAB/s1/fared.yaml
sed -i "s|key_file: .*|key_file: \"$SCRATCH/other.key\"|" "$config"
grep -q other.key "$config" || fail "no key_file in $config"
ctl s1 reload >/dev/null || fail "reload with another key"
ctl s1 drain all 1 >/dev/null || fail "drain"
named() { ctl s0 -j show events -l warning | jq_true --arg s "$S1" '.events | any((.subject | endswith($s)) and .to == "notices refused" and (.reason | contains("same key")))' >/dev/null; }
within named || fail "a peer with another key is not named: $(ctl s0 show events)"
[ "$(ctl s0 -j show events | jq '[.events[] | select(.to == "notices refused")] | length')" = 1 ] || fail "named more than once"
is zero-bandwidth && fail "a notice under another key counts"
echo "ok: a peer with another key is named"
