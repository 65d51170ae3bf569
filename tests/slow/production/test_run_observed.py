"""The phase of a project's run that observes, where no library can: the run's writer proposes lines."""

import json
import subprocess
from pathlib import Path

import psutil
import pytest

from kpd.cli.main import main
from kpd.workspace.paths import Workspace
from tests.places import OPEN
from tests.support.daemon.real_daemon import RealDaemon, leftovers
from tests.support.production.logger import BUILD, SOURCE, answer, table_of
from tests.support.production.provers import content, made


def test_the_runs_writer_is_asked_for_lines_unless_a_person_has_to_approve_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An answer that a killed process had is not asked for again."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    ws = Workspace(tmp_path / "ws")
    ws.tasks.mkdir(parents=True)
    root = tmp_path / "prover"
    project = made(root, SOURCE, BUILD)
    subprocess.run(BUILD, shell=True, cwd=root, check=True)
    before = content(root)
    table = f'[hosts.local]\n{OPEN}\n{table_of(project)}outputs = ["target/out"]\n'
    ws.config.write_text(table)
    mailbox, daemon = ws.root / "onboarding" / "prover.observe.mailbox", RealDaemon(ws)

    def run(id: str) -> str:
        words = ["project", "run", "prover", "--mailbox", "--agent", "operator"]
        assert main(["-w", str(ws.root), *words]) == 0
        said = capsys.readouterr()
        assert said.out == f"{id}\n"
        return said.err

    def at_it() -> list[psutil.Process]:
        return [one for one in leftovers(ws) if "phase" in one.cmdline()]

    daemon.start()
    try:
        assert "lines that log launches" not in run("r1")
        ended = daemon.until_event("phase_ended", run="r1", phase="observe")["body"]
        assert "kpd project observe --mailbox" in ended["result"]["remedy"], "with approve = true"
        assert not mailbox.exists()

        ws.config.write_text(f"{table}approve = false\n")
        assert f"if no library can observe the program, in {mailbox}" in run("r2")
        daemon.until((mailbox / "prompt.md").exists, "the question for lines")
        first = (mailbox / "prompt.md").read_text()
        (mailbox / "reply.md").write_text("no file")
        daemon.until(lambda: (mailbox / "prompt.md").read_text() != first, "the answer to be refused")
        second, (process,) = (mailbox / "prompt.md").read_text(), at_it()
        process.kill()
        daemon.until(lambda: daemon.query("status")["runs"]["r2"]["phases"][1]["times"] == 2, "it to be begun again")
        (mailbox / "reply.md").write_text(answer())
        ended = daemon.until_event("phase_ended", run="r2", phase="observe")["body"]
        assert not ended["result"]["failed"], ended
        assert (mailbox / "prompt.md").read_text() == second, "what was answered before is not asked again"
        assert content(root) == before
        observed = json.loads((ws.root / "refs" / "prover.observed.json").read_text())
        assert (observed["capture"]["seen_by"], observed["launches"][0]["x"]) == ("source", 7)
        daemon.command("stop", run="r2")
        daemon.until(lambda: not at_it(), "its process to end")
    finally:
        daemon.stop()
