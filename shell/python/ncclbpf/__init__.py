# SPDX-License-Identifier: MIT
"""Attach to running NCCL jobs that have loaded ncclbpf: for notebooks and scripts.

    import ncclbpf as nb
    with nb.attach(job="train") as t:
        print(t.status()["generation"], [p["name"] for p in t.policy_list()["policies"]])
        t.policy_load("mid_rings.bpf.c")
        t.policy_use("mid_rings")
        print(t.explain("allreduce", "8M")["answer"])
        t.policy_undo()

Each command that the job serves is a method. The names are those of the Lua interface
(docs/lua.md); the fields of answers are those of docs/protocol.md. Failures raise `Error`. Reading
asks the lowest rank; changes go to all processes of the job on this host, or to none. Needs nothing
but Python's library.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _wire
from ._wire import Connection, Error, Socket, line

__all__ = ["Error", "Map", "Target", "attach", "list", "size", "version"]
version = "0.1.0"
Data = Dict[str, Any]
_list = list  # the name of the interface hides Python's below


def size(text: Union[str, int]) -> int:
    """Bytes of "4M", "1.5GiB", 512."""
    m = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", str(text), re.I)
    if not m:
        raise ValueError(f"{text}: a size such as 4M expected")
    return int(float(m[1]) * 1024 ** " KMGT".index(m[2].upper() or " "))


def list() -> List[Data]:  # noqa: A001, the name of the Lua interface
    """Processes that can be attached to."""
    return [{"state": "attachable", "job": s.job, "job_rank": s.rank, "pid": s.pid,
             "pid_ns": s.ns, "socket": s.path} for s in _wire.sockets()]


def attach(*, job: Optional[str] = None, pid: Optional[int] = None, socket: Optional[str] = None,
           ranks: Optional[Sequence[int]] = None, timeout: float = 5) -> "Target":
    """Attach to a job (all its processes here), a process or a socket; without any of these, to
    the only job of this host. `timeout` in seconds; 0: none."""
    if socket is not None:
        found = [Socket(socket, "?", None, 0)]
    else:
        found = [s for s in _wire.sockets() if pid in (None, s.pid) and job in (None, s.job)
                 and (ranks is None or s.rank in ranks)]
    jobs = sorted({s.job for s in found})
    if not found:
        raise Error("no_target", "no such process to attach to",
                    hint="list() has those of this user; NCCLBPF_SOCKET_DIR names another folder")
    if pid is not None and len(found) > 1:
        raise Error("usage", f"{len(found)} processes have PID {pid}, in several PID namespaces",
                    hint="name one by its socket: socket=" + found[0].path)
    if len(jobs) > 1:
        raise Error("usage", "several jobs: " + ", ".join(jobs), hint="select one with job=")
    connections: List[Connection] = []
    try:
        for s in found:
            connections.append(Connection(s.path, timeout or None))
    except Error:
        for c in connections:
            c.close()
        raise
    return Target(connections)


def _image(path: str, name: Optional[str]) -> bytes:
    """Image bytes of a policy in a file; ncclbpf-shell builds what is no image."""
    if path.endswith(".policy"):
        with open(path, "rb") as f:
            return f.read(_wire.MAX_OBJECT + 1)
    program = os.environ.get("NCCLBPF_SHELL") or "ncclbpf-shell"
    with tempfile.TemporaryDirectory() as folder:
        to = os.path.join(folder, "image.policy")
        command = [program, "--json", "policy", "build", path, f"out={to}"]
        try:
            done = subprocess.run(command + ([f"name={name}"] if name else []),
                                  stdout=subprocess.PIPE, check=False)
        except FileNotFoundError as e:
            raise Error("no_input", f"{program}: no such program",
                        hint="images (.policy) are loaded without it") from e
        if done.returncode:
            try:
                error = json.loads(done.stdout).get("error")
            except ValueError:
                error = {"code": "io", "message": f"{program} ended with {done.returncode}"}
            raise Error.of_reply(error)
        with open(to, "rb") as f:
            return f.read(_wire.MAX_OBJECT + 1)


# Requests that carry a descriptor or are a part of a change: methods of Target make them.
_NOT_COMMANDS = {"hello", "cancel", "policy load", "policy export", "map load", "map attach",
                 "map detach", "change check", "change commit", "change abort"}

# The lists of a reply that comes in pages (docs/protocol.md). The other members describe one page.
_PAGED = {"comms", "connections", "entries", "peers", "programs", "queue_pairs", "rows"}


def _append(data: Data, page: Data) -> None:
    """Append the next page of a reply to the pages so far."""
    for k in _PAGED & set(data):
        for x in page[k]:
            if k == "programs" and data[k] and data[k][-1]["name"] == x["name"]:
                data[k][-1]["lines"] += x["lines"]  # the page began in the middle of a program
            else:
                data[k].append(x)
    data.update(more=page["more"], next=page.get("next"))


class Target:
    """The processes of a job that are attached to; made by attach(). Each command that the process
    of the lowest rank serves is a method, with _ for blanks: `t.comm_show(id)`. Its arguments are
    the words behind the command's, its keywords are options; `dir()` and `help()` show them."""

    def __init__(self, connections: Sequence[Connection]) -> None:
        known = [c for c in connections if c.hello.get("rank") is not None]
        self._all = sorted(known, key=lambda c: int(c.hello["rank"])) + [
            c for c in connections if c.hello.get("rank") is None]
        self.job: str = str(self._all[0].hello.get("job"))
        self._served: Dict[str, Data] = {}

    def _commands(self) -> Dict[str, Data]:
        """The rows of the job's answer to the request help, by the names of their methods."""
        if not self._served:
            for row in self._read("help").get("commands", []):
                words = row["words"]
                if words not in _NOT_COMMANDS and not re.search(r" (im|ex)port$", words):
                    self._served[words.replace(" ", "_")] = row
        return self._served

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._commands()})

    def __getattr__(self, name: str) -> Callable[..., Data]:
        row = None if name.startswith("_") else self._commands().get(name)
        if row is None:
            raise AttributeError(f"{name}: the job has no such command")
        words, syntax, role = row["words"], row["syntax"], row["role"]

        def call(*arguments: object, **options: object) -> Data:
            text = line(words, *arguments, **options)
            if "if_generation=" in syntax:
                return self._change(text)
            if role == "control":
                return self._write(text)
            data = self._read(text)
            whole = _PAGED & set(data) and not {"limit", "after"} & set(options)
            while whole and data.get("more"):
                _append(data, self._read(f"{text} after={_wire.quote(data['next'])}"))
            return data

        call.__name__, call.__doc__ = name, f"`{words} {syntax}`: {row['help']}"
        return call

    def __repr__(self) -> str:
        return f"<ncclbpf.Target: job {self.job}, {len(self._all)} processes>"

    def __enter__(self) -> "Target":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the job continues."""
        for c in self._all:
            c.close()

    # ---- requests ----

    def _ask_all(self, text: str, content: Union[bytes, int, None] = None,
                 whom: Optional[Sequence[Connection]] = None
                 ) -> List[Tuple[Connection, Optional[Data], Optional[Error]]]:
        """One request to all processes at once."""
        sent: List[Tuple[Connection, Union[int, Error]]] = []
        for c in self._all if whom is None else whom:
            try:
                sent.append((c, c.send(text, content)))
            except Error as e:
                sent.append((c, e))
        answers: List[Tuple[Connection, Optional[Data], Optional[Error]]] = []
        for c, number in sent:
            try:
                if isinstance(number, Error):
                    raise number
                answers.append((c, c.reply(number), None))
            except Error as e:
                answers.append((c, None, e))
        return answers

    def _read(self, text: str) -> Data:
        return self._all[0].ask(text)

    def _write(self, text: str) -> Data:
        answers = self._ask_all(text)
        for _, _, error in answers:
            if error:
                raise error
        return answers[0][1] or {}

    def _change(self, text: str) -> Data:
        """A change of all processes or none, in two phases (docs/protocol.md, Changes)."""
        of_map = re.match(r'map \S+ ("(?:[^"\\]|\\.)*"|\S+)', text)
        if of_map and not self._read("map show " + of_map[1]).get("coherent"):
            return self._write(text)
        if len(self._all) == 1:
            return self._committed(self._read(text))
        staged = self._ask_all(text + " commit=no")
        error = next((e for _, _, e in staged if e), None)
        digests = {d.get("change") for _, d, _ in staged if d}
        if not error and (len(digests) != 1 or None in digests):
            error = Error("ranks_disagree", "the processes would make different changes",
                          hint="compare policy list of the processes")
        if error:
            self._abort(staged)
            raise error
        digest = digests.pop()
        expected = re.search(r" if_generation=\d+", text)
        try:
            done = self._read(f"change commit {digest}{expected[0] if expected else ''}")
        except Error:
            self._abort(staged)
            raise
        return self._committed(done)

    def _abort(self, staged: Sequence[Tuple[Connection, Optional[Data], Optional[Error]]]) -> None:
        for c, data, _ in staged:
            if data and data.get("change"):
                self._ask_all(f"change abort {data['change']}", whom=[c])

    @staticmethod
    def _committed(data: Data) -> Data:
        if data.get("state") == "aborted":
            raise Error("aborted", "the change was aborted; nothing has changed",
                        hint="a rank reached the fence before the commit; try again", **data)
        return data

    def request(self, text: str) -> List[Data]:
        """A request line to every process. -> [{rank, pid, data or err}]"""
        return [{"rank": c.hello.get("rank"), "pid": c.hello.get("pid"),
                 "err" if e else "data": e or d} for c, d, e in self._ask_all(text)]

    def change(self, text: str) -> Data:
        """A changing request line, committed on all processes."""
        return self._change(text)

    def follow(self, text: str, field: Optional[str] = None
               ) -> Iterator[Tuple[Optional[int], Data]]:
        """What a stream has, of all processes as it comes: (rank, data of a line), or (rank,
        element) of the list `field` in the data, as in follow("decision tail", "decisions")."""
        streams = {}
        try:
            for c in self._all:
                s = Connection(c.path, c.timeout)
                streams[s] = s.send(text + " follow=yes")
            while streams:
                ready = [s for s in streams if s.has_line()]
                for s in ready or select.select(_list(streams), [], [])[0]:
                    reply = s.line()
                    if reply.get("id") != streams[s]:
                        continue
                    if not reply["ok"]:
                        raise Error.of_reply(reply.get("error"))
                    if reply.get("end"):
                        del streams[s]
                        s.close()
                    elif isinstance(reply.get("data"), dict):
                        data = reply["data"]
                        for element in [data] if field is None else data.get(field, []):
                            yield s.hello.get("rank"), element
        finally:
            for s in streams:
                s.close()

    # ---- reading ----

    def processes(self) -> List[Data]:
        """The processes that are attached to."""
        return [dict(c.hello) for c in self._all]

    def map(self, name: str, key: Optional[str] = None, value: Optional[str] = None) -> "Map":
        """A map. `key` and `value` are formats of the module struct, such as "iiII"; without them
        elements of 1, 2, 4 and 8 bytes are numbers, others bytes."""
        return Map(self, name, key, value)

    # ---- changing ----

    def policy_load(self, path: Union[str, bytes], name: Optional[str] = None) -> Data:
        """Verify a policy in every process and hold it. `path`: an image (.policy) or its bytes;
        ncclbpf-shell builds C, objects and tables first. All processes accept it, or none holds
        it."""
        if isinstance(path, bytes):
            image = path
            if not name:
                raise ValueError("policy_load: bytes need a name=")
        else:
            image = _image(path, name)
            name = name or re.sub(r"\.(policy|bpf\.[co]|o|c|csv|lua)$", "", os.path.basename(path))
        held = {c: {p["digest"] for p in d.get("policies", [])}
                for c, d, _ in self._ask_all("policy list") if d}
        answers = self._ask_all(line("policy load", name), image)
        error = next((e for _, _, e in answers if e), None)
        if error:
            for c, d, _ in answers:
                if d and d["digest"] not in held.get(c, ()):
                    self._ask_all(line("policy unload", d["digest"]), whom=[c])
            raise error
        return answers[0][1] or {}

    def _show(self, text: str, descriptor: Optional[int] = None) -> Data:
        """Change what host maps show, in each process that accepts it."""
        answers = self._ask_all(text, descriptor)
        error = next((e for _, _, e in answers if e), None)
        if error:
            raise error
        return answers[0][1] or {}

    def map_attach(self, name: str, source: Union[str, int]) -> Data:
        """Make memory of this host the contents of the host maps of this name. `source`: a
        descriptor of a frozen BPF array or of a sealed memory file, its path, or "id:N"."""
        text = line("map attach", name)
        if isinstance(source, int):
            return self._show(text, source)
        descriptor = _wire.host_memory(source)
        try:
            return self._show(text, descriptor)
        finally:
            os.close(descriptor)

    def map_detach(self, name: str) -> Data:
        """Detach the memory from the host maps of this name."""
        return self._show(line("map detach", name))

    def policy_image(self, name: str) -> bytes:
        """Bytes of a policy's image, as the job holds it."""
        self._read(line("policy export", name))
        return self._all[0].content()

    def policy_unload(self, name: str) -> Data:
        """Remove the policy from the job. A process that does not hold it is no error if another
        one did: an earlier call may have been refused by some."""
        answers = self._ask_all(line("policy unload", name))
        done = [d for _, d, _ in answers if d is not None]
        errors = sorted((e for _, _, e in answers if e), key=lambda e: e.code == "not_found")
        if errors and not (done and errors[0].code == "not_found"):
            raise errors[0]
        return done[0]


Element = Union[int, bytes, Tuple[Any, ...]]


class Map:
    """A map of the job: m[key], m.get(key), m.set(key, value), m.update({...}), m.delete(key),
    m.entries()."""

    def __init__(self, target: Target, name: str, key: Optional[str], value: Optional[str]) -> None:
        self._target = target
        self.name = name
        self.info: Data = target.map_show(name)
        self._key = self._codec(key, int(self.info["key_size"]), "key")
        self._value = self._codec(value, int(self.info["value_size"]), "value")

    @staticmethod
    def _codec(form: Optional[str], count: int, what: str
               ) -> Tuple[Callable[[Any], str], Callable[[str], Any]]:
        import struct

        if form is None:
            form = {1: "B", 2: "H", 4: "I", 8: "Q"}.get(count, f"{count}s")
        s = struct.Struct("<" + form)
        if s.size != count:
            raise ValueError(f"{what}: the format {form} has {s.size} bytes, the map {count}")

        def encode(v: Any) -> str:
            return s.pack(*(v if isinstance(v, tuple) else (v,))).hex()

        def decode(text: str) -> Any:
            v = s.unpack(bytes.fromhex(text))
            return v[0] if len(v) == 1 else v

        return encode, decode

    def _values(self, text: str, ncpus: int) -> Any:
        if ncpus <= 1:
            return self._value[1](text)
        # Values of CPUs, each rounded up to 8 bytes
        step, used = len(text) // ncpus, 2 * int(self.info["value_size"])
        return [self._value[1](text[i * step:i * step + used]) for i in range(ncpus)]

    def get(self, key: Element) -> Any:
        """The value of a key (per-CPU maps: a list); None: there is no such element."""
        try:
            d = self._target.map_get(self.name, self._key[0](key))
        except Error as e:
            if e.code == "no_such_key":
                return None
            raise
        return self._values(d["value"], int(d.get("ncpus") or 1))

    def __getitem__(self, key: Element) -> Any:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Element, value: Element) -> None:
        self.set(key, value)

    def set(self, key: Element, value: Element, flags: Optional[str] = None,
            if_generation: Optional[int] = None) -> Data:
        return self.update({key: value}, flags=flags, if_generation=if_generation)

    def update(self, values: Mapping[Element, Element], flags: Optional[str] = None,
               if_generation: Optional[int] = None) -> Data:
        """Store elements, at most 31; in a coherent map all of them at one fence, or none."""
        words = [w for k, v in values.items() for w in (self._key[0](k), self._value[0](v))]
        return self._target.map_set(self.name, *words, flags=flags, if_generation=if_generation)

    def delete(self, key: Element) -> Data:
        return self._target.map_remove(self.name, self._key[0](key))

    def entries(self) -> List[Tuple[Any, Any]]:
        """All elements: [(key, value)]."""
        d = self._target.map_dump(self.name)
        n = int(d.get("ncpus") or 1)
        return [(self._key[1](e["key"]), self._values(e["value"], n)) for e in d["entries"]]

    def __iter__(self) -> Iterator[Any]:
        return iter([k for k, _ in self.entries()])
