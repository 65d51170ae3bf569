"""The sweep: no point twice, the whole space before it gives up, gains chained along the parents."""

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.agents.agent import Exhausted
from kpd.agents.suggest import serve, suggest
from kpd.agents.sweep import Sweep, Tune, history, not_taken, steered
from kpd.model.run import Steering
from kpd.workspace.expr import condition
from tests.support.agents.sweeps import context, iteration
from tests.support.model.samples import run_of, task_of

SPACE = {"TILE": ["8", "16", "32"], "flags": ["-O2", "-O3"]}


def test_every_point_once_then_none() -> None:
    tried: list[tuple[dict[str, str], float | None]] = []
    while (point := suggest(SPACE, tried, seed=7)) is not None:
        assert point not in [earlier for earlier, _ in tried]
        tried.append((point, None if point["TILE"] == "8" else math.log(int(point["TILE"]) / 16)))
    assert len(tried) == 6


@pytest.mark.parametrize(("where", "points"), [("TILE > 8", 4), ("TILE == 8 and flags == '-O3'", 1), ("TILE < 8", 0)])
def test_only_points_that_fulfil_the_conditions(where: str, points: int) -> None:
    tried: list[tuple[dict[str, str], float | None]] = []
    while (point := suggest(SPACE, tried, seed=7, where=(where,))) is not None:
        assert condition(where).holds(point)
        tried.append((point, 0.0))
    assert len(tried) == points


def test_the_same_history_gives_the_same_point() -> None:
    tried: list[tuple[dict[str, str], float | None]] = [({"TILE": "8", "flags": "-O2"}, 0.0)]
    assert suggest(SPACE, tried, seed=3) == suggest(SPACE, tried, seed=3)


def test_gains_are_chained_along_the_parents() -> None:
    run = run_of(
        iteration(0, 0, "baseline", None, {"TILE": "8"}),
        iteration(1, 0, "accepted", 50.0, {"TILE": "16"}),
        iteration(2, 1, "rejected", -100.0, {"TILE": "32"}),
        iteration(3, 1, "failed", None, {"TILE": "64"}),
    )
    values = [value for _, value in history(run)]
    assert values == [0.0, pytest.approx(math.log(0.5)), pytest.approx(0.0), None]


async def test_without_a_space_there_is_nothing_to_sweep(tmp_path: Path) -> None:
    with pytest.raises(Exhausted, match=r"no \[tune\] space"):
        await Sweep().propose(context(task_of(tmp_path, {}), run_of(), 1))


def test_notes_pin_parameters_taken_or_where_others_take_turns_given() -> None:
    notes = (Steering(1, "try TILE=8", "", 0.0, consumed_by=1), Steering(2, "no: TILE=16 and FOO=1", "", 0.0))
    alone = run_of(steering=notes)
    tune: Tune = {"TILE": ("8", "16")}
    assert steered(alone, tune) == {"TILE": ("8",)}
    assert steered(replace(alone, agent="claude,sweep"), tune) == {"TILE": ("16",)}


def test_a_note_that_pins_nothing_is_answered_in_the_memo_of_the_iteration_that_took_it() -> None:
    texts = ("TILE=8", "TILLE=8", "TILE=7 please", "go faster")
    notes = tuple(Steering(nth, text, "", 0.0, consumed_by=nth) for nth, text in enumerate(texts, start=1))
    tune: Tune = {"TILE": ("8", "16"), "VEC": ("1", "4")}
    assert [not_taken(run_of(steering=notes), nth, tune) for nth in (1, 2, 3, 4, 5)] == [
        "",
        " (note 2: TILLE is none of the parameters TILE, VEC)",
        " (note 3: TILE has no value 7 in [tune], but 8, 16)",
        " (note 4 names no parameter; TILE=… would pin one)",
        "",
    ]
    assert not_taken(replace(run_of(steering=notes), agent="claude,sweep"), 4, tune) == "", "another agent reads it"


def test_a_search_whose_daemon_was_killed_ends_quietly() -> None:
    reading, writing = os.pipe()
    request = json.dumps({"space": {"VEC": ["1", "2"]}, "history": [], "seed": 1, "where": []})
    os.close(reading)
    asked = iter([request, request])
    serve(asked, writing)
    assert next(asked) == request, "it asks for no more"
    os.close(writing)
