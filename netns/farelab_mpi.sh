#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# farelab-mpi: OpenMPI's programs in a lab or on hosts, over fare or over what it is compared with. farelab-mpi(8) has the words for
# users.
#
# Launchers need a network beside the fabric: a bridge in server 0's namespace, 10.99.0.1 there, 10.99.0.(i + 1) on device
# "mgmt" of server i. libfabric's tcp leaves out loopback devices: the GPU's address is on device "gpu0", too. Both are made
# at the first run and go with the lab.
set -euo pipefail

usage() {
	cat <<'END'
usage: farelab-mpi run NAME TRANSPORT RANKS [OPTION...] -- PROGRAM [ARG...]
       farelab-mpi hosts COMMAND HOSTS TRANSPORT RANKS [OPTION...] -- PROGRAM [ARG...]
       farelab-mpi net NAME
       farelab-mpi ssh [OPTION...] HOST COMMAND...

run   mpirun, a rank on each GPU of the lab, server by server; OPTIONs are mpirun's
hosts the same on real hosts by COMMAND, an mpirun with the options that find them; farelab-mpi is at the same path on each.
      HOSTS: "NAME=RUN_DIRECTORY=DEVICE,... ...", of each its fared's and what has its GPUs' addresses ("-": no such device)
net   makes the management network, which run does as well
ssh   what mpirun starts daemons by: a command in the namespace of HOST ($FARELAB_NAME says of which lab)

TRANSPORT: fare       libfabric's provider fare (libfare-fi.so; FI_PROVIDER_PATH, where it is not installed)
           fare-rdma  the same; one-sided operations by its reads, writes and atomics
           ofi-tcp    libfabric's tcp;ofi_rxm over the kernel's routes
           ucx-tcp    UCX's tcp over the kernel's routes
END
}

die() {
	echo "farelab-mpi: $*" >&2
	exit 1
}

SELF=$(readlink -f "$0")
FARELAB=${FARELAB:-$(dirname "$SELF")/farelab}
[ -x "$FARELAB" ] || FARELAB=farelab
# a build tree's own provider
[ -n "${FI_PROVIDER_PATH:-}" ] || [ ! -e "$(dirname "$SELF")/../sched/libfare-fi.so" ] ||
	FI_PROVIDER_PATH=$(readlink -f "$(dirname "$SELF")/../sched")
export FI_PROVIDER_PATH=${FI_PROVIDER_PATH:-}

# servers NAME: "NAME NAMESPACE RUN_DIRECTORY ADDRESS..." of each, the addresses those of its GPUs
servers() {
	"$FARELAB" status "$1" --json | jq -er '.servers[] | "\(.name) \(.netns) \(.fared_run_dir) \([.gpus[].ipv4 // empty] | join(" "))"' ||
		die "$1: no lab, or jq is not installed: farelab list shows the labs"
}

# in_gpu_net NAMESPACE ADDRESS...: each GPU's address on a device that is no loopback
in_gpu_net() {
	local netns=$1 gpu=gpu0
	shift
	while [ $# -gt 0 ]; do
		ip -n "$netns" link add "$gpu" type veth peer name "$gpu-peer"
		ip -n "$netns" link set "$gpu-peer" up
		ip -n "$netns" link set "$gpu" up
		ip -n "$netns" addr add "$1/32" dev "$gpu"
		shift
		gpu=gpu$((${gpu#gpu} + 1))
	done
}

# from_gpu LAB SERVER ADDRESS: what is sent by BGP's routes comes from the first GPU's address, unless its socket is bound, as
# operators configure it; a link's address, which the kernel would choose, has no way back
from_gpu() {
	"$FARELAB" vtysh "$1" "$2" -- -c 'configure terminal' -c 'route-map GPU permit 10' -c "set src $3" -c exit \
		-c 'ip protocol bgp route-map GPU' >/dev/null
}

# make_net LAB: the lab whose servers are in SERVERS
make_net() {
	local i=0 name netns dir addresses hub=
	while read -r name netns dir addresses; do
		[ -n "$addresses" ] || die "$name: MPI runs in labs with IPv4 alone"
		i=$((i + 1))
		if ip -n "$netns" link show mgmt >/dev/null 2>&1; then
			hub=${hub:-$netns}
			continue
		fi
		in_gpu_net "$netns" $addresses
		from_gpu "$1" "$name" "${addresses%% *}"
		if [ -z "$hub" ]; then
			hub=$netns
			ip -n "$hub" link add mgmt type bridge
		else
			ip -n "$hub" link add "mgmt$i" type veth peer name mgmt netns "$netns"
			ip -n "$hub" link set "mgmt$i" master mgmt up
		fi
		ip -n "$netns" addr add "10.99.$((i / 250)).$((i % 250))/16" dev mgmt
		ip -n "$netns" link set mgmt up
	done <<<"$SERVERS"
}

run_ssh() {
	local host netns dir
	while [[ ${1:-} == -* ]]; do
		case $1 in
		-[bcDeFIiLlmOopQRSWw]) shift 2 ;; # of ssh, with a value
		*) shift ;;
		esac
	done
	[ $# -ge 2 ] && [ -n "${FARELAB_NAME:-}" ] || { usage >&2; exit 2; }
	host=$1
	shift
	netns=fl-$FARELAB_NAME-$host
	dir=/run/farelab/$FARELAB_NAME/$host
	[ -d "$dir" ] || die "$host: no server of the lab $FARELAB_NAME"
	export FARE_RUN_DIR=$dir/fared TMPDIR=$FARELAB_MPI_TMP/$host
	mkdir -p "$TMPDIR"
	exec ip netns exec "$netns" unshare --uts -- sh -c 'hostname "$0"; exec sh -c "$1"' "$host" "$*"
}

# transport NAME COMMAND: fills OPTIONS for that mpirun. One-sided operations: OpenMPI 4 has them by messages (osc/pt2pt) and by btl/ofi. OpenMPI 5 has
# none beside pml/cm: messages go by btl/ofi, too, which has both in its mode 2.
transport() {
	local by_messages=(--mca osc pt2pt) rdma=(--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include fare) release
	release=$(sh -c "$2 --version" 2>&1 | sed -n 's/^mpirun (Open MPI) \([0-9]*\)\..*/\1/p')
	[ -n "$release" ] || die "$2: not OpenMPI's mpirun"
	if [ "$release" -ge 5 ]; then
		by_messages=()
		rdma=(--mca pml ob1 --mca btl_ofi_mode 2)
	fi
	case $1 in
	fare) OPTIONS=(--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include fare "${by_messages[@]}") ;;
	fare-rdma) OPTIONS=("${rdma[@]}" --mca osc rdma --mca osc_rdma_btls ofi --mca btl ofi,self --mca btl_ofi_provider_include fare) ;;
	ofi-tcp) OPTIONS=(--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include "tcp;ofi_rxm" "${by_messages[@]}") ;;
	ucx-tcp) OPTIONS=(--mca pml ucx "${by_messages[@]}" -x UCX_TLS=tcp,self,sm --mca pml_ucx_tls any --mca pml_ucx_devices any) ;;
	*) usage >&2; exit 2 ;;
	esac
}

# run_rank DEVICES PROGRAM...: what mpirun starts, a rank with the address of its own GPU: by each transport's variable
run_rank() {
	local devices gpu
	IFS=, read -ra devices <<<"$1"
	shift
	gpu=$((OMPI_COMM_WORLD_LOCAL_RANK % ${#devices[@]}))
	FI_FARE_DOMAIN=fare$gpu FI_TCP_IFACE=${devices[gpu]} UCX_NET_DEVICES=${devices[gpu]} exec "$@"
}

# run_host_rank HOSTS PROGRAM...: the same on a host, which finds itself there
run_host_rank() {
	local host name dir devices here=$(uname -n)
	for host in $1; do
		IFS== read -r name dir devices <<<"$host"
		[ "$name" = "${here%%.*}" ] || continue
		shift
		FARE_RUN_DIR=$dir run_rank "$devices" "$@"
	done
	die "${here%%.*}: not one of the hosts: $(sed 's/=[^ ]*//g' <<<"$1")"
}

# take OPTION... -- PROGRAM...: adds to OPTIONS, fills PROGRAM
take() {
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		OPTIONS+=("$1")
		shift
	done
	[ $# -ge 2 ] || { usage >&2; exit 2; }
	PROGRAM=("${@:2}")
}

# COMMAND is the operator's, quotes in it too; what is added is words
run_hosts() {
	local command=$1 hosts=$2 ranks=$4
	transport "$3" "$command"
	take "${@:5}"
	exec sh -c "exec $command \"\$@\"" sh -np "$ranks" "${OPTIONS[@]}" bash "$SELF" host-rank "$hosts" "${PROGRAM[@]}"
}

run_mpi() {
	local lab=$1 ranks=$3 hosts first gpus devices map=slot yield=0
	# a rank that waits spins; where they have no core each, it lets others run meanwhile
	[ "$ranks" -le "$(nproc)" ] || yield=1
	command -v mpirun >/dev/null || die "mpirun is not there: install openmpi-bin"
	transport "$2" mpirun
	take "${@:4}"
	SERVERS=$(servers "$lab")
	make_net "$lab"
	first=${SERVERS%% *}
	gpus=$(awk 'NR == 1 { print NF - 3 }' <<<"$SERVERS")
	devices=$(seq -s , -f gpu%g 0 $((gpus - 1)))
	# more ranks than GPUs: a server more of them in turn
	[ "$ranks" -le $((gpus * $(wc -l <<<"$SERVERS"))) ] || map=node
	hosts=$(awk -v n="$([ $map = slot ] && echo "$gpus" || echo "$ranks")" '{ printf "%s%s:%d", (NR > 1 ? "," : ""), $1, n }' <<<"$SERVERS")
	export FARELAB_NAME=$lab FARELAB_MPI_TMP=/run/farelab/$lab/mpi FARE_TRUSTED_NETWORK=1
	exec bash "$SELF" ssh "$first" "$(printf "%q " exec mpirun --allow-run-as-root --oversubscribe -np "$ranks" --host "$hosts" \
		--map-by "$map" --bind-to none --mca plm_rsh_agent "$SELF ssh" --mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include mgmt \
		--mca mpi_yield_when_idle "$yield" "${OPTIONS[@]}" -x FI_PROVIDER_PATH -x FARE_TRUSTED_NETWORK -x FARELAB_NAME -x FARELAB_MPI_TMP \
		bash "$SELF" rank "$devices" "${PROGRAM[@]}")"
}

case ${1:-} in
run)
	[ $# -ge 6 ] || { usage >&2; exit 2; }
	shift
	run_mpi "$@"
	;;
hosts)
	[ $# -ge 7 ] || { usage >&2; exit 2; }
	shift
	run_hosts "$@"
	;;
net)
	[ $# -eq 2 ] || { usage >&2; exit 2; }
	SERVERS=$(servers "$2")
	make_net "$2"
	;;
rank)
	shift
	run_rank "$@"
	;;
host-rank)
	shift
	run_host_rank "$@"
	;;
ssh)
	shift
	run_ssh "$@"
	;;
--help | -h) usage ;;
*)
	usage >&2
	exit 2
	;;
esac
