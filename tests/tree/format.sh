#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# format.sh [--fix]: the tree's own rules for source files: formatted as .clang-format says, at most 100 columns, a licence line each.
# Each release of clang-format breaks lines its own way: .clang-format says which one formats this tree. It may have any name, and
# be $CLANG_FORMAT. Exit 77: it is not there, all else was checked. --fix formats the sources.
set -u
cd "$(dirname "$0")/../.." || exit 1
bad=0

mapfile -t sources < <(git ls-files -co --exclude-standard '*.c' '*.h' '*.cc')
[ ${#sources[@]} -gt 0 ] || { echo "no source files found"; exit 1; }
mapfile -t scripts < <(git ls-files -co --exclude-standard fare .ci/run '*.sh' '*CMakeLists.txt' tests/vm/vm tests/vm/kernel)

release=$(sed -n '1s/^# clang-format \([0-9]*\)\..*/\1/p' .clang-format)
formatter=
for name in ${CLANG_FORMAT:-clang-format "clang-format-$release"}; do
	[[ $("$name" --version 2>/dev/null) != *" version $release."* ]] || formatter=$name
done
missing="clang-format $release is not installed (CLANG_FORMAT=PROGRAM names one that is elsewhere)"
if [ "${1:-}" = --fix ]; then
	[ -n "$formatter" ] || { echo "$missing" >&2; exit 1; }
	exec "$formatter" -i "${sources[@]}"
fi

differences='' unformatted=''
if [ -n "$formatter" ]; then
	differences=$("$formatter" --dry-run "${sources[@]}" 2>&1)
else
	unformatted="SKIP: $missing"
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
