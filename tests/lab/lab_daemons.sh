#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `--fared`: the program is started on every server with its configuration, killed, and started again on its own.
. "$(dirname "$0")/lib.sh"

cat >"$SCRATCH/stand-in" <<END
#!/bin/sh
[ "\$1" = -c ] && [ -r "\$2" ] && [ -d "\$(dirname "\$2")/fared" ] || exit 1
echo "\$2" >>$SCRATCH/started
exec sleep 600
END
chmod +x "$SCRATCH/stand-in"

fared_pid() { # SERVER
	farelab status "$LAB" --json | grep -o "\"name\":\"$1\",\"netns\".*" | grep -o '"fared":[a-z0-9]*' | head -1 | cut -d: -f2
}

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared "$SCRATCH/stand-in" --wait $PATIENCE_S || fail "up"
[ "$(sort "$SCRATCH/started" | xargs)" = "/run/farelab/$LAB/s0/fared.yaml /run/farelab/$LAB/s1/fared.yaml" ] ||
	fail "not started once for each server: $(xargs <"$SCRATCH/started")"
pid=$(fared_pid s1)
[ "$(ip netns pids "fl-$LAB-s1" | grep -cx "$pid")" = 1 ] || fail "fared of s1 does not run in s1"
farelab fail "$LAB" fared s1 || fail "fail fared"
[ "$(fared_pid s1)" = null ] || fail "fared of s1 lives on"
[ "$(fared_pid s0)" != null ] || fail "fared of s0 died too"
farelab status "$LAB" >"$SCRATCH/status" && fail "status overlooks a dead fared"
grep -q "s1: fared is not running.*/run/farelab/$LAB/s1/fared.log.*farelab heal $LAB fared s1" "$SCRATCH/status" ||
	fail "status does not say where to look and what to do: $(cat "$SCRATCH/status")"
farelab heal "$LAB" fared s1 || fail "heal fared"
[ "$(fared_pid s1)" != null ] && [ "$(fared_pid s1)" != "$pid" ] || fail "fared of s1 was not started anew"
farelab heal "$LAB" fared s0 || fail "healing what is well is an error"
farelab status "$LAB" || fail "status does not see that fared is back"
pid=$(fared_pid s0)
farelab down "$LAB" || fail "down"
gone "$LAB" && within ended "$pid" || fail "down left something"

# One that never comes up: nobody is told that all is well.
farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared /bin/false --wait 3 2>"$SCRATCH/error" &&
	fail "up without fared"
grep -q "did not converge.*s0: fared is not running" "$SCRATCH/error" ||
	fail "up does not say why: $(cat "$SCRATCH/error")"
farelab down "$LAB" || fail "down"
farelab run "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --fared /bin/false --wait 3 -- touch "$SCRATCH/ran" 2>/dev/null &&
	fail "run without fared"
[ ! -e "$SCRATCH/ran" ] || fail "run ran its command though no fared runs"
gone "$LAB" || fail "run left something"
exit 0
