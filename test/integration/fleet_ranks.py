# SPDX-License-Identifier: MIT
"""What the ranks of a job of several hosts report, asked by the shell."""
import json
import os
import subprocess


def generations(shell, job, env):
    """Of each communicator of each rank that answers: (site, PID, generation of the job)."""
    out = subprocess.run([shell, "--no-rc", "-o", "json", "-J", job, "comm", "list"],
                         env=dict(os.environ, **env), capture_output=True, text=True, timeout=900,
                         check=False).stdout
    try:
        processes = json.loads(out)["data"]["processes"]
    except (ValueError, KeyError):
        return []  # no process has answered
    return sorted((p["site"], p["pid"], c["generation"])
                  for p in processes for c in p.get("data", {}).get("comms", []))


def all_have(rows, ranks, generation):
    """Have @ranks ranks answered, all with @generation?"""
    return len(rows) == ranks and all(row[2] == generation for row in rows)
