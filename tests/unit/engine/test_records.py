"""What a candidate's command leaves as records is kept, whatever names it has; none of it stops a run."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, cast

import pytest

from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine.attempt import Attempt
from kpd.engine.records import FILE, MOST_NAMES, keeping_records
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.status import StepName
from kpd.workspace.paths import Workspace
from tests.support.model.samples import task_of


class Left:
    """What a job has left in its `out/` folder."""

    def __init__(self) -> None:
        self.said: Any = {}

    async def output(self, job: str, name: str, limit: int) -> bytes:
        return self.said if isinstance(self.said, bytes) else json.dumps(self.said).encode()


class Place:
    """One attempt whose command leaves records."""

    def __init__(self, root: Path, journal: EventJournal) -> None:
        self.left = Left()
        task = replace(task_of(root / "scale", {}), records=("profile/",))
        host = Host("local", PurePosixPath("/root"), Local())
        given: list[Any] = [Workspace(root), None, journal, None, host, self.left, None, task, Path(), "r1", 0]
        self.attempt = Attempt(*given, prepare=cast(Any, None))
        self.folder = self.attempt.folder.folder

    async def keep(self, step: StepName, *files: str, left_out: tuple[str, ...] = ()) -> dict[str, Any]:
        data = {name: base64.b64encode(name.encode(errors="replace")).decode() for name in files}
        return await self.said(step, {"files": data, "left_out": left_out})

    async def said(self, step: StepName, said: object) -> dict[str, Any]:
        self.left.said = said
        async with keeping_records(self.attempt, step, lambda: "job"):
            pass
        return cast(dict[str, Any], json.loads((self.folder / FILE).read_bytes()))


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Iterator[Place]:
    journal = EventJournal(EventStore(tmp_path / "events.db"))
    journal.emit(e.RunQueued("r1", "scale", "sweep", "local", Budget()))
    journal.emit(e.IterationStarted("r1", 0, "sweep", 0))
    yield Place(tmp_path, journal)
    journal.close()


async def test_a_name_that_is_no_text_is_told_and_stops_nothing(place: Place) -> None:
    """A byte that is no UTF-8 comes as a lone surrogate, which no file of ours can hold."""
    odd = (b"profile/\xff" + b"x" * 5000).decode(errors="surrogateescape")
    kept = await place.keep("check", "profile/best", left_out=(odd, "\x1b[2J"))
    assert kept["files"] == {"profile/best": 12}
    assert all(name.isprintable() and len(name) <= 200 for name in kept["left_out"]) and len(kept["left_out"]) == 2
    kept = await place.keep("check", left_out=tuple(map(str, range(MOST_NAMES + 1))))
    assert len(kept["left_out"]) == MOST_NAMES


async def test_a_folder_where_a_file_was_is_no_trouble(place: Place) -> None:
    await place.keep("check", "profile/x")
    kept = await place.keep("time", "profile/x/y")
    assert kept["folder"] == "records/time-1"
    assert (place.folder / "records/check-1/profile/x").read_text() == "profile/x"
    assert (place.folder / "records/time-1/profile/x/y").read_text() == "profile/x/y"
    await place.keep("time", "profile/x")
    assert (place.folder / "records/time-1/profile/x").is_file(), "as where the step is begun again"
    place.attempt.number_of_attempt = 2
    assert (await place.keep("time", "profile/x/y"))["folder"] == "records/time-2"


async def test_of_a_file_and_what_lies_in_it_one_is_kept(place: Place) -> None:
    """The runner never says so; a command may write what it likes."""
    kept = await place.keep("time", "profile/x", "profile/x/y/z")
    assert (kept["files"], kept["left_out"]) == ({"profile/x": 9}, ["profile/x/y/z"])


@pytest.mark.parametrize("said", [b"[" * 100_000, b"\xff", b"[]", b'{"files": {"a": 1}, "left_out": []}'])
async def test_what_cannot_be_read_is_said_to_be(place: Place, said: bytes) -> None:
    assert "unreadable" in await place.said("check", said)


async def test_the_incumbent_in_a_candidates_place_leaves_nothing(place: Place) -> None:
    await place.keep("check", "profile/x")
    place.attempt.in_place = "0a"
    assert (await place.keep("check", "profile/y"))["files"] == {"profile/x": 9}
    assert not (place.folder / "records/check-1/profile/y").exists()
