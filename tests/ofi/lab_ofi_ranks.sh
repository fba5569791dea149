#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# 64 processes on four servers, 16 on each, all of which exchange messages with all: every byte is right, one that computes
# for 5 s is not taken for dead, and what a process keeps for 63 peers stays bounded.
. "$(dirname "$0")/lib.sh"
MOST_KB=65536
MOST_DESCRIPTORS=192

farelab up "$TOPOLOGIES/4x4x2-mpi.yaml" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
FARELAB_NAME=$LAB bash "$HERE/ranks.sh" 64 5 "$SCRATCH/json" || fail "64 ranks"
cat "$SCRATCH/json"
jq_true '.ofi_ranks | .ranks == 64 and .wrong == 0 and .checked > 0 and .rank_kb > 0 and .rank_descriptors > 0' "$SCRATCH/json" >/dev/null ||
	fail "64 ranks: wrong bytes, or nothing was checked"
jq_true ".ofi_ranks | .rank_kb <= $MOST_KB and .rank_descriptors <= $MOST_DESCRIPTORS" "$SCRATCH/json" >/dev/null ||
	fail "a rank takes more than $MOST_KB kB or $MOST_DESCRIPTORS descriptors"
exit 0
