#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ./fare beside others: one at a time installs, builds, packs or cleans in a tree, and apt-get update is tried again while
# somebody else holds the lock of its lists.
set -u
tree=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$scratch"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
within() {
	local end=$((SECONDS + 30))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

cp "$tree/fare" "$scratch/fare"
mkdir "$scratch/build"
(flock 9; echo held >"$scratch/held"; while [ -e "$scratch/held" ]; do sleep 0.05; done) 9>"$scratch/.fare.lock" &
within test -e "$scratch/held" || fail "the lock is not held"
"$scratch/fare" clean 2>"$scratch/said" &
within grep -q 'waiting for another ./fare' "$scratch/said" || fail "nothing is waited for: $(cat "$scratch/said")"
[ -d "$scratch/build" ] || fail "cleaned while another ./fare was at work"
rm "$scratch/held"
wait
[ ! -d "$scratch/build" ] || fail "not cleaned when the lock was free"

cat >"$scratch/apt-get" <<END
#!/bin/sh
echo x >>$scratch/calls
[ \$(wc -l <$scratch/calls) -ge 3 ] || { echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)'; exit 100; }
END
chmod +x "$scratch/apt-get"
sed -n '/^apt() /p; /^refresh_lists() /,/^}/p' "$scratch/fare" >"$scratch/functions"
PATH=$scratch:$PATH MANAGER=apt bash -c ". $scratch/functions; refresh_lists" || fail "apt's lock was not waited for"
[ "$(wc -l <"$scratch/calls")" = 3 ] || fail "apt-get update was called $(wc -l <"$scratch/calls") times"
exit 0
