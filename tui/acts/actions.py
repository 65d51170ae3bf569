"""Every act there is, once: the table that makes keys, footer, help and palette."""

from tui.acts import answers, asking, forms, reasons
from tui.acts.action import Action, Args, reason as reason
from tui.acts.keys import written
from tui.acts.playing import PLAYING
from tui.model.view import TABS, View


def key(view: View, id: str) -> str:
    """The key of an action, as people write it."""
    return written(view.keys.get(id, BY_ID[id].keys))


# ── arguments ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _run(view: View, answer: str) -> Args:
    return {"run": view.at.run}


def _resume(view: View, answer: str) -> Args:
    """The run that is paused; a queue that is held goes on as a whole."""
    paused = view.run is not None and view.run.status == "paused"
    return {"run": view.at.run} if paused else {}


def _gate(view: View, answer: str) -> Args:
    return {"run": view.at.run, "on": view.run is not None and not view.run.approve}


def _approve(view: View, answer: str) -> Args:
    return {"iteration": asking.for_review(view)[0].ref}


def _decline(view: View, answer: str) -> Args:
    return {"iteration": asking.for_review(view)[0].ref, "reason": answer}


def _accept(view: View, answer: str) -> Args:
    return {"iteration": view.ref, "reason": answer}


def _iteration(view: View, answer: str) -> Args:
    return {"iteration": view.ref}


def _again(view: View, answer: str) -> Args:
    return {"iteration": view.ref, "thorough": False}


def _thorough(view: View, answer: str) -> Args:
    return {"iteration": view.ref, "thorough": True}


def _memo(view: View, answer: str) -> Args:
    return {"iteration": asking.memo_target(view), "text": answer}


def _up(view: View, answer: str) -> Args:
    return {"run": view.at.run, "to": "up"}


def _down(view: View, answer: str) -> Args:
    return {"run": view.at.run, "to": "down"}


def _task(view: View, answer: str) -> Args:
    return {"task": view.at.task}


def _host(view: View, answer: str) -> Args:
    return {"host": view.host}


def _all_hosts(view: View, answer: str) -> Args:
    return {"host": None}


def _key(view: View, answer: str) -> Args:
    return {"host": view.host, "fingerprint": view.host_card.offered if view.host_card else ""}


_RUN: tuple[Action, ...] = (
    Action("run", "n", "new run", "queue a run of the selected task", "Run", reasons.no_task,
           "run", _task, asking.run, "{task} is queued as {run}", rank=11),
    Action("pause", "p", "pause", "finish the step under way, then wait", "Run", reasons.not_running,
           "pause", _run, told="{run} is paused; a step that it is at is finished first", rank=4),
    Action("resume", "r", "resume", "go on with a paused run, or with a queue that is held", "Run", reasons.not_stopped,
           "resume", _resume, told=answers.resumed, rank=3),
    Action("steer", "s", "steer", "write, edit or withdraw notes to the agent", "Run", reasons.no_live_run,
           "steer", told="note {note} for {run}: the next iteration reads it", rank=5),
    Action("skip", "x", "skip", "give up the iteration under way and go on", "Run", reasons.nothing_to_skip,
           "skip", _run, asking.skip, "skipped the iteration of {run}", rank=8),
    Action("stop", "S", "stop", "end the run now", "Run", reasons.no_live_run,
           "stop", _run, asking.stop, "{run} is stopped", rank=10),
    Action("budget", "B", "budget", "change iterations, patience, min gain, dollars", "Run",
           reasons.no_live_run, "budget", _run, told="the budget of {run} is changed", rank=15, form=forms.budget),
    Action("agent", "A", "agent", "change who proposes next, or the model", "Run",
           reasons.no_live_run, "agent", _run, told=answers.agent_changed, rank=16, form=forms.agent),
    Action("move_up", "K", "move up", "let a queued run begin earlier", "Run", reasons.first_in_queue,
           "move", _up, told="{run} is number {place} in the queue", rank=6, rare=True),
    Action("move_down", "J", "move down", "let a queued run begin later", "Run", reasons.last_in_queue,
           "move", _down, told="{run} is number {place} in the queue", rank=7, rare=True),
)  # fmt: skip

_REVIEW: tuple[Action, ...] = (
    Action("review", "g", "review gate", "candidates wait for you before they are built", "Review",
           reasons.no_live_run, "review", _gate, asking.gate, answers.gate_set, rank=17),
    Action("approve", "y", "approve", "let the candidate that waits be built", "Review", reasons.nothing_to_review,
           "approve", _approve, told="{iteration} is approved: it is built next", rank=1, rare=True),
    Action("decline", "D", "decline", "end the candidate that waits, and say why", "Review", reasons.nothing_to_review,
           "decline", _decline, asking.decline, "{iteration} is declined; its agent is told", rank=2, rare=True),
)  # fmt: skip

_ITERATION: tuple[Action, ...] = (
    Action("accept", "a", "accept", "make it the incumbent against its verdict", "Iteration",
           reasons.not_measured, "accept", _accept, asking.accept, "{iteration} is the incumbent", rank=7),
    Action("rollback", "b", "roll back", "see the diff; make it the incumbent again",
           "Iteration", reasons.not_to_roll_back_to, "rollback", _iteration, asking.rollback, "{iteration} is back",
           rank=12),
    Action("undo", "u", "undo", "take back the last accept or roll back; again: redo", "Iteration",
           reasons.nothing_to_undo, "undo", _run, told="{run}.{iteration} is the incumbent again", rank=9, rare=True),
    Action("memo", "m", "memo", "say in your own words what an iteration tried", "Iteration", reasons.no_memo_target,
           "memo", _memo, asking.memo, "memo kept for {iteration}", rank=6),
    Action("retry", "t", "try again", "measure the files of an iteration once more", "Iteration", reasons.not_again,
           "again", _again, told="{iteration} is measured once more, as an iteration of its own", rank=13),
    Action("remeasure", "M", "measure more", "the same, with as many processes as there can be", "Iteration",
           reasons.not_again, "again", _thorough, told="{iteration} is measured again with all processes", rank=18),
    Action("profile", "F", "full profile", "all that the profiler has to say of an iteration", "Iteration",
           reasons.not_to_profile, "profile", _iteration, rank=19, answer=answers.profiled),
    Action("edit", "e", "edit", "change the kernel in $EDITOR; your edit is measured", "Iteration",
           reasons.nothing_to_edit, "edit", told="your edit is in the task folder: {run} measures it next", rank=9),
)  # fmt: skip

_COMPARE: tuple[Action, ...] = (
    Action("mark", "v", "mark", "mark an iteration to compare with, or unmark it", "Compare",
           reasons.no_iteration, rank=20),
    Action("compare", "V", "compare", "show the diff against the marked iteration", "Compare",
           reasons.no_mark, rank=14, rare=True),
    Action("against", "i", "against", "compare with the parent, the baseline, the mark", "Compare"),
    Action("split", "w", "side by side", "show the diff side by side, or in one column", "Compare"),
    Action("next_hunk", "full_stop", "next hunk", "the next place where the files differ", "Compare", reasons.no_diff),
    Action("previous_hunk", "comma", "last hunk", "the place before", "Compare", reasons.no_diff),
    Action("skill", "enter", "skill", "open the skill of the chosen rule", "Compare", reasons.no_finding),
    Action("pin", "P", "pin rule", "agents hear of the chosen rule first, or unpin it", "Compare",
           reasons.no_rule, "rule", told=answers.rule_set),
    Action("ban", "N", "ban rule", "agents never hear of the chosen rule, or unban it", "Compare",
           reasons.no_rule, "rule", told=answers.rule_set),
)  # fmt: skip

_HOST: tuple[Action, ...] = (
    Action("check_hosts", "c", "check hosts", "look at all hosts anew: links, devices, checks", "Host",
           reasons.no_host, "check_hosts", _all_hosts, rank=14, answer=answers.hosts_now),
    Action("check_host", "C", "check this host", "the same for the chosen host alone", "Host",
           reasons.no_host, "check_hosts", _host, answer=answers.hosts_now),
    Action("retry_link", "R", "retry link", "try to reach the chosen host now", "Host",
           reasons.link_is_up, "nudge", _host, rank=13, answer=answers.hosts_now),
    Action("trust", "T", "trust", "trust the key that the chosen host shows", "Host",
           reasons.nothing_to_trust, "trust", _key, asking.trust, "the key of {host} is trusted; kpd connects",
           rank=12),
)  # fmt: skip

_LOOK: tuple[Action, ...] = (
    *(
        Action(f"tab_{tab}", str(nth), tab.capitalize(), f"go to {tab.capitalize()}", "Look")
        for nth, tab in enumerate(TABS, 1)
    ),
    Action("next_tab", "right_square_bracket", "next tab", "the tab to the right", "Look"),
    Action("previous_tab", "left_square_bracket", "previous tab", "the tab to the left", "Look"),
    Action("focus_left", "h,shift+tab", "left pane", "move the keyboard to the tasks and runs", "Look"),
    Action("focus_right", "l,tab", "right pane", "move the keyboard to the open tab", "Look"),
    Action("zoom", "z", "zoom", "fold the left pane away, or bring it back", "Look"),
    Action("follow", "f,end", "follow", "select the newest iteration, and those to come", "Look", reasons.following,
           rank=14),
    Action("find", "slash", "filter", "filter the tree; in the log: search it", "Look", rank=21),
    Action("clear", "escape", "clear", "take back the filter, or the search", "Look", reasons.nothing_to_clear),
    Action("sort", "o", "sort", "order the iterations of a run by age, gain or score", "Look"),
)  # fmt: skip

_KEEP: tuple[Action, ...] = (
    Action("copy_path", "Y", "copy path", "copy the path of the folder, or of the file awaited",
           "Keep", reasons.no_path),
    Action("copy_text", "ctrl+y", "copy text", "copy what the open tab shows: diff, log, …", "Keep"),
    Action("copy_kernel", "ctrl+k", "copy kernel", "copy the kernel's source", "Keep", reasons.no_kernel),
    Action("screenshot", "ctrl+s", "screenshot", "keep this screen as an SVG in the run's folder",
           "Keep"),
    Action("open_folder", "E", "open folder", "open the selected folder, or copy its path", "Keep", reasons.no_folder),
)  # fmt: skip

_KPD: tuple[Action, ...] = (
    Action("theme", "ctrl+t", "theme", "the next theme: dark, light, Okabe–Ito, 16 colours", "kpd"),
    Action("palette", "ctrl+p,colon", "palette", "find an act by name", "kpd"),
    Action("help", "question_mark", "help", "all keys and signs", "kpd", rank=90),
    Action("detach", "q", "detach", "leave this screen; the daemon goes on", "kpd", rank=91),
)

ACTIONS: tuple[Action, ...] = (*_RUN, *_REVIEW, *_ITERATION, *_COMPARE, *_HOST, *_LOOK, *_KEEP, *PLAYING, *_KPD)
BY_ID: dict[str, Action] = {action.id: action for action in ACTIONS}
