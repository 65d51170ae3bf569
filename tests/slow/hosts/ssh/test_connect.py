"""The ssh transport against a real sshd: ways to a host, and what comes through."""

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest

from kpd.hosts.job import OutputChunk
from tests.support.hosts.local import spec, until
from tests.support.hosts.ssh import box, host_by, lets_in, refused, ssh_to
from tests.support.hosts.ssh_connect import host_that_fails
from tests.support.hosts.sshd import Sshd, ssh_config, sshd

__all__ = ["box"]


async def test_two_jump_hosts_in_a_row(box: Sshd, tmp_path: Path) -> None:
    """As one list, and each named by the one behind it; the list's later hosts do not follow their own ProxyJump."""
    with sshd(tmp_path, "gate") as gate, sshd(tmp_path, "inner") as inner:
        listed = ssh_config(
            tmp_path / "a",
            gate,
            inner,
            box,
            box={"ProxyJump": f"gate,ssh://{box.user}@inner"},
            inner={"ProxyJump": "x"},
        )
        chained = ssh_config(
            tmp_path / "b", gate, inner, box, box={"ProxyJump": "inner"}, inner={"ProxyJump": "gate"}
        )  # fmt: skip
        for config in (listed, chained):
            channel = await ssh_to(box, config=config).open()
            assert gate.sessions() and inner.sessions() and box.sessions()
            await channel.close()
            await until(lambda: not (gate.sessions() or inner.sessions() or box.sessions()))


async def test_a_proxy_command(box: Sshd, tmp_path: Path) -> None:
    with sshd(tmp_path, "gate") as gate:
        config = ssh_config(tmp_path / "config", box, box={"ProxyCommand": f"ssh -F {gate.config} -W [%h]:%p gate"})
        async with host_by(ssh_to(box, config=config), tmp_path / "host") as host:
            assert gate.sessions()
            assert (await host.job(spec("a", "echo hi"))).stdout == b"hi\n"
        await until(lambda: not gate.sessions())


async def test_compression_and_a_python_with_a_space_in_its_path(box: Sshd, tmp_path: Path) -> None:
    python = tmp_path / "a b" / "python3"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    async with host_by(ssh_to(box, compression=True, python=str(python)), tmp_path / "host") as host:
        assert (await host.job(spec("a", "head -c 3000000 /dev/zero"))).stdout == bytes(3_000_000)


async def test_a_hundred_megabytes_of_output(box: Sshd, tmp_path: Path) -> None:
    """A host sends no more than the last 32 MiB of what waits; all that comes is right, and the last of it is whole."""
    script = r"""for i in $(seq 0 99); do head -c 1000000 /dev/zero | tr '\000' "\\$(printf %03o $i)"; done"""
    whole = b"".join(bytes([n]) * 1_000_000 for n in range(100))
    async with host_by(ssh_to(box), tmp_path / "host") as host:
        async for piece in host.follow(spec("a", script)):
            if isinstance(piece, OutputChunk):
                assert piece.data == whole[piece.offset : piece.offset + len(piece.data)]
            else:
                assert piece.stdout_cut + len(piece.stdout) == len(whole)
                assert piece.stdout == whole[-(32 << 20) :]


async def test_large_content_in_both_directions_at_once(box: Sshd, tmp_path: Path) -> None:
    async with host_by(ssh_to(box), tmp_path / "host") as host:
        blobs = [os.urandom(9_000_000) for _ in range(3)]
        digests = await asyncio.gather(*(host.stage({"f": blob}) for blob in blobs))
        read = await asyncio.gather(*(host.read(f"trees/{digest}/f", 10_000_000) for digest in digests))
        assert read == blobs


async def test_a_login_shell_that_floods_its_stderr(tmp_path: Path) -> None:
    with sshd(tmp_path, ForceCommand="exec yes 3>&1 >&2") as box:
        async with host_that_fails(box, "config") as error:
            assert "prints without end" in error.message and ".bashrc" in error.remedy


async def test_a_configuration_that_hangs_holds_up_nothing_else(
    box: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is tried there is one reading of it, and the next one begins when that has ended."""
    monkeypatch.setattr("kpd.hosts.ssh.shared.READ_S", 0.3)
    config, wait, begun = tmp_path / "config", tmp_path / "wait", tmp_path / "begun"
    wait.touch()
    command = f"echo >> {begun}; while [ -e {wait} ]; do sleep 0.05; done"
    config.write_text(f'Include {box.config}\nMatch exec "{command}"\n')
    transport = ssh_to(box, config=config)
    before = set(threading.enumerate())
    try:
        assert (await refused(transport)).kind == "unreachable"
        for _ in range(3):
            error = await refused(transport)
            assert error.kind == "config" and "Match exec" in error.message
        assert [thread.daemon for thread in set(threading.enumerate()) - before] == [True]
        assert begun.read_text() == "\n"
    finally:
        wait.unlink()
    monkeypatch.undo()
    await lets_in(transport)
