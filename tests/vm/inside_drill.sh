# SPDX-License-Identifier: BSD-2-Clause
# inside_drill.sh PLANES SUB_PORTS MODE: inside the VM: the fabric, then the drill over it.
set -u
. tests/vm/fabric.sh
fabric_up "$1" "$2" || { echo "no fabric"; exit 1; }
exec "$FARE_BIN/verbs_drill" "$1" "$2" "$3"
