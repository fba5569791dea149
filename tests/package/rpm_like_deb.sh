#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# rpm_like_deb.sh DIRECTORY: the .rpm and .deb packages in DIRECTORY are alike: paths, modes, owners, links, contents, files of
# configuration, what else is needed, and what their scripts call at installation, upgrade and removal. rpmlint has no complaint.
set -euo pipefail
packages=$(readlink -f "${1:?where the packages are}")
here=$(dirname "$(readlink -f "$0")")
[ "$(id -u)" = 0 ] || { echo "SKIP: not root"; exit 77; }
for tool in rpm rpmbuild rpm2cpio cpio dpkg-deb; do command -v $tool >/dev/null || { echo "SKIP: there is no $tool"; exit 77; }; done
ls "$packages"/*.rpm >/dev/null 2>&1 || { echo "FAIL: no .rpm was built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() { echo "FAIL: $*"; failed=1; }

# contents DIRECTORY: a line for each file: mode, owner, path, link's target or digest; without what one format alone has
contents() {
	(cd "$1" && find . ! -type d -printf '%M %u:%g %P %l\n' | while read -r mode owner path target; do
		case $path in
		usr/share/doc/*/changelog.gz | usr/share/doc/*/copyright | usr/share/lintian/* | usr/share/licenses/*) continue ;;
		esac
		[ -n "$target" ] || target=$(sha256sum <"$path")
		echo "$mode $owner ${path/site-functions/vendor-completions} $target"
	done) | sort -k3
}

# alike DEB RPM: the names of both
alike() {
	local deb=("$packages/$1"_*.deb) rpm=("$packages/$2"-[0-9]*.rpm) dir=$work/$1
	[ ${#deb[@]} = 1 ] && [ -e "${deb[0]}" ] && [ ${#rpm[@]} = 1 ] && [ -e "${rpm[0]}" ] || { fail "not one of each: ${deb[*]} ${rpm[*]}"; return; }
	mkdir -p "$dir/deb" "$dir/rpm"
	dpkg-deb -x "${deb[0]}" "$dir/deb"
	dpkg-deb -e "${deb[0]}" "$dir/control"
	rpm2cpio "${rpm[0]}" >"$dir.cpio" # cpio does not read it to the end, which ends rpm2cpio if they share a pipe
	(cd "$dir/rpm" && cpio -idm --quiet <"$dir.cpio")
	contents "$dir/deb" >"$dir.deb"
	contents "$dir/rpm" >"$dir.rpm"
	[ -s "$dir.deb" ] || fail "$1 is empty"
	diff -u "$dir.deb" "$dir.rpm" || fail "$1 and $2 differ"
	# what rpm sets is not what cpio unpacks, if a package says otherwise
	rpm -qp --qf '[%{FILEUSERNAME}:%{FILEGROUPNAME}\n]' "${rpm[0]}" | sort -u | grep -vx root:root && fail "$2: owners"
	[ -e "$dir/rpm/usr/share/licenses/$2/LICENSE" ] || fail "$2 has no licence"
	rpm -qp --licensefiles "${rpm[0]}" | grep -qx "/usr/share/licenses/$2/LICENSE" || fail "$2's licence is not marked"
	[ -e "$dir/deb/usr/share/doc/$1/copyright" ] || fail "$1 has no licence"
	for program in "$dir"/rpm/usr/bin/* "$dir"/rpm/usr/sbin/*; do
		[ ! -e "$program" ] || ls "$dir"/rpm/usr/share/man/man?/"${program##*/}".?.gz >/dev/null 2>&1 || fail "no page for $program"
	done
	cat "$dir/control/conffiles" >"$dir.deb" 2>/dev/null || : >"$dir.deb"
	rpm -qp --qf '[%{FILEFLAGS:fflags} %{FILENAMES}\n]' "${rpm[0]}" | sed -n 's/^cn //p' >"$dir.rpm"
	diff -u "$dir.deb" "$dir.rpm" || fail "$1 and $2: files of configuration"
	[ "$(dpkg-deb -f "${deb[0]}" Version)" = "$(rpm -qp --qf '%{VERSION}' "${rpm[0]}")" ] || fail "$2: version"
}

alike fared fared
alike libfare1 libfare
alike libfare-dev libfare-devel
alike libnccl-net-fare libnccl-net-fare
alike farelab farelab
alike farebench farebench
[ ! -e "$packages"/libfare-fi_*.deb ] || alike libfare-fi libfare-fi
[ ! -e "$packages"/farebench-mpi_*.deb ] || alike farebench-mpi farebench-mpi
[ "$(ls "$packages"/*.deb | wc -l)" = "$(ls "$packages"/*.rpm | wc -l)" ] || fail "more of one kind than of the other"

needs() { # RPM REQUIREMENT
	rpm -qp --requires "$packages/$1"-[0-9]*.rpm | grep -qxF "$2" || fail "$1 does not need '$2'"
}
version=$(rpm -qp --qf '%{VERSION}' "$packages"/fared-[0-9]*.rpm)
needs fared systemd
needs libfare-devel "libfare = $version"
needs farebench "farelab = $version"
needs farelab "frr >= 8.4"
needs farelab iproute-tc
needs fared "libseccomp.so.2()(64bit)"
rpm -qp --provides "$packages"/libfare-[0-9]*.rpm | grep -q '^libfare\.so\.1(' || fail "libfare does not provide its library"

# ---- scripts: their programs are replaced by ones that say what was asked of them
stubs=$work/stubs
mkdir "$stubs"
for name in systemd-sysusers systemd-tmpfiles systemctl deb-systemd-invoke deb-systemd-helper; do
	printf '#!/bin/sh\necho "%s $*" >>"%s/calls"\n' $name "$work" >"$stubs/$name"
	chmod 755 "$stubs/$name"
done
for name in POSTIN PREUN POSTUN; do rpm -qp --qf "%{$name}\n" "$packages"/fared-[0-9]*.rpm >"$work/$name"; done

# calls SCRIPT ARG...: of services and their users, in order, in one form for both formats
calls() {
	: >"$work/calls"
	unshare --mount --propagation private sh -c 'mount -t tmpfs run /run && mkdir -p /run/systemd/system && PATH=$1:$PATH && shift && exec sh "$@"' \
		sh "$stubs" "$@" || fail "$* fails"
	# deb-systemd-helper keeps dpkg's records of links; what is never enabled by a package has none
	sed -E 's/^deb-systemd-invoke/systemctl/; s/ --system//; /^deb-systemd-helper/d' "$work/calls"
}
same_calls() { # WHAT: both are in $work/a and $work/b
	diff -u "$work/a" "$work/b" || fail "the scripts differ at $1"
	[ -s "$work/a" ] || fail "no script does anything at $1"
}
control=$work/fared/control
calls "$control/postinst" configure "" >"$work/a"
calls "$work/POSTIN" 1 >"$work/b"
grep -qx 'systemctl --no-reload preset fared.service fared-exporter.service' "$work/b" || fail "the .rpm leaves the site's presets out"
sed -i '/ preset /d' "$work/b" # Debian's policy for services at installation is in deb-systemd-invoke
same_calls installation
calls "$control/postinst" configure 0.0.9 >"$work/a"
calls "$work/POSTIN" 2 >"$work/b"
same_calls upgrade
grep -qx 'systemctl try-restart fared.service fared-exporter.service' "$work/b" || fail "an upgrade restarts nothing"
calls "$work/PREUN" 1 >"$work/b"
[ ! -s "$work/b" ] || fail "an upgrade stops something"
{ calls "$control/prerm" remove; calls "$control/postrm" remove; } >"$work/a"
{ calls "$work/PREUN" 0; calls "$work/POSTUN" 0; } >"$work/b"
grep -q 'disable' "$work/b" || fail "links stay after removal"
sed -i '/ disable /d' "$work/b" # Debian takes the links away when the package is purged
same_calls removal

if command -v rpmlint >/dev/null; then
	rpmlint --config "$here/rpmlint.toml" "$packages"/*.rpm >"$work/lint" 2>&1 || { cat "$work/lint"; fail "rpmlint"; }
	grep -E ': [EW]: ' "$work/lint" && fail "rpmlint complains"
else
	echo "rpmlint is not installed"
fi
[ "$failed" = 0 ] && echo "alike: $(ls "$packages"/*.rpm | wc -l) packages"
exit "$failed"
