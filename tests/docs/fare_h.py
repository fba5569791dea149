#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""fare_h.py: docs/man/fare.3 against the public headers: functions and their arguments, structures, fields, constants.

Of the headers: each group of functions has a comment, and each field of a structure of options says its default, each number its range. The manual's
section STRUCTURES is what the header has without its comments: fare_h.py --write brings it up to date.
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HEADERS = ["sched/fare.h", "sched/fare_limits.h", "sched/fare_verdict.h"]
# fields without a default of their own: outputs, arguments, and those that a comment of two fields covers
NO_DEFAULT = {"key_file", "on_request_arg", "max_path_mtu", "max_path_mtu_dev", "private_bytes", "window_bytes", "chunk_bytes"}
wrong = []


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def spaced(text):
    return re.sub(r"\s*\*\s*", " *", " ".join(text.split())).replace(" *)", " *)")


def functions(text):
    """name -> [result, argument...] of each declaration and inline function."""
    found = {}
    for match in re.finditer(r"^(?:static inline )?([a-z][\w ]*?[ *]+)(fare_\w+)\(([^;{]*?)\)\s*[;{]", text, re.M | re.S):
        found[match.group(2)] = [spaced(match.group(1)).strip()] + [spaced(a).strip() for a in match.group(3).split(",")]
    return found


def synopsis(page):
    """The same, of the manual's SYNOPSIS."""
    text, found = page[page.index("\n.Sh SYNOPSIS"):page.index("\n.Sh DESCRIPTION")], {}
    for match in re.finditer(r"^\.Ft (.*)\n\.Fn (fare_\w+)(.*)$", text, re.M):
        arguments = re.findall(r'"([^"]*)"|(\S+)', match.group(3))
        result = match.group(1).strip('"').removeprefix("static inline ")
        found[match.group(2)] = [spaced(result)] + [spaced(a or b) for a, b in arguments]
    return found


def structures(text):
    """name -> [(field, its declaration with comments)...]"""
    found = {}
    for match in re.finditer(r"^struct (fare_\w+) \{\n(.*?)^\};", text, re.M | re.S):
        fields = []
        # a field's comment is before it, or behind it on its line
        for part in re.findall(r"(?:\s*/\*.*?\*/\s*\n)?[^;]*;[^\n]*", match.group(2), re.S):
            code = without_comments(part)
            pointer = re.search(r"\(\*(\w+)\)", code)
            names = [pointer.group(1)] if pointer else [
                re.search(r"(\w+)(?:\[\w+\])?\s*$", name).group(1) for name in code.split(";")[0].split(",")]
            fields += [(name, part) for name in names]
        found[match.group(1)] = fields
    return found


def c_types(text):
    """The manual's STRUCTURES: each structure's fields with their types."""
    lines = []
    for match in re.finditer(r"^struct fare_\w+ \{\n.*?^\};", text, re.M | re.S):
        code = re.sub(r"\n\s*\*", " *", without_comments(match.group(0)))  # a declaration over two lines
        lines += [re.sub(r"\s+", " ", line).strip() for line in code.splitlines() if line.strip()] + [""]
    return "\n".join(line if line.endswith("{") or not line or line == "};" else "    " + line for line in lines)


def without_c_types(page):
    """The page before and after those lines."""
    before, rest = page.split("\n.Sh STRUCTURES\n")
    head, display = rest.split(".Bd -literal\n", 1)
    return f"{before}\n.Sh STRUCTURES\n{head}.Bd -literal\n", display.split("\n.Ed", 1)[0], "\n.Ed" + display.split("\n.Ed", 1)[1]


def check_groups(header):
    """A group of declarations, up to an empty line, has a comment or follows a structure that has."""
    for group in re.split(r"\n\s*\n", header[header.index("1. attach"):]):
        names = re.findall(r"^(?:static inline )?[a-z][\w ]*?[ *]+(fare_\w+)\(", group, re.M)
        if names and "/*" not in group:
            wrong.append(f"{', '.join(names)}: no comment")


def main():
    header, page = read(HEADERS[0]), read("docs/man/fare.3")
    body = page[page.index("\n.Sh FUNCTIONS"):]
    declared, described = functions(without_comments(header)), synopsis(page)
    for name, signature in declared.items():
        if described.get(name) != signature:
            wrong.append(f"{name}: {signature} in fare.h, {described.get(name)} in the SYNOPSIS")
        if not name.endswith("_sized") and not re.search(rf"^\.It Fn {name}\b", body, re.M):
            wrong.append(f"{name}: no paragraph in FUNCTIONS")
    for name in described:
        if name not in declared and f"{name}(" not in read("sched/fare_spray_inline.h") + read(HEADERS[2]):
            wrong.append(f"{name}: in the SYNOPSIS and in no header")
    manual_fields = set(re.findall(r"\w+", " ".join(re.findall(r"^\.(?:It )?Va (.*)$", body, re.M))))
    for name, fields in structures(header).items():
        if name == "fare_address":  # opaque
            continue
        if f'"struct {name}"' not in body:
            wrong.append(f"struct {name}: not in the manual")
        for field, text in fields:
            if field not in manual_fields:
                wrong.append(f"struct {name}: {field} is not in the manual")
            if name.endswith("_options") and field not in NO_DEFAULT and not re.search(r"\([^()]+(\([^()]*\))?[^()]*\)", "".join(
                    re.findall(r"/\*.*?\*/", text, re.S))):
                wrong.append(f"struct {name}: {field} says no default in parentheses")
            if name.endswith("_options") and field not in NO_DEFAULT and re.search(rf"\buint\d+_t\s+{field};", text) and not re.search(
                    r"up to|\d \.\. \d|; any \(|\d or \d|a job's number", text):
                wrong.append(f"struct {name}: {field} says no range")
    constants = set(re.findall(r"\bFARE_[A-Z][A-Z0-9_]+", "".join(re.findall(r"^\s+FARE_\w+|^#define FARE_\w+(?=\s+\S)",
                                                                           without_comments("".join(map(read, HEADERS))), re.M))))
    for name in sorted(constants):
        if name.endswith(("_H", "_COUNT")):  # guards, and the number of an enum's values
            continue
        if not re.search(rf"\b{name}\b", page):
            wrong.append(f"{name}: not in the manual")
    for part in re.split(r"^\.Sh ", page, flags=re.M)[1:]:
        titles = re.findall(r"^\.Ss (.*)$", part, re.M)
        wrong.extend(f"section {t} stands twice" for t in sorted({t for t in titles if titles.count(t) > 1}))
    sections = re.findall(r"^\.Sh (.*)$", page, re.M)
    wrong.extend(f"{t} stands twice" for t in sorted({t for t in sections if sections.count(t) > 1}))
    check_groups(header)
    before, shown, after = without_c_types(page)
    if "--write" in sys.argv:
        with open(os.path.join(ROOT, "docs/man/fare.3"), "w", encoding="utf-8") as file:
            file.write(before + c_types(header).rstrip() + after)
    elif shown != c_types(header).rstrip():
        wrong.append("STRUCTURES of the manual are not those of fare.h: python3 tests/docs/fare_h.py --write")
    print("\n".join(wrong) or f"{len(declared)} functions, {len(constants)} constants: header and manual agree")
    return 1 if wrong else 0


sys.exit(main())
