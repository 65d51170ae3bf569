"""The pipe to a helper: what starts it, what breaks it, and that nobody waits for ever."""

import ast
import asyncio
import gc
import os
import signal
import sys
from pathlib import Path, PurePosixPath

import pytest

from kpd.hosts.bundle import MODULES, bundle
from kpd.hosts.errors import HostError
from kpd.hosts.helper.wire import GREETING, LENGTHS, MAX_BODY, pack
from kpd.hosts.host import Host
from kpd.hosts.link import Link
from kpd.hosts.local import Local
from kpd.hosts.reconnect import LinkTiming
from tests.support.hosts.local import helper_pid, host, host_at, spec
from tests.support.hosts.pythons import oldest_python, python_that

__all__ = ["host"]

HELPER = Path(sys.modules["kpd.hosts.bundle"].__file__).parent / "helper"


def test_the_helper_needs_only_the_standard_library_of_python_3_6() -> None:
    assert {path.stem for path in HELPER.glob("*.py")} == {*MODULES, "__init__"}
    for name in MODULES:
        gc.disable()  # what a collection runs can parse as well, and 3.11 takes its depth for its own: cpython#106905
        try:
            tree = ast.parse((HELPER / f"{name}.py").read_text(), feature_version=(3, 6))
        finally:
            gc.enable()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                for module in modules:
                    assert module.split(".")[0] in sys.stdlib_module_names or module.startswith("kpd.hosts.helper")
                    assert module != "__future__"


@pytest.mark.skipif(oldest_python() is None, reason="no python3 older than 3.11 here")
async def test_the_helper_runs_under_an_older_python(tmp_path: Path) -> None:
    async with host_at(tmp_path, Local(oldest_python())) as host:
        digest = await host.stage({"é/a": b"x"})
        result = await host.job(spec("a", f"cat '{host.root}/trees/{digest}/é/a'; sleep 300 & exit 3", stdin=b"y"))
        assert (result.rc, result.stdout) == (3, b"x")
        assert (await host.job(spec("b", "sleep 300", limit_s=0.1))).reason == "timeout"


async def test_many_requests_in_flight_find_their_own_answers(host: Host) -> None:
    contents = [b"%d" % n for n in range(200)]
    digests = await asyncio.gather(*(host.stage({"f": data}) for data in contents))
    found = await asyncio.gather(*(host.read(f"trees/{digest}/f", 10) for digest in digests))
    assert found == contents


async def test_every_request_in_flight_fails_when_the_helper_dies(tmp_path: Path) -> None:
    channel = await Local().open()
    link = Link("local", channel)
    await link.start()
    asked = [asyncio.create_task(link.ask("hello", root=str(tmp_path))) for _ in range(5)]
    os.kill(channel.pid, signal.SIGSTOP)
    asked += [asyncio.create_task(link.ask("running")) for _ in range(5)]
    await asyncio.sleep(0)
    os.kill(channel.pid, signal.SIGKILL)
    await asyncio.wait(asked)
    errors = [task.exception() for task in asked if task.exception() is not None]
    assert len(errors) >= 5 and {error.kind for error in errors} == {"helper_died"}
    assert link.broken.is_set() and not link.up
    with pytest.raises(HostError, match="connects again"):
        await link.ask("running")
    await link.close()


async def test_a_closed_host_refuses_and_connects_again(host: Host) -> None:
    await host.connect()
    pid = helper_pid(host)
    await host.connect()
    assert helper_pid(host) == pid  # an open link is kept
    await host.close()
    await host.close()
    assert not host.up
    with pytest.raises(HostError) as caught:
        await host.running()
    assert caught.value.kind == "unreachable"
    await host.connect()
    assert await host.running() == []


async def test_a_helpers_last_words_are_in_the_error(host: Host) -> None:
    link = await host.linked()
    await link._send(pack({"op": "ping"}))
    await link.broken.wait()
    with pytest.raises(HostError, match="KeyError: 'id'") as caught:
        await link.ask("ping")
    assert caught.value.kind == "helper_died"


@pytest.mark.parametrize(
    ("op", "fields", "words"),
    [
        ("nonsense", {}, "there is no op_nonsense"),
        ("read", {"path": 5, "limit": 1}, "TypeError: "),
        ("read", {}, "TypeError: .*path"),
        ("clean", {"older_than_s": "old"}, r"TypeError: .* \(kpd\.hosts\.helper\.clean, line \d+, in op_clean\)"),
        ("clean", {"older_than_s": 1e9, "keep_bytes": "all"}, "TypeError: .* in clean"),
        ("hello", {"root": "~no-such-user-here/kpd"}, "Error: .* in "),
    ],
)
async def test_a_request_that_the_helper_stumbles_over_is_an_error_and_the_link_stays_up(
    host: Host, op: str, fields: dict[str, object], words: str
) -> None:
    link = await host.linked()
    await host.job(spec("a", "true"))
    with pytest.raises(HostError, match=words) as caught:
        await link.ask(op, **fields)
    assert caught.value.kind == "host"
    await link.ask("ping")
    assert link.up


async def test_a_root_of_nobody_is_an_error_at_connect(tmp_path: Path) -> None:
    lost = Host("local", PurePosixPath("~no-such-user-here/kpd"), Local(), leases=str(tmp_path / "leases"))
    try:
        with pytest.raises(HostError, match="home") as caught:
            await lost.connect()
        assert caught.value.kind == "host"
    finally:
        await lost.close()


async def test_a_message_that_is_too_large_is_refused_and_the_link_stays_up(host: Host) -> None:
    with pytest.raises(HostError) as caught:
        await host.job(spec("a", "true", stdin=bytes(MAX_BODY + 1)))
    assert caught.value.kind == "too_large"
    assert (await host.job(spec("a", "true"))).rc == 0


async def test_a_shells_greeting_before_the_helper_is_read_over(tmp_path: Path) -> None:
    local = python_that(
        tmp_path, f"echo 'Welcome to the machine'; printf 'x\\0kpd-helper'; exec {sys.executable} \"$@\""
    )
    async with host_at(tmp_path / "host", local) as host:
        assert (await host.job(spec("a", "echo ok"))).stdout == b"ok\n"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (None, "cannot start"),
        ("echo 'not today' >&2; exit 1", "not today"),
    ],
)
async def test_no_python(tmp_path: Path, script: str | None, words: str) -> None:
    transport = python_that(tmp_path, script) if script else Local(str(tmp_path / "absent"))
    host = Host("local", tmp_path, transport)
    with pytest.raises(HostError, match=words) as caught:
        await host.connect()
    assert caught.value.kind == "no_python" and not host.up


async def test_a_shell_that_floods_its_stderr(tmp_path: Path) -> None:
    local = python_that(tmp_path, "exec yes 3>&1 >&2")
    host = Host("local", tmp_path, local, pace=LinkTiming(connect_s=300.0))
    try:
        with pytest.raises(HostError, match="prints without end") as caught:
            await host.connect()
        assert caught.value.kind == "config" and ".bashrc" in caught.value.remedy
    finally:
        await host.close()


async def test_an_unusable_root_is_an_error_at_connect(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    host = Host("local", tmp_path / "file", Local())
    with pytest.raises(HostError) as caught:
        await host.connect()
    assert caught.value.kind == "host" and not host.up


@pytest.mark.parametrize(
    "answer",
    [LENGTHS.pack(1 << 31, 1 << 31), LENGTHS.pack(3, 0) + b"{x}", LENGTHS.pack(2, 0) + b"{}", LENGTHS.pack(9, 0)],
)
async def test_garbage_instead_of_frames_breaks_the_link_cleanly(tmp_path: Path, answer: bytes) -> None:
    (tmp_path / "answer").write_bytes(GREETING + answer)
    local = python_that(
        tmp_path, f"head -c {len(bundle())} >/dev/null; cat {tmp_path / 'answer'}; head -c 1 >/dev/null"
    )
    link = Link("local", await local.open())
    with pytest.raises(HostError) as caught:
        await link.start()
        await link.ask("hello", root=str(tmp_path))
    assert caught.value.kind == "helper_died"
    await link.close()
