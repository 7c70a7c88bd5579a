#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# devtools.py BROWSER PROFILE FILE...: load each FILE into the Performance panel
# of Chromium's DevTools, as one who opens it there does, and print what the
# panel has made of it, a line of JSON a file: "file"; "error", the panel's own
# word, or null; "said", what went to its console; "processes", by pid their
# "name" and "threads", by tid "name", "slices", and how many have "args",
# "decisions"; "generic": it is no web page's; "arrows". PICTURE=FILE: a picture
# of the last. Status 3: this Chromium's DevTools have another inside.
# Chromium is driven through a pipe: messages of JSON, each with a zero behind.
import base64
import json
import os
import subprocess
import sys
import time

PAGE = "devtools://devtools/bundled/devtools_app.html?panel=timeline"
PATIENCE_S = 300

OPEN = """(async () => {
  globalThis.said = [];
  const old = console.error.bind(console);
  console.error = (...a) => { said.push(a.map(String).join(" ")); old(...a); };
  addEventListener("error", e => said.push(String(e.message)));
  addEventListener("unhandledrejection", e => said.push(String(e.reason)));
  const base = "devtools://devtools/bundled/";
  const T = await import(base + "panels/timeline/timeline.js");
  const U = await import(base + "ui/legacy/legacy.js");
  await U.ViewManager.ViewManager.instance().showView("timeline");
  globalThis.panel = T.TimelinePanel.TimelinePanel.instance();
  if (!panel.loadFromFile || !panel.addEventListener) throw new Error("another panel");
  const input = document.createElement("input");
  input.type = "file";
  globalThis.input = input;
  return "ready";
})()"""

LOAD = """(async () => {
  said.length = 0;
  const over = new Promise(ok => panel.addEventListener("RecordingCompleted", e => ok(e.data)));
  const late = new Promise(ok => setTimeout(() => ok({ errorText: "nothing came" }), %d));
  let error = null;
  try { await panel.loadFromFile(input.files[0]); } catch (e) { error = String(e); }
  const end = error ? {} : await Promise.race([over, late]);
  error = error || end.errorText || null;
  const out = { error, said: said.slice(), processes: {} };
  if (error) return JSON.stringify(out);
  const model = typeof panel.model === "function" ? panel.model() : panel.model;
  const d = model.parsedTrace(end.traceIndex).data;
  out.generic = d.Meta.traceIsGeneric;
  out.arrows = [...d.Flows.flows].length;
  for (const [pid, p] of d.Renderer.processes) {
    const names = d.Meta.processNames.get(pid);
    const threads = {};
    for (const [tid, t] of p.threads)
      threads[tid] = { name: t.name, slices: t.entries.length,
        args: t.entries.filter(e => e.args && e.args.comm).length,
        decisions: t.entries.filter(e => e.args && e.args.decision).length };
    out.processes[pid] = { name: names ? names.args.name : null, threads };
  }
  return JSON.stringify(out);
})()""" % (PATIENCE_S * 1000)


class Browser:
    def __init__(self, exe, profile):
        os.makedirs(profile, exist_ok=True)
        down, self.out = os.pipe()
        self.inp, up = os.pipe()
        self.next, self.rest = 0, b""

        def fds():  # Chromium reads 3 and writes 4
            a, b = os.dup(down), os.dup(up)
            os.dup2(a, 3)
            os.dup2(b, 4)

        env = dict(os.environ, HOME=profile)
        with open(os.path.join(profile, "log"), "w") as log:
            self.process = subprocess.Popen(
                [exe, "--headless=new", "--no-sandbox", "--disable-gpu",
                 "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-extensions", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync",
                 "--disable-breakpad", "--window-size=1280,800",
                 "--user-data-dir=" + profile, "--remote-debugging-pipe",
                 "about:blank"],
                preexec_fn=fds, close_fds=False, stderr=log, env=env)
        os.close(down)
        os.close(up)

    def message(self):
        while b"\0" not in self.rest:
            some = os.read(self.inp, 1 << 16)
            if not some:
                raise EOFError("the browser has ended")
            self.rest += some
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def ask(self, method, session=None, **params):
        self.next += 1
        m = {"id": self.next, "method": method, "params": params}
        if session:
            m["sessionId"] = session
        os.write(self.out, json.dumps(m).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("id") == self.next:
                if "error" in got:
                    raise RuntimeError("%s: %s" % (method, got["error"]))
                return got["result"]

    def value(self, session, expression, by_value=True):
        r = self.ask("Runtime.evaluate", session, expression=expression,
                     awaitPromise=True, returnByValue=by_value)
        if "exceptionDetails" in r:
            raise RuntimeError(json.dumps(r["exceptionDetails"])[:800])
        return r["result"]


def main():
    exe, profile, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    b = Browser(exe, profile)
    try:
        target = b.ask("Target.createTarget", url=PAGE)["targetId"]
        s = b.ask("Target.attachToTarget", targetId=target,
                  flatten=True)["sessionId"]
        end = time.monotonic() + PATIENCE_S
        while b.value(s, "document.readyState + location.protocol")[
                "value"] != "completedevtools:":
            if time.monotonic() > end:
                raise RuntimeError("DevTools do not open")
            time.sleep(0.1)
        try:
            b.value(s, OPEN)
        except RuntimeError as e:
            print("another version's DevTools: %s" % e, file=sys.stderr)
            sys.exit(3)
        for f in files:
            handle = b.value(s, "input", by_value=False)["objectId"]
            b.ask("DOM.setFileInputFiles", s, objectId=handle,
                  files=[os.path.abspath(f)])
            r = json.loads(b.value(s, LOAD)["value"])
            r["file"] = f
            print(json.dumps(r), flush=True)
        picture = os.environ.get("PICTURE")
        if picture:
            time.sleep(2)
            with open(picture, "wb") as out:
                out.write(base64.b64decode(
                    b.ask("Page.captureScreenshot", s)["data"]))
    finally:
        b.process.kill()
        b.process.wait()


main()
