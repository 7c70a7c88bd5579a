# SPDX-License-Identifier: MIT
# slow_client.py DIRECTORY: two processes of job "fake", ranks 0 and 1, and a process "deaf" that
# accepts a connection and reads only after the file DIRECTORY/read has come.
#
# To "big", rank 1 sends a reply that is longer than a socket's buffer, and rank 0 answers once rank
# 1 has begun. File DIRECTORY/sent says that all of it was sent. To "end", rank 1 closes the
# connection without an answer, and has no place for the next one.
import json
import os
import socket
import sys
import threading
import time

top = sys.argv[1]
sockets = os.environ["NCCLBPF_SOCKET_DIR"]
namespace = os.stat("/proc/self/ns/pid").st_ino
begun = threading.Event()
full = threading.Event()


def listen(name):
    s = socket.socket(socket.AF_UNIX)
    s.bind(os.path.join(sockets, name))
    s.listen()
    return s


def answer(conn, rank, number, words):
    head = {"id": number, "ok": True}
    if words == "hello 1" and rank == 1 and full.is_set():
        full.clear()
        head = {"ok": False, "error": {"code": "busy", "message": "no place"}}
    elif words == "hello 1":
        head["data"] = {"job": "fake", "rank": rank, "pid": os.getpid(), "pid_ns": namespace}
    elif words == "big" and rank == 1:
        head["data"] = {"text": "x" * 900_000}
        text = json.dumps(head).encode() + b"\n"
        conn.sendall(text[:50_000])
        begun.set()
        conn.sendall(text[50_000:])
        open(os.path.join(top, "sent"), "w").close()
        return True
    elif words == "big":
        begun.wait()
        head["data"] = {}
    elif words == "end" and rank == 1:
        full.set()
        return False
    else:
        head["data"] = {}
    conn.sendall(json.dumps(head).encode() + b"\n")
    return True


def serve(conn, rank):
    with conn, conn.makefile("r") as lines:
        for line in lines:
            at, _, words = line.rstrip("\n").partition(" ")
            if not answer(conn, rank, int(at[1:]), words):
                conn.shutdown(socket.SHUT_RDWR)
                return


def process(listener, rank):
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=serve, args=(conn, rank), daemon=True).start()


def deaf(listener):
    """Every line that comes is one that was sent whole, except the last."""
    conn, _ = listener.accept()
    while not os.path.exists(os.path.join(top, "read")):
        time.sleep(0.01)
    with conn.makefile("rb") as f, open(os.path.join(top, "deaf.tmp"), "w") as out:
        for line in f:
            print(len(line), line.endswith(b"\n"), len(set(line.rstrip(b"\n"))), file=out)
    os.rename(os.path.join(top, "deaf.tmp"), os.path.join(top, "deaf"))


threads = [threading.Thread(target=deaf, args=(listen("deaf"),))]
for r in range(2):
    s = listen(f"fake.{r}.{namespace}.{os.getpid()}.sock")
    threads.append(threading.Thread(target=process, args=(s, r)))
for t in threads:
    t.start()
open(os.path.join(top, "ready"), "w").close()
threads[1].join()
