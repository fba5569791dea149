#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# clean_root.sh DIRECTORY: installs the packages in DIRECTORY on a new Debian root that has nothing else, builds a lab there with
# the installed programs, and looks at the daemon that runs: user, capabilities, modes of its files. Removing the packages leaves
# nothing but the configuration, purging not even that. Takes some minutes. See root.sh for what it needs.
. "$(dirname "$0")/../platform/root.sh"
debs=$(readlink -f "${1:?where the packages are}")
within() { # COMMAND...: until it succeeds
	local end=$((SECONDS + 60))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}
new_root "$(this_debian)"
mkdir "$root/debs"
cp "$debs"/*.deb "$root/debs"

say "installing"
inside sh -c 'apt-get install -y --no-install-recommends strace /debs/*.deb' >"$root/install.log" 2>&1 ||
	{ tail -n 20 "$root/install.log"; fail "the packages do not install"; }
[ "$(stat -c '%a %U %G' "$root/etc/fared/fared.yaml")" = "644 root root" ] || fail "/etc/fared/fared.yaml: $(stat -c '%a %U %G' "$root/etc/fared/fared.yaml")"
inside getent group fare >/dev/null || fail "there is no group fare"
said=$(inside fared --check-config 2>&1) && fail "the default configuration passes, though it names no GPU"
[[ $said = *missing* ]] || fail "the default configuration does not say what is missing: $said"
for example in "$root"/usr/share/doc/fared/examples/*.yaml; do
	inside fared --check-config --config "/usr/share/doc/fared/examples/$(basename "$example")" >"$root/check.log" 2>&1 ||
		grep -q "key_file" "$root/check.log" || { cat "$root/check.log"; fail "$(basename "$example") is not right"; }
done
for page in 8:fared 8:farectl 8:fared-exporter 5:fared.yaml 3:fare 8:farelab 1:farebench; do
	[ -e "$root/usr/share/man/man${page%%:*}/${page#*:}.${page%%:*}.gz" ] || fail "no manual page ${page#*:}"
done
inside bash -c '. /usr/share/bash-completion/completions/farectl && COMP_WORDS=(farectl show p) COMP_CWORD=2 && _farectl &&
	echo "${COMPREPLY[*]}"' | grep -q peers || fail "bash completes nothing"

say "a lab with what is installed"
inside sh -c 'ip link set lo up; exec farelab up 2x2x2.yaml --name clean --fared /usr/sbin/fared --wait 60' || fail "the lab does not converge"
ctl() { inside farectl -s /run/farelab/clean/s0/fared "$@"; }
all_ok() { ctl -j show paths | grep -o '"verdict": *"[a-z-]*"' | sort | uniq -c | grep -q '^ *2 .*"ok"'; }
within all_ok || { ctl show paths; fail "not every path is ok"; }
ctl show paths
inside fared-exporter -s /run/farelab/clean/s0/fared --once >"$root/metrics" && grep -q '^fared_plane_verdict_paths.*"ok"} [1-9]' "$root/metrics" ||
	fail "no metrics"
read -r pid _ <"$root/run/farelab/clean/s0/fared.pid" && proc=$root/proc/$pid # the namespace's own numbers
[ "$(cat "$proc/comm")" = fared ] || fail "$proc is no fared"
grep -E '^(Cap(Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' "$proc/status"
[ "$(awk '/^NoNewPrivs/ { print $2 }' "$proc/status")" = 1 ] || fail "fared may gain privileges"
[ "$(awk '/^CapEff/ { print $2 }' "$proc/status")" = 0000000000000002 ] || fail "fared keeps more than CAP_DAC_OVERRIDE"
[ "$(awk '/^CapBnd/ { print $2 }' "$proc/status")" = 0000000000000000 ] || fail "fared could get capabilities back"
[ "$(awk '/^Seccomp:/ { print $2 }' "$proc/status")" = 2 ] || fail "no system-call filter is in force"
[ "$(awk '/^CapAmb/ { print $2 }' "$proc/status")" = 0000000000000000 ] || fail "fared keeps ambient capabilities"
[ "$(stat -c %a "$root/run/farelab/clean/s0/fared")" = 755 ] || fail "run directory: mode $(stat -c %a "$root/run/farelab/clean/s0/fared")"
find "$root/run/farelab/clean/s0/fared" -perm /002 ! -type l | grep . && fail "others may write this"
# ---- the unit lets fared make the system calls that it makes, from its start on
allowed() { # the names in SystemCallFilter=, and what is in its groups
	sed -n 's/^SystemCallFilter=//p' "$root/lib/systemd/system/fared.service" | tr ' ' '\n' | while read -r item; do expand "$item"; done
}
expand() {
	case $1 in
	@*) inside systemd-analyze syscall-filter "$1" | sed -n '2,$s/^ *//p' | while read -r item; do case $item in '#'* | '') ;; *) expand "$item" ;; esac; done ;;
	*) echo "$1" ;;
	esac
}
inside farelab fail clean fared s1 || fail "stop fared of s1"
inside sh -c 'exec ip netns exec fl-clean-s1 timeout 5 strace -f -qq -o /trace /usr/sbin/fared -c /run/farelab/clean/s1/fared.yaml' 2>/dev/null || true
sed -nE 's/^[0-9]+ +([a-z0-9_]+)\(.*/\1/p' "$root/trace" | sort -u >"$root/made"
grep -qx seccomp "$root/made" && grep -qx sendmmsg "$root/made" || fail "fared did not come far under strace: $(tail -3 "$root/trace")"
allowed | sort -u >"$root/allowed"
# what starts the program is made before the filter is there; SIGTERM ends it
beyond=$(comm -23 "$root/made" "$root/allowed" | { grep -vx execve || true; } | xargs)
[ -z "$beyond" ] || fail "the unit's SystemCallFilter would kill fared at: $beyond"

inside farelab down clean

say "removing"
inside apt-get remove -y fared farelab farebench libfare1 libnccl-net-fare libfare-fi libfare-dev >/dev/null 2>&1 || fail "the packages do not go"
[ ! -e "$root/usr/sbin/fared" ] && [ -e "$root/etc/fared/fared.yaml" ] || fail "removed wrongly"
inside apt-get purge -y fared >/dev/null 2>&1 || fail "the configuration does not go"
[ ! -e "$root/etc/fared" ] || fail "/etc/fared stays after purge"
say "all held"
