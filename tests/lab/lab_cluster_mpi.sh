#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Collectives of the training draft on hosts, by ranks that the operator's own mpirun starts over ssh (--mpirun): what is measured, what
# a row says instead, a fault of the inventory under a job, and commands that do not run it or start ranks elsewhere.
. "$(dirname "$0")/hosts.sh"

command -v mpirun >/dev/null && [ -x "$FARE_BIN/fare-mpi-coll" ] || skip "OpenMPI is not installed (openmpi-bin, libopenmpi-dev)"
mpirun --version | grep -q 'Open MPI' || skip "mpirun is not Open MPI's"
hosts_sshd
mpirun --version | head -n 1
cd "$SCRATCH" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_plm_rsh_args="-F $SCRATCH/ssh/config" PRTE_MCA_plm_ssh_args="-F $SCRATCH/ssh/config"
printf '%s\n' h0 h1 >nodes
printf '%s\n' h1 h0 >backwards
# both hosts share this machine's cores: ranks are not bound, and let others run while they wait
mpirun="mpirun --hostfile nodes --map-by seq --bind-to none --mca mpi_yield_when_idle 1 --mca oob_tcp_if_include mg"
launch="ip netns exec {host} {agent}"
run() { # NAME ARG...
	in_host h0 timeout 300 "$fb" run --even-busy --seed 7 --trials 1 --listen $listen --key key --hosts hosts.yaml --launch "$launch" \
		--param ranks=2 --out "$1" "${@:2}" >"$1.out" 2>"$1.err" || fail "$1: $(tail -n 5 "$1.err")"
	within no_agent || fail "$1: agents are left"
	echo "ok: $1 after $SECONDS s"
}
has() { # NAME CONDITION
	row "$1/rows.jsonl" "$2" || fail "$1: no row with $2: $(jq -c 'select(.kpi | startswith("_") | not) | [.test, .kpi, .value, .text, .missing]' "$1/rows.jsonl")"
}
none() { # NAME CONDITION
	row "$1/rows.jsonl" "$2" && fail "$1: a row with $2: $(jq -c "select($2)" "$1/rows.jsonl")"
}
# more than a shaper lets pass at once, by which iterations are planned
all=(--param size=1M --strategy mpi-fare,mpi-ofi-tcp)

# ---- without --mpirun, and where the transport finds no address, rows say what to do
run without T9.1 "${all[@]}" --param fabric=healthy
has without '.kpi == "BusBW" and (.missing // "" | test("--mpirun COMMAND"))'
run loopback T9.1 "${all[@]}" --param fabric=healthy --mpirun "$mpirun"
has loopback '.strategy == "mpi-ofi-tcp" and .kpi == "BusBW" and (.missing // "" | test("^h0: no device but a loopback one has 198.19.0.1"))'
has loopback '.strategy == "mpi-fare" and .kpi == "BusBW" and .value > 0'

# ---- each GPU's address is on a device as well
for h in 0 1; do
	ip -n h$h link add gpu0 type veth peer name gpu0-peer
	ip -n h$h link set gpu0-peer up
	ip -n h$h link set gpu0 up
	ip -n h$h addr add 198.19.0.$((h + 1))/32 dev gpu0
done
key_watch run
run run T9.1 "${all[@]}" --param fabric=healthy,subport-lost,plane-lost --mpirun "$mpirun"
key_unseen run
run more T9.2 T11.1 T12.1 "${all[@]}" --param fabric=healthy --mpirun "$mpirun"
for strategy in mpi-fare mpi-ofi-tcp; do
	of=".strategy == \"$strategy\" and"
	for state in healthy subport-lost; do
		in="$of .params.fabric == \"$state\" and"
		has run "$in .kpi == \"BusBW\" and .value > 0"
		has run "$in .kpi == \"Packet_drop_rate\" and .value >= 0"
		has run "$in .kpi == \"Link_utilization_max\" and .value > 5 and .value < 120"
	done
	has run "$of .kpi == \"BusBW\" and .params.fabric == \"plane-lost\" and (.missing // \"\" | test(\"no command for that fault\"))"
	has run "$of .kpi == \"Algorithm\" and .text == \"ring (read back)\""
	has more "$of .test == \"T9.2\" and .kpi == \"BusBW\" and .value > 0"
	has more "$of .test == \"T11.1\" and .kpi == \"JCT_ratio\" and .value > 0"
	has more "$of .test == \"T12.1\" and .kpi == \"BusBW_alltoall\" and .value > 0"
done
none run '.kpi == "wrong" and (.value // 0) != 0'
has run '.kpi == "Fabric_bytes" and (.missing // "" | test("labs alone"))'
has run '.kpi == "Uplink_JFI" and .missing == "the inventory names no spines"'
has more '.test == "T11.1" and .kpi == "Convergence_time" and .missing'
has more '.test == "T12.1" and .kpi == "Latency" and .missing'
grep -q "MPI's ranks by.*--hostfile nodes" run/report.md || fail "the report does not say by what ranks were started"

# ---- a fault of the inventory under a job: it is seen in its iteration, and the fabric is whole again
run fault T11.2 T11.3 "${all[@]}" --strategy mpi-fare --param failure=subport-lost,leaf-lost --mpirun "$mpirun"
for kpi in JCT_steady JCT_failure JCT_after; do
	has fault ".test == \"T11.2\" and .params.failure == \"subport-lost\" and .kpi == \"$kpi\" and .value > 0"
done
has fault '.test == "T11.2" and .params.failure == "subport-lost" and .kpi == "Loss_duration" and .missing'
has fault '.test == "T11.2" and .params.failure == "leaf-lost" and .kpi == "JCT_steady" and (.missing // "" | test("no command for that fault"))'
within is_up || fail "T11.2 has ended, and the link is cut"

# ---- commands that do not do it: the run goes on, and rows say why
run turned T9.1 "${all[@]}" --strategy mpi-fare --param fabric=healthy --mpirun "${mpirun/nodes/backwards}"
has turned '.kpi == "BusBW" and (.missing // "" | test("rank 0 was started on h1, not on h0"))'
run broken T9.1 "${all[@]}" --strategy mpi-fare --param fabric=healthy --mpirun "${mpirun/nodes/nowhere}"
has broken '.kpi == "BusBW" and (.missing // "" | test("^--mpirun did not run it: exit status"))'
grep -q nowhere broken.err || fail "what mpirun said is not on stderr: $(cat broken.err)"

echo passed
