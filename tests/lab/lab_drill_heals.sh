#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `farelab drill` heals at the end whatever its plan broke: small losses, rates, and also when it is stopped half-way.
. "$(dirname "$0")/lib.sh"

farelab up "$TOPOLOGIES/2x2x2.yaml" --name "$LAB" --wait $PATIENCE_S || fail "not converged"

nothing_broken() {
	grep -qx '{"links": {}, "failed_leaves": \[\], "failed_spines": \[\], "failed_superspines": \[\]}' "/run/farelab/$LAB/faults.json"
}

cat >"$SCRATCH/plan.yaml" <<END
name: small
steps:
  - {at_s: 0, do: gray leaf l0 --loss-percent 0.5}
  - {at_s: 0, do: gray subport s0 1 1 --loss-percent=0.25 --direction to-leaf}
  - {at_s: 0, do: throttle subport s1 1 0 20}
END
farelab drill "$LAB" "$SCRATCH/plan.yaml" || fail "drill"
nothing_broken || fail "still broken: $(cat "/run/farelab/$LAB/faults.json")"
tc -n "fl-$LAB-l0" filter show dev s0g0s0 egress 2>/dev/null | grep -q bpf && fail "a leaf still loses packets"
shaped s1 g0p1s0 20Mbit && fail "a sub-link kept its rate"

# Stopped by a signal for its whole group, between two steps or in one.
cat >"$SCRATCH/long.yaml" <<END
name: long
steps:
  - {at_s: 0, do: fail subport s0 0 0}
  - {at_s: 0, do: gray leaf l1 --loss-percent 0.5}
  - {at_s: 0, do: fail bgpd s1}
  - {at_s: 600, do: heal bgpd s1}
END
for seen in 'failed": true' 5000; do
	setsid "$FARELAB" drill "$LAB" "$SCRATCH/long.yaml" 2>"$SCRATCH/error" &
	drill=$!
	within grep -q "$seen" "/run/farelab/$LAB/faults.json" || fail "the plan breaks nothing"
	kill -TERM -- -$drill
	wait $drill && fail "a drill that was stopped succeeded"
	grep -q 'stopped by SIGTERM.*healed' "$SCRATCH/error" || fail "not said: $(cat "$SCRATCH/error")"
	nothing_broken || fail "SIGTERM left: $(cat "/run/farelab/$LAB/faults.json")"
	farelab status "$LAB" --wait $PATIENCE_S || fail "not converged after SIGTERM"
done
exit 0
