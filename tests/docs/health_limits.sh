#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every constant of health/health_limits.h has a row in docs/health.md with its value, and every row's constant exists.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# name and value, as the preprocessor and the compiler have them
names=$(sed -n 's/^#define \(HEALTH_[A-Z_]*\)\s.*/\1/p' health/health_limits.h | grep -vx HEALTH_MS_NS)
{
	echo '#include <stdio.h>'
	echo '#include "health_limits.h"'
	echo 'int main(void) {'
	for name in $names; do echo "printf(\"%s %.9g\\n\", \"$name\", (double)$name);"; done
	echo '}'
} >"$dir/print.c"
"${CC:-cc}" -Ihealth -o "$dir/print" "$dir/print.c" || exit 1

# as the page writes them: 20 ms, 1.25 s, 1 in 10,000, 25,000
"$dir/print" | awk '
function thousands(n,  text, out) {
	text = sprintf("%d", n)
	for (out = ""; length(text) > 3; text = substr(text, 1, length(text) - 3))
		out = "," substr(text, length(text) - 2) out
	return text out
}
function time(ms) { return ms >= 1000 ? sprintf("%g s", ms / 1000) : sprintf("%g ms", ms) }
{
	if ($1 ~ /_NS$/) value = time($2 / 1e6)
	else if ($1 ~ /_MS$/) value = time($2)
	else if ($2 < 1) value = "1 in " thousands(1 / $2 + 0.5)
	else value = thousands($2)
	print $1, value
}' | sort >"$dir/header"

# a row: | `NAME` | formula | value and what it counts | reason |
sed -n 's/^| `\(HEALTH_[A-Z_]*\)` |[^|]*| \([^|]*\) |.*/\1 \2/p' docs/health.md | sort >"$dir/page"
bad=0
while read -r name value; do
	shown=$(sed -n "s/^$name //p" "$dir/page")
	[ -n "$shown" ] || { echo "$name: no row in docs/health.md"; bad=1; continue; }
	case "$shown " in
	"$value "*) ;;
	*) echo "$name: docs/health.md says \"$shown\", the header $value"; bad=1 ;;
	esac
done <"$dir/header"
while read -r name _; do
	grep -q "^$name " "$dir/header" || { echo "$name: a row in docs/health.md alone"; bad=1; }
done <"$dir/page"
[ "$(wc -l <"$dir/header")" -gt 20 ] || { echo "only $(wc -l <"$dir/header") constants found"; bad=1; }
[ $bad = 0 ] && echo ok
exit $bad
