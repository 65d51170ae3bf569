"""Provides the journal and the temporary workspace in which a recording is played."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.model.state import State
from kpd.workspace.paths import Workspace, inside
from kpd.workspace.run_files import write_atomic


class PlaybackJournal(EventJournal):
    """The log of such a workspace, which unlike any other can begin anew."""

    def __init__(self, workspace: Workspace) -> None:
        """Raise StoreError, WorkspaceError."""
        workspace.make_private()
        super().__init__(EventStore(workspace.store))
        self.workspace = workspace

    def write(self, files: Mapping[str, bytes]) -> None:
        """Let files (path → content) appear. Raises OSError, Outside."""
        for name, data in files.items():
            write_atomic(inside(self.workspace.root, name), data)

    def clear(self) -> None:
        """Forget all events and files; who listens is told the empty state. Raises OSError, StoreError."""
        for folder in (self.workspace.runs, self.workspace.memory):
            shutil.rmtree(folder, ignore_errors=True)
        # Emptied, not made anew: a question that is being answered may open the file at any moment.
        self.store.close()
        with closing(sqlite3.connect(self.workspace.store)) as db:
            db.executescript("DELETE FROM events; DELETE FROM snapshots")
        self.store = EventStore(self.workspace.store)
        self._folded, self._snapshot_seq = State(), 0
        self._publish(self._folded)


@contextmanager
def temporary_workspace() -> Iterator[Workspace]:
    """A workspace that is removed at the end. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix="kpd-demo-", ignore_cleanup_errors=True) as folder:
        root = Path(folder).resolve() / "demo"
        (root / "tasks").mkdir(parents=True)
        (root / ".kpd").mkdir(mode=0o700)
        yield Workspace(root)
