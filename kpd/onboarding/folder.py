"""Writes the folder of a new task: whole, or not at all."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from kpd.onboarding.facts import KernelFacts
from kpd.onboarding.standalone import StandaloneTrial
from kpd.source.values import Dim3
from kpd.workspace.paths import WorkspaceError
from kpd.workspace.run_files import NotRegularFile, digest, read_plain, write_atomic
from kpd.workspace.sections import SectionError, split
from kpd.workspace.task import TASK_FILE

Truth = Literal["oracle", "baseline"]
LEAST_SHARE = 0.0001
"""The least weight of a case: that of a configuration that hardly ever ran."""
_TOML = """\
[task]
name = "{name}"
summary = "{kernel}, from production, in {configs} observed configurations"
language = "cuda"
editable = ["{file}"]

[bench]
quads = 20
"""


def files(
    name: str, facts: KernelFacts, whole: bytes, truth: Truth = "oracle", told: Sequence[str] = ()
) -> dict[str, bytes]:
    """Build the task's files; `whole` is the file with both sections, `told` are more lines of the statement."""
    file = source_name(facts)
    toml = _TOML.format(name=name, kernel=facts.kernel.name, configs=len(facts.configs), file=file)
    if truth == "baseline":
        toml += '\n[check]\ntruth = "baseline"\n'
    if facts.flags:
        toml += f"\n[build]\nflags = {json.dumps(facts.flags)}\n"
    toml += "".join(f"\n[cases.{one.name}]\nweight = {max(one.share, LEAST_SHARE):.4f}\n" for one in facts.configs)
    return {TASK_FILE: toml.encode(), file: whole, "task.md": "\n".join([_statement(facts), *told]).encode()}


def statement(tried: StandaloneTrial) -> list[str]:
    """Say what running the kernel alone found, a line each."""
    lines = [f"Alone, the kernel's worst element is at {tried.margin:.2g} of the tolerance."]
    if tried.untimed:
        lines.append(f"It was not timed alone: {tried.untimed}")
    return [*lines, *(f"- {one.told}" for one in tried.gaps)]


def source_name(facts: KernelFacts) -> str:
    """Return the file's name, which is the kernel's; harness.cu is reserved for a separate harness."""
    return "kernel.cu" if facts.kernel.name == "harness" else f"{facts.kernel.name}.cu"


def made_of(facts: KernelFacts, question: str) -> str:
    """Hash what a task is made of: the question for its harness, the project's flags, and the weights of the cases."""
    rest = json.dumps([facts.flags, [one.share for one in facts.configs]])
    return digest(f"{question}\0{rest}".encode())


def has_kernel(folder: Path, facts: KernelFacts) -> bool:
    """Return whether the task still has the kernel as production has it, and a harness beside that. Raises OSError."""
    return _kernel_in(folder, facts) == facts.prepared.text.encode()


def has_harness(folder: Path, facts: KernelFacts) -> bool:
    """Return whether the task still has a harness, with whichever kernel beside that. Raises OSError."""
    return _kernel_in(folder, facts) is not None


def _kernel_in(folder: Path, facts: KernelFacts) -> bytes | None:
    try:
        return split(read_plain(folder / source_name(facts))).kernel
    except (FileNotFoundError, NotADirectoryError, NotRegularFile, SectionError):
        return None


def copied(made: Path, tasks: Path, name: str, facts: KernelFacts) -> Path:
    """Make the task `name` of one whose folder has another kernel by now: production's kernel beside that harness.

    Raises WorkspaceError, SectionError, OSError.
    """
    content = {path.name: read_plain(path) for path in made.iterdir() if path.is_file()}
    file = source_name(facts)
    content[file] = split(content[file]).with_kernel(facts.prepared.text.encode()).whole
    content[TASK_FILE] = content[TASK_FILE].replace(f'name = "{made.name}"'.encode(), f'name = "{name}"'.encode(), 1)
    with drafted(tasks, name) as draft:
        draft.write(content)
        return draft.keep()


@contextmanager
def drafted(tasks: Path, name: str) -> Iterator["Draft"]:
    """Run the block with a draft of the task's folder, beside its later place; what is left of it is removed.

    Raises WorkspaceError where the name is taken, and OSError.
    """
    if (tasks / name).exists() or (tasks / name).is_symlink():
        raise WorkspaceError(f"{tasks / name} is there already", "choose another name")
    tasks.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".tmp", dir=tasks))
    try:
        yield Draft(home / name, tasks / name)
    finally:
        shutil.rmtree(home, ignore_errors=True)


class Draft:
    """A task's folder in the making. It is inside a hidden folder that neither kpd nor its watcher reads."""

    def __init__(self, folder: Path, place: Path) -> None:
        self.folder = folder
        self._place = place

    def write(self, content: Mapping[str, bytes]) -> None:
        """Replace the folder's content by these files. Raises OSError."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for path, data in content.items():
            write_atomic(self.folder / path, data)

    def keep(self) -> Path:
        """Move the folder to its final place, in one step. Raises WorkspaceError where that is taken meanwhile."""
        try:
            self.folder.rename(self._place)
        except OSError as err:
            raise WorkspaceError(f"{self._place} cannot be made: {err.strerror}", "choose another name") from err
        return self._place


def _statement(facts: KernelFacts) -> str:
    """Write the statement of the task: what an agent should know of the kernel's use in production."""
    rows = [
        f"| {one.name} | {_size(one.grid)} | {_size(one.block)} | {one.share:.1%} "
        f"| {', '.join(f'{name} {value}' for name, value in one.scalars.items())} |"
        for one in facts.configs
    ]
    share = "time" if facts.table.timed else "launches"
    return "\n".join([
        f"# {facts.kernel.qualified}",
        "",
        f"`{facts.kernel.signature}`",
        "",
        "A kernel from production. Its signature and the geometry of its launches are those of the host code that",
        f"calls it, and stay as they are. These launches stand for {len(facts.table.launches)} that were observed:",
        "",
        f"| case | grid | block | share of {share} | scalars |",
        "|---|---|---|---|---|",
        *rows,
        "",
    ])  # fmt: skip


def _size(size: Dim3) -> str:
    return f"{size.x} × {size.y} × {size.z}"
