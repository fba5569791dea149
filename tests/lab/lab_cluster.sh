#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# farebench on "hosts": two network namespaces joined by two switches, each with FRR and fared of its own and no farelab. Agents come
# in over TCP with a key. What must be refused is refused, faults are healed whoever dies, and rows and report come out.
. "$(dirname "$0")/hosts.sh"

command -v perl >/dev/null || skip "perl is not installed"
head -c 24 /dev/urandom | base64 >"$SCRATCH/other-key"
chmod 600 "$SCRATCH/other-key"
coordinator() { # NAME ARGS...: its output in NAME.out and NAME.err
	in_host h0 timeout 300 "$fb" run --even-busy --seed 7 --trials 1 --strategy fare-spray --listen $listen --key "$SCRATCH/key" \
		--out "$SCRATCH/$1" "${@:2}" >"$SCRATCH/$1.out" 2>"$SCRATCH/$1.err"
}
agent() { # HOST ARGS...
	exec ip netns exec "$1" "$fb" agent --connect $listen --name "$1" "${@:2}"
}
launch="ip netns exec {host} {agent}"

# ---- refused before a packet is sent
inventory "$SCRATCH/outside.yaml" 10.1.2.3 400 60
coordinator outside 5.1 --hosts "$SCRATCH/outside.yaml" && fail "an address outside of the ranges was taken"
grep -q 'outside.yaml:[0-9]*: hosts\[1\].gpus\[0\].address: 10.1.2.3 is outside of 198.18.0.0/15' "$SCRATCH/outside.err" ||
	fail "the refusal does not name the address: $(cat "$SCRATCH/outside.err")"
chmod 644 "$SCRATCH/other-key"
(agent h1 --key "$SCRATCH/other-key" --hosts "$SCRATCH/hosts.yaml" --wait 0) 2>"$SCRATCH/err" && fail "a key that all may read was taken"
grep -q 'chmod 600' "$SCRATCH/err" || fail "the error says not what to do: $(cat "$SCRATCH/err")"
chmod 600 "$SCRATCH/other-key"

# a worker whose coordinator wants it to send elsewhere: it refuses by itself
perl -MIO::Socket::UNIX -e '
	my ($path, @command) = @ARGV;
	my $s = IO::Socket::UNIX->new(Local => $path, Listen => 1) or die "listen: $!";
	my $pid = fork(); if (!$pid) { exec @command; die "exec: $!" }
	$SIG{ALRM} = sub { kill 9, $pid; die "no answer" }; alarm 60;
	my $c = $s->accept(); print scalar <$c>;
	print $c qq({"op":"arena","bytes":4096}\n); print scalar <$c>;
	print $c qq({"op":"paths","address":"10.1.2.3"}\n); print scalar <$c>; waitpid $pid, 0;
' "$SCRATCH/fake" ip netns exec h0 "$fb" worker --rendezvous "$SCRATCH/fake" --run-dir "$SCRATCH/h0/run" --gpu 0 --local-gpu 0 \
	>"$SCRATCH/worker" 2>&1 &
worker=$!
wait $worker
grep -q '10.1.2.3 is outside of 198.18.0.0/15' "$SCRATCH/worker" || fail "a worker obeys any coordinator: $(cat "$SCRATCH/worker")"

# what --launch starts ends at once: said at once, with its status
coordinator early 5.1 --hosts "$SCRATCH/hosts.yaml" --launch 'exit 3; {agent}' && fail "a run without agents"
grep -q 'host h[01]: what --launch started has ended with status 3' "$SCRATCH/early.err" || fail "no reason: $(cat "$SCRATCH/early.err")"

# ---- a switch, played by a command that counts three pause frames each time: rows and report have them, beside what NICs count
{
	cat "$SCRATCH/hosts.yaml"
	printf 'switches:\n  - {name: leaf0, counters: "n=$(cat %s) && echo $((n + 3)) >%s && echo rx_prio3_pause: $n"}\n' \
		"$SCRATCH/pauses" "$SCRATCH/pauses"
} >"$SCRATCH/switched.yaml"
echo 5 >"$SCRATCH/pauses"
coordinator switched 8.3 --hosts "$SCRATCH/switched.yaml" --launch "$launch" || fail "run with a switch: $(tail -5 "$SCRATCH/switched.err")"
rows=$SCRATCH/switched/rows.jsonl
row "$rows" '.kpi == "PFC_frame_count" and .value == 3' || fail "the switch's pauses: $(grep PFC_frame "$rows")"
row "$rows" '.kpi == "ECN_marking_rate" and (.missing | test("no host counts marked packets"))' || fail "marks that nothing counts: $(grep ECN_marking "$rows")"
grep -q 'Counted by switches, whole run: pause frames received [1-9]' "$SCRATCH/switched/report.md" || fail "the report has no pauses of switches"
grep -q 'CRC Error Count.*0 by NICs' "$SCRATCH/switched/report.md" || fail "the report has no CRC errors of NICs"

# ---- a run with agents that the coordinator starts
coordinator run 5.1 5.2 "${tiny[@]}" --param load=0 --hosts "$SCRATCH/hosts.yaml" --launch "$launch" || fail "run: $(tail -5 "$SCRATCH/run.err")"
rows=$SCRATCH/run/rows.jsonl
of_line=$(jq -r 'select(.test == "5.1" and .kpi == "of_line") | .value' "$rows")
awk -v x="$of_line" 'BEGIN { exit !(x > 50 && x < 115) }' || fail "5.1: of_line is '$of_line' %"
row "$rows" '.test == "5.2" and .kpi == "KV_xfer_latency" and (.hist or .missing)' || fail "5.2 has no latency, and no reason"
for test in 5.1 5.2; do
	row "$rows" ".test == \"$test\" and .kpi == \"_clock_error_us\" and .value > 0 and .value < 10000" ||
		fail "$test: how well the clocks agree is not known"
	for h in h0 h1; do
		row "$rows" ".test == \"$test\" and .kpi == \"_counters $h\" and (.text | test(\"p1.tx_bytes [+][1-9]\"))" ||
			fail "$test: $h has no counters"
	done
done
[ -s "$SCRATCH/run/report.html" ] && [ -s "$SCRATCH/run/report.md" ] || fail "no report"
grep -q 'h1 clock' "$SCRATCH/run/report.md" || fail "the report does not tell how well the clocks agree"
grep -q 'h0 p0.*veth' "$SCRATCH/run/report.md" || fail "the report does not tell of the hosts' devices"
within no_agent || fail "agents are left"

# ---- limits: the rate is kept, and the rows say so; what would run too long is not begun
inventory "$SCRATCH/slow.yaml" 198.19.0.2 20 60
coordinator slow 5.1 "${tiny[@]}" --hosts "$SCRATCH/slow.yaml" --launch "$launch" || fail "slow: $(tail -5 "$SCRATCH/slow.err")"
row "$SCRATCH/slow/rows.jsonl" '.kpi == "KV_xfer_bandwidth" and .value > 1 and .value * 8 < 21' ||
	fail "a limit of 20 Mb/s: $(grep KV_xfer "$SCRATCH/slow/rows.jsonl")"
grep -q '_rate_limited' "$SCRATCH/slow/rows.jsonl" || fail "no row tells of the limit"
inventory "$SCRATCH/short.yaml" 198.19.0.2 400 1
coordinator short 13.1 --hosts "$SCRATCH/short.yaml" --launch "$launch" || fail "short: $(tail -5 "$SCRATCH/short.err")"
grep -q 'max_run_s' "$SCRATCH/short/rows.jsonl" || fail "a run of more than max_run_s was begun"

# ---- agents that somebody else starts: another key, another inventory, and then the right ones
coordinator hand 5.1 "${tiny[@]}" --hosts "$SCRATCH/hosts.yaml" &
run=$!
within grep -q "^h1: .* agent .*--name 'h1'" "$SCRATCH/hand.err" || fail "the lines to start are not printed: $(cat "$SCRATCH/hand.err")"
(agent h1 --key "$SCRATCH/other-key" --hosts "$SCRATCH/hosts.yaml") 2>"$SCRATCH/err" && fail "an agent with another key was let in"
grep -q 'the keys differ' "$SCRATCH/err" || fail "the agent does not say that the keys differ: $(cat "$SCRATCH/err")"
within grep -q '192.0.2.1 port [0-9]* was refused: the keys differ' "$SCRATCH/hand.err" || fail "the coordinator does not say whom it refused"
(agent h1 --key "$SCRATCH/key" --hosts "$SCRATCH/slow.yaml") 2>"$SCRATCH/err" && fail "an agent with another inventory was let in"
grep -q 'its inventory is another' "$SCRATCH/err" || fail "the agent does not say that the inventories differ"
for h in h0 h1; do
	(agent $h --key "$SCRATCH/key" --hosts "$SCRATCH/hosts.yaml") 2>"$SCRATCH/$h.err" &
done
wait $run || fail "hand: $(tail -5 "$SCRATCH/hand.err")"
within no_agent || fail "agents are left"

# ---- faults: the inventory's commands; healed at the end, when an agent is killed, and when the coordinator is
fault() { # NAME: starts 12.3 and waits until the link is cut; $run is the coordinator, $victim the agent of h1
	coordinator "$1" 12.3 --param failure=decode-link --hosts "$SCRATCH/hosts.yaml" &
	run=$!
	(agent h0 --key "$SCRATCH/key" --hosts "$SCRATCH/hosts.yaml") 2>"$SCRATCH/h0.err" &
	(agent h1 --key "$SCRATCH/key" --hosts "$SCRATCH/hosts.yaml") 2>"$SCRATCH/h1.err" &
	victim=$!
	is_cut || fail "$1: the link was never cut: $(tail -5 "$SCRATCH/$1.err")"
}
fault whole
wait $run || fail "12.3: $(tail -5 "$SCRATCH/whole.err")"
is_up || fail "12.3 has ended, and the link is cut"
row "$SCRATCH/whole/rows.jsonl" '.test == "12.3" and .kpi == "disruption" and .value >= 0' || fail "12.3 has no disruption"
within no_agent || fail "agents are left"

fault killed
kill -9 $victim
within is_up || fail "an agent was killed, and its fault stays: $(cat "$SCRATCH/h1.err")"
wait $run && fail "an agent was killed, and the run says that all is well"
grep -qE 'h1.*(the worker has ended|its agent has ended)' "$SCRATCH/killed.err" || fail "the error names no host: $(tail -5 "$SCRATCH/killed.err")"
within no_agent || fail "the other agent stays"

fault headless
pkill -9 -f "^$fb run --even-busy .*--out $SCRATCH/headless" || fail "no coordinator to kill"
within is_up || fail "the coordinator was killed, and the fault stays: $(cat "$SCRATCH/h1.err")"
within no_agent || fail "agents stay without a coordinator"
echo passed
