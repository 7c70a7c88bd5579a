# SPDX-License-Identifier: MIT
"""metrics_clients.py PORT: bad clients of `metrics serve=`, then good ones beside them."""
import http.client
import os
import socket
import sys

port = int(sys.argv[1])
tests = 0


def ok(good, name):
    global tests
    tests += 1
    print(f"{'ok' if good else 'not ok'} {tests} - {name}")


def ask(method, path, **kw):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    c.request(method, path, **kw)
    r = c.getresponse()
    return r, r.read().decode()


def connect(source="127.0.0.2"):
    return socket.create_connection(("127.0.0.1", port), 20, (source, 0))


r, text = ask("GET", "/metrics")
ok(r.status == 200 and "ncclbpf_build_info{" in text, "GET /metrics")
ok(r.headers["Content-Type"].startswith("text/plain; version=0.0.4"), "in Prometheus' type")
r, body = ask("HEAD", "/metrics")
ok(r.status == 200 and body == "" and int(r.headers["Content-Length"]) > 1000, "HEAD has no body")
for method in "POST", "PUT", "DELETE", "OPTIONS":
    r, _ = ask(method, "/metrics")
    ok(r.status == 405 and r.headers["Allow"] == "GET, HEAD", f"{method}: read-only")
for path, status in (("/", 200), ("/metrics/", 404), ("/../etc/passwd", 404), ("/%2e%2e", 404)):
    ok(ask("GET", path)[0].status == status, f"{path}: {status}")

# slow ones stay while the others come; one address does not get all connections
slow = [connect() for _ in range(40)]
for s in slow:
    try:
        s.send(b"GET /metrics HTTP/1.1\r\nHost:")
    except OSError:
        pass
for _ in range(200):  # those who leave at once
    connect("127.0.0.3").close()
closed = 0
for rubbish in (b"\0" * 9000, os.urandom(9000), b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
                b"GET\r\n\r\n",
                b"GET " + b"/" * 70000 + b" HTTP/1.1\r\n\r\n",
                b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 9000 + b"\r\n",
                b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n" +
                b"x" * 9000,
                b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nxxxxxxxxx"):
    s = connect("127.0.0.4")
    try:
        s.sendall(rubbish)
        s.shutdown(socket.SHUT_WR)
        reply = s.recv(100)
        closed += not reply or reply.split()[1][:1] in b"45"
    except OSError:
        closed += 1
ok(closed == 8, "rubbish is answered with an error, or closed")
half = connect("127.0.0.5")  # asks, and leaves before the answer
half.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
half.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
half.close()
good = [ask("GET", "/metrics") for _ in range(20)]
ok(all(r.status == 200 and "ncclbpf_build_info{" in t for r, t in good),
   "good clients are served meanwhile")
ended = 0
for s in slow:  # 10 s without a byte
    s.settimeout(25)
    try:
        ended += s.recv(1) == b""
    except ConnectionError:
        ended += 1
ok(ended == len(slow), "a slow client is closed")
