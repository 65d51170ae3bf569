"""What is spent beside runs: limits, and an account that survives whoever was killed."""

from pathlib import Path

import pytest

from kpd.claude.errors import OverBudget, Unavailable
from kpd.claude.purse import FILE, Purse, calls_beside, spent_beside, spent_for
from kpd.model.spending import Spend, Usage, day_of
from kpd.workspace.config import ClaudeConfig


def purse(
    root: Path, run: float = 1.0, day: float = 10.0, of_runs: float = 0.0, of: str = "deployment 1 of p"
) -> Purse:
    return Purse(root, of, ClaudeConfig(max_usd_per_run=run, max_usd_per_day=day), lambda: of_runs)


def test_each_call_is_on_the_account_before_it_is_made(tmp_path: Path) -> None:
    spends = purse(tmp_path)
    number = spends.begin("fix", "m", 0.5)
    [call] = calls_beside(tmp_path)
    assert (call.of, call.purpose, call.usd, call.usage) == ("deployment 1 of p", "fix", None, None)
    assert spent_beside(tmp_path, day_of(call.at)) == 0.5  # at the most it can cost, if nobody sees its end
    spends.billed(number, Usage(input=7, output=3), 0.25, cut=False)
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"id": "cut')
    assert purse(tmp_path, of="task t").begin("harness", "m", 0.125) == 1
    first, second = calls_beside(tmp_path)
    assert (first.usd, first.usage, second.of) == (0.25, Usage(input=7, output=3), "task t")
    assert spent_beside(tmp_path, day_of(call.at)) == 0.375
    assert spent_beside(tmp_path, "1999-01-01") == 0.0
    assert spends.spend.usd == 0.25
    assert spent_for(tmp_path, "task t", second.at) == {"harness": Spend().with_call(Usage(), 0.125, exact=False)}
    assert spent_for(tmp_path, "task t", second.at + 1) == {}, "it is of a run of a later log with the same id"


def test_no_call_can_exceed_the_limit_of_its_purpose_or_of_the_day(tmp_path: Path) -> None:
    spends = purse(tmp_path, run=1.0)
    spends.billed(spends.begin("fix", "m", 0.5), Usage(output=1), 0.5, cut=False)
    assert spends.begin("fix", "m", 0.5) == 2
    with pytest.raises(OverBudget, match="run"):
        spends.begin("fix", "m", 0.51)
    other = purse(tmp_path, day=3.0, of_runs=1.5)
    assert other.begin("fix", "m", 0.5) == 1  # 0.5 + 0.5 + 1.5 of runs + 0.5
    with pytest.raises(OverBudget, match="day"):
        other.begin("fix", "m", 0.01)
    with pytest.raises(Unavailable):
        spends.begin("fix", "m", None)
    before = Purse(
        tmp_path, "r1 of p", ClaudeConfig(max_usd_per_run=1.0), lambda: 0.0, Spend().with_call(Usage(), 0.75)
    )
    with pytest.raises(OverBudget, match="run"):  # by a process of the same phase that was killed
        before.begin("harness", "m", 0.5)
    assert purse(tmp_path, run=0, day=0).begin("fix", "m", None) == 1
    assert [call.most_usd for call in calls_beside(tmp_path)] == [0.5, 0.5, 0.5, None]  # not those that were refused


def test_runs_are_asked_when_the_call_is_on_the_account(tmp_path: Path) -> None:
    """A run whose call begins at the same moment reads the account: it has to be there."""
    seen: list[float] = []

    def of_runs() -> float:
        seen.extend(one.most_usd or 0.0 for one in calls_beside(tmp_path))
        return 0.0

    Purse(tmp_path, "task t", ClaudeConfig(max_usd_per_day=1.0), of_runs).begin("harness", "m", 0.75)
    assert seen == [0.75]


def test_a_call_that_is_not_made_as_nobody_says_what_runs_have_spent_costs_nothing(tmp_path: Path) -> None:
    def of_runs() -> float:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        Purse(tmp_path, "task t", ClaudeConfig(max_usd_per_day=1.0), of_runs).begin("harness", "m", 0.75)
    assert calls_beside(tmp_path) == []


def test_an_account_that_cannot_be_read_holds_calls_back(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(Unavailable, match="is not known"):
        spent_beside(tmp_path, "2026-01-01")
