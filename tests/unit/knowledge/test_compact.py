"""A long memory in brief: what is covered, what stays in full, and that nothing is ever lost on the way."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, strategies as st

from kpd.knowledge import memory
from kpd.knowledge.compact import AT_ONCE, LONGEST_REPLY, compact
from kpd.knowledge.summary import SECTIONS, Summary, read_summary, sections_of, summary_path
from kpd.model.budget import Budget
from kpd.model.iteration import Iteration
from kpd.model.kinds import Told
from kpd.model.run import Run
from kpd.workspace.paths import Workspace

NOON = 1763726400.0
GOOD = "## Resolved\n- tiles of 32: +20 %\n\n## Pending\n- TMA\n\n## Avoid\n- 1024 threads: 64 % slower\n"
THRESHOLD = 2_000


class Model:
    """Stands in for the small model: keeps what it was asked, and answers with what it was given, again and again."""

    def __init__(self, *answers: str | Callable[[], str]) -> None:
        self.answers, self.asked = answers or (GOOD,), list[str]()

    async def __call__(self, question: str) -> str:
        self.asked.append(question)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        return answer if isinstance(answer, str) else answer()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def remember(workspace: Workspace, run: int, entries: int, words: str = "moved the loads up and unrolled") -> None:
    """An entry is of some 150 characters."""
    for number in range(1, entries + 1):
        it = Iteration(number, "claude", 0, NOON + 10_000 * run + number, memo=f"idea {run}.{number} {words}")
        whole = Run(f"r{run}", "norm", "claude", "local", Budget(), NOON, started=NOON + 10_000 * run, iterations=(it,))
        memory.append(workspace, whole, it, "rejected", Told("no gain in 7 processes"))


def ideas(text: str) -> list[str]:
    return re.findall(r"idea (\d+\.\d+)", text)


async def test_a_short_memory_is_left_alone(workspace: Workspace) -> None:
    model = Model()
    assert not await compact(workspace, "norm", model, limit=THRESHOLD)
    remember(workspace, 1, 5)
    remember(workspace, 2, 5)
    assert not await compact(workspace, "norm", model, limit=THRESHOLD)
    assert model.asked == []
    assert not summary_path(workspace, "norm").exists()


async def test_older_runs_in_brief_and_the_newest_in_full(workspace: Workspace) -> None:
    for run in (1, 2, 3):
        remember(workspace, run, 10)
    full = (workspace.memory / "norm.md").read_bytes()
    model = Model()
    assert await compact(workspace, "norm", model, limit=THRESHOLD)
    (question,) = model.asked
    assert {f"{run}.{n}" for run in (1, 2) for n in range(1, 11)} <= set(ideas(question))
    text = summary_path(workspace, "norm").read_text()
    assert re.search(
        r"\n\nCovers r1, r2, r3, up to 2025-11-21 20:20:0\d UTC\.\n\n## Resolved\n\n- tiles of 32: ",
        text,
    )
    assert (workspace.memory / "norm.md").read_bytes() == full
    told = memory.past(workspace, "norm", "r4", THRESHOLD)
    assert ideas(told), "the newest are told in full"
    assert [*ideas(question), *ideas(told)] == [f"{run}.{n}" for run in (1, 2, 3) for n in range(1, 11)]
    assert told.index("1024 threads") < told.index("## Run r3")
    assert not await compact(workspace, "norm", model, limit=THRESHOLD)


async def test_small_runs_before_the_newest_stay_in_full_as_well(workspace: Workspace) -> None:
    remember(workspace, 1, 20)
    for run in (2, 3):
        remember(workspace, run, 1)
    model = Model()
    assert await compact(workspace, "norm", model, limit=THRESHOLD)
    told = memory.past(workspace, "norm", "r4", THRESHOLD)
    assert {"2.1", "3.1"} <= set(ideas(told))


@pytest.mark.parametrize("entries", [5, 15, 25, 60])
async def test_of_one_long_run_the_older_entries_are_summarised(workspace: Workspace, entries: int) -> None:
    """With the limits that a run has: what a prompt does not show stands in the summary."""
    remember(workspace, 1, entries)
    before = memory.past(workspace, "norm", "r2")
    model = Model()
    assert await compact(workspace, "norm", model) == ("older entries are left out" in before)
    told = memory.past(workspace, "norm", "r2")
    assert "older entries are left out" not in told
    summarised = [idea for question in model.asked for idea in ideas(question)]
    assert [*summarised, *ideas(told)] == [f"1.{n}" for n in range(1, entries + 1)]


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 900)), min_size=1, max_size=6), st.integers(0, 1500),
    st.integers(0, 3000),
)  # fmt: skip
def test_what_is_not_shown_is_summarised(runs: list[tuple[int, int]], notes: int, brief: int) -> None:
    """Whatever memory holds: long entries, people's notes, a long summary."""
    answer = GOOD + "".join(f"- {'y' * 100}\n" for _ in range(brief // 100))
    with TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder))
        model = Model(answer)
        every = []
        for run, (entries, length) in enumerate(runs, 1):
            remember(workspace, run, entries, "x" * length)
            every += [f"{run}.{n}" for n in range(1, entries + 1)]
            if notes and run == 1:
                path = workspace.memory / "norm.md"
                path.write_text(f"{'z' * 70}\n" * (notes // 70) + path.read_text())
            asyncio.run(compact(workspace, "norm", model))
            told = memory.past(workspace, "norm", f"r{run + 1}")
            assert "older entries are left out" not in told
            summarised = [idea for question in model.asked for idea in ideas(question)]
            assert [*summarised, *ideas(told)] == every


async def test_the_next_summary_starts_from_the_last_as_people_left_it(workspace: Workspace) -> None:
    for run in (1, 2):
        remember(workspace, run, 20)
    await compact(workspace, "norm", Model(), limit=THRESHOLD)
    path = summary_path(workspace, "norm")
    path.write_text(
        path.read_text().replace("- TMA", "- TMA, **with** two stages") + "\n## Notes\n\nMine: `keep` this.\n"
    )
    remember(workspace, 3, 20)
    model = Model()
    assert await compact(workspace, "norm", model, limit=THRESHOLD)
    assert "- TMA, **with** two stages" in model.asked[0]
    assert ideas(model.asked[0])[-1].startswith("3.")
    after = read_summary(workspace, "norm")
    assert after.runs == ("r1", "r2", "r3")
    assert after.more == "## Notes\n\nMine: `keep` this."
    assert "Mine: `keep` this." in memory.past(workspace, "norm", "r4")


async def test_a_summary_whose_coverage_people_removed_covers_nothing(workspace: Workspace) -> None:
    for run in (1, 2):
        remember(workspace, run, 20)
    await compact(workspace, "norm", Model(), limit=THRESHOLD)
    path = summary_path(workspace, "norm")
    path.write_text("Everything fails here.\n")
    told = memory.past(workspace, "norm", "r3", limit=20_000)
    assert "Everything fails here." in told
    assert len(ideas(told)) == 40


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I cannot do that.",
        "## Resolved\n- a\n\n## Pending\n- b\n",
        GOOD + "## Resolved\n- again\n",
        "## Resolved\n\n## Pending\n\n## Avoid\n",
        GOOD + "- x" * LONGEST_REPLY,
    ],
)
async def test_an_answer_without_the_three_sections_is_not_asked_for_again(workspace: Workspace, answer: str) -> None:
    for run in (1, 2):
        remember(workspace, run, 20)
    before, said = memory.past(workspace, "norm", "r3"), list[str]()
    model = Model(answer, GOOD)
    assert not await compact(workspace, "norm", model, said.append, THRESHOLD)
    assert memory.past(workspace, "norm", "r3") == before
    assert not await compact(workspace, "norm", model, said.append, THRESHOLD), "nothing is new"
    assert said == ["[the notes on earlier runs are not summarised: the answer lacks Resolved, Pending, Avoid]\n"]
    assert len(model.asked) == 1
    assert "No usable summary came" in summary_path(workspace, "norm").read_text()
    remember(workspace, 3, 1)
    assert await compact(workspace, "norm", model, said.append, THRESHOLD)
    assert "No usable summary came" not in summary_path(workspace, "norm").read_text()
    assert ideas(model.asked[1])[0] == "1.1"


async def test_a_refused_answer_leaves_the_summary_before_it(workspace: Workspace) -> None:
    remember(workspace, 1, 20)
    await compact(workspace, "norm", Model(), limit=THRESHOLD)
    remember(workspace, 2, 20)
    before = read_summary(workspace, "norm")
    await compact(workspace, "norm", Model("no"), limit=THRESHOLD)
    after = read_summary(workspace, "norm")
    assert after.refused > before.until
    assert replace(after, refused="") == before


async def test_what_people_write_meanwhile_wins(workspace: Workspace) -> None:
    for run in (1, 2):
        remember(workspace, run, 20)
    path = summary_path(workspace, "norm")

    def edited() -> str:
        path.write_text("## Avoid\n- mine\n")
        return GOOD

    assert not await compact(workspace, "norm", Model(edited), limit=THRESHOLD)
    assert path.read_text() == "## Avoid\n- mine\n"


async def test_a_failure_between_portions_keeps_what_was_done_and_goes_on_there(workspace: Workspace) -> None:
    remember(workspace, 1, 2 * AT_ONCE // 400, "x" * 300)
    remember(workspace, 2, 20)

    def dies() -> str:
        raise ConnectionError("gone")

    first = Model(GOOD, dies)
    with pytest.raises(ConnectionError):
        await compact(workspace, "norm", first, limit=THRESHOLD)
    done = read_summary(workspace, "norm")
    assert done.runs == ("r1",)
    second = Model()
    assert await compact(workspace, "norm", second, limit=THRESHOLD)
    asked = [ideas(question) for question in (first.asked[0], *second.asked)]
    every = [idea for portion in asked for idea in portion]
    assert every[: 2 * AT_ONCE // 400] == [f"1.{n}" for n in range(1, 2 * AT_ONCE // 400 + 1)]
    assert len(every) == len(set(every))
    assert all(len(question) < AT_ONCE + 10_000 for question in second.asked)
    assert not list(workspace.memory.glob(".*"))


async def test_what_began_in_the_same_second_is_summarised_together(workspace: Workspace) -> None:
    for number in range(1, AT_ONCE // 100):
        it = Iteration(number, "claude", 0, NOON, memo=f"idea 1.{number} {'x' * 100}")
        run = Run("r1", "norm", "claude", "local", Budget(), NOON, started=NOON, iterations=(it,))
        memory.append(workspace, run, it, "rejected", Told(""))
    remember(workspace, 2, 1)
    model = Model()
    assert await compact(workspace, "norm", model, limit=THRESHOLD)
    assert len(ideas(model.asked[0])) == AT_ONCE // 100 - 1


def test_a_reply_with_words_around_it_and_escapes_is_understood() -> None:
    reply = (
        "Here it is:\n```markdown\n**no**\n## resolved:\n* `__restrict__` \\_\\_launch\\_bounds\\_\\_\n"
        "### Pending ###\n1. one\n2. two\n\n## AVOID\n# Run r9\n- <b>x</b>\n```\n"
    )
    assert sections_of(reply) == (
        "## Resolved\n\n- \\`\\_\\_restrict\\_\\_\\` \\_\\_launch\\_bounds\\_\\_\n\n"
        "## Pending\n\n- one\n- two\n\n## Avoid\n\n- \\<b\\>x\\</b\\>"
    )


@given(st.text(), st.lists(st.text(max_size=40), min_size=3, max_size=3))
def test_a_hostile_reply_opens_nothing_and_survives_being_written(before: str, inside: list[str]) -> None:
    reply = before + "".join(f"\n## {name}\n- an item\n{text}\n" for name, text in zip(SECTIONS, inside, strict=True))
    sections = sections_of(reply)
    if sections is None:  # the text has such a heading itself
        return
    assert re.findall(r"^#+ .*$", sections, re.MULTILINE) == [f"## {name}" for name in SECTIONS]
    assert all(line.startswith(("## ", "- ")) for line in sections.split("\n") if line)
    assert sections_of(sections) == sections


def test_a_summary_reads_as_it_was_written(workspace: Workspace) -> None:
    sections = sections_of(GOOD)
    assert sections is not None
    written = Summary("2025-11-21 12:00:00", ("r1", "r2"), sections, "prose\n\n## Mine\n- x")
    summary_path(workspace, "norm").parent.mkdir()
    summary_path(workspace, "norm").write_text(written.render("norm"))
    assert read_summary(workspace, "norm") == written
    refused = replace(written, refused="2025-11-22 12:00:00")
    summary_path(workspace, "norm").write_text(refused.render("norm"))
    assert read_summary(workspace, "norm") == refused
    assert replace(written, more="").body == sections
