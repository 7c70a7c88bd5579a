#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# ncclbpf-agent --metrics serves the text of `ncclbpf-shell metrics` without a store, on the
# loopback address, and hostile requests change nothing.
. "$TOP/test/integration/shell_lib.sh"
need_host "a job whose metrics an agent serves"
trap finish EXIT
cd "$T" || exit 1
unset NCCLBPF_FLEET
agent() { # NAME ARGS...
	log=$1
	shift
	"$B/ncclbpf-agent" "$@" 2>"$log" &
	jobs="$jobs $!"
}
served() { url=$(sed -n 's/.* serves metrics at //p' "$1") && [ -n "$url" ]; }

"$B/ncclbpf-agent" 2>why
[ $? -eq 78 ] && grep -q 'nothing to do: NCCLBPF_FLEET names no store' why
ok "without a store and without an address there is nothing to do" $?
for at in 9400 127.0.0.1 127.0.0.1: 127.0.0.1:http 127.0.0.1:9400x; do
	"$B/ncclbpf-agent" --metrics "$at" 2>why
	[ $? -eq 78 ] && grep -q -e "--metrics $at has no port (allowed: ADDRESS:PORT" why || break
done
ok "an address without a port is refused" $?
"$B/ncclbpf-agent" --metrics localhost:0 2>why
[ $? -eq 78 ] && grep -q 'localhost is not a numeric address' why
ok "and so is a name" $?

agent one.log --metrics :0 --job one
first=$!
await served one.log
ok "an agent without a store" $?
case $url in http://127.0.0.1:*/metrics) : ;; *) false ;; esac
ok "listens on the loopback address alone" $?
cat >ask.py <<'P'
import socket, sys, threading, urllib.request, urllib.error
from urllib.parse import urlparse
url, what = sys.argv[1:3]
at = (urlparse(url).hostname, urlparse(url).port)
def get(u, **more):
    try:
        with urllib.request.urlopen(urllib.request.Request(u, **more), timeout=60) as r:
            return r.status, r.headers["Content-Type"], r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.headers["Content-Type"], e.read().decode()
def raw(data):
    with socket.create_connection(at, 60) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        got = b""
        while piece := s.recv(65536):
            got += piece
        return got
if what == "get":
    status, kind, text = get(url)
    print(status, kind)
    sys.stdout.write(text)
else:
    assert get(url + "/../etc/passwd")[0] == 404 and get(url.replace("metrics", ""))[0] == 404
    for method in b"POST", b"PUT", b"DELETE", b"\x80":
        assert b" 405 " in raw(method + b" /metrics HTTP/1.1\r\nHost: x\r\n"
                               b"Content-Length: 0\r\n\r\n"), method
    long = b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n"
    for bad in (long + b"x" * (1 << 20), b"\0" * 4096, b"GET /metrics\r\n\r\n",
                b"GET " + b"/" * 100000 + b" HTTP/1.1\r\n",
                b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 50000,
                b"GET /metrics?-J=x&" + b"%00" * 1000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"):
        try:
            raw(bad)
        except OSError:
            pass
    idle = []
    for i in range(40):  # the server keeps 16
        idle.append(socket.create_connection(at, 60))
        idle[-1].sendall(b"GET /met")
    done = threading.Event()
    def slow():  # none of them is silent for 10 s
        while not done.wait(1):
            for s in idle:
                try:
                    s.sendall(b"r")
                except OSError:
                    pass
    slower = threading.Thread(target=slow)
    slower.start()
    try:
        assert get(url)[0] == 200
    finally:
        done.set()
        slower.join()
    for s in idle:
        s.close()
P
python3 ask.py "$url" get >out 2>why
[ "$(cat out)" = "200 text/plain; version=0.0.4; charset=utf-8
# no process of a job on this host" ]
ok "says that no job runs" $?
job one --ranks 2 --procs 2 --rate 100
seen() {
	python3 ask.py "$url" get >out 2>why &&
		[ "$(grep -c '^ncclbpf_decisions_total{' out)" -eq 2 ]
}
await seen
ok "serves both processes of the job that has come" $?
names() { sed -n 's/^# \(HELP\|TYPE\) //p' "$1"; }
names out >served
"$S" -J one metrics >shell.prom
names shell.prom | diff served - >why
ok "with the shell's names, kinds and words" $?
promtool=$(command -v promtool || ls "$TOP/build/tools/promtool" 2>/dev/null)
if [ -n "$promtool" ]; then
	sed 1d out | "$promtool" check metrics 2>&1 |
		grep -v '^nccl_[a-z0-9_]*_microseconds use base unit "seconds"' >why
	[ ! -s why ]
	ok "promtool has nothing to say" $?
else
	ok "promtool has nothing to say # SKIP no promtool (test/setup.sh promtool)" 0
fi
python3 ask.py "$url" hostile 2>why
ok "hostile requests are refused" $?
await seen
ok "and the next scrape is answered" $?
agent taken.log --metrics "$(echo "$url" | sed 's,http://\(.*\)/metrics,\1,')"
wait $!
[ $? -eq 1 ] && grep -q 'Address already in use' taken.log
ok "a port that is taken is named" $?
kill "$first" && wait "$first"
ok "SIGTERM ends the agent" $?

mkdir hung && cp "$B/ncclbpf-agent" hung/
cat >hung/ncclbpf-shell <<'S'
#!/bin/sh
exec >&-
: >asked
exec sleep 600
S
chmod +x hung/ncclbpf-shell
B=$T/hung agent hung.log --metrics :0
hung=$!
await served hung.log
python3 ask.py "$url" get >out 2>why &
asks=$!
await test -e asked
kill "$hung" && wait "$hung"
ok "also while a shell hangs that has closed its output" $?
wait "$asks" || :
