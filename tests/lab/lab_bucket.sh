#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# 64 KiB in two super-packets take as long as the line needs for them, where shapers have a bucket of two frames; with the
# usual bucket they pass at once, and the benchmark has no time for blocks that short.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

# transfer_us: from the call that sends until the last byte is there; s0's shaper has had a pause
transfer_us() {
	farelab exec "$LAB" s1 -- timeout 60 perl -MSocket -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e '
		socket(S, PF_INET, SOCK_DGRAM, 0) && bind(S, sockaddr_in(4791, inet_aton("198.19.0.2"))) or die;
		open(F, ">", $ARGV[0]) && close(F) or die;
		while ($n < 65536) { recv(S, $b, 65536, 0) // die; $n += length($b) }
		printf "%d\n", clock_gettime(CLOCK_MONOTONIC) * 1e6' "$SCRATCH/ready" >"$SCRATCH/end" &
	within test -e "$SCRATCH/ready" || fail "the receiver does not start"
	farelab exec "$LAB" s0 -- perl -MSocket -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e '
		socket(S, PF_INET, SOCK_DGRAM, 0) && setsockopt(S, 17, 103, pack("i", 4096)) or die "UDP_SEGMENT: $!";
		connect(S, sockaddr_in(4791, inet_aton("198.19.0.2"))) or die;
		printf "%d\n", clock_gettime(CLOCK_MONOTONIC) * 1e6;
		for (1, 2) { send(S, "x" x 32768, 0) == 32768 or die "$!" }' >"$SCRATCH/begin" || fail "send"
	wait $! || fail "not all of it arrived"
	rm "$SCRATCH/ready"
	echo $(($(<"$SCRATCH/end") - $(<"$SCRATCH/begin")))
}

# 16 frames of 4,138 bytes at 100 Mb/s; two of them come out of the bucket
line_us=$((16 * 4138 * 8 / 100))
for frames in 0 2; do
	printf 'servers: 2\nplanes: 1\nsub_ports: 1\nrate_mbps: 100\nbucket_frames: %s\n' $frames >"$SCRATCH/bucket.yaml"
	farelab up "$SCRATCH/bucket.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
	best=9999999
	for _ in 1 2 3 4 5; do
		us=$(transfer_us) || fail "$us"
		[ "$us" -lt $best ] && best=$us
	done
	echo "bucket_frames $frames: 64 KiB in $best us (best of 5); the line needs $line_us"
	timeout 120 "$FARE_BIN/farebench" run 5.2 --lab "$LAB" --trials 1 --even-busy --strategy fare-spray --param size=128K \
		--param load=0 --param arrivals=even --json "$SCRATCH/5.2.json" >"$SCRATCH/out" 2>&1 || fail "5.2: $(tail -3 "$SCRATCH/out")"
	latency=$(jq '.trials["5.2"][0]["KV_xfer_latency@max"]' "$SCRATCH/5.2.json")
	echo "bucket_frames $frames: 5.2 has $latency us at most for 128 KiB"
	[ "$(ip -n "fl-$LAB-s0" -d link show g0p0s0 | grep -c "gso_max_segs $frames ")" = \
		"$((frames > 0))" ] || fail "super-packets have another size than the bucket"
	if [ $frames = 0 ]; then
		[ "$latency" = null ] && grep -q "shorter than ten times" "$SCRATCH/out" "$SCRATCH/5.2.json" || fail "5.2 has a time for what passes at once"
		[ $best -lt $((line_us / 2)) ] || fail "128 KiB of bucket, and 64 KiB wait"
	else
		jq_true -n "$latency > 9000" || fail "5.2: 128 KiB need 10800 us, and took $latency"
		[ $best -ge $((line_us * 14 / 16 - 200)) ] && [ $best -le $((line_us * 3 / 2)) ] || fail "not as long as the line"
	fi
	farelab down "$LAB" || fail "down"
done
exit 0
