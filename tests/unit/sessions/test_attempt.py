"""The dollars of a session hold over all its turns."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.agents.agent import BadReply, Exhausted, Failure
from kpd.model import events as e
from kpd.model.run import TaskState
from kpd.model.session import TurnEnd
from kpd.model.spending import Usage
from kpd.sessions import folder
from kpd.sessions.attempt import SessionAttempt
from kpd.sessions.conversation import Conversation
from kpd.sessions.past import past
from kpd.workspace.candidate_tree import CANDIDATE_BYTES
from kpd.workspace.coding_agents import AgentConfig
from tests.support.agents.asked import asked, task_of

AT = ("r1", 1)


def attempt(root: Path, failure: Failure | None, *bills: e.Billed, end: TurnEnd = "money") -> SessionAttempt:
    """A session of two dollars, whose first turn has ended."""
    facts = (
        e.SessionOpened(*AT, "r1.1", ("agent",), 60.0), e.SessionPrompted(*AT, "r1.1", 1, 0), *bills,
        e.SessionTurned(*AT, "r1.1", 1, end, 1.0),
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


@pytest.mark.parametrize("kept", [b"a candidate", b"x" * (CANDIDATE_BYTES + 1)], ids=("fits", "is too large"))
async def test_of_one_that_filled_the_disk_the_candidate_stays_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bytes
) -> None:
    monkeypatch.setattr(folder, "MOST_KEPT", 1 << 19)
    made = attempt(tmp_path / "task", None, bill(2.0), end="disk")
    home, judge = made.folder, made.context.task.folder / "harness.c"
    judge.write_text("")
    for path in (home.tree / ".hidden" / "deep", home.scratch, home.state):
        path.mkdir(parents=True)
        (path / "filler").write_bytes(b"x" * (1 << 20))
    (home.tree / ".hidden").chmod(0)
    (home.tree / "kernel.c").write_bytes(kept)
    if len(kept) > CANDIDATE_BYTES:
        with pytest.raises(BadReply, match="more than 1 MiB"):
            await made.proposal()
        kept = b"as it was"
    else:
        assert dict((await made.proposal()).files) == {"kernel.c": kept}
    assert {path for path in home.root.rglob("*") if path.is_file()} == {home.tree / "kernel.c", home.tree / judge.name}
    assert (home.tree / "kernel.c").read_bytes() == kept
    assert home.scratch.is_dir() and home.state.is_dir()
