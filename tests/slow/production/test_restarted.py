"""A host that was restarted while a program was half changed: nothing there restores it, until kpd looks."""

import asyncio
import contextlib
import hashlib
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import msgspec
import psutil
import pytest

from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.daemon.unguarded import ProjectLooker
from kpd.engine.journal import holding
from kpd.model import events as e
from kpd.model.hosts import HostCard
from kpd.model.notices import Unguarded
from kpd.model.projects import PlaceStatus
from kpd.text.notices import told
from kpd.text.projects import status_lines
from kpd.workspace.config import load_config
from kpd.workspace.paths import Workspace
from tests.places import OPEN
from tests.support.daemon.real_daemon import RealDaemon
from tests.support.hosts.local import host_at, until
from tests.support.patience import PATIENCE_S
from tests.support.production.provers import FASTER, SOURCE, FarSide, built, content, made


def half_changed(folder: Path) -> FarSide:
    """A program in which kpd's source is in place, on a host that was started anew since."""
    far = FarSide(made(folder / "prover"), folder)
    far.places = folder / "home" / ".local" / "state" / "kpd" / "places"
    far.places.mkdir(parents=True)
    far.begin("one", 600.0)
    (folder / "candidate").write_bytes(FASTER)
    sha = hashlib.sha256(FASTER).hexdigest()
    far.ask("put", id="one", path="src/kernel.c", content=str(folder / "candidate"), sha=sha)
    ended = [one for one in psutil.process_iter(["cmdline"]) if str(far.program) in (one.info["cmdline"] or ())]
    for process in ended:
        process.kill()
    psutil.wait_procs(ended)
    (lease,) = far.places.glob("*/lease.json")
    lease.write_text(json.dumps({**json.loads(lease.read_text()), "boot": "the start before"}))
    assert content(folder / "prover") == (FASTER, built(SOURCE)[1])
    return far


def test_the_daemon_has_it_restored_as_soon_as_it_has_a_link_and_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    half_changed(tmp_path)
    ws = Workspace(tmp_path / "ws")
    ws.tasks.mkdir(parents=True)
    root = tmp_path / "prover"
    ws.config.write_text(
        f'[hosts.local]\n{OPEN}\n[project.p]\nhost = "local"\nroot = "{root}"\nfiles = ["src/kernel.c"]\n'
        'binary = ["target/prover"]\nbuild_dir = "target"\nbuild = "true"\nrun = "target/prover"\nkernel = "twice"\n'
    )
    daemon = RealDaemon(ws)
    daemon.start()
    try:
        daemon.until(lambda: content(root) == built(SOURCE), "the originals to be back")
        said = daemon.until(lambda: [one["text"] for one in daemon.query("status")["notices"]], "a notice")
        assert said[-1] == told(Unguarded("p", "local", "to see"))
    finally:
        daemon.stop()


def test_who_looks_has_it_restored(tmp_path: Path) -> None:
    far, root = half_changed(tmp_path), tmp_path / "prover"
    first = status_lines(msgspec.convert(far.ask("status")["ok"], PlaceStatus))
    assert first[1:3] == [
        "its lease is over",
        "nothing there did that any more, as after a restart of the host: it does again",
    ]
    end = time.monotonic() + PATIENCE_S
    while content(root) != built(SOURCE):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert far.ask("status")["ok"]["change"]["state"] == "restored"


TABLES = """
[hosts.local]
python = "{python}"
{open}
[project.other]
host = "local"
root = "{other}"
{rest}
[project.p]
host = "local"
root = "{root}"
{rest}
"""
REST = """files = ["src/kernel.c"]
binary = ["target/prover"]
build_dir = "target"
build = "true"
run = "target/prover"
kernel = "twice"
"""
NONSENSE = """#!/bin/sh
case "$*" in *{other}*) echo '{{"ok": {{"folder": 1}}}}';; *) exec {python} "$@";; esac
"""


@contextlib.asynccontextmanager
async def looking(folder: Path, python: Path, waits: tuple[float, ...]) -> AsyncIterator[EventJournal]:
    """A looker at two projects on this machine, of which `p` may be half changed, and the journal that it writes to."""
    ws = Workspace(folder / "ws")
    ws.tasks.mkdir(parents=True)
    other, root = folder / "other", folder / "prover"
    ws.config.write_text(TABLES.format(python=python, open=OPEN, other=other, root=root, rest=REST))
    config, store = load_config(ws), EventStore(folder / "events.db")
    async with host_at(folder / "host") as host:
        journal = EventJournal(store)
        looker = ProjectLooker(journal, lambda: config, {"local": host}, waits)
        looker.begin()
        try:
            yield journal
        finally:
            looker.close()
            store.close()


def link(journal: EventJournal, state: Literal["up", "down"], system: str = "") -> None:
    with holding(journal):
        journal.emit(e.HostProbed(HostCard("local", "local", link=state, system=system)))


async def test_a_home_that_is_mounted_after_the_link_is_up_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    home = half_changed(tmp_path).places.parents[3]
    home.rename(tmp_path / "unmounted")
    async with looking(tmp_path, Path(sys.executable), (0.0, *[0.5] * 100)) as journal:
        link(journal, "up")
        await asyncio.sleep(1.0)
        assert not journal.state.notices
        (tmp_path / "unmounted").rename(home)
        await until(lambda: content(tmp_path / "prover") == built(SOURCE))
        await until(lambda: journal.state.notices)


async def test_looks_that_failed_begin_again_and_one_host_s_nonsense_about_a_project_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    half_changed(tmp_path)
    python = tmp_path / "python"
    async with looking(tmp_path, python, (0.0, 0.1)) as journal:
        link(journal, "up")
        await until(lambda: caplog.text.count("whether p is half changed is not known") == 2)
        python.write_text(NONSENSE.format(other=tmp_path / "other", python=sys.executable))
        python.chmod(0o755)
        link(journal, "up", "another card")
        await until(lambda: content(tmp_path / "prover") == built(SOURCE))
        await until(lambda: "Expected `str`, got `int` - at `$.folder`" in caplog.text)
