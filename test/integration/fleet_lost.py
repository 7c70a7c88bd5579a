# SPDX-License-Identifier: MIT
"""Who is lost in which state of a change: a table of cases on few fleets.

fleet_lost.py BUILD DIR ETCD [CASES]: stores are started in DIR/etcd* by ETCD, the program
test/fakes/etcd/etcd.sh. Three jobs of three sites run beside each other, and each takes its
cases one after the other: it loses a whole site (agent and rank at once), or an agent alone,
and afterwards it is whole again for the next case. Each site reaches each member of the store
by proxies. A proxy holds the transaction of the step, so that the loss is there and nowhere
else. Leases are long: a case ends the lease of the lost agent itself. Prints TAP; the stand-in
compares every decision of all ranks and ends with status 3 if two differ.
"""
import base64
import collections
import glob
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

from fleet_ranks import all_have, generations
from fleet_store import Store
from proxy import Net

build, folder, etcd = sys.argv[1:4]
SITES = "abc"
POLICIES = ["size_aware", "nvlink_ring_mid"]
PATIENCE_S = 600  # nothing takes so long; a machine may be busy
SHELL_PAUSE_S = 0.3  # between two questions by the shell
Case = collections.namedtuple("Case", "name role step how")
SITES_LOST = [  # which site, where in the change, and how it is lost
    Case("before it stages", "other", "ordered", "killed"),
    Case("before it answers", "other", "armed", "killed"),
    Case("before it answers, its network first", "other", "armed", "cut"),
    Case("after it has answered", "other", "answered", "killed"),
    Case("before it copies the outcome", "other", "decided", "killed"),
    Case("before it copies the outcome, its network first", "other", "decided", "cut"),
    Case("before it copies the outcome, with the store's leader", "other", "decided", "leader"),
    Case("when it has ordered the change", "coordinator", "ordered", "killed"),
    Case("before it arms", "coordinator", "unarmed", "killed"),
    Case("after it has armed", "coordinator", "armed", "killed"),
    Case("after it has armed, its network first", "coordinator", "armed", "cut"),
    Case("after it has armed, with the store's leader", "coordinator", "armed", "leader"),
    Case("before it decides", "coordinator", "answered", "killed"),
    Case("after it has decided", "coordinator", "decided", "killed"),
]
AGENTS_LOST = [  # whose agent is lost between two changes, and how
    Case("killed", "coordinator", None, "killed"),
    Case("stopped", "coordinator", None, "stopped"),
    Case("cut off from the store", "coordinator", None, "cut"),
    Case("cut off from the store", "other", None, "cut"),
]
CASES = SITES_LOST + AGENTS_LOST
TIMES = "lease=600000,leave=10000,away=500"  # nobody's lease ends by itself
net = Net()
lock = threading.Lock()
tests = 0


def is_(fine, name, *why):
    global tests
    with lock:
        tests += 1
        print("ok" if fine else "not ok", tests, "-", name, flush=True)
        for text in why if not fine else ():
            print("#", text, flush=True)
    return fine


def wait(what, seconds, pause=0.1):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


def send(sig, pids):
    for pid in pids:
        try:
            os.kill(pid, sig)
        except ProcessLookupError:
            pass


def start_of(text):
    """Base64 of the start of @text: whole groups of three bytes."""
    raw = text.encode()
    return base64.b64encode(raw[:len(raw) // 3 * 3])


class Members:
    """A store of three members."""

    def __init__(self, name):
        self.folder = f"{folder}/{name}"
        self.down = None  # the number of the member that was killed
        subprocess.run([etcd, "start", self.folder, "members=3"], check=True)
        with open(self.folder + "/endpoints") as f:
            self.endpoints = f.read().strip().split(",")

    def kill_leader(self):
        def leads():
            for i, endpoint in enumerate(self.endpoints, 1):
                status = Store(endpoint, "").call("/v3/maintenance/status", {}, 60)
                if status.get("leader") == status["header"]["member_id"]:
                    self.down = i
            return self.down  # None during an election

        wait(leads, PATIENCE_S)
        subprocess.run([etcd, "kill", self.folder, str(self.down)], check=True)

    def restart(self):
        if self.down:
            subprocess.run([etcd, "restart", self.folder, str(self.down)], check=True)
        self.down = None


class Job:
    """One job of a rank on each of three sites."""

    def __init__(self, name, members):
        self.name = name
        self.members = members
        self.folder = f"{folder}/{name}"
        self.store = Store(list(members.endpoints), name)
        self.ports = [int(e.rsplit(":", 1)[1]) for e in members.endpoints]
        self.to_store = {s: [net.link("127.0.0.1", p) for p in self.ports] for s in SITES}
        self.ranks = {}
        self.services = None
        self.asked = self.runs = 0
        self.last = {}
        self.log = None
        os.mkdir(self.folder)
        for s in SITES:
            os.mkdir(f"{self.folder}/{s}", 0o700)

    def start(self, sites):
        """A rank on each of @sites, which meet anew."""
        self.runs += 1
        self.log = open(f"{self.folder}/log.{self.runs}", "w")
        if not self.services:
            self.start_agents()
        for i, s in enumerate(sites):
            env = dict(os.environ, NCCLBPF_JOB=self.name, NCCLBPF_SOCKET_DIR=f"{self.folder}/{s}",
                       NCCLBPF_FLEET=self.site_store(s),
                       NCCL_TUNER_PLUGIN=build + "/libncclbpf.so")
            self.ranks[s] = subprocess.Popen(
                [build + "/test/fakes/host/standin", "--ranks", str(len(sites)), "--nodes",
                 str(len(sites)), "--rank", str(i), "--meet", f"{self.folder}/meet.{self.runs}",
                 "--min", "4M", "--max", "32M", "--seconds", "36000", "--pause-ms", "40",
                 "--ahead", "4000"], env=env, stdout=self.log, stderr=self.log)

    def site_store(self, s):
        return ",".join(f"http://127.0.0.1:{link.port}" for link in self.to_store[s])

    def start_agents(self):
        """The agents of all sites, as services."""
        words = [os.path.dirname(etcd) + "/agents.py", self.name]
        for s in SITES:
            words += ["NCCLBPF_FLEET=" + self.site_store(s), f"{self.folder}/{s}"]
        self.services = subprocess.Popen(words, env=dict(os.environ, AGENT_TIMES=TIMES),
                                         stdout=self.log, stderr=self.log)

    def end(self):
        """End the ranks that live -> their statuses."""
        send(signal.SIGTERM, [p.pid for p in self.ranks.values()])
        status = []
        for p in self.ranks.values():
            try:
                status.append(p.wait(PATIENCE_S))
            except subprocess.TimeoutExpired:
                p.kill()
                status.append(p.wait())
        self.ranks = {}
        return status

    def registered(self):
        comms = list(self.store.comms().values())
        return (len(comms) == len(self.ranks) == comms[0]["nranks"]
                and all(c["since"] and c["clock"] != "unknown" for c in comms))

    def coordinator(self):
        return self.store.below("order/coordinator").get("", {}).get("site")

    def site_name(self, s):
        """Returns the name that the site of directory @s has in the store."""
        with open(f"{self.folder}/{s}/{self.name}.seg", "rb") as f:
            data = f.read()
        return [name for name in self.store.below("site/") if name.encode() + b"\0" in data][0]

    def end_lease(self, name):
        """The lease of the agent of site @name ends."""
        self.store.call("/v3/lease/revoke", {"ID": self.store.lease("site/" + name)})

    def agent(self, s):
        """The PID of a site's agent, or None."""
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as f:
                    words = f.read().split(b"\0")
            except OSError:
                continue
            if words[0] == b"ncclbpf-agent" and f"{self.folder}/{s}".encode() in words:
                return int(path.split("/")[2])
        return None

    # ---- changes ----

    def request(self):
        """Ask for a change to a policy that is not in use -> its name."""
        policy = POLICIES[self.asked % 2]
        self.asked += 1
        name = f"c{self.asked}"
        self.store.put("request/" + name, json.dumps(
            {"line": f"policy use {policy}",
             "images": [{"name": policy, "digest": digests[policy]}]}))
        return name

    def reply(self, name):
        """The reply to a request; {} if it went with the lease of its coordinator."""
        found = {}

        def is_over():
            there = self.store.below("request/" + name)
            found.update(self.store.below("reply/" + name).get("", {}))
            return found or not there

        wait(is_over, PATIENCE_S)
        return found

    def committed(self):
        return self.store.below("order/commit").get("", {"n": 0})

    def records(self):
        return list(self.store.below("order/record/").values())

    def generations(self):
        return generations(build + "/ncclbpf-shell", self.name,
                           {"NCCLBPF_FLEET": ",".join(self.members.endpoints)})

    def changes(self):
        """Is a change committed, and do all ranks take it?"""
        self.last = self.reply(self.request())
        return self.last.get("ok") and self.last["comms"] and wait(
            lambda: all_have(self.generations(), len(self.ranks), self.last["n"]), PATIENCE_S,
            SHELL_PAUSE_S)

    def is_whole(self, name):
        """All sites have registered, and a change is made by all of them."""
        return is_(wait(self.registered, PATIENCE_S) and wait(self.changes, PATIENCE_S), name,
                   self.store.comms(), self.last)


class Loss:
    """A case of this test: a job, and which of its sites is lost."""

    def __init__(self, job, case):
        self.case = case
        self.job = job
        self.named = {s: job.site_name(s) for s in SITES}
        self.coordinator = [s for s in SITES if self.named[s] == job.coordinator()][0]
        self.lost = (self.coordinator if case.role == "coordinator" else
                     [s for s in SITES if s != self.coordinator][0])
        self.agent_pid = job.agent(self.lost)

    def hold(self, *texts):
        for link in self.job.to_store[self.coordinator]:
            link.held = False
            net.set(link, hold=texts)

    def is_held(self):
        return any(link.held for link in self.job.to_store[self.coordinator])

    def drop(self):
        """What is held never reaches the store."""
        for link in self.job.to_store[self.coordinator]:
            net.set(link, cut=True, hold=())

    def cut(self):
        """The lost site's network: nothing arrives, and nobody is told."""
        for link in self.job.to_store[self.lost]:
            net.set(link, silent=True)

    def mend(self):
        for link in sum(self.job.to_store.values(), []):
            net.set(link, cut=False, silent=False, hold=())

    def kill(self):
        """Agent and rank at once: neither sees the other end."""
        job, pids = self.job, [self.agent_pid, self.job.ranks[self.lost].pid]
        send(signal.SIGSTOP, pids)
        send(signal.SIGKILL, pids)
        job.ranks.pop(self.lost).wait()

    def is_armed(self):
        return any(r["state"] == "armed" for r in self.job.records())

    def lose(self):
        """Ask for a change and lose the site at the case's step -> the request's name, whether
        it got there."""
        job, case = self.job, self.case
        armed = start_of('{"state":"armed"')
        commit = start_of(job.store.prefix + "order/commit")
        before = job.committed()["n"]
        if case.step in ("unarmed", "armed"):
            self.hold(armed)
        elif case.step in ("answered", "decided"):
            self.hold(commit)
        elif case.role == "other":
            send(signal.SIGSTOP, [self.agent_pid])  # the order finds it stopped
        name = job.request()
        if case.step == "ordered":
            there = wait(lambda: job.store.below("order/stage").get("", {}).get("request") == name,
                         PATIENCE_S, 0.002)
        else:
            there = wait(self.is_held, PATIENCE_S, 0.002)
        release = True
        if case.role == "other" and case.step in ("armed", "decided"):
            # released while the site's agent is stopped or cut off
            if case.how == "cut":
                self.cut()
            else:
                send(signal.SIGSTOP, [self.agent_pid])
            self.hold()
            there &= wait(self.is_armed if case.step == "armed" else
                          lambda: job.committed()["n"] > before, PATIENCE_S, 0.002)
        elif case.role == "coordinator" and case.step in ("armed", "decided"):
            # the transaction reaches the store, and no outcome does
            self.hold(*[commit] * (case.step == "armed"))
            there &= wait(self.is_armed if case.step == "armed" else
                          lambda: job.committed()["n"] > before, PATIENCE_S, 0.002)
            if case.how == "cut":
                self.cut()
        elif case.role == "coordinator" and case.step in ("unarmed", "answered"):
            release = False
        if case.how == "leader":
            job.members.kill_leader()
        self.kill()
        if not release:
            self.drop()
        self.hold()
        return name, there

    def lose_site(self, what):
        """The change ends with one outcome, and the next one is refused."""
        job, lost = self.job, self.named[self.lost]
        was = job.committed()["n"]
        name, there = self.lose()
        is_(there, what + "the change got to this step", job.records(), job.committed())
        reply = job.store.below("reply/" + name).get("", {})
        job.end_lease(lost)
        reply = reply or job.reply(name)
        n = job.committed()["n"]
        moved = n > was
        if not reply and self.case.role == "coordinator":
            reply = {"ok": moved, "text": lost}  # it went with the coordinator's lease
        is_(reply and (reply["ok"] or lost in reply["text"]),
            what + "the change ends, and a refusal names the site", reply, moved)
        is_(reply and moved == (reply["ok"] or "is committed" in reply["text"]),
            what + "the reply is what the store has", reply, was, n)
        is_(wait(lambda: all_have(job.generations(), len(job.ranks), n), PATIENCE_S,
                 SHELL_PAUSE_S),
            what + "the ranks of the other sites have one generation, that of the store",
            n, job.generations(), job.records())
        is_(all(r["state"] == "commit" and r["n"] == n for r in job.records()),
            what + "the record is decided", job.records())
        refusal = job.reply(job.request())
        is_(refusal and not refusal["ok"] and lost in refusal["text"],
            what + "the next change is refused and names the site", refusal)
        status = job.end()
        is_(status == [0] * (len(SITES) - 1),
            what + "no two ranks have decided differently", status)
        self.mend()
        job.members.restart()

    def lose_agent(self, what):
        """Another agent coordinates; without the agent of another site no change is made."""
        job, before = self.job, self.job.store.with_revision("order/coordinator")[1]
        if self.case.how == "cut":
            for link in job.to_store[self.lost]:
                net.set(link, cut=True)
        else:
            send(signal.SIGKILL if self.case.how == "killed" else signal.SIGSTOP,
                 [self.agent_pid])
        if self.case.how != "killed":
            job.end_lease(self.named[self.lost])
        if self.case.role == "coordinator":
            is_(wait(lambda: job.store.with_revision("order/coordinator")[1] not in
                     (None, before), PATIENCE_S), what + "another agent coordinates")
        else:
            reply = job.reply(job.request())
            is_(reply and not reply["ok"] and "lease has ended" in reply["text"],
                what + "no change is made", reply)
        if self.case.how == "stopped":
            send(signal.SIGCONT, [self.agent_pid])
        self.mend()
        job.is_whole(what + "afterwards a change is committed")


def run_cases(job, cases):
    """The cases of one job, one after the other; it is whole before each of them."""
    where = "before the first case"
    try:
        job.start(SITES)
        whole = job.is_whole(job.name + ": a change is committed before the first case")
        for i, case in enumerate(cases if whole else []):
            where = f"{case.role} {'site' if case.step else 'agent'} lost {case.name}: "
            loss = Loss(job, case)
            if not case.step:
                loss.lose_agent(where)
                continue
            loss.lose_site(where)
            if i == 0:
                job.start([s for s in SITES if s != loss.lost])
                job.is_whole(where + "the job restarts on two sites, and takes a change")
                is_(job.end() == [0] * (len(SITES) - 1), where + "its ranks agree")
            job.start(SITES)
            if not job.is_whole(where + "the job restarts on all sites, and takes a change"):
                break
    except Exception as problem:  # one job must not end the others
        is_(False, f"{where}: {problem!r}")
        raise
    finally:
        for link in sum(job.to_store.values(), []):
            net.set(link, cut=False, silent=False, hold=())
        job.members.restart()
        status = job.end()
        is_(status == [0] * len(SITES), job.name + ": no two ranks have decided differently",
            status)


wanted = [CASES[int(word)] for word in sys.argv[4:]] or CASES
shared = Members("etcd")
digests = {}
jobs = []
for name, mine in (("other", lambda c: c.role == "other" and c.how != "leader"),
                   ("coordinator", lambda c: c.role == "coordinator" and c.how != "leader"),
                   ("leader", lambda c: c.how == "leader")):
    mine = [case for case in wanted if mine(case)]
    if mine:
        # the loss of a leader is nothing that the other jobs need to see
        jobs.append((Job(name, Members("etcd3") if name == "leader" else shared), mine))
for policy in POLICIES:
    with open(f"{build}/policies/{policy}.policy", "rb") as f:
        image = f.read()
    digests[policy] = hashlib.sha256(image).hexdigest()
    for job, _ in jobs:
        job.store.put("image/" + digests[policy], image)
threads = [threading.Thread(target=run_cases, args=work) for work in jobs]
for t in threads:
    t.start()
for t in threads:
    t.join()
is_(wait(lambda: not any(job.store.below("site/") for job, _ in jobs), PATIENCE_S),
    "the sites leave the store with their jobs")
for job, _ in jobs:
    job.services.terminate()
print(f"1..{tests}")
