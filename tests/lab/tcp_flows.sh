# SPDX-License-Identifier: BSD-2-Clause
# Sourced by plain_ip.sh and lab_kernel_routes.sh, after lib.sh: a lab of two servers whose status is in $SCRATCH/status, and
# connections of programs that know nothing of fared from s0 to s1 (addresses in $s0, $s1).
command -v jq >/dev/null || skip "needs jq"
FLOWS=64 TCP_FLOWS=$FARE_BIN/tcp_flows

on() { farelab exec "$LAB" "$@"; }
host() { jq -r --arg s "$1" ".servers[] | select(.name == \$s) | $2" "$SCRATCH/status"; }
ctl() { "$FARE_BIN/farectl" -s "$(host "$1" .fared_run_dir)" "${@:2}"; }
all_ok() { ctl "$1" -j show paths | jq_true '[.paths[] | .verdict == "ok"] | length >= 4 and all' >/dev/null; }

# flows SECONDS PACE: starts them; what arrived is in $SCRATCH/flows
flows() {
	on s1 -- "$TCP_FLOWS" receive "$s1" 9000 $FLOWS "$1" >"$SCRATCH/flows" &
	receiver=$!
	within listens || fail "no receiver"
	on s0 -- "$TCP_FLOWS" send "$s0" "$s1" 9000 $FLOWS $(($1 + 1)) "$2" &
	sender=$!
}
listens() { on s1 -- cat /proc/net/tcp | grep -q ':2328 00000000:0000 0A'; }
arrived() { wait $receiver || fail "the receiver failed"; wait $sender; }
