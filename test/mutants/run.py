#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test/mutants/run.py BUILD [WORD...]: does make check notice what breaks?

Each mutant of capabilities.txt, or of the capabilities that have one of the words, is put into a
copy of this tree and of BUILD, where its quick suite must turn red; first all of these suites must
be green. TAP.
"""
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{TOP}/lint")
import capabilities  # pylint: disable=wrong-import-position


def make(tree, targets):
    return subprocess.run(["make", "WERROR=", *targets], cwd=tree, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def targets_of(suites, path):
    """What make builds for suites after the file of that path has changed."""
    if path.startswith("policies/"):
        return ["lib", "policies", "tests"]
    units = ["build/debug/test/unit/test_" + s[5:] for s in suites if s.startswith("unit-")]
    return units + ["lib", "tap-tests"] * (len(units) < len(suites))


def red(tree, suites, limit=""):
    done = subprocess.run(["test/run", "-b", "build/debug", *[f"={s}" for s in suites]], cwd=tree,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env=dict(os.environ, LIMIT=limit))
    return done.returncode != 0, done.stdout


def copy(build, tree):
    files = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, stdout=subprocess.PIPE, check=True)
    for name in filter(None, files.stdout.decode().split("\0")):
        if os.path.exists(f"{TOP}/{name}"):
            os.makedirs(os.path.dirname(f"{tree}/{name}"), exist_ok=True)
            shutil.copy2(f"{TOP}/{name}", f"{tree}/{name}", follow_symlinks=False)
    shutil.copytree(build, f"{tree}/build/debug", symlinks=True,
                    ignore=shutil.ignore_patterns("log", "passed.json"))


def try_mutant(tree, mutant):
    """-> what became of it: killed, does not build, or escaped"""
    path = f"{tree}/{mutant.file}"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(mutant.old, mutant.new))
    try:
        built = make(tree, targets_of(mutant.quick.split(), mutant.file))
        if built.returncode:
            return "does not build: " + built.stdout[-400:]
        # Some wait for what the mutant never does.
        return "killed" if red(tree, mutant.quick.split(), "150")[0] else "escaped"
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def main():
    build, words = os.path.abspath(sys.argv[1]), sys.argv[2:]
    mutants = [m for m in capabilities.mutants()
               if not words or any(w in m.capability or w in m.file for w in words)]
    print(f"1..{len(mutants) + 1}", flush=True)
    tree, failed = tempfile.mkdtemp(prefix="mutants.", dir=f"{TOP}/build"), 0
    try:
        copy(build, tree)
        make(tree, ["lib", "tap-tests"])
        wrong, log = red(tree, sorted({s for m in mutants for s in m.quick.split()}))
        print(f"{'not ' * wrong}ok 1 - the quick suites are green without a mutant", flush=True)
        if wrong:
            print("# " + log[-3000:].replace("\n", "\n# "))
            return 1
        for n, mutant in enumerate(mutants, 2):
            was = try_mutant(tree, mutant)
            failed += was != "killed"
            print(f"{'' if was == 'killed' else 'not '}ok {n} - {mutant.capability}: "
                  f"{mutant.quick}, {mutant.file}: {mutant.new.strip()}", flush=True)
            if was != "killed":
                print("# " + was.replace("\n", "\n# "), flush=True)
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    print(f"# {len(mutants) - failed} of {len(mutants)} mutants were noticed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
