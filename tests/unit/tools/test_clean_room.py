"""What a tool has changed in its room is seen, whatever it is."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kpd.tools import clean_room
from kpd.tools.clean_room import CleanRoom, finish


@pytest.fixture
def room(tmp_path: Path) -> CleanRoom:
    room = CleanRoom(tmp_path / "room")
    room.prepare({"server.py": b"x"}, lambda tree: (tree / "src").mkdir(parents=True))
    (room.tree / "kernel.c").write_bytes(b"int x;")
    return room


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda tree: (tree / "kernel.c").write_bytes(b"int y;"),
    "mode": lambda tree: (tree / "kernel.c").chmod(0o600),
    "folder": lambda tree: (tree / "src" / "empty").mkdir(),
    "closed folder": lambda tree: (tree / "src").chmod(0),
    "link": lambda tree: (tree / "to").symlink_to("/etc"),
    "pipe": lambda tree: os.mkfifo(tree / "pipe"),
    "removal": lambda tree: (tree / "src").rmdir(),
}


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_is_seen_and_what_is_closed_is_removed(room: CleanRoom, what: str) -> None:
    before = room.seen()
    (room.home / "cache").write_text("allowed")
    assert room.seen() == before
    CHANGES[what](room.tree)
    try:
        assert room.seen() != before
    except PermissionError:
        assert what == "closed folder"
    room.remove()
    assert not room.root.exists()


def test_large_files_are_told_apart(room: CleanRoom) -> None:
    def large(last: bytes) -> dict[str, str]:
        with (room.tree / "data").open("wb") as file:
            file.seek(17 << 20)
            file.write(last)
        return room.seen()

    assert large(b"a") != large(b"b")


@pytest.mark.parametrize(("most", "fine"), [(5, True), (4, False)])
def test_more_than_can_be_compared_is_no_pass(
    room: CleanRoom, monkeypatch: pytest.MonkeyPatch, most: int, fine: bool
) -> None:
    monkeypatch.setattr(clean_room, "MOST_ENTRIES", most)
    if fine:
        assert sorted(room.seen()) == ["tool", "tool/server.py", "tree", "tree/kernel.c", "tree/src"]
    else:
        with pytest.raises(OSError, match="more than 4 files and folders"):
            room.seen()


async def test_a_cancellation_while_a_program_ends_is_raised_after_that() -> None:
    class Slow:
        ended = False

        async def end(self) -> None:
            await asyncio.sleep(0.05)
            self.ended = True

    process = Slow()
    task = asyncio.create_task(finish(process))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert process.ended
