#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# farelab --frr: the FRR of another directory. What can be tried without FRR 10: a directory of links to the FRR that is here;
# one without bgpd; and one whose bgpd calls itself 10.7.0 and whose mgmtd only says how it was started, so that farelab treats
# it as FRR 10 (no `zebra work-queue`, mgmtd before zebra, -N). The daemons that run are those of the FRR that is here.
. "$(dirname "$0")/lib.sh"

two=$TOPOLOGIES/2x2x2.yaml
run=/run/farelab/$LAB
links() { # NAME: a directory of links to FRR's programs
	mkdir "$SCRATCH/$1" && ln -s "$FRR_DIR"/* "$SCRATCH/$1/" || fail "links"
}
chmod 755 "$SCRATCH"

links other
farelab up "$two" --name "$LAB" --frr "$SCRATCH/other" --wait $PATIENCE_S || fail "does not converge with links"
for daemon in zebra bgpd; do
	tr '\0' '\n' <"/proc/$(cut -d' ' -f1 "$run/s0/$daemon.pid")/cmdline" | head -1 | grep -qx "$SCRATCH/other/$daemon" ||
		fail "$daemon of another directory runs"
done
# what starts a daemon later knows the directory as well
farelab fail "$LAB" zebra s1 && farelab heal "$LAB" zebra s1 && farelab status "$LAB" --wait $PATIENCE_S || fail "heal"
tr '\0' '\n' <"/proc/$(cut -d' ' -f1 "$run/s1/zebra.pid")/cmdline" | head -1 | grep -qx "$SCRATCH/other/zebra" ||
	fail "heal starts another zebra"
farelab vtysh "$LAB" s0 -- -c 'show version' | grep -q FRRouting || fail "vtysh"
[ "$(farelab exec "$LAB" s0 -- printenv FARELAB_FRR)" = "$SCRATCH/other" ] || fail "commands do not know of it"
farelab down "$LAB" || fail "down"

links none
rm "$SCRATCH/none/bgpd"
farelab up "$two" --name "$LAB" --frr "$SCRATCH/none" 2>"$SCRATCH/said" && fail "a directory without bgpd is taken"
grep -q "no program bgpd in $SCRATCH/none; give the directory" "$SCRATCH/said" || fail "unclear: $(cat "$SCRATCH/said")"
gone "$LAB" || fail "something of it is left"
FARELAB_FRR=$SCRATCH/none farelab frr && fail "FARELAB_FRR is ignored"

# script PROGRAM BODY
script() {
	rm -f "$SCRATCH/ten/$1"
	printf '#!/bin/bash\n%s\n' "$2" >"$SCRATCH/ten/$1"
	chmod 755 "$SCRATCH/ten/$1"
}
links few
rm "$SCRATCH/few/bgpd"
printf '#!/bin/sh\necho "bgpd version 10.7.0"; echo "--enable-multipath=3"\n' >"$SCRATCH/few/bgpd"
chmod 755 "$SCRATCH/few/bgpd"
farelab up "$two" --name "$LAB" --frr "$SCRATCH/few" 2>"$SCRATCH/said" && fail "an FRR of three paths is taken for four"
grep -q 'built for 3 paths' "$SCRATCH/said" || fail "unclear: $(cat "$SCRATCH/said")"

links ten
script bgpd "[ \"\$1\" != --version ] || { echo 'bgpd version 10.7.0'; exit; }
exec -a bgpd '$FRR_DIR/bgpd' \"\$@\""
script mgmtd "echo \"\$@\" >>'$SCRATCH/mgmtd'; exec sleep infinity"
[ "$(farelab frr --frr "$SCRATCH/ten")" = "$SCRATCH/ten 10.7.0 with mgmtd" ] || fail "farelab frr"
farelab up "$two" --name "$LAB" --fared "$FARE_BIN/fared" --frr "$SCRATCH/ten" --wait $PATIENCE_S || fail "does not converge with mgmtd"
grep -q work-queue "$run"/s0/frr/zebra.conf && fail "zebra is told of a work queue"
grep -iE '% unknown command|error occurred' "$run"/*/*.log && fail "FRR refuses a line"
[ "$(grep -c "vty_socket $run/.*/frr .*-N fl-$LAB-" "$SCRATCH/mgmtd")" = 4 ] || fail "mgmtd of four hosts: $(cat "$SCRATCH/mgmtd")"
old=$(cat "$run/l0/mgmtd.pid")
farelab fail "$LAB" leaf l0 && farelab heal "$LAB" leaf l0 && farelab status "$LAB" --wait $PATIENCE_S || fail "heal leaf"
[ "$(cat "$run/l0/mgmtd.pid")" != "$old" ] || fail "mgmtd outlives its leaf"
kill -9 "$(cut -d' ' -f1 "$run/s1/mgmtd.pid")"
within eval 'farelab status "$LAB" | grep -q "s1: mgmtd is not running; .*s1/mgmtd.log, .farelab heal $LAB zebra s1"' || fail "status does not miss mgmtd"
farelab down "$LAB" || fail "down"
script mgmtd 'echo "no room"; exit 1'
farelab up "$two" --name "$LAB" --frr "$SCRATCH/ten" 2>"$SCRATCH/said" && fail "a mgmtd that ends is overlooked"
grep -q "mgmtd did not start: no room (.*/mgmtd.log)" "$SCRATCH/said" || fail "not said: $(cat "$SCRATCH/said")"
gone "$LAB" && ! compgen -G "/var/run/frr/fl-$LAB-*" || fail "something is left"
exit 0
