#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# page.sh MAKE_PAGES: opens the report and the comparison in headless Chromium, in windows of 1400, 1200 and 400 pixels, and
# fails on messages on the console, pages wider than the window, tables wider than the page (1000 and more), headings, pictures or
# text that are missing. A report of all tests is opened too, also as it is printed.
set -euo pipefail
make_pages=$(readlink -f "$1")
cd "$(dirname "$(readlink -f "$0")")"
command -v chromium >/dev/null || { echo "skipped: no chromium (./fare deps)"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
options=(--headless --disable-gpu --user-data-dir="$dir/profile" --enable-logging=stderr --virtual-time-budget=20000
	--window-size=1500,1000)
[ "$(id -u)" != 0 ] || options+=(--no-sandbox)

# look FILE WIDTH FIGURES ID...: prints the faults, "none" if there are none. The page is put into a frame of that
# width, because a window of Chromium is 500 pixels wide at least.
look() {
	local file=$1 width=$2 figures=$3 ids
	shift 3
	ids=$(printf '"%s",' "$@")
	{
		echo '<!DOCTYPE html><meta charset="utf-8"><pre id="faults">it did not end</pre>'
		echo "<script>const WIDTH = $width, FIGURES = $figures, IDS = [$ids];"
		cat look.js
		printf '</script><iframe id="page" width="%s" height="900" style="border:0" srcdoc="' "$width"
		sed 's/&/\&amp;/g; s/"/\&quot;/g' "$file"
		echo '"></iframe>'
	} >"$dir/look.html"
	chromium "${options[@]}" --dump-dom "file://$dir/look.html" >"$dir/dom" 2>"$dir/log" || echo "chromium failed"
	grep -o 'CONSOLE:.*' "$dir/log" || true
	tr '\n' '\v' <"$dir/dom" | grep -o '<pre id="faults">[^<]*' | sed 's/.*>//' | tr '\v' '\n'
}

bad=0
# expect FAULTS NAME LOOK_ARG...: FAULTS is a pattern for what is found
expect() {
	local pattern=$1 name=$2 found
	shift 2
	found=$(look "$@")
	if [[ $found == $pattern ]]; then
		echo "$name: as expected"
	else
		printf '%s: expected "%s", found:\n%s\n' "$name" "$pattern" "${found:0:2000}"
		bad=1
	fi
}

"$make_pages" "$dir" >/dev/null
ids=(strategies kpis anomalies accounting repeatability health run tests map test-5.1 test-10.2)
for width in 1400 1200 400; do
	expect none "report, $width pixels" "$dir/report.html" "$width" 31 "${ids[@]}"
	expect none "comparison, $width pixels" "$dir/compare.html" "$width" 1 sum changed
done
# All tests that there are; a sheet of A4 on its side less its margins has 1032 pixels.
figures=$(grep -o '<figure' "$dir/all.html" | wc -l)
sed 's/@media print{/@media screen{/' "$dir/all.html" >"$dir/printed.html"
for width in 1400 1200; do
	expect none "all tests, $width pixels" "$dir/all.html" "$width" "$figures" health test-13.3
done
expect none "all tests, printed" "$dir/printed.html" 1032 "$figures" health test-13.3
# what must be found
sed 's|</h1>|</h1><p style="width:600px">wide</p>|' "$dir/report.html" >"$dir/wide.html"
expect '*pixels wide*' "planted: too wide" "$dir/wide.html" 400 31 "${ids[@]}"
sed 's|<table|<table style="width:1300px"|' "$dir/report.html" >"$dir/cut.html"
expect '*a table is cut*' "planted: a table that does not fit" "$dir/cut.html" 1200 31 "${ids[@]}"
sed 's|id="health"|id="ill"|' "$dir/report.html" >"$dir/id.html"
expect '*health*leads nowhere*' "planted: a heading is missing" "$dir/id.html" 1400 31 "${ids[@]}"
sed '0,/<svg/s//<svg hidden style="display:none"/' "$dir/report.html" >"$dir/picture.html"
expect 'picture 0 has no size' "planted: a picture is missing" "$dir/picture.html" 1400 31 "${ids[@]}"
sed 's|</body>|<script>undefined_function()</script></body>|' "$dir/report.html" >"$dir/console.html"
expect '*CONSOLE*undefined_function*' "planted: an error" "$dir/console.html" 1400 31 "${ids[@]}"
exit $bad
