#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# neon.sh: the tables' own unit tests, built for aarch64 and run by qemu-user; exit status 77: no such tools here.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
	command -v $tool >/dev/null || { echo "skipped: no $tool (gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user)"; exit 77; }
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for name in conn_table flow_id_table conn_table_threads shm_pair_threads; do
	aarch64-linux-gnu-gcc -std=gnu17 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -Itests/cross -Isched \
		tests/unit/sched/check_$name.c sched/{conn_table,flow_id_table,line_memory,simd}.c \
		-o "$out/$name" -static -pthread -lm
	qemu-aarch64 "$out/$name"
done
