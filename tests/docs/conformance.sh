# SPDX-License-Identifier: BSD-2-Clause
# conformance.sh BUILD: docs/conformance.md has every row of the specifications that the project answers to, once, and
# what a row points to is there: sources, tests, figures, farebench's commands. Whether it does what the row says is not
# for a script to know.
set -u
build=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# F: draft-xu-rtgwg-fare-in-sun-01. I, T: the tests of draft-calabria-bmwg-ai-fabric-inference-bench-02 and of its
# training companion, by their sections; I-*: what holds for all of the former (its tables, 3.4, 14, 15 and appendices
# A, D, E, F).
rows=(F{1..24}
	I5.{1..4} I6.{1..4} I7.{1..4} I8.{1..4} I9.{1..4} I10.{1..4} I11.{1..3} I12.{1..3} I13.{1..3}
	I-{KPI,GEN,SEC,REP,FRAME,MOE}
	T5.{1..3} T6.{1..7} T7.{1..4} T8.{1..4} T9.{1..4} T10.{1..3} T11.{1..3} T12.{1..2})

failed=0
wrong() {
	echo "docs/conformance.md: $*"
	failed=1
}

tests=$(ctest --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p')
commands=$("$build/bin/farebench" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
[ -n "$tests" ] && [ -n "$commands" ] || wrong "cannot ask $build for its tests and commands"

table=$(grep -E '^\| [FIT][0-9-]' docs/conformance.md)
have=$(cut -d' ' -f2 <<<"$table")
for row in "${rows[@]}"; do
	n=$(grep -cxF -e "$row" <<<"$have")
	[ "$n" = 1 ] || wrong "row $row is there $n times"
done
for row in $have; do
	[[ " ${rows[*]} " = *" $row "* ]] || wrong "row $row is of no specification that this test knows"
done

while IFS='|' read -r _ row what state where command missing rest; do
	read -r row <<<"$row"
	[ -z "$rest" ] && [ -n "${what// /}" ] && [ -n "${missing// /}" ] || wrong "row $row has not six cells"
	case $state in
	' open ')
		[ "$where$command" = ' -  - ' ] || wrong "row $row is open, and yet names what answers to it"
		;;
	' done ' | ' partly ' | ' not available ')
		[[ $where$command != *' - '* ]] || wrong "row $row does not say where, or by what command"
		;;
	*) wrong "row $row is $state" ;;
	esac
	for path in $(sed 's/([^)]*)//g; s/,/ /g' <<<"$where"); do
		[ "$path" = - ] || [ -e "$path" ] || wrong "row $row: there is no $path"
	done
	for name in $(grep -oE '\b(unit|fuzz|lab|vm|oracle|cross)/[A-Za-z0-9_/-]+' <<<"$command $missing"); do
		grep -qxF -e "$name" <<<"$tests" || grep -qF "id: $name" docs/figures.yaml ||
			wrong "row $row: there is no test and no figure $name"
	done
	for name in $(grep -oE 'farebench [a-z]+' <<<"$command $missing" | cut -d' ' -f2); do
		grep -qxF -e "$name" <<<"$commands" || wrong "row $row: farebench has no command $name"
	done
done <<<"$table"
echo "$(wc -l <<<"$table") rows: $(grep -c '| done |' <<<"$table") done, $(grep -c '| partly |' <<<"$table") partly," \
	"$(grep -c '| not available |' <<<"$table") not available, $(grep -c '| open |' <<<"$table") open"
exit $failed
