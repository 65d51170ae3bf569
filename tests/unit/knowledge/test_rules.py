"""kpd rules: what has come of each rule, from the log of a workspace."""

import json
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.iteration import Expectation
from kpd.model.kinds import Told
from kpd.model.profiles import Finding
from kpd.model.verdicts import Gain, Verdict
from kpd.profile import catalogue
from kpd.workspace.paths import Workspace

SLOW = Finding("poor_coalescing", "high", "", "")
HITS = Finding("low_l2_hit", "medium", "", "")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    root = tmp_path / "ws"
    (root / "tasks").mkdir(parents=True)
    (root / "config.toml").touch()
    return Workspace.find(root)


def logged(workspace: Workspace, *facts: e.Fact) -> None:
    workspace.make_private()
    with EventStore(workspace.store) as store:
        journal = EventJournal(store)
        for fact in facts:
            journal.emit(fact)


def attempt(number: int, gain: float, accepted: bool) -> tuple[e.Fact, ...]:
    verdict = Verdict("faster" if accepted else "same", Gain(gain, gain - 1, gain + 1), 7, accepted, "told", told="")
    expected = Expectation("coalescing_load_pct", "up", 90.0)
    return (
        e.IterationStarted("r1", number, "claude", 0),
        e.Proposed("r1", number, 0.1, 0.1, {}, "twice as fast, accepted 9", expected),
        e.Judged("r1", number, 0.1, 0.1, verdict),
        e.IterationEnded("r1", number, "accepted" if accepted else "rejected", Told("")),
    )


def rules(workspace: Workspace, *options: str) -> int:
    return main(["-w", str(workspace.root), "rules", *options])


def test_what_has_come_of_a_rule(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    logged(
        workspace,
        e.RunQueued("r1", "transpose", "claude", "local", Budget()),
        e.IterationStarted("r1", 0, "baseline", 0),
        e.Explained("r1", 0, 0.1, 0.1, "memory", (SLOW, HITS)),
        e.IterationEnded("r1", 0, "baseline", Told("")),
        *attempt(1, 12.5, True),
        *attempt(2, -0.5, False),
    )
    assert rules(workspace) == 0
    told = capsys.readouterr().out
    assert told.count("so far:") == 2
    after = told.partition("poor_coalescing (high)\n")[2].partition("uncoalesced_store")[0]
    assert "    so far: fired on 1, aimed at by 2, accepted 1, median gain 6.0 % less time\n" in after
    assert "    so far: fired on 1, aimed at by 0\n" in told.partition("low_l2_hit (")[2]
    assert rules(workspace, "--json") == 0
    by_id = {rule["id"]: rule for rule in json.loads(capsys.readouterr().out)}
    assert by_id.keys() == {rule.id for rule in catalogue.rules()}
    so_far = {name: by_id["poor_coalescing"][name] for name in ("fired", "tried", "accepted", "median_gain_pct")}
    assert so_far == {"fired": 1, "tried": 2, "accepted": 1, "median_gain_pct": 6.0}
    assert by_id["low_l2_hit"]["median_gain_pct"] is None


def test_before_any_run_there_is_nothing_to_say_of_them(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rules(workspace) == 0
    told = capsys.readouterr().out
    assert "so far" not in told
    assert told.count("→") >= len(catalogue.rules())
