# SPDX-License-Identifier: BSD-2-Clause
# Two hosts as a cluster has them, without farelab: network namespaces h0 and h1, joined by a switch for each of the planes p0 and
# p1 and by a cable for management, each with its own name, FRR and fared. Sourced with bash by tests of farebench on hosts.
#
# The test runs in namespaces of its own for processes and mounts, with /run in memory: what it has started, made and mounted is
# gone with it, however it ends. The network namespaces are, too: their names lie in that /run.
if [ -z "${FARE_OWN_HOSTS:-}" ]; then
	[ "$(id -u)" = 0 ] || { echo "SKIP: not root: namespaces cannot be made"; exit 77; }
	FARE_OWN_HOSTS=1 setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc bash -c '
		mount -t tmpfs -o mode=755 none /run && mkdir -p -m 755 /run/netns /run/sshd /run/frr /run/tmp || exit 1
		export TMPDIR=/run/tmp
		bash "$0"; exit $?' "$0"
	exit
fi
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v jq >/dev/null || skip "jq is not installed"
fb=$FARE_BIN/farebench
listen=192.0.2.0:7470
chmod 755 "$SCRATCH"

# in_host HOST COMMAND...: there, under that name
in_host() {
	ip netns exec "$1" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$@"
}

# A port of a switch that is shut takes the host's carrier away: who shuts the host's own interface takes its routes as well.
hosts_plug() { # HOST PLANE
	ip link add p$2 netns h$1 mtu 4200 type veth peer name h$1p$2 netns sw mtu 4200
	ip -n sw link set h$1p$2 master b$2 up
	ip -n h$1 addr add 198.18.$2.$1/31 dev p$2
	ip -n h$1 link set p$2 up
	ip netns exec h$1 tc qdisc add dev p$2 root tbf rate 50mbit burst 131072 limit 1048576
}

hosts_network() {
	local h p
	for h in 0 1; do
		ip netns add h$h
		ip -n h$h link set lo up
		ip -n h$h addr add 198.19.0.$((h + 1))/32 dev lo
		ip netns exec h$h sysctl -qw net.ipv4.fib_multipath_hash_policy=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
	done
	ip link add mg netns h0 type veth peer name mg netns h1
	for h in 0 1; do
		ip -n h$h addr add 192.0.2.$h/31 dev mg
		ip -n h$h link set mg up
	done
	ip netns add sw
	for p in 0 1; do
		ip -n sw link add b$p mtu 4200 type bridge
		ip -n sw link set b$p up
		hosts_plug 0 $p
		hosts_plug 1 $p
	done
}

hosts_daemons() { # HOST
	local h=$1 peer=$((1 - $1)) dir=$SCRATCH/h$1 daemon p
	install -d -o frr "$dir/frr"
	# with groups in the kernel a route stays one next hop short after its link was down
	printf '%s\n' "hostname h$h" 'no zebra nexthop kernel enable' >"$dir/frr/zebra.conf"
	cat >"$dir/frr/bgpd.conf" <<-END
		router bgp $((64512 + h))
		 bgp router-id 198.19.0.$((h + 1))
		 no bgp ebgp-requires-policy
		 bgp bestpath as-path multipath-relax
		$(for p in 0 1; do
			echo " neighbor 198.18.$p.$peer remote-as $((64512 + peer))"
			echo " neighbor 198.18.$p.$peer timers 1 3"
			echo " neighbor 198.18.$p.$peer timers connect 1"
		done)
		 bmp targets fared
		  bmp listener 127.0.0.1 port 5001
		  bmp monitor ipv4 unicast pre-policy
		 exit
		 address-family ipv4 unicast
		  network 198.19.0.$((h + 1))/32
		$(for p in 0 1; do
			echo "  neighbor 198.18.$p.$peer soft-reconfiguration inbound"
		done)
	END
	cat >"$dir/fared.yaml" <<-END
		node: h$h
		run_dir: $dir/run
		user: ""
		group: ""
		bgp:
		  bmp_port: 5001
		  zserv_path: $dir/frr/zserv.api
		  peer_prefixes: [198.19.0.0/16]
		local_gpus:
		  - name: g0
		    addresses: [198.19.0.$((h + 1))]
		    planes:
		      - sub_ports: [{dev: p0, speed_mbps: 50, neighbors: [198.18.0.$peer]}]
		      - sub_ports: [{dev: p1, speed_mbps: 50, neighbors: [198.18.1.$peer]}]
	END
	for daemon in zebra bgpd; do
		in_host h$h "$FRR_DIR/$daemon" $([ $daemon = bgpd ] && echo -M bmp) -f "$dir/frr/$daemon.conf" -i "$dir/frr/$daemon.pid" \
			-z "$dir/frr/zserv.api" --vty_socket "$dir/frr" -P 0 --log stdout >"$dir/$daemon.log" 2>&1 &
		within test -S "$dir/frr/$daemon.vty" || fail "$daemon did not start: $(tail -2 "$dir/$daemon.log")"
	done
	in_host h$h "$FARE_BIN/fared" -c "$dir/fared.yaml" >"$dir/fared.log" 2>&1 &
}

# inventory FILE ADDRESS-OF-h1 MAX_RATE MAX_RUN
inventory() {
	local h
	cat >"$1" <<-END
		name: two
		mtu: 4200
		max_rate_mbps: $3
		max_run_s: $4
		max_total_s: 600
		hosts:
		$(for h in 0 1; do
			echo "  - name: h$h"
			echo "    run_dir: $SCRATCH/h$h/run"
			echo "    gpus:"
			echo "      - address: $([ $h = 0 ] && echo 198.19.0.1 || echo "$2")"
			echo "        planes:"
			echo "          - sub_ports: [{dev: p0, rate_mbps: 50}]"
			echo "          - sub_ports: [{dev: p1, rate_mbps: 50}]"
			echo "    faults:"
			echo "      - {plane: 0, sub_port: 0, down: \"ip -n sw link set h${h}p0 down\", up: \"ip -n sw link set h${h}p0 up\"}"
		done)
	END
}

# hosts_names: h0, h1 and head (which is h0) by name; as on a cluster, all have the same /etc/hosts
hosts_names() {
	printf '%s\n' '127.0.0.1 localhost' '192.0.2.0 h0 head' '192.0.2.1 h1' >"$SCRATCH/names"
	mount --bind "$SCRATCH/names" /etc/hosts || skip "there is no /etc/hosts"
}

no_agent() { ! pgrep -f "^$fb (agent|worker) " >/dev/null; }
row() { jq_true -s "any(.[]; $2)" "$1" >/dev/null; } # FILE CONDITION: there is such a row
is_up() { ip -n h1 -j link show p0 | jq_true '.[0].operstate == "UP"' >/dev/null; }
# Waits until the link is cut. A fault lasts some 400 ms: nothing that takes long is asked meanwhile.
is_cut() {
	timeout "$PATIENCE_S" ip netns exec h1 sh -c 'while read -r state </sys/class/net/p0/operstate && [ "$state" = up ]; do sleep 0.02; done'
}

hosts_network
hosts_daemons 0
hosts_daemons 1
inventory "$SCRATCH/hosts.yaml" 198.19.0.2 400 60
head -c 24 /dev/urandom | base64 >"$SCRATCH/key"
chmod 600 "$SCRATCH/key"
tiny=(--param size=64K --param qps=2)

# ---- what tests of launchers share

# hosts_sshd: an sshd on each host that lets root in by a key of its own; $SCRATCH/ssh/config is what its clients need
hosts_sshd() {
	local dir=$SCRATCH/ssh h
	[ -x /usr/sbin/sshd ] && command -v ssh >/dev/null || skip "openssh-server and openssh-client are not installed"
	hosts_names
	# a root without a password may be a locked one, which sshd refuses whatever key it has
	install -m 600 /etc/shadow "$SCRATCH/shadow"
	sed -i 's/^root:[^:]*:/root:*:/' "$SCRATCH/shadow"
	mount --bind "$SCRATCH/shadow" /etc/shadow
	mkdir -m 700 "$dir"
	ssh-keygen -q -t ed25519 -N '' -f "$dir/host_key" && ssh-keygen -q -t ed25519 -N '' -f "$dir/id" || fail "ssh-keygen"
	cp "$dir/id.pub" "$dir/authorized_keys"
	sed 's/^/h0,h1 /' "$dir/host_key.pub" >"$dir/known_hosts"
	cat >"$dir/config" <<-END
		IdentityFile $dir/id
		IdentitiesOnly yes
		IdentityAgent none
		UserKnownHostsFile $dir/known_hosts
		GlobalKnownHostsFile none
		StrictHostKeyChecking yes
		LogLevel ERROR
	END
	for h in 0 1; do hosts_sshd_start $h; done
}
hosts_sshd_start() { # 0 or 1
	local dir=$SCRATCH/ssh
	rm -f "$dir/h$1.pid"
	in_host h$1 /usr/sbin/sshd -f /dev/null -o ListenAddress=192.0.2.$1 -o HostKey="$dir/host_key" -o UsePAM=no \
		-o SetEnv="PATH=$FARE_BIN:$PATH" \
		-o AuthorizedKeysFile="$dir/authorized_keys" -o PidFile="$dir/h$1.pid" -E "$dir/h$1.log"
	within test -s "$dir/h$1.pid" || fail "sshd of h$1 did not start: $(cat "$dir/h$1.log")"
}

# key_watch NAME: until key_unseen NAME says that no process had the key on its command line, or in its environment, and that
# agents and workers were among those that were looked at
key_watch() {
	(
		while :; do
			grep -aslF -f "$SCRATCH/key" /proc/[0-9]*/cmdline /proc/[0-9]*/environ >>"$SCRATCH/$1.seen"
			ps -eo args= >>"$SCRATCH/$1.ps"
			sleep 0.1
		done
	) &
	key_watcher=$!
}
key_unseen() {
	kill $key_watcher
	wait $key_watcher 2>/dev/null
	[ ! -s "$SCRATCH/$1.seen" ] || fail "$1: the key was on a command line: $(cat "$SCRATCH/$1.seen")"
	! grep -qF -f "$SCRATCH/key" "$SCRATCH/$1.ps" || fail "$1: ps shows the key"
	grep -q 'farebench agent ' "$SCRATCH/$1.ps" && grep -q 'farebench worker ' "$SCRATCH/$1.ps" || fail "$1: ps saw no agent, or no worker"
}

# hosts_run NAME ARG...: a coordinator on head in the background, its process group $run; what it prints in NAME.out and NAME.err
hosts_run() {
	# as a terminal starts it: a process group of its own, and SIGINT not ignored
	ip netns exec h0 setsid perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV or die' timeout --foreground 300 "$fb" run "${@:2}" \
		--hosts hosts.yaml --listen head:7470 --key key >"$SCRATCH/$1.out" 2>"$SCRATCH/$1.err" &
	run=$!
}
hosts_ended() { # NAME STATUS: with it, and nothing is left: no agent, no fault
	local rc
	wait $run 2>/dev/null
	rc=$?
	[ $rc = "$2" ] || fail "$1: exit status $rc, not $2: $(tail -n 5 "$SCRATCH/$1".{err,srun,mpirun} 2>/dev/null)"
	within is_up || fail "$1: its fault stays"
	within no_agent || fail "$1: agents are left"
	echo "ok: $1 after $SECONDS s"
}
says() { # NAME PATTERN: the coordinator does
	grep -qE "$2" "$SCRATCH/$1.err" || fail "$1: '$2' was not said: $(cat "$SCRATCH/$1.err")"
}
# the agent of a host; its guard and its shells are children of it
agent_of() { # HOST
	local pid parent
	for pid in $(pgrep -f "farebench agent "); do
		parent=$(ps -o ppid= -p "$pid") && [ "$(ip netns identify "$pid")" = "$1" ] &&
			! grep -qsa "agent.--connect" /proc/$((parent))/cmdline && echo "$pid"
	done
}
measure=(--even-busy --seed 7 --trials 1 --strategy fare-spray)

# hosts_slurm: munged and slurmctld on head, a slurmd on h0; hosts_slurmd_start 1 starts that of h1
hosts_slurm() {
	local dir=$SCRATCH/slurm plugin=disabled
	for program in munged slurmctld slurmd srun scancel; do
		command -v $program >/dev/null || skip "$program is not installed (munge, slurmctld, slurmd, slurm-client)"
	done
	# the namespaces have no cgroups; before 23.11 no plugin says so, and that of version 1 looks only when it is asked
	case $(slurmd -V) in *\ 2[0-2].* | *\ 23.02.*) plugin=cgroup/v1 ;; esac
	hosts_names
	mkdir -p -m 755 "$dir/state"
	echo "CgroupPlugin=$plugin" >"$dir/cgroup.conf"
	cat >"$dir/slurm.conf" <<-END
		ClusterName=lab
		SlurmctldHost=h0(192.0.2.0)
		SlurmUser=root
		AuthType=auth/munge
		AuthInfo=socket=$dir/munge.socket
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/spool.%n
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/%n.pid
		SlurmctldLogFile=$dir/slurmctld.log
		SlurmdLogFile=$dir/%n.log
		MailProg=/bin/true
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		AccountingStorageType=accounting_storage/none
		SelectType=select/linear
		MpiDefault=none
		ReturnToService=2
		SlurmdParameters=config_overrides
		NodeName=h0 NodeAddr=192.0.2.0 CPUs=1 State=UNKNOWN
		NodeName=h1 NodeAddr=192.0.2.1 CPUs=1 State=UNKNOWN
		PartitionName=all Nodes=h0,h1 Default=YES MaxTime=INFINITE State=UP
	END
	export SLURM_CONF=$dir/slurm.conf
	(umask 077 && head -c 1024 /dev/urandom >"$dir/munge.key")
	in_host h0 munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munge.pid" \
		--log-file="$dir/munge.log" --seed-file="$dir/munge.seed" 2>/dev/null || fail "munged did not start: $(tail -n 3 "$dir/munge.log")"
	in_host h0 slurmctld && within hosts_slurm_answers || fail "slurmctld did not start: $(tail -n 3 "$dir/slurmctld.log")"
	hosts_slurmd_start 0
}
hosts_slurm_answers() { in_host h0 sinfo --noheader >/dev/null 2>&1; }
hosts_slurmd_start() { # 0 or 1
	in_host h$1 slurmd -N h$1 || fail "slurmd of h$1: $(tail -n 3 "$SCRATCH/slurm/h$1.log")"
	within test -s "$SCRATCH/slurm/h$1.pid" || fail "slurmd of h$1 did not start: $(tail -n 3 "$SCRATCH/slurm/h$1.log")"
}
