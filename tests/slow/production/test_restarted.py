"""A host that was restarted while a program was half changed: nothing there restores it, until kpd looks."""

import hashlib
import json
import time
from pathlib import Path

import msgspec
import psutil
import pytest

from kpd.model.notices import Unguarded
from kpd.model.projects import PlaceStatus
from kpd.text.notices import told
from kpd.text.projects import status_lines
from kpd.workspace.paths import Workspace
from tests.places import OPEN
from tests.support.daemon.real_daemon import RealDaemon
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
