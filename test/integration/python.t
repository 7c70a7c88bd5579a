#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# The Python module: types, its page's example, and a live job of
# two processes that change together.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
command -v python3 >/dev/null || skip_all "the Python module" "no python3"
cp -r "$TOP/shell/python/ncclbpf" "$T/ncclbpf"
export PYTHONPATH="$T" PYTHONDONTWRITEBYTECODE=1 NCCLBPF_SHELL="$S"

if command -v mypy >/dev/null; then
	mypy --strict --cache-dir=/dev/null "$T/ncclbpf" >"$T/why" 2>&1
	ok "mypy --strict finds no error" $?
else
	tests=$((tests + 1))
	echo "ok $tests - mypy # SKIP it is not installed"
fi

need_host "a live job"
job train --ranks 2 --procs 2 --rate 100
cp "$TOP/policies/force.bpf.c" "$T/"
cd "$T" || exit 1

awk '
	/^```python/ { n++; code = 1; next }
	/^```/ { code = 0 }
	code && n == 1
' "$TOP/docs/python.md" >page.py
python3 page.py >out 2>err
ok "the example of docs/python.md runs" $?
has "and shows what it says" out "'job': 'train'" "committed 1" "(-1, -1, 16, 1)" "not_found"

cat >job.py <<'E'
import fcntl
import mmap
import os
import struct
import sys
import time
import ncclbpf as nb

number = 0


def ok(name, passed, found=None):
    global number
    number += 1
    print(f"{'' if passed else 'not '}ok {number} - {name}" + ("" if passed else f": {found!r}"))


def fails(name, code, f):
    try:
        ok(name, False, f())
    except nb.Error as e:
        ok(name, e.code == code, e)


def change(f, *words, **options):
    """A change, which is asked for again while the ranks of a busy machine are late."""
    for _ in range(10):
        try:
            return f(*words, **options)
        except nb.Error as e:
            if e.code != "busy":
                raise
    return f(*words, **options)


build, top = sys.argv[1:]
with nb.attach(timeout=300) as t:
    ok("attaches to the only job, to all of its processes", len(t.processes()) == 2, t.processes())
    ok("the version is the plugin's", nb.version == t.status()["version"])
    fails("a refused policy has the verifier's finding", "verify_rejected",
          lambda: t.policy_load(f"{build}/test/corpus/shell/refused.bpf.o"))
    ok("and no process holds it", all("refused" not in [p["name"] for p in r["data"]["policies"]]
                                      for r in t.request("policy list")))
    fails("C that clang refuses", "malformed", lambda: (
        open("typo.bpf.c", "w").write('#include "ncclbpf_policy.h"\nint x = y;\n'),
        t.policy_load("typo.bpf.c")))
    image = open(f"{build}/policies/noop.policy", "rb").read()
    t.policy_load(image, "noop")
    ok("bytes of an image are loaded, and come back", t.policy_image("noop") == image)
    t.policy_load("force.bpf.c", name="strong")
    g = change(t.policy_use, "noop", "strong")
    ok("a change is committed on both processes",
       [r["data"]["generation"] for r in t.request("status")] == [g["generation"]] * 2, g)
    fails("if_generation of another generation", "stale",
          lambda: t.policy_use("noop", if_generation=g["generation"] - 1))
    change(t.policy_move, "strong", position="first")
    names = [p["name"] for p in sorted(t.policy_list()["policies"],
             key=lambda p: p["position"] or 0) if p["position"] is not None]
    ok("the order is changed", names == ["strong", "noop"], names)
    m = t.map("strong/force", value="iiII")
    c = change(m.set, 0, (1, 2, 8, 1))
    ok("a coherent map is changed at a fence", c["state"] == "committed", c)
    ok("both processes have its element", [
        r["data"]["value"] for r in t.request("map get strong/force 00000000")]
        == ["01000000020000000800000001000000"] * 2)
    ok("elements are listed by the format", m.entries() == [(0, (1, 2, 8, 1))], m.entries())
    fails("a key outside the map", "too_big", lambda: m.set(9, (0, 0, 0, 0)))
    try:
        ok("a format of another size", False, t.map("strong/force", value="ii"))
    except ValueError as e:
        ok("a format of another size", "16" in str(e), e)
    fails("a map that is not there", "not_found", lambda: t.map("nothing"))
    seen = []
    for rank, d in t.follow("decision tail", "decisions"):
        seen.append((rank, d["coll"]))
        if {0, 1} <= {r for r, _ in seen}:
            break
    ok("decisions of both ranks are followed", len(seen) >= 2, seen)
    ok("a command under its words", t.policy_show("noop")["name"] == "noop")
    ok("the job says which there are",
       {"comm_list", "comm_show", "status", "policy_load"} <= set(dir(t)), dir(t))
    ok("and what they do", "List communicators" in (t.comm_list.__doc__ or ""))
    for wrong in ("comm_nothing", "comm", "change_commit", "policy_export"):
        try:
            ok(f"no command {wrong}", False, getattr(t, wrong))
        except AttributeError as e:
            ok(f"no command {wrong}", wrong in str(e), e)
    all_comms, first = t.comm_list(), t.comm_list(limit=1)
    ok("pages are put together", all_comms["comms"] and not all_comms.get("more")
       and [c["comm"] for c in first["comms"]] == [all_comms["comms"][0]["comm"]], all_comms)
    change(t.policy_use, "none")
    for _ in range(600):  # until all ranks have passed the fence
        try:
            t.policy_unload("noop")
            break
        except nb.Error:
            time.sleep(0.1)
    ok("a policy is unloaded everywhere", all(
        "noop" not in [p["name"] for p in r["data"]["policies"]] for r in t.request("policy list")))
    object_file = f"{build}/test/corpus/accept/host_map_read.bpf.o"
    if os.path.exists(object_file):
        t.policy_load(object_file)
        memory = os.memfd_create("host", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(memory, 64)
        fails("a memory file without seals is refused", "bad_argument",
              lambda: t.map_attach("host", memory))
        pages = mmap.mmap(memory, 64)
        fcntl.fcntl(memory, 1033, 0x12)  # F_ADD_SEALS: F_SEAL_SHRINK and F_SEAL_FUTURE_WRITE
        pages[8:16] = struct.pack("=Q", 77)
        shown = lambda: [r["data"]["value"] for r in t.request("map get host 00000000")]
        word = struct.pack("=Q", 77).hex()
        ok("a descriptor is shown by the host maps of all processes",
           t.map_attach("host", memory)["state"] == "attached"
           and len(shown()) == 2 and all(v.endswith(word) for v in shown()), shown())
        ok("they show zeroes again", t.map_detach("host")["state"] == "detached"
           and not any(v.endswith(word) for v in shown()), shown())
        t.map_attach("host", f"/proc/{os.getpid()}/fd/{memory}")
        ok("the same by its path", all(v.endswith(word) for v in shown()), shown())
        fails("no host map of that name", "not_found", lambda: t.map_attach("limits", memory))
        fails("no such file", "not_found", lambda: t.map_attach("host", "/nowhere"))
        ok("a refused one changes nothing", all(v.endswith(word) for v in shown()), shown())
fails("no such job", "no_target", lambda: nb.attach(job="nothing"))
ok("sizes", [nb.size(x) for x in ("4M", "1.5GiB", 512, "2kb")] == [4 << 20, 3 << 29, 512, 2048])
ok("words are quoted",
   nb._wire.line("map get", 'a "b" \\', None) == 'map get "a \\"b\\" \\\\" None')


def pages(command, *replies):
    """What a method makes of a job that answers with these pages, and the requests."""
    asked, left = [], list(replies)

    class Paging(nb.Target):
        def __init__(self):
            self._served = {command.replace(" ", "_"): {
                "words": command, "syntax": "", "role": "observe", "help": ""}}

        def _read(self, text):
            asked.append(text)
            return dict(left.pop(0))

    return getattr(Paging(), command.replace(" ", "_"))(), asked


got, asked = pages("stats", {"events": ["coll"], "rows": [1, 2], "more": True, "next": 2},
                   {"events": ["coll"], "rows": [3], "more": True, "next": 3},
                   {"events": ["coll"], "rows": [4], "more": False})
ok("the rows of all pages", got["rows"] == [1, 2, 3, 4] and not got["more"], got)
ok("and the other lists once", got["events"] == ["coll"] and got["next"] is None, got)
ok("from three requests", asked == ["stats", "stats after=2", "stats after=3"], asked)
got, asked = pages("map dump", {"entries": [{"key": "00"}], "more": True, "next": "a b"},
                   {"entries": [{"key": "01"}], "more": False})
ok("a key is where the next page begins", [e["key"] for e in got["entries"]] == ["00", "01"]
   and asked[1] == 'map dump after="a b"', asked)
first = {"fields": ["event"], "spans": [[1]], "given": 1, "lost": 7, "left_out": 0, "more": True,
         "next": 9}
got, asked = pages("trace read", first, {"spans": [], "lost": 0, "more": True, "next": 10})
ok("trace read is one page, because events keep coming", got == first and len(asked) == 1, got)
got, asked = pages("policy dump", {"name": "p", "more": True, "next": 2, "programs": [
    {"name": "a", "lines": [0]}, {"name": "b", "lines": [1]}]},
    {"name": "p", "more": False, "programs": [
        {"name": "b", "lines": [2]}, {"name": "c", "lines": [3]}]})
ok("a program on two pages is one", [(x["name"], x["lines"]) for x in got["programs"]]
   == [("a", [0]), ("b", [1, 2]), ("c", [3])], got)
print(f"1..{number}")
E
python3 job.py "$B" "$TOP" >out 2>err
rc=$?
grep -hv '^ok' out err >"$T/why"
[ $rc -eq 0 ] && ! grep -q '^not ok' out &&
	[ "$(grep -c '^ok' out)" -eq "$(sed -n 's/^1\.\.//p' out)" ]
ok "all claims about a live job hold ($(grep -c '^ok' out))" $?
