#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Network control passes full queues of data, at a server's port and at a leaf's, also after a change of rate: round trips of its
# class, and of fared's probes, stay low. With priority_band: false they grow with the queues. fared finds out which of the two it is.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

# bring_up BAND: s0 sends into a leaf whose link to s1 is slower; the senders end with the lab's namespaces
bring_up() {
	printf 'servers: 2\nplanes: 1\nsub_ports: 1\nrate_mbps: 50\npriority_band: %s\n' "$1" >"$SCRATCH/band.yaml"
	farelab up "$SCRATCH/band.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
	queued_is s0 "no queue seen" || fail "a queue was seen before there was one: $(figures)"
	farelab throttle "$LAB" subport s1 0 0 20 || fail "throttle"
	farelab exec "$LAB" s1 -- timeout 120 perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0) or die;
		bind(S, sockaddr_in(4790, inet_aton("198.19.0.2"))) or die;
		while (defined($from = recv(S, $b, 100, 0))) { send(S, $b, 0, $from) }' &
	# a send buffer (SO_SNDBUFFORCE) of most of s0's queue, so that it is full and the sender waits for room in it
	farelab exec "$LAB" s0 -- timeout 120 perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0) or die;
		setsockopt(S, 0, 1, pack("i", 26 << 2)) && setsockopt(S, 1, 32, pack("i", 700000)) or die;
		send(S, "x" x 1400, 0, sockaddr_in(4791, inet_aton("198.19.0.2"))) while 1' &
	within slow 104 100000 || fail "the queues do not fill: data's round trip is $(rtt_us 104) us"
}

# rtt_us TOS: of packets of that TOS from s0 to s1 and back, the median of 9; one that does not come back takes 2 s
rtt_us() {
	farelab exec "$LAB" s0 -- perl -MSocket -MTime::HiRes=time -e 'socket(S, PF_INET, SOCK_DGRAM, 0) or die;
		setsockopt(S, 0, 1, pack("i", $ARGV[0])) && setsockopt(S, 1, 20, pack("qq", 2, 0)) or die;
		bind(S, sockaddr_in(0, inet_aton("198.19.0.1"))) && connect(S, sockaddr_in(4790, inet_aton("198.19.0.2"))) or die;
		for $i (1 .. 9) { $t = time; send(S, $i, 0);
			do { $came = defined(recv(S, $b, 9, 0)) } while $came && $b ne $i;
			push @us, $came ? (time - $t) * 1e6 : 2e6 }
		printf "%d", (sort { $a <=> $b } @us)[4]' "$1"
}
slow() { [ "$(rtt_us "$1")" -gt "$2" ]; }
probes_us() {
	"$FARE_BIN/farectl" -s "/run/farelab/$LAB/s0/fared" -j show paths 198.19.0.2 0 |
		jq -r '.paths[0].probe.rtt_p50_us // 0 | floor'
}
probes_within() { us=$(probes_us) && [ "$us" -ge "$1" ] && [ "$us" -le "$2" ]; }
# as fared of SERVER has measured it, by pairs of probes
queued() { "$FARE_BIN/farectl" -s "/run/farelab/$LAB/$1/fared" -j show planes | jq -r '.planes[0].probes_queued'; }
queued_is() { [ "$(queued "$1")" = "$2" ]; }
figures() {
	"$FARE_BIN/farectl" -s "/run/farelab/$LAB/s0/fared" -j show planes | jq -c '.planes[0] | {probes_queued, queue_pairs, probe_queue_us, data_queue_us}'
}
# doctor_says TEXT
doctor_says() {
	farelab exec "$LAB" s0 -- "$FARE_BIN/farectl" -s "/run/farelab/$LAB/s0/fared" doctor >"$SCRATCH/doctor"
	grep probe-class "$SCRATCH/doctor" | grep -q "$1"
}
report() { echo "$1: round trips of data $(rtt_us 104), of network control $(rtt_us 192), of probes (p50) $(probes_us) us"; }

bring_up true
within probes_within 1 10000 || fail "probes wait behind data: $(probes_us) us"
control=$(rtt_us 192) data=$(rtt_us 104)
within queued_is s0 "before data" || fail "with the band, fared finds: $(figures)"
doctor_says "before data on all planes" || fail "with the band: $(cat "$SCRATCH/doctor")"
report "with the band, $(figures)"
[ "$control" -lt $((data / 5)) ] || fail "network control takes $control us, data $data"
farelab down "$LAB" || fail "down"

bring_up false
within probes_within 30000 9999999 || fail "without a band, probes pass data: $(probes_us) us"
slow 192 30000 || fail "without a band, network control passes data: $(rtt_us 192) us"
within queued_is s0 "behind data" || fail "without a band, fared finds: $(figures)"
doctor_says "health.queue_ms 100 allows" || fail "without a band: $(cat "$SCRATCH/doctor")"
report "without, $(figures)"
exit 0
