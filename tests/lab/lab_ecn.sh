#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Leaves that mark: nothing below the threshold, the first mark at it, counters of each link, another threshold and another rate
# while the lab is up, gray links beside it.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

cat >"$SCRATCH/ecn.yaml" <<END
servers: 2
planes: 1
sub_ports: 1
rate_mbps: 50
ecn_threshold_kb: 100
END
farelab up "$SCRATCH/ecn.yaml" --name "$LAB" --wait $PATIENCE_S 2>"$SCRATCH/error" || {
	grep -q 'need Linux 6.6' "$SCRATCH/error" && skip "this kernel has no BPF programs at egress (tcx)"
	cat "$SCRATCH/error"
	fail "not converged"
}

# send DATAGRAMS: so many of 1400 bytes with ECT(0) from s0 to s1, as fast as they go: the leaf's queue toward s1 grows only if
# its link is slower than s0's
send() {
	farelab exec "$LAB" s0 -- perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0); setsockopt(S, 0, 1, pack("i", 2)) or die;
		for (1 .. $ARGV[0]) { send(S, "x" x 1400, 0, sockaddr_in(4791, inet_aton("198.19.0.2"))) or die "$!" }' "$1"
}
ecn() { farelab status "$LAB" --json | jq ".servers[1].gpus[0].planes[0].sub_ports[0].ecn.$1"; }
sent() { [ "$(ecn packets)" -ge "$1" ]; }

# no slower than the sender's own link: no queue at the leaf, no mark
send 300 && within sent 300 || fail "not sent: $(ecn packets)"
[ "$(ecn marked)" = 0 ] || fail "marked without a queue: $(ecn marked)"

# slower: 128 KiB of tokens and 100 KiB of queue pass before the first mark; what was in the queue then is the threshold, and at
# most a datagram more
farelab throttle "$LAB" subport s1 0 0 5 || fail "throttle"
[ "$(ecn packets)" -lt 100 ] || fail "another rate, and the counters did not begin anew"
tshark=
if command -v tshark >/dev/null; then
	farelab exec "$LAB" s1 -- timeout 60 tshark -q -i g0p0s0 -f "udp dst port 4791" -c 300 -w "$SCRATCH/cap" 2>"$SCRATCH/tshark" &
	tshark=$!
	within grep -q "Capturing on" "$SCRATCH/tshark" || fail "tshark does not start"
fi
send 300 && within sent 300 || fail "not sent: $(ecn packets)"
marked=$(ecn marked) queue=$(ecn queue_at_onset_bytes)
echo "marked $marked of 300; $queue bytes in the queue at the first mark"
[ "$marked" -gt 50 ] && [ "$marked" -lt 200 ] || fail "marked $marked of 300"
[ "$queue" -ge 102400 ] && [ "$queue" -lt $((102400 + 3000)) ] || fail "the first mark came at $queue bytes"
[ "$(ecn queue_peak_bytes)" -gt "$queue" ] || fail "the longest queue is $(ecn queue_peak_bytes) bytes, $queue at the first mark"
if [ -n "$tshark" ]; then
	wait $tshark
	arrived=$(tshark -r "$SCRATCH/cap" -Y "ip.dsfield.ecn == 3" 2>/dev/null | wc -l)
	[ "$arrived" = "$marked" ] || fail "$arrived arrived with CE, $marked were counted"
fi

# gray faults come and go beside it; another threshold
farelab gray "$LAB" subport s1 0 0 --loss-percent 1 && farelab gray "$LAB" subport s1 0 0 --loss-percent 0 || fail "gray"
farelab throttle "$LAB" subport s1 0 0 50
farelab ecn "$LAB" 20 || fail "ecn"
[ "$(farelab status "$LAB" --json | jq .ecn_threshold_bytes)" = 20480 ] || fail "status has another threshold"
farelab throttle "$LAB" subport s1 0 0 5
send 200 && within sent 200 || fail "not sent: $(ecn packets)"
queue=$(ecn queue_at_onset_bytes)
[ "$queue" -ge 20480 ] && [ "$queue" -lt $((20480 + 3000)) ] || fail "at a threshold of 20 KiB the first mark came at $queue bytes"
farelab ecn "$LAB" 0 || fail "ecn 0"
[ "$(farelab status "$LAB" --json | jq -c '.servers[1].gpus[0].planes[0].sub_ports[0].ecn')" = null ] || fail "still marking"
exit 0
