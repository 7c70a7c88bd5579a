# SPDX-License-Identifier: MIT
"""etcd's JSON gateway and /proc, for the fleet's benchmarks."""
import base64
import http.client
import json
import os
import ssl
import threading
import time


def b64(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return base64.b64encode(raw).decode()


class Store:
    """The keys of one job. @tls: the folder of a store with TLS and users. Each thread has a
    connection of its own, which lasts: a TLS handshake a request would cost more than it."""

    def __init__(self, endpoints, job, tls=None):
        self.endpoints = endpoints if isinstance(endpoints, list) else endpoints.split(",")
        self.job = job
        self.prefix = f"/ncclbpf/1/{job}/"
        self.tls = None
        self.threads = threading.local()
        if tls:
            self.tls = ssl.create_default_context(cafile=tls + "/ca.pem")
            self.tls.load_cert_chain(tls + "/client.pem", tls + "/client.key")
            with open(tls + "/password.root") as f:
                self.password = f.read().strip()

    def mine(self):
        """This thread's members, the one to ask first; connection and token."""
        if not hasattr(self.threads, "members"):
            self.threads.members = list(self.endpoints)
            self.threads.connection = self.threads.token = None
        return self.threads

    def next_member(self):
        mine = self.mine()
        if mine.connection:
            mine.connection.close()
        mine.connection = mine.token = None
        mine.members.append(mine.members.pop(0))

    def post(self, path, body, seconds):
        mine = self.mine()
        if not mine.connection:
            where = mine.members[0].split("://")[1]
            mine.connection = (http.client.HTTPSConnection(where, context=self.tls) if self.tls
                               else http.client.HTTPConnection(where))
            mine.connection.timeout = seconds
            mine.connection.connect()
        mine.connection.sock.settimeout(seconds)
        mine.connection.request("POST", path, json.dumps(body).encode(),
                                {"Authorization": mine.token} if mine.token else {})
        reply = mine.connection.getresponse()
        text = reply.read()
        if reply.will_close:
            mine.connection = None
        if reply.status != 200:
            raise OSError(f"{path}: status {reply.status}: {text[:200]}")
        return json.loads(text)

    def authenticate(self):
        self.mine().token = self.post("/v3/auth/authenticate",
                                      {"name": "root", "password": self.password}, 5)["token"]

    def call(self, path, body, seconds=120):
        """Of the first member that answers."""
        end = time.monotonic() + seconds
        while True:
            try:
                if self.tls and not self.mine().token:
                    self.authenticate()
                return self.post(path, body, 3)
            except (OSError, http.client.HTTPException) as problem:
                self.next_member()
                if time.monotonic() > end:
                    raise OSError(f"no member answers: {problem!r}") from problem
                time.sleep(0.02)

    def quietly(self, path, body):
        """A request that may fail."""
        try:
            return self.call(path, body, 1)
        except OSError:
            return {}

    def revision(self):
        return int(self.call("/v3/kv/range", {"key": b64("/")})["header"]["revision"])

    def name(self, key):
        """The full name of a key. No agent watches those of images, audit entries and replies."""
        if key.split("/")[0] in ("image", "audit", "reply"):
            return f"/ncclbpf/1-data/{self.job}/{key}"
        return self.prefix + key

    def delete(self, key):
        self.call("/v3/kv/deleterange", {"key": b64(self.name(key))})

    def put(self, key, value):
        self.call("/v3/kv/put", {"key": b64(self.name(key)), "value": b64(value)})

    def with_revision(self, key):
        """A key's value and the revision of its last change; {} and None without it."""
        kvs = self.call("/v3/kv/range", {"key": b64(self.name(key))}).get("kvs", [])
        return ((json.loads(base64.b64decode(kvs[0]["value"])), int(kvs[0]["mod_revision"]))
                if kvs else ({}, None))

    def lease(self, key):
        """The lease of a key."""
        return self.call("/v3/kv/range", {"key": b64(self.prefix + key)})["kvs"][0]["lease"]

    def below(self, family):
        """Values of the keys that start with @family, by the rest of their names."""
        key = self.name(family).encode()
        end = key[:-1] + bytes([key[-1] + 1])
        kvs = self.call("/v3/kv/range", {"key": b64(key), "range_end": b64(end)}).get("kvs", [])
        return {base64.b64decode(k["key"])[len(key):].decode():
                json.loads(base64.b64decode(k["value"])) for k in kvs}

    def comms(self):
        """What the sites say of their communicators: {"COMM/SITE": facts}."""
        return {f"{comm}/{site}": facts for site, value in self.below("site/").items()
                for comm, facts in value.get("comms", {}).items()}


def cpu_s(pid):
    """CPU seconds that the living threads of a process have used."""
    ns = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as f:
            ns += int(f.read().split()[0])
    return ns / 1e9


def rss_mib(pid):
    with open(f"/proc/{pid}/status") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


def percentile(times, share):
    """Of a sorted list."""
    return times[min(len(times) - 1, len(times) * share // 100)]
