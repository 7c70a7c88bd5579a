# SPDX-License-Identifier: MIT
"""End a rollout's runner and supervisor at a step of its work:
fleet_runner.py ETCD FOLDER PREFIX PATTERN FILE COMMAND...

Runs COMMAND, which starts the rollout. When a key below PREFIX gets a value that
matches PATTERN, the processes of the runner in the rollout's FILE die at once, as
with their host. Exit status 1: no key did within three minutes.
"""
import json
import os
import re
import signal
import subprocess
import sys
import threading

etcd, folder, prefix, pattern, path = sys.argv[1:6]


def lose_host():
    """Stop all of the runner's processes before they die, so that none sees another one die."""
    with open(path, encoding="utf-8") as f:
        runner = json.load(f)["runner"]["pid"]
    os.kill(runner, signal.SIGSTOP)
    children = [int(p) for p in subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(runner)],
        check=True, capture_output=True, text=True).stdout.split()]
    for pid in children:
        os.kill(pid, signal.SIGSTOP)
    for pid in [runner] + children:
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
