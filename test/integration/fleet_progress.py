# SPDX-License-Identifier: MIT
# fleet_progress.py SHELL FLEET SITES: SITES sites whose agents answer one after the
# other, each 0.15 s after the one before; what the shell writes to a terminal.
import http.server, json, os, pty, subprocess, sys, threading, time

shell, fleet = sys.argv[1:3]


class Agent(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.15)
        body = json.dumps({"job": "many", "processes": []}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Agent)
server.socket.listen(64)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = "http://127.0.0.1:%d" % server.server_port
sites = int(sys.argv[3])
for i in range(sites):
    value = json.dumps({"address": address, "host": "h%d" % i})
    key = "/ncclbpf/1/many/site/s%02d" % i
    subprocess.run(["etcdctl", "--endpoints=" + fleet, "put", key, value],
                   check=True, stdout=subprocess.DEVNULL)
pid, fd = pty.fork()
if not pid:
    os.execv(shell, [shell, "--no-rc", "--fleet", fleet, "-J", "many", "-T", "20", "status"])
text = b""
while True:
    try:
        got = os.read(fd, 4096)
    except OSError:
        break
    if not got:
        break
    text += got
os.waitpid(pid, 0)
sys.stdout.buffer.write(text)
