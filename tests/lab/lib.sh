# SPDX-License-Identifier: BSD-2-Clause
# Common ground of the lab tests: needs, names, cleaning up, and waiting on conditions.
# Sourced with bash; expects FARE_BIN to be the directory of the built programs.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../jq_true.sh"

skip() {
	echo "SKIP: $*"
	exit 77
}

[ "$(id -u)" = 0 ] || skip "not root: network namespaces cannot be made"
[ -x "${FARE_BIN:-}/farelab" ] || { echo "FARE_BIN must be the directory that holds farelab"; exit 1; }
frr=$("$FARE_BIN/farelab" frr 2>&1) || skip "$frr"
command -v tc >/dev/null && command -v ip >/dev/null || skip "iproute2 is not installed"

FARELAB=$FARE_BIN/farelab
FRR_DIR=${frr%% [0-9]*} # of "DIR VERSION"; FARELAB_FRR names another
TOPOLOGIES=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../netns/topologies" && pwd)
LAB=t$$
SCRATCH=$(mktemp -d)
PATIENCE_S=90

farelab() {
	"$FARELAB" "$@"
}

on_exit() {
	for lab in $LAB ${LAB}a ${LAB}b; do
		[ -n "$(farelab list | grep "^$lab ")" ] && farelab down "$lab"
	done
	rm -rf "$SCRATCH"
}
trap on_exit EXIT

# a test that is killed (kill -9, a time-out) takes its labs along: somebody who is no child of it waits for its end
(
	export -f farelab on_exit
	export FARELAB LAB SCRATCH
	setsid bash -c 'tail --pid=$1 -f /dev/null; on_exit' guard $$ </dev/null >/dev/null 2>&1 &
)

fail() {
	echo "FAIL: $*"
	exit 1
}

# within COMMAND...: until the command succeeds. How fast it does is for ./fare check to say: the limit only ends a test that
# would wait for ever, and a busy machine does not reach it.
within() {
	local end=$((SECONDS + PATIENCE_S))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}

# no trace of a lab: namespaces, directories, processes in them
gone() {
	! ip netns list | grep -qE "^fl-$1-(s|l|sp|ss)[0-9]+( |\$)" && [ ! -e "/run/farelab/$1" ] && ! farelab list | grep -q "^$1 "
}

# ended PID: no such process any more; wait for it, for whoever adopted it has to reap it first
ended() {
	! kill -0 "$1" 2>/dev/null
}

# bandwidths HOST PEER AS: what bgpd of HOST holds for PEER from leaves of that AS, bytes/s, one per path
bandwidths() {
	farelab vtysh "$LAB" "$1" -- -c "show bgp $([[ $2 = *:* ]] && echo ipv6 || echo ipv4) unicast $2 json" |
		grep -o "LB:$3:[0-9]*" | cut -d: -f3
}

bandwidths_are() {
	[ "$(bandwidths "$1" "$2" "$3" | xargs)" = "$4" ]
}

# leaves_settled: bgpd of every leaf is older than two minutes. While a neighbour is younger, FRR 8.4 takes all routes of a bgpd
# that starts again out of the kernel until its sessions are back (docs/architecture.md), and a plane without routes is lost.
leaves_settled() {
	local file age
	for file in "/run/farelab/$LAB"/l*/bgpd.pid; do
		age=$(ps -o etimes= -p "$(cat "$file")") && [ "$age" -gt 121 ] || return 1
	done
}

# shaped HOST DEVICE RATE: its shaper has that rate, as tc prints it
shaped() {
	tc -n "fl-$LAB-$1" class show dev "$2" | grep -q "class htb 1:1 .*rate $3 "
}

# reach HOST FROM TO: a TCP connection between two loopbacks (to bgpd's port: somebody listens there)
reach() {
	farelab exec "$LAB" "$1" -- perl -MIO::Socket::IP -e \
		'IO::Socket::IP->new(LocalHost => $ARGV[0], PeerHost => $ARGV[1], PeerPort => 179, Timeout => 30)
		or die "$ARGV[0] -> $ARGV[1]: $@\n"' "$2" "$3"
}
