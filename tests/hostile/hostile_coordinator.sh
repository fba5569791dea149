#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Strangers connect to a coordinator of farebench and say nothing, 64 of them and then more all the time. An agent that has the
# key is heard within seconds all the same: it is told that its inventory is another, as the test gave it one.
. "$(dirname "$0")/lone.sh"
fb=$FARE_BIN/farebench
[ -x "$fb" ] || skip "no farebench in $FARE_BIN"
in_ns() { exec ip netns exec "$NS" "$@"; }

ip -n "$NS" addr add 198.18.9.1/32 dev lo
ip -n "$NS" addr add 198.18.9.2/32 dev lo
head -c 24 /dev/urandom | base64 >"$DIR/key"
chmod 600 "$DIR/key"
inventory() { # FILE NAME
	cat >"$1" <<-END
		name: $2
		mtu: 1500
		max_rate_mbps: 400
		max_run_s: 60
		max_total_s: 600
		hosts:
		  - name: h0
		    run_dir: $DIR/h0
		    gpus:
		      - address: 198.19.0.1
		        planes:
		          - sub_ports: [{dev: p0, rate_mbps: 50}]
		  - name: h1
		    run_dir: $DIR/h1
		    gpus:
		      - address: 198.19.0.2
		        planes:
		          - sub_ports: [{dev: q0, rate_mbps: 50}]
	END
}
inventory "$DIR/hosts.yaml" right
inventory "$DIR/other.yaml" another
listen=198.18.9.1:7470
(in_ns "$fb" run 5.1 --even-busy --trials 1 --strategy fare-spray --listen $listen --key "$DIR/key" --hosts "$DIR/hosts.yaml" \
	--out "$DIR/out" >"$DIR/out.log" 2>"$DIR/log") &
is_listening() { [ -n "$(ip netns exec "$NS" ss -Htln 'sport = :7470')" ]; }
within is_listening || fail "no coordinator"

# 64 connections that stay, and say nothing; then one more each 20 ms
(in_ns perl -MIO::Socket::INET -e '
	my ($to, $ready) = @ARGV; my @silent;
	sub more { push @silent, IO::Socket::INET->new(PeerAddr => $to, LocalAddr => "198.18.9.2", Timeout => 5) || () }
	more() for 1 .. 64;
	open(my $f, ">", $ready); close $f;
	while (1) { select(undef, undef, undef, 0.02); more() if @silent < 900; }' $listen "$DIR/ready") &
is_ready() { [ -e "$DIR/ready" ]; }
within is_ready || fail "no connections"

begin=$SECONDS
(in_ns timeout 20 "$fb" agent --connect $listen --name h1 --key "$DIR/key" --hosts "$DIR/other.yaml" --wait 15) 2>"$DIR/err"
grep -q 'its inventory is another' "$DIR/err" || fail "an agent with the key is not heard among silent connections: $(cat "$DIR/err")"
echo "ok: an agent was heard after $((SECONDS - begin)) s"
