# SPDX-License-Identifier: MIT
"""TCP links with faults, for tests that may not change the host's network.

A Link listens on a free port of 127.0.0.1 and forwards to a target. Its faults
hold for connections that are open and for those to come:

    cut     connections end with RST, new ones too
    silent  bytes are kept and nobody is told, as when packets are dropped; what
            was kept goes on afterwards, as TCP sends it again
    delay   seconds that each piece of data takes longer, each way
    loss    probability that a piece waits for a retransmission (200 ms)
    against names of those whose connections are cut or silent; none: all
    hold    texts: a piece from the client that has one of them waits while hold is set;
            held says that there is such a piece

The target may change; it holds for connections to come.
"""
import asyncio
import random
import socket
import struct
import threading

PIECE = 65536
OVERLAP = 255  # bytes; a text that is held is not longer
RETRANSMIT_S = 0.2


def reset(writer):
    """Close with RST: the peer does not take it for an orderly end."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass  # it is closed already; the caller has others to reset
    writer.transport.abort()


class Link:
    def __init__(self, target, who=lambda port: None):
        self.target = target
        self.who = who
        self.cut = self.silent = False
        self.held = False
        self.against = set()
        self.hold = ()
        self.delay = self.loss = 0.0
        self.open = {}
        self.port = 0

    async def start(self):
        server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]

    def hits(self, name):
        return not self.against or name in self.against

    def reset_all(self):
        for writer, name in list(self.open.items()):
            if self.hits(name):
                reset(writer)

    async def accept(self, reader, writer):
        ends = [writer]
        name = self.who(writer.get_extra_info("peername")[1])
        self.open[writer] = name
        try:
            while self.silent and self.hits(name):
                await asyncio.sleep(0.01)
            if self.cut and self.hits(name):
                return
            there, to = await asyncio.open_connection(*self.target)
            ends.append(to)
            self.open[to] = name
            sent = self.forward(reader, to, name, self.wait_held)
            received = self.forward(there, writer, name)
            await asyncio.wait({asyncio.ensure_future(sent), asyncio.ensure_future(received)},
                               return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass
        finally:
            for end in ends:
                self.open.pop(end, None)
                reset(end)

    async def wait_held(self, last, data):
        """@last: the end of the piece before: a text may lie in both."""
        both = last + data
        while any(both.find(t, max(0, len(last) - len(t) + 1)) >= 0 for t in self.hold):
            self.held = True
            await asyncio.sleep(0.002)

    async def forward(self, reader, writer, name, wait_held=None):
        last = b""
        while True:
            data = await reader.read(PIECE)
            if not data:
                return
            if wait_held:
                await wait_held(last, data)
                last = (last + data)[-OVERLAP:]
            wait = self.delay
            if self.loss and random.random() < self.loss:
                wait += RETRANSMIT_S
            if wait:
                await asyncio.sleep(wait)
            while self.silent and self.hits(name):
                await asyncio.sleep(0.01)
            writer.write(data)
            await writer.drain()


class Net:
    """Links, served by a thread of their own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda loop, context: None)
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def link(self, host, port, who=lambda port: None):
        """@who gives a connection's origin, of its port there, its name."""
        link = Link((host, port), who)
        asyncio.run_coroutine_threadsafe(link.start(), self.loop).result(5)
        return link

    def set(self, link, **faults):
        """Change a link's faults; cut=True ends its connections at once."""
        def change():
            for name, value in faults.items():
                setattr(link, name, value)
            if faults.get("cut"):
                link.reset_all()
        self.loop.call_soon_threadsafe(change)

    def reset(self, link):
        """End its connections once."""
        self.loop.call_soon_threadsafe(link.reset_all)
