"""Says why one of the app's own actions is not possible now; empty if it is possible."""

from tui.model.alarms import alarm
from tui.model.selected import findings, folder_of, path_of, source_of
from tui.model.view import View


def no_iteration(view: View) -> str:
    return "" if view.iteration is not None else "no iteration is selected"


def no_mark(view: View) -> str:
    if view.mark is None:
        return "no iteration is marked"
    if (why := no_iteration(view)) != "":
        return why
    if view.mark == view.at:
        return f"{view.ref} is the marked one: select another to compare it with"
    return "" if view.mark.task == view.at.task else f"{view.mark.ref} belongs to the task {view.mark.task}"


def no_diff(view: View) -> str:
    return "" if view.tab == "diff" else "hunks are in the Diff tab"


def no_finding(view: View) -> str:
    if view.tab != "rules":
        return "skills open from the Rules tab"
    return "" if findings(view) else "no rule has fired here"


def following(view: View) -> str:
    return "the selection follows the newest iteration already" if view.following else ""


def nothing_to_clear(view: View) -> str:
    return "" if view.filter or view.find or alarm(view) else "there is no filter, no search and no warning"


def no_path(view: View) -> str:
    return "" if path_of(view) else "no iteration is selected"


def no_folder(view: View) -> str:
    return "" if folder_of(view) else "nothing is selected that has a folder"


def no_command(view: View) -> str:
    return "" if view.sent or view.at.run else "nothing was done here yet, and no run is selected"


def no_kernel(view: View) -> str:
    if not view.editable:
        return "no iteration is selected"
    return "" if source_of(view) else "no iteration is selected that has files"
