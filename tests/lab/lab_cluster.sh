#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# farebench on "hosts": two network namespaces joined by two switches, each with FRR and fared of its own and no farelab. Agents come
# in over TCP with a key. What must be refused is refused, faults are healed whoever dies, and rows and report come out.
. "$(dirname "$0")/lib.sh"

command -v jq >/dev/null || skip "jq is not installed"
command -v perl >/dev/null || skip "perl is not installed"
fb=$FARE_BIN/farebench
host() { echo "fcl$$-$1"; }
in_host() { ip netns exec "$(host "$1")" "${@:2}"; }

clean() {
	local pid
	for h in h0 h1; do
		ip netns pids "$(host $h)" 2>/dev/null | xargs -r kill -9 2>/dev/null
		within no_process $h
		ip netns del "$(host $h)" 2>/dev/null
	done
	ip netns del "$(host sw)" 2>/dev/null
	on_exit
}
no_agent() { ! pgrep -f "^$fb agent --connect $listen" >/dev/null; }
no_process() { [ -z "$(ip netns pids "$(host "$1")" 2>/dev/null)" ]; }
trap clean EXIT

# ---- the hosts: planes p0 and p1 (a bridge each, in a namespace of its own), and a cable for management, mg. A port of a bridge
# that is shut takes the host's carrier away, as a switch does: who shuts the host's own interface takes its routes as well.
chmod 711 "$SCRATCH"
for h in 0 1; do
	ip netns add "$(host h$h)"
	in_host h$h ip link set lo up
	in_host h$h ip addr add 198.19.0.$((h + 1))/32 dev lo
	in_host h$h sysctl -qw net.ipv4.fib_multipath_hash_policy=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
done
cable() {
	ip link add "$1" netns "$(host h0)" mtu 4200 type veth peer name "$1" netns "$(host h1)" mtu 4200
	for h in 0 1; do
		in_host h$h ip addr add "$2.$h/31" dev "$1"
		in_host h$h ip link set "$1" up
	done
}
plug() { # HOST PLANE
	ip link add p$2 netns "$(host h$1)" mtu 4200 type veth peer name h$1p$2 netns "$(host sw)" mtu 4200
	in_host sw ip link set h$1p$2 master b$2
	in_host sw ip link set h$1p$2 up
	in_host h$1 ip addr add 198.18.$2.$1/31 dev p$2
	in_host h$1 ip link set p$2 up
}
cable mg 192.0.2
ip netns add "$(host sw)"
for p in 0 1; do
	in_host sw ip link add b$p mtu 4200 type bridge
	in_host sw ip link set b$p up
	plug 0 $p
	plug 1 $p
	for h in h0 h1; do
		in_host $h tc qdisc add dev p$p root tbf rate 50mbit burst 131072 limit 1048576
	done
done

daemons() {
	local h=$1 peer=$((1 - $1)) dir=$SCRATCH/h$1
	install -d -o frr "$dir/frr"
	echo "hostname h$h" >"$dir/frr/zebra.conf"
	cat >"$dir/frr/bgpd.conf" <<-END
		router bgp $((64512 + h))
		 bgp router-id 198.19.0.$((h + 1))
		 no bgp ebgp-requires-policy
		 bgp bestpath as-path multipath-relax
		$(for p in 0 1; do
			echo " neighbor 198.18.$p.$peer remote-as $((64512 + peer))"
			echo " neighbor 198.18.$p.$peer timers 1 3"
			echo " neighbor 198.18.$p.$peer timers connect 1"
		done)
		 bmp targets fared
		  bmp listener 127.0.0.1 port 5001
		  bmp monitor ipv4 unicast pre-policy
		 exit
		 address-family ipv4 unicast
		  network 198.19.0.$((h + 1))/32
		$(for p in 0 1; do
			echo "  neighbor 198.18.$p.$peer soft-reconfiguration inbound"
		done)
	END
	cat >"$dir/fared.yaml" <<-END
		node: h$h
		run_dir: $dir/run
		user: ""
		group: ""
		bgp:
		  bmp_port: 5001
		  zserv_path: $dir/frr/zserv.api
		  peer_prefixes: [198.19.0.0/16]
		local_gpus:
		  - name: g0
		    addresses: [198.19.0.$((h + 1))]
		    planes:
		      - sub_ports: [{dev: p0, speed_mbps: 50, neighbors: [198.18.0.$peer]}]
		      - sub_ports: [{dev: p1, speed_mbps: 50, neighbors: [198.18.1.$peer]}]
	END
	for daemon in zebra bgpd; do
		in_host h$h "$FRR_DIR/$daemon" $([ $daemon = bgpd ] && echo -M bmp) -f "$dir/frr/$daemon.conf" -i "$dir/frr/$daemon.pid" \
			-z "$dir/frr/zserv.api" --vty_socket "$dir/frr" -P 0 --log stdout >"$dir/$daemon.log" 2>&1 &
		within test -S "$dir/frr/$daemon.vty" || fail "$daemon did not start: $(tail -2 "$dir/$daemon.log")"
	done
	in_host h$h "$FARE_BIN/fared" -c "$dir/fared.yaml" >"$dir/fared.log" 2>&1 &
}
daemons 0
daemons 1

# inventory FILE ADDRESS-OF-h1 MAX_RATE MAX_RUN
inventory() {
	cat >"$1" <<-END
		name: two
		mtu: 4200
		max_rate_mbps: $3
		max_run_s: $4
		max_total_s: 600
		hosts:
		$(for h in 0 1; do
			echo "  - name: h$h"
			echo "    run_dir: $SCRATCH/h$h/run"
			echo "    gpus:"
			echo "      - address: $([ $h = 0 ] && echo 198.19.0.1 || echo "$2")"
			echo "        planes:"
			echo "          - sub_ports: [{dev: p0, rate_mbps: 50}]"
			echo "          - sub_ports: [{dev: p1, rate_mbps: 50}]"
			echo "    faults:"
			echo "      - {plane: 0, sub_port: 0, down: \"ip -n $(host sw) link set h${h}p0 down\", up: \"ip -n $(host sw) link set h${h}p0 up\"}"
		done)
	END
}
inventory "$SCRATCH/hosts.yaml" 198.19.0.2 400 60
head -c 24 /dev/urandom | base64 >"$SCRATCH/key"
head -c 24 /dev/urandom | base64 >"$SCRATCH/other-key"
chmod 600 "$SCRATCH/key" "$SCRATCH/other-key"
listen=192.0.2.0:7470
coordinator() { # NAME ARGS...: its output in NAME.out and NAME.err
	in_host h0 timeout 300 "$fb" run --even-busy --seed 7 --trials 1 --strategy fare-spray --listen $listen --key "$SCRATCH/key" \
		--out "$SCRATCH/$1" "${@:2}" >"$SCRATCH/$1.out" 2>"$SCRATCH/$1.err"
}
agent() { # HOST ARGS...
	exec ip netns exec "$(host "$1")" "$fb" agent --connect $listen --name "$1" "${@:2}"
}
launch="ip netns exec fcl$$-{host} {agent}"
tiny=(--param size=64K --param qps=2)
row() { jq -se "any(.[]; $2)" "$1" >/dev/null; } # FILE CONDITION: there is such a row
is_up() { in_host h1 ip -j link show p0 | jq -e '.[0].operstate == "UP"' >/dev/null; }
is_down() { ! is_up; }

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
' "$SCRATCH/fake" ip netns exec "$(host h0)" "$fb" worker --rendezvous "$SCRATCH/fake" --run-dir "$SCRATCH/h0/run" --gpu 0 --local-gpu 0 \
	>"$SCRATCH/worker" 2>&1 &
worker=$!
wait $worker
grep -q '10.1.2.3 is outside of 198.18.0.0/15' "$SCRATCH/worker" || fail "a worker obeys any coordinator: $(cat "$SCRATCH/worker")"

# what --launch starts ends at once: said at once, with its status
coordinator early 5.1 --hosts "$SCRATCH/hosts.yaml" --launch 'exit 3; {agent}' && fail "a run without agents"
grep -q 'host h[01]: what --launch started has ended with status 3' "$SCRATCH/early.err" || fail "no reason: $(cat "$SCRATCH/early.err")"

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
	within is_down || fail "$1: the link was never cut: $(tail -5 "$SCRATCH/$1.err")"
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
