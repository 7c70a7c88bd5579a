# SPDX-License-Identifier: MIT
"""metrics_prometheus.py PORT DASHBOARD: has the Prometheus scraped the job, does it evaluate all
alerts, and has it data for each query of the dashboard, but those of GIN?"""
import json
import re
import sys
import urllib.parse
import urllib.request

base = f"http://127.0.0.1:{sys.argv[1]}/api/v1/"


def api(path, **query):
    url = base + path + ("?" + urllib.parse.urlencode(query) if query else "")
    reply = json.load(urllib.request.urlopen(url, timeout=10))
    assert reply["status"] == "success", reply
    return reply["data"]


def value(query):
    return api("query", query=query)["result"]


up = value("up")
assert up and all(x["value"][1] == "1" for x in up), up
assert len(value("ncclbpf_decisions_total")) == 2, "two processes"
assert float(value("sum(increase(ncclbpf_decisions_total[1m]))")[0]["value"][1]) > 0
rules = [r for g in api("rules")["groups"] for r in g["rules"]]
assert len(rules) >= 9 and all(r["health"] == "ok" for r in rules), rules
assert not api("alerts")["alerts"], "a sound job alarms nobody"
panels = json.load(open(sys.argv[2]))["panels"]
empty = []
for p in panels:
    for t in p["targets"]:
        expr = re.sub(r"\$__(rate_)?interval", "1m", t["expr"])
        expr = re.sub(r'"\$\w+"', '".*"', expr)
        expr = re.sub(r"\[\d+[mh]\]", "[1m]", expr)
        if not value(expr):
            empty.append((p["title"], t["expr"]))
print(empty)
# The job of the test calls no GIN; every other query has data.
gin = [e for e in empty if "ncclbpf_gin_" in e[1]]
assert empty == gin, [e for e in empty if e not in gin]
assert len(gin) == 2, gin
