#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `farebench run` with agents that Open MPI starts over ssh, by the command of docs/cluster.md: a run; an agent that dies, which
# makes mpirun end the others; mpirun itself ended by a signal.
. "$(dirname "$0")/hosts.sh"

command -v mpirun >/dev/null || skip "mpirun is not installed (openmpi-bin)"
mpirun --version | grep -q 'Open MPI' || skip "mpirun is not Open MPI's"
hosts_sshd
mpirun --version | head -n 1
cd "$SCRATCH" || exit 1
export PATH=$PATH:$FARE_BIN
# what is this test's alone: root, keys of its own. PRRTE is the launcher of Open MPI 5.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_plm_rsh_args="-F $SCRATCH/ssh/config" PRTE_MCA_plm_ssh_args="-F $SCRATCH/ssh/config"
printf '%s\n' h0 h1 >nodes
start() { # NAME ARGS...: as docs/cluster.md has it
	ip netns exec h0 unshare --uts sh -c 'hostname h0 && exec "$@"' - \
		mpirun --hostfile nodes --map-by ppr:1:node farebench agent --connect head:7470 --key key --hosts hosts.yaml >"$1.mpirun" 2>&1 &
	mpirun=$!
	hosts_run "$@"
}
ended_mpirun() { # NAME
	within ended $mpirun || fail "$1: mpirun stays: $(cat "$1.mpirun")"
}

# ---- a run; nobody sees the key
key_watch run
start run 5.1 "${measure[@]}" "${tiny[@]}" --out run
hosts_ended run 0
key_unseen run
ended_mpirun run
row run/rows.jsonl '.test == "5.1" and .kpi == "of_line" and .value > 0' || fail "run: no figure"

# ---- an agent dies while its fault is in force
start dies 12.3 --param failure=decode-link "${measure[@]}" --out dies
is_cut || fail "dies: the link was never cut: $(cat dies.err dies.mpirun)"
kill -9 $(agent_of h1)
hosts_ended dies 1
ended_mpirun dies
says dies 'host h1: its agent has ended$'
says dies 'go on with --resume dies$'

# ---- mpirun is ended by a signal, which it hands on
start stopped 12.3 --param failure=decode-link "${measure[@]}" --out stopped
is_cut || fail "stopped: the link was never cut: $(cat stopped.err stopped.mpirun)"
kill -TERM $mpirun
hosts_ended stopped 1
ended_mpirun stopped
says stopped 'host h[01]: its agent has ended'

echo passed
