#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run suites with the NCCL and RCCL libraries of Debian on virtual GPUs, and print a table.

test/nccls/check.py BUILD [VERSION...]     (make check-nccls)

For each version of Debian, the library is fetched into a cache (fetch.sh), and the jobs are linked
with it (build.sh); test/run then runs the suites of SUITES with them. A library that cannot be had,
or a suite that has nothing to test in that version, is skipped, and the table says why. With the
library that the jobs were built with, only the suites of MANY run, since `make check-all` runs them
all. MANY counts: CHANGES of each of two jobs, DECISIONS that `explain` explains.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
MANY = ["nccl_real_threads", "nccl_explain"]
SUITES = ["vgpu", "nccl_real", *MANY, "nccl_bytes", "profiler_connect", "symmetric", "gin_real"]
RCCL_SUITES = ["rccl_real", *MANY]
COUNTS = {"CHANGES": "500", "DECISIONS": "10200"}
# The versions, and whether there are device headers, which gin_real needs.
VERSIONS = {"2.22.3": False, "2.29.7": True, "rccl-7.2.4": False}
# What a library's job starts with: the loader's package comes first.
NCCL_RUNTIME, RCCL_RUNTIME = ["glibc"], ["glibc-2.43", "libstdc++", "libgcc_s"]


def fetch(key):
    """The folder of a package, or None and the reason."""
    done = subprocess.run([f"{HERE}/fetch.sh", key], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        return done.stdout.strip(), None
    if done.returncode != 77:
        sys.exit(f"check-nccls: fetch.sh {key}: {done.stderr}")
    return None, done.stderr.strip()


def run_suites(out, suites):
    """Rows of the table: suite, passed, failed, skipped, reasons."""
    command = [f"{TOP}/test/run", "-b", out] + [f"={s}" for s in suites]
    rows, reasons = [], []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=COUNTS | os.environ, text=True) as process:
        for line in process.stdout:
            if not re.match(r"\d+ passed, \d+ failed", line):  # the total comes at the end
                print(line, end="", flush=True)
            found = re.match(r"(?:ok  |FAIL) (\S+) +.* s  (\d+) passed(?:, (\d+) failed)?"
                             r"(?:, (\d+) skipped)?", line)
            if found:
                reasons = []
                rows.append((found[1], *(int(n or 0) for n in found.groups()[1:]), reasons))
            elif why := re.match(r" +skipped: (.*)", line):
                reasons.append(why[1])
    ran = [r[0] for r in rows]
    return rows + [(s, 0, 1, 0, ["it did not run"]) for s in suites if s not in ran]


def own_version(build):
    """Of the library that the jobs were built with."""
    number = int(subprocess.run([f"{build}/test/fakes/vgpu/job", "--nccl"], check=True,
                                stdout=subprocess.PIPE).stdout)
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def check(build, version):
    """Returns the rows of a version."""
    rccl = version.startswith("rccl-")
    every = RCCL_SUITES if rccl else SUITES
    print(f"\n== {'' if rccl else 'NCCL '}{version}", flush=True)
    if version not in VERSIONS:
        return run_suites(build, MANY)
    library, why = fetch(version)
    runtime = [fetch(key) for key in (RCCL_RUNTIME if rccl else NCCL_RUNTIME)]
    why = why or next((reason for _, reason in runtime if reason), None)
    if why:
        return [(s, 0, 0, 1, [why]) for s in every]
    headers, why = fetch(f"headers-{version}") if VERSIONS[version] else (None, None)
    suites = [s for s in every if s != "gin_real" or not why]
    out = f"{os.path.dirname(build)}/nccls/{version}"
    command = [f"{HERE}/build.sh", build, out, library, ":".join(f for f, _ in runtime)]
    subprocess.run(command + ([headers] if headers else []), check=True)
    rows = run_suites(out, suites) + ([("gin_real", 0, 0, 1, [why])] if why else [])
    return sorted(rows, key=lambda r: every.index(r[0]))


def documented(table):
    """A row of the table for each version whose line of docs/compatibility.md is not what ran."""
    with open(f"{TOP}/docs/compatibility.md", encoding="utf-8") as file:
        lines = dict(re.findall(r"^\| [^|]* \| Debian's \S+ ([0-9.]+)[^|]* \| ([^|]*) \|$",
                                file.read(), re.M))
    rows = []
    for version in VERSIONS:
        here = [r for r in table if r[0] == version]
        ran = ", ".join(r[1] for r in here if r[2])
        reasons = "".join(why for r in here for why in r[5])
        said = lines.get(version.removeprefix("rccl-"))
        # What this machine or the mirror lacks says nothing about the document.
        if ran and not re.search("/dev/shm|cannot be had", reasons) and said != ran:
            rows.append((version, "compatibility.md", 0, 1, 0, [f"these ran: {ran}"]))
    return rows


def main():
    build = os.path.abspath(sys.argv[1])
    if not os.path.exists(f"{build}/test/fakes/vgpu/job"):
        print("1..0 # SKIP check-nccls: no libnccl and CUDA headers to build the jobs with")
        return 0
    known = [own_version(build), *VERSIONS]
    versions = sys.argv[2:] or known
    if not set(versions) <= set(known):
        sys.exit(f"check-nccls: the versions are {' '.join(known)}")
    table = [(v, *row) for v in versions for row in check(build, v)]
    table += documented(table)
    with open(f"{os.path.dirname(build)}/nccls.txt", "w", encoding="utf-8") as file:
        for out in (sys.stdout, file):
            print("\nNCCL       suite               passed failed skipped", file=out)
            for version, suite, passed, failed, skipped, why in table:
                print(f"{version:<10} {suite:<19} {passed:>6} {failed:>6} {skipped:>7}"
                      f"  {'; '.join(why)}".rstrip(), file=out)
    print("%d passed, %d failed, %d skipped" % tuple(sum(r[i] for r in table) for i in (2, 3, 4)))
    return int(any(r[3] for r in table))


if __name__ == "__main__":
    sys.exit(main())
