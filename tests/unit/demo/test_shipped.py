"""The recording that comes with kpd: a run that is worth two minutes, true to its samples, and nobody's secret."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from benchmarks.demo_pack import refuse_private, refuse_unfit
from kpd.cli.demo import SHIPPED
from kpd.daemon import views
from kpd.daemon.sources import Sources
from kpd.daemon.store import EventStore
from kpd.demo.playback_journal import temporary_workspace
from kpd.demo.player import Player
from kpd.demo.playhead import lasts, own_speed
from kpd.demo.recording import Recording, load
from kpd.demo.timeline import timeline, waits
from kpd.model import codec, events as e
from kpd.model.fold import fold, fold_all
from kpd.model.profiles import Finding
from kpd.model.state import State
from kpd.profile import gpu
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import digest, write_atomic
from tests.support.demo.recordings import Clock
from tui.model.view import View
from tui.panes.captions import caption

MOST_BYTES = 1 << 20
WIDTH = 80


@pytest.fixture(scope="module")
def recording() -> Recording:
    return load(SHIPPED)


@pytest.fixture(scope="module")
def over(recording: Recording) -> Iterator[Player]:
    """The player at the recording's end."""
    with temporary_workspace() as workspace, Player(workspace, recording, clock=Clock()) as player:
        player.go_on(lambda fact: False)
        yield player


@pytest.fixture(scope="module")
def original(recording: Recording) -> Iterator[Workspace]:
    """The workspace that was recorded: all events, all files, and nothing that a player does."""
    with temporary_workspace() as workspace:
        with EventStore(workspace.store) as store:
            for event in recording.events:
                store.append(event.fact, event.at)
        for name, data in recording.files.items():
            write_atomic(workspace.root / name, data)
        yield workspace


def iterations(recording: Recording) -> range:
    return range(len(fold_all(recording.events).runs[recording.about.run].iterations))


def test_it_is_fit_to_be_shipped(recording: Recording) -> None:
    refuse_unfit(recording)
    refuse_private(recording, ())
    assert SHIPPED.stat().st_size < MOST_BYTES
    assert "H100" in recording.about.device or "H200" in recording.about.device
    assert all((recording.about.driver, recording.about.cuda, recording.about.made, recording.about.command))


def test_it_takes_about_two_minutes(recording: Recording) -> None:
    before = waits(timeline(recording))
    assert 90 <= lasts(before, own_speed(before)) <= 150


def test_code_and_samples_are_what_the_log_says(recording: Recording) -> None:
    proposed = timed = 0
    for event in recording.events:
        fact = event.fact
        if isinstance(fact, e.Proposed):
            folder = f"runs/{recording.about.task}/{fact.run}/iter_{fact.iteration:04d}"
            for name, sha in fact.files.items():
                assert digest(recording.files[f"{folder}/candidate/{name}"]) == sha
                proposed += 1
        elif isinstance(fact, e.Timed):
            folder = f"runs/{recording.about.task}/{fact.run}/iter_{fact.iteration:04d}"
            assert digest(recording.files[f"{folder}/timing.json"]) == fact.samples
            timed += 1
    assert proposed > timed >= 8


def test_what_is_found_follows_from_the_metrics(recording: Recording) -> None:
    """By today's rules: a recording that is shown must not say what kpd would not say of the same counters."""
    metrics: dict[int, Mapping[str, float]] = {}
    noted = recording.files[f"memory/{recording.about.task}.md"].decode()
    told = [event.fact for event in recording.events if isinstance(event.fact, e.Explained | e.Profiled)]
    for fact in told:
        if isinstance(fact, e.Profiled):
            metrics[fact.iteration] = fact.metrics
            continue
        fired = gpu.findings(metrics[fact.iteration])
        assert (fact.findings, fact.bottleneck) == (fired, gpu.bottleneck(metrics[fact.iteration]))
        folder = f"runs/{recording.about.task}/{fact.run}/iter_{fact.iteration:04d}"
        assert codec.decode(recording.files[f"{folder}/findings.json"], tuple[Finding, ...]) == fired
        if fact.iteration:
            note = noted.partition(f"### {fact.run}.{fact.iteration} ")[2].partition("\n### ")[0]
            assert f"- findings: {', '.join(finding.rule for finding in fired)}\n" in f"{note}\n"
    assert len(metrics) >= 8


def test_every_verdict_follows_from_its_samples(recording: Recording, over: Player) -> None:
    judged = 0
    for number in iterations(recording):
        try:
            found = answer(over.stage.state, over.stage.workspace, "rederive", iteration=f"r1.{number}")
        except views.DaemonError as err:
            assert "was not timed" in err.message
            continue
        assert found["rederived"] == found["recorded"]
        judged += 1
    assert judged >= 8


def answer(state: State, workspace: Workspace, what: str, **args: object) -> Any:
    return views.answer(what, args, Sources(state, workspace))


def test_every_question_is_answered_as_in_the_workspace_that_was_recorded(
    recording: Recording, over: Player, original: Workspace
) -> None:
    task, numbers = recording.about.task, iterations(recording)
    questions: list[tuple[str, dict[str, object]]] = [
        ("queue", {}), ("cost", {}), ("hosts", {}), ("tasks", {}), ("rules", {}), ("skills", {}),
        ("memory", {"task": task}), ("diff", {"iteration": f"r1.{numbers[-1]}", "against": "r1.0"}),
        *((what, {"iteration": f"r1.{number}"}) for number in numbers for what in ("show", "diff", "rederive")),
        *(("file", {"iteration": f"r1.{number}", "name": "build.log"}) for number in numbers),
    ]  # fmt: skip
    recorded = fold_all(recording.events)
    for what, args in questions:
        found, expected = (
            _outcome(state, workspace, what, args)
            for state, workspace in ((over.stage.state, over.stage.workspace), (recorded, original))
        )
        assert found == expected, (what, args)
    assert "tiles" in answer(over.stage.state, over.stage.workspace, "memory", task=task)["text"]


def _outcome(state: State, workspace: Workspace, what: str, args: dict[str, object]) -> object:
    """The answer or the refusal, with the workspace's own place left out."""
    try:
        return str(answer(state, workspace, what, **args)).replace(str(workspace.root), "")
    except views.DaemonError as err:
        return err.code, err.message.replace(str(workspace.root), "")


def test_what_happens_is_told_in_sentences_that_fit(recording: Recording) -> None:
    state, told = State(), []
    for event in recording.events:
        state = fold(state, event)
        said = caption(View(state=state))
        assert len(said) < WIDTH, said
        told += [said] if said not in told else []
    assert told[0].startswith("kpd makes kernels faster")
    assert told[-1].startswith("The run has ended: 5.30× the baseline")
    for word in ("accepted", "did not build", "wrong results", "slower", "not by enough", "baseline", "profiler"):
        assert any(word in said for said in told), word
