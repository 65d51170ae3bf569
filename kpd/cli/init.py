"""kpd init: a workspace in a folder, without touching what is there already."""

import shutil
from argparse import ArgumentParser, Namespace
from pathlib import Path

from kpd.cli.outcome import OK, CliError
from kpd.cli.text import narrate, out
from kpd.workspace.paths import Workspace, expanded
from kpd.workspace.runfolder import write_atomic
from kpd.workspace.shipped import shipped
from kpd.workspace.task import ignored

UNTRACKED = ("runs/", ".kpd/")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", metavar="DIR", help="the folder; the current one if left out")


def execute(args: Namespace) -> int:
    root = expanded(args.folder or args.workspace or ".")
    if root.exists() and not root.is_dir():
        raise CliError(f"{root} is not a folder", "name a folder, or one that does not exist yet")
    root.mkdir(parents=True, exist_ok=True)
    ws = Workspace(root.resolve())
    made = make(ws)
    for path in made:
        narrate(f"  made {path}")
    if not made:
        narrate("nothing was missing")
    narrate(f"a workspace: {ws.root}. Next: kpd start rmsnorm_silu_cpu")
    out(str(ws.root))
    return OK


def make(ws: Workspace) -> list[str]:
    """Create what the workspace lacks, and return it as relative paths. Raises OSError."""
    made = []
    if not ws.config.exists():
        write_atomic(ws.config, shipped("config.toml.example").read_bytes())
        made.append("config.toml")
    for task in sorted(shipped("tasks").iterdir()):
        if task.is_dir() and not ignored(task.name) and not (ws.tasks / task.name).exists():
            shutil.copytree(task, ws.tasks / task.name, ignore=lambda _, names: {n for n in names if ignored(n)})
            made.append(f"tasks/{task.name}/")
    for folder, use in ((ws.tasks, ""), (ws.skills, " (a file here stands before the shipped one of its name)")):
        if not folder.exists():
            folder.mkdir()
            made.append(f"{folder.name}/{use}")
    readme = ws.memory / "README.md"
    if not readme.exists():
        write_atomic(readme, (shipped("memory") / "README.md").read_bytes())
        made.append("memory/README.md")
    if lines := _untracked(ws.root / ".gitignore"):
        made.append(f".gitignore: {' '.join(lines)}")
    return made


def _untracked(path: Path) -> list[str]:
    """Have git leave out what kpd writes; returns the lines that were added."""
    text = path.read_text() if path.exists() else ""
    lacking = [line for line in UNTRACKED if line not in text.split()]
    if lacking:
        gap = "" if not text or text.endswith("\n") else "\n"
        write_atomic(path, text + gap + "".join(f"{line}\n" for line in lacking))
    return lacking
