#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shell.py BUILD [DOC]: what people wait for, as a table: the prompt, a
completion, a verdict and a report of a million times. Medians of several
rounds, with a job of eight processes beside. With DOC the table goes between
the marks of that file as well. Fails where a row is over three times its
budget: then something is broken. All is measured again then, twice at most, and
the least counts: a busy machine is no broken build. `make bench-shell` runs it."""
import os
import pty
import re
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
B = os.path.abspath(sys.argv[1])
SHELL = os.path.join(B, "ncclbpf-shell")
ROUNDS = 15
FAR = 3  # times its budget: a row that is broken


def lua(code, *args):
    env = dict(os.environ, LUA_PATH=f"{TOP}/lua/?.lua;{TOP}/lua/?/init.lua;;",
               LUA_CPATH=f"{B}/lua/?.so;;")
    done = subprocess.run(["lua5.4", *(["-e", code] if code else []), *args], env=env,
                          check=True, capture_output=True, text=True)
    return done.stdout


def until_prompt():
    """Milliseconds from the start of the shell to its prompt, at a terminal."""
    began = time.monotonic()
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(SHELL, [SHELL, "--no-rc"])
    seen = b""
    while not re.search(rb"bench/0-7( #[0-9]+)?> ", seen):
        if not select.select([fd], [], [], 30)[0]:
            raise SystemExit("no prompt: " + repr(seen))
        seen += os.read(fd, 4096)
    took = time.monotonic() - began
    os.write(fd, b"\x04")
    try:
        while os.read(fd, 4096):
            pass
    except OSError:
        pass
    os.waitpid(pid, 0)
    os.close(fd)
    return took * 1e3


def command(*words):
    """Milliseconds that a command takes, and what it prints."""
    began = time.monotonic()
    out = subprocess.run([SHELL, *words], check=True, capture_output=True, text=True).stdout
    return (time.monotonic() - began) * 1e3, out


def rounds(f, n=ROUNDS):
    return statistics.median(f() for _ in range(n))


def measured(folder):
    """Measure all rows -> a list of [name, what, value, unit, budget, format]."""
    rows = measured_once(folder)
    for _ in range(2):
        if all(row[2] <= FAR * row[4] for row in rows):
            break
        for row, again in zip(rows, measured_once(folder)):
            row[2] = min(row[2], again[2])
    return rows


def measured_once(folder):
    def complete():
        took, out = command("__complete", "map", "dump", "f")
        assert out.split() == ["force"], out
        return took

    rows = [["shell start", "ncclbpf-shell, from its start to its prompt, attached to 8 processes",
             rounds(until_prompt), "ms", 50, "%.0f"]]
    command("policy", "load", f"{B}/policies/force.policy")
    command("policy", "use", "force")
    rows.append(["shell complete",
                 "a completion of names that the 8 processes hold, shell started for it",
                 rounds(complete), "ms", 100, "%.0f"])
    judge = lua("""local core, judge = require "ncclbpf.core", require "ncclbpf.rollout.judge"
        local a, b = {}, {}
        for i = 1, 500000 do
            a[i], b[i] = 100 + i * 7919 % 1000 / 100, 100 + i * 104729 % 1000 / 100
        end
        local t = {}
        for i = 1, 7 do
            local began = core.mono()
            assert(judge.judge { a = a, b = b }.verdict == "pass")
            t[i] = core.mono() - began
        end
        table.sort(t)
        print(t[4] * 1000)""")
    rows.append(["judge million", "nb.judge over a million times, half of them each arm's",
                 float(judge), "ms", 1000, "%.0f"])
    lua("", f"{TOP}/test/integration/report_make.lua", folder, "1000020")
    report = f"{folder}/r.html"
    words = "rollout", "report", f"out={report}", f"data={folder}/one.json"
    took = rounds(lambda: command(*words)[0], 3)
    rows.append(["report million",
                 "a rollout's report of a million times, all of them as CSV beside it",
                 took / 1e3, "s", 5, "%.2f"])
    rows.append(["report size", "that report", os.path.getsize(report) / 1e6, "MB", 5, "%.2f"])
    return rows


def main():
    folder = tempfile.mkdtemp()
    os.mkdir(folder + "/s", 0o700)
    for name in ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "NCCLBPF_JOB"):
        os.environ.pop(name, None)
    os.environ.update(NCCLBPF_SOCKET_DIR=folder + "/s", HOME=folder, TERM="xterm",
                      NO_COLOR="1", LC_ALL="C.UTF-8")
    env = dict(os.environ, NCCL_TUNER_PLUGIN=f"{B}/libncclbpf.so", NCCLBPF_JOB="bench")
    job = subprocess.Popen([f"{B}/test/fakes/host/standin", "--ranks", "8", "--procs",
                            "--seconds", "3600", "--pause-ms", "5"],
                           env=env, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while (len([f for f in os.listdir(folder + "/s") if f.endswith(".sock")]) < 8
               and time.monotonic() < end):
            time.sleep(0.1)
        rows = measured(folder)
    finally:
        job.terminate()
        job.wait()
        shutil.rmtree(folder)
    broken, lines = False, ["| row | what | measured | budget | verdict |", "|---|---|---|---|---|"]
    for name, what, value, unit, budget, fmt in rows:
        verdict = "ok" if value <= budget else "OVER" if value <= FAR * budget else "BROKEN"
        broken |= verdict == "BROKEN"
        lines.append(f"| {name} | {what} | {fmt % value} {unit} | {budget} {unit} | {verdict} |")
    print("\n".join(lines))
    if len(sys.argv) > 2 and sys.argv[2]:
        doc = open(sys.argv[2]).read()
        head, rest = doc.split("<!-- bench-shell -->\n", 1)
        tail = rest.split("<!-- end of bench-shell -->", 1)[1]
        with open(sys.argv[2], "w") as f:
            f.write(head + "<!-- bench-shell -->\n\n" + "\n".join(lines) +
                    "\n\n<!-- end of bench-shell -->" + tail)
    return broken


sys.exit(main())
