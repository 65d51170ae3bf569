"""The dollars of a session hold over all its turns."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.agents.agent import BadReply, Exhausted, Failure
from kpd.model import events as e
from kpd.model.run import TaskState
from kpd.model.spending import Usage
from kpd.sessions.attempt import SessionAttempt
from kpd.sessions.conversation import Conversation
from kpd.sessions.past import past
from kpd.workspace.coding_agents import AgentConfig
from tests.support.agents.asked import asked, task_of

AT = ("r1", 1)


def attempt(root: Path, failure: Failure | None, *bills: e.Billed) -> SessionAttempt:
    """A session of two dollars, whose first turn has ended."""
    facts = (
        e.SessionOpened(*AT, "r1.1", ("agent",), 60.0), e.SessionPrompted(*AT, "r1.1", 1, 0), *bills,
        e.SessionTurned(*AT, "r1.1", 1, "money", 1.0),
    )  # fmt: skip
    events = [e.Event(seq, 100.0 + seq, fact) for seq, fact in enumerate(facts, 1)]
    start = {"kernel.c": b"as it was"}
    context = asked(root, task_of(root, {}, ("kernel.c",)), start)
    context = replace(context, failure=failure, events=lambda: events, latest=lambda: context.run)
    made = SessionAttempt("mine", AgentConfig(command=("agent",), usd=2.0), context)
    made.folder.tree.mkdir(parents=True)
    (made.folder.tree / "kernel.c").write_bytes(start["kernel.c"])
    return made


def bill(usd: float, unseen: bool = False) -> e.Billed:
    return e.Billed(*AT, "propose", "mine", Usage(), usd, unseen, 1, unseen)


async def test_a_session_whose_dollars_are_spent_is_not_asked_to_repair(tmp_path: Path) -> None:
    wrong = Failure("build", "error: x")
    with pytest.raises(Exhausted, match=r"mine is not asked again: its session has cost \$2.00 of \$2.00"):
        await attempt(tmp_path, wrong, bill(1.5), bill(0.5)).proposal()


@pytest.mark.parametrize(("state", "begins"), [("continue", b"as it was"), ("reset", b"the task's own")])
def test_its_tree_begins_with_the_incumbent_or_with_the_tasks_own_files(
    tmp_path: Path, state: TaskState, begins: bytes
) -> None:
    made = attempt(tmp_path, None)
    (tmp_path / "kernel.c").write_bytes(b"the task's own")
    made.context = replace(made.context, run=replace(made.context.run, task_state=state))
    assert made.start == {"kernel.c": begins}


async def test_its_tree_is_taken_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(BadReply, match=r"kernel\.c is as it was when its dollars were spent"):
        await attempt(tmp_path, None, bill(2.0)).proposal()


def test_what_a_turn_has_cost_that_nobody_saw_the_end_of_ends_no_session(tmp_path: Path) -> None:
    made = attempt(tmp_path, None, bill(0.5), bill(2.0, unseen=True))
    before = past(made.context.events())
    assert before is not None
    assert made.left_usd(before) == 1.5


def test_what_the_agent_had_said_before_a_kill_counts(tmp_path: Path) -> None:
    made = attempt(tmp_path, None, bill(0.5), bill(2.0, unseen=True))
    before = past(made.context.events())
    assert before is not None
    conversation = Conversation(lambda channel, text: None, made.folder.log)
    for amount in (0.5, 1.25):
        conversation.hear({"update": {"sessionUpdate": "usage_update", "cost": {"amount": amount, "currency": "USD"}}})
    assert made.left_usd(before) == 0.75
