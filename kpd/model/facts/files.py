"""Defines what is recorded of a run's files: those it is pinned to, and what becomes of the task folder's."""

from dataclasses import dataclass

from kpd.model.fact import RunFact
from kpd.model.kinds import Told
from kpd.model.run import OwnFiles
from kpd.model.waits import EditedDuring


@dataclass(frozen=True, slots=True)
class OperatorEdited(RunFact):
    """An operator's edit of editable files; `files` is the folder now (path → sha256), measured as the next iteration.

    `by` is empty where they were saved in the folder itself: that could be anybody.
    """

    files: dict[str, str]
    conflict: EditedDuring | Told | None = None
    by: str = ""


@dataclass(frozen=True, slots=True)
class TaskPinned(RunFact):
    """The run's own copy of the task: its protected and its editable files (path → sha256).

    `unchecked`: nothing compares the results of its candidates. `own_files` is what the task says of its own
    editable files.
    """

    protected: dict[str, str]
    editable: dict[str, str]
    unchecked: bool = False
    own_files: OwnFiles = "right"


@dataclass(frozen=True, slots=True)
class FolderKnown(RunFact):
    """What the task folder's editable files (path → sha256) are now, with no edit among them that waits.

    kpd wrote them, or a person took an edit back.
    """

    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class BaselineStale(RunFact):
    """The protected files that changed on disk: this run goes on with the files it started from."""

    files: tuple[str, ...]
