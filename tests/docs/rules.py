# SPDX-License-Identifier: BSD-2-Clause
"""The rules of fared/path_rules.c and those that fared(8) lists: as many, in one order, with one verdict each."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
rules = (root / "fared/path_rules.c").read_text()
page = (root / "docs/man/fared.8").read_text()
code = [v.lower().replace("_", "-") for v in re.findall(r"^\t\{FARE_VERDICT_(\w+), (?:true|false), \.", rules, re.M)]
listed = re.findall(r"^\.It (\d+) Cm ([a-z-]+)$", page, re.M)
usable = re.findall(r"^\t\{FARE_VERDICT_\w+, (true|false), \.", rules, re.M)
first = usable.index("true") + 1
bad = [f"rule {i}: {v} in the code" for i, v in enumerate(code, 1) if (str(i), v) not in listed]
if [int(n) for n, _ in listed] != list(range(1, len(code) + 1)):
    bad.append(f"{len(code)} rules in the code, {len(listed)} in fared(8)")
if f"Rules {first} to {len(code)} leave the path usable" not in page:
    bad.append(f"fared(8) does not say that rules {first} to {len(code)} leave the path usable")
# the sample in README.md, whose number moves with the list
for reason, number in re.findall(r"because: +(.*?) \(rule (\d+) of fared", (root / "README.md").read_text()):
    at = rules.find(f'"{reason}"')
    is_at = len(re.findall(r"^\t\{FARE_VERDICT_", rules[:at], re.M)) if at >= 0 else None
    if is_at != int(number):
        bad.append(f"README.md has rule {number} for '{reason}': it is {is_at}")
print("\n".join(bad) or f"{len(code)} rules")
sys.exit(bool(bad))
