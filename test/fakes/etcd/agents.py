#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keep an agent running for each of a job's sites, as a service manager does.

agents.py JOB DIRECTORY...: an agent for each site's socket directory, started again when it
ends, until this program gets SIGTERM. The variables that the agents need are in the environment;
AGENT is the program, otherwise $B/ncclbpf-agent. NAME=VALUE before a directory is for the
agents of the directories behind it.
"""
import ctypes
import os
import signal
import subprocess
import sys
import time

job, program = sys.argv[1], os.environ.get("AGENT") or os.environ["B"] + "/ncclbpf-agent"
libc = ctypes.CDLL(None)
sites, more = [], {}
for word in sys.argv[2:]:
    if "=" in word:
        name, value = word.split("=", 1)
        more = dict(more, **{name: value})
    elif word not in [site for site, _ in sites]:
        sites.append((word, dict(os.environ, **more)))


def end_with_parent():
    libc.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


end_with_parent()


def start(site, env):
    return subprocess.Popen(["ncclbpf-agent", "--job", job, "--dir", site],
                            executable=env.get("AGENT") or program, env=env,
                            preexec_fn=end_with_parent)


def end(*_):
    for agent in agents:
        if agent.poll() is None:
            agent.terminate()
    for agent in agents:
        agent.wait()
    os._exit(0)


agents = [start(*site) for site in sites]
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGINT, end)
while True:
    time.sleep(0.1)
    for i, agent in enumerate(agents):
        if agent.poll() is not None:
            agents[i] = start(*sites[i])
