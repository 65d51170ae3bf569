"""From a run to a recording: only that run, nothing of who made it or where, and only one that is worth showing."""

import re
from pathlib import Path

from benchmarks.demo_pack import pack, refuse_private
from kpd.daemon import views
from kpd.daemon.sources import Sources
from kpd.demo.playback_journal import temporary_workspace
from kpd.demo.player import Player
from kpd.demo.recording import load, save
from kpd.model.state import State
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace
from tests.support.demo.recordings import Clock

__all__ = ["daemon", "workspace"]
SOMEBODY = "somebody measures on the device"
HOLDER = re.compile(r"local: \S+@\S+ \S+ measures on it")


# ── a real run ────────────────────────────────────────────────────────────────────────────────────────────────────

QUESTIONS: tuple[tuple[str, dict[str, object]], ...] = (
    ("log", {"run": "r1"}), ("cost", {}), ("rules", {}), ("skills", {}), ("queue", {}),
    ("skill", {"id": "not_vectorised"}), ("memory", {"task": "scale"}), ("status", {}), ("hosts", {}),
    *((what, {"iteration": f"r1.{number}"}) for number in range(4) for what in ("show", "diff", "rederive")),
    *(("file", {"iteration": f"r1.{number}", "name": "candidate/kernel.c"}) for number in range(4)),
    ("diff", {"iteration": "r1.3", "against": "r1.0"}), ("events", {"run": "r1", "iteration": 1}),
)  # fmt: skip


def answers(state: State, ws: Workspace) -> list[object]:
    """Every answer there is, without what a recording does not keep: numbers of events, places, hosts, who it was."""
    found = []
    for what, args in QUESTIONS:
        try:
            found.append(_bare(views.answer(what, dict(args), Sources(state, ws)), ws))
        except views.DaemonError as err:
            found.append((err.code, err.message))
    return found


def _bare(value: object, ws: Workspace) -> object:
    left_out = {"seq", "pid", "version", "workspace", "hosts", "playback", "by", "at", "tasks", "agent"}
    if isinstance(value, dict):
        return {key: _bare(item, ws) for key, item in value.items() if key not in left_out}
    if isinstance(value, list):
        return [_bare(item, ws) for item in value if not isinstance(item, dict) or item.get("transport") is None]
    # Another test may have had the device for a moment.
    return HOLDER.sub(SOMEBODY, value.replace(f"{ws.root}/", "")) if isinstance(value, str) else value


def test_a_real_run_is_played_as_it_was(daemon: RealDaemon, workspace: Workspace, tmp_path: Path) -> None:
    kernel = (workspace.tasks / "scale" / "kernel.c").read_text()
    for nth, repeat in enumerate(("4", "0", "word"), 1):
        (workspace.root / f"script/{nth}").mkdir(parents=True)
        (workspace.root / f"script/{nth}/kernel.c").write_text(kernel.replace("REPEAT 8", f"REPEAT {repeat}"))
    daemon.start()
    daemon.command("run", task="scale", agent="script:script", iterations=3, patience=3)
    daemon.until_event("run_ended")
    daemon.stop()
    save(pack(workspace, "r1", [str(workspace.root.parent)]), tmp_path / "packed")
    recording = load(tmp_path / "packed")
    refuse_private(recording, [str(workspace.root.parent)])
    with temporary_workspace() as scene, Player(scene, recording, clock=Clock()) as player:
        player.go_on(lambda fact: False)
        original = Sources.offline(workspace).state
        assert answers(player.stage.state, scene) == answers(original, workspace)
