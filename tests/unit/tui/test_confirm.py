"""What is asked before an act, and why one cannot be taken: true in every state of the run and the queue."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kpd.model.causes import Skipped
from kpd.model.detail import Detail
from tests.support.tui import logs
from tests.support.tui.views import plain, view_of
from tui.actions import confirm, forms
from tui.actions.action import reason
from tui.actions.table import BY_ID
from tui.model.answers import LoadedDetails, Show
from tui.panes import log as log_pane


@pytest.mark.parametrize(
    ("log", "then"),
    [
        (logs.running, "r1 goes on with its next iteration."),
        (logs.paused, "r1 stays paused."),
        (logs.held, "r1 stays held."),
    ],
)
def test_a_skip_says_what_comes_after_it(log: Callable[[], logs.Log], then: str) -> None:
    assert confirm.skip(view_of(log())).text[-1] == then


@pytest.mark.parametrize(
    ("log", "begins"),
    [
        (logs.no_runs, "It begins at once."),
        (logs.running, "It begins as soon as a device that fits is free; under way: r1."),
        (logs.held, "The queue is held: it begins once somebody has released it; under way: r1."),
    ],
)
def test_a_new_run_says_when_it_begins(log: Callable[[], logs.Log], begins: str) -> None:
    assert forms.run(view_of(log())).text[0].startswith(begins)


def test_without_a_recording_playing_is_refused_for_that_reason_on_a_read_only_screen_too() -> None:
    view = replace(view_of(logs.running()), read_only=True)
    assert reason(BY_ID["play"], view).startswith("this is not a recording")
    assert "read-only" in reason(BY_ID["pause"], view)


def test_an_iteration_that_had_no_candidate_leaves_nothing_behind() -> None:
    log = logs.running().end(6, "skipped", Skipped("op"))
    it = log.state.runs["r1"].iterations[-1]
    view = view_of(log, shown=LoadedDetails(Show(it, Detail(), folder="/w"), events=tuple(log.events[-3:])))
    told = plain(log_pane.lines(view, 80, 20))
    assert "nothing of it was built or run" in told
    assert "timing.json" not in told
