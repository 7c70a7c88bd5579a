# SPDX-License-Identifier: MIT
"""Changes of a running fleet job, timed from the request to the last rank.

fleet.py ENDPOINTS SITES RANKS CHANGES BUILD DIR: requests by etcd's JSON
gateway, as the shell makes them. A change is over when each rank has taken the
generation (fleet_ranks reads the job segments) and the reply is there.
"""
import hashlib
import json
import os
import subprocess
import sys
import time

from fleet_store import Store, b64, cpu_s, percentile, rss_mib

IDLE_S = float(os.environ.get("IDLE_S", 20))
endpoints, sites, ranks, changes, build, folder = sys.argv[1:]
sites, ranks, changes = int(sites), int(ranks), int(changes)
store = Store(endpoints, "bench")


def wait(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            sys.exit("fleet.py: no end of " + what.__name__)
        time.sleep(0.002)


def registered():
    comms = store.comms().values()
    return (len(comms) == sites and all(c["since"] for c in comms)
            and sum(c["ranks"] for c in comms) == ranks
            and all(c["clock"] != "unknown" for c in comms))


def agents():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                words = f.read().split("\0")
        except OSError:
            continue
        if words[0] == "ncclbpf-agent" and folder in " ".join(words):
            yield int(pid)


wait(registered, 120)
watcher = subprocess.Popen([build + "/test/bench/fleet_ranks", str(ranks)]
                           + [f"{folder}/{s}/bench.seg" for s in range(sites)],
                           stdout=subprocess.PIPE, text=True)
time.sleep(2)
with open(build + "/policies/size_aware.policy", "rb") as f:
    image = f.read()
digest = hashlib.sha256(image).hexdigest()
store.put("image/" + digest, image)
times, replies, tries, refused = [], [], 0, 0
for i in range(changes):
    use = i % 2 == 0
    request = {"line": "policy use " + ("size_aware" if use else "none"),
               "images": [{"name": "size_aware", "digest": digest}] if use else [],
               "inline": {digest: b64(image)} if use else {}}
    began = time.monotonic()
    store.put(f"request/{i}", json.dumps(request))
    reply = {}

    def answered():
        reply.update(store.below("reply/").get(str(i), {}))
        return reply

    wait(answered)
    replied = time.monotonic()
    if not reply["ok"]:
        refused += 1
        print("refused:", reply["text"])
        continue
    taken = watcher.stdout.readline().split()
    while taken and int(taken[1]) != reply["n"]:
        taken = watcher.stdout.readline().split()
    replies.append((replied - began) * 1000)
    times.append(float(taken[2]) - began * 1000)
    tries += reply["tries"]
times.sort()
replies.sort()
watcher.terminate()
pids = list(agents())
before = {p: cpu_s(p) for p in pids}
time.sleep(IDLE_S)
share = sorted((cpu_s(p) - before[p]) * 100 / IDLE_S for p in pids)
if times:
    print(f"change of {sites} sites, {ranks} ranks: "
          f"last rank after {percentile(times, 50):.0f} ms, "
          f"99th percentile {percentile(times, 99):.0f} ms; "
          f"reply after {percentile(replies, 50):.0f} ms; "
          f"{len(times)} changes, {tries} fences, {refused} refused")
print(f"idle agent: {percentile(share, 50):.2f} % of a CPU, {share[-1]:.2f} % at most, "
      f"{max(map(rss_mib, pids)):.1f} MiB")
