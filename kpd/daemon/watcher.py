"""Watches the files that others write, with one call per edit: config.toml, tasks/, skills/, memory/, deployments/.

The root is watched without its subfolders, and those four folders with theirs; of deployments/ only the journals
count, as sessions of agents and the output of builds lie beside them. Watching the root recursively would
put a watch on every folder under runs/ and wake the daemon for each file that kpd itself writes there; watching the
files and folders alone would go blind when one is replaced by a rename, or removed and made again.

`survey_tasks` reads the tasks as they are now into events, refused ones with the reason.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Self

from watchfiles import Change, awatch

from kpd.engine.journal import Journal
from kpd.model import events as e
from kpd.model.state import TaskCard
from kpd.workspace.paths import Workspace
from kpd.workspace.task import TaskError, card, find_tasks, load_task

STEP_MS = 100  # between reads of the system's reports; a change is seen after one or two of them
# What ends a burst is 0.3 s of quiet, as seen with that delay: both halves of a half-written save are one edit, and so
# is an editor's rename dance.
QUIET_S = 0.3 + STEP_MS / 1000
LONGEST_S = 3.0  # after which a burst is reported even if it goes on
# Hidden files, vim's swap files and its test for a writable folder, backups, Emacs' autosaves, Python's caches.
_IGNORED = re.compile(r"\..*|.*~|.*\.sw[a-z]|4913|#.*#|__pycache__|.*\.tmp")
log = logging.getLogger(__name__)


class Watcher:
    """A watcher that calls `on_change` from the event loop with all paths of a burst of changes, once it is over.

    A path can be gone, or a folder; the files in a new folder are in the set, too. kpd's own writes are reported like
    any others. `on_lost` is called with the reason when watching ends: the workspace is gone, or the system refuses.
    """

    def __init__(
        self,
        workspace: Workspace,
        on_change: Callable[[frozenset[Path]], None],
        on_lost: Callable[[str], None] = log.error,
    ) -> None:
        self._root = workspace.root
        self._deployments = workspace.deployments
        self._folders = frozenset((workspace.tasks, workspace.skills, workspace.memory, workspace.deployments))
        self._beside = self._folders | {workspace.config, workspace.root}
        self._on_change = on_change
        self._on_lost = on_lost
        self._burst: set[Path] = set()
        self._begun = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._watch_root(), name="kpd watcher")
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        await _cancel(self._task)
        self._forget()

    async def _watch_root(self) -> None:
        inner = asyncio.create_task(self._watch_folders())
        try:
            async for changes in _batches(self._root, recursive=False, concerns=self._beside.__contains__):
                if not self._root.is_dir():
                    self._forget()
                    self._on_lost(f"the workspace {self._root} is gone")
                    return
                if any(path in self._folders and change != Change.modified for change, path in changes):
                    # A removed folder took its watch with it, and a new one has none.
                    await _cancel(inner)
                    inner = asyncio.create_task(self._watch_folders())
                    await asyncio.sleep(STEP_MS / 1000)  # files made before the new watch is set are found below
                self._note(changes)
        except OSError as err:
            self._on_lost(f"cannot watch {self._root}: {err}")
        finally:
            await _cancel(inner)

    async def _watch_folders(self) -> None:
        present = [folder for folder in self._folders if folder.is_dir()]
        if not present:
            return
        try:
            async for changes in _batches(*present, recursive=True, concerns=self._is_edit):
                self._note(changes)
        except FileNotFoundError as err:
            log.info("a folder went while its watch was set: %s", err)
        except OSError as err:
            self._on_lost(f"cannot watch {', '.join(map(str, present))}: {err}")

    def _is_edit(self, path: Path) -> bool:
        parts = path.relative_to(self._root).parts
        if parts[0] == self._deployments.name and len(parts) > 2:
            return len(parts) == 3 and path.suffix == ".jsonl"
        return not any(_IGNORED.fullmatch(part) for part in parts)

    def _note(self, changes: set[tuple[Change, Path]]) -> None:
        """Add to the burst, which lasts until QUIET_S have passed without a change, or for LONGEST_S."""
        loop = asyncio.get_running_loop()
        if self._timer is None:
            self._begun = loop.time()
        else:
            self._timer.cancel()
        for change, path in changes:
            self._burst.add(path)
            if change == Change.added:
                self._burst.update(filter(self._is_edit, _held(path)))
        self._timer = loop.call_at(min(loop.time() + QUIET_S, self._begun + LONGEST_S), self._tell)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tell(self) -> None:
        burst = frozenset(self._burst)
        self._burst.clear()
        self._timer = None
        self._on_change(burst)


def _held(path: Path) -> Iterator[Path]:
    """Find the files in a new folder: they can be older than its watch."""
    return (file for file in path.rglob("*") if not path.is_symlink() and file.is_file())


async def _batches(
    *paths: Path, recursive: bool, concerns: Callable[[Path], bool]
) -> AsyncIterator[set[tuple[Change, Path]]]:
    async for changes in awatch(
        *paths,
        watch_filter=lambda _change, path: concerns(Path(path)),
        step=STEP_MS,
        recursive=recursive,
        ignore_permission_denied=False,  # it would hide every other refusal, too
    ):
        yield {(change, Path(path)) for change, path in changes}


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def survey_tasks(workspace: Workspace, journal: Journal) -> None:
    """Emit what has changed among the tasks since they were last read."""
    known = journal.state.tasks
    found: dict[str, TaskCard] = {}
    for name, folder in find_tasks(workspace).items():
        try:
            found[name] = card(load_task(folder))
        except (TaskError, OSError) as err:  # keep the card's other fields: its runs are shown with them
            found[name] = replace(known.get(name, TaskCard(name)), error=str(err))
    for name, now in found.items():
        if known.get(name) != now:
            journal.emit(e.TaskLoaded(now))
    for name in known.keys() - found.keys():
        journal.emit(e.TaskRemoved(name))
