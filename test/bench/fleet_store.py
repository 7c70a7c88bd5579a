# SPDX-License-Identifier: MIT
"""etcd's JSON gateway and /proc, for the fleet's benchmarks."""
import base64
import json
import os
import ssl
import time
import urllib.request


def b64(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return base64.b64encode(raw).decode()


class Store:
    """The keys of one job. @tls: the folder of a store with TLS and users."""

    def __init__(self, endpoints, job, tls=None):
        self.endpoints = endpoints if isinstance(endpoints, list) else endpoints.split(",")
        self.prefix = f"/ncclbpf/1/{job}/"
        self.tls = self.token = None
        if tls:
            self.tls = ssl.create_default_context(cafile=tls + "/ca.pem")
            self.tls.load_cert_chain(tls + "/client.pem", tls + "/client.key")
            with open(tls + "/password.root") as f:
                self.password = f.read().strip()

    def post(self, path, body, seconds):
        headers = {"Authorization": self.token} if self.token else {}
        request = urllib.request.Request(self.endpoints[0] + path, json.dumps(body).encode(),
                                         headers)
        with urllib.request.urlopen(request, timeout=seconds, context=self.tls) as reply:
            return json.load(reply)

    def authenticate(self):
        self.token = None
        self.token = self.post("/v3/auth/authenticate",
                               {"name": "root", "password": self.password}, 5)["token"]

    def call(self, path, body, seconds=60):
        """Of the first member that answers."""
        end = time.monotonic() + seconds
        while True:
            try:
                if self.tls and not self.token:
                    self.authenticate()
                return self.post(path, body, 2)
            except OSError:
                self.token = None
                self.endpoints.append(self.endpoints.pop(0))
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def quietly(self, path, body):
        """A request that may fail."""
        try:
            return self.call(path, body, 1)
        except OSError:
            return {}

    def revision(self):
        return int(self.call("/v3/kv/range", {"key": b64("/")})["header"]["revision"])

    def delete(self, key):
        self.call("/v3/kv/deleterange", {"key": b64(self.prefix + key)})

    def put(self, key, value):
        self.call("/v3/kv/put", {"key": b64(self.prefix + key), "value": b64(value)})

    def below(self, family):
        """Values of the keys that start with @family, by the rest of their names."""
        key = (self.prefix + family).encode()
        end = key[:-1] + bytes([key[-1] + 1])
        kvs = self.call("/v3/kv/range", {"key": b64(key), "range_end": b64(end)}).get("kvs", [])
        return {base64.b64decode(k["key"]).decode()[len(self.prefix + family):]:
                json.loads(base64.b64decode(k["value"])) for k in kvs}


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
