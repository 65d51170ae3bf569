"""What no rule answers waits for an operator, for some time."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kpd.daemon.alert import worth_telling
from kpd.daemon.commands import carry_out
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine import questions
from kpd.engine.engine import Engine
from kpd.engine.journal import run_of, until
from kpd.engine.waiting import WaitReporter
from kpd.model import events as e
from kpd.model.agents import BASELINE
from kpd.model.budget import Budget
from kpd.model.causes import Skipped
from kpd.operations.sessions import CutTurn
from kpd.sessions.asking import MOST_OPEN, Asking
from kpd.sessions.permissions import AgentWish, Answer, Place
from kpd.subscription import DaemonError
from kpd.text.waits import wait
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace
from tests.support.agents.asked import asked, task_of

AT = ("r1", 1)
CARGO = AgentWish("execute", "", command="cargo build")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[EventJournal]:
    with EventStore(tmp_path / "events.db") as store:
        found = EventJournal(store)
        for fact in (
            e.RunQueued("r1", "scale", "mine", "local", Budget()),
            e.RunStarted("r1", "cpu", "local", "cpu"),
            e.IterationStarted("r1", 0, BASELINE, 0),
            e.IterationEnded("r1", 0, "baseline", Skipped("ada")),
            e.IterationStarted(*AT, "mine", 0),
            e.StepStarted(*AT, "propose", 1),
            e.SessionOpened(*AT, "r1.1", ("agent",), 60.0),
            e.SessionPrompted(*AT, "r1.1", 1, 0),
        ):
            found.emit(fact)
        yield found


@pytest.fixture
def asking(journal: EventJournal, tmp_path: Path) -> Asking:
    context = replace(
        asked(tmp_path, task_of(tmp_path, {}, ("kernel.c",)), {}), number=1,
        events=partial(journal.events, *AT), latest=partial(run_of, journal, "r1"),
        until=partial(until, journal, "r1"), record=journal.emit, waits=WaitReporter(journal, "r1"),
    )  # fmt: skip
    return Asking(context, "r1.1", Place(tmp_path, (tmp_path,), (), (), ("ls",)), 30.0, 0)


async def test_an_operator_answers_the_oldest_question_first(
    journal: EventJournal, asking: Asking, tmp_path: Path
) -> None:
    engine = Engine(Workspace(tmp_path), Config(), journal)
    first = asyncio.create_task(asking.answer(CARGO))
    second = asyncio.create_task(asking.answer(AgentWish("fetch", "a page")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    told = worth_telling(e.RunWaits("r1", run_of(journal, "r1").waiting))
    assert told == wait(run_of(journal, "r1").waiting)
    assert "execute: cargo build" in told
    assert "kpd allow r1.1 --question 1" in told
    assert await carry_out(engine, "answer", {"reply": "allow", "question": 1}, "ada") == {
        "run": "r1", "iteration": 1, "what": "execute cargo build",
    }  # fmt: skip
    assert await first == Answer(True)
    assert "fetch: a page" in wait(run_of(journal, "r1").waiting)
    await carry_out(engine, "answer", {"reply": "deny"}, "ada")
    assert await second == Answer(False, "denied by ada")
    assert run_of(journal, "r1").waiting is None
    with pytest.raises(DaemonError, match="no agent asks"):
        await carry_out(engine, "answer", {"reply": "allow"}, "ada")


async def test_nobody_allows_a_question_that_they_have_not_seen(
    journal: EventJournal, asking: Asking, tmp_path: Path
) -> None:
    engine = Engine(Workspace(tmp_path), Config(), journal)
    asking.limit_s = 0.01
    await asking.answer(CARGO)
    asking.limit_s = 30.0
    second = asyncio.create_task(asking.answer(AgentWish("fetch", "a page", arguments='{"url": "http://x"}')))
    await asyncio.sleep(0)
    for named in ({"question": 1}, {}):
        with pytest.raises(DaemonError, match=r'asks to fetch: a page \{"url": "http://x"\}') as refused:
            await carry_out(engine, "answer", {"reply": "allow", **named}, "ada")
        assert refused.value.remedy == "kpd allow r1.1 --question 2"
    with pytest.raises(DaemonError, match="question 1 is not the oldest"):
        await carry_out(engine, "answer", {"reply": "deny", "question": 1}, "ada")
    assert not second.done()
    await carry_out(engine, "answer", {"reply": "allow", "question": 2}, "ada")
    assert await second == Answer(True)


async def test_few_questions_wait_at_a_time(journal: EventJournal, asking: Asking) -> None:
    waiting = [asyncio.create_task(asking.answer(CARGO)) for _ in range(MOST_OPEN)]
    await asyncio.sleep(0)
    assert not any(one.done() for one in waiting)
    assert not (await asking.answer(CARGO)).allowed, "one more is refused at once"
    journal.emit(e.PermissionAnswered(*AT, "r1.1", 1, True, "", "ada"))
    assert await waiting[0] == Answer(True)
    again = asyncio.create_task(asking.answer(CARGO))
    await asyncio.sleep(0)
    assert not again.done(), "there is room again"
    asking.close()
    assert not any(one.allowed for one in await asyncio.gather(*waiting[1:], again))


async def test_an_old_answer_is_none_to_a_new_question(journal: EventJournal, asking: Asking) -> None:
    journal.emit(e.PermissionAsked(*AT, "r1.1", 1, "execute", "ls -l"))
    journal.emit(e.PermissionAnswered(*AT, "r1.1", 1, True))
    waiting = asyncio.create_task(asking.answer(CARGO))
    await asyncio.sleep(0)
    journal.emit(e.PermissionAnswered(*AT, "r1.1", 1, False, "no", "ada"))
    assert await waiting == Answer(False, "no")


async def test_after_the_limit_it_is_refused(journal: EventJournal, asking: Asking) -> None:
    asking.limit_s = 0.01
    assert await asking.answer(CARGO) == Answer(False, "nobody has answered within 0.01 s")
    assert run_of(journal, "r1").waiting is None


async def test_rules_go_first_and_without_ask_nobody_is_asked(journal: EventJournal, asking: Asking) -> None:
    assert not (await asking.answer(AgentWish("edit", "", ("/etc/passwd",)))).allowed
    assert (await asking.answer(AgentWish("execute", "", command="ls"))).allowed
    asking.limit_s = 0.0
    assert not (await asking.answer(CARGO)).allowed
    facts = [event.fact for event in journal.events(*AT)]
    assert all(fact.limit_s == 0 for fact in facts if isinstance(fact, e.PermissionAsked))


async def test_the_end_of_a_turn_refuses_what_waits(journal: EventJournal, asking: Asking) -> None:
    waiting = asyncio.create_task(asking.answer(CARGO))
    await asyncio.sleep(0)
    asking.close()
    assert (await waiting).why == "the turn was over before anybody answered"
    assert run_of(journal, "r1").waiting is None


async def test_a_daemon_that_starts_drops_the_questions_of_the_one_before(
    journal: EventJournal, asking: Asking
) -> None:
    waiting = asyncio.create_task(asking.answer(CARGO))
    await asyncio.sleep(0)
    waiting.cancel()
    questions.drop(journal)
    session = journal.state.runs["r1"].iterations[1].session
    assert session is not None
    assert (session.asks, session.refused, run_of(journal, "r1").waiting) == ((), 1, None)


async def test_work_on_a_tool_can_be_cut_and_does_not_outlive_its_daemon(journal: EventJournal, tmp_path: Path) -> None:
    engine = Engine(Workspace(tmp_path), Config(), journal)
    await carry_out(engine, "cut", {}, "ada")
    journal.emit(e.SessionTurned(*AT, "r1.1", 1, "stopped", 1.0))
    journal.emit(e.IterationEnded(*AT, "rejected", Skipped("ada")))
    with pytest.raises(DaemonError, match="no coding agent of r1 is at work"):
        await carry_out(engine, "cut", {}, "ada")
    journal.emit(e.SmithPrompted(*AT, "r1.1", "reflect"))
    session = journal.state.runs["r1"].iterations[1].session
    assert session is not None
    assert session.builds and not session.cutting, "the cut was of the turn before"
    answer = await carry_out(engine, "cut", {}, "ada")
    assert CutTurn().told(answer) == "the turn of r1 is cut: its work on a tool ends"
    questions.drop(journal)
    last = list(journal.events(*AT))[-1].fact
    assert isinstance(last, e.SmithEnded)
    assert last.why == "the daemon ended"
    with pytest.raises(DaemonError, match="no coding agent of r1 is at work"):
        await carry_out(engine, "cut", {}, "ada")


async def test_a_turn_can_be_cut_while_it_lasts(journal: EventJournal, tmp_path: Path) -> None:
    engine = Engine(Workspace(tmp_path), Config(), journal)
    await carry_out(engine, "cut", {}, "ada")
    session = journal.state.runs["r1"].iterations[1].session
    assert session is not None
    assert session.cutting
    journal.emit(e.SessionTurned(*AT, "r1.1", 1, "stopped", 1.0))
    for verb, args in (("cut", {}), ("interrupt", {"text": "x"})):
        with pytest.raises(DaemonError, match="no coding agent of r1 is at work"):
            await carry_out(engine, verb, args, "ada")
    journal.emit(e.Steered("r1", 1, "less"))
    journal.emit(e.SessionPrompted(*AT, "r1.1", 2, 0, notes=(1,)))
    run = run_of(journal, "r1")
    assert run.iterations[1].session is not None
    assert not run.iterations[1].session.cutting
    assert run.steering[0].consumed_by == 1
