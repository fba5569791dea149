#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `farebench run` with agents that Slurm starts, by the command of docs/cluster.md: a slurmd on each host, slurmctld and munged on
# head. A node that is late, a job that is cancelled, an agent that dies; and a run that goes on.
PATH=$PATH:/usr/sbin
. "$(dirname "$0")/hosts.sh"

hosts_slurm
slurmd -V
cd "$SCRATCH" || exit 1
PATH=$PATH:$FARE_BIN
start() { # NAME ARGS...: as docs/cluster.md has it
	in_host h0 srun --nodes=2 --ntasks-per-node=1 farebench agent --connect head:7470 --key key --hosts hosts.yaml >"$1.srun" 2>&1 &
	srun=$!
	hosts_run "$@"
}
ended_srun() { # NAME: srun is gone, too, and the nodes are free
	within ended $srun || fail "$1: srun stays: $(cat "$1.srun")"
	within free || fail "$1: the nodes are not free: $(in_host h0 squeue)"
}
free() { [ -z "$(in_host h0 squeue --noheader)" ]; }

# ---- a node that is late: Slurm has no h1 yet, so the job waits, and so does the run. Nobody sees the key.
key_watch late
start late 5.1 "${measure[@]}" "${tiny[@]}" --out late
within grep -qs 'after 5 s there is no agent yet of: h0 h1$' late.err || fail "late hosts are not named: $(cat late.err)"
hosts_slurmd_start 1
hosts_ended late 0
key_unseen late
ended_srun late
row late/rows.jsonl '.test == "5.1" and .kpi == "of_line" and .value > 0' || fail "late: no figure"

# ---- the job is cancelled while a fault is in force
start cancelled 12.3 --param failure=decode-link "${measure[@]}" --out cancelled
is_cut || fail "cancelled: the link was never cut: $(cat cancelled.err cancelled.srun)"
in_host h0 scancel --user=root
hosts_ended cancelled 1
ended_srun cancelled
says cancelled 'host h[01]: its agent has ended: stopped by signal 15'
says cancelled 'go on with --resume cancelled$'

# ---- an agent dies while its fault is in force
start dies 12.3 --param failure=decode-link "${measure[@]}" --out dies
is_cut || fail "dies: the link was never cut: $(cat dies.err dies.srun)"
kill -9 $(agent_of h1)
hosts_ended dies 1
ended_srun dies
says dies 'host h1: its agent has ended$'
grep -q 'h1: task 1: Killed' dies.srun || fail "dies: srun does not say which: $(cat dies.srun)"

# ---- what was cancelled goes on
start again --resume cancelled
hosts_ended again 0
ended_srun again
row cancelled/rows.jsonl '.test == "12.3" and .kpi == "disruption" and .value >= 0' || fail "resumed, and no figure"
echo passed
