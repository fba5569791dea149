#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The Kubernetes manifests of docs/ops/container have no field that the API lacks, none of another type, and all that it requires,
# by the models that Kubernetes generates from its schema for Python (python3-kubernetes). Nothing is run by a cluster.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
python=/usr/bin/python3
$python -c 'import kubernetes, yaml' 2>/dev/null || { echo "skipped: needs python3-kubernetes"; exit 77; }

check() { # FILE...
	$python - "$@" <<'END'
import json, sys, yaml
from kubernetes import client

class Response:
    def __init__(self, data):
        self.data = json.dumps(data)

def lost(given, kept, where):
    """What of a manifest its model does not keep as it is."""
    if isinstance(given, dict) and isinstance(kept, dict):
        return [x for key in given for x in (lost(given[key], kept[key], f"{where}.{key}") if key in kept
                                             else [f"{where}.{key}: no such field"])]
    if isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        return [x for i in range(len(given)) for x in lost(given[i], kept[i], f"{where}[{i}]")]
    return [] if given == kept and type(given) is type(kept) else [f"{where}: not {given!r}"]

api, wrong, seen = client.ApiClient(), [], 0
for path in sys.argv[1:]:
    for manifest in yaml.safe_load_all(open(path)):
        name = f"{path}: {manifest['kind']}"
        version = manifest["apiVersion"].split("/")[-1]
        try:
            model = api.deserialize(Response(manifest), version[0].upper() + version[1:] + manifest["kind"])
            wrong += lost(manifest, api.sanitize_for_serialization(model), name)
        except (ValueError, AttributeError) as error:
            wrong.append(f"{name}: {error}")
        pod = manifest["spec"].get("template", {}).get("spec", {})
        if pod.get("hostNetwork") and "--connect" in str(pod) and pod.get("dnsPolicy") != "ClusterFirstWithHostNet":
            wrong.append(f"{name}: on the host's network a pod does not find the service's name")
        seen += 1
print("\n".join(wrong) or f"{seen} manifests")
sys.exit(1 if wrong or not seen else 0)
END
}

check "$here"/docs/ops/container/*.yaml || exit 1

# and what is wrong is seen
scratch=$(mktemp) || exit 1
trap 'rm -f "$scratch"' EXIT
refused() { # SED-COMMAND WHAT
	sed "$1" "$here/docs/ops/container/farebench-job.yaml" >"$scratch"
	! cmp -s "$scratch" "$here/docs/ops/container/farebench-job.yaml" || { echo "FAIL: '$1' changes nothing"; exit 1; }
	! check "$scratch" >/dev/null || { echo "FAIL: $2 is not seen"; exit 1; }
}
refused s/completionMode:/completionsMode:/ "a misspelled field"
refused 's/completions: 2/completions: two/' "a wrong type"
refused '/image: farebench/,+1s/name: agent/nam: agent/; s/- name: agent/- nam: agent/' "a field that is missing"
refused '/dnsPolicy:/d' "a service's name that is not found"
refused 's/dnsPolicy: ClusterFirstWithHostNet/dnsPolicy: {a: 1}/' "an object for a text"
echo passed
