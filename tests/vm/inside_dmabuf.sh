# SPDX-License-Identifier: BSD-2-Clause
# inside_dmabuf.sh: inside the VM: a dma-buf of host memory, by the soft provider and by rdma_rxe.
set -u
[ -e /dev/udmabuf ] || { echo "skipped: no /dev/udmabuf in this kernel"; exit 77; }
# rdma_rxe has UDP 4791 of the first namespace
ip netns add soft && ip -n soft link set lo up || exit 1
ip netns exec soft "$FARE_BIN/dmabuf" soft || exit 1
# the memory of farebench's workers
"$FARE_BIN/bench_engine_check_memory" || [ $? = 77 ] || exit 1
. tests/vm/fabric.sh
fabric_up 1 1 || { echo "no fabric"; exit 1; }
exec "$FARE_BIN/dmabuf" verbs
