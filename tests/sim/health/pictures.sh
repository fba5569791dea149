#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Draws what the simulation says of other intervals and multipliers: time to find a gray leaf, and false downs.
set -u
usage='usage: pictures.sh SIM_HEALTH DIRECTORY [SCHEDULES [INTERVALS [MULTIPLIERS]]]
SCHEDULES (400) of each pair, the same seeds, and a quarter as many with nothing bad but faults; INTERVALS ("1 2 3 5 10")
in ms, MULTIPLIERS ("2 3 4 5"), six at most, both ascending, with one blank between two. As many at a time as there are
cores. Writes health-found.svg, health-false.svg, and health.tsv: what they show.'
[ $# -ge 2 ] && [ $# -le 5 ] || { echo "$usage" >&2; exit 2; }
sim=$1 out=$2 schedules=${3:-400} intervals=${4:-1 2 3 5 10} multipliers=${5:-2 3 4 5}
command -v gnuplot >/dev/null || { echo 'pictures.sh: gnuplot is missing: ./fare deps' >&2; exit 77; }
mkdir -p "$out" || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

for interval in $intervals; do
	for multiplier in $multipliers; do
		echo "$interval $multiplier $schedules beside"
		echo "$interval $multiplier $((schedules / 4 + 1)) alone --alone"
	done
done | xargs -P "$(nproc)" -L 1 bash -c '
	"$0" --interval "$2" --multiplier "$3" --schedules "$4" --seed 1 --keep-going --table "${@:6}" >"$1/$5-$2-$3"
	# 1: it found a violation; of those, false downs are what is drawn
	[ $? -le 1 ] && grep -q "^schedules	$4$" "$1/$5-$2-$3" || exit 255
	grep "^violation" "$1/$5-$2-$3" | grep -v "false down" >&2
	echo "interval $2 ms x $3, $5: done" >&2' "$sim" "$dir" || { echo 'pictures.sh: the simulation failed' >&2; exit 1; }

# a line for each pair; Byar: with 95% confidence there are no more than that many where n were seen
for interval in $intervals; do
	for multiplier in $multipliers; do
		awk -F '\t' -v OFS='\t' '
		function bound(n) { return (n + 1) * (1 - 1 / (9 * (n + 1)) + 1.6449 / (3 * sqrt(n + 1))) ^ 3 }
		FILENAME ~ /beside-/ && NF == 2 { v[$1] = $2 }
		$1 == "leaf-gray" && index(FILENAME, "/" $2 "-") { n[$2] = $3; p50[$2] = $4; p99[$2] = $5; max[$2] = $6 }
		END {
			hours = v["path_hours"]
			if (!hours)
				exit 1
			alone = "alone" in n
			beside = "beside" in n
			print v["interval_ms"], v["multiplier"], hours, v["false_downs"], bound(v["false_downs"]),
				alone ? n["alone"] : 0, alone ? p50["alone"] : "?", alone ? max["alone"] : "?",
				beside ? n["beside"] : 0, beside ? p50["beside"] : "?", beside ? p99["beside"] : "?"
		}' "$dir/alone-$interval-$multiplier" "$dir/beside-$interval-$multiplier" ||
			{ echo "pictures.sh: $interval ms x $multiplier: nothing was run" >&2; exit 1; }
	done
done >"$dir/rows" || exit 1
{
	printf 'interval_ms\tmultiplier\tpath_hours\tfalse_downs\tat_most\tn\tp50_ms\tmax_ms\tn_beside\tp50_beside_ms\tp99_beside_ms\n'
	cat "$dir/rows"
} >"$out/health.tsv"

# one colour for each multiplier
style() { echo "lc rgb word('#3b82c4 #e69f00 #1a9e77 #cc6fa3 #d9541e #8a7fd0', $1)"; }
plot() { # columns of a solid and of a dashed line, and what the dashed one is
	local i=0 m all=''
	for m in $multipliers; do
		i=$((i + 1))
		all="$all${all:+, }\"< awk '\$2 == $m' '$dir/rows'\" using 1:$1 with linespoints pt 7 lw 2 $(style $i) title 'x $m'"
		all="$all, \"< awk '\$2 == $m' '$dir/rows'\" using 1:$2 with linespoints pt 6 dt 2 $(style $i) notitle"
	done
	echo "plot $all, NaN with linespoints pt 6 dt 2 lc rgb 'gray' title '$3'"
}
common="set datafile separator '\t' missing '?'; set grid lc rgb '#cccccc'; set key left top; set border lc rgb '#777777';
	set logscale x; set xtics ($(echo "$intervals" | tr ' ' ',')); set xrange [0.9 * ${intervals%% *}:1.1 * ${intervals##* }]
	set xlabel 'interval, ms'"
gnuplot <<EOF || exit 1
set terminal svg size 1000,400 dynamic background '#ffffff' name 'found'
set output '$out/health-found.svg'
$common
set multiplot layout 1,2
set yrange [0:$(awk -F '\t' '$8 + 0 > most { most = $8 + 0 } END { print most ? 1.1 * most : 100 }' "$dir/rows")]
set ylabel 'ms'
set title 'Gray leaf found after (simulated): nothing else bad'
$(plot 7 8 'the slowest; solid: median')
set yrange [1:1000]
set logscale y
set title 'with queues, stalls, losses or false claims beside it'
$(plot 10 11 'p99; solid: median')
unset multiplot
EOF
gnuplot <<EOF || exit 1
set terminal svg size 700,400 dynamic background '#ffffff' name 'false'
set output '$out/health-false.svg'
$common
set logscale y
set yrange [1:10000]
set ylabel 'in 1,000 path-hours'
set title 'False downs (simulated bad minutes, $(awk -F '\t' '{ s += $3 } END { printf "%.0f", s }' "$dir/rows") path-hours)'
$(plot '($4 > 0 ? 1000 * $4 / $3 : NaN)' '(1000 * $5 / $3)' 'at most, with 95% confidence; solid: seen')
EOF
echo "$out/health-found.svg $out/health-false.svg $out/health.tsv"
