#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# fared started by an ordinary user: `group` is given what the manual says, or the start fails and says why.
# Exit status: 0 passed, 1 failed, 77 skipped (the reason is printed). FARE_BIN: the directory of fared.
set -u

here=$(cd "$(dirname "$0")/../.." && pwd)
bin=${FARE_BIN:-$here/build/release/bin}
user=64001 group=users

skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root, to become somebody else"
command -v setpriv >/dev/null || skip "needs setpriv (apt install util-linux)"
gid=$(getent group $group | cut -d: -f3)
[ -n "$gid" ] || skip "needs a group $group"
[ -x "$bin/fared" ] || skip "no $bin/fared; set FARE_BIN to where the binaries are"

dir=$(mktemp -d /tmp/lab_user.XXXXXX) || exit 1
daemon=
cleanup() { [ -z "$daemon" ] || kill "$daemon" 2>/dev/null; rm -rf "$dir"; }
trap cleanup EXIT
trap 'exit 1' INT TERM
failed() { echo "FAILED: $*"; cat "$dir/log"; exit 1; }

mkdir "$dir/run" "$dir/bin"
cp "$bin/fared" "$dir/bin" # where the binaries are others may not look
chmod 755 "$dir"
chown $user "$dir/run"
cat >"$dir/fared.yaml" <<EOF
node: s0
run_dir: $dir/run
group: $group
bgp: {bmp_port: 5001, peer_prefixes: [198.19.0.0/16]}
health: {enabled: false}
local_gpus:
  - name: g0
    addresses: [198.19.0.1]
    planes:
      - sub_ports: [{dev: none0, speed_mbps: 200, neighbors: [198.18.0.0]}]
EOF
# starts [COMMAND...]: whether fared starts, by that command, in a network namespace of its own
starts() {
	local limit=$((SECONDS + 90))

	: >"$dir/log"
	unshare -n "$@" "$dir/bin/fared" -c "$dir/fared.yaml" 2>"$dir/log" &
	daemon=$!
	until grep -q 'daemon: started' "$dir/log"; do
		kill -0 $daemon 2>/dev/null || return 1
		[ $SECONDS -lt $limit ] || failed "neither started nor gone in time"
		sleep 0.05
	done
}

# as_user GROUP: as that user of that group, without a capability
as_user() { starts setpriv --reuid $user --regid $user --groups "$1" --bounding-set -all --inh-caps -all; }

as_user $user && failed "it started, though it is no member of the group"
grep -q 'leave `group` out' "$dir/log" || failed "it does not say what to do"
echo "ok: no member, no start: $(tail -1 "$dir/log")"
as_user "$gid" || failed "it does not start"
for file in paths.shm:640 control.sock:660; do
	is=$(stat -c '%u %g %a' "$dir/run/${file%:*}")
	[ "$is" = "$user $gid ${file#*:}" ] || failed "${file%:*} is of '$is'"
	echo "ok: ${file%:*} is of user, group and mode $is"
done
is=$(stat -c '%u %a' "$dir/run/operate.sock")
[ "$is" = "$user 600" ] || failed "operate.sock is of '$is'"

# ---- started by root, to become a user; the run directory is root's, as a service manager makes it ---
kill $daemon && wait $daemon 2>/dev/null
sed -i "s/^group: .*/group: $group\nuser: daemon/" "$dir/fared.yaml"
rm -rf "$dir/run" && mkdir -m 755 "$dir/run" || exit 1
starts || failed "it does not start as root"
[ "$(stat -c %U "$dir/run")" = daemon ] || failed "the run directory stays $(stat -c %U "$dir/run")'s"
grep -qE "^Groups:.*\b$gid\b" "/proc/$daemon/status" || failed "no member of $group: $(grep Groups "/proc/$daemon/status")"
grep -q '^CapEff:.*0000000000000000' "/proc/$daemon/status" || failed "it keeps capabilities: $(grep CapEff "/proc/$daemon/status")"
"$bin/farectl" -s "$dir/run" drain all 0 >/dev/null || failed "a drain is not kept"
[ "$(stat -c %U "$dir/run/drains.json")" = daemon ] || failed "drains.json is not the daemon's"
[ "$(stat -c %U "$dir/run/events")" = daemon ] || failed "events is not the daemon's"
echo "ok: a run directory that root made is given to the user"
kill $daemon && wait $daemon 2>/dev/null
daemon=
chown root "$dir/run" && touch "$dir/run/of-somebody" || exit 1
starts && failed "it takes a directory with files of others"
[ "$(stat -c %U "$dir/run")" = root ] || failed "it took a directory with files of others"
echo "ok: one with files of others is not: $(tail -1 "$dir/log")"
daemon=
