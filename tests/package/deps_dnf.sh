#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# deps_dnf.sh FARE: `./fare deps` where dnf is the package manager: it asks rpm what is there, and dnf for the rest, by the names
# of the lines for dnf. rpm and dnf are stand-ins that know a list of names; there is no apt-get.
set -euo pipefail
fare=$(readlink -f "${1:?where fare is}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
mkdir "$work/bin" "$work/tree" "$work/db"
cp "$fare" "$work/tree/fare"
for tool in bash env awk sort grep dirname readlink mkdir rm cat tail id touch sed flock; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
cat >"$work/bin/rpm" <<END
#!/bin/bash
case \$1 in
--eval) echo "$work/db" ;;
-q) grep -qx "\${@: -1}" "$work/installed" ;;
esac
END
cat >"$work/bin/dnf" <<END
#!/bin/bash
echo "\$*" >>"$work/asked"
case "\$*" in
*list*) grep -qx "\${@: -1}" "$work/offered" ;;
install*) for name in "\$@"; do case \$name in -*|install) ;; *) echo \$name >>"$work/installed" ;; esac; done; touch -d "1 second ago" "$work/db/rpmdb.sqlite" ;;
esac
END
chmod 755 "$work/bin/rpm" "$work/bin/dnf"
printf '%s\n' gcc make cmake git clang >"$work/installed"
# all of build and lab; of test no simgrid-devel, no debootstrap
awk '$2 == "dnf:" { for (i = 3; i <= NF; i++) print $i }' "$fare" | sed 's/|.*//' | grep -vx -e simgrid-devel -e debootstrap >"$work/offered"
deps() { PATH=$work/bin "$work/tree/fare" deps "$@"; }

[ "$(id -u)" = 0 ] || { echo "SKIP: not root"; exit 77; }
deps build lab test package 2>"$work/said" || { cat "$work/said"; fail "deps"; }
for name in uthash-devel isa-l-devel frr iproute-tc rpm-build qemu-kvm rpmlint; do
	grep -qx $name "$work/installed" || fail "$name was not installed"
done
for name in gcc simgrid-devel debootstrap build-essential libev-dev 'dnf:'; do
	! grep -q "^install.* $name\( \|$\)" "$work/asked" || fail "$name was asked for"
done
grep -q -- 'install_weak_deps=False' "$work/asked" || fail "weak dependencies would come along"
: >"$work/asked"
deps build lab test package
[ ! -s "$work/asked" ] || { cat "$work/asked"; fail "what is there is looked for again"; }
echo "held"
