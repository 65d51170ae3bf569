"""A job reaches neither the daemon's socket nor, in its memory, the key."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kpd.daemon import server
from kpd.daemon.hardening import is_confined, is_of_a_job
from kpd.daemon.journal import EventJournal
from kpd.daemon.server import Server
from kpd.hosts.helper.sandbox import NO_NEW_PRIVS
from kpd.hosts.keeper import Order
from kpd.hosts.kept import KeptProcess
from kpd.wire import PROTOCOL
from kpd.workspace import environment
from tests.support.daemon.served import Answers
from tests.support.hosts.local import linux_only
from tests.support.hosts.remote_daemon import far_end

TRIES = """
import contextlib, os, socket, time
os.chdir("/")
parent = os.getpid()
if {orphan}:
    if os.fork(): os._exit(0)
    os.setsid()
    while os.getppid() == parent: time.sleep(0.01)
with socket.socket(socket.AF_UNIX) as line:
    line.connect("{path}")
    with contextlib.suppress(OSError):  # the daemon has refused already: its reason can be read
        line.sendall(b'{{"op":"hello","id":1,"protocol":{protocol},"version":"1","client":"kernel"}}\\n')
        line.sendall(b'{{"op":"command","id":2,"verb":"accept","args":{{}}}}\\n')
    with open("{said}.part", "wb") as out: out.write(line.recv(4096))
os.rename("{said}.part", "{said}")
"""


@linux_only
@pytest.mark.parametrize("orphan", [False, True])
async def test_a_job_may_not_speak_to_the_daemon(
    folder: Path, tmp_path: Path, journal: EventJournal, answers: Answers, orphan: bool
) -> None:
    said = tmp_path / "said"
    program = TRIES.format(path=folder / "s", protocol=PROTOCOL, said=said, orphan=orphan)
    (tmp_path / "try.py").write_text(program)
    wait = f"while [ ! -e {said} ]; do sleep 0.05; done"
    async with (
        Server(folder / "s", journal, answers.query, answers.command),
        far_end(tmp_path / "host", tmp_path / "leases") as far,
    ):
        script = f"env -i {sys.executable} {tmp_path / 'try.py'}\n{wait}"
        assert (await far.run("a", script)).end["rc"] == 0
    assert b"serves no process of a job" in said.read_bytes()
    assert not answers.finished


@linux_only
def test_a_clients_processes_are_not_of_a_job(tmp_path: Path) -> None:
    assert not is_of_a_job(os.getpid())
    jobs = tmp_path / "jobs" / "a"
    jobs.mkdir(parents=True)
    child = subprocess.Popen(["sleep", "60"], cwd=jobs, start_new_session=True)
    try:
        assert not is_of_a_job(child.pid), "there was no job in this folder"
        os.mkfifo(jobs / "alive")
        assert is_of_a_job(child.pid), "a supervisor"
    finally:
        child.kill()
        child.wait()
    assert is_of_a_job(child.pid), "nobody knows what it was"
    assert not is_of_a_job(0), "a client in another container"


@linux_only
def test_the_memory_of_a_daemon_is_closed_to_its_own_user(tmp_path: Path) -> None:
    """Root may read all the same, so both are another user here when root runs the tests."""
    user = 65534 if os.getuid() == 0 else None
    source = (Path(environment.__file__).parents[1] / "daemon" / "hardening.py").read_text()
    own = source.replace("from kpd.hosts.processes import folder_of, parent_of, terminal_of", "")
    program = "close_memory()\nprint('closed', flush=True)\nimport time; time.sleep(60)\n"
    python = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable
    child = subprocess.Popen([python, "-c", own + program], stdout=subprocess.PIPE, user=user, env={"KEY": "secret"})
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"closed\n"
        for name in ("environ", "mem", "maps"):
            got = subprocess.run(["head", "-c1", f"/proc/{child.pid}/{name}"], user=user, capture_output=True)
            assert (got.stdout, b"Permission denied" in got.stderr) == (b"", True), name
    finally:
        child.kill()
        child.communicate()


def test_a_key_leaves_the_environment_once_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_taken", {})
    monkeypatch.setenv("SOME_KEY", "one")
    keys = environment.keys()
    environment.take_key("SOME_KEY")
    assert "SOME_KEY" not in os.environ
    assert keys["SOME_KEY"] == "one"
    assert "SOME_KEY" not in subprocess.run(["env"], capture_output=True, text=True, check=True).stdout
    monkeypatch.setenv("SOME_KEY", "two")
    assert keys["SOME_KEY"] == "two"


@linux_only
def test_a_process_in_a_sandbox_is_known_when_nothing_else_says_whose_it_is() -> None:
    limited = (
        f"import ctypes, time; ctypes.CDLL(None).prctl({NO_NEW_PRIVS}, 1, 0, 0, 0); print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", limited], stdout=subprocess.PIPE, env={}) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == b"\n"
            assert not is_of_a_job(child.pid)
            assert is_confined(child.pid)
        finally:
            child.kill()
    assert not is_confined(os.getpid()), "where the daemon is in one too, that says nothing"
    assert not is_confined(0), "a client in another container"


async def test_a_coding_agent_may_not_speak_to_the_daemon(tmp_path: Path) -> None:
    """Even one that has cleaned its environment and left its group: its keeper adopts it."""
    orphan = "setsid env -i sleep 60 & echo $!"
    order = Order(("sh", "-c", f"({orphan}) ; sleep 60"), str(tmp_path), {"PATH": "/usr/bin:/bin"}, grace_s=0.2)
    kept = await KeptProcess.start(order, tmp_path)
    try:
        assert is_of_a_job(int(await kept.stdout.readline()))
    finally:
        await kept.end()


@pytest.mark.parametrize(("apart_s", "lines"), [(600.0, 1), (0.0, 3)])
async def test_a_job_that_connects_again_and_again_does_not_fill_the_log(
    folder: Path, journal: EventJournal, answers: Answers, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture, apart_s: float, lines: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(server, "is_of_a_job", lambda pid: True)
    monkeypatch.setattr(server, "REFUSALS_S", apart_s)
    async with Server(folder / "s", journal, answers.query, answers.command):
        for _ in range(3):
            reader, writer = await asyncio.open_unix_connection(folder / "s")
            assert b"serves no process of a job" in await reader.read()
            writer.close()
    assert [one.getMessage() for one in caplog.records].count(
        f"process {os.getpid()} belongs to a job, or has ended, so it is not served"
    ) == lines
