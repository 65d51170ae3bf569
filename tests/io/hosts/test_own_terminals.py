"""Terminals of a confined command: real ones, in a real sandbox."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from kpd.hosts.helper.processes import MARK
from kpd.hosts.keeper import Order
from kpd.hosts.kept import KeptProcess
from kpd.hosts.own_network import can_isolate
from tests.places import READS

ASKS = """
import json, os, pty
child, terminal = pty.fork()
if child == 0:
    os.execvp("sh", ["sh", "-c", "test -t 0 && tty && echo heard > /dev/tty"])
said = b""
try:
    while data := os.read(terminal, 1024):
        said += data
except OSError:  # the end of a terminal
    pass
print(json.dumps([said.decode().split(), sorted(os.listdir("/dev/pts")), os.waitpid(child, 0)[1]]))
"""


@pytest.mark.parametrize("ports", [None, ()], ids=["network open", "network of its own"])
async def test_a_confined_command_has_terminals_and_sees_nobody_elses(
    tmp_path: Path, ports: tuple[int, ...] | None
) -> None:
    if not can_isolate():
        pytest.skip("this system gives no namespaces")
    shell, users = os.openpty()
    try:
        env = {"PATH": "/usr/bin:/bin"}
        order = Order((sys.executable, "-c", ASKS), str(tmp_path), env, READS, (str(tmp_path),), ports=ports)
        process = await KeptProcess.start(order, tmp_path)
        said = await process.stdout.read()
        ending = await process.end()
        assert ending.rc == 0, process.said
        assert os.path.exists(os.ttyname(users)), "outside nothing has changed"  # noqa: ASYNC240, PTH110
    finally:
        os.close(shell)
        os.close(users)
    assert json.loads(said) == [["/dev/pts/0", "heard"], ["0", "ptmx"], 0]


REFUSED = """
import ctypes, os
libc = ctypes.CDLL(None)
assert libc.unshare(0x20000) == 0 and libc.mount(None, b"/", None, 0x84000, None) == 0
assert libc.mount(b"/proc", b"/proc", None, 0x1000, None) == 0
assert libc.mount(None, b"/proc", None, 0x1021, None) == 0  # now nothing can be written in it
from kpd.hosts.own_terminals import own_terminals
before = os.readlink("/proc/self/ns/user")
print(own_terminals(), os.getuid(), os.readlink("/proc/self/ns/user") == before)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make such a system")
def test_a_system_that_gives_users_and_no_names_for_them_changes_nothing() -> None:
    """Ubuntu's rule for namespaces without privilege is such: a program would go on as nobody."""
    said = subprocess.run((sys.executable, "-c", REFUSED), capture_output=True, text=True, timeout=20, check=False)
    assert said.stdout.split() == ["()", "0", "True"], said.stderr


async def test_a_command_that_nobody_wants_any_more_while_it_starts_is_ended(tmp_path: Path) -> None:
    """Its keeper makes a network of its own first: a run that was stopped meanwhile left the agent."""
    if not can_isolate():
        pytest.skip("this system gives no namespaces")
    order = Order(("sleep", "600"), str(tmp_path), {"PATH": os.environ["PATH"]}, READS, (str(tmp_path),), ports=())
    kept, folders = [], [tmp_path / str(ms) for ms in range(5, 30, 5)]
    for number, folder in enumerate(folders, 1):
        folder.mkdir()
        starting = asyncio.create_task(KeptProcess.start(order, folder))
        await asyncio.sleep(0.005 * number)
        starting.cancel()
        try:
            await (await starting).end()  # it had started by then
        except asyncio.CancelledError as err:
            kept.append(err)  # whoever has cancelled it may keep that, and with it what it holds
    found = [(one.info["environ"] or {}).get(MARK) for one in psutil.process_iter(["environ"])]
    assert kept
    assert not {str(folder) for folder in folders}.intersection(filter(None, found))
