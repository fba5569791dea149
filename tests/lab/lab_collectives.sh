#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Collectives over leaves of two tiers: what the training draft's tests measure there, modes of the leaves that differ, and an
# algorithm other than the one that was forced, which the library's own word would hide. Then a rank on each of a server's GPUs.
. "$(dirname "$0")/lib.sh"
command -v mpirun >/dev/null && [ -x "$FARE_BIN/fare-mpi-coll" ] || skip "OpenMPI is not installed (openmpi-bin, libopenmpi-dev)"
command -v jq >/dev/null || skip "jq is not installed"

farelab up "$TOPOLOGIES/two-tier-lb.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S 2>"$SCRATCH/error" || {
	grep -q 'need Linux 6.6' "$SCRATCH/error" && skip "this kernel has no BPF programs at a device (tcx)"
	cat "$SCRATCH/error"
	fail "not converged"
}
run() { # OUT WORDS...
	timeout 120 "${FAREBENCH:-$FARE_BIN/farebench}" run --lab "$LAB" --even-busy --trials 1 --seed 3 --strategy "${STRATEGY:-mpi-ucx-tcp}" --param size=256K "${@:2}" \
		--out "$SCRATCH/$1" >"$SCRATCH/out" 2>"$SCRATCH/err" || fail "$*: $(tail -3 "$SCRATCH/err")"
}
of() { # OUT KPI: values or words
	jq -r --arg kpi "$2" 'select(.kpi == $kpi) | .value // .text // .missing // "hist"' "$SCRATCH/$1/rows.jsonl"
}

# every mode is swept where leaves have uplinks, and the fabric stays whole
run a T9.3
[ "$(jq -r 'select(.kpi == "BusBW" and .value > 0) | .params.balance' "$SCRATCH/a/rows.jsonl" | sort | tr '\n' ' ')" = "ecmp flowlet spray " ] ||
	fail "not every mode was measured: $(cat "$SCRATCH/a/rows.jsonl")"
[ "$(jq -r '.params.fabric // empty' "$SCRATCH/a/rows.jsonl" | sort -u)" = healthy ] || fail "a plane was lost where there is one"
[ "$(of a Algorithm | grep -c 'ring (verified')" = 3 ] || fail "T9.3: $(of a Algorithm)"
[ "$(jq -r 'select(.kpi == "busbw") | .params.place' "$SCRATCH/a/rows.jsonl" | sort | uniq -c | tr -s ' \n' ' ')" = " 3 in 3 out " ] ||
	fail "not in place and out of place"
# the leaves' links to spines, evenly used where packets are sprayed; on a machine where to read them takes longer than the job: why not
jq_true -s '[.[] | select(.kpi | test("^Uplink_"))] | length == 15 and all((.missing // "" | test("^to read the leaves")) or (.value >= 0 and
	if .kpi == "Uplink_JFI" then .value <= 1 and (.params.balance != "spray" or .value > 0.9) else .value < 105 end))' \
	"$SCRATCH/a/rows.jsonl" >/dev/null || fail "uplinks: $(grep Uplink "$SCRATCH/a/rows.jsonl")"
run b collectives --param balance=ecmp # what TCP sends again under spraying hides a pipeline
[ "$(of b Algorithm | grep -c verified)" = 3 ] || fail "collectives: $(of b Algorithm)"
run c T10.1 --param size=256M --param compute=100 --param balance=ecmp --param order=meanwhile --param stretch=2
of c Overlap_Fraction | awk '{ n++; if ($1 < -1 || $1 > 1.05) exit 1 } END { exit n != 1 }' || fail "T10.1: $(of c Overlap_Fraction)"
of c Overlap_configuration | grep -q "one bucket" || fail "T10.1: $(of c Overlap_configuration)"
[ "$(of c Algorithm)" = "ring (read back)" ] || fail "T10.1: $(of c Algorithm)"

# a program whose table is read, as OSU's prints it; where there is none the row says so
mkdir "$SCRATCH/osu"
cat >"$SCRATCH/osu/osu_allreduce" <<'END'
#!/bin/sh
[ "$*" = "-f -m 262144:262144 -i 3" ] || exit 1
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 0
echo '# OSU MPI Allreduce Latency Test'
echo '# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations'
echo '262144               1048.576            1000.00           1100.00           3'
END
chmod +x "$SCRATCH/osu/osu_allreduce"
PATH=$SCRATCH/osu:$PATH run e collectives-programs --param operation=allreduce --param balance=ecmp
[ "$(of e algbw | grep -v 'not here: all_reduce_perf')" = 0.25 ] && [ "$(of e busbw | grep -v 'not here')" = 0.375 ] || fail "OSU: $(cat "$SCRATCH/e/rows.jsonl")"

# a launcher that forces recursive doubling, and an answer that says ring: what each rank sent to each says which
mkdir "$SCRATCH/bin"
cp "$FARE_BIN/farebench" "$SCRATCH/bin/"
for program in "$FARE_BIN"/fare*; do
	[ -e "$SCRATCH/bin/${program##*/}" ] || ln -s "$program" "$SCRATCH/bin/"
done
rm "$SCRATCH/bin/farelab-mpi"
cat >"$SCRATCH/bin/farelab-mpi" <<END
#!/bin/bash
words=()
for word; do
	[ "\$last" = coll_tuned_allgather_algorithm ] && word=3
	words+=("\$word") last=\$word
done
exec "$FARE_BIN/farelab-mpi" "\${words[@]}" | sed -u 's/"algorithm": "recursive_doubling"/"algorithm": "ring"/'
END
chmod +x "$SCRATCH/bin/farelab-mpi"
FAREBENCH=$SCRATCH/bin/farebench run d T9.3 --param balance=ecmp
[ "$(of d Algorithm)" = "ring read back, but halving was sent, not ring" ] || fail "another algorithm: $(of d Algorithm)"

# a rank on each GPU of two servers, server by server: of a ring's four links two cross the fabric, each with 2 x 3/4 of the vector
farelab down "$LAB"
farelab up "$TOPOLOGIES/2gpu-mpi.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
expected=$(jq -n '2 * 1.5 * 262144 / 1e6')
for STRATEGY in mpi-fare mpi-ofi-tcp; do
	for i in 1 2 3; do # what is sent again on a busy machine hides the ring
		rm -rf "${SCRATCH:?}/$STRATEGY"
		run "$STRATEGY" T9.1 --param fabric=healthy --param balance=ecmp
		of "$STRATEGY" Algorithm | grep -q verified && break
	done
	[ "$(of "$STRATEGY" wrong | sort -u)" = 0 ] || fail "$STRATEGY: $(of "$STRATEGY" wrong)"
	of "$STRATEGY" Algorithm | grep -q '^ring (verified between servers' || fail "$STRATEGY: $(of "$STRATEGY" Algorithm)"
	of "$STRATEGY" Fabric_bytes | awk -v want="$expected" '{ exit !($1 > 0.95 * want && $1 < 1.2 * want) }' ||
		fail "$STRATEGY: $(of "$STRATEGY" Fabric_bytes) MB cross the fabric, not $expected"
done
# a mapping that is wrong: a server's ranks apart, or at one GPU
for wrong in 's/ map=slot / map=node /' 's/FI_FARE_DOMAIN=fare\$gpu/FI_FARE_DOMAIN=fare0/'; do
	sed "$wrong" "$FARE_BIN/farelab-mpi" >"$SCRATCH/bin/farelab-mpi"
	chmod +x "$SCRATCH/bin/farelab-mpi"
	cmp -s "$SCRATCH/bin/farelab-mpi" "$FARE_BIN/farelab-mpi" && fail "nothing is planted: $wrong"
	rm -rf "$SCRATCH/wrong"
	STRATEGY=mpi-fare FAREBENCH=$SCRATCH/bin/farebench FI_PROVIDER_PATH=$(readlink -f "$FARE_BIN/../sched") run wrong T9.1 --param fabric=healthy --param balance=ecmp
	[ "$(of wrong Algorithm)" = "ring read back, but nothing known was sent, not ring" ] || fail "$wrong: $(of wrong Algorithm)"
done
# the rest of the tests of jobs; what cannot be says so
STRATEGY=mpi-fare run jobs T11.1 --param ranks=2,4
[ "$(of jobs JCT_ratio | grep -cx '[0-9.]*')" = 1 ] && of jobs JCT_ratio | grep -q 'all on one server' || fail "T11.1: $(of jobs JCT_ratio)"
STRATEGY=mpi-ucx-tcp run ucx T9.1
of ucx BusBW | grep -q 'does not bind' || fail "UCX: $(of ucx BusBW)"
exit 0
