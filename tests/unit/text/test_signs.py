"""Signs and words are the same in the UI and on the command line, and README.md and the help list them all."""

from collections.abc import Callable

import pytest

from kpd.cli import labels
from kpd.text import json_views, signs
from kpd.text.signs import OUTCOMES, RUN_OUTCOMES, VERDICTS
from tests.places import ROOT
from tests.support.cli.shown import ACCEPTED, RUN
from tests.support.tui import logs
from tui.format import marks

ALL = (
    *OUTCOMES.values(), *VERDICTS.values(), *RUN_OUTCOMES.values(), signs.RUNNING, signs.WAITING, signs.PAUSED,
    signs.NEAR_MISS, signs.SLOW_CASE,
)  # fmt: skip


@pytest.mark.parametrize("log", [logs.running, logs.some, logs.incorrect, logs.paused, logs.ended, logs.held])
def test_both_tell_an_outcome_alike(log: Callable[[], logs.Log]) -> None:
    for run in log().state.runs.values():
        mark = marks.of_run(run)
        assert labels.run_state(json_views.run(run)) == f"{mark.glyph} {mark.word}"
        for it in run.iterations:
            mark = marks.of_iteration(it, run)
            if it.outcome is not None:
                assert labels.outcome(json_views.iteration(it)) == f"{mark.glyph} {mark.word}"


def test_a_queue_that_is_held_is_told_alike() -> None:
    mark = marks.of_run(RUN, held=True)
    assert labels.run_state(json_views.run(RUN), held=True) == f"{mark.glyph} {mark.word}" == labels.HELD
    assert labels.outcome(json_views.iteration(ACCEPTED)) == "▲ accepted"


def test_the_legends_have_every_sign() -> None:
    helped = {mark.glyph for mark, _ in marks.LEGEND}
    readme = (ROOT / "README.md").read_text()
    assert {sign.glyph for sign in ALL} <= helped
    assert all(f"{sign.glyph} " in readme for sign in ALL)
    assert {sign.tone for sign in ALL} <= labels.COLOURS.keys()
