"""A session works on a tool after its iteration: a scripted agent's real process, a real log, real checks."""

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kpd.engine.proposing import context_of
from kpd.engine.tools.serving import serve_session
from kpd.engine.turns import Turns, claim_of
from kpd.hosts.job import device_claim, job_times
from kpd.model import events as e
from kpd.model.kinds import Told
from kpd.model.tools import active
from kpd.sessions.attempt import SessionAttempt
from kpd.sessions.smith import Toolsmith
from kpd.sessions.terms import settings_of
from kpd.tools.files import shelf, version_of
from kpd.workspace.config import ToolsmithConfig, load_config
from tests.support.e2e.desk_place import Place
from tests.support.sessions.scripted import agent, kernel
from tests.support.tools.built import SKILL, as_bytes, server_tool, write_tool

NAMED = [["say", "IMPROVEMENT: notes on loops\n"]]
BAD = server_tool(self_test="absent.c")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path / "w")
    place.workspace.config.touch()
    for fact in (
        e.SessionOpened("r1", 2, "r1.2", (sys.executable,), 60.0),
        e.SessionKnown("r1", 2, "r1.2", "their-own-7", "scripted 1", True),
        e.SessionPrompted("r1", 2, "r1.2", 1, 0),
        e.SessionTurned("r1", 2, "r1.2", 1, "done", 1.0),
    ):
        place.journal.emit(fact)
    yield place
    place.store.close()


def session(place: Place) -> SessionAttempt:
    context = replace(context_of(place.attempt, None), serve=partial(serve_session, place.attempt))
    return SessionAttempt("mine", settings_of("mine", load_config(place.workspace)), context)


async def ended(
    place: Place, *turns: list[list[Any]], settings: str = "", left: dict[str, str] | None = None, repairs: int = 1
) -> e.SmithEnded:
    """What comes of a session that does these turns; `left` are the files in the tool's folder after a kill."""
    agent(place.workspace, *turns, settings=settings)
    device_claim.set(claim_of(Turns(place.journal), place.journal, "r1"))
    job_times.set([])
    attempt = session(place)
    attempt.folder.prepare(place.task, attempt.context.incumbent, place.workspace)
    attempt.folder.brief.write_text("the task")
    if left is not None:
        attempt.folder.tool.mkdir()
        write_tool(attempt.folder.tool, left)
    await Toolsmith(attempt, ToolsmithConfig(repairs=repairs)).improve()
    (found,) = place.facts(e.SmithEnded)
    assert isinstance(found, e.SmithEnded)
    return found


def tasks(place: Place) -> list[str]:
    return [fact.task for fact in place.facts(e.SmithTurned) if isinstance(fact, e.SmithTurned)]


async def test_a_session_that_needs_nothing_builds_nothing(place: Place) -> None:
    found = await ended(place, [["say", "All was there.\n\nIMPROVEMENT: nothing\n"]])
    assert (found.end, tasks(place)) == ("nothing", ["reflect"])


async def test_an_empty_folder_is_nothing_built_and_never_a_pass(place: Place) -> None:
    found = await ended(place, NAMED, [["say", "It is done, all checks passed.\n"]])
    assert (found.end, found.tool, tasks(place)) == ("nothing", "", ["reflect", "build"])
    assert not place.journal.state.tools


async def test_a_skill_alone_is_a_tool(place: Place) -> None:
    found = await ended(place, NAMED, [["files", "../tool", SKILL]])
    assert found.end == "qualified"
    assert [one.ref for one in active(place.journal.state.tools, "scale")] == [found.tool]
    own = next(iter(place.journal.state.tools.values()))
    assert (own.run, own.iteration, own.task) == ("r1", 2, "scale")


async def test_what_still_fails_after_its_repairs_is_quarantined(place: Place) -> None:
    found = await ended(place, NAMED, [["files", "../tool", BAD]], [["say", "I see nothing wrong.\n"]])
    assert (found.end, tasks(place)) == ("quarantined", ["reflect", "build", "mend"])
    assert "absent.c" in found.why
    assert place.journal.state.tools[found.tool].state == "quarantined"
    assert active(place.journal.state.tools, "scale") == ()


async def test_files_that_are_no_tool_are_never_registered(place: Place) -> None:
    found = await ended(place, NAMED, [["files", "../tool", {"tool.toml": "name = 3"}]], [["say", "no\n"]])
    assert (found.end, bool(place.journal.state.tools)) == ("unusable", False)
    assert "'summary' is missing" in found.why


async def test_what_lies_on_the_shelf_is_not_replaced_and_stops_no_run(place: Place) -> None:
    kept = shelf(place.workspace, "loop-notes", version_of(as_bytes(SKILL)))
    kept.mkdir(parents=True)
    (kept / "SKILL.md").write_text("other")
    found = await ended(place, NAMED, [["files", "../tool", SKILL]], [["say", "no\n"]])
    assert (found.end, bool(place.journal.state.tools)) == ("unusable", False)
    assert "holds other files" in found.why and (kept / "SKILL.md").read_text() == "other"


async def test_what_a_person_has_quarantined_is_not_brought_back(place: Place) -> None:
    first = await ended(place, NAMED, [["files", "../tool", SKILL]])
    name, _, version = first.tool.partition("@")
    place.journal.emit(e.ToolQuarantined(name, version, "it misleads", "ada"))
    attempt = session(place)
    (attempt.folder.state / "turns").write_text("0")
    await Toolsmith(attempt, ToolsmithConfig(repairs=1)).improve()
    last = place.facts(e.SmithEnded)[-1]
    assert isinstance(last, e.SmithEnded)
    assert (last.end, last.tool) == ("unusable", first.tool)
    assert active(place.journal.state.tools, "scale") == ()


async def test_an_agent_that_crashes_leaves_the_run_alone(place: Place) -> None:
    found = await ended(place, NAMED, [["exit", 3]])
    assert found.end == "nothing"
    assert [fact.end for fact in place.facts(e.SmithTurned) if isinstance(fact, e.SmithTurned)] == ["done", "crash"]


async def test_nobody_is_asked_while_a_tool_is_built(place: Place) -> None:
    wish = ["ask", "fetch", "a page", {}]
    found = await asyncio.wait_for(ended(place, [wish], settings='ask = true\nask_limit = "1h"'), 30)
    assert found.end == "nothing"
    assert [fact.allowed for fact in place.facts(e.PermissionAnswered) if isinstance(fact, e.PermissionAnswered)] == [
        False
    ]


async def test_an_operator_ends_the_work_on_a_tool(place: Place) -> None:
    place.journal.emit(e.IterationEnded("r1", 2, "rejected", Told("")))

    def cut(message: object) -> None:
        if isinstance(message, e.Event) and isinstance(message.fact, e.SmithPrompted):
            place.journal.emit(e.TurnCut("r1", 2, "ada"))

    end = place.journal.subscribe(cut)
    found = await asyncio.wait_for(ended(place, [["until_cancelled"]]), 30)
    end()
    assert (found.end, found.why, tasks(place)) == ("broken_off", "an operator has cut its turn", ["reflect"])


BEGUN = (
    e.SmithPrompted("r1", 2, "r1.2", "reflect"),
    e.SmithTurned("r1", 2, "r1.2", "reflect", "done", 1.0, "notes on loops"),
    e.SmithPrompted("r1", 2, "r1.2", "build"),
)


async def test_after_a_kill_a_turn_that_ended_is_not_asked_again_and_the_one_cut_off_goes_on(place: Place) -> None:
    for fact in BEGUN:
        place.journal.emit(fact)
    found = await ended(place, [["files", "../tool", SKILL], ["say", "built\n"]], left={})
    assert (found.end, tasks(place)) == ("qualified", ["reflect", "build"])
    assert [fact.continues for fact in place.facts(e.SmithPrompted) if isinstance(fact, e.SmithPrompted)][2:] == [True]
    told = (session(place).folder.state / "prompt_0.md").read_text()
    assert told.startswith("kpd was stopped in the middle of your turn")
    assert len(place.facts(e.Billed)) == 1, "the turn that went on"


async def test_after_a_kill_the_files_of_an_agent_that_cannot_go_on_are_checked_as_they_are(place: Place) -> None:
    for fact in (e.SessionKnown("r1", 2, "r1.2", "", "exec", False), *BEGUN):
        place.journal.emit(fact)
    found = await ended(place, left=SKILL)
    assert (found.end, found.tool.partition("@")[0], tasks(place)) == ("qualified", "loop-notes", ["reflect", "build"])
    assert not place.facts(e.Billed)


async def test_an_agent_that_cannot_go_on_had_not_named_its_improvement(place: Place) -> None:
    for fact in (e.SessionKnown("r1", 2, "r1.2", "", "exec", False), BEGUN[0]):
        place.journal.emit(fact)
    found = await ended(place, left={})
    assert (found.end, found.why) == ("broken_off", "the daemon ended, and the agent cannot go on")


@pytest.mark.parametrize("repairs", [0, 1])
async def test_a_repair_that_was_cut_off_is_not_checked_before_it_goes_on(place: Place, repairs: int) -> None:
    """Nor is it lost where fewer repairs are allowed since then."""
    mending = e.SmithTurned("r1", 2, "r1.2", "build", "done", 1.0), e.SmithPrompted("r1", 2, "r1.2", "mend")
    for fact in (*BEGUN, *mending, e.SmithTurned("r1", 2, "r1.2", "mend", "cut", 1.0)):
        place.journal.emit(fact)
    found = await ended(place, [["files", "../tool", SKILL], ["say", "mended\n"]], left=BAD, repairs=repairs)
    assert (found.end, tasks(place)) == ("qualified", ["reflect", "build", "mend", "mend"])
    assert len(place.journal.state.tools) == 1, "what it repairs had been checked before"


async def test_a_cut_before_the_daemon_was_killed_is_no_turn_to_go_on_with(place: Place) -> None:
    agent(place.workspace, [["write", "kernel.c", kernel(1)]])
    attempt = session(place)
    attempt.folder.prepare(place.task, attempt.context.incumbent, place.workspace)
    for fact in (
        e.SessionPrompted("r1", 2, "r1.2", 2, 0), e.Steered("r1", 1, "once is enough"), e.TurnCut("r1", 2, "ada")
    ):  # fmt: skip
        place.journal.emit(fact)
    proposal = await attempt.proposal()
    assert proposal.files["kernel.c"] == kernel(1).encode()
    turns = [(fact.turn, fact.end) for fact in place.facts(e.SessionTurned) if isinstance(fact, e.SessionTurned)]
    assert turns == [(1, "done"), (2, "stopped"), (3, "done")]
    told = place.facts(e.SessionPrompted)[-1]
    assert isinstance(told, e.SessionPrompted)
    assert (told.continues, told.notes) == (False, (1,)), "the message, and not: go on"
