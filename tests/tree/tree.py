#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tree.py knots BUILD_DIR | names | words: rules for the sources as a whole.

knots  No more than 5 files call each other mutually, by the symbols of their objects in BUILD_DIR.
names  A static function's name that more than two files have contains its file's stem: stack traces and grep find it.
words  A term that docs/glossary.md replaced stands nowhere; some of them only not as part of a name, as English needs them.

`scope` says which directories are checked, `allowed` what is excused and why. Tests are not checked.
"""
import collections
import fnmatch
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MOST_FILES = 5  # of a knot
MOST_NAMES = 2  # files with a static function of one name

# replaced everywhere: in names, messages, comments, manuals and documents
ANYWHERE = """taught teach teaches teacher teachers belief beliefs believe believes believed believing heed heeds heeded heeding vouch
vouches vouched vouching condemn condemns condemned condemning absolve absolves absolved guilty culprit culprits blame blames blamed
blaming ghost ghosts grave graves bury buries buried burying doomed stillborn owe owes owed owing deaf mute spared forge forges forged
forging told whoever whom his""".split()
# the same for terms of several words, whatever is between the words: blanks, a line's end in a comment, the _ of a name
PHRASES = ["stand still", "stands still", "stood still", "standing still", "put off", "puts off", "putting off", "hashes otherwise",
           "went quiet"]
# replaced in names: as English words they may stand in text
IN_NAMES = """way ways leg legs word words shown seal sealed seals life lives say says tell tells hear hears heard look looks touches
remains calm speaks worth""".split()


def lines_of(name):
    """The lines of a file beside this one that are no comments."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return [line.split(None, 3) for line in file.read().split("\n") if line.strip() and not line.startswith("#")]


def scope(check):
    return [os.path.join(row[1], "") if os.path.isdir(os.path.join(ROOT, row[1])) else row[1]
            for row in lines_of("scope") if row[0] == check]


class Allowed:
    """What is excused: rows of check, what, file pattern, reason. One that excuses nothing is wrong, too."""

    def __init__(self, check):
        self.rows = [row for row in lines_of("allowed") if row[0] == check]
        self.used = set()

    def excuses(self, what, path):
        for i, row in enumerate(self.rows):
            if row[1] == what and fnmatch.fnmatch(path, row[2]):
                self.used.add(i)
                return True
        return False

    def idle(self):
        return [f"tests/tree/allowed: nothing needs '{' '.join(row[:3])}' any more"
                for i, row in enumerate(self.rows) if i not in self.used]


def tracked(prefixes, *patterns):
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT, check=True, capture_output=True,
                           text=True).stdout.split("\n")
    return [name for name in names if name.startswith(tuple(prefixes)) and os.path.isfile(os.path.join(ROOT, name))]


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


# ---- knots ----

def calls(build):
    """source -> the sources whose symbols its objects use"""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        objects = {os.path.normpath(os.path.join(entry["directory"], re.search(r" -o (\S+)", entry["command"]).group(1))):
                   os.path.relpath(entry["file"], ROOT) for entry in json.load(file)}
    paths = [path for path, source in objects.items() if not source.startswith(("tests/", "..")) and os.path.exists(path)]
    defined, used = collections.defaultdict(set), collections.defaultdict(set)
    symbols = subprocess.run(["nm", "-A", *paths], check=True, capture_output=True, text=True).stdout if paths else ""
    for line in symbols.splitlines():
        path, _, symbol = line.partition(":")
        kind, _, name = symbol[17:].partition(" ")
        if kind == "U":
            used[objects[path]].add(name)
        elif kind.isupper():
            defined[name].add(objects[path])
    owner = {name: sources.pop() for name, sources in defined.items() if len(sources) == 1}
    return {source: {owner[name] for name in names if name in owner} - {source} for source, names in used.items()}


def reachable(graph, start):
    seen, waiting = set(), [start]
    while waiting:
        for other in graph.get(waiting.pop(), ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def check_knots(build):
    directories, allowed, graph = scope("knots"), Allowed("knots"), calls(build)
    if not graph:
        return [f"{build}: no objects"]
    for source in graph:
        if allowed.excuses("registry", source):  # it names all of a kind, and calls none of them by itself
            graph[source] = set()
    reach = {source: reachable(graph, source) for source in graph}
    wrong, done = [], set()
    for source in sorted(graph):
        knot = {other for other in reach[source] if source in reach.get(other, ())} | {source}
        if source in done or len(knot) <= MOST_FILES or not any(path.startswith(tuple(directories)) for path in knot):
            continue
        done |= knot
        if not any(allowed.excuses("knot", path) for path in knot):
            wrong.append(f"{len(knot)} files call each other: " + " ".join(sorted(knot)))
    return wrong + allowed.idle()


# ---- names ----

def check_names(_):
    directories, allowed, files = scope("names"), Allowed("names"), collections.defaultdict(list)
    for path in tracked([""], "*.c", "*.h"):
        if not path.startswith(("tests/", "docs/")):
            for name in re.findall(r"^static\b[^=;()\n]*?\b(\w+)\(", text_of(path), re.M):
                if name != "__attribute__":
                    files[name].append(path)
    wrong = []
    for name, paths in sorted(files.items()):
        for path in paths:
            stem = os.path.splitext(os.path.basename(path))[0]
            if len(paths) > MOST_NAMES and stem not in name and path.startswith(tuple(directories)) \
                    and not allowed.excuses(name, path):
                wrong.append(f"{path}: {name}() stands in {len(paths)} files; call it {stem}_{name}()")
    return wrong + allowed.idle()


# ---- words ----

BETWEEN = r'[\s*/#"\\_-]+'
PHRASE = re.compile("|".join(r"(?<![A-Za-z])" + BETWEEN.join(phrase.split()) + r"(?![A-Za-z])" for phrase in PHRASES), re.I)
TOKEN = re.compile(r'(/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])*\')', re.S)


def split(name):
    return re.findall(r"[a-z]+", name.lower())


def check_words(_):
    directories, allowed, wrong = scope("words"), Allowed("words"), []
    for path in tracked(directories, "*"):
        if path.endswith((".svg", ".tsv", ".html")) or path.startswith(("tests/", ".")):
            continue
        text = text_of(path)
        for number, line in enumerate(text.split("\n"), 1):
            for name in re.findall(r"[A-Za-z_]\w*", line):
                for word in set(split(name)) & set(ANYWHERE):
                    if not allowed.excuses(word, path) and not allowed.excuses(name, path):
                        wrong.append(f"{path}:{number}: '{name}': '{word}' was replaced (docs/glossary.md, Say / not)")
        for match in PHRASE.finditer(text):
            phrase = " ".join(split(match.group()))
            if not allowed.excuses(phrase.replace(" ", "_"), path):
                wrong.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: '{phrase}' was replaced (docs/glossary.md, Say / not)")
        if path.endswith((".c", ".h")):
            for name in sorted(set(re.findall(r"[A-Za-z_]\w*", TOKEN.sub(" ", text)))):
                for word in set(split(name)) & set(IN_NAMES):
                    if not allowed.excuses(word, path) and not allowed.excuses(name, path):
                        wrong.append(f"{path}: the name '{name}': '{word}' was replaced (docs/glossary.md, Say / not)")
    return wrong + allowed.idle()


def main():
    checks = {"knots": check_knots, "names": check_names, "words": check_words}
    if len(sys.argv) < 2 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    wrong = checks[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else None)
    print("\n".join(wrong) or f"{sys.argv[1]}: {', '.join(scope(sys.argv[1]))}: nothing found")
    return 1 if wrong else 0


sys.exit(main())
