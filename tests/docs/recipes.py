#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The recipes of CONTRIBUTING.md: the files that they name are there, and so are the commits, where this is a whole clone."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
page = (root / "CONTRIBUTING.md").read_text()
recipes = page[page.index("\n## Recipes\n"):page.index("\n## Commits\n")]


def git(*arguments):
    run = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    return run.stdout.splitlines() if not run.returncode else []


files = ["/" + f for f in git("ls-files", "-co", "--exclude-standard")] or [
    f"/{f.relative_to(root)}" for f in root.rglob("*") if f.is_file()]
named = sorted(set(re.findall(r"`([\w./]+\.(?:c|h|sh|md|yaml|json|txt|bash|py))`", recipes)))
subjects = re.findall(r'^Commit: "([^"]+)"', recipes, re.M)
n_recipes = len(re.findall(r"^\*\*.+\*\*", recipes, re.M))
# NN_N_name.c stands for any test's file
bad = [f"{name}: no such file" for name in named
       if "NN_N" not in name and not any(f.endswith("/" + name) for f in files)]
if len(subjects) != n_recipes:
    bad.append(f"{n_recipes} recipes, {len(subjects)} commits")
history = git("log", "--format=%s") if git("rev-parse", "--is-shallow-repository") == ["false"] else []
if history:
    bad += [f'no commit "{s}"' for s in subjects if s not in history]
print("\n".join(bad) or f"{n_recipes} recipes, {len(named)} files, {len(subjects)} commits"
      + ("" if history else ", which were not looked up: no whole history here"))
sys.exit(bool(bad))
