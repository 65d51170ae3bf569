"""Carries connections to unix sockets of the host over the pipe, any number at once, with back-pressure."""

import collections
import errno
import functools
import selectors
import socket
from pathlib import Path

from kpd.hosts.helper.files import RequestRefused
from kpd.hosts.helper.follow import OUTBOX
from kpd.hosts.helper.wire import Header, Wire

CHUNK = 64 << 10
ROOM = OUTBOX + (1 << 20)  # a socket is read while less than this waits for the pipe; a job's output uses less


class Tunnel:
    """One connected socket.

    It keeps the bytes that the socket has not taken yet, and counts those of the socket that the near side has not
    taken.
    """

    def __init__(self, request: int, end: socket.socket, window: int) -> None:
        self.request = request
        self.socket = end
        self.window = window  # the most bytes under way to the near side
        self.untaken = 0  # bytes under way to it now
        self.outbox = collections.deque()  # type: collections.deque[memoryview]
        self.waiting = 0  # bytes in the outbox
        self.last = False  # whether the near side has said that it sends no more
        self.deaf = False  # whether the far side takes no more
        self.events = 0  # what the selector waits for

    def put(self, data: bytes, last: bool) -> None:
        if data:
            self.outbox.append(memoryview(data))
            self.waiting += len(data)
        self.last = self.last or last
        self.flush()

    def flush(self) -> None:
        """Write as much of the outbox as the socket takes; close its writing side after the last byte."""
        try:
            while self.outbox:
                sent = self.socket.send(self.outbox[0])
                self.waiting -= sent
                self.outbox[0] = self.outbox[0][sent:]
                if not self.outbox[0]:
                    self.outbox.popleft()
            if self.last:
                self.socket.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            return
        except OSError:  # it reads no more; what it has written is still to be read
            self.deaf = True
            self.outbox.clear()
            self.waiting = 0


class Tunnels:
    """The tunnels of one pipe. A tunnel ends with either of its ends, and all of them with the pipe."""

    def __init__(self, wire: Wire, selector: selectors.BaseSelector) -> None:
        self.wire = wire
        self.selector = selector
        self.open = {}  # type: dict[int, Tunnel]

    def op_tunnel(self, request: int, body: bytes, path: str, window: int) -> None:
        end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        end.setblocking(False)
        try:
            end.connect(str(Path(path).expanduser()))
        except OSError as err:
            end.close()
            kind = "not_found" if err.errno in (errno.ENOENT, errno.ENOTDIR) else "host"
            raise RequestRefused(kind, f"cannot connect to {path}: {err.strerror or err}") from err
        self.open[request] = Tunnel(request, end, window)

    def op_send(self, request: int, body: bytes, to: int, end: bool) -> Header:
        tunnel = self.open.get(to)
        if tunnel is None:
            raise RequestRefused("not_found", "the tunnel has ended")
        if tunnel.deaf:
            raise RequestRefused("host", "the tunnel's far end takes no more")
        tunnel.put(body, end)
        return {"waiting": tunnel.waiting}

    def op_took(self, request: int, body: bytes, to: int, count: int) -> None:
        """Count bytes that the near side has taken. No answer is sent; the tunnel may have ended meanwhile."""
        if to in self.open:
            self.open[to].untaken -= count

    def op_shut(self, request: int, body: bytes, to: int) -> Header:
        """End a tunnel at once and drop what is under way in it. A tunnel that has ended is no error."""
        if to in self.open:
            self.end(self.open[to])
        return {}

    def look_for(self) -> None:
        """Register with the selector what each tunnel can do now."""
        for tunnel in self.open.values():
            room = self.wire.waiting < ROOM and tunnel.untaken < tunnel.window
            events = (selectors.EVENT_READ if room else 0) | (selectors.EVENT_WRITE if tunnel.outbox else 0)
            if events != tunnel.events:
                if tunnel.events:
                    self.selector.unregister(tunnel.socket)
                if events:
                    self.selector.register(tunnel.socket, events, functools.partial(self.stir, tunnel))
                tunnel.events = events

    def stir(self, tunnel: Tunnel, events: int) -> None:
        if tunnel.request not in self.open:
            return  # it ended earlier in the same round
        if events & selectors.EVENT_WRITE:
            tunnel.flush()
        if events & selectors.EVENT_READ:
            data = b""
            try:
                data = tunnel.socket.recv(CHUNK)
            except BlockingIOError:
                return
            except OSError:  # a reset is an end, too
                self.end(tunnel)
                return
            if data:
                tunnel.untaken += len(data)
                self.wire.send({"id": tunnel.request, "tunnel": 1}, data)
            else:
                self.end(tunnel)

    def end(self, tunnel: Tunnel) -> None:
        del self.open[tunnel.request]
        if tunnel.events:
            self.selector.unregister(tunnel.socket)
        tunnel.socket.close()
        self.wire.send({"id": tunnel.request, "ok": {}})
