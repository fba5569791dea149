#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The wall clock of a server is set, by 200 ms and by an hour, forward and back, again and again under probing: no verdict
# moves, no round trip is measured by it, and a drill has its figures. The clock is that of some processes alone
# (preload_clock.c): this machine's is not touched.
. "$(dirname "$0")/../lab/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"
[ -e "$FARE_BIN/preload_clock.so" ] || fail "no preload_clock.so in $FARE_BIN"

cat >"$SCRATCH/fared" <<END
#!/bin/sh
export CLOCK_FILE="$SCRATCH/clock" LD_PRELOAD="$FARE_BIN/preload_clock.so"
exec "$FARE_BIN/fared" "\$@"
END
chmod 755 "$SCRATCH" "$SCRATCH/fared"
set_clock() { echo "$1" >"$SCRATCH/clock.new" && mv "$SCRATCH/clock.new" "$SCRATCH/clock"; }
set_clock 0
farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$SCRATCH/fared" --wait $PATIENCE_S || fail "not converged"
ctl() { "$FARE_BIN/farectl" -s "/run/farelab/$LAB/$1/fared" "${@:2}"; }
for server in s0 s1; do # probed as with traffic
	farelab fail "$LAB" fared $server && sed -i 's/^health:/&\n  slow_interval_ms: 10/' "/run/farelab/$LAB/$server/fared.yaml" &&
		farelab heal "$LAB" fared $server || fail "restart fared of $server"
done
all_ok() { [ "$(ctl s0 -j show paths | jq -c '[.paths[].verdict] | unique')$(ctl s1 -j show paths | jq -c '[.paths[].verdict] | unique')" = '["ok"]["ok"]' ]; }
within all_ok || fail "not ok at first: $(ctl s0 show paths)"
answered() { ctl s0 -j show counters | jq '[.counters[] | select(.part == "prober" and .counter == "answered").count] | add'; }
more() { [ "$(answered)" -ge $((count + $1)) ]; }
count=$(answered)
within more 200 || fail "no probes are answered"
mark=$(ctl s0 -j show events | jq '[.events[].seq] | max') mark1=$(ctl s1 -j show events | jq '[.events[].seq] | max')
moved() { ctl "$1" -j show events | jq -c "[.events[] | select(.seq > $2 and (.topic | test(\"path|probe|link\")))]"; }

for by in 200000000 3600000000000; do
	for step in $by 0 -$by 0 $by 0 -$by 0; do
		count=$(answered)
		set_clock "$step"
		within more 20 || fail "probes cease after the clock was set by $step ns"
	done
done
# a benchmark whose processes have that clock, which is set meanwhile: it ends in time, no figure has the steps in it
cat >"$SCRATCH/plan.yaml" <<END
name: clock
steps:
  - {at_s: 0, do: throttle subport s1 1 1 200}
END
# (a worker of farebench ends with its plan and without freeing it)
FARELAB_NAME=$LAB ASAN_OPTIONS=detect_leaks=0 CLOCK_FILE=$SCRATCH/clock LD_PRELOAD="$FARE_BIN/preload_clock.so" "$FARE_BIN/farebench" run drill \
	--param plan="$SCRATCH/plan.yaml" --json "$SCRATCH/drill.json" >"$SCRATCH/drill.log" 2>&1 &
drill=$!
while kill -0 $drill 2>/dev/null; do
	for step in 200000000 0 -3600000000000 0 3600000000000 -200000000; do
		set_clock $step
		sleep 0.05
	done
done
wait $drill || fail "the drill: $(tail -60 "$SCRATCH/drill.log")"
jq_true '[.. | objects | select(has("duration"))] | length > 0 and all(.duration > 1 and .duration < 60 and .all_back == 1 and .needless_weights == 0)' \
	"$SCRATCH/drill.json" >/dev/null || fail "the drill's figures: $(cat "$SCRATCH/drill.json")"
# the events' times show that the clock was the daemon's
set_clock 3600000000000
ctl s0 drain all 1 >/dev/null && ctl s0 undrain all 1 >/dev/null || fail "drain"
ahead() { ctl s0 -j show events | jq_true --argjson now "$(date +%s)" '.events | any(.topic == "drain" and .wall_ns / 1e9 > $now + 3000)' >/dev/null; }
[ "$(moved s0 "$mark" | jq '[.[] | select(.topic != "path")] | length')" = 0 ] || fail "s0: $(moved s0 "$mark")"
ahead || fail "the clock of fared was not set: $(ctl s0 -j show events | jq -c '.events[-1]')"
set_clock 0
[ "$(moved s0 "$mark" | jq -c '[.[] | select(.to | test("drained|^ok") | not)]')" = "[]" ] || fail "s0: $(moved s0 "$mark")"
[ "$(moved s1 "$mark1" | jq -c '[.[] | select(.to | test("zero-bandwidth|^ok") | not)]')" = "[]" ] || fail "s1: $(moved s1 "$mark1")"
within all_ok || fail "not ok at the end: $(ctl s0 show paths)"
for server in s0 s1; do
	ctl $server -j show paths | jq_true '[.paths[].probe.rtt_p50_us] | all(. > 0 and . < 100000)' >/dev/null ||
		fail "$server measures round trips by the wall clock: $(ctl $server -j show paths | jq -c '[.paths[].probe]')"
done
echo "ok: no verdict moves with the clock"
