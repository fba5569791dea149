# SPDX-License-Identifier: BSD-2-Clause
# Common ground of tests that attack one fared by itself: a network namespace with one link, a configuration, and cleaning up,
# also if the test is killed. Sourced with bash; expects FARE_BIN to be the directory of the built programs.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../jq_true.sh"

skip() {
	echo "SKIP: $*"
	exit 77
}

fail() {
	echo "FAIL: $*"
	[ ! -e "$DIR/log" ] || tail -20 "$DIR/log"
	exit 1
}

[ "$(id -u)" = 0 ] || skip "not root: network namespaces cannot be made"
for tool in ip jq perl setpriv; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done
for program in fared farectl; do
	[ -x "${FARE_BIN:-}/$program" ] || { echo "FARE_BIN must be the directory that holds $program"; exit 1; }
done

NS=hl$$
DIR=$(mktemp -d)
RUN=$DIR/run
CONFIG=$DIR/fared.yaml
PATIENCE_S=60
PID=
chmod 755 "$DIR"

on_exit() {
	local pids
	pids=$(ip netns pids "$NS" 2>/dev/null)
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null
	ip netns del "$NS" 2>/dev/null
	rm -rf "$DIR"
}
trap on_exit EXIT
trap 'exit 1' INT TERM

# a test that is killed leaves nothing: somebody who is no child of it waits for its end
(
	export -f on_exit
	export NS DIR
	setsid bash -c 'tail --pid=$1 -f /dev/null; on_exit' guard $$ </dev/null >/dev/null 2>&1 &
)

ip netns add "$NS" || skip "network namespaces cannot be made"
ip -n "$NS" link set lo up
ip -n "$NS" link add p0 type veth peer name q0
ip -n "$NS" addr add 198.18.0.1/31 dev p0
ip -n "$NS" addr add 198.19.0.1/32 dev lo
ip -n "$NS" link set p0 up
ip -n "$NS" link set q0 up
mkdir -m 755 "$RUN"

# configure STALE_S: a configuration that fared can start with
configure() {
	cat >"$CONFIG" <<-EOF
		node: s0
		run_dir: $RUN
		log_level: info
		bgp: {bmp_port: 5001, stale_s: $1, zserv_path: $DIR/none, peer_prefixes: [198.19.0.0/16]}
		health: {realtime: false}
		local_gpus:
		  - name: g0
		    addresses: [198.19.0.1]
		    planes:
		    - sub_ports: [{dev: p0, speed_mbps: 400, neighbors: [198.18.0.0]}]
	EOF
}

# start: fared, in the background; its log is $DIR/log
start() {
	ip netns exec "$NS" "$FARE_BIN/fared" --config "$CONFIG" 2>>"$DIR/log" &
	PID=$!
}

ctl() {
	"$FARE_BIN/farectl" -s "$RUN" "$@"
}

answers() {
	ctl show version >/dev/null 2>&1
}

# ended: fared has gone
ended() {
	! kill -0 "$PID" 2>/dev/null
}

# settled: it answers, or has gone
settled() {
	answers || ended
}

# within COMMAND...: until the command succeeds. The limit only ends a test that would wait for ever.
within() {
	local end=$((SECONDS + PATIENCE_S))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}

# event FILTER: some event is so
event() {
	ctl -j show events | jq_true ".events | any($1)" >/dev/null
}
