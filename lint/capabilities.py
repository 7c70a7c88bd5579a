#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""capabilities.py [FILE]: test/mutants/capabilities.txt (or FILE) names suites and lines that are.

Each capability has quick suites of that tier, full suites, and mutants whose text occurs once in
its file.
"""
import collections
import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = "test/mutants/capabilities.txt"
Mutant = collections.namedtuple("Mutant", "capability quick file old new")


def entries(path=f"{TOP}/{LIST}"):
    """[(line, key, value)]"""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#"):
                key, _, value = line.rstrip("\n").partition(": ")
                yield number, key, value


def mutants(path=f"{TOP}/{LIST}"):
    capability = quick = ""
    for _, key, value in entries(path):
        if key == "capability":
            capability = value
        elif key == "quick":
            quick = value
        elif key == "mutant":
            name, _, change = value.partition(": ")
            yield Mutant(capability, quick, name, *change.split(" => "))


def tiers():
    """{suite: tier}, of all suites"""
    found = {}
    sources = [(f, "unit-" + os.path.basename(f)[5:-2])
               for f in glob.glob(f"{TOP}/test/unit/test_*.c")]
    sources += [(f, os.path.basename(f)[:-2])
                for f in glob.glob(f"{TOP}/test/**/*.t", recursive=True)]
    for path, name in sources:
        with open(path, encoding="utf-8", errors="replace") as file:
            tier = re.search(r"\btier: (\w+)", file.read(2000))
        found[name] = tier.group(1) if tier else None
    return found


def faults(path):
    known, seen = tiers(), []
    for number, key, value in entries(path):
        if key == "capability":
            seen.append([value, number, set()])
        elif key not in ("quick", "full", "mutant") or not seen:
            yield number, f"'{key}' is no entry of a capability"
            continue
        if key in ("quick", "full"):
            for name in value.split():
                if known.get(name) is None:
                    yield number, f"no suite is called {name}"
                elif key == "quick" and known[name] != "quick":
                    yield number, f"{name} is of the tier {known[name]}, not quick"
        seen[-1][2].add(key)
    for value, number, keys in seen:
        if keys != {"capability", "quick", "full", "mutant"}:
            yield number, f"{value}: quick:, full: and mutant: are needed"
    for m in mutants(path):
        with open(f"{TOP}/{m.file}", encoding="utf-8") as file:
            times = file.read().count(m.old)
        if times != 1:
            yield 0, f"{m.file}: '{m.old}' occurs {times} times, not once"


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else f"{TOP}/{LIST}"
    wrong = 0
    for number, text in faults(path):
        print(f"{os.path.relpath(path, TOP)}:{number}: {text}")
        wrong += 1
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
