# SPDX-License-Identifier: BSD-2-Clause
# inside_bed.sh PLANES SUB_PORTS PROGRAM [ARG...]: inside the VM: the fabric, then a program of tests/lab over its devices.
set -u
. tests/vm/fabric.sh
fabric_up "$1" "$2" || { echo "no fabric"; exit 1; }
program=$3
shift 3
exec "$FARE_BIN/$program" --provider verbs "$@"
