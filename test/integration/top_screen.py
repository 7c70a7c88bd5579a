# SPDX-License-Identifier: MIT
"""top_screen.py SHELL TERMINATE POLICY: `top` at a terminal of 80 columns and 24 rows, as pyte
shows it. TERMINATE is a shell command that ends the job, POLICY answers what NCCL does not
offer."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pyte

PATIENCE_S = 300  # nothing takes so long; a machine may be busy
tests = 0


def ok(good, name, screen=None):
    global tests
    tests += 1
    print(f"{'ok' if good else 'not ok'} {tests} - {name}", flush=True)
    if not good and screen:
        print("\n".join("# |" + line for line in screen.display), flush=True)


class Terminal:
    """A program at a terminal, and what the terminal shows."""

    def __init__(self, args, columns=80, rows=24):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm-256color"
            self.resize(0, columns, rows)
            os.execv(args[0], args)
        self.size(columns, rows)
        self.modes = termios.tcgetattr(self.fd)
        self.status = None

    def size(self, columns, rows):
        self.screen.resize(rows, columns)
        self.resize(self.fd, columns, rows)

    @staticmethod
    def resize(fd, columns, rows):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.1):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return False
            self.raw += data
            self.stream.feed(data)
            return bool(data)
        return True

    def wait(self, pattern, seconds=PATIENCE_S):
        """Until the pattern is on the screen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if re.search(pattern, "\n".join(self.screen.display), re.M):
                return True
            self.read()
        return False

    def send(self, text):
        os.write(self.fd, text.encode())

    def end(self, seconds=PATIENCE_S):
        """The exit status; -N: signal N."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read(0.2) and select.select([self.fd], [], [], 0)[0]:
                    pass
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        return None

    def sane(self):
        """Has the terminal its modes and its main screen again?"""
        return termios.tcgetattr(self.fd) == self.modes and (
            self.raw.rstrip().endswith(b"\x1b[?1049l") or b"\x1b[?1049l" in self.raw[-120:])


def change(*words):
    """A change, which is asked for again while the ranks of a busy machine are too late for it."""
    for _ in range(10):
        command = [sys.argv[1], "-J", "train", "-T", "300", *words]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode != 75:
            break
    done.check_returncode()


shell = [sys.argv[1], "-J", "train", "top", "every=200ms"]
t = Terminal(shell)
ok(t.wait(r"^ train: 2 processes, generation \d+, up .* \d\d:\d\d:\d\d $"),
   "the job, in the first line", t.screen)
ok(t.wait(r"^allreduce +4M +\S+/\S+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +\d+ +\.\.[0-9a-f]{4} *$"),
   "bandwidth by size, with rates", t.screen)
ok(t.wait(r"^[1-9][\d.k]* decisions/s   2 communicators   telemetry on"),
   "decisions a second", t.screen)
ok(t.wait(r"^who decides: force") and t.wait(r"^no alerts"), "who decides, and no alerts", t.screen)
ok(all(len(line.rstrip()) <= 80 for line in t.screen.display) and "q quit" in t.screen.display[23],
   "80 columns, 24 rows, the keys in the last one", t.screen)
t.wait(r"(?:^allreduce .*\n){4}")
first = [line for line in t.screen.display if line.startswith("allreduce")]
ok(len(first) >= 4 and "4M" in first[0], "the largest first", t.screen)
t.send("r")
ok(t.wait(r"by size, reversed") and
   re.search(r"^allreduce +4K", "\n".join(t.screen.display), re.M) is not None,
   "r: the other way round", t.screen)
t.send("rs")
ok(t.wait(r"by GB/s now "), "s: by the next column", t.screen)
t.send("2")
ok(t.wait(r"^COMM +RANKS +HERE +NODES +DECISIONS +PER s +GEN +WHO DECIDES") and
   t.wait(r"^\.\.[0-9a-f]{4} +2 +2 +1 +\d+ +\d+ +\d+ +force"), "2: the communicators", t.screen)
t.send("\r")
ok(t.wait(r"^comm show [0-9a-f]{16}") and t.wait(r"Esc back"), "Enter: more on one", t.screen)
t.send("\x1b[6~")
t.send("\x1b")
ok(t.wait(r"WHO DECIDES"), "Esc: back", t.screen)
t.send("3")
ok(t.wait(r"LONGEST %") and t.wait(r"^\.\.[0-9a-f]{4} +1 +\+\d"), "3: the slowest ranks", t.screen)
t.send("4")
ok(t.wait(r"^force +yes +\d+"), "4: the policies", t.screen)
change("policy", "use", "force", sys.argv[4])
change("policy", "set", "limits", "wide=12")
ok(t.wait(r"^limits +no +\d+") and t.wait(r"^limits +yes +\d+") and
   t.wait(r"^who decides: force, limits *$"),
   "a policy of which two versions are held: the one in use decides", t.screen)
t.send("5")
ok(t.wait(r"^none *$"), "5: the alerts", t.screen)
change("policy", "use", sys.argv[3])
ok(t.wait(r"^doctor +ranks 0-1: \d+ answers a second dropped: NCCL does not offer"),
   "an alert: who, how often, and the reason in words", t.screen)
ok(t.wait(r"^! ranks 0-1: \d+ answers .*\n +[a-z ]*algorithm and protocol here"),
   "whole, above the tables", t.screen)
t.send("\r")
ok(t.wait(r"^doctor +$") and t.wait(r"^ranks 0-1: .*\n +[a-z ]*algorithm and protocol here"),
   "Enter: all of it, above what the command says", t.screen)
t.send("\x1b")
change("policy", "use", "force")
ok(t.wait(r"^no alerts"), "and gone with its reason", t.screen)
t.send("?")
ok(t.wait(r"p, Space +pause"), "?: the keys", t.screen)
t.send("\x1b")
t.send("1p")
ok(t.wait(r"PAUSED \d\d:\d\d:\d\d"), "p: paused", t.screen)
then = t.screen.display[0]
for _ in range(8):
    t.read()
ok(t.screen.display[0] == then, "it stands still", t.screen)
t.send("p")
t.size(60, 12)
os.kill(t.pid, signal.SIGWINCH)
ok(t.wait(r"^ train: .*\d\d:\d\d:\d\d $") and t.wait(r"^ q quit") and t.screen.lines == 12,
   "a smaller terminal: drawn anew", t.screen)
t.size(10, 5)
ok(t.wait(r"too small"), "too small: it says so", t.screen)
t.size(132, 40)
ok(t.wait(r"q quit") and t.wait(r"no alerts"), "a larger one", t.screen)
t.size(80, 24)
t.wait(r"no alerts")
t.send("q")
ok(t.end() == 0 and t.sane(), "q: status 0, and the terminal as before", t.screen)

for sig, status in ((signal.SIGTERM, -15), (signal.SIGHUP, -1), (signal.SIGSEGV, -11),
                    (signal.SIGINT, 130)):
    t = Terminal(shell)
    t.wait(r"no alerts")
    os.kill(t.pid, sig)
    ok(t.end() == status and t.sane(), f"{sig.name}: the terminal as before", t.screen)

t = Terminal(shell[:1] + ["-J", "train"])
ok(t.wait(r"> "), "at the prompt", t.screen)
t.send("top\r")
ok(t.wait(r"no alerts"), "top from the prompt", t.screen)
t.screen.reset()  # pyte has one screen; a terminal shows the main one again
t.send("q")
ok(t.wait(r"^ncclbpf train.*> "), "and back", t.screen)
t.screen.reset()
t.send("top\r")
t.wait(r"no alerts")
subprocess.run(sys.argv[2], shell=True, check=False)
ok(t.wait(r"^! "), "the job ends: it says so and stays", t.screen)
t.send("q")
t.send("quit\r")
t.end()
print(f"1..{tests}")
