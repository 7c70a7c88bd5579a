# SPDX-License-Identifier: MIT
"""Faults on a job of three sites and three members of a store, with TLS and users.

fleet_faults.py BUILD DIR ETCD: it starts the store in DIR/etcd by ETCD, the program
test/fakes/etcd/etcd.sh. FAULTS: how many (500); FAULT_SECONDS: within which time they are
spread (15); FLEET_SEED. By the seed, or FLEET_CALLS=0 or 1, fences count decisions, or calls
of NCCL's API, and then one of the policies decides by all calls since its fence (replicated
maps). Each site reaches each member, and the
members reach each other, by a proxy that cuts, silences and slows. One of 1,000 faults is the
loss of a site: its agent and ranks are killed at once, half the time after its network has
gone. The ranks of the others then wait in a collective, as NCCL's do, until the job begins
again under the same name. Prints TAP; the stand-in compares every decision of all ranks and
ends with status 3 if two differ.
"""
import collections
import glob
import hashlib
import heapq
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from fleet_ranks import all_have, generations
from fleet_store import Store
from proxy import Net

build, folder, etcd = sys.argv[1:]
faults = int(os.environ.get("FAULTS", 500))
spread_s = float(os.environ.get("FAULT_SECONDS", 15))
seed = int(os.environ.get("FLEET_SEED", os.getpid()))
random.seed(seed)
SITES, RANKS = "abc", 2
CALLS = int(os.environ.get("FLEET_CALLS", seed % 2))
POLICIES = [None, "nvlink_ring_mid", "replicated_count" if CALLS else "size_aware"]
net = Net()


def member_pid(i):
    try:
        return int(open(f"{folder}/etcd/pid.{i}").read())
    except (OSError, ValueError):
        return None  # it is being started


def member_of(port):
    """The number of the member whose connection comes from @port, or None."""
    with open("/proc/net/tcp") as f:
        inode = [words[9] for words in map(str.split, f)
                 if words[1].endswith(f":{port:04X}") and words[9] != "0"]
    for i in (1, 2, 3):
        for path in glob.glob(f"/proc/{member_pid(i)}/fd/*"):
            try:
                if inode and os.readlink(path) == f"socket:[{inode[0]}]":
                    return i
            except OSError:
                pass  # it was closed meanwhile
    return None


def start_store():
    """Start it -> the links by which the others reach each member."""
    free = [socket.socket() for _ in range(3)]
    for s in free:
        s.bind(("127.0.0.1", 0))
    listen = [s.getsockname()[1] for s in free]
    via = [net.link("127.0.0.1", port, member_of) for port in listen]
    for s in free:
        s.close()
    pairs = ",".join(f"{port}:{link.port}" for port, link in zip(listen, via))
    subprocess.run([etcd, "start", folder + "/etcd", "members=3", "tls", "users",
                    "peers=" + pairs, "election=1000"], check=True)
    return via


peers = start_store()
endpoints = open(folder + "/etcd/endpoints").read().strip().split(",")
store = Store(endpoints, "faults", folder + "/etcd")
links = {s: [net.link("127.0.0.1", int(e.rsplit(":", 1)[1])) for e in endpoints] for s in SITES}
coordinator = None  # the letter of its site, as far as is known
tests = 0


def is_(fine, name, *why):
    global tests
    tests += 1
    print(("ok" if fine else "not ok"), tests, "-", name, flush=True)
    for text in why if not fine else ():
        print("#", text)
    return fine


PATIENCE_S = 600  # nothing takes so long; a machine may be busy


def wait(what, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


# ---- the job ----

services = []


def site_store(s):
    return ",".join(f"https://127.0.0.1:{link.port}" for link in links[s])


def start_agents(env):
    """The agents of all sites, as services."""
    words = [os.path.dirname(etcd) + "/agents.py", "faults"]
    for s in SITES:
        words += ["NCCLBPF_FLEET=" + site_store(s), f"{folder}/{s}"]
    services.append(subprocess.Popen(words, env=env, stdout=log, stderr=log))


def start_job():
    env = dict(os.environ, NCCLBPF_JOB="faults", NCCL_TUNER_PLUGIN=build + "/libncclbpf.so",
               NCCLBPF_FLEET_CACERT=folder + "/etcd/ca.pem",
               NCCLBPF_FLEET_CERT=folder + "/etcd/agent.pem",
               NCCLBPF_FLEET_KEY=folder + "/etcd/agent.key",
               NCCLBPF_FLEET_USER="operator", NCCLBPF_AGENT_LISTEN="127.0.0.1",
               NCCLBPF_FLEET_PASSWORD_FILE=folder + "/etcd/password.operator")
    if not services:
        start_agents(env)
    words = [build + "/test/fakes/host/standin", "--ranks", str(len(SITES) * RANKS), "--nodes",
             str(len(SITES)), "--procs", "--min", "4M", "--max", "32M", "--seconds", "36000",
             "--pause-ms", "5", "--stalls"]
    if CALLS:
        words += ["--nccl", "2.29.7", "--events", "--coll", "allgather,allreduce", "--probe", "1:7"]
    for i, s in enumerate(SITES):
        for r in range(i * RANKS, (i + 1) * RANKS):
            words += ["--rank-env", f"{r}:NCCLBPF_SOCKET_DIR={folder}/{s}",
                      "--rank-env", f"{r}:NCCLBPF_FLEET={site_store(s)}"]
    return subprocess.Popen(words, env=env, stdout=log, stderr=log)


def ranks():
    """The PIDs of the ranks in their order; none while the job restarts."""
    try:
        with open(f"/proc/{job.pid}/task/{job.pid}/children") as f:
            return [int(pid) for pid in f.read().split()]
    except OSError:
        return []


known = {}


def agent(site):
    """The PID of a site's agent, or None."""
    want = f"{folder}/{site}".encode()

    def is_it(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            return False
        return words[0] == b"ncclbpf-agent" and want in words

    if site in known and is_it(known[site]):
        return known[site]
    for path in glob.glob("/proc/[0-9]*"):
        if is_it(path[6:]):
            known[site] = int(path[6:])
            return known[site]
    return None


def send(sig, pid):
    try:
        if pid:
            os.kill(pid, sig)
    except ProcessLookupError:
        pass


# ---- faults: each returns what undoes it, or None ----

def stop(pids):
    for pid in pids:
        send(signal.SIGSTOP, pid)
    return lambda: [send(signal.SIGCONT, pid) for pid in pids]


def kill_agent():
    send(signal.SIGKILL, agent(random.choice(SITES)))


down = set()


def kill_member():
    i = random.randint(1, 3)
    if i in down:
        return None
    down.add(i)
    subprocess.run([etcd, "kill", folder + "/etcd", str(i)], check=False)

    def restart():
        subprocess.run([etcd, "restart", folder + "/etcd", str(i)], check=False)
        down.discard(i)

    return restart


def set_links(which, **on):
    for link in which:
        net.set(link, **on)
    off = {name: type(value)() for name, value in on.items()}
    return lambda: [net.set(link, **off) for link in which]


def site_links():
    return links[random.choice(SITES)]


def a_link():
    return [random.choice(links[random.choice(SITES)])]


def isolate(i=None):
    """A member and the other two hear nothing of each other; clients reach all three."""
    i = i or random.randint(1, 3)
    others = [link for n, link in enumerate(peers, 1) if n != i]
    undo = [set_links([peers[i - 1]], silent=True),
            set_links(others, silent=True, against={i})]
    return lambda: [f() for f in undo]


def reset():
    for link in site_links():
        net.reset(link)


def aside(work):
    """Have @work done by a thread of its own: the store may be away for long."""
    if len(queue) < 4:
        queue.append(work)


def run_aside():
    mine = Store(endpoints, "faults", folder + "/etcd")
    while True:
        while queue:
            queue.popleft()(mine)
        time.sleep(0.01)


queue = collections.deque()
threading.Thread(target=run_aside, daemon=True).start()


def compact(mine):
    header = mine.quietly("/v3/kv/range", {"key": "Lw=="}).get("header")
    if header:
        mine.quietly("/v3/kv/compaction", {"revision": header["revision"]})


def revoke(mine):
    leases = mine.quietly("/v3/lease/leases", {}).get("leases", [])
    if leases:
        mine.quietly("/v3/lease/revoke", {"ID": random.choice(leases)["ID"]})


def follow_coordinator():
    """Note which site coordinates."""
    global coordinator
    mine = Store(endpoints, "faults", folder + "/etcd")
    while True:
        time.sleep(0.1)
        try:
            value = mine.below("order/coordinator").get("", {})
            name = value.get("site", "-").encode() + b"\0"
            for s in SITES:
                with open(f"{folder}/{s}/faults.seg", "rb") as f:
                    if name in f.read():
                        coordinator = s
        except (OSError, ValueError):
            continue


lost = collections.Counter()  # sites, by whether they coordinated
gone = None  # the site that is lost now
again = []  # after how many seconds the job had registered again
asked = None  # the request that waits for its reply
hit = set()  # requests during which a site was lost


def lose_site():
    """Agent and ranks end at once, and no process of the site sees another one's end."""
    global gone
    first = SITES.index(coordinator) if lost.total() % 2 == 0 and coordinator else None
    i = random.randrange(len(SITES)) if first is None else first
    pids = ranks()[i * RANKS:(i + 1) * RANKS]
    if gone or not pids:
        return None
    gone = SITES[i]
    lost["the coordinator's" if gone == coordinator else "another"] += 1
    hit.add(asked)
    mend = set_links(links[gone], silent=True) if random.random() < 0.5 else lambda: None
    pids += filter(None, [agent(gone)])
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        for pid in [job.pid] * (sig == signal.SIGSTOP) + pids:
            send(sig, pid)
    return lambda: threading.Thread(target=begin_again, args=(mend,), daemon=True).start()


def begin_again(mend):
    """End the ranks that are left, and begin the job anew, the lost site with it."""
    global job, gone
    mend()
    send(signal.SIGCONT, job.pid)
    status = job.wait()
    if status != 1:  # 3: two ranks differ; not 0, because ranks were killed
        wrong.append(f"a job of which a site was lost ended with status {status}")
    before, start = store.revision(), time.monotonic()
    job = start_job()
    if not wait(lambda: registered(before)):
        wrong.append(f"after the loss of a site the job does not register again: {state()}")
    again.append(time.monotonic() - start)
    gone = None


LONGER = {"member isolated": 10, "members deaf to one": 10}  # than an election takes
KINDS = [  # weight, name, function
    (14, "agent stopped", lambda: stop([agent(random.choice(SITES))])),
    (1, "agent killed", kill_agent),
    (14, "rank stopped", lambda: stop(random.sample(ranks(), bool(ranks())))),
    (6, "member stopped", lambda: stop([member_pid(random.randint(1, 3))])),
    (2, "majority stopped", lambda: stop([member_pid(i) for i in random.sample((1, 2, 3), 2)])),
    (1, "member killed", kill_member),
    (2, "member isolated", isolate),
    (2, "members deaf to one", lambda: set_links([random.choice(peers)], cut=True)),
    (8, "site cut off", lambda: set_links(site_links(), cut=True)),
    (8, "site silent", lambda: set_links(site_links(), silent=True)),
    (10, "link cut", lambda: set_links(a_link(), cut=True)),
    (8, "link silent", lambda: set_links(a_link(), silent=True)),
    (8, "connections reset", reset),
    (10, "delay", lambda: set_links(site_links(), delay=random.uniform(0.005, 0.2))),
    (8, "loss", lambda: set_links(site_links(), loss=random.uniform(0.01, 0.2))),
    (2, "compaction", lambda: aside(compact)),
    (1, "lease revoked", lambda: aside(revoke)),
]
MOST = 2  # times as many faults if no change is committed between them
LOSS_OF = min(faults, 1000)  # one of so many faults
LOSS_AT = LOSS_OF * 3 // 10  # which
LOSS_S = [0.3, 1, 3, 14]  # how long; the lease of the lost agent lasts 10 s
LOSS = (0, "site lost", lose_site)
made = collections.Counter()


def lasts():
    """Seconds: 10 to 100 ms, and one of 20 up to a second."""
    return 0.01 * (100 if random.random() < 0.05 else 10) ** random.random()


def inject():
    """Make all faults; several are there at once. Until a change has been committed, go on with
    rarer ones: on a busy machine a change takes longer than the faults leave it."""
    undo, count, next_s, pause, more = [], 0, time.monotonic(), spread_s / faults, True
    while more or undo:
        now = time.monotonic()
        while undo and undo[0][0] <= now:
            heapq.heappop(undo)[2]()
        more = count < faults or (not outcome["committed"] and count < MOST * faults)
        if more and now >= next_s:
            next_s = now + pause * (count // faults * 4 + 1)
            kind = random.choices(KINDS, [k[0] for k in KINDS])[0]
            if count % LOSS_OF == LOSS_AT:
                kind = LOSS
            back = kind[2]()
            made[kind[1]] += 1
            count += 1
            if back:
                until = now + (random.choice(LOSS_S) if kind is LOSS else
                               lasts() * LONGER.get(kind[1], 1))
                heapq.heappush(undo, (until, count, back))
        time.sleep(0.002)


# ---- changes ----

outcome = collections.Counter()
wrong = []
missed = {}  # requests without a reply, and whether they had ended


def state():
    """The keys of the job that say how far a change is."""
    return {family: store.below(family) for family in
            ("order/", "site/", "answer/", "members/", "request/")}


def ask(name, policy, seconds):
    """One change -> its reply, or None"""
    global asked
    images = []
    if policy:
        images = [{"name": policy, "digest": digests[policy]}]
    asked = name
    store.put("request/" + name, json.dumps({"line": f"policy use {policy or 'none'}",
                                             "images": images}))
    reply = {}

    def over():
        """A reply goes with the lease of the coordinator that gave it, so it may be missed."""
        there = store.below("request/" + name)
        reply.update(store.below("reply/" + name).get("", {}))
        return reply or not there

    # after the loss of its site the coordinator's lease has to end first
    ended = wait(over, seconds) or (name in hit and wait(over))
    if not ended and name in hit:
        wrong.append(f"{name}, during which a site was lost, has not ended: {state()}")
    if not ended:
        store.delete("request/" + name)
    if not reply:
        missed[name] = ended
        return None
    check_reply(name, reply)
    return reply


def check_reply(name, reply):
    """What a reply says is what the store holds."""
    commit = store.below("order/commit").get("", {})
    moved = reply["ok"] or reply["text"].startswith("the change is committed")
    if moved and commit["n"] < reply.get("n", 0):
        wrong.append(f"{name} was committed as {reply['n']}, the job has {commit['n']}")
    if not moved and commit.get("request") == name:
        wrong.append(f"{name} was refused, yet the job has it: {reply['text']}")


def change_until(over):
    n = 0
    while not over():
        reply = ask(f"f{n}", POLICIES[n % 3], 15)
        word = ("reply missed" if missed.get(f"f{n}") else "unanswered" if not reply else
                "committed" if reply["ok"] else "refused")
        outcome[word] += 1
        at_loss[word] += f"f{n}" in hit
        if reply and not reply["ok"]:
            reasons[reply["text"].split(":")[-1].strip()[:60]] += 1
        n += 1


reasons = collections.Counter()
at_loss = collections.Counter()
digests = {}
tries = []  # replies to the changes before and after the faults


def registered(after=0):
    """Have all sites registered since revision @after of the store?"""
    comms = list(store.comms().values())
    return (len(comms) == len(SITES) and all(c["since"] > after for c in comms)
            and all(c["clock"] != "unknown" for c in comms))


by_shell = build + "/ncclbpf-shell", "faults", {
    "NCCLBPF_FLEET": ",".join(endpoints), "NCCLBPF_FLEET_CACERT": folder + "/etcd/ca.pem",
    "NCCLBPF_FLEET_CERT": folder + "/etcd/ncclbpf-control.pem",
    "NCCLBPF_FLEET_KEY": folder + "/etcd/ncclbpf-control.key", "NCCLBPF_FLEET_USER": "operator",
    "NCCLBPF_FLEET_PASSWORD_FILE": folder + "/etcd/password.operator"}


def commits():
    """A change is committed at a fence: to a generation that the ranks do not have yet."""
    tries.append(ask(f"last{len(tries)}", POLICIES[len(tries) % 3], PATIENCE_S))
    return tries[-1] and tries[-1]["ok"] and tries[-1]["comms"]


def in_force():
    """Do all ranks of all sites decide with the generation of the last reply?"""
    return all_have(generations(*by_shell), len(SITES) * RANKS, tries[-1]["n"])


def report():
    """The sums of all runs of the job."""
    log.flush()
    with open(folder + "/log") as f:
        found = re.findall(r"^stand-in: (\d+) decisions, (\d+) waited at a fence, the longest "
                           r"for (\d+) ms", f.read(), re.M)
    print("#", sum(int(x[0]) for x in found), "decisions,", sum(int(x[1]) for x in found),
          "waited at a fence, the longest for", max(int(x[2]) for x in found), "ms;",
          len(found), "runs of the job")


def leader(i):
    """Whom member @i takes for the leader: a member's ID, or None."""
    try:
        mine = Store(endpoints[i - 1], "faults", folder + "/etcd")
        return mine.post("/v3/maintenance/status", {}, 2).get("leader", "0").strip("0") or None
    except OSError:
        return None


def isolation_works():
    """An isolated member has no leader, while the others have one; then all have it."""
    undo = isolate(1)
    parted = wait(lambda: not leader(1) and leader(2) and leader(2) == leader(3))
    undo()
    return parted and wait(lambda: leader(1) and leader(1) == leader(2))


log = open(folder + "/log", "w+")
def read_image(policy):
    path = f"{build}/policies/{policy}.policy"
    if policy == "replicated_count":
        path = folder + "/image"
        subprocess.run([build + "/ncclbpf-shell", "-q", "policy", "build",
                        f"{build}/test/corpus/accept/{policy}.bpf.o", "out=" + path], check=True)
    return open(path, "rb").read()


for s in SITES:
    os.mkdir(f"{folder}/{s}", 0o700)
for policy in filter(None, POLICIES):
    image = read_image(policy)
    digests[policy] = hashlib.sha256(image).hexdigest()
    store.put("image/" + digests[policy], image)
is_(isolation_works(), "a member cut off from the others loses the leader, and finds it again")
job = start_job()
threading.Thread(target=follow_coordinator, daemon=True).start()
try:
    is_(wait(registered), "three sites register over TLS, as a user")
    is_(wait(commits), "a change is committed before any fault", *tries)
    began = time.monotonic()
    injector = threading.Thread(target=inject, daemon=True)
    injector.start()
    change_until(lambda: not injector.is_alive())
    took = time.monotonic() - began
    print(f"# seed {seed}, {'API calls' if CALLS else 'decisions'} counted:",
          f"{sum(made.values())} faults in {took:.0f} s:",
          ", ".join(f"{name} {n}" for name, n in made.most_common()))
    print("# changes:", ", ".join(f"{n} {name}" for name, n in outcome.most_common()) + ";",
          "refused for:", "; ".join(f"{t} ({n})" for t, n in reasons.most_common(4)) or "nothing")
    print("# sites lost:", ", ".join(f"{name} {n}" for name, n in lost.items()) + ";",
          "registered again after", " ".join(f"{s:.1f}" for s in again), "s;",
          "the changes meanwhile:", ", ".join(f"{name} {n}" for name, n in at_loss.items() if n))
    is_(outcome["committed"] > 0, "changes are committed between the faults", dict(outcome))
    is_(wait(lambda: not gone) and lost.total() >= min(1, faults // LOSS_OF),
        "the job has begun again after each loss of a site", dict(lost), made)
    is_(not wrong, "a reply says what happened", *wrong)

    is_(wait(commits), "afterwards changes are committed again", *tries)
    is_(wait(in_force), "the ranks of all sites decide with the last one",
        tries[-1], generations(*by_shell))
finally:
    job.terminate()
status = job.wait(PATIENCE_S)
is_(status == 0, f"no two ranks have decided differently (status {status})")
report()
is_(wait(lambda: not store.below("site/")), "the sites' keys leave the store when the job ends")
services[0].terminate()
print(f"1..{tests}")
