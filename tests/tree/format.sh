#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The tree's own rules for source files: formatted as .clang-format says, at most 100 columns, a licence line each.
# Each release of clang-format breaks lines its own way; this is that of 14. Exit 77: it is not there, all else was checked.
set -u
cd "$(dirname "$0")/../.." || exit 1
bad=0

mapfile -t sources < <(git ls-files -co --exclude-standard '*.c' '*.h' '*.cc')
[ ${#sources[@]} -gt 0 ] || { echo "no source files found"; exit 1; }
mapfile -t scripts < <(git ls-files -co --exclude-standard fare .ci/run '*.sh' '*CMakeLists.txt' tests/vm/vm tests/vm/kernel)

differences='' unformatted=''
if command -v clang-format-14 >/dev/null; then
	differences=$(clang-format-14 --dry-run "${sources[@]}" 2>&1)
else
	unformatted="SKIP: clang-format-14 is not installed (Debian 13 has none)"
fi
if [ -n "$differences" ]; then
	grep -E '(warning|error):' <<<"$differences" | head -n 20
	echo "not as .clang-format says: run ./fare format"
	bad=1
fi
if expand -t 8 -- "${sources[@]}" | grep -qE '^.{101}'; then
	for file in "${sources[@]}"; do
		expand -t 8 -- "$file" | grep -nE '^.{101}' | sed "s|^\([0-9]*\):.*|$file:\1: longer than 100 columns|"
	done
	bad=1
fi
for file in "${sources[@]}" "${scripts[@]}"; do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: BSD-2-Clause' && continue
	echo "$file: no line \"SPDX-License-Identifier: BSD-2-Clause\" among the first three"
	bad=1
done
if [ "$bad" = 0 ] && [ -n "$unformatted" ]; then
	echo "$unformatted"
	exit 77
fi
exit $bad
