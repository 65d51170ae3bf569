"""kpd init: creates a workspace in a folder without changing what is there; also the workspace of a first run."""

import secrets
import shutil
from argparse import ArgumentParser, Namespace
from pathlib import Path

from kpd.cli.daemon import end_orphan
from kpd.cli.exit_codes import OK, CliError
from kpd.cli.terminal_text import narrate, out
from kpd.workspace.editable import ignored
from kpd.workspace.paths import FIRST, Workspace, expanded, is_source, is_workspace
from kpd.workspace.run_files import write_atomic
from kpd.workspace.shipped import shipped
from kpd.workspace.task import copy_task

UNTRACKED = ("runs/", ".kpd/")
WRITTEN = {"runs", ".kpd", "tasks", "memory"}
"""What a daemon creates again in a workspace that was removed while it ran."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", metavar="DIR", help="the folder (default: the current one)")


def execute(args: Namespace) -> int:
    root = expanded(args.folder or args.workspace or ".")
    if root.exists() and not root.is_dir():
        raise CliError(f"{root} is not a folder", "name a folder, or one that does not exist yet")
    if is_source(root):
        raise CliError(f"{root} is kpd's own source, which no run may change", f"kpd init {root / FIRST}")
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


def make_first(ws: Workspace) -> None:
    """Create the workspace of a first run if it does not exist yet, in one step, and say so.

    A daemon of a removed workspace may still run: it is ended, and what it has written since stays. Raises CliError
    where the folder's name is taken by something else; OSError.
    """
    if is_workspace(ws.root):
        return
    end_orphan(ws)
    if is_workspace(ws.root):  # by another command, meanwhile
        return
    if ws.root.exists() and not (ws.root.is_dir() and {path.name for path in ws.root.iterdir()} <= WRITTEN):
        raise CliError(f"{ws.root} is there already, and no workspace of kpd's", "kpd init DIR makes one elsewhere")
    if ws.root.exists():
        make(ws)
    else:
        _make_at_once(ws)
    narrate(f"made a workspace, {ws.root}: example tasks, skills, memory, and config.toml with the settings")


def _make_at_once(ws: Workspace) -> None:
    partial = Workspace(ws.root.with_name(f".{ws.root.name}.{secrets.token_hex(4)}.tmp"))
    try:
        make(partial)
        partial.root.rename(ws.root)
    except OSError:
        if not is_workspace(ws.root):  # which another command may have made meanwhile
            raise
    finally:
        shutil.rmtree(partial.root, ignore_errors=True)


def make(ws: Workspace) -> list[str]:
    """Create what the workspace lacks, and return what was created as relative paths. Raises OSError."""
    made = []
    if not ws.config.exists():
        write_atomic(ws.config, shipped("config.toml.example").read_bytes())
        made.append("config.toml")
    for task in sorted(shipped("tasks").iterdir()):
        if task.is_dir() and not ignored(task.name) and not (ws.tasks / task.name).exists():
            copy_task(task, ws.tasks / task.name)
            made.append(f"tasks/{task.name}/")
    for folder, use in ((ws.tasks, ""), (ws.skills, " (a file here replaces the shipped one of the same name)")):
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
    """Have git ignore what kpd writes; return the lines that were added."""
    text = path.read_text() if path.exists() else ""
    lacking = [line for line in UNTRACKED if line not in text.split()]
    if lacking:
        gap = "" if not text or text.endswith("\n") else "\n"
        write_atomic(path, text + gap + "".join(f"{line}\n" for line in lacking))
    return lacking
