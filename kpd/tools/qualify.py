"""Checks a tool that an agent has built, in a clean copy of its task. Nothing here is a pass unless it was seen."""

import asyncio
import importlib.util
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kpd.hosts.kept import can_confine
from kpd.model.toolbox import ToolCheck, ToolCheckName
from kpd.tools.clean_room import MOST_DISK, MOST_ENTRIES, CleanRoom
from kpd.tools.files import BadTool, read_tool
from kpd.tools.manifest import SKILL, Manifest, command, read_manifest, skill_trouble
from kpd.workspace.disk import explained
from kpd.workspace.extras import install

if TYPE_CHECKING:
    from kpd.tools.server_talk import ServerTalk

PROGRAM_S = 60.0
START_S = 20.0
ALL_S = 600.0
"""Seconds for the self-test or the tests, for the server to start or to list its tools, and for all checks together."""
LONGEST_SAID = 1500
MOST_NAMED = 5


@dataclass(slots=True)
class Findings:
    """What the checks have found so far."""

    checks: list[ToolCheck] = field(default_factory=list)
    inventory: tuple[str, ...] = ()

    def add(self, name: ToolCheckName, trouble: str = "", said: str = "", since: float = 0.0, of: str = "") -> None:
        """Add a check, which has passed where there is no trouble. `since` is when it began, by the monotonic clock."""
        seconds = round(time.monotonic() - since, 3) if since else 0.0
        self.checks.append(ToolCheck(name, not trouble, seconds, of, (trouble or said).strip()[-LONGEST_SAID:]))


def lacking(confined: bool = True) -> str:
    """Return what this machine lacks to check a tool's programs; empty where it lacks nothing."""
    if importlib.util.find_spec("mcp") is None:
        return f"kpd's part for coding agents is missing: {install('agents')}"
    if confined and not can_confine():
        return "this machine can confine no program: it has neither Landlock (Linux 5.13) nor a bubblewrap that works"
    return ""


def read_built(folder: Path) -> tuple[dict[str, bytes], Manifest]:
    """Read the files and the manifest of a tool. Raises BadTool, OSError; an empty folder is no tool."""
    files = read_tool(folder)
    if not files:
        raise BadTool("nothing was built: the folder is empty", "write tool.toml, and a server or a skill")
    return files, read_manifest(files)


async def qualify(
    files: Mapping[str, bytes], manifest: Manifest, room: CleanRoom, lay_task: Callable[[Path], None]
) -> Findings:
    """Check a tool whose manifest is valid, in `room`, which is made anew and removed afterwards. Raises OSError."""
    found = Findings()
    found.add("files", said=f"{len(files)} file{'' if len(files) == 1 else 's'}")
    found.add("manifest", said=manifest.summary)
    if SKILL in files:
        found.add("skill", skill_trouble(files))
    await asyncio.to_thread(room.prepare, files, lay_task)
    try:
        before = await asyncio.to_thread(room.seen)
        if manifest.server:
            await _limited(found, _server(found, files, manifest, room), room)
        found.add("writes", await asyncio.to_thread(_written, room, before))
    finally:
        await asyncio.to_thread(room.remove)
    return found


def _written(room: CleanRoom, before: Mapping[str, str]) -> str:
    """Return what the tool has changed outside of its home; empty where that is nothing."""
    try:
        after = room.seen()
    except OSError as err:
        return "; ".join(explained(err, "its folder", "what it has left there cannot be compared"))
    changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    return f"it wrote outside of its home: {', '.join(changed[:MOST_NAMED])}" if changed else ""


async def _limited(found: Findings, work: Coroutine[None, None, None], room: CleanRoom) -> None:
    """Do the work, which ends when its time is over or the room is full."""
    working, filling = asyncio.create_task(work), asyncio.create_task(room.overflow())
    try:
        done, _ = await asyncio.wait({working, filling}, timeout=ALL_S, return_when=asyncio.FIRST_COMPLETED)
        if working in done:
            working.result()
        else:
            full = f"it has filled its folders: more than {MOST_DISK >> 20} MiB or {MOST_ENTRIES:,} files"
            found.add("writes", full if filling in done else f"all checks together took more than {ALL_S:.0f} s")
    finally:
        for task in (working, filling):
            task.cancel()
        await asyncio.gather(working, filling, return_exceptions=True)


async def _server(found: Findings, files: Mapping[str, bytes], manifest: Manifest, room: CleanRoom) -> None:
    if trouble := lacking(room.confined):
        found.add("start", trouble)
        return
    programs: tuple[tuple[ToolCheckName, tuple[str, ...]], ...] = (
        ("self_test", manifest.self_test), ("tests", manifest.tests),
    )  # fmt: skip
    for name, words in programs:
        begun = time.monotonic()
        end = await room.run(command(words, room.tool, files), PROGRAM_S)
        found.add(name, "" if end.ok else end.said or "it failed without a word", end.said, begun)
    from kpd.tools.server_talk import talking

    begun = time.monotonic()
    try:
        process = await room.start(command(manifest.server, room.tool, files))
    except OSError as err:
        found.add("start", "; ".join(explained(err, "the server", "try again")), since=begun)
        return
    async with talking(process) as talk:
        await _asked(found, manifest, talk, begun)


async def _asked(found: Findings, manifest: Manifest, talk: "ServerTalk", begun: float) -> None:
    """Check what a server that was started at `begun` answers."""
    from kpd.tools.server_talk import ServerTrouble

    stage: ToolCheckName = "start"
    try:
        await talk.begin(START_S)
        found.add("start", since=begun)
        stage, begun = "inventory", time.monotonic()
        found.inventory = await talk.inventory(START_S)
    except ServerTrouble as err:
        found.add(stage, str(err), since=begun)
        return
    strange = sorted(manifest.samples.keys() - set(found.inventory))
    empty = "" if found.inventory else "the server lists no tool"
    found.add("inventory", empty or (f"samples names {strange[0]}, which it lacks" if strange else ""), since=begun)
    for tool in found.inventory:
        begun = time.monotonic()
        try:
            said = await talk.call(tool, manifest.samples.get(tool, {}), manifest.call_s)
            found.add("sample", said=said, since=begun, of=tool)
        except ServerTrouble as err:
            found.add("sample", str(err), since=begun, of=tool)
