"""The best candidate of each case: what a dispatch table would win at most, drawn from the daemon's matrix."""

from dataclasses import replace

import pytest

from kpd.daemon.contests import matrix_of
from kpd.model import events as e
from kpd.model.codec import decode, encode
from kpd.model.detail import detail
from tests.support.tui import case_logs, logs, many_hosts
from tests.support.tui.views import plain, view_of
from tui.model.answers import BestCases, LoadedDetails, Problem, Show
from tui.model.outline import TreePosition
from tui.model.view import View
from tui.panes import metrics

RUN = TreePosition(logs.TASK, "r1")


def seen(log: logs.Log, at: TreePosition = RUN) -> View:
    run = log.state.runs["r1"]
    timed = {event.fact.iteration: event.fact for event in log.events if isinstance(event.fact, e.Timed)}
    answer = decode(encode(matrix_of(run, timed)), BestCases)
    it = run.iteration(at.iteration) if at.iteration is not None else None
    own = [event for event in log.events if getattr(event.fact, "iteration", None) == at.iteration]
    show = Show(it, detail(own)) if it is not None else None
    return view_of(log, at, shown=LoadedDetails(show=show, best_cases=answer))


def drawn(view: View, width: int) -> list[str]:
    return [line.plain.rstrip() for line in metrics.lines(view, width, 30)]


def test_a_run_has_the_case_with_the_most_to_win_first() -> None:
    told = drawn(seen(case_logs.by_case()), 120)
    assert told[0] == "Best of each case  speed-up over the baseline, 6 cases, the most to win first"
    assert told[1].split() == ["case", "weight", "incumbent", "best", "by", "to", "win", "of", "the", "best"]
    assert told[2].split()[:2] == ["rows=1", "cols=262144"] and told[2].split()[-3:-1] == ["r1.3", "2.48×"]
    assert told[6].split()[-3:-1] == ["the", "same"], "the incumbent is the best, and there is nothing to win"
    assert told[9] == "A dispatch table with the best of each case would be at most 1.165× as fast as the incumbent."


def test_it_has_every_candidate_in_every_case_and_the_incumbent_is_marked() -> None:
    told = drawn(seen(case_logs.by_case()), 120)
    at = told.index("All candidates  speed-up over the baseline, by iteration; ★ the incumbent")
    assert told[at + 1].split() == ["case", "1", "3", "★4", "5"]
    assert told[at + 2].split() == ["rows=1", "cols=262144", "1.136×", "2.71×", "1.093×", "1.104×"]
    narrow = drawn(seen(case_logs.by_case()), 30)
    assert next(row for row in narrow if "★4" in row).split() == ["case", "★4", "5"], "the oldest have no room"


@pytest.mark.parametrize("width", [30, 48, 80, 120, 160])
def test_no_line_is_wider_than_the_pane(width: int) -> None:
    assert max(map(len, drawn(seen(case_logs.by_case()), width))) <= width


def test_intervals_and_the_bar_stand_only_where_names_stay_whole() -> None:
    def with_both(width: int) -> tuple[bool, bool]:
        told = drawn(seen(case_logs.by_case()), width)
        return "[" in told[2], "of the best" in told[1]

    assert [with_both(width) for width in (85, 86, 103, 104)] == [
        (False, False), (True, False), (True, False), (True, True),
    ]  # fmt: skip


def test_without_weights_or_anything_to_win_it_says_less() -> None:
    gains = {number: tuple(4.0 if number in (1, 4) else -1.0 for _ in case_logs.NAMES) for number in case_logs.GAINS}
    log = case_logs.by_case({**gains, 0: (0.0,) * 6})
    log.events[:] = [_unweighted(event) for event in log.events]
    told = drawn(seen(log), 120)
    assert "weight" not in told[1]
    assert all("the same" in row for row in told[2:8])
    assert "No candidate is faster than the incumbent in any case: a dispatch table would win nothing." in told


def _unweighted(event: e.Event) -> e.Event:
    if not isinstance(event.fact, e.Timed):
        return event
    return replace(event, fact=replace(event.fact, cases=tuple(replace(one, weight=1.0) for one in event.fact.cases)))


def test_where_every_candidate_is_slower_the_baseline_is_the_best() -> None:
    gains = dict.fromkeys(case_logs.GAINS, (-50.0,) * 6) | {0: (0.0,) * 6}
    told = drawn(seen(case_logs.by_case(gains)), 120)
    assert "baseline" in told[2]


def test_below_the_metrics_of_an_iteration_stand_the_cases_with_the_most_to_win() -> None:
    names = tuple(f"case {number}" for number in range(14))
    gains = dict.fromkeys(case_logs.GAINS, (5.0,) * 14)
    told = drawn(seen(case_logs.by_case(gains, names), TreePosition(logs.TASK, "r1", 5)), 120)
    assert "and 2 more: r1 itself, on the left, shows all" in told
    assert not any(row.startswith("All candidates") for row in told)


def test_what_is_not_known_is_said() -> None:
    log = logs.some()
    assert "Runs of an older kpd kept no intervals" in " ".join(drawn(seen(log), 200))
    assert drawn(view_of(log, RUN), 80) == ["Asking the daemon for the cases of r1."]
    lost = view_of(log, RUN, shown=LoadedDetails(best_cases=Problem("the disk is full", "make room")))
    assert drawn(lost, 80) == ["✗ the disk is full", "  make room"]
    assert "is queued" in plain(metrics.lines(view_of(many_hosts.begin().queued("r1"), RUN), 80, 20))
