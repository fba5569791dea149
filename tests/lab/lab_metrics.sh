#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Metrics and the live view, end to end: farectl top; fared-exporter beside a daemon, a real Prometheus that scrapes it and has our alert rules loaded; every query
# of the Grafana board is answered, and faults raise the alerts that are meant for them.
. "$(dirname "$0")/lib.sh"
command -v prometheus >/dev/null && command -v promtool >/dev/null || skip "prometheus is not installed"
OPS=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../docs/ops" && pwd)

promtool check rules "$OPS/prometheus/alerts.yaml" >/dev/null || fail "the alert rules are not right"
promtool test rules "$(dirname "${BASH_SOURCE[0]}")/alerts_test.yaml" || fail "an alert is not what it should be"

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
RUN=/run/farelab/$LAB/s0/fared
once() { "$FARE_BIN/fared-exporter" -s "$RUN" --once "$@"; }
once >"$SCRATCH/metrics" || fail "the daemon does not answer the exporter"
grep -q 'peer=' "$SCRATCH/metrics" && fail "series by path without --paths: $(grep -m3 'peer=' "$SCRATCH/metrics")"
grep -q '^fared_peers{gpu="g0",state="whole"} 1$' "$SCRATCH/metrics" || fail "peers are not counted: $(grep fared_peers "$SCRATCH/metrics")"
once >/dev/full 2>"$SCRATCH/error" && fail "what cannot be written was written"
grep -q 'No space left' "$SCRATCH/error" || fail "a full device is not named: $(cat "$SCRATCH/error")"
once --paths >"$SCRATCH/metrics" || fail "the daemon does not answer the exporter"
[ "$(tail -1 "$SCRATCH/metrics")" = "# EOF" ] || fail "no end"
[ -z "$(grep -v '^#' "$SCRATCH/metrics" | cut -d' ' -f1 | sort | uniq -d)" ] || fail "a sample twice"

# ---- farectl top -------------------------------------------------------------------------------
top() { "$FARE_BIN/farectl" -s "$RUN" top "$@"; }
top -b -r 2 -i 0.1 >"$SCRATCH/top" || fail "top ends with $?"
[ "$(grep -c '^fared .* on s0' "$SCRATCH/top")" = 2 ] || fail "not two screens: $(cat "$SCRATCH/top")"
grep -q 'every path carries what its local sub-ports do' "$SCRATCH/top" || fail "a healthy lab is degraded: $(cat "$SCRATCH/top")"
TERM=xterm script -qec "stty cols 150 rows 40; $FARE_BIN/farectl -s $RUN top -r 2 -i 0.1" "$SCRATCH/typescript" </dev/null >/dev/null ||
	fail "top on a terminal: $(cat "$SCRATCH/typescript")"
grep -q 'every path carries' "$SCRATCH/typescript" || fail "top draws nothing on a terminal"
"$FARE_BIN/farectl" -s "$SCRATCH" top 2>"$SCRATCH/top" && fail "top of no daemon ends well"
grep -q 'is fared running' "$SCRATCH/top" || fail "top of no daemon: $(cat "$SCRATCH/top")"

# ---- drain --wait --------------------------------------------------------------------------------
farelab exec "$LAB" s0 -- "$FARE_BIN/farectl" -s "$RUN" drain all 1 --wait 30 2>"$SCRATCH/drain" || fail "drain --wait: $(cat "$SCRATCH/drain")"
grep -q quiet "$SCRATCH/drain" || fail "drain --wait says nothing: $(cat "$SCRATCH/drain")"
# somebody who goes on sending: the other server's leaf, to a device of the plane
farelab exec "$LAB" l1 -- perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0); setsockopt(S, SOL_SOCKET, SO_BINDTODEVICE, "s0g0s0");
	$SIG{ALRM} = sub { exit }; alarm 60; my $to = sockaddr_in(9, inet_aton("198.18.0.5")); while (1) { send(S, "x" x 1400, 0, $to); select(undef, undef, undef, 0.001) }' &
# on a busy machine the first look may be too brief to say who
busy() {
	! farelab exec "$LAB" s0 -- "$FARE_BIN/farectl" -s "$RUN" drain all 1 --wait 1 2>"$SCRATCH/drain" &&
		grep -q 'not quiet after 1 s: g0p1s0 receives' "$SCRATCH/drain"
}
within busy || fail "a plane that carries traffic is called quiet, or who sends is not named: $(cat "$SCRATCH/drain")"
kill $! 2>/dev/null
farelab exec "$LAB" l1 -- sh -c 'for p in $(ip netns pids $(ip netns identify $$)); do [ "$(cat /proc/$p/comm)" = perl ] && kill $p; done' 2>/dev/null
"$FARE_BIN/farectl" -s "$RUN" drain all 1 --wait 5 2>"$SCRATCH/drain" && fail "devices of another namespace are quiet: $(cat "$SCRATCH/drain")"
grep -q "run this in fared's network namespace" "$SCRATCH/drain" || fail "drain --wait elsewhere: $(cat "$SCRATCH/drain")"
"$FARE_BIN/farectl" -s "$RUN" undrain all >/dev/null || fail "undrain"
"$FARE_BIN/farectl" -s "$RUN" undrain all 0 >/dev/null 2>&1 && fail "undrain of nothing"
farelab list >/dev/full 2>/dev/null && fail "farelab list wrote to a full device"
"$FARE_BIN/farebench" list >/dev/full 2>/dev/null && fail "farebench list wrote to a full device"

# ---- a real Prometheus ---------------------------------------------------------------------------
cat >"$SCRATCH/prometheus.yaml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$OPS/prometheus/alerts.yaml]
scrape_configs:
  - job_name: fared
    static_configs: [{targets: ['127.0.0.1:9795']}]
END
farelab exec "$LAB" s0 -- "$FARE_BIN/fared-exporter" -s "$RUN" --paths 2>"$SCRATCH/exporter.log" &
farelab exec "$LAB" s0 -- prometheus --config.file="$SCRATCH/prometheus.yaml" --storage.tsdb.path="$SCRATCH/tsdb" \
	--web.listen-address=127.0.0.1:9090 >"$SCRATCH/prometheus.log" 2>&1 &
query() { farelab exec "$LAB" s0 -- promtool query instant http://127.0.0.1:9090 "$1" 2>&1; }
has() { query "$1" | grep -q '=>'; }
within has 'up{job="fared"} == 1' || { cat "$SCRATCH/exporter.log"; tail -3 "$SCRATCH/prometheus.log"; fail "Prometheus does not scrape"; }
within has 'fared_path_verdict{peer="198.19.0.2",plane="1",verdict="ok"}' || fail "no verdict: $(query fared_path_verdict)"
within has 'rate(fared_path_probes_sent_total{plane="0"}[10s]) > 0' || fail "no probes are counted"

# ---- the board -----------------------------------------------------------------------------------
jq -r '.panels[].targets[].expr' "$OPS/grafana/fared.json" | sed 's/\$instance/.*/g' >"$SCRATCH/queries"
[ "$(wc -l <"$SCRATCH/queries")" -ge 15 ] || fail "a board without queries"
while IFS= read -r expr; do
	query "$expr" </dev/null | grep -iE 'error|bad_data' && fail "the board asks what Prometheus does not understand: $expr"
done <"$SCRATCH/queries"
# every metric that the board or an alert names exists
for name in $(cat "$SCRATCH/queries" "$OPS/prometheus/alerts.yaml" | grep -oE 'fared_[a-z_0-9]*[a-z0-9]' | sort -u | grep -v 'fared_plane_qp_bytes'); do
	grep -q "^# TYPE ${name%_total} " "$SCRATCH/metrics" || [ "$name" = fared_ ] || fail "nobody exports $name"
done

# ---- many scrapers -------------------------------------------------------------------------------
# the daemon is asked once a second, however many ask the exporter: SECONDS and the different answers within them
read -r took answers < <(farelab exec "$LAB" s0 -- perl -MIO::Socket::IP -MTime::HiRes=time -e '$from = time; for (1 .. 60) {
	$s = IO::Socket::IP->new(PeerHost => "127.0.0.1", PeerPort => 9795) or die; print $s "GET /metrics HTTP/1.0\r\n\r\n";
	local $/; <$s> =~ /^(fared_scrape_duration_seconds .*)$/m or die; $seen{$1}++ } print int(time - $from + 1), " ", scalar(keys %seen), "\n"')
[ "${answers:-0}" -ge 1 ] && [ "$answers" -le $((took + 1)) ] || fail "60 scrapes in ${took:-?} s had ${answers:-no} answers of the daemon"

# ---- faults --------------------------------------------------------------------------------------
farelab fail "$LAB" subport s0 0 1 || fail "fail subport"
within has 'ALERTS{alertname="FaredSubPortDown",device="g0p0s1"}' || fail "a lost sub-port raises nothing: $(query ALERTS)"
top -b -r 1 | grep -q ' 1/2 .* 0.200 .*g0p0s1' || fail "top does not show the lost sub-port: $(top -b -r 1)"
farelab fail "$LAB" leaf l1 || fail "fail leaf"
within has 'ALERTS{alertname="FaredPlaneDown",plane="1"}' || fail "a lost plane raises nothing: $(query ALERTS)"
farelab fail "$LAB" fared s0 || fail "fail fared"
within has 'ALERTS{alertname="FaredDown"}' || fail "a dead daemon raises nothing: $(query ALERTS)"
once >"$SCRATCH/dead" && fail "a dead daemon is told as a live one"
grep -q '^fared_up 0$' "$SCRATCH/dead" || fail "no fared_up for a dead daemon: $(cat "$SCRATCH/dead")"

# ---- strange clients -----------------------------------------------------------------------------
http() { # TEXT: the first line of the answer to it
	farelab exec "$LAB" s0 -- perl -MIO::Socket::IP -e '$s = IO::Socket::IP->new(PeerHost => "127.0.0.1", PeerPort => 9795) or die;
		print $s $ARGV[0]; shutdown($s, 1); print scalar <$s>' "$1" 2>/dev/null
}
http $'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' | grep -q ' 200 ' || fail "GET /metrics: $(http $'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n')"
http $'GET /etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n' | grep -q ' 404 ' || fail "another path is not refused"
http $'DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n' | grep -q ' 405 ' || fail "another method is not refused"
for i in $(seq 40); do # more than it takes at once, and none of it HTTP
	http "$(head -c 3000 /dev/urandom | tr -d '\0')" >/dev/null
done
http $'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' | grep -q ' 200 ' || fail "garbage ended the exporter: $(cat "$SCRATCH/exporter.log")"
exit 0
