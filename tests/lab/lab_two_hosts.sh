#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# As a user would: everything installed under a prefix, docs/examples/*.c compiled against that, and two_hosts run between two
# GPU servers of a lab, with the installed daemon, real FRR and a shared key: both planes carry, and farectl shows the QPs. Exit status: 0 passed, 1 failed, 77 skipped (the reason is printed).
set -u
. "$(dirname "$0")/../jq_true.sh"

here=$(cd "$(dirname "$0")/../.." && pwd)
bin=${FARE_BIN:-$here/build/release/bin}
lab=fth$$
work=$(mktemp -d /tmp/$lab.XXXXXX)

skip() { echo "skipped: $*"; exit 77; }
failed() { echo "FAILED: $*"; grep -sv '^-- ' "$work"/{cc,install,up,receiver,sender}; exit 1; }
cleanup() {
	[ -z "${receiver:-}" ] || kill "$receiver" 2>/dev/null
	"$bin/farelab" down $lab >/dev/null 2>&1
	rm -rf "$work"
}
trap cleanup EXIT
[ "$(id -u)" = 0 ] || skip "needs root for network namespaces"
command -v jq >/dev/null || skip "needs jq"
for tool in cmake cc pkg-config; do
	command -v $tool >/dev/null || skip "needs $tool"
done
[ -x "$bin/farelab" ] || skip "no $bin/farelab; set FARE_BIN to where the binaries are"
"$bin/farelab" frr || skip "needs FRR"

prefix=$work/prefix
cmake --install "$(dirname "$bin")" --prefix "$prefix" >"$work/install" 2>&1 || failed "cmake --install"
pc=$(find "$prefix" -name libfare.pc)
export PKG_CONFIG_PATH=${pc%/*}
export LD_LIBRARY_PATH=$(pkg-config --variable=libdir libfare)
for source in "$here"/docs/examples/*.c; do
	example=$(basename "$source" .c)
	cc -Wall -Wextra -Werror -o "$work/$example" "$(find "$prefix" -name "$example.c")" \
		$(pkg-config --cflags --libs libfare) >"$work/cc" 2>&1 ||
		failed "$example does not compile against what was installed"
	ldd "$work/$example" | grep -q "libfare.so.1 => $prefix" || failed "$example is linked with another libfare"
	[ "$("$work/$example" 2>&1 | cut -c 1-6)" = usage: ] || failed "$example does not start"
done
for page in "$here"/docs/man/*.[1-9]; do
	gunzip -t "$prefix/share/man/man${page##*.}/${page##*/}.gz" 2>/dev/null || failed "no manual page ${page##*/}"
done
for kind in topologies drills; do
	diff -r "$here/netns/$kind" "$prefix/share/fare/$kind" || failed "the $kind are not installed"
done
(umask 077; head -c 24 /dev/urandom | base64 >"$work/key")

"$bin/farelab" up "$here/netns/topologies/2x2x2.yaml" --name $lab --fared "$prefix/sbin/fared" --wait 60 >"$work/up" 2>&1 ||
	failed "no lab"
"$bin/farelab" status $lab --json >"$work/status"
run_dir() { jq -r --arg s "$1" '.servers[] | select(.name == $s) | .fared_run_dir' "$work/status"; }
two_hosts() {
	local host=$1
	shift
	FARE_KEY_FILE=$work/key FARE_RUN_DIR=$(run_dir "$host") exec "$bin/farelab" exec $lab "$host" -- "$work/two_hosts" "$@"
}

two_hosts s1 receive >"$work/receiver" 2>&1 &
receiver=$!
for ((i = 0; i < 1800; i++)); do
	grep -q '^two_hosts send' "$work/receiver" && break
	kill -0 $receiver 2>/dev/null || failed "the receiver ended"
	sleep 0.05
done
read -r _ _ _ address key < <(head -n 1 "$work/receiver")
peer=$(jq -r '.servers[] | select(.name == "s1") | .gpus[0].ipv4' "$work/status")
(two_hosts s0 send "::ffff:$peer" "$address" "$key" 100) >"$work/sender" 2>&1 &
sender=$!

# Meanwhile the operator sees the QPs: one a sub-port, each plane's leading to both remote sub-ports.
qps() { "$prefix/bin/farectl" -s "$(run_dir s0)" --json show qps; }
even='[.qps[] | select(.state == "up" and .udp_source_port and .peer == $peer)] | length == 4 and
	(group_by(.plane) | all(([.[].remote_sub_port] | sort) == [0, 1] and ([.[].local_sub_port] | sort) == [0, 1]))'
until qps >"$work/qps" && jq_true --arg peer "$peer" "$even" "$work/qps" >/dev/null; do
	kill -0 $sender 2>/dev/null || failed "farectl show qps never showed four QPs"
	sleep 0.05
done
"$prefix/bin/farectl" -s "$(run_dir s0)" show qps
wait $sender || failed "the sender"
for ((i = 0; i < 600; i++)); do # what the receiver has printed may be later than the sender's end
	[ "$(grep -c '^message .* 4194304 bytes' "$work/receiver")" = 100 ] && break
	sleep 0.05
done
[ $i -lt 600 ] || failed "not all arrived"
# the sender does not write into memory that the receiver has not read
awk '/^message/ { if ($2 + 0 != $NF) bad = 1 } END { exit bad }' "$work/receiver" || failed "a message was overwritten"
[ "$(grep -c '^plane [01] carried [1-9]' "$work/sender")" = 2 ] || failed "not every plane carried"
cat "$work/sender"
echo passed
