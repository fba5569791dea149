# SPDX-License-Identifier: BSD-2-Clause
# A Debian root of a test's own: made by debootstrap, entered by chroot, removed at the end. Sourced by a script of bash before it
# does anything else, since it starts the script again in namespaces of its own: mounts and processes of the root end with these.
# Takes 1 GB under /var/tmp. Needs root, debootstrap and a mirror; exit 77 = skipped, with the reason printed.
set -euo pipefail

skip() { echo "SKIP: $*"; exit 77; }
fail() { echo "FAIL: $*"; exit 1; }
say() { echo "$(basename "$0" .sh): $*" >&2; }

[ "$(id -u)" = 0 ] || skip "not root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"

if [ -z "${FARE_TEST_ROOT:-}" ]; then
	FARE_TEST_ROOT=$(mktemp -d /var/tmp/fare-root.XXXXXX)
	export FARE_TEST_ROOT
	# a test that is killed (kill -9, a time-out) takes its root along: a process that is no child of it waits for its end
	(setsid bash -c 'tail --pid=$1 -f /dev/null; rm -rf --one-file-system "$2"' guard $$ "$FARE_TEST_ROOT" \
		</dev/null >/dev/null 2>&1 &)
	exec unshare --mount --pid --fork --kill-child --propagation private "$0" "$@"
fi
root=$FARE_TEST_ROOT
trap 'umount -R -l "$root" 2>/dev/null; rm -rf --one-file-system "$root"' EXIT

# the release that this machine runs: bookworm is Debian 12, trixie 13
this_debian() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release; }

# inside COMMAND...
inside() {
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# new_root RELEASE: from the mirror that this machine uses itself. Packages that were fetched once stay in build/debs.
new_root() {
	local release=$1 log=$root/debootstrap.log debs mirror
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
	[ -n "$mirror" ] || skip "apt names no mirror"
	debs=$(realpath -m "$(dirname "$0")/../../build/debs/$release")
	mkdir -p "$debs"
	chmod 755 "$root"
	mount --bind "$root" "$root" && mount --make-private "$root" # ip(8) wants / to be a mount
	say "a new root of $release in $root"
	debootstrap --variant=minbase --cache-dir="$debs" "$release" "$root" "$mirror" >"$log" 2>&1 || {
		tail "$log"
		! grep -q "Failed getting release file" "$log" || skip "no Debian mirror can be reached"
		fail "debootstrap"
	}
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io" # no fsync for each file: the root is thrown away
	mount --bind "$debs" "$root/var/cache/apt/archives"
	for d in proc sys dev; do mount --rbind "/$d" "$root/$d"; done
	mount -t proc proc "$root/proc"
	mount -t tmpfs run "$root/run"
	echo "127.0.0.1 localhost" >"$root/etc/hosts" # as an installed system has it
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # a root without an init: packages start nothing
	chmod 755 "$root/usr/sbin/policy-rc.d"
}
