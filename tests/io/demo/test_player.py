"""The player: everything comes, in time, files and all; what would change something is refused."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from kpd.demo.playhead import LONGEST_S
from kpd.model import events as e
from kpd.model.fold import fold_all
from kpd.model.playback import Playback
from kpd.model.state import State
from kpd.subscription import Client
from kpd.wire import DaemonError
from tests.support.demo.recordings import FOLDER, KERNELS, Played, canned, played

__all__ = ["played"]


def now(played: Played) -> Playback:
    found = played.player.stage.state.playback
    assert found is not None
    return found


def to_the_end(played: Played) -> None:
    while played.after(LONGEST_S) is not None:
        pass


def test_every_event_comes_with_the_time_that_it_had(played: Played) -> None:
    to_the_end(played)
    assert played.facts == [event.fact for event in canned().events]
    times = [event.at for event in played.player.stage.events() if not isinstance(event.fact, e.PlaybackChanged)]
    assert times[1:] == [event.at for event in canned().events]


def test_in_the_end_the_state_is_the_recordings(played: Played) -> None:
    to_the_end(played)
    own = {"seq": 0, "pid": None, "workspace": "", "version": "", "playback": None}
    recorded = replace(fold_all(canned().events), **own)
    assert replace(played.player.stage.state, **own) == recorded
    assert now(played).state == "over"


def test_what_was_known_before_the_run_is_there_at_once(played: Played) -> None:
    played.after(0.0)
    assert [type(fact) for fact in played.facts] == [e.HostProbed, e.TaskLoaded]
    assert played.player.stage.state.runs == {}
    assert now(played).label == "recording · NVIDIA H100 80GB HBM3 · 2026-11-21"


def test_files_come_with_the_step_that_wrote_them(played: Played) -> None:
    root = played.player.stage.workspace.root
    kernel, log = root / FOLDER / "iter_0001/candidate/kernel.cu", root / FOLDER / "iter_0001/build.log"
    memory = root / "memory/transpose_cuda.md"
    seen = []
    for _ in range(len(canned().events)):
        played.do(to="step")
        last = played.facts[-1]
        if isinstance(last, e.IterationFact) and last.iteration == 1:
            seen.append((type(last).__name__, kernel.exists(), log.exists(), memory.exists()))
        if now(played).state == "over":
            break
    assert seen[0] == ("Proposed", True, False, False)
    assert [built for name, _, built, _ in seen if name in ("Screened", "Staged")] == [False, False]
    assert [built for name, _, built, _ in seen if name == "Built"] == [True]
    assert seen[-1] == ("IterationEnded", True, True, True)
    assert kernel.read_bytes() == KERNELS[1]


def test_a_step_goes_on_to_its_end_and_pauses(played: Played) -> None:
    played.do(to="step")
    assert isinstance(played.facts[-1], e.Proposed)
    assert now(played).state == "paused"
    assert played.after(1000.0) is None
    played.do(to="iteration")
    assert isinstance(played.facts[-1], e.IterationEnded)
    assert played.facts[-1].iteration == 0


def test_an_iteration_begins_while_it_is_paused_by_no_clock(played: Played) -> None:
    played.do(play=False)
    count = len(played.facts)
    assert played.after(1000.0) is None
    assert len(played.facts) == count
    played.do(play=True)
    assert played.after(1000.0) is None
    assert now(played).state == "over"


def test_the_speed_is_told_and_kept(played: Played) -> None:
    assert played.do(speed=64) == {"state": "playing", "speed": 64}
    assert now(played).speed == 64
    played.do(to="beginning")
    assert now(played).speed == 64


def test_what_has_not_changed_is_not_told_again(played: Played) -> None:
    played.do(play=False)
    seq = played.player.stage.state.seq
    played.do(play=False, speed=1)
    assert played.player.stage.state.seq == seq


def test_it_begins_anew(played: Played) -> None:
    to_the_end(played)
    with pytest.raises(DaemonError, match="over"):
        played.do(to="step")
    assert played.do(play=True)["state"] == "playing"
    assert played.player.stage.state.runs == {}
    assert not (played.player.stage.workspace.root / "runs").exists()
    to_the_end(played)
    assert played.facts == [event.fact for event in canned().events]


@pytest.mark.parametrize(
    ("verb", "args"),
    [
        ("run", {"task": "transpose_cuda"}), ("pause", {"run": "r1"}), ("resume", {}), ("stop", {}), ("skip", {}),
        ("steer", {"text": "use TILE=64"}), ("accept", {"iteration": "r1.1"}), ("rollback", {"iteration": "r1.0"}),
        ("memo", {"iteration": "r1.1", "text": "x"}), ("edit", {"files": {"kernel.cu": ""}}), ("trust", {"host": "a"}),
        ("no_such_verb", {}),
    ],
)  # fmt: skip
def test_what_would_change_something_is_refused(played: Played, verb: str, args: dict[str, object]) -> None:
    seq = played.player.stage.state.seq
    with pytest.raises(DaemonError, match="this is a recording") as refused:
        played.player.command(verb, args)
    assert refused.value.code == "refused"
    assert played.player.stage.state.seq == seq


@pytest.mark.parametrize("args", [{"speed": 3}, {"speed": 0}, {"speed": "fast"}, {"to": "nowhere"}, {"play": 1}])
def test_a_wrong_argument_is_said_to_be_one(played: Played, args: dict[str, object]) -> None:
    with pytest.raises(DaemonError) as refused:
        played.do(**args)
    assert refused.value.code == "usage"


@asynccontextmanager
async def served(played: Played) -> AsyncIterator[Client]:
    """The player on its socket, and a client of it."""
    ready = asyncio.Event()
    serving = asyncio.create_task(played.player.serve(ready.set))
    await asyncio.wait_for(ready.wait(), 10)
    async with Client(played.player.stage.workspace.socket, "test") as client:
        yield client
    played.player.end()
    await serving


async def test_a_client_follows_through_a_new_beginning(played: Played) -> None:
    async with served(played) as client:
        await client.command("playback", to="iteration")
        messages = client.messages()
        first = await anext(messages)
        assert isinstance(first, State)
        assert first.runs["r1"].iterations[0].outcome == "baseline"
        await client.command("playback", to="beginning", play=False)
        again = await anext(messages)
        assert isinstance(again, State)
        assert again.seq == 0
        following = await anext(messages)
        assert isinstance(following, e.Event)
        assert following.seq == 1


async def test_what_was_printed_comes_before_the_step_ends(played: Played) -> None:
    async with served(played) as client:
        messages = client.messages()
        await anext(messages)
        await client.command("playback", to="iteration")
        said = []
        async for message in messages:
            said.append(message.fact.kind() if isinstance(message, e.Event) else getattr(message, "text", ""))
            if said[-1] == "built":
                break
        assert said[-2] == "ptxas info: 32 registers\n"


async def test_questions_are_answered_from_what_has_come(played: Played) -> None:
    async with served(played) as client:
        with pytest.raises(DaemonError, match="no run"):
            await client.query("show", iteration="r1.1")
        for _ in range(2):
            await client.command("playback", to="iteration")
        shown = await client.query("show", iteration="r1.1")
        assert shown["detail"]["judged"]["verdict"]["word"] == "faster"
        diff = await client.query("diff", iteration="r1.1")
        assert "+// tiled" in diff["text"]
        with pytest.raises(DaemonError, match="this is a recording"):
            await client.command("stop")
