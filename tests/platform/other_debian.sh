#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# other_debian.sh: on a new root of the Debian that this machine does not run (12 or 13), installs what ./fare lists, builds what an
# operator needs, without a warning, and runs the unit tests. See root.sh for what it needs. As ./fare does, it runs up to three
# tests that failed beside others once more, alone.
. "$(dirname "$0")/root.sh"

case $(this_debian) in
bookworm) other=trixie ;;
trixie) other=bookworm ;;
*) skip "this machine runs neither Debian 12 nor 13" ;;
esac
new_root "$other"

tree=$root/root/fare
mkdir "$tree"
cd "$(dirname "$0")/../.."
git ls-files -z -co --exclude-standard | tar -c --null -T - --ignore-failed-read | tar -x -C "$tree" --no-same-owner

# step LOG COMMAND: in the tree
step() {
	local log=$root/$1.log
	say "$1"
	inside sh -c "cd /root/fare && $2" >"$log" 2>&1 && return
	grep -vE '^ +Start|Passed' "$log" | tail -n 60
	fail "$1, on $other"
}
flags="-DFARE_WERROR=ON -DCMAKE_C_FLAGS_RELWITHDEBINFO='-O2 -D_FORTIFY_SOURCE=2'" # nobody debugs there: a quarter less to build
step packages "./fare deps build unit"
step build "cmake --preset release -DFARE_TESTS=OFF $flags && ninja -C build/release"
step tests "cmake --preset release -DFARE_TESTS=ON $flags && ninja -C build/release unit_tests"
again='test $(wc -l <build/release/Testing/Temporary/LastTestsFailed.log) -le 3 && ctest --test-dir build/release --rerun-failed --output-on-failure'
step run "ctest --test-dir build/release -R ^unit/ -j $(nproc) --output-on-failure || { $again; }"
sed -n '/tests passed/,$p' "$root/run.log"
inside gcc --version | head -n 1
