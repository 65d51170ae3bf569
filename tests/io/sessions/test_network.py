"""The way out of an agent's own network: a real namespace, real connections."""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from kpd.hosts.keeper import Order
from kpd.hosts.own_network import can_isolate
from kpd.sessions import network
from kpd.sessions.conversation import Conversation
from kpd.sessions.exec_talk import ExecTalk
from kpd.sessions.network import AgentNetwork, Reach
from kpd.workspace.endpoints import Endpoint
from tests.places import READS
from tests.support.patience import PATIENCE_S
from tests.support.sessions.tls import UNKNOWN_NAME, hello_of

Say = Callable[[bytes], Awaitable[bytes]]
CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"

TRIES = """
import json, os, socket, sys, urllib.request
service, other = sys.argv[1:]
found = {}
def tried(name, act):
    try:
        found[name] = act()
    except OSError as err:
        found[name] = getattr(err, "strerror", None) or str(getattr(err, "reason", None) or err)
def connect(host, port):
    socket.create_connection((host, port), 60).close()
    return "connected"
def get(url, proxies):
    return urllib.request.build_opener(urllib.request.ProxyHandler(proxies)).open(url, timeout=60).read().decode()
os.environ.pop("NO_PROXY"), os.environ.pop("no_proxy")
proxy = {"http": os.environ["HTTP_PROXY"], "https": os.environ["HTTPS_PROXY"]}
tried("service", lambda: get(f"http://127.0.0.1:{service}/", {}))
tried("service by the proxy", lambda: get(f"http://127.0.0.1:{service}/", proxy))
tried("other port", lambda: connect("127.0.0.1", int(other)))
tried("other port by the proxy", lambda: get(f"http://127.0.0.1:{other}/", proxy))
tried("other name", lambda: get("https://example.com/", proxy))
tried("an IP", lambda: connect("1.1.1.1", 443))
tried("a datagram", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("1.1.1.1", 53)))
print(json.dumps(found))
"""


@pytest.fixture
async def service() -> AsyncIterator[int]:
    """A service on this machine's loopback, which says how each request began; yields its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:  # of a client that only connected
            return writer.close()
        first = head.partition(b"\r\n")[0]
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(first), first))
        await writer.drain()
        return writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_an_agent_reaches_its_service_and_nothing_else(tmp_path: Path, service: int) -> None:
    if not can_isolate():  # an OSError, where this machine is too busy to show it, fails the test
        pytest.skip("this system gives no network namespace")
    refused: list[Endpoint] = []
    reach = Reach(frozenset({Endpoint("127.0.0.1", service)}))
    way = AgentNetwork(reach, refused.append)
    tree = tmp_path / "session" / "tree"
    tree.mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        argv = (sys.executable, "-c", TRIES, str(service), str(port))
        env = {"PATH": "/usr/bin:/bin", **reach.env}
        order = Order(argv, str(tree), env, READS, (str(tree),), ports=reach.ports)
        said = Conversation(lambda channel, text: None, tree.parent / "log.jsonl")
        found = await ExecTalk(order, tree.parent, tree.parent / "prompt.md", said, way).ask("go", 30.0, 1.0)
        await way.close()
    assert found.end == "done", found.said
    assert json.loads(found.said) == {
        "service": "GET / HTTP/1.1",
        "service by the proxy": "GET / HTTP/1.1",
        "other port": "Connection refused",
        "other port by the proxy": "Forbidden",
        "other name": "Tunnel connection failed: 403 Forbidden",
        "an IP": "Network is unreachable",
        "a datagram": "Network is unreachable",
    }
    assert refused == [Endpoint("127.0.0.1", port), Endpoint("example.com", 443)]


@pytest.fixture
def refused() -> list[Endpoint]:
    return []


@pytest.fixture
async def proxy(service: int, refused: list[Endpoint]) -> AsyncIterator[tuple[str, int]]:
    """A proxy, by which the service can be reached; yields its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    reach = Reach(
        frozenset({Endpoint("127.1", service), Endpoint("127.0.0.1", service), Endpoint("localhost", service)})
    )
    way = AgentNetwork(reach, refused.append)
    way.open((listener, socket.create_server(("127.0.0.1", 0))))
    yield listener.getsockname()
    await way.close()


@pytest.fixture
def say(proxy: tuple[str, int]) -> Say:
    """Sends bytes to a proxy, and returns all that it answers."""

    async def said(request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(*proxy)
        writer.write(request)
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    return said


async def test_a_connected_client_speaks_for_itself(say: Say, service: int) -> None:
    found = await say(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\nPUT /x HTTP/1.1\r\n\r\n" % service)
    assert found.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")
    assert found.endswith(b"PUT /x HTTP/1.1")


async def test_a_client_of_tls_asks_for_the_server_it_is_connected_to(
    say: Say, service: int, refused: list[Endpoint]
) -> None:
    request = b"CONNECT localhost:%d HTTP/1.1\r\n\r\n" % service
    found = await say(request + hello_of("localhost") + b"\r\n\r\n")
    assert found.startswith(CONNECTED + b"HTTP/1.1 200 OK") and hello_of("localhost")[:5] in found
    assert await say(request + hello_of("Other.example")) == CONNECTED + UNKNOWN_NAME
    assert await say(request + hello_of("")) == CONNECTED + UNKNOWN_NAME
    assert refused == [Endpoint("other.example", service)]


async def test_a_name_that_leads_to_this_machine_is_no_service(say: Say, service: int) -> None:
    found = await say(b"CONNECT 127.1:%d HTTP/1.1\r\n\r\n" % service)
    assert found.startswith(b"HTTP/1.1 502")
    assert b"its name leads to this machine" in found


async def test_garbage_a_long_head_and_silence_have_an_end(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await say(b"\x00\xff\r\n\r\n")).startswith(b"HTTP/1.1 400")
    assert await say(b"CONNECT " + bytes(network.MOST_HEAD + 1)) == b""
    monkeypatch.setattr(network, "HEAD_S", 0.2)
    assert await say(b"CONNECT") == b""


async def test_an_idle_connection_ends(say: Say, service: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "IDLE_S", 0.2)
    assert await say(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % service) == CONNECTED


async def test_a_connection_waits_until_there_is_room(
    proxy: tuple[str, int], service: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "MOST_OPEN", 2)
    found = []
    for nth in range(4):
        reader, writer = await asyncio.open_connection(*proxy)
        writer.write(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % service)
        found.append((reader, writer))
        if nth < 2:
            assert await reader.readexactly(len(CONNECTED)) == CONNECTED
    waiting = [asyncio.create_task(reader.readexactly(len(CONNECTED))) for reader, _ in found[2:]]
    done, _ = await asyncio.wait(waiting, timeout=0.3)
    assert len(done) < 2, "one may have been taken while there was room"
    for _, writer in found[:2]:
        writer.close()
    async with asyncio.timeout(PATIENCE_S):
        assert await asyncio.gather(*waiting) == [CONNECTED, CONNECTED]
    for _, writer in found[2:]:
        writer.close()


def test_an_address_of_this_machine_leads_here_and_another_does_not() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but those of its loopback")
        own = asking.getsockname()[0]
    assert not own.startswith("127.")
    assert network.leads_here(own) and network.leads_here("::1") and not network.leads_here("192.0.2.1")


def test_a_service_on_the_other_loopback_goes_by_the_proxy() -> None:
    assert "::1" not in Reach(frozenset({Endpoint("::1", 8000)})).env["NO_PROXY"]
