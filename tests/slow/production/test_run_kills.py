"""Each phase before a project's first iteration is the daemon's: killed in it, or stopped, nothing is made twice."""

import contextlib
import json
import os
from pathlib import Path

import psutil
import pytest

from kpd.cli.main import main
from kpd.daemon.sources import Sources
from kpd.model.preparation import Phase
from kpd.production.observe.observation import key
from kpd.source.kernels import kernels
from kpd.source.source import Source
from kpd.workspace.paths import Workspace
from tests.places import OPEN
from tests.support.daemon.real_daemon import RealDaemon, leftovers
from tests.support.measure.cuda_driver import NVCC
from tests.support.onboarding.kernels import FLAT, GOOD, fenced, sources


def test_killed_in_each_phase_the_daemon_goes_on_and_makes_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", f"{Path(NVCC).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    root, found = tmp_path / "program", sources(tmp_path / "program")
    (root / "prog").touch()
    (tmp_path / "ws" / "tasks").mkdir(parents=True)
    ws = Workspace(tmp_path / "ws")
    ws.config.write_text(
        f'[hosts.local]\n{OPEN}\n[project.p]\nhost = "local"\nroot = "{root}"\nfiles = ["row_scale.cu"]\n'
        'context = ["host.cu"]\nbinary = ["prog"]\nbuild_dir = "out"\nbuild = "true"\nrun = "./prog"\n'
        'kernel = "row_scale"\noutputs = ["result"]\n'
    )
    mailbox, table = ws.root / "onboarding" / "p", ws.root / "refs" / "p.observed.json"
    daemon = RealDaemon(ws)

    def kpd(*words: str) -> tuple[int, str, str]:
        code = main(["-w", str(ws.root), *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    def asked(*words: str) -> tuple[int, str, str]:
        return kpd("project", "run", "p", "--mailbox", "--agent", "operator", *words)

    def phases(run: str) -> dict[str, Phase]:
        return {phase.name: phase for phase in Sources.offline(ws).state.runs[run].phases}

    def at_a_phase() -> list[psutil.Process]:
        found = []
        for one in leftovers(ws):
            with contextlib.suppress(psutil.NoSuchProcess):  # it may have ended meanwhile, or be a zombie
                found += [one] if "phase" in one.cmdline() else []
        return found

    def killed(*, process: bool) -> None:
        """Kill the daemon, and then the process of the phase, or leave that to its end; begin another daemon."""
        at_it = daemon.until(at_a_phase, "the phase's process")
        daemon.kill()
        with contextlib.suppress(psutil.NoSuchProcess):
            at_it[0].kill() if process else None
        psutil.wait_procs(at_it)
        daemon.start()
        daemon.command("resume")

    daemon.start()
    try:
        for wrong, said in (
            (("--agent", "nobody"), "no agent 'nobody'"), (("--writer", "nobody"), "there is no agent nobody"),
            (("--observed", str(ws.config)), "is not JSON"), (("--host", "moon"), "no host 'moon'"),
        ):  # fmt: skip
            code, _, told = asked(*wrong)
            assert (code, said in told) == (64, True), told
        assert daemon.query("status")["runs"] == {}, "nothing was begun, and nothing is paid"

        (root / "prog").rename(root / "gone")
        code, id, told = asked("--wait")
        assert (code, id, "check: FAILED: binary: not built yet: prog" in told) == (1, "r1\n", True), told
        assert "r1 ✗ failed: check: binary: not built yet: prog; kpd project check --normalise builds it" in told
        (root / "gone").rename(root / "prog")
        [kernel] = kernels(Source.of(found.kernel.read_text(), "row_scale.cu"))
        text, around = found.kernel.read_bytes(), ["local", str(root), "", {}]
        capture = {"key": key("./prog", f"row_scale {kernel.signature}", text, around)}
        table.write_text(json.dumps({**json.loads(found.observed.read_text()), "details": [], "capture": capture}))

        assert asked()[:2] == (0, "r2\n")
        daemon.until_event("phase_begun", run="r2", phase="check")
        killed(process=False)  # it ends by itself, and how is read afterwards
        daemon.until_event("phase_begun", run="r2", phase="observe")
        killed(process=True)
        daemon.until(lambda: (mailbox / "prompt.md").exists(), "the question for a harness")
        assert kpd("stop", "r2")[0] == 0
        daemon.until(lambda: not at_a_phase(), "its process to end")

        assert asked()[:2] == (0, "r3\n")
        daemon.until_event("phase_begun", run="r3", phase="task")
        assert asked()[:2] == (0, "r3\n"), "it goes on, and no other one is queued"
        code, told, _ = kpd("status")
        assert (code, "… preparing" in told, "onboarding/p/prompt.md asks for it" in " ".join(told.split())) == (
            0, True, True,
        )  # fmt: skip
        killed(process=True)
        first = (mailbox / "prompt.md").read_text()
        (mailbox / "reply.md").write_text(fenced(FLAT))
        daemon.until(lambda: (mailbox / "prompt.md").read_text() != first, "the answer to be refused")
        second = (mailbox / "prompt.md").read_text()
        killed(process=True)
        (mailbox / "reply.md").write_text(fenced(GOOD))
        daemon.until_event("phase_ended", run="r3", phase="task")
        daemon.until(lambda: daemon.query("status")["runs"]["r3"]["waits"], "a GPU to be wanted")
        ends = [(one["body"]["run"], one["body"]["phase"]) for one in daemon.events("phase_ended")]
        assert ends[1:] == [
            ("r2", "check"), ("r2", "observe"), ("r2", "task"), ("r3", "check"), ("r3", "observe"), ("r3", "task"),
        ], "each once"  # fmt: skip
        assert {name: phase.times for name, phase in phases("r2").items()} == {"check": 1, "observe": 2, "task": 1}
        assert {name: phase.times for name, phase in phases("r3").items()} == {"check": 1, "observe": 1, "task": 3}
        assert [path.name for path in ws.tasks.iterdir() if not path.name.startswith(".")] == ["p"]
        assert sorted(path.name for path in mailbox.iterdir()) == ["prompt.md", "reply.md", "reply_1.md"]
        assert (mailbox / "prompt.md").read_text() == second, "what was answered before is not asked again"
        _, told, _ = kpd("project", "history", "p")
        assert "what was observed is current" in told and "made p" in told, told
        _, told, _ = kpd("project", "history", "p", "--json")
        listed = [(one["run"], one["name"], one["text"].partition(" (")[0]) for one in json.loads(told)["phases"][4:]]
        assert listed == [
            ("r3", "check", "check: the project is as it should be"),
            ("r3", "observe", "observe: what was observed is current"), ("r3", "task", "task: made p"),
        ]  # fmt: skip
        _, _, told = kpd("log", "r3")
        assert "observe: what was observed is current (" in told and "task: made p (" in told, told
    finally:
        daemon.stop()
