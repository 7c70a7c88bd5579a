# SPDX-License-Identifier: MIT
"""The commands that each process serves, under their words. Made of core/defs/commands.h by
shell/python/make.lua (`make docs`); not to be edited."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from ._wire import line

Data = Dict[str, Any]
Ask = Callable[[str], Data]
VERSION = "0.1.0"


class Policy:
    """The commands `policy ...`."""

    def __init__(self, read: Ask, write: Ask, change: Ask) -> None:
        self._read, self._write, self._change = read, write, change

    def list(self) -> Data:
        """List the held policies, and mark the policies in use."""
        return self._read(line("policy list"))

    def show(self, name: object) -> Data:
        """Show one policy: hooks, maps, engine, runs, changed and refused answers, mean time."""
        return self._read(line("policy show", name))

    def time(self, state: object) -> Data:
        """Enable or disable timing of every 64th policy run."""
        return self._write(line("policy time", state))

    def dump(self, name: object, *, limit: Optional[int] = None,
             after: Optional[int] = None) -> Data:
        """Disassemble a policy, with source lines."""
        return self._read(line("policy dump", name, limit=limit, after=after))

    def use(self, *words: object, comm: Optional[str] = None,
            if_generation: Optional[int] = None) -> Data:
        """Use these policies, in this order, at a fence; the word none returns to NCCL's own
        choice."""
        return self._change(line("policy use", *words, comm=comm, if_generation=if_generation))

    def add(self, name: object, *, before: Optional[str] = None,
            position: Optional[str] = None, comm: Optional[str] = None,
            if_generation: Optional[int] = None) -> Data:
        """Append a policy, or insert it at a position, at a fence."""
        return self._change(line("policy add", name, before=before, position=position,
                                 comm=comm, if_generation=if_generation))

    def remove(self, name: object, *, comm: Optional[str] = None,
               if_generation: Optional[int] = None) -> Data:
        """Stop using a policy at a fence; the others stay in use."""
        return self._change(line("policy remove", name, comm=comm, if_generation=if_generation))

    def move(self, name: object, *, before: Optional[str] = None,
             position: Optional[str] = None, comm: Optional[str] = None,
             if_generation: Optional[int] = None) -> Data:
        """Change the position of a policy in use, at a fence."""
        return self._change(line("policy move", name, before=before, position=position,
                                 comm=comm, if_generation=if_generation))

    def undo(self, *, to: Optional[int] = None, if_generation: Optional[int] = None) -> Data:
        """Return to the previous generation, or to generation N of policy history, at a
        fence."""
        return self._change(line("policy undo", to=to, if_generation=if_generation))

    def history(self) -> Data:
        """List the last 16 generations with time and user, and whether policy undo can
        return to them."""
        return self._read(line("policy history"))

    def unload(self, name: object) -> Data:
        """Drop a policy that is not in use."""
        return self._write(line("policy unload", name))


class Map:
    """The commands `map ...`."""

    def __init__(self, read: Ask, write: Ask, change: Ask) -> None:
        self._read, self._write, self._change = read, write, change

    def list(self) -> Data:
        """List the maps of the policies in use."""
        return self._read(line("map list"))

    def show(self, map: object) -> Data:
        """Show the definition and fill of one map."""
        return self._read(line("map show", map))

    def dump(self, map: object, *, limit: Optional[int] = None,
             after: Optional[str] = None) -> Data:
        """List elements as hexadecimal bytes."""
        return self._read(line("map dump", map, limit=limit, after=after))

    def get(self, map: object, *words: object) -> Data:
        """Show elements; KEY is hexadecimal bytes."""
        return self._read(line("map get", map, *words))

    def set(self, map: object, key: object, *words: object, flags: Optional[str] = None,
            at: Optional[int] = None, if_generation: Optional[int] = None) -> Data:
        """Store elements (KEY VALUE pairs, hexadecimal); a coherent map changes at a fence;
        at=N: write VALUE to byte N of a local array's element."""
        return self._change(line("map set", map, key, *words, flags=flags, at=at,
                                 if_generation=if_generation))

    def remove(self, map: object, *words: object, if_generation: Optional[int] = None) -> Data:
        """Remove elements; a coherent map drops all of them at one fence."""
        return self._change(line("map remove", map, *words, if_generation=if_generation))

    def pop(self, map: object, *, count: Optional[int] = None) -> Data:
        """Remove and show the next records of a ring buffer."""
        return self._write(line("map pop", map, count=count))


class Controller:
    """The commands `controller ...`."""

    def __init__(self, read: Ask, write: Ask, change: Ask) -> None:
        self._read, self._write, self._change = read, write, change

    def status(self) -> Data:
        """Show the process that runs the controllers of this host, their runs and changes,
        and the last error."""
        return self._read(line("controller status"))

    def pause(self) -> Data:
        """Run no controllers in this job until controller resume."""
        return self._write(line("controller pause"))

    def resume(self) -> Data:
        """Run controllers again."""
        return self._write(line("controller resume"))


class Change:
    """The commands `change ...`."""

    def __init__(self, read: Ask, write: Ask, change: Ask) -> None:
        self._read, self._write, self._change = read, write, change

    def status(self) -> Data:
        """Show the staged change, if any, and the fences of the last change."""
        return self._read(line("change status"))


class Comm:
    """The commands `comm ...`."""

    def __init__(self, read: Ask, write: Ask, change: Ask) -> None:
        self._read, self._write, self._change = read, write, change

    def list(self, *, limit: Optional[int] = None, after: Optional[int] = None) -> Data:
        """List communicators: ranks, nodes, decisions, generation."""
        return self._read(line("comm list", limit=limit, after=after))

    def show(self, comm: object, *, slot: Optional[int] = None) -> Data:
        """Show one communicator: decisions by collective, size and answer."""
        return self._read(line("comm show", comm, slot=slot))


class Check:
    """The commands `check ...`."""

    def __init__(self, read: Ask, write: Ask, change: Ask) -> None:
        self._read, self._write, self._change = read, write, change

    def agreement(self, *, comm: Optional[str] = None, tracks: Optional[str] = None) -> Data:
        """Compare the decisions of the ranks of each communicator on this host, and name the
        first decision that differs; tracks=yes: also send the decisions of communicators of
        several hosts, for the shell to compare."""
        return self._read(line("check agreement", comm=comm, tracks=tracks))


class Decision:
    """The commands `decision ...`."""

    def __init__(self, read: Ask, write: Ask, change: Ask) -> None:
        self._read, self._write, self._change = read, write, change

    def tail(self, *, count: Optional[int] = None, comm: Optional[str] = None) -> Data:
        """Show the last decisions."""
        return self._read(line("decision tail", count=count, comm=comm))


class Env:
    """The commands `env ...`."""

    def __init__(self, read: Ask, write: Ask, change: Ask) -> None:
        self._read, self._write, self._change = read, write, change

    def list(self) -> Data:
        """List overridden variables, and whether NCCL has read them."""
        return self._read(line("env list"))

    def set(self, name: object, value: object) -> Data:
        """Override a variable for future reads; values NCCL has cached do not change."""
        return self._write(line("env set", name, value))

    def unset(self, name: object) -> Data:
        """Hide a variable from future reads of NCCL."""
        return self._write(line("env unset", name))

    def remove(self, name: object) -> Data:
        """Remove an override."""
        return self._write(line("env remove", name))


class Sample:
    """The commands `sample ...`."""

    def __init__(self, read: Ask, write: Ask, change: Ask) -> None:
        self._read, self._write, self._change = read, write, change

    def tail(self, *, count: Optional[int] = None, comm: Optional[str] = None) -> Data:
        """Show the execution times of the last collectives of each communicator."""
        return self._read(line("sample tail", count=count, comm=comm))


class Trace:
    """The commands `trace ...`."""

    def __init__(self, read: Ask, write: Ask, change: Ask) -> None:
        self._read, self._write, self._change = read, write, change

    def start(self, *, events: Optional[str] = None) -> Data:
        """Start recording events into the ring of the process; follow=yes: send the events
        as a stream instead."""
        return self._write(line("trace start", events=events))

    def stop(self) -> Data:
        """Stop recording events; the ring keeps its events."""
        return self._write(line("trace stop"))

    def status(self) -> Data:
        """Show the recorded kinds of events, and the numbers of recorded and omitted events."""
        return self._read(line("trace status"))

    def tail(self, *, count: Optional[int] = None) -> Data:
        """Show what policies printed with bpf_trace_printk."""
        return self._read(line("trace tail", count=count))


class Commands:
    """All commands: those of one word, and those of a noun under it."""

    def __init__(self, read: Ask, write: Ask, change: Ask) -> None:
        self._read, self._write, self._change = read, write, change
        self.policy = Policy(read, write, change)
        self.map = Map(read, write, change)
        self.controller = Controller(read, write, change)
        self.change = Change(read, write, change)
        self.comm = Comm(read, write, change)
        self.check = Check(read, write, change)
        self.decision = Decision(read, write, change)
        self.env = Env(read, write, change)
        self.sample = Sample(read, write, change)
        self.trace = Trace(read, write, change)

    def help(self, word: str = "", word2: str = "") -> Data:
        """List the commands, or explain one."""
        return self._read(line("help", word, word2))

    def status(self) -> Data:
        """Show the process: versions, policies, generation, communicators, counters."""
        return self._read(line("status"))

    def doctor(self) -> Data:
        """Look for settings and states that keep policies from working."""
        return self._read(line("doctor"))

    def explain(self, collective: object, size: object, *, comm: Optional[str] = None) -> Data:
        """Show the decision for a collective and size, with its reasons."""
        return self._read(line("explain", collective, size, comm=comm))

    def net(self, *, limit: Optional[int] = None, after: Optional[int] = None) -> Data:
        """Show the transport of the net plugin, its counters and its connections."""
        return self._read(line("net", limit=limit, after=after))

    def gin(self, *, contexts: Optional[str] = None, comm: Optional[str] = None,
            limit: Optional[int] = None, after: Optional[int] = None) -> Data:
        """Show the transport of the GIN plugin, its counters and its peers."""
        return self._read(line("gin", contexts=contexts, comm=comm, limit=limit, after=after))

    def verbs(self, *, limit: Optional[int] = None, after: Optional[int] = None) -> Data:
        """Show the queue pairs of NCCL's own InfiniBand transport and their counters."""
        return self._read(line("verbs", limit=limit, after=after))

    def telemetry(self, state: object, *, gpu: Optional[str] = None,
                  proxy: Optional[str] = None) -> Data:
        """Enable, disable or clear the measurement of every collective."""
        return self._write(line("telemetry", state, gpu=gpu, proxy=proxy))

    def stats(self, *, comm: Optional[str] = None, limit: Optional[int] = None,
              after: Optional[int] = None) -> Data:
        """Show the times that telemetry has measured, by collective, size, algorithm and
        protocol."""
        return self._read(line("stats", comm=comm, limit=limit, after=after))
