# SPDX-License-Identifier: BSD-2-Clause
# Common ground of the provider's tests: a lab with a management network. Sourced with bash, as tests/lab/lib.sh.
. "$(dirname "${BASH_SOURCE[0]}")/../lab/lib.sh"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v jq >/dev/null || skip "jq is not installed"
command -v fi_info >/dev/null || skip "libfabric-bin is not installed"
[ -e "${FI_PROVIDER_PATH:-}/libfare-fi.so" ] || { echo "FI_PROVIDER_PATH must be the directory that holds libfare-fi.so"; exit 1; }
export FI_PROVIDER_PATH FARE_TRUSTED_NETWORK=1

# lab_up TOPOLOGY: with a network for launchers
lab_up() {
	farelab up "$1" --name "$LAB" --fared "$FARE_BIN/fared" --wait $PATIENCE_S || fail "not converged"
	"$FARE_BIN/farelab-mpi" net "$LAB" || fail "no management network"
}

# at SERVER COMMAND...: there, as an application of its fared
at() {
	local server=$1
	shift
	FARE_RUN_DIR=/run/farelab/$LAB/$server/fared farelab exec "$LAB" "$server" -- "$@"
}
