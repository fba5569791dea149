#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every environment parameter of the provider: fi_fare(7) and fi_info(1) list the same ones, and each does what they say.
. "$(dirname "$0")/lib.sh"
lab_up "$TOPOLOGIES/2x2x2.yaml"
MANUAL=$HERE/../../docs/man/fi_fare.7

# pair NAME CASE SERVER_ENV CLIENT_ENV: a case of ofi_check between two servers, each with its environment (words of env(1)).
# Fails when the client does; the server's output is in NAME.server.
pair() {
	local dir=$SCRATCH/$1 server status=0
	mkdir "$dir"
	at s0 env $3 "$FARE_BIN/ofi_check" fare serve "$dir" "$2" >"$dir.server" 2>&1 &
	server=$!
	at s1 env $4 "$FARE_BIN/ofi_check" fare ask "$dir" "$2" >"$dir.client" 2>&1 && grep -q passed "$dir.client" || status=1
	[ $status = 0 ] || kill $server 2>/dev/null
	wait $server
	return $status
}

# works NAME CASE SERVER_ENV CLIENT_ENV; refused NAME SERVER_ENV CLIENT_ENV: no message passes
works() {
	pair "$@" || { cat "$SCRATCH/$1".{server,client}; fail "$1"; }
	echo "$1: passed"
}
refused() {
	pair "$1" msg "$2" "$3 FI_FARE_DEADLINE_MS=2000" && fail "$1: messages pass"
	grep -qE 'Connection|timed out|refused|not supported|Protocol|aborted' "$SCRATCH/$1.client" || { cat "$SCRATCH/$1".*; fail "$1: the sender is told nothing"; }
	echo "$1: refused"
}

# says TEXT ENV: a process alone does not start, and says why
says() {
	local dir
	dir=$(mktemp -d -p "$SCRATCH")
	at s0 env $2 FI_LOG_LEVEL=info "$FARE_BIN/ofi_check" fare serve "$dir" >"$dir/out" 2>&1 && fail "$2: it starts"
	grep -q -- "$1" "$dir/out" || { cat "$dir/out"; fail "$2: it does not say '$1'"; }
	echo "$2: $1"
}

sed -n 's/^\.It Ev \(FI_FARE_[A-Z_]*\)$/\1/p' "$MANUAL" | sort >"$SCRATCH/documented"
fi_info -e 2>/dev/null | grep -aoE '\bFI_FARE_[A-Z_]+' | sort -u >"$SCRATCH/defined"
[ -s "$SCRATCH/documented" ] && diff "$SCRATCH/documented" "$SCRATCH/defined" || fail "fi_fare(7) and fi_info -e do not list the same parameters"

works eager-none order FI_FARE_EAGER_BYTES=0 FI_FARE_EAGER_BYTES=0
works eager-most unexpected FI_FARE_EAGER_BYTES=1000000 FI_FARE_EAGER_BYTES=1000000
works eager-differs msg FI_FARE_EAGER_BYTES=100 FI_FARE_EAGER_BYTES=2000
works window back-pressure FI_FARE_WINDOW_BYTES=8192 FI_FARE_WINDOW_BYTES=8192
refused window-differs "FI_LOG_LEVEL=warn FI_FARE_WINDOW_BYTES=8192" FI_LOG_LEVEL=warn
grep -q 'they must be the same at all processes' "$SCRATCH/window-differs.server" || fail "nothing is said of different windows"

works secret msg FI_FARE_SECRET=7 FI_FARE_SECRET=7
refused secret-differs FI_FARE_SECRET=7 FI_FARE_SECRET=8
for key in one other; do
	(umask 077; head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$SCRATCH/$key.key")
done
works key msg "-u FARE_TRUSTED_NETWORK FI_FARE_KEY_FILE=$SCRATCH/one.key" "-u FARE_TRUSTED_NETWORK FI_FARE_KEY_FILE=$SCRATCH/one.key"
refused key-differs "-u FARE_TRUSTED_NETWORK FI_FARE_KEY_FILE=$SCRATCH/one.key" "-u FARE_TRUSTED_NETWORK FI_FARE_KEY_FILE=$SCRATCH/other.key"
works trusted-network msg "-u FARE_TRUSTED_NETWORK FI_FARE_TRUSTED_NETWORK=1" "-u FARE_TRUSTED_NETWORK FI_FARE_TRUSTED_NETWORK=1"
says 'FARE_KEY_FILE names no key' "-u FARE_TRUSTED_NETWORK"

works no-thread order FI_FARE_PROGRESS_THREAD=0 FI_FARE_PROGRESS_THREAD=0
at s0 env FI_FARE_PROGRESS_THREAD=0 fi_info -p fare -v | grep -qE '^ *(data_)?progress: FI_PROGRESS_MANUAL' || fail "progress is not manual without a thread"
at s0 fi_info -p fare -v | grep -qE '^ *(data_)?progress: FI_PROGRESS_AUTO' || fail "progress is not automatic"
says "libfare's domain:" FI_FARE_PROVIDER=nonsense
at s0 env FI_FARE_DOMAIN=fare0 fi_info -p fare | grep -q 'domain: fare0' || fail "the domain that is named is not offered"
at s0 env FI_FARE_DOMAIN=fare1 fi_info -p fare | grep -q domain: && fail "FI_FARE_DOMAIN=fare1: another domain is offered"
says "no fared to attach to in $SCRATCH/none" "FI_FARE_RUN_DIR=$SCRATCH/none"

# a peer that nobody can reach: an error at the deadline; without one none, and closing waits for FI_FARE_LINGER_MS
works deadline unreachable FI_FARE_DEADLINE_MS=0 FI_FARE_DEADLINE_MS=2000
works no-deadline unreachable FI_FARE_LINGER_MS=0 FI_FARE_LINGER_MS=700
exit 0
