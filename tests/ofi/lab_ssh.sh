#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a launcher takes for ssh (OpenMPI: --mca plm_rsh_agent): HOST is a server of the lab FARE_LAB, and the command runs in
# its network namespace, under its host name, with the run directory of its fared.
#
#   lab_ssh.sh [-OPTION...] HOST COMMAND...
set -u
while [[ ${1:-} == -* ]]; do
	case $1 in
	-[bcDeFIiLlmOopQRSWw]) shift 2 ;; # of ssh, with a value
	*) shift ;;
	esac
done
host=$1
shift
export FARE_RUN_DIR=/run/farelab/$FARE_LAB/$host/fared
export TMPDIR=$FARE_LAB_TMP/$host
mkdir -p "$TMPDIR"
exec ip netns exec "fl-$FARE_LAB-$host" unshare --uts -- sh -c 'hostname "$0"; exec sh -c "$1"' "$host" "$*"
