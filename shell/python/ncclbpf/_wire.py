# SPDX-License-Identifier: MIT
"""The control socket of one process (docs/protocol.md): lines of text go out, JSON comes back,
and images travel beside a line as sealed memory files."""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import json
import os
import re
import socket
import struct
import time
from typing import Any, Dict, List, NamedTuple, Optional, Union

MAX_REPLY = (1 << 20) + 1
MAX_OBJECT = 8 << 20
# Of linux/fcntl.h; the module fcntl has them only in newer releases.
_ADD_SEALS, _SEALS = 1033, 0x1 | 0x2 | 0x4 | 0x8


class Error(Exception):
    """A failure that the plugin or this module reports. `code` is a stable word, such as
    "not_found"; `hint` says what to do, or is None; `fields` has all of the error."""

    def __init__(self, code: str, message: str, **fields: Any) -> None:
        hint = fields.get("hint")
        super().__init__(f"{message}; {hint}" if hint else message)
        self.code = code
        self.message = message
        self.hint: Optional[str] = hint
        self.fields: Dict[str, Any] = fields

    @classmethod
    def of_reply(cls, error: Any) -> "Error":
        if not isinstance(error, dict):
            return cls("protocol", "the process sent an error without fields")
        rest = {k: v for k, v in error.items() if k not in ("code", "message")}
        return cls(str(error.get("code", "protocol")), str(error.get("message", "")), **rest)


class Socket(NamedTuple):
    """A control socket that was found."""

    path: str
    job: str
    rank: Optional[int]
    pid: int  # in the PID namespace ns
    ns: int = 0


def quote(word: object) -> str:
    """A word of a request line."""
    text = str(word)
    if re.search(r"[\x00\r\n]", text):
        raise ValueError("a word of a request may not contain a line break")
    if re.fullmatch(r"[\w./:=,+@%-]+", text, re.ASCII):
        return text
    return '"' + re.sub(r'[\\"]', r"\\\g<0>", text) + '"'


def line(words: str, *arguments: object, **options: object) -> str:
    """A request line of a command's words, its arguments and its options."""
    parts = [words] + [quote(a) for a in arguments]
    parts += [f"{k}={quote(v)}" for k, v in options.items() if v is not None]
    return " ".join(parts)


# ---- finding sockets ----------------------------------------------------------------


def _directories() -> List[str]:
    only = os.environ.get("NCCLBPF_SOCKET_DIR")
    if only:
        return [only]
    uid, tmp = os.geteuid(), os.environ.get("TMPDIR") or "/tmp"
    found = [f"/run/ncclbpf/{uid}", f"{tmp}/ncclbpf-{uid}", f"/dev/shm/ncclbpf-{uid}"]
    return list(dict.fromkeys(found))


def _trusted(path: str) -> bool:
    try:
        st = os.lstat(path)
    except OSError:
        return False
    return os.path.isdir(path) and not os.path.islink(path) and st.st_mode & 0o077 == 0 and (
        st.st_uid == os.geteuid() or os.geteuid() == 0)


def _namespace() -> int:
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def _alive(path: str, ns: int, pid: int) -> bool:
    """A process of another PID namespace cannot be found by its PID, but its socket can."""
    if ns == _namespace():
        return os.path.exists(f"/proc/{pid}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.2)
        return probe.connect_ex(path) not in (errno.ECONNREFUSED, errno.ENOENT)


def sockets() -> List[Socket]:
    """Control sockets of living processes of this user, in the order of job and rank."""
    found = []
    for folder in filter(_trusted, _directories()):
        for name in os.listdir(folder):
            m = re.fullmatch(r"([\w-]+)\.(\d+|-)\.(\d+)\.(\d+)\.sock", name, re.ASCII)
            if m and _alive(f"{folder}/{name}", int(m[3]), int(m[4])):
                rank = None if m[2] == "-" else int(m[2])
                found.append(Socket(f"{folder}/{name}", m[1], rank, int(m[4]), int(m[3])))
    return sorted(found, key=lambda s: (s.job, s.rank is None, s.rank or 0, s.pid, s.ns))


# ---- a connection -------------------------------------------------------------------


def _memory_file(content: bytes) -> int:
    try:
        fd = os.memfd_create("ncclbpf", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError as e:
        raise Error("cannot_open", f"memfd_create: {e.strerror}",
                    hint="allow memfd_create in the container's seccomp profile") from e
    try:
        with os.fdopen(os.dup(fd), "wb") as f:
            f.write(content)
        fcntl.fcntl(fd, _ADD_SEALS, _SEALS)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _bpf(command: int, attributes: bytes) -> int:
    """bpf(2). -> a descriptor"""
    numbers = {"x86_64": 321, "aarch64": 280}
    if os.uname().machine not in numbers:
        raise Error("not_supported", f"no bpf() on {os.uname().machine}: give a descriptor")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = int(libc.syscall(numbers[os.uname().machine], command, attributes, len(attributes)))
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.set_inheritable(fd, False)
    return fd


def host_memory(source: str) -> int:
    """A descriptor of a BPF map ("id:N", or the path where it is pinned) or of a memory file."""
    bpf_obj_get, bpf_map_get_fd_by_id = 7, 14
    try:
        if source.startswith("id:") and source[3:].isdigit():
            return _bpf(bpf_map_get_fd_by_id, struct.pack("=3I", int(source[3:]), 0, 0))
        try:
            return os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError as e:
            if e.errno != errno.EIO:  # what a file of a BPF file system answers
                raise
        path = ctypes.create_string_buffer(os.fsencode(source))
        return _bpf(bpf_obj_get, struct.pack("=Q2I", ctypes.addressof(path), 0, 0))
    except OSError as e:
        code = {errno.ENOENT: "not_found", errno.EPERM: "not_permitted",
                errno.EACCES: "not_permitted"}.get(e.errno or 0, "cannot_open")
        raise Error(code, f"{source}: {e.strerror or e}") from e


class Connection:
    """One process. `hello` is its answer to the greeting: pid, rank, job, host and more."""

    def __init__(self, path: str, timeout: Optional[float]) -> None:
        self.path = path
        self.timeout = timeout
        self._pending = b""
        self._fds: List[int] = []
        self._next = 1
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._sock.settimeout(timeout)
            self._sock.connect(path)
            self._check_peer()
            self.hello: Dict[str, Any] = self.ask("hello 1")
        except OSError as e:
            self.close()
            raise Error("no_target", f"{path}: {e.strerror or e}") from e
        except BaseException:
            self.close()
            raise

    def _check_peer(self) -> None:
        size = struct.calcsize("3i")
        uid = struct.unpack("3i", self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED,
                                                        size))[1]
        if os.geteuid() not in (0, uid):
            raise Error("not_permitted", f"{self.path}: the process belongs to uid {uid}")

    def close(self) -> None:
        self._sock.close()
        for fd in self._fds:
            os.close(fd)
        self._fds = []

    def fileno(self) -> int:
        return self._sock.fileno()

    def send(self, text: str, content: Union[bytes, int, None] = None) -> int:
        """Send a request with the bytes or the descriptor `content`. -> its number, which the
        reply has"""
        number, self._next = self._next, self._next + 1
        data = f"@{number} {text}\n".encode()
        rights, fd, sent = [], None, False
        if content is not None:
            fd = os.dup(content) if isinstance(content, int) else _memory_file(content)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        try:
            self._sock.sendall(data[self._sock.sendmsg([data], rights):])
            sent = True
        except OSError as e:
            raise Error("no_target", f"{self.path}: {e.strerror or e}") from e
        finally:
            if fd is not None:
                os.close(fd)
            if not sent:  # The next line would be taken for the rest of this one.
                self.close()
        return number

    def _fill(self) -> None:
        if len(self._pending) > MAX_REPLY:
            raise Error("protocol", f"{self.path}: a line is longer than 1 MiB")
        room = socket.CMSG_SPACE(4 * array.array("i").itemsize)
        data, notes, _, _ = self._sock.recvmsg(1 << 16, room, socket.MSG_CMSG_CLOEXEC)
        for level, kind, content in notes:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(content[:len(content) - len(content) % fds.itemsize])
                self._fds += fds
        if not data:
            raise Error("no_target", f"{self.path}: the process closed the connection")
        self._pending += data

    def line(self) -> Dict[str, Any]:
        """The next line that came, a reply or an element of a stream."""
        while b"\n" not in self._pending:
            try:
                self._fill()
            except socket.timeout as e:
                raise Error("timed_out", f"{self.path}: no answer within {self.timeout} s") from e
            except OSError as e:
                raise Error("no_target", f"{self.path}: {e.strerror or e}") from e
        text, self._pending = self._pending.split(b"\n", 1)
        try:
            reply = json.loads(text)
        except ValueError as e:
            raise Error("protocol", f"{self.path}: a line that is not JSON") from e
        if not isinstance(reply, dict) or not isinstance(reply.get("ok"), bool):
            raise Error("protocol", f"{self.path}: JSON that is not a reply")
        return reply

    def has_line(self) -> bool:
        return b"\n" in self._pending

    def reply(self, number: int) -> Dict[str, Any]:
        """The data of the reply to a request; raises its error."""
        end = None if self.timeout is None else time.monotonic() + self.timeout
        while True:
            reply = self.line()
            if reply.get("id") == number or (reply.get("id") is None and not reply["ok"]):
                break
            if end is not None and time.monotonic() > end:
                raise Error("timed_out", f"{self.path}: no answer within {self.timeout} s")
        if not reply["ok"]:
            raise Error.of_reply(reply.get("error"))
        data = reply.get("data")
        return data if isinstance(data, dict) else {}

    def ask(self, text: str, content: Optional[bytes] = None) -> Dict[str, Any]:
        return self.reply(self.send(text, content))

    def content(self) -> bytes:
        """The memory file that came beside the last reply."""
        if not self._fds:
            raise Error("protocol", f"{self.path}: no memory file came with the reply")
        with os.fdopen(self._fds.pop(0), "rb") as f:
            f.seek(0)
            return f.read(MAX_OBJECT)
