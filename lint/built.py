#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""built.py: is all that suites run built before they run?

The quick suites run what `make lib policies tests` builds, the others what `tests-full` adds.
A suite's files of the build are the paths below $B that it, and what it sources, name, with
variables like R=$B/examples/x replaced by their values. What a path leaves open ($p) matches
anything.

built.py [-v] [SUITE...]: those, or all. -v prints what they name.
"""
import glob
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOALS = {"quick": ["tests"], "full": ["tests-full"], "lint": ["build/B/test/nursery"]}
# Suites that have make build what they run.
MAKES = re.compile(r"\bmake\b.* B=")
NAMED = re.compile(r"\$(?:B|\{B\})\"?(/[^\s\"'`;:,|&)(<>]*)")
# What suites write, and the images of test/integration/control/images.stamp.
OWN = re.compile(r"/test/log\b|.*\.(txt|bad|html)$|/test/integration/control/\w+\.policy$")


def made(goals):
    """What make would build in an empty folder."""
    text = subprocess.run(["make", "-n", "B=build/B", "lib", "policies", *goals], cwd=TOP,
                          text=True, env=dict(os.environ, MAKEFLAGS=""),
                          stdout=subprocess.PIPE, check=True).stdout
    return set(re.findall(r"build/B(/[^\s\"';|)]*)", text))


def source(path, seen):
    """The text of a suite with what it sources."""
    if path in seen or not os.path.isfile(path):
        return ""
    seen.add(path)
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    return text + "".join(source(f"{TOP}/{name}", seen)
                          for name in re.findall(r'^\s*\. "\$TOP/([^"$]*)"', text, re.M))


def used(text):
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    for name, value in re.findall(r"\b([A-Za-z_]+)=\"?(\$B/[^\s\"'`;:$)(]*)", text):
        text = re.sub(r"\$(%s\b|\{%s\})" % (name, name), lambda _: value, text)
    return {found.group(1).rstrip(".}\\") for found in NAMED.finditer(text)}


def matches(path, words):
    parts = re.split(r"\$\{?[A-Za-z_]+\}?|\$[0-9({].*|[*?]", path)
    # A folder, or a name that a variable's value ends: W=$B/test/fakes/host/net_plugin_v
    rest = ".*" if path.endswith(("/", "_v")) else "(/.*)?"
    pattern = re.compile(".*".join(re.escape(p) for p in parts) + rest + "$")
    return any(pattern.match(word) for word in words)


def main():
    words, wrong, names = {}, 0, [a for a in sys.argv[1:] if a != "-v"]
    for path in names or sorted(glob.glob(f"{TOP}/test/**/*.t", recursive=True)):
        with open(path, encoding="utf-8") as file:
            own = file.read()
        tier = re.search(r"\btier: (\w+)", own).group(1)
        # Of the library these use what needs no build.
        text = own if tier == "lint" else source(path, set())
        if tier != "quick" and MAKES.search(text):
            continue
        if tier not in words:
            words[tier] = made(GOALS.get(tier, GOALS["full"]))
        for name in sorted(used(text)):
            if "-v" in sys.argv:
                print(os.path.relpath(path, TOP), tier, name)
            if not OWN.match(name) and not matches(name, words[tier]):
                print(f"{os.path.relpath(path, TOP)}: $B{name} is not built for the tier {tier}")
                wrong += 1
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
