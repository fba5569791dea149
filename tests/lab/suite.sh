# SPDX-License-Identifier: BSD-2-Clause
# Sourced by lab_suite.sh and lab_suite_runs.sh, after lib.sh: tests of the methodology in a lab.
fb="$FARE_BIN/farebench"
# the value of a KPI by a strategy, of rows
value() {
	jq -r --arg kpi "$1" --arg strategy "$2" 'select(.kpi == $kpi and (.strategy // "") == $strategy and .value != null) | .value'
}
run() {
	timeout 300 "$fb" run --lab "$LAB" --even-busy --seed 7 "$@" >"$SCRATCH/out" 2>"$SCRATCH/err"
}
