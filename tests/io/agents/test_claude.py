"""The agent claude without an engine, against a scripted model service: what it asks when things do not fit or fail."""

import contextlib
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.agents.agent import Context, Exhausted
from kpd.agents.claude import MOST_OVERFLOWS, Claude
from kpd.claude.backoff import Backoff
from kpd.claude.tokens import tokens
from kpd.knowledge import memory
from kpd.knowledge.summary import summary_path
from kpd.model.budget import Budget
from kpd.model.iteration import Iteration
from kpd.model.kinds import Told
from kpd.model.run import Run
from kpd.workspace.config import ClaudeConfig
from kpd.workspace.paths import Workspace
from tests.support.agents.asked import asked, shipped
from tests.support.claude.anthropic_script import Behaviour, Script
from tests.support.claude.anthropic_server import KEY, Asked, Reply, Server, Status, serving

TASK = "transpose_cuda"
NO_WAITING = Backoff(first_s=3600, most_s=3600)
"""The first pause would be longer than any patience, so that a test never waits."""
TOO_LONG = Status(400, "invalid_request_error", "prompt is too long: 10000 tokens > 8000 maximum")


@contextlib.asynccontextmanager
async def agent(script: Script, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Server, Claude]]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    async with serving(script) as server:
        made = Claude(replace(ClaudeConfig(), base_url=server.url), NO_WAITING)
        try:
            yield server, made
        finally:
            await made.close()


def context(root: Path, say: Callable[[str], None] = lambda text: None) -> Context:
    task, incumbent = shipped(TASK)
    return replace(asked(root, task, incumbent), say=say)


def good() -> Reply:
    _, incumbent = shipped(TASK)
    files = "\n".join(f"```cuda {path}\n{text.decode()}#define TRIED 1\n```" for path, text in incumbent.items())
    return Reply(f"MEMO: a name more\nEXPECT: time down, gain 1 %\n\n{files}\n", chunk=4000)


def weight(request: Asked) -> int:
    return sum(map(tokens, [*request.system, *request.turns]))


def remember(root: Path) -> None:
    """Earlier runs of the task, more of them than a prompt takes."""
    for number in range(1, 4):
        began = 1.7e9 + 10_000 * number
        run = Run(f"r{number}", TASK, "claude", "local", Budget(), began, started=began)
        for at in range(1, 41):
            it = Iteration(at, "claude", 0, began + at, memo=f"idea {number}.{at} unrolled and moved up the loads")
            memory.append(Workspace(root), run, it, "rejected", Told("no gain in 7 processes"))


async def test_a_prompt_that_is_too_long_loses_at_once_what_is_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(tmp_path)
    script: list[Behaviour] = [Status(400, "invalid_request_error", "no summary, please"), TOO_LONG, good()]
    async with agent(script, monkeypatch) as (server, made):
        await made.propose(context(tmp_path))
    _, first, second = map(weight, server.asked)
    assert second <= 0.76 * first, "more than any single block"


BARELY = Status(400, "invalid_request_error", "prompt is too long: 10001 tokens > 10000 maximum")


@pytest.mark.parametrize("said", [BARELY, Reply("I would", stop="model_context_window_exceeded")])
async def test_no_more_than_two_overflows_are_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Status | Reply
) -> None:
    remember(tmp_path)
    async with agent(lambda request: said, monkeypatch) as (server, made):
        with pytest.raises(Exhausted, match="do not fit the context"):
            await made.propose(context(tmp_path))
    asked_of_it = [request for request in server.asked if request.body["model"] == ClaudeConfig().model]
    assert len(asked_of_it) == MOST_OVERFLOWS
    assert weight(asked_of_it[1]) < weight(asked_of_it[0])


async def test_a_run_does_not_wait_for_a_summary_of_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(tmp_path)
    said: list[str] = []
    small = ClaudeConfig().small_model

    def model(request: Asked) -> Status | Reply:
        return Status(529, "overloaded_error") if request.body["model"] == small else good()

    async with agent(model, monkeypatch) as (server, made):
        for _ in range(2):
            await made.propose(context(tmp_path, said.append))
    assert [request.body["model"] == small for request in server.asked] == [True, False, False]
    assert "earlier runs are not summarised" in said[0]
    assert "overloaded" in said[0]
    assert "idea 3.40" in "".join(server.asked[1].system), "what memory has is told without a summary"
    assert not summary_path(Workspace(tmp_path), TASK).exists()


@pytest.fixture
def opened() -> Iterator[list[tuple[str, bool]]]:
    """Names of the Markdown files that are opened, each with whether the event loop waits for it."""
    found: list[tuple[str, bool]] = []
    loop, going = threading.get_ident(), [True]

    def hook(event: str, args: tuple[object, ...]) -> None:
        if going and event == "open" and str(args[0]).endswith(".md"):
            found.append((Path(str(args[0])).name, threading.get_ident() == loop))

    sys.addaudithook(hook)
    yield found
    going.clear()


async def test_what_is_known_is_gathered_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[tuple[str, bool]]
) -> None:
    async with agent([good()], monkeypatch) as (_, made):
        given = context(tmp_path)
        opened.clear()
        await made.propose(given)
    assert "call_in_loop.md" in {name for name, _ in opened}
    assert [name for name, on_loop in opened if on_loop] == []
