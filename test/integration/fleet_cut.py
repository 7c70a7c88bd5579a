# SPDX-License-Identifier: MIT
"""The coordinator of a job of three sites is killed, stopped and cut off from the store; so is
another site.

fleet_cut.py BUILD DIR ETCD: it starts the store in DIR/etcd by ETCD, the program
test/fakes/etcd/etcd.sh. Each site reaches the store by a proxy of its own. Prints
TAP; the stand-in compares every decision of all ranks and ends with status 3 if
two differ.
"""
import glob
import hashlib
import json
import os
import signal
import subprocess
import sys
import time

from fleet_store import Store
from proxy import Net

build, folder, etcd = sys.argv[1:]
SITES, RANKS = "abc", 2
tests = changes = 0
net = Net()


def is_(fine, name, *why):
    global tests
    tests += 1
    print("ok" if fine else "not ok", tests, "-", name, flush=True)
    for text in why if not fine else ():
        print("#", text)
    return fine


def wait(what, seconds):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


subprocess.run([etcd, "start", folder + "/etcd", "tls", "users"], check=True)
endpoint = open(folder + "/etcd/endpoints").read().strip()
store = Store(endpoint, "cut", folder + "/etcd")
proxies = {s: net.link("127.0.0.1", int(endpoint.rsplit(":", 1)[1])) for s in SITES}
with open(build + "/policies/size_aware.policy", "rb") as f:
    image = f.read()
digest = hashlib.sha256(image).hexdigest()


def start_job():
    env = dict(os.environ, NCCLBPF_JOB="cut", NCCL_TUNER_PLUGIN=build + "/libncclbpf.so",
               NCCLBPF_FLEET_CACERT=folder + "/etcd/ca.pem",
               NCCLBPF_FLEET_CERT=folder + "/etcd/agent.pem",
               NCCLBPF_FLEET_KEY=folder + "/etcd/agent.key", NCCLBPF_FLEET_USER="operator",
               NCCLBPF_FLEET_PASSWORD_FILE=folder + "/etcd/password.operator",
               NCCLBPF_AGENT_LISTEN="127.0.0.1")
    agents = [os.path.dirname(etcd) + "/agents.py", "cut"]
    words = [build + "/test/fakes/host/standin", "--ranks", str(len(SITES) * RANKS), "--nodes",
             str(len(SITES)), "--procs", "--min", "4M", "--max", "32M", "--seconds", "36000",
             "--pause-ms", "5", "--stalls"]
    for i, s in enumerate(SITES):
        os.mkdir(f"{folder}/{s}", 0o700)
        agents += [f"NCCLBPF_FLEET=https://127.0.0.1:{proxies[s].port}", f"{folder}/{s}"]
        for r in range(i * RANKS, (i + 1) * RANKS):
            words += ["--rank-env", f"{r}:NCCLBPF_SOCKET_DIR={folder}/{s}",
                      "--rank-env", f"{r}:NCCLBPF_FLEET=https://127.0.0.1:{proxies[s].port}"]
    return (subprocess.Popen(words, env=env, stdout=log, stderr=log),
            subprocess.Popen(agents, env=env, stdout=log, stderr=log))


def agent(site):
    """The PID of a site's agent, or None."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if words[0] == b"ncclbpf-agent" and f"{folder}/{site}".encode() in words:
            return int(path.split("/")[2])
    return None


def registered():
    comms = store.below("comm/").values()
    return len(comms) == len(SITES) and all(c["since"] for c in comms)


def coordinator():
    """The letter of the site that coordinates, or None; the revision of its key."""
    value, mod = store.with_revision("order/coordinator")
    for s in SITES:
        with open(f"{folder}/{s}/cut.seg", "rb") as f:
            if value.get("site", "-").encode() + b"\0" in f.read():
                return s, mod
    return None, mod


def change():
    """A change -> its reply"""
    global changes
    changes += 1
    use = changes % 2 == 1
    name = f"c{changes}"
    store.put("request/" + name, json.dumps({
        "line": "policy use " + ("size_aware" if use else "none"),
        "images": [{"name": "size_aware", "digest": digest}] if use else []}))
    reply = {}

    def answered():
        reply.update(store.below("reply/" + name).get("", {}))
        return reply

    if not wait(answered, 25):
        store.delete("request/" + name)
    return reply


def commits():
    replies.append(change())
    return replies[-1].get("ok")


def agree():
    """All processes of all sites have the same generation, and it is not 0."""
    env = dict(os.environ, NCCLBPF_FLEET=endpoint, NCCLBPF_FLEET_CACERT=folder + "/etcd/ca.pem",
               NCCLBPF_FLEET_CERT=folder + "/etcd/ncclbpf-control.pem",
               NCCLBPF_FLEET_KEY=folder + "/etcd/ncclbpf-control.key",
               NCCLBPF_FLEET_USER="operator",
               NCCLBPF_FLEET_PASSWORD_FILE=folder + "/etcd/password.operator")
    out = subprocess.run([build + "/ncclbpf-shell", "--no-rc", "-o", "tsv", "-J", "cut", "check",
                          "agreement"], env=env, capture_output=True, check=False)
    return out.returncode == 0


replies = []
log = open(folder + "/log", "w")
job, services = start_job()
try:
    is_(wait(registered, 60), "three sites register")
    store.put("image/" + digest, image)
    is_(wait(commits, 60), "a change is committed", *replies[-2:])

    # ---- the coordinator is killed: another agent of its site follows ----
    was, mod = coordinator()
    os.kill(agent(was), signal.SIGKILL)
    is_(wait(lambda: coordinator()[1] not in (None, mod), 30), "a killed coordinator is replaced")
    is_(wait(commits, 60), "a change is committed after it", *replies[-2:])

    # ---- it is stopped until another site coordinates ----
    was = coordinator()[0]
    stopped = agent(was)
    os.kill(stopped, signal.SIGSTOP)
    is_(wait(lambda: coordinator()[0] not in (None, was), 30), "so is a stopped one")
    os.kill(stopped, signal.SIGCONT)
    is_(wait(commits, 60), "a change is committed by its successor", *replies[-2:])

    # ---- it is cut off from the store ----
    was = coordinator()[0]
    net.set(proxies[was], cut=True)
    is_(wait(lambda: coordinator()[0] not in (None, was), 30), "and one without the store")
    net.set(proxies[was], cut=False)
    is_(wait(registered, 30), "its site comes back")
    is_(wait(commits, 60), "and a change is committed", *replies[-2:])

    # ---- so is another site ----
    other = [s for s in SITES if s != coordinator()[0]][0]
    net.set(proxies[other], cut=True)
    is_(wait(lambda: len(store.below("site/")) == len(SITES) - 1, 30),
        "the lease of another site that is cut off ends")
    reply = change()
    is_(not reply.get("ok") and "lease has ended" in reply.get("text", ""),
        "no change is made without it", reply)
    net.set(proxies[other], cut=False)
    is_(wait(registered, 30), "it comes back")
    is_(wait(commits, 60), "and a change is committed again", *replies[-2:])
    is_(wait(agree, 20), "the ranks of all sites agree")
finally:
    job.terminate()
status = job.wait(60)
is_(status == 0, f"no two ranks have decided differently (status {status})")
is_(wait(lambda: not store.below("site/"), 15), "the sites leave the store with the job")
services.terminate()
print(f"1..{tests}")
