# SPDX-License-Identifier: BSD-2-Clause
# inside_pair.sh "PROGRAM [ARG...]"...: inside the VM: two GPUs with one plane, then programs of two endpoints over it, one after the
# other. Each leaves the fabric as it was.
set -u
. tests/vm/fabric.sh
fabric_up 1 1 || { echo "no fabric"; exit 1; }
fabric_programs "" "$@"
