#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# How leaves spread what they forward, in planes of two tiers: the closed form of each mode, from the bytes of each uplink; and
# at the far leaf, from the bytes of each sub-port.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "jq is not installed"

cat >"$SCRATCH/lb.yaml" <<END
servers: 2
gpus_per_server: 2
planes: 1
sub_ports: 2
rate_mbps: 200
leaves_per_plane: 2
spines_per_plane: 4
ipv6: true
queue_bytes: 65536
lb: ecmp
bgp_timers: {keepalive_s: 10, hold_s: 30}
END
farelab up "$SCRATCH/lb.yaml" --name "$LAB" --wait $PATIENCE_S 2>"$SCRATCH/error" || {
	grep -q 'need Linux 6.6' "$SCRATCH/error" && skip "this kernel has no BPF programs at a device (tcx)"
	cat "$SCRATCH/error"
	fail "not converged"
}
lb_is() { [ "$(farelab status "$LAB" --json | jq -r '[.leaves[].lb] | join(" ")')" = "$1" ] || fail "lb is not $1"; }
lb_is "ecmp ecmp"

# spread LEAF DEVICES FLOWS QPS PACKETS GAP_US ROUNDS [TO]: from s0 to s1, FLOWS source ports with QPS destination QPs each, PACKETS
# of each, GAP_US after every packet of a flow; ROUNDS times with other ports. Prints the mean of the devices' busiest over their
# mean (MMR), the mean of JFI, and in the end how many devices had traffic on the average. Packets have 1000 bytes: what BGP sends
# beside them does not count. SOME: not all of them arrive.
cat >"$SCRATCH/spread.pl" <<'END'
use strict; use Socket qw(:DEFAULT inet_pton pack_sockaddr_in6); use Time::HiRes qw(sleep time);
my ($pid, $devs, $flows, $qps, $packets, $gap, $rounds, $to) = @ARGV;
my $six = $to =~ /:/; my %dev = map { $_ => 1 } split /,/, $devs;
my ($from) = $six ? '2001:db8:19::1' : '198.19.0.1';
sub sa { $six ? pack_sockaddr_in6($_[0], inet_pton(AF_INET6, $_[1])) : sockaddr_in($_[0], inet_aton($_[1])) }
sub tx { open(my $f, '<', "/proc/$pid/net/dev") or die; my %t; while (<$f>) { my ($d, @n) = split /[\s:]+/, s/^\s+//r; $t{$d} = $n[8] if $dev{$d} } \%t }
my ($mmr, $jfi, $used, $port) = (0, 0, 0, 20000);
srand(1);
for my $round (1 .. $rounds) {
	my $before = tx(); my @s;
	for (1 .. $flows) {
		socket(my $s, $six ? PF_INET6 : PF_INET, SOCK_DGRAM, 0) or die; bind($s, sa($port++, $from)) or die "$!"; push @s, $s; }
	my $peer = sa(4791, $to); my $sent = 0;
	for my $p (1 .. $packets) {
		for my $s (@s) { for my $q (1 .. $qps) {
			# a BTH: opcode, flags, P_Key; destination QP; PSN
			my $bth = pack('CCnNN', 4, 0, 0xffff, 17 * $q + 1000 * $round, $p);
			send($s, $bth . 'x' x (1000 - length $bth), 0, $peer) or die "$!"; $sent++;
			sleep(0.001) unless $sent % 20; } }
		sleep($gap / 1e6) if $gap; }
	my $end = time + ($ENV{SOME} ? 0.2 : 5); my ($t, $sum, @n);
	do { $t = tx(); @n = map { int(($t->{$_} - $before->{$_}) / 1000) } sort keys %$t; $sum = 0; $sum += $_ for @n;
	} until $sum >= $sent || time > $end;
	die "of $sent packets $sum arrived: @n\n" unless $sum >= $sent || $ENV{SOME} && $sum;
	my ($max, $sq) = (0, 0); for (@n) { $max = $_ if $_ > $max; $sq += $_ * $_; $used++ if $_ > 0; }
	$mmr += $max * @n / $sum; $jfi += $sum * $sum / (@n * $sq); }
printf "%.3f %.3f %.2f\n", $mmr / $rounds, $jfi / $rounds, $used / $rounds;
END
pid_of() { farelab status "$LAB" --json | jq -r ".leaves[] | select(.name == \"$1\") | .pids.zebra"; }
L0=$(pid_of l0) L1=$(pid_of l1)
UPLINKS=up0,up1,up2,up3 SUBS=s1g0s0,s1g0s1
spread() {
	local pid=$L0
	[ "$1" = l1 ] && pid=$L1
	farelab exec "$LAB" s0 -- perl "$SCRATCH/spread.pl" "$pid" "$2" "$3" "$4" "$5" "$6" "$7" "${8:-198.19.0.3}"
}
# near WHAT MEASURED EXPECTED TOLERANCE
near() {
	jq_true -n --argjson m "$2" --argjson e "$3" --argjson t "$4" '($m - $e | fabs) <= $t' >/dev/null || fail "$1: $2, expected $3 +- $4"
	echo "$1: $2 (expected $3)"
}

# ecmp: one link for one 5-tuple, whatever its QPs; MMR and JFI over L = 4 links as hashing has it, mean of so many draws
read -r mmr jfi used < <(spread l0 $UPLINKS 1 32 4 0 1)
near "ecmp, one flow of 32 QPs: links used" "$used" 1 0
while read -r q rounds want_mmr want_jfi; do
	read -r mmr jfi used < <(spread l0 $UPLINKS "$q" 1 1 0 "$rounds")
	near "ecmp, $q flows: MMR" "$mmr" "$want_mmr" 0.12
	near "ecmp, $q flows: JFI" "$jfi" "$want_jfi" 0.05
done <<END
1 60 4.0 0.25
4 200 2.12 0.62
8 150 1.77 0.75
16 100 1.54 0.85
32 60 1.37 0.92
END
read -r mmr jfi used < <(spread l0 $UPLINKS 8 1 1 0 150 2001:db8:19::3)
near "ecmp, 8 flows over IPv6: MMR" "$mmr" 1.77 0.15

# bth: the same 5-tuple, other QPs
farelab lb "$LAB" all bth || fail "lb bth"
lb_is "bth bth"
read -r mmr jfi used < <(spread l0 $UPLINKS 1 8 1 0 150)
near "bth, one flow of 8 QPs: MMR" "$mmr" 1.77 0.12

# spray: each packet by itself; and the same at the far leaf's sub-ports
farelab lb "$LAB" all spray || fail "lb spray"
read -r mmr jfi used < <(spread l0 $UPLINKS 1 1 20000 0 1)
near "spray, one flow: MMR" "$mmr" 1.025 0.025
read -r mmr jfi used < <(spread l1 $SUBS 1 1 20000 0 1)
near "spray, one flow, sub-ports of the far leaf: MMR" "$mmr" 1.02 0.02
sent() { farelab counters "$LAB" --json | jq "[.hosts[] | select(.name == \"l0\") | .devices[] | select(.dev | test(\"$1\")) | .$2] | add"; }
[ "$(sent '^up' tx_bytes)" -gt 20000000 ] || fail "farelab counters has $(sent '^up' tx_bytes) bytes of uplinks"

# flowlet: a flow that never pauses stays; one that pauses for longer than the gap goes elsewhere
farelab lb "$LAB" all flowlet 900000 || fail "lb flowlet"
read -r mmr jfi used < <(spread l0 $UPLINKS 1 1 400 0 1)
near "flowlet, no pause: links used" "$used" 1 0
farelab lb "$LAB" all flowlet 1000 || fail "lb flowlet"
read -r mmr jfi used < <(spread l0 $UPLINKS 1 1 300 3000 1)
near "flowlet, a pause after each packet: MMR" "$mmr" 1.12 0.13

# adaptive: a slow uplink gets what it can carry, where spraying overruns its queue
slow() { # MODE: prints the slow uplink's share of the bytes, and drops of its queue
	farelab lb "$LAB" all "$1" && farelab throttle "$LAB" uplink l0 sp0 20 || fail "lb $1"
	local all one drops
	all=$(sent '^up' tx_bytes) one=$(sent '^up0' tx_bytes) drops=$(sent '^up0' queue_drops)
	SOME=1 farelab exec "$LAB" s0 -- perl "$SCRATCH/spread.pl" "$L0" $UPLINKS 1 1 10000 0 1 198.19.0.3 >"$SCRATCH/slow" 2>&1
	drained() { [ "$(sent '^up0' backlog_packets)" = 0 ]; }
	within drained || fail "the queue of up0 does not drain"
	jq -nr "\"\(($(sent '^up0' tx_bytes) - $one) / ($(sent '^up' tx_bytes) - $all)) \($(sent '^up0' queue_drops) - $drops)\""
}
read -r share drops < <(slow spray)
echo "spray, an uplink of 20 Mb/s: $share of the bytes by it, $drops dropped in its queue"
[ "$drops" -gt 100 ] || fail "no drops: the sender is too slow for this test"
read -r share drops < <(slow adaptive)
echo "adaptive, the same: $share of the bytes by it, $drops dropped in its queue"
[ "$drops" = 0 ] || fail "adaptive: $drops dropped"
jq_true -n "$share > 0.02 and $share < 0.2" >/dev/null || fail "adaptive: share of the slow uplink"
# what comes over IPv6 goes that way as well; what comes by a gray link still is dropped
read -r mmr jfi used < <(spread l0 $UPLINKS 1 1 2000 0 1 2001:db8:19::3)
near "adaptive over IPv6: links used" "$used" 4 0
farelab gray "$LAB" leaf l0 --direction to-leaf || fail "gray"
arrived=$(sent '^up' tx_packets)
SOME=1 farelab exec "$LAB" s0 -- perl "$SCRATCH/spread.pl" "$L0" $UPLINKS 1 1 500 0 1 198.19.0.3 >"$SCRATCH/slow" 2>&1
[ $(($(sent '^up' tx_packets) - arrived)) -lt 100 ] || fail "adaptive: packets of a gray link were forwarded"
farelab gray "$LAB" leaf l0 --loss-percent 0
farelab throttle "$LAB" uplink l0 sp0 200

# equal seeds polarise: of the flows that reach the far leaf by two of four spines, all leave it by one of two sub-ports
for sp in sp2 sp3; do farelab gray "$LAB" uplink l1 $sp --direction to-leaf || fail gray; done
export SOME=1
farelab lb "$LAB" all ecmp 7 || fail "lb ecmp"
read -r mmr jfi used < <(spread l1 $SUBS 64 1 1 0 3)
near "equal seeds: JFI of the far leaf's sub-ports" "$jfi" 0.5 0.02
farelab lb "$LAB" l1 ecmp 8 || fail "lb ecmp"
read -r mmr jfi used < <(spread l1 $SUBS 64 1 1 0 3)
near "seeds of their own: JFI of the far leaf's sub-ports" "$jfi" 0.96 0.04

lb_is "ecmp ecmp"
farelab lb "$LAB" all kernel || fail "lb kernel"
lb_is "kernel kernel"
for words in "l0 hash" "l9 spray" "sp0 spray" "l0 flowlet 1000001"; do
	farelab lb "$LAB" $words 2>"$SCRATCH/error" && fail "'lb $words' succeeded"
	[ -s "$SCRATCH/error" ] || fail "'lb $words' failed silently"
done
exit 0
