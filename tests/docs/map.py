#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""map.py [--check]: writes docs/map.md from the heads of the source files (--check: says whether it is up to date).

The job of a file is the first sentence of its head: "name.h - JOB." A .c file with a header of the same stem has the header's.
A test of the methodology without a head has its clause and name. Other files without a head are listed behind the table.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MAP = "docs/map.md"
OTHER = [
    ("tests/unit/", "mirrors the sources"),
    ("tests/tree/, tests/docs/", "rules for source files, documents and this map"),
    ("tests/fuzz/", "fuzzers with corpora: every parser, shared memory of others, and the whole daemon by its sockets"),
    ("tests/sim/", "one simulated network and clock under `groups/`, QP groups of several hosts, and `health/`, prober, reflector and path table"),
    ("tests/mock/", "RDMA devices within a process, in place of libibverbs, that fail as a test asks"),
    ("tests/lab/", "real daemons in network namespaces"),
    ("tests/hostile/", "attackers against real programs under ASan"),
    ("tests/ofi/", "the libfabric provider: semantics, OpenMPI in a lab"),
    ("tests/vm/", "the verbs provider on `rdma_rxe` in a VM"),
    ("tests/oracle/", "fluid model against SimGrid"),
    ("tests/package/, tests/platform/", "packages on a new Debian root; build and unit tests on the other Debian"),
    ("tests/browser/", "pages of farebench in headless Chromium"),
    ("docs/man/, docs/examples/", "manual pages; programs over libfare"),
    ("docs/ops/", "units, sysusers, tmpfiles, default configuration, completion, container, alert rules, Grafana board"),
]


def comment_after_licence(text):
    """The first comment after the licence line, as one line; "" if code comes first."""
    match = re.match(r"(?:/\*[^\n]*SPDX[^\n]*\*/\s*|//[^\n]*SPDX[^\n]*\s*)(/\*.*?\*/|(?://[^\n]*\n)+)?", text, re.S)
    head = match.group(1) if match and match.group(1) else ""
    lines = [re.sub(r"^\s*(/\*+|\*/|\*|//)?\s?", "", line) for line in head.removesuffix("*/").split("\n")]
    paragraph = []
    for line in lines:
        if line.strip():
            paragraph.append(line.strip())
        elif paragraph:
            break
    return " ".join(paragraph)


def job(path):
    """What the head of a file says that it is for, or which test it declares; "" if neither."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    text = re.sub(r"^[\w.]+ - (see [\w./]+: )?", "", comment_after_licence(source))
    sentence = re.split(r"(?<=[^.\s]{2})\.(?:\s|$)", text)[0].strip().rstrip(".:")
    test = re.search(r'_CLAUSE\("([^"]+)"\),\s*\.name = "([^"]+)"', source)
    if test and not sentence:
        return f"test {test.group(1)}: {test.group(2)}"
    return "" if sentence.startswith("see ") else sentence


def table():
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h", "*.cc"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    stems = {}
    for path in sorted(files):
        if not path.startswith(("tests/", "docs/")) and os.path.exists(os.path.join(ROOT, path)):
            stems.setdefault(os.path.splitext(path)[0], []).append(path)
    folders = {}
    for stem, paths in sorted(stems.items()):
        paths.sort(key=lambda path: not path.endswith(".h"))  # the header's head first
        text = next((text for text in (job(os.path.join(ROOT, path)) for path in paths) if text), "")
        name = os.path.basename(stem if len(paths) > 1 else paths[0])
        folders.setdefault(os.path.dirname(stem), []).append((name, text))
    return folders


def page():
    lines = ["# Map of files", "",
             "Made from the heads of the files: `python3 tests/docs/map.py`. What each directory is for:",
             "[architecture.md](architecture.md#where-things-are). `name` stands for name.h and name.c."]
    for folder, rows in sorted(table().items()):
        described = [f"| `{name}` | {text.replace('|', '&#124;')} |" for name, text in rows if text]
        lines += ["", f"## {folder}/"] + (["", "| file | job |", "|---|---|"] + described if described else [])
        silent = [f"`{name}`" for name, text in rows if not text]
        if silent:
            lines += ["", "And " + ", ".join(silent) + "."]
    lines += ["", "## Other directories", "", "| directory | job |", "|---|---|"]
    lines += ["| " + ", ".join(f"`{name}`" for name in names.split(", ")) + f" | {text} |" for names, text in OTHER]
    return "\n".join(lines) + "\n"


def main():
    path, text = os.path.join(ROOT, MAP), page()
    if "--check" not in sys.argv[1:]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    with open(path, encoding="utf-8") as file:
        former = file.read().split("\n")
    differ = sorted(set(former) ^ set(text.split("\n")))
    for line in differ[:10]:
        print(("old: " if line in former else "new: ") + line)
    if differ:
        print(f"{MAP} is not what the heads of the files say: run python3 tests/docs/map.py")
    return 1 if differ else 0


sys.exit(main())
