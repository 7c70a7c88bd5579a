# SPDX-License-Identifier: MIT
"""Changes of simulated sites, from the request to the last rank of all sites.

fleet_scale.py ENDPOINTS SITES RANKS CHANGES BUILD ETCD: one row of the curve.
ETCD is the folder of the store's members (test/fakes/etcd/etcd.sh).
"""
import glob
import hashlib
import json
import subprocess
import sys
import time

from fleet_store import Store, b64, cpu_s, percentile, rss_mib

IDLE_S = 10
endpoints, sites, ranks, changes, build, etcd = sys.argv[1:]
sites, ranks, changes = int(sites), int(ranks), int(changes)
job = f"scale{sites}"
store = Store(endpoints, job)
members = [int(open(p).read()) for p in glob.glob(etcd + "/pid.*")]
log = open(f"{etcd}/agents.{sites}", "w+")
agents = subprocess.Popen([build + "/test/bench/fleet_agents", endpoints, job, str(sites),
                           str(ranks), "100"], stdout=subprocess.PIPE, stderr=log, text=True)


def line(word):
    """The next line of the agents that starts with @word."""
    for text in agents.stdout:
        if text.startswith(word):
            return text.split()
    sys.exit("fleet_scale.py: the simulated agents have ended")


def cpu():
    return cpu_s(agents.pid), sum(map(cpu_s, members))


def change(i):
    """-> milliseconds until the reply, and until the last rank"""
    use = i % 2 == 0
    began = time.monotonic()
    store.put(f"request/{i}", json.dumps({
        "line": "policy use " + ("size_aware" if use else "none"),
        "images": [{"name": "size_aware", "digest": digest}] if use else [],
        "inline": {digest: b64(image)} if use else {}}))
    while True:
        reply = store.below("reply/").get(str(i))
        if reply:
            break
        time.sleep(0.02)
    if not reply["ok"]:
        return None, reply["text"]
    replied = time.monotonic()
    taken = line("taken")
    while int(taken[1]) != reply["n"]:
        taken = line("taken")
    return (replied - began) * 1000, float(taken[2]) - began * 1000


began = time.monotonic()
line("registered")
start_s = time.monotonic() - began
with open(build + "/policies/size_aware.policy", "rb") as f:
    image = f.read()
digest = hashlib.sha256(image).hexdigest()
store.put("image/" + digest, image)
time.sleep(2)
before = cpu()
time.sleep(IDLE_S)
idle = [(b - a) / IDLE_S for a, b in zip(before, cpu())]
times, replies, refused = [], [], []
before, written = cpu(), store.revision()
for i in range(changes):
    reply, took = change(i)
    if reply:
        times.append(took)
        replies.append(reply)
    else:
        refused.append(took)
busy = [(b - a) / changes for a, b in zip(before, cpu())]
written = (store.revision() - written) / changes / sites
times.sort()
replies.sort()
print(f"{sites} sites, {sites * ranks} ranks: registered after {start_s:.1f} s; change: "
      + (f"last rank after {percentile(times, 50):.0f} ms, worst {times[-1]:.0f} ms; "
         f"reply after {percentile(replies, 50):.0f} ms; " if times else "")
      + f"{len(refused)} of {changes} refused; CPU of a change: etcd {busy[1] * 1000:.0f} ms, "
      f"all agents {busy[0] * 1000:.0f} ms; writes of a site {written:.1f}; "
      f"idle: etcd {idle[1] * 100:.1f} %, "
      f"an agent {idle[0] * 100 / sites:.3f} %; etcd {sum(map(rss_mib, members)):.0f} MiB",
      flush=True)
for text in refused[:3]:
    print("refused:", text)
agents.terminate()
failures = sum(": store: " in text for text in open(log.name))
print(f"{failures} requests failed at first; ", end="")
print(agents.stdout.read().strip().splitlines()[-1])
sys.exit(agents.wait())
