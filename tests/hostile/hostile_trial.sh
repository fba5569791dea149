#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# fared is killed while a reload waits for confirmation, and after it was undone: what was in force before is so again, until
# the reload is confirmed. What is on record of it is refused if it is not fared's own, or says what no reload could.
. "$(dirname "$0")/lone.sh"

value() { ctl -j show config 2>/dev/null | jq -r '.config[] | select(.key == "bgp.stale_s").value'; }
value_is() { [ "$(value)" = "$1" ]; }
killed() {
	kill -9 "$PID"
	wait "$PID" 2>/dev/null
	: >"$DIR/log"
	start
	within settled && answers || fail "fared does not start"
}
expect() {
	value_is "$1" || fail "$2: stale_s is $(value), and not $1"
	echo "ok: $2: stale_s is $1"
}
not_in_force() { event '.topic == "config" and .to == "not in force"'; }

configure 30
start
within settled && answers || fail "fared does not start"
expect 30 "at first"
configure 91
ctl reload --confirm 600 >/dev/null || fail "reload on trial"
expect 91 "on trial"
ctl show config | grep -q "a reload waits for confirmation" || fail "show config does not say so"
killed
expect 30 "killed while on trial"
ctl show config | grep -q "its last reload was not confirmed" || fail "show config does not say so"
not_in_force || fail "no event says so: $(ctl show events)"
grep -q "was on trial and not confirmed" "$DIR/log" || fail "the log does not say so"
killed
expect 30 "killed once more"
ctl reload >/dev/null || fail "reload"
expect 91 "reloaded for good"
killed
expect 91 "killed after that"

configure 92
ctl reload --confirm 1 >/dev/null || fail "reload on trial"
within value_is 91 || fail "not undone"
killed
expect 91 "killed after it was undone"
ctl reload --confirm 600 >/dev/null && ctl confirm >/dev/null || fail "reload and confirm"
killed
expect 92 "confirmed, then killed"

configure 93
ctl reload --confirm 600 >/dev/null || fail "reload on trial"
configure 94
killed
expect 94 "the file was edited again, and fared restarted"
configure 93
killed
expect 93 "edited back: that trial is over"

# record COMMAND: a trial's record as the user that fared runs as could change it: it is not used, and fared starts
record=$RUN/confirmed.yaml
record() {
	configure 93
	killed
	configure 95
	ctl reload --confirm 600 >/dev/null || fail "reload on trial"
	[ -e "$record" ] || fail "no record of the trial"
	eval "$1"
	killed
	expect 95 "record: $1"
	grep -q "confirmed.yaml: " "$DIR/log" || fail "the log does not say why"
}
record 'sed -i "s/^node: .*/node: other/" "$record"'
record 'sed -i "s/^run_dir: .*/run_dir: \/etc\nuser: daemon/" "$record"'
record 'echo "][" >>"$record"'
record 'chmod 666 "$record"'
record 'chown 65534 "$record"'
record 'mv "$record" "$DIR/elsewhere"; ln -s "$DIR/elsewhere" "$record"'
record 'rm "$record"; mkfifo "$record"'
record 'head -c 3000000 /dev/zero >>"$record"'
kill "$PID"
within ended || fail "fared does not end"
