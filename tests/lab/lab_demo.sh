#!/usr/bin/env bash
# The whole path, as the demo runs it, for one fault: a lost sub-port is learned by BGP, the weight halves for that one pair and
# plane, traffic follows, every byte is verified; then daemons are killed in mid-transfer. The bounds are wide, for a
# loaded CI machine: the promised figures are those of docs/figures.yaml.
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "skipped: needs root for network namespaces"; exit 77; }
[ -x /usr/lib/frr/bgpd ] || { echo "skipped: FRR is not installed"; exit 77; }
BIN=${FARE_BIN:?the directory of the binaries}
SRC=${FARE_SOURCE_DIR:?the source tree}
out=$(mktemp -d /tmp/fare-lab-demo.XXXXXX)
trap 'rm -rf "$out"' EXIT
export FARELAB=$BIN/farelab

scenario() {
	"$BIN/farelab" run "$SRC/netns/topologies/4x4x2.yaml" --name "citest-$1-$$" --fared "$BIN/fared" -- \
		"$BIN/farebench" demo --quick --scenario "$1" --json "$out/$1.json" >"$out/$1.log" 2>&1 ||
		{ tail -n 40 "$out/$1.log"; exit 1; }
}

scenario sub-port-lost
scenario chaos
# holds WHAT FILTER: the filter is true of the results
holds() {
	jq -e "$2" "$out/results.json" >/dev/null || { echo "FAIL: $1"; exit 1; }
}

jq -s '.[0] * {chaos: .[1].chaos} | . + {r: (.runs | map({key: "\(.test) \(.strategy)", value: .ratio}) | from_entries)}' \
	"$out/sub-port-lost.json" "$out/chaos.json" >"$out/results.json"
jq -r '.r | to_entries[] | "\(.key) \(.value * 1000 | round / 10)% of optimum"' "$out/results.json"
jq -r '.chaos[] | "chaos: \(.messages_lost) lost, longest gap \(.longest_gap_ms) ms"' "$out/results.json"
holds "eight measurements" '.runs | length == 8'
for strategy in fare-flow fare-spray; do
	holds "kv $strategy reaches 85% of optimum" ".r[\"kv $strategy\"] >= 0.85"
	holds "kv $strategy is ahead of ecmp" ".r[\"kv $strategy\"] > .r[\"kv ecmp\"]"
done
holds "nothing lost while daemons were killed" '(.chaos | length) > 0 and all(.chaos[]; .messages_lost == 0)'
