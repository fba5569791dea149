# SPDX-License-Identifier: BSD-2-Clause
# inside_bed.sh PLANES SUB_PORTS "PROGRAM [ARG...]"...: inside the VM: the fabric, then programs of tests/lab over its devices, one after
# the other. Each leaves the fabric as it was.
set -u
. tests/vm/fabric.sh
fabric_up "$1" "$2" || { echo "no fabric"; exit 1; }
shift 2
fabric_programs "--provider verbs" "$@"
