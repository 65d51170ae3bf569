"""What answers are read from: the state, the log and the files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from kpd.daemon.journal import load_state
from kpd.daemon.store import EventStore
from kpd.model.detail import Detail, detail
from kpd.model.events import Event
from kpd.model.run import Run
from kpd.model.state import State
from kpd.operations.operation import RunIteration, pruned
from kpd.operations.references import run_ref
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import IterationFolder


@dataclass(frozen=True, slots=True)
class Sources:
    """The data that answers are read from. The log is opened again for each query, so any thread can ask."""

    state: State
    workspace: Workspace

    @classmethod
    def offline(cls, workspace: Workspace) -> "Sources":
        """Load the state from the log, for when no daemon runs. Raises StoreError."""
        if not workspace.store.exists():
            return cls(State(workspace=str(workspace.root)), workspace)
        with EventStore(workspace.store, read_only=True) as store:
            return cls(replace(load_state(store), pid=None), workspace)

    def files(self, run: Run, number: int) -> IterationFolder:
        """Return the folder of an iteration whose files are wanted. Raises DaemonError where they were pruned."""
        it = run.iteration(number)
        if it is not None and (gone := pruned(RunIteration(run, it))) is not None:
            raise gone
        return self.folder(run, number)

    def folder(self, run: Run, number: int) -> IterationFolder:
        return IterationFolder(self.workspace.iteration_folder(run.task, run.id, number))

    def detail(self, run: Run, number: int) -> Detail:
        """Fold the log's events of one iteration into its detail. Raises StoreError."""
        return detail(self.events(run.id, number))

    def events(self, run: str, number: int) -> tuple[Event, ...]:
        """Read the log's events of one iteration. Raises StoreError."""
        with EventStore(self.workspace.store, read_only=True) as store:
            return tuple(store.read(run=run, iteration=number))

    @contextmanager
    def log(self, run: str | None = None) -> Iterator[EventStore | None]:
        """Run the block with the open log, or None where there is none yet. Raises DaemonError for an unknown `run`."""
        if run is not None:
            run_ref(self.state, run)
        if not self.workspace.store.exists():
            yield None
            return
        with EventStore(self.workspace.store, read_only=True) as store:
            yield store
