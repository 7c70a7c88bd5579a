# SPDX-License-Identifier: MIT
"""End a rollout's runner and supervisor at a step of its work:
fleet_runner.py ETCD FOLDER PREFIX PATTERN FILE COMMAND...

Runs COMMAND, which starts the rollout. When a key below PREFIX gets a value that
matches PATTERN, the processes of the runner in the rollout's FILE die at once, as
with their host. FILE may be several, with commas between them; of a file that begins
with "=" the runner dies alone, without its supervisor. Exit status 1: no key did
within three minutes.
"""
import json
import os
import re
import signal
import subprocess
import sys
import threading

etcd, folder, prefix, pattern, path = sys.argv[1:6]


def stopped_of(name):
    """The runner's processes, which are stopped, so that none sees another one die."""
    with open(name.lstrip("="), encoding="utf-8") as f:
        runner = json.load(f)["runner"]["pid"]
    os.kill(runner, signal.SIGSTOP)
    children = [] if name.startswith("=") else [int(p) for p in subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(runner)],
        check=True, capture_output=True, text=True).stdout.split()]
    for pid in children:
        os.kill(pid, signal.SIGSTOP)
    return [runner] + children


def lose_host():
    lost = [pid for name in path.split(",") for pid in stopped_of(name)]
    for pid in lost:
        os.kill(pid, signal.SIGKILL)


now = subprocess.run([etcd, "ctl", folder, "get", "-w", "json", "x"], check=True,
                     capture_output=True)
revision = json.loads(now.stdout)["header"]["revision"]
with subprocess.Popen([etcd, "ctl", folder, "watch", "--prefix", f"--rev={revision + 1}", prefix],
                      stdout=subprocess.PIPE, text=True, start_new_session=True) as watch:
    timer = threading.Timer(180, os.killpg, (watch.pid, signal.SIGTERM))
    timer.start()
    found = False
    if subprocess.run(sys.argv[6:], check=False).returncode == 0:
        for line in watch.stdout:
            found = re.search(pattern, line) is not None
            if found:
                lose_host()
                break
    timer.cancel()
    os.killpg(watch.pid, signal.SIGTERM)
sys.exit(not found)
