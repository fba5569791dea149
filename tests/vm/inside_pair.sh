# SPDX-License-Identifier: BSD-2-Clause
# inside_pair.sh PROGRAM [ARG...]: inside the VM: two GPUs with one plane, then a program of two endpoints over it.
set -u
. tests/vm/fabric.sh
fabric_up 1 1 || { echo "no fabric"; exit 1; }
program=$1
shift
exec "$FARE_BIN/$program" "$@"
