#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh SECONDS SCRIPT [ARG...]: runs a script of this directory under a kernel with RDMA: this machine's, if it has
# rdma_rxe and is meant to be used so (FARE_RXE_HERE=1), else in the VM.
set -euo pipefail
seconds=$1
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ "${FARE_RXE_HERE:-}" != 1 ] || exec bash "$@"
[ "$(id -u)" = 0 ] || { echo "skipped: needs root, whose files the guest reads"; exit 77; }
command -v qemu-system-x86_64 >/dev/null || { echo "skipped: no qemu-system-x86_64"; exit 77; }
cache=${FARE_VM_KERNEL:-build/vm-kernel}
mkdir -p "$(dirname "$cache")"
kernel=$(tests/vm/kernel "$cache")
exec tests/vm/vm -k "$kernel" -t "$seconds" -- env FARE_BIN="$FARE_BIN" bash "$@"
