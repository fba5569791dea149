# inside_ghost.sh ROUNDS: inside the VM: tests/lab/ghost_write.c over devices.
set -u
. tests/vm/fabric.sh
fabric_up 2 2 || { echo "no fabric"; exit 1; }
exec "$FARE_BIN/ghost_write" --provider verbs --rounds "$1"
