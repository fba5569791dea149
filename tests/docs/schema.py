#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""schema.py FAREBENCH SCHEMAS: what farebench writes as JSON and CSV is as docs/schema has it, and what is not is refused.
Beside that: `compare --more` makes the trials that are missing, and a run with --even-busy says so."""
import csv, json, os, subprocess, sys, tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: no jsonschema (python3-jsonschema)")
    sys.exit(77)

bench, schemas = map(os.path.abspath, sys.argv[1:])
COLUMNS = "test,strategy,kpi,unit,point,trial,params,value,n,p50,p95,p99,p99.9,max,text,missing".split(",")


def read(path):
    with open(path) as file:
        return json.load(file)


def run(*words, expect=(0,)):
    done = subprocess.run([bench, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode in expect, f"{words}: {done.returncode}: {done.stderr}"
    return done.stdout


def validator(name):
    compare = read(f"{schemas}/compare.schema.json")
    schema = read(f"{schemas}/{name}.schema.json")
    resolver = jsonschema.RefResolver("", schema, store={"compare.schema.json": compare})
    return jsonschema.Draft202012Validator(schema, resolver=resolver)


def check(name, document, wrong):
    validator(name).validate(document)
    for member, value in wrong.items():
        assert not validator(name).is_valid({**document, member: value}), f"{name}: {member} = {value} is accepted"


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    for name in "ab":
        run("run", "sched-assignment", "--trials", "2", "--even-busy", "--seed", "7", "--out", name, "--json", f"{name}.json")
    results = read("a.json")
    check("results", results, {"schema": "other", "accounting": {"x": {}}, "cells": {"x": [{"value@p99": "x"}]}, "more": 1})
    account = results["accounting"]["sched-assignment"]
    assert account["least_trials"] == 2 and account["attempted"] == account["included"] == 2 * account["combinations"], account
    assert account["not_possible"] == account["spoilt"] == 0 and account["draft_asks"] == "-", account
    assert results["run"]["even_busy"] is True
    with open("a/rows.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == COLUMNS and all(len(row) == len(COLUMNS) for row in rows), rows[0]

    text = run("compare", "--json", "compare.json", "a", "b", expect=(0, 3))
    assert "A was measured with --even-busy" in text and "--more makes them" in text, text
    compared = read("compare.json")
    check("compare", compared, {"schema": "other", "trials_wanted": 3, "items": [{"test": "x"}], "counts": {"good": 1}})
    assert compared["a_least_trials"] == 2 and compared["trials_wanted"] > 4, compared["trials_wanted"]
    text = run("compare", "--more", "--json", "compare.json", "a", "b", expect=(0, 3))
    assert "--more makes them" not in text, text
    compared = read("compare.json")
    assert compared["a_least_trials"] == compared["b_least_trials"] == compared["trials_wanted"], compared
    assert compared["counts"]["too few trials to say"] == 0, compared["counts"]
print("as the schemas have it")
