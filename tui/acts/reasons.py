"""Why an act cannot be taken now, in a sentence; empty when it can."""

from tui.acts import asking
from tui.model.fired import findings
from tui.model.folders import folder_of, path_of, source_of
from tui.model.view import View
from tui.words.text import clean

# ── runs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def no_live_run(view: View) -> str:
    run = view.run
    if run is None:
        return "no run is selected"
    if run.status == "ended":
        active = view.state.active
        return f"{run.id} has ended" + (f"; follow goes to {active.id}, which is under way" if active else "")
    return ""


def not_running(view: View) -> str:
    run = view.run
    if run is not None and run.status == "paused":
        return f"{run.id} is paused already"
    if run is not None and run.status == "queued":
        return f"{run.id} has not begun"
    return no_live_run(view)


def not_stopped(view: View) -> str:
    """A held queue goes on wherever the operator is."""
    if view.state.held:
        return ""
    if (why := no_live_run(view)) != "":
        return why
    return "" if view.run is not None and view.run.status == "paused" else f"{view.at.run} is not paused"


def nothing_to_skip(view: View) -> str:
    if (why := no_live_run(view)) != "":
        return why
    return "" if view.run is not None and view.run.current is not None else "no iteration is under way"


def not_to_be_moved(view: View, by: int) -> str:
    if (why := no_live_run(view)) != "":
        return why
    queue = [run.id for run in view.state.queue]
    if view.at.run not in queue:
        return f"{view.at.run} has begun: only what is queued can be moved"
    if view.at.run == queue[0 if by < 0 else -1]:
        return f"{view.at.run} is the {'first' if by < 0 else 'last'} in the queue already"
    return ""


def first_in_queue(view: View) -> str:
    return not_to_be_moved(view, -1)


def last_in_queue(view: View) -> str:
    return not_to_be_moved(view, 1)


def no_task(view: View) -> str:
    if not view.at.task:
        return "there is no task yet: `kpd task new NAME` makes one"
    if view.task is None:
        return f"the task {view.at.task} is gone"
    return f"the task {view.at.task} is refused: its error is in Overview" if view.task.error else ""


def nothing_to_undo(view: View) -> str:
    run = view.run
    if run is None:
        return "no run is selected"
    return "" if run.before is not None else f"{run.id} has no accept or roll back by hand to undo"


# ── iterations ────────────────────────────────────────────────────────────────────────────────────────────────────


def no_iteration(view: View) -> str:
    return "" if view.iteration is not None else "no iteration is selected"


def under_way(view: View) -> str:
    it = view.iteration
    if it is None:
        return "no iteration is selected"
    return f"{view.ref} is still under way" if it.outcome is None else ""


def not_again(view: View) -> str:
    return under_way(view) or no_live_run(view)


def not_measured(view: View) -> str:
    it, run = view.iteration, view.run
    if it is None or run is None:
        return "no iteration is selected"
    if it.outcome is None:
        return f"{view.ref} is still under way"
    if run.incumbent == it.number:
        return f"{view.ref} is the incumbent already"
    if it.outcome in ("baseline", "accepted"):
        return f"{view.ref} was accepted before: roll back brings it back"
    if it.score is None:
        return f"{view.ref} was never timed, so there is nothing to accept"
    return ""


def not_to_profile(view: View) -> str:
    if (why := under_way(view)) != "":
        return why
    if view.run is not None and view.run.device_id == "cpu":
        return f"{view.run.id} was measured on a CPU: its profile is all there is"
    return "" if view.iteration is not None and view.iteration.score is not None else f"{view.ref} was never timed"


def not_to_roll_back_to(view: View) -> str:
    it, run = view.iteration, view.run
    if it is None or run is None:
        return "no iteration is selected"
    if run.incumbent == it.number:
        return f"{view.ref} is the incumbent already"
    if it.outcome not in ("accepted", "baseline") and not it.override:
        return f"{view.ref} was never accepted: only an accepted iteration or the baseline can come back"
    return ""


def no_memo_target(view: View) -> str:
    return "" if asking.memo_target(view) else "no iteration is selected"


def nothing_to_edit(view: View) -> str:
    if (why := no_live_run(view)) != "":
        return why
    if not view.editable:
        return f"the task {view.at.task} is gone"
    return "" if source_of(view) else f"{view.at.run} has no incumbent yet"


def nothing_to_review(view: View) -> str:
    waiting = asking.for_review(view)
    if not waiting:
        return "no candidate waits for your review"
    return "" if len(waiting) == 1 else f"{' and '.join(place.ref for place in waiting)} wait: select one of them"


# ── comparing ─────────────────────────────────────────────────────────────────────────────────────────────────────


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


def no_rule(view: View) -> str:
    """Pinned and banned is what fired, and is chosen in the Rules tab."""
    if view.tab != "rules":
        return "choose a rule in the Rules tab"
    return no_finding(view) or no_live_run(view)


# ── hosts, and the screen itself ──────────────────────────────────────────────────────────────────────────────────


def no_host(view: View) -> str:
    return "" if view.host_card is not None else "no host is known yet"


def nothing_to_trust(view: View) -> str:
    card = view.host_card
    if card is None:
        return no_host(view)
    return "" if card.offered else f"{clean(card.name)} shows no key that waits for trust"


def link_is_up(view: View) -> str:
    card = view.host_card
    if card is None:
        return no_host(view)
    return f"the link to {clean(card.name)} is up" if card.link == "up" else ""


def following(view: View) -> str:
    return "the selection follows the newest iteration already" if view.following else ""


def nothing_to_clear(view: View) -> str:
    return "" if view.filter or view.find else "there is no filter and no search"


def no_path(view: View) -> str:
    return "" if path_of(view) else "no iteration is selected"


def no_folder(view: View) -> str:
    return "" if folder_of(view) else "nothing is selected that has a folder"


def no_kernel(view: View) -> str:
    if not view.editable:
        return "no iteration is selected"
    return "" if source_of(view) else "no iteration is selected that has files"
