"""The run as a story and its rules: what was expected and what came, who did what, what is set and what waits."""

from dataclasses import replace
from typing import Any

import pytest

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.kinds import Told
from kpd.subscription import DaemonError
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.views import plain, view_of
from tui.format import story
from tui.format.operator_acts import operator_act
from tui.model.answers import DetailQuery, LoadedDetails, Problem, RuleRecord, Show
from tui.model.details import Details
from tui.model.outline import TreePosition
from tui.model.selected import findings
from tui.model.view import View
from tui.panes import memo, rules
from tui.widgets.lines import Lines

FIRED = "far_below_bandwidth"

ANNA, BEN = "anna@lab1:pts/3", "ben@lab2"


def acted() -> logs.Log:
    """Two operators at work on one run."""
    log = logs.paused()
    for fact in (
        e.RuleSet("r1", "not_vectorised", "pinned", ANNA), e.RuleSet("r1", "high_miss_rate", "banned", BEN),
        e.ReviewSet("r1", True, ANNA), e.BudgetChanged("r1", Budget(iterations=24, patience=6, usd=5.0), BEN),
        e.AgentChanged("r1", "claude", "model-x", ANNA), e.AgainAsked("r1", 4, True, BEN),
        e.MemoGiven("r1", 5, "the prefetcher already does it", ANNA), e.RolledBack("r1", 1, {"kernel.c": "x"}, BEN),
    ):  # fmt: skip
        log.emit(fact)
    return log


def view_with_acts(log: logs.Log, at: TreePosition | None = None, **fields: Any) -> View:
    acts = tuple(one for one in log.events if isinstance(one.fact, e.RunFact) and operator_act(one.fact))
    return view_of(log, at, shown=LoadedDetails(acts=acts), **fields)


async def app_at(log: logs.Log, keys: tuple[str, ...], size: tuple[int, int] = (120, 60)) -> tuple[View, list[Any]]:
    feed = CannedFeed(log)
    app = app_on(feed)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)
        return app.view, feed.queries


# ── the memo ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_who_did_what_stands_in_the_chapter_of_its_time() -> None:
    text = plain(memo.lines(view_with_acts(acted()), 120, 40))
    chapters = text.split("\n\n")
    newest = next(one for one in chapters if one.strip().startswith("6 "))
    for said in (
        "op pauses r1", f"{ANNA} pins not_vectorised in r1", f"{BEN} bans high_miss_rate in r1",
        f"{ANNA} wants to review r1", f"{BEN} sets the budget of r1: 24 iterations, patience 6",
        f"{ANNA} has claude propose in r1, with model-x",
        f"{BEN} has r1.4 measured with all processes", f"{BEN} rolls back to r1.1",
    ):  # fmt: skip
        assert said in newest, said
    assert f"the prefetcher already does it  — {ANNA}" in text, "the author stands beside the memo"
    assert "writes the memo" not in text
    assert text.rstrip().endswith("op queues r1 of rmsnorm_silu_cpu, by sweep"), (
        "what was before the first iteration stands at the very end"
    )


def test_what_is_set_stands_on_top() -> None:
    wide = plain(memo.lines(view_with_acts(acted()), 120, 40))
    assert wide.startswith("Set by operators")
    for label, text in (("review", "candidates wait for a person"), ("model", "model-x"), ("pinned", "not_vectorised"),
                        ("once more", f"r1.4, all processes ({BEN})"), ("undo", "u brings r1.4 back")):  # fmt: skip
        assert f"{label:<11}{text}" in wide
    narrow = memo.lines(view_with_acts(acted()), 47, 20)
    assert all(line.cell_length <= 47 for line in narrow)
    assert "review: candidates wait for a person · model: model-x" in " ".join(plain(narrow).split())
    assert "Set by" not in plain(memo.lines(view_of(logs.some()), 120, 40)), "nothing is set, so nothing is said"


def test_expectation_and_outcome_are_compared() -> None:
    log = logs.some()
    of = {number: CannedFeed(log).detail("r1", number) for number in (4, 5)}
    it = log.state.runs["r1"].iteration(5)
    assert it is not None
    text = plain(memo.lines(view_of(log, shown=LoadedDetails(Show(it, of[5], of[4]))), 100, 40))
    fifth, fourth = text.split("\n\n")[1:3]
    assert "expects    memory traffic up, 5.0 % less time" in fifth
    assert "measured   ✓ memory traffic 10.05 → 10.08 GB/s (+0.3 %)" in fifth
    assert "           ✗ 0.3 % less time [−0.4, 0.9]" in fifth
    assert "measured   ✓ 14.2 % less time" in fourth, "of others the gain is known"


@pytest.mark.parametrize(
    ("fact", "says"),
    [
        (e.ReviewAsked("r1", 6), "waits for a person before it is built: y has it built, D declines it"),
        (e.Approved("r1", 6, ANNA), "✓ approved before it was built"),
        (e.Declined("r1", 6, "too clever", BEN), "✗ declined before it was built"),
    ],
)
def test_the_decision_of_a_review_is_told(fact: e.Fact, says: str) -> None:
    log = logs.some().begin(6, parent=4).steps("r1", 6, *logs.proposed("r1", 6, "UNROLL=16")[:2]).emit(fact)
    assert says in plain(memo.lines(view_of(log), 100, 40))
    told = story.sentence(fact)[1]
    assert told in ("r1.6 waits for a person: it is built once somebody approves it", f"{ANNA} approves r1.6",
                    f"{BEN} declines r1.6: too clever")  # fmt: skip


def test_notes_say_who_wrote_them_and_when_they_can_be_changed() -> None:
    log = logs.paused().emit(e.SteeringConsumed("r1", (1,), 6))
    text = plain(memo.lines(view_of(log), 100, 40))
    assert "Steering queue  for the next iteration; s edits" in text
    assert "  2  leave the wide row alone for now" in text
    assert "steered: try -O3 with and without -ffast-math  — op" in text
    assert "s edits" not in plain(memo.lines(view_of(log, read_only=True), 100, 40))


def test_what_is_measured_once_more_says_so() -> None:
    log = logs.some().emit(e.IterationStarted("r1", 6, "again", 4, again=3, thorough=True))
    assert "again      the files of r1.3 once more, with all processes" in plain(memo.lines(view_of(log), 100, 40))


def test_acts_that_cannot_be_had_are_said_to_be_unknown() -> None:
    view = view_of(logs.some(), shown=LoadedDetails(acts=Problem("the log cannot be read")))
    assert "What operators did is not known: the log cannot be read" in plain(memo.lines(view, 100, 40))


# ── acts as answers ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_acts_are_asked_for_once_and_again_when_somebody_acts() -> None:
    feed, details = CannedFeed(acted()), Details()
    details.hear(feed.state)
    first, other = (
        DetailQuery("acts", TreePosition(logs.TASK, "r1", 5)),
        DetailQuery("acts", TreePosition(logs.TASK, "r1", 2)),
    )
    assert details.wants(first)
    await details.ask(feed, first)
    assert not details.wants(other), "one answer serves the whole run"
    details.hear(e.Event(10_000, 0.0, e.StepStarted("r1", 6, "judge")))
    assert not details.wants(first), "that was no person"
    details.hear(e.Event(10_001, 0.0, e.RunPaused("r1", Told("the disk is full"), "kpd", infra=True)))
    assert not details.wants(first), "nor that"
    details.hear(e.Event(10_002, 0.0, e.RunResumed("r1", BEN)))
    assert details.wants(other)
    acts = details.shown(first.at).acts
    assert isinstance(acts, tuple)
    assert all(operator_act(one.fact) for one in acts)
    assert len(acts) == 12


async def test_a_daemon_that_refuses_is_a_problem_and_not_a_crash() -> None:
    feed, details = CannedFeed(logs.some(), refuse={"log": DaemonError("unknown", "no such question")}), Details()
    details.hear(feed.state)
    await details.ask(feed, DetailQuery("acts", TreePosition(logs.TASK, "r1")))
    assert details.shown(TreePosition(logs.TASK, "r1", 1)).acts == Problem("no such question")


def test_facts_of_the_daemon_are_nobodys_acts() -> None:
    assert all(operator_act(one.fact) is None for one in logs.some().events if not isinstance(one.fact, e.RunQueued))


# ── the rules ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_pinned_and_banned_rules_are_marked_and_can_be_found_again() -> None:
    view, _ = await app_at(acted(), ("3", "down"))
    text = plain(rules.lines(view, 110, 50))
    assert "not_vectorised  ↑ pinned: agents hear of it first" in text
    at = text.index("Not fired here")
    assert text.index("⊘ banned: agents never hear of it") > at
    assert text.index("far_below_bandwidth") < at
    assert [one.rule for one in findings(view)] == ["far_below_bandwidth", "not_vectorised", "high_miss_rate"]


async def test_a_rule_that_goes_while_it_is_chosen_leaves_the_last_one_chosen() -> None:
    feed = CannedFeed(acted())
    app = app_on(feed)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("3", "down", "tab", "down", "down")
        await settled(pilot)
        feed.play([e.RuleSet("r1", "high_miss_rate", "plain", ANNA)])
        await settled(pilot)
        await pilot.press("N")
        await settled(pilot)
    assert feed.commands[-1][1]["rule"] == "not_vectorised"


async def test_a_rule_that_did_not_fire_opens_its_skill_too() -> None:
    _, queries = await app_at(acted(), ("3", "down", "tab", "down", "down", "enter"))
    assert ("skill", {"id": "high_miss_rate"}) in queries


def test_what_has_come_of_a_rule_is_told_also_when_nothing_has() -> None:
    log = logs.some()
    of = CannedFeed(log).detail("r1", 5)
    it = log.state.runs["r1"].iteration(5)
    assert it is not None
    known = (RuleRecord("far_below_bandwidth", 12, 0, 0), RuleRecord("not_vectorised", 9, 4, 2, 3.1))
    view = view_of(log, shown=LoadedDetails(Show(it, of), rules=known))
    text = plain(rules.lines(view, 110, 50))
    assert "so far: fired on 12 candidates, none that came after aimed at it" in text
    assert "so far: fired on 9, aimed at by 4, accepted 2, median gain 3.1 % less time" in text


@pytest.mark.parametrize("width", [40, 47, 110])
def test_each_finding_is_where_it_is_said_to_be(width: int) -> None:
    log = acted()
    of = CannedFeed(log).detail("r1", 5)
    it = log.state.runs["r1"].iteration(5)
    assert it is not None
    view = replace(view_of(log, TreePosition(logs.TASK, "r1", 5)), shown=LoadedDetails(Show(it, of)))
    drawn = rules.lines(view, width, 40)
    assert all(line.cell_length <= width for line in drawn)
    for nth, finding in enumerate(findings(view)):
        top, height = rules.span(view, width, nth)
        assert finding.rule in drawn[top].plain
        assert top + height == len(drawn) or drawn[top + height].plain == ""


async def test_until_the_candidates_rules_are_known_the_incumbents_are_shown_as_such() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press("3")
        await settled(pilot)
        before = plain(app.query_one("#rules", Lines).lines)
        feed.play([e.IterationEnded("r1", 6, "skipped", Told("by op"))])
        await settled(pilot)
        after = plain(app.query_one("#rules", Lines).lines)
    assert "Its incumbent's, r1.4  until its own are known" in before
    assert "far_below_bandwidth" in before
    assert "incumbent's" not in after, "there will be none of its own"


def test_below_what_fired_stands_what_else_kpd_looks_for_where_there_is_room() -> None:
    log, feed = logs.some(), CannedFeed(logs.some())
    view = view_of(log, TreePosition(logs.TASK, "r1", 5))
    assert view.iteration is not None
    known = (
        RuleRecord("rare", 0, 0, 0),
        RuleRecord("frequent", 7, 2, 1, finding="it waits"),
        RuleRecord(FIRED, 9, 0, 0),
    )
    view = replace(view, shown=LoadedDetails(Show(view.iteration, feed.detail("r1", 5)), rules=known))
    told = plain(rules.lines(view, 100, 40))
    assert told.index("What else kpd looks for") < told.index("frequent  it waits") < told.index("\n  rare")
    assert told.count(FIRED) == 1
    short = rules.lines(view, 100, 18)
    assert "What else" not in plain(short)
    assert len(rules.lines(view, 100, len(short) + 6)) <= len(short) + 6
