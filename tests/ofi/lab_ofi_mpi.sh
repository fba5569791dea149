#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Debian's OpenMPI (4.1.4 or 5.0.7), unmodified, over the provider: mpi_check on one and several ranks a server, with every
# byte checked; one-sided operations by messages and by atomics; a rank that computes for five seconds; planes, a sub-port,
# bgpd and fared lost under it; and a rank that is killed.
. "$(dirname "$0")/lib.sh"
command -v mpirun >/dev/null && command -v mpicc >/dev/null || skip "OpenMPI is not installed (openmpi-bin, libopenmpi-dev)"
mpicc -O2 -I"$HERE/../.." -o "$SCRATCH/mpi_check" "$HERE/mpi_check.c" || fail "mpi_check does not compile"
lab_up "$TOPOLOGIES/2x2x2.yaml"

# mpi RANKS ARG...: mpi_check; its line of JSON, or what went wrong
mpi() {
	"$FARE_BIN/farelab-mpi" run "$LAB" fare "$1" -- "$SCRATCH/mpi_check" "${@:2}"
}

# right FILE: nothing was wrong, and something was checked
right() {
	grep '^{' "$1" | jq_true '.wrong == 0 and .checked > 0' >/dev/null || { cat "$1"; fail "$2"; }
	echo "$2: $(cat "$1")"
}

mpi 2 1 5 >"$SCRATCH/two" 2>&1 || { cat "$SCRATCH/two"; fail "two ranks"; }
right "$SCRATCH/two" "two ranks, one of which computes for 5 s"
mpi 8 1 >"$SCRATCH/eight" 2>&1 || { cat "$SCRATCH/eight"; fail "eight ranks"; }
right "$SCRATCH/eight" "eight ranks on two servers"

# one-sided operations by messages, which OpenMPI 5 does not have, and by the provider's reads, writes and atomics
one_sided=fare-rdma
mpirun --version | grep -q '(Open MPI) 4\.' && one_sided="fare fare-rdma"
mpicc -O2 -o "$SCRATCH/mpi_atomics" "$HERE/mpi_atomics.c" || fail "mpi_atomics does not compile"
for transport in $one_sided; do
	"$FARE_BIN/farelab-mpi" run "$LAB" $transport 4 -- "$SCRATCH/mpi_atomics" 20 >"$SCRATCH/$transport" 2>&1 || { cat "$SCRATCH/$transport"; fail "one-sided operations, $transport"; }
	right "$SCRATCH/$transport" "one-sided operations of four ranks, $transport"
done

# what a rank keeps for 15 peers stays bounded: memory and descriptors at their largest, of any rank
"$FARE_BIN/farelab-mpi" run "$LAB" fare 16 -- "$FARE_BIN/fare-mpi-coll" alltoall 65536 4 >"$SCRATCH/sixteen" 2>&1 &
run=$!
kb=0 fds=0
while kill -0 $run 2>/dev/null; do
	for pid in $(pgrep -x fare-mpi-coll); do
		now=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
		open=$(ls "/proc/$pid/fd" 2>/dev/null | wc -l)
		[ "${now:-0}" -le $kb ] || kb=$now
		[ "$open" -le $fds ] || fds=$open
	done
done
wait $run || { cat "$SCRATCH/sixteen"; fail "sixteen ranks"; }
grep '"answer"' "$SCRATCH/sixteen" | jq_true '.wrong == 0 and .checked > 0' >/dev/null || { cat "$SCRATCH/sixteen"; fail "sixteen ranks"; }
[ $kb -gt 0 ] && [ $kb -le 100000 ] && [ $fds -gt 0 ] && [ $fds -le 256 ] || fail "sixteen ranks: $kb kB and $fds descriptors of a rank"
echo "sixteen ranks: at most $kb kB and $fds descriptors of a rank"

mpi 4 20 >"$SCRATCH/faults" 2>&1 &
run=$!
on_qps() { farelab exec "$LAB" s0 -- "$FARE_BIN/farectl" -s "/run/farelab/$LAB/s0/fared" --json show qps; }
all_up() { on_qps 2>/dev/null | jq_true '[.qps[] | select(.state == "up" and .peer == "198.19.0.2")] | length >= 4' >/dev/null; }
within all_up || fail "farectl shows no QPs over the planes"
for fault in "plane s0 1" "subport s0 0 1" "bgpd s1" "fared s0" "plane s1 0"; do
	farelab fail "$LAB" $fault || fail "fail $fault"
	sleep 1.5 # so long it is down: that is the fault, and nothing is waited for
	within farelab heal "$LAB" $fault || fail "heal $fault"
	within farelab status "$LAB" --wait 1 >/dev/null || fail "not converged after $fault"
done
wait $run || { cat "$SCRATCH/faults"; fail "four ranks under faults"; }
right "$SCRATCH/faults" "four ranks while planes, a sub-port, bgpd and fared were lost"

mpi 2 600 >"$SCRATCH/killed" 2>&1 &
run=$!
# a rank at s1
victim() { ip netns pids "fl-$LAB-s1" | while read -r pid; do [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = mpi_check ] && echo "$pid"; done; }
is_running() { [ -n "$(victim)" ]; }
within is_running || fail "no rank to kill"
within grep -qs "the first round has ended" "$SCRATCH/killed" || fail "no round before a rank is killed"
kill -9 $(victim)
within ended $run || fail "the other ranks hang when one is killed"
wait $run && fail "a killed rank was no error"
exit 0
