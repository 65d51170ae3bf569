"""Where the files of what is selected lie, as the daemon's machine has them."""

from pathlib import Path

from kpd.workspace.paths import Workspace
from tui.model.view import View
from tui.model.waits import waits


def path_of(view: View) -> str:
    """The file that the selected run waits for, else the selected iteration's folder; empty where there is neither."""
    if view.run is None or not view.state.workspace:
        return ""
    if (wanted := waits(view.run).path) != "":
        return wanted
    if view.iteration is None:
        return ""
    workspace = Workspace(Path(view.state.workspace))
    return str(workspace.iteration_folder(view.run.task, view.run.id, view.iteration.number))


def folder_of(view: View) -> str:
    """The folder of the selected iteration, or run, or task; empty where nothing is selected."""
    if not view.state.workspace or not view.at.task:
        return ""
    workspace = Workspace(Path(view.state.workspace))
    if view.run is None:
        return str(workspace.tasks / view.at.task)
    if view.iteration is None:
        return str(workspace.run_folder(view.run.task, view.run.id))
    return str(workspace.iteration_folder(view.run.task, view.run.id, view.iteration.number))


def source_of(view: View) -> str:
    """The iteration whose files an edit begins with: the selected one once it has any, else the incumbent."""
    it, run = view.iteration, view.run
    if it is not None and (it.outcome is not None or it.review == "waits"):
        return view.ref
    return f"{run.id}.{run.incumbent}" if run is not None and run.incumbent is not None else ""
