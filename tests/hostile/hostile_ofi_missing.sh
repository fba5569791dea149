#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a libfabric application needs is taken away, one thing at a time: each is named in a line of libfabric's log. Then a host
# with twenty other interfaces, each with addresses: the application gets the GPU's, and soon.
. "$(dirname "$0")/lone.sh"
[ -e "${FI_PROVIDER_PATH:-}/libfare-fi.so" ] && [ -x "$FARE_BIN/ofi_ask" ] || skip "libfabric's headers are not installed"
USER_ID=1000 GROUP_ID=$(getent group users | cut -d: -f3)
[ -n "$GROUP_ID" ] || skip "needs a group users"
KEY=$DIR/key
# where a user may read them, wherever this tree is
cp "$FARE_BIN/ofi_ask" "$FI_PROVIDER_PATH/libfare-fi.so" "$DIR"
export FI_PROVIDER_PATH=$DIR

# asks ENV...: ofi_ask as a user with no rights but those of the group; its output is in $DIR/out
asks() {
	ip netns exec "$NS" setpriv --reuid $USER_ID --regid $USER_ID --groups $GROUP_ID \
		env FI_LOG_LEVEL=warn FI_PROVIDER=fare "$@" "$DIR/ofi_ask" $NODE >"$DIR/out" 2>&1
}

# names TEXT ENV...: it does not work, and one line says so
names() {
	local text=$1
	shift
	asks "$@" && fail "$text: it works all the same"
	grep -q -- "fare:.*$text" "$DIR/out" || { cat "$DIR/out"; fail "'$text' is not said"; }
	echo "said: $text"
}

# works ENV...
works() {
	asks "$@" && grep -q '^opened' "$DIR/out" || { cat "$DIR/out"; fail "it does not work"; }
}

NODE=
ulimit -c 0
head -c 32 /dev/zero | tr '\0' k >"$KEY"
chown $USER_ID "$KEY" && chmod 600 "$KEY"
names "no fared to attach to in $RUN" FARE_RUN_DIR="$RUN" FARE_KEY_FILE="$KEY"
configure 60
echo "group: users" >>"$CONFIG"
start
within answers || fail "fared does not start"
works FARE_RUN_DIR="$RUN" FARE_KEY_FILE="$KEY"

allowed=$GROUP_ID GROUP_ID=54321
names "no access to fared's $RUN: it needs the group users" FARE_RUN_DIR="$RUN" FARE_KEY_FILE="$KEY"
GROUP_ID=$allowed

names "FARE_KEY_FILE names no key" FARE_RUN_DIR="$RUN"
names "key file .*$DIR/none.*No such file" FARE_RUN_DIR="$RUN" FARE_KEY_FILE="$DIR/none"
chown 0 "$KEY"
names "key file .*$KEY.*Permission denied" FARE_RUN_DIR="$RUN" FARE_KEY_FILE="$KEY"
chown $USER_ID "$KEY" && chmod 644 "$KEY"
names "key file .*$KEY" FARE_RUN_DIR="$RUN" FARE_KEY_FILE="$KEY"
chmod 600 "$KEY"
[ -e /dev/infiniband ] || names "\(this kernel has no RDMA\|RDMA device\)" FARE_RUN_DIR="$RUN" FARE_KEY_FILE="$KEY" FARE_PROVIDER=verbs

# soft locks no memory
(ulimit -l 8192 && works FARE_RUN_DIR="$RUN" FARE_KEY_FILE="$KEY") || exit 1
NODE="198.19.0.1 9228"
works FARE_RUN_DIR="$RUN" FARE_KEY_FILE="$KEY"
grep -q '^fare0 198.19.0.1 9228$' "$DIR/out" || { cat "$DIR/out"; fail "not the source that was asked for"; }

NODE=
ip -n "$NS" link add docker0 type bridge
ip -n "$NS" addr add 172.17.0.1/16 dev docker0
ip -n "$NS" link set docker0 up
for ((i = 0; i < 10; i++)); do
	ip -n "$NS" link add e$i type veth peer name f$i
	for device in e$i f$i; do
		ip -n "$NS" addr add fe80::$i:1/64 dev $device
		ip -n "$NS" addr add 192.0.2.$((2 * i + 1))/32 dev $device
		ip -n "$NS" link set $device up
	done
done
since=${EPOCHREALTIME/[.,]/}
works FARE_RUN_DIR="$RUN" FARE_KEY_FILE="$KEY"
took_ms=$(((${EPOCHREALTIME/[.,]/} - since) / 1000))
[ "$(grep '^fare' "$DIR/out")" = "fare0 198.19.0.1 0" ] || { cat "$DIR/out"; fail "not the GPU's address alone"; }
[ $took_ms -lt 10000 ] || fail "it took $took_ms ms among twenty interfaces"
NODE="172.17.0.1"
asks FARE_RUN_DIR="$RUN" FARE_KEY_FILE="$KEY" && fail "the address of another device is taken for a GPU's"
echo "twenty interfaces: $took_ms ms"
exit 0
