"""A change of a production program that waits: seen, read to its end, and approved or declined with one key each."""

import asyncio
from typing import Any

import pytest

from kpd.model import events as e
from kpd.model.deployments import Deployment, DeploymentCard
from tests.support.tui import logs
from tests.support.tui.drawn import screen
from tests.support.tui.feed import CannedFeed, app_on, settled


def asks(project: str, hash: str) -> e.DeploymentSeen:
    one = Deployment(1, "r1", 4, 2e9, phase="integrate", asks=hash, unattended=True)
    return e.DeploymentSeen("r1", DeploymentCard(project, one))


class SlowDiff(CannedFeed):
    """Answers what the change is only once that is let out."""

    def __init__(self, log: logs.Log) -> None:
        super().__init__(log)
        self.let_out = asyncio.Event()

    async def query(self, what: str, **args: Any) -> Any:
        if what == "change":
            await self.let_out.wait()
        return await super().query(what, **args)


async def test_only_a_diff_that_is_on_the_screen_can_be_approved() -> None:
    feed = SlowDiff(logs.ended().emit(asks("prover", "abc")))
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "a change of prover waits for you" in screen(app)
        await pilot.press("d", "y")
        await pilot.pause()
        assert "Make this change in prover?" in screen(app) and "Asking the daemon for the diff." in screen(app)
        feed.let_out.set()
        await settled(pilot)
        assert "prover → r1.4" in screen(app)
        await pilot.press("end")
        await settled(pilot)
        assert "-march=native" in screen(app)
        await pilot.press("y")
        await settled(pilot)
    assert feed.commands == [("answer_deployment", {"deployment": "prover#1", "yes": True, "diff": "abc"})]


@pytest.mark.parametrize(
    ("added", "read"),
    [(["x"] * 1_996, True), (["x"] * 1_997, False), (["x" * 2_000], True), (["x" * 2_001], False)],
)
async def test_a_change_is_approved_only_where_all_of_it_can_be_read(added: list[str], read: bool) -> None:
    feed = CannedFeed(logs.ended().emit(asks("prover", "abc")))
    lines = "".join(f"+{one}\n" for one in added)
    feed.change = f"--- a/k.cu\n+++ b/k.cu\n@@ -1 +1,{len(added) + 1} @@\n first\n{lines}"
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("d")
        await settled(pilot)
        assert ("kpd project approve prover shows it all" in screen(app)) is not read
        await pilot.press("y")
        await settled(pilot)
    assert len(feed.commands) == read


async def test_a_change_that_became_another_one_is_not_shown_and_can_be_declined() -> None:
    feed = SlowDiff(logs.ended().emit(asks("prover", "abc")))
    app = app_on(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press("d")
        feed.play([asks("prover", "def")])
        feed.let_out.set()
        await settled(pilot)
        assert "another change waits by now" in screen(app)
        await pilot.press("y", "escape", "G")
        await settled(pilot)
        assert "Decline the change of prover?" in screen(app)
        await pilot.press("y")
        await settled(pilot)
    assert feed.commands == [("answer_deployment", {"deployment": "prover#1", "yes": False})]


async def test_of_several_a_person_names_one() -> None:
    feed = CannedFeed(logs.ended().emit(asks("prover", "abc")).emit(asks("imaging", "def")))
    app = app_on(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        assert "a change of prover and imaging waits for you" in screen(app)
        await pilot.press("d")
        await settled(pilot)
        assert "prover#1 and imaging#1 wait: select the run of one" in screen(app)
    assert feed.commands == []
