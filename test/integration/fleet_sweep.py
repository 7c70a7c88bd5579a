# SPDX-License-Identifier: MIT
"""Old keys of a job in the store: fleet_sweep.py ENDPOINTS fill|ask|count.

fill: 300 images of two pieces, 400 entries of audit, 200 replies, 200 requests
that are no JSON, 1,200 records and members of communicators; the oldest image is
the desired one's. ask: 40 requests, each answered. count: what is left.
"""
import base64
import hashlib
import json
import sys
import time

from fleet_store import Store, b64

store = Store(sys.argv[1], "sweep")


def digest(i):
    return hashlib.sha256(b"image %d" % i).hexdigest()


def write(keys):
    """Write @keys in their order, a hundred in a transaction."""
    for i in range(0, len(keys), 100):
        store.call("/v3/kv/txn", {"success": [
            {"requestPut": {"key": b64(store.name(k)), "value": b64(v)}}
            for k, v in keys[i:i + 100]]})


def names(family):
    key = store.name(family).encode()
    end = key[:-1] + bytes([key[-1] + 1])
    kvs = store.call("/v3/kv/range", {"key": b64(key), "range_end": b64(end),
                                      "keys_only": True}).get("kvs", [])
    return [base64.b64decode(k["key"])[len(key):].decode() for k in kvs]


def fill():
    entry = json.dumps({"time": "", "who": "u", "from": "h 1", "line": "policy use none"})
    for i in range(300):
        write([(f"image/{digest(i)}", "a"), (f"image/{digest(i)}/2", "b")])
    write([(f"audit/2020-01-01T00:00:00.{i:03}Z-x", entry) for i in range(400)])
    write([(f"reply/r{i:03}", "{}") for i in range(200)])
    write([(f"request/r{i:03}", "no JSON") for i in range(200)])
    for family in "order/record/", "members/":
        write([(f"{family}{i:016x}", '{"state":"none"}') for i in range(1200)])
    store.put("desired", json.dumps({"line": "policy use gone", "images": [
        {"name": "gone", "digest": digest(0)}]}))


def ask():
    for i in range(40):
        store.put(f"audit/2030-01-01T00:00:00.{i:03}Z-x", "{}")
        store.put(f"request/q{i}", json.dumps({"line": "policy use nothing", "images": []}))
        end = time.monotonic() + 10
        while not names(f"reply/q{i}") and time.monotonic() < end:
            time.sleep(0.01)


def count():
    images = set(names("image/"))
    kept = [i for i in range(300) if digest(i) in images]
    whole = all(f"{digest(i)}/2" in images for i in kept) and len(images) == 2 * len(kept)
    print("images", len(kept), "newest", kept[-128:] == list(range(172, 300)), "named",
          kept[:1] == [0], "whole", whole)
    audit = names("audit/")
    print("audit", len(audit), "newest", "2020-01-01T00:00:00.399Z-x" in audit)
    for family in "reply/", "request/", "order/record/", "members/":
        print(family, len(names(family)))


{"fill": fill, "ask": ask, "count": count}[sys.argv[2]]()
