#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ./fare beside others: one at a time installs, builds, packs or cleans in a tree, and apt-get update is tried again while
# somebody else holds the lock of its lists.
set -u
tree=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$scratch"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
within() {
	local end=$((SECONDS + 30))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

cp "$tree/fare" "$scratch/fare"
mkdir "$scratch/build"
(flock 9; echo held >"$scratch/held"; while [ -e "$scratch/held" ]; do sleep 0.05; done) 9>"$scratch/.fare.lock" &
within test -e "$scratch/held" || fail "the lock is not held"
"$scratch/fare" clean 2>"$scratch/said" &
within grep -q 'waiting for another ./fare' "$scratch/said" || fail "nothing is waited for: $(cat "$scratch/said")"
[ -d "$scratch/build" ] || fail "cleaned while another ./fare was at work"
rm "$scratch/held"
wait
[ ! -d "$scratch/build" ] || fail "not cleaned when the lock was free"

cat >"$scratch/apt-get" <<END
#!/bin/sh
echo x >>$scratch/calls
[ \$(wc -l <$scratch/calls) -ge 3 ] || { echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)'; exit 100; }
END
chmod +x "$scratch/apt-get"
sed -n '/^apt() /p; /^refresh_lists() /,/^}/p' "$scratch/fare" >"$scratch/functions"
PATH=$scratch:$PATH MANAGER=apt bash -c ". $scratch/functions; refresh_lists" || fail "apt's lock was not waited for"
[ "$(wc -l <"$scratch/calls")" = 3 ] || fail "apt-get update was called $(wc -l <"$scratch/calls") times"

# which tests have to do with a name: by their names, by what a fuzzer parses, by what a script runs if the name is a program
mkdir -p "$scratch/build/asan/bin"
touch "$scratch/build/asan/bin/farectl" && chmod +x "$scratch/build/asan/bin/farectl"
echo 'farectl show paths' >"$scratch/lab_it.sh"
cat >"$scratch/ctest" <<END
#!/bin/sh
test() { echo "{\"name\": \"\$1\", \"command\": [\"bash\", \"\$2\"], \"properties\": [{\"name\": \"LABELS\", \"value\": [\"\$3\"]}\$4]},"; }
echo '{"tests": ['
test unit/bgp/check_rib - unit
test unit/sched/ofi/check_ofi_av - unit
test lab/ofi_mpi - lab
test lab/it $scratch/lab_it.sh lab
test lab/long $scratch/lab_it.sh lab ', {"name": "COST", "value": 60}'
echo '{"name": "fuzz/fuzz_bmp_parse"}]}'
END
chmod +x "$scratch/ctest"
ln -s "$tree/tests" "$scratch/tests"
mkdir "$scratch/bgp" "$scratch/sched"
sed -n '/^tests_of() /,/^}/p; /^pattern_of() /p' "$scratch/fare" >"$scratch/functions"
finds() { # NAME TEST...
	local found
	found=$(cd "$scratch" && PATH=$scratch:$PATH bash -c ". ./functions; tests_of $1 | pattern_of 'unit|lab'")
	[ "$found" = "^(${*:2})$" ] || fail "the tests of $1: $found"
}
finds bgp 'unit/bgp/check_rib|fuzz/fuzz_bmp_parse'
finds sched/ofi 'unit/sched/ofi/check_ofi_av|lab/ofi_mpi'
finds farectl lab/it
finds lab/long lab/long
finds rib unit/bgp/check_rib

# what failed, and its last lines: nothing of what passed or was skipped, whatever follows
sed -n '/^last_words() /,/^}/p' "$tree/fare" >"$scratch/functions"
said=$(bash -c ". $scratch/functions; last_words" <<END
1/4 Test #7: lab/right ....................   Passed    1.00 sec
    Start 8: lab/wrong
2/4 Test #8: lab/wrong ....................***Failed    2.00 sec
FAIL: the cause
$(seq -f 'line %g' 9)

    Start 9: lab/late
3/4 Test #9: lab/late .....................***Timeout 900.00 sec
still waiting
4/4 Test #10: lab/none ....................***Skipped   0.10 sec
SKIP: not root
50% tests passed, 2 tests failed out of 4
END
)
want=$(printf '\nlab/wrong:***Failed    2.00 sec\n    FAIL: the cause\n'; seq -f '    line %g' 4 9; printf '\nlab/late:***Timeout 900.00 sec\n    still waiting')
[ "$said" = "$want" ] || fail "the last words of what failed: $said"

# a test that failed beside others and passes alone is no failure, and is named; one that fails again is one failure; of four, of
# what is deterministic and of what a sanitizer has found none is tried
sed -n '/^once_more() /,/^}/p; /^SANITIZED=/p; /^totals() /,/^}/p' "$tree/fare" >"$scratch/functions"
again() { # NAME...
	(cd "$scratch" && bash -c ". ./functions
		run_ctest() { [[ \$1 = release ]] || echo in \$1; [[ \$3 = *good* ]] && PASSED=\$((PASSED + 1)) || FAILED=\$((FAILED + 1)); }
		PASSED=5 SKIPPED=0 AGAIN= FAILED=$# FAILURES=\$(printf '\n%s:***Failed    2.00 sec\n    FAIL: why' $*)
		once_more; totals" | grep -v FAIL)
}
is_again() { # TOTALS NAME...
	[ "$(again "${@:2}" | tail -n 1)" = "$1" ] || fail "${*:2} run again: $(again "${@:2}")"
}
[ "$(again lab/good vm/bad sim/good | tail -n 2)" = "fare: failed beside others, and passed alone: lab/good
6 passed, 2 failed, 0 skipped" ] || fail "run again: $(again lab/good vm/bad sim/good)"
[ "$(again unit/good | head -n 1)" = "in asan" ] || fail "run again: $(again unit/good)"
is_again "6 passed, 0 failed, 0 skipped" lab/good
is_again "7 passed, 0 failed, 0 skipped" unit/good hostile/good
is_again "5 passed, 1 failed, 0 skipped" unit/good_threads
is_again "5 passed, 4 failed, 0 skipped" lab/good{1..4}
for found in '==7==ERROR: AddressSanitizer: heap-use-after-free' 'WARNING: ThreadSanitizer: data race' 'a.c:1:2: runtime error: overflow'; do
	echo "$found" >"$scratch/build/asan-ctest.log"
	is_again "5 passed, 1 failed, 0 skipped" unit/good
done
exit 0
