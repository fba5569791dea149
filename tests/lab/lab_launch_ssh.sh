#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `farebench run --launch ssh` over real sshds, one on each host: a run, and what happens when sshd, an agent, or the coordinator ends.
. "$(dirname "$0")/hosts.sh"

hosts_sshd
echo "$(ssh -V 2>&1)"
cd "$SCRATCH" || exit 1
ssh=(--launch "ssh:$SCRATCH/ssh/config")

# ---- a node that is late: its sshd does not answer at first, and the run waits. Nobody sees the key.
late=$(cat ssh/h1.pid)
kill -STOP "$late"
key_watch late
hosts_run late 5.1 "${measure[@]}" "${tiny[@]}" "${ssh[@]}" --out late
within grep -qs 'after [0-9]* s there is no agent yet of: h1$' late.err || fail "a late host is not named: $(cat late.err)"
kill -CONT "$late"
hosts_ended late 0
key_unseen late
row late/rows.jsonl '.test == "5.1" and .kpi == "of_line" and .value > 0' || fail "late: no figure"

# ---- no sshd there: said at once. The agent of h0 that comes too late does not wait for another run.
kill "$late"
within ended "$late"
hosts_run none 5.1 "${measure[@]}" "${tiny[@]}" "${ssh[@]}" --out none
wait $run
limit=$((SECONDS + 40))
until no_agent; do [ $SECONDS -lt $limit ] || fail "none: the agent that did start stays"; sleep 0.05; done
hosts_ended none 1
says none 'host h1: what --launch started has ended with status 255'
hosts_sshd_start 1

# ---- an agent dies while its fault is in force: the fault is healed, and the run says whose agent it was
hosts_run dies 12.3 --param failure=decode-link "${measure[@]}" "${ssh[@]}" --out dies
is_cut || fail "dies: the link was never cut: $(cat dies.err)"
kill -9 $(agent_of h1)
hosts_ended dies 1
says dies 'host h1: its agent has ended$'
says dies 'host h1: a process beside the agent heals the fault'
says dies 'go on with --resume dies$'

# ---- Ctrl-C: the coordinator and each ssh get it
hosts_run stopped 12.3 --param failure=decode-link "${measure[@]}" "${ssh[@]}" --out stopped
is_cut || fail "stopped: the link was never cut: $(cat stopped.err)"
kill -INT -- -$run
hosts_ended stopped 130
says stopped 'go on with --resume stopped$'

# ---- the coordinator is killed, and its sshs with it: what agents say goes nowhere, and they heal all the same
hosts_run killed 12.3 --param failure=decode-link "${measure[@]}" "${ssh[@]}" --out killed
is_cut || fail "killed: the link was never cut: $(cat killed.err)"
kill -KILL -- -$run
hosts_ended killed 137

# ---- SIGTERM of the coordinator alone, between trials; and what was stopped goes on
hosts_run some 5.1 "${measure[@]}" --trials 6 "${tiny[@]}" "${ssh[@]}" --out some
within grep -qs _trial_s some/rows.jsonl || fail "some: no trial was made: $(cat some.err)"
kill -TERM $run
hosts_ended some 143
says some 'go on with --resume some$'
first=$(grep -m 1 _trial_s some/rows.jsonl)
hosts_run again --resume some "${ssh[@]}"
hosts_ended again 0
[ "$(grep -c _trial_s some/rows.jsonl)" = 6 ] || fail "resumed, and not all trials are there"
grep -qxF "$first" some/rows.jsonl || fail "resumed, and a trial was made again"
echo passed
