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
    """The journal of a workspace in which a recording is played; unlike others it can begin again."""

    def __init__(self, workspace: Workspace) -> None:
        """Create the log in `workspace`. Raises StoreError, WorkspaceError."""
        workspace.make_private()
        super().__init__(EventStore(workspace.store))
        self.workspace = workspace

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write files (path → content) into the workspace. Raises OSError, OutsideFolder."""
        for name, data in files.items():
            write_atomic(inside(self.workspace.root, name), data)

    def clear(self) -> None:
        """Remove all events and files; listeners get the empty state. Raises OSError, StoreError."""
        for folder in (self.workspace.runs, self.workspace.memory):
            shutil.rmtree(folder, ignore_errors=True)
        # Emptied, not created again: a query can open the file at any moment.
        self.store.close()
        with closing(sqlite3.connect(self.workspace.store)) as db:
            db.executescript("DELETE FROM events; DELETE FROM snapshots")
        self.store = EventStore(self.workspace.store)
        self._folded, self._snapshot_seq = State(), 0
        self._publish(self._folded)


@contextmanager
def temporary_workspace() -> Iterator[Workspace]:
    """Run the block with an empty workspace, which is removed at the end. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix="kpd-demo-", ignore_cleanup_errors=True) as folder:
        root = Path(folder).resolve() / "demo"
        (root / "tasks").mkdir(parents=True)
        (root / ".kpd").mkdir(mode=0o700)
        yield Workspace(root)
