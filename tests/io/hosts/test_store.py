"""Content and reading: only what lacks is sent, nothing half or tampered is used, nothing outside is reached."""

import asyncio
import contextlib
import hashlib
import resource
import shlex
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.hosts.child import ChildChannel
from kpd.hosts.errors import HostError
from kpd.hosts.helper.files import RequestRefused, check_relative
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from tests.support.hosts.local import at, helper_pid, host, host_at, linux_only, may_mount, names, spec

__all__ = ["host"]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def modes(folder: Path) -> list[int]:
    return [path.lstat().st_mode for path in [folder, *folder.rglob("*")]]


class CountingWriter:
    """The real pipe, and how many bytes and messages went into it."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.sent = 0
        self.messages = 0

    def write(self, data: bytes) -> None:
        self.sent += len(data)
        self.messages += 1
        self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()

    def close(self) -> None:
        self._writer.close()


class Counting(Local):
    """The local transport with a meter on its pipe."""

    async def open(self) -> ChildChannel:
        channel = await super().open()
        object.__setattr__(self, "writer", CountingWriter(channel.writer))
        channel.writer = self.writer
        return channel


async def test_a_staged_tree_is_complete_and_read_only(host: Host) -> None:
    files = {"kernel.c": b"int x;\n", "include/deep/a.h": b"", "data.bin": bytes(range(256)), "copy.c": b"int x;\n"}
    digest = await host.stage(files)
    folder = at(host, "trees", digest)
    assert files_in(folder) == files
    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()} == {0o400}
    assert {path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*")) if path.is_dir()} == {0o700}, "for rm"
    assert await host.stage(dict(reversed(files.items()))) == digest
    assert await host.stage({**files, "kernel.c": b"int y;\n"}) != digest
    assert names(host, "tmp") == []


async def test_only_what_the_host_lacks_is_sent(tmp_path: Path) -> None:
    big, small = bytes(300_000), b"small"
    async with host_at(tmp_path, Counting()) as first:
        await first.stage({"big": big, "small": small})
    meter = Counting()
    async with host_at(tmp_path, meter) as host:
        before = meter.writer.sent
        await host.stage({"big": big, "small": small, "new": b"x" * 1000})
        assert 1000 < meter.writer.sent - before < 5000
        before, messages = meter.writer.sent, meter.writer.messages
        await host.stage({"big": big, "small": b"changed"})
        assert meter.writer.messages == messages + 1  # one round trip
        assert meter.writer.sent - before < 1000


async def test_content_larger_than_a_batch_arrives_whole(host: Host) -> None:
    files = {f"f{n}": bytes([n]) * (5 << 20) for n in range(4)}
    digest = await host.stage(files)
    assert files_in(at(host, "trees", digest)) == files


@pytest.mark.parametrize(
    "path", ["", ".", "..", "/etc/passwd", "../x", "a/../../x", "a/..", "a//b", "a/", "./a", "a\0b", "\udcff\ud800"]
)
async def test_paths_that_lead_elsewhere_are_refused(host: Host, path: str) -> None:
    with pytest.raises(HostError) as caught:
        await host.stage({"fine": b"", path: b"x"})
    assert caught.value.kind == "refused"
    assert [names(host, name) for name in ("trees", "tmp")] == [[], []]


@given(st.text(st.sampled_from("ab./\0\n é"), max_size=12))
def test_a_path_that_passes_stays_below(name: str) -> None:
    with contextlib.suppress(RequestRefused):
        checked = Path("/root/tree", check_relative(name))
        assert checked.parts[:3] == ("/", "root", "tree") and ".." not in checked.parts
        assert len(checked.parts) > 3 and str(checked) == "/root/tree/" + name


@pytest.mark.parametrize("files", [("a", "a/b"), ("a/b", "a"), ("a/b/c", "a/b")])
async def test_one_path_as_file_and_folder_is_refused(host: Host, files: tuple[str, ...]) -> None:
    with pytest.raises(HostError) as caught:
        await host.stage(dict.fromkeys(files, b"x"))
    assert caught.value.kind == "refused"
    assert [names(host, name) for name in ("trees", "tmp")] == [[], []]


async def put(host: Host, name: str, data: bytes) -> None:
    await (await host.linked()).ask("put", data, blobs=[(name, len(data))])


async def test_content_under_a_wrong_name_is_refused(host: Host) -> None:
    with pytest.raises(HostError) as caught:
        await put(host, sha(b"right"), b"wrong")
    assert caught.value.kind == "corrupt"
    with pytest.raises(HostError) as caught:
        await put(host, "../../x", b"x")
    assert caught.value.kind == "refused"
    assert names(host, "blobs") == []


@pytest.mark.parametrize(
    "harm", ["echo c0ntent > $b", "chmod 000 $b", "rm $b; mkfifo $b", "rm $b; ln -s /dev/zero $b", "truncate -s 1G $b"]
)
async def test_a_blob_that_rots_on_disk_or_is_replaced_is_never_used(host: Host, harm: str) -> None:
    await host.stage({"a": b"content"})
    blob = at(host, "blobs", sha(b"content"))
    result = await host.job(spec("harm", f"b={shlex.quote(str(blob))}; chmod 600 $b; {harm}"))
    assert result.rc == 0, result.stderr
    digest = await host.stage({"b": b"content"})
    assert files_in(at(host, "trees", digest)) == {"b": b"content"}
    assert blob.read_bytes() == b"content"


@pytest.mark.parametrize(
    "harm",
    [
        "chmod 600 a; echo evil > a",
        "rm a",
        "echo x > extra",
        "rm a; ln -s /etc/passwd a",
        "rm -r d; ln -s / d",
        "mkfifo pipe",
        "chmod 000 a",
        "chmod 600 a; truncate -s 1G a",
    ],
)
async def test_a_tree_that_a_job_has_changed_is_made_anew(host: Host, harm: str) -> None:
    files = {"a": b"good", "d/b": b"good"}
    digest = await host.stage(files)
    folder = at(host, "trees", digest)
    result = await host.job(spec("harm", f"cd {shlex.quote(str(folder))}; chmod 700 . d; {harm}"))
    assert result.rc == 0, result.stderr
    assert await host.stage(files) == digest
    assert files_in(folder) == files and all(stat.S_ISREG(mode) or stat.S_ISDIR(mode) for mode in modes(folder))
    assert at(host, "/etc/passwd").exists()


async def test_read_stays_below_the_root(host: Host) -> None:
    secret = at(host, "../secret")
    secret.write_text("secret")
    script = "cd out; ln -s ../../../../secret link; ln -s /etc etc; mkfifo pipe; echo fine >fine; ln -s fine ok"
    await host.job(spec("a", script))
    assert await host.read("jobs/a/out/fine", 5) == b"fine\n"
    assert await host.read(f"{host.root}/jobs/a/out/fine", 5) == b"fine\n"
    assert await host.read("jobs/a/out/ok", 5) == b"fine\n"
    outside = ["../secret", str(secret), "jobs/a/out/link", "jobs/a/out/etc/passwd", "a\0b"]
    for path in [*outside, "jobs/a/out/pipe", "jobs/a/out"]:
        with pytest.raises(HostError) as caught:
            await host.read(path, 100)
        assert caught.value.kind in ("refused", "host")
    with pytest.raises(HostError) as caught:
        await host.read("jobs/a/out/fine", 4)
    assert caught.value.kind == "too_large"


@linux_only
async def test_when_nothing_more_can_be_written_there_is_no_half_file(host: Host) -> None:
    everything = resource.prlimit(helper_pid(host), resource.RLIMIT_FSIZE)
    resource.prlimit(helper_pid(host), resource.RLIMIT_FSIZE, (1000, everything[1]))
    with pytest.raises(HostError) as caught:
        await host.stage({"a": bytes(2000)})
    assert caught.value.kind == "no_space" and "free disk space" in str(caught.value)
    assert [names(host, name) for name in ("blobs", "trees", "tmp")] == [[], [], []]
    resource.prlimit(helper_pid(host), resource.RLIMIT_FSIZE, everything)
    assert files_in(at(host, "trees", await host.stage({"a": bytes(2000)}))) == {"a": bytes(2000)}


@may_mount
async def test_a_full_disk_is_the_hosts_trouble_and_the_job_may_run_again(tmp_path: Path) -> None:
    root = tmp_path / "small"
    root.mkdir()
    python = tmp_path / "python"
    mount = f'mount -t tmpfs -o size=4m tmpfs {shlex.quote(str(root))} && exec {sys.executable} "$@"'
    python.write_text(f'#!/bin/sh\nexec unshare -rm sh -c {shlex.quote(mount)} sh "$@"\n')
    python.chmod(0o755)
    async with host_at(root, Local(str(python))) as host:
        with pytest.raises(HostError) as caught:
            await host.stage({"large": bytes(5 << 20)})
        assert caught.value.kind == "no_space"
        fill = spec("fill", "head -c 10000000 /dev/zero > out/big")
        for _ in range(2):  # it was forgotten, so it runs (and fails) again
            with pytest.raises(HostError) as caught:
                await host.job(fill)
            assert caught.value.kind == "no_space"
        assert (await host.job(spec("fine", "echo fine"))).stdout == b"fine\n"
        full_and_well = spec("full", "head -c 10000000 /dev/zero > out/big; exit 0")
        with pytest.raises(HostError, match="ended with 0") as caught:  # recorded on a disk without a free byte
            await host.job(full_and_well)
        assert caught.value.kind == "no_space"  # what it wrote may have been cut short
