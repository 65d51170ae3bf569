"""Prepares the folder of a session, and reads what the agent leaves in it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kpd.knowledge.skills import load_skills
from kpd.workspace.candidate_tree import read_tree, refused
from kpd.workspace.disk import removed, used
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import write_atomic
from kpd.workspace.task import Task
from kpd.workspace.task_copy import lay_task, shown

MOST_KEPT = 64 << 20
MOST_KEPT_FILES = 20_000
"""Bytes and files of an agent's home that stay after it has filled the disk."""


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """iter_NNNN/session: the tree to work on, the task in words, skills, and the agent's own home."""

    root: Path

    @property
    def tree(self) -> Path:
        return self.root / "tree"

    @property
    def state(self) -> Path:
        """The agent's HOME: its settings, and its record of the session."""
        return self.root / "state"

    @property
    def scratch(self) -> Path:
        return self.root / "tmp"

    @property
    def tools(self) -> Path:
        """The tools that agents have built, a folder each. The agent may read them."""
        return self.root / "tools"

    @property
    def tool(self) -> Path:
        """Where the agent builds a tool after its iteration; before that it is not there."""
        return self.root / "tool"

    @property
    def brief(self) -> Path:
        return self.root / "TASK.md"

    @property
    def log(self) -> Path:
        return self.root / "log.jsonl"

    def prepare(self, task: Task, incumbent: dict[str, bytes], workspace: Workspace) -> None:
        """Make the folder anew: the editable files as the incumbent has them, all others read-only.

        The files that only the task's held-out benchmark needs are left out. Raises OSError.
        """
        removed(self.root)
        for folder in (self.state, self.scratch, self.root / "skills"):
            folder.mkdir(parents=True)
        lay_task(self.tree, task, incumbent)
        for skill in load_skills(workspace).by_id.values():
            write_atomic(self.root / "skills" / f"{skill.id}.md", f"# {skill.id}\n\n{skill.signal}\n\n{skill.body}\n")

    def prepare_tool(self, task: Task, incumbent: dict[str, bytes]) -> None:
        """Make an empty folder for a tool, and the tree anew; the agent's own tree is moved to `worked`.

        Raises OSError.
        """
        worked = self.root / "worked"
        removed(worked)
        removed(self.tool)
        if self.tree.exists():
            self.tree.rename(worked)
        lay_task(self.tree, task, incumbent)
        self.tool.mkdir()

    def relieve(self, task: Task, files: Mapping[str, bytes]) -> None:
        """Remove what an agent has filled the disk with: all but the task with these editable files.

        It keeps its home, unless that has more than MOST_KEPT. Raises OSError.
        """
        removed(self.scratch)
        self.scratch.mkdir()
        fresh, filled = self.root / "fresh", self.root / "filled"
        removed(fresh)
        lay_task(fresh, task, files)
        removed(filled)
        self.tree.rename(filled)
        fresh.rename(self.tree)
        removed(filled)
        size, count = used(self.state, MOST_KEPT, MOST_KEPT_FILES)
        if size > MOST_KEPT or count > MOST_KEPT_FILES:
            removed(self.state)
            self.state.mkdir()

    def proposed(self, task: Task) -> dict[str, bytes]:
        """Read the files that a candidate may have. One that is missing is left out. Raises OSError, TaskError."""
        return read_tree(self.tree, task)

    def foreign(self, task: Task) -> tuple[str, ...]:
        """Return what was changed, added or removed outside of the editable files: it is not taken.

        Raises OSError, TaskError.
        """
        return refused(self.tree, replace(task, protected=shown(task)))
