"""A host behind ssh that is really this machine, with a network between that can be cut."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.hosts.slow_pipe import Proxy, proxy
from tests.support.hosts.sshd import Sshd, sshd


class Box:
    """An sshd, a proxy before it in a thread of its own, and the operator's ~/.ssh/config in `home`."""

    def __init__(self, name: str, server: Sshd, network: Proxy, loop: asyncio.AbstractEventLoop, home: Path) -> None:
        self.name = name
        self.server = server
        self.home = home
        self._network = network
        self._loop = loop

    @property
    def port(self) -> int:
        """Where the network takes connections to the server."""
        return self._network.port

    def network(self, act: Callable[[Proxy], Any]) -> Any:
        """Do something to the network, in its own thread."""

        async def acted() -> Any:
            return act(self._network)

        return asyncio.run_coroutine_threadsafe(acted(), self._loop).result(10)

    def go_down(self) -> None:
        def down(network: Proxy) -> None:
            network.down = True
            network.cut()

        self.network(down)

    def come_back(self) -> None:
        self.network(lambda network: setattr(network, "down", False))

    @property
    def far(self) -> Path:
        """Where jobs and content lie on the host."""
        return self.home.parent / f"far-{self.name}"

    def table(self, **more: str) -> str:
        """The host's table in config.toml."""
        lines = [f"[hosts.{self.name}]", 'transport = "ssh"', f'address = "{self.name}"', f'root = "{self.far}"']
        return "\n".join([*lines, *(f"{key} = {value}" for key, value in more.items()), "", ""])

    def know(self) -> None:
        """The operator has the server's key in known_hosts."""
        line = f"[127.0.0.1]:{self.port} {self.server.host_key_pub}\n"
        with (self.home / ".ssh" / "known_hosts").open("a") as file:
            file.write(line)


@contextmanager
def box(folder: Path, name: str = "box", **sshd_options: object) -> Iterator[Box]:
    """A running box whose key is known; `folder/home` is the operator's home, shared by all boxes of a folder."""
    home = folder / "home"
    (home / ".ssh").mkdir(parents=True, exist_ok=True, mode=0o700)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=f"network of {name}")
    thread.start()
    try:
        with sshd(folder / "servers", name, **sshd_options) as server:
            network = proxy(server.port)
            running = asyncio.run_coroutine_threadsafe(network.__aenter__(), loop).result(10)
            try:
                options = {**server.host_options, "Port": running.port}
                del options["UserKnownHostsFile"]
                block = "".join([f"Host {name}\n", *(f"  {key} {value}\n" for key, value in options.items())])
                with (home / ".ssh" / "config").open("a") as config:
                    config.write(block)
                found = Box(name, server, running, loop, home)
                found.know()
                yield found
            finally:
                asyncio.run_coroutine_threadsafe(network.__aexit__(None, None, None), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
