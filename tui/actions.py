"""Every act there is, once: the table that makes keys, footer, help and palette."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kpd.model.codec import CodecError, decode, encode
from kpd.model.places import HostCard
from kpd.workspace.paths import Workspace
from tui import asking, hosts
from tui.asking import Question
from tui.keys import written
from tui.panes import rules
from tui.text import clean
from tui.view import TABS, Said, View
from tui.waits import waits

Group = Literal["Run", "Iteration", "Host", "Look", "kpd"]
WhyNot = Callable[[View], str]
Args = Mapping[str, Any]


def always(view: View) -> str:
    return ""


def no_args(view: View, answer: str) -> Args:
    return {}


@dataclass(frozen=True, slots=True)
class Action:
    """`why_not` gives the reason why it cannot be taken now, or nothing.

    With a `verb` it is a command to the daemon, made of `args` and the answer to `ask`; without, the app's own.
    `told` is what is said when the daemon has done it, with the command's arguments and result filled in; `answer`
    makes it of the result instead, and because that may take a while, the operator is told that it is under way.
    `rank` is its place in the footer, 0 for none.
    """

    id: str
    keys: str
    label: str
    help: str
    group: Group
    why_not: WhyNot = always
    verb: str = ""
    args: Callable[[View, str], Args] = no_args
    ask: Callable[[View], Question] | None = None
    told: str = ""
    rank: int = 0
    answer: Callable[[Any], Said] | None = None


def reason(action: Action, view: View) -> str:
    """Why `action` cannot be taken now; an empty text when it can."""
    if action.verb and view.read_only:
        return "this screen is attached read-only: `kpd attach` without --read-only may act"
    if action.verb and view.link.state != "up":
        return "no link to the daemon: `kpd start` brings it back"
    return action.why_not(view)


def key(view: View, id: str) -> str:
    """The key of an action, as people write it."""
    return written(view.keys.get(id, BY_ID[id].keys))


# ── reasons ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _no_live_run(view: View) -> str:
    run = view.run
    if run is None:
        return "no run is selected"
    if run.status == "ended":
        active = view.state.active
        return f"{run.id} has ended" + (f"; f goes to {active.id}, which is under way" if active else "")
    return ""


def _not_running(view: View) -> str:
    run = view.run
    if run is not None and run.status == "paused":
        return f"{run.id} is paused already"
    if run is not None and run.status == "queued":
        return f"{run.id} has not begun"
    return _no_live_run(view)


def _not_paused(view: View) -> str:
    if (why := _no_live_run(view)) != "":
        return why
    return "" if view.run is not None and view.run.status == "paused" else f"{view.at.run} is not paused"


def _not_held(view: View) -> str:
    return "" if view.state.held else "the queue is not held"


def _nothing_to_skip(view: View) -> str:
    if (why := _no_live_run(view)) != "":
        return why
    return "" if view.run is not None and view.run.current is not None else "no iteration is under way"


def _not_measured(view: View) -> str:
    it, run = view.iteration, view.run
    if it is None or run is None:
        return "no iteration is selected"
    if it.outcome is None:
        return f"{view.ref} is still under way"
    if run.incumbent == it.number:
        return f"{view.ref} is the incumbent already"
    if it.score is None:
        return f"{view.ref} was never timed, so there is nothing to accept"
    return ""


def _not_to_roll_back_to(view: View) -> str:
    it, run = view.iteration, view.run
    if it is None or run is None:
        return "no iteration is selected"
    if run.incumbent == it.number:
        return f"{view.ref} is the incumbent already"
    if it.outcome not in ("accepted", "baseline") and not it.override:
        return f"{view.ref} was never accepted: only an accepted iteration or the baseline can come back"
    return ""


def _no_memo_target(view: View) -> str:
    return "" if asking.memo_target(view) else "no iteration is selected"


def _no_task(view: View) -> str:
    if not view.at.task:
        return "there is no task yet: `kpd task new NAME` makes one"
    if view.task is None:
        return f"the task {view.at.task} is gone"
    return f"the task {view.at.task} is refused: its error is in Overview" if view.task.error else ""


def _no_skill(view: View) -> str:
    if view.tab != "rules":
        return "skills open from the Rules tab"
    return "" if rules.findings(view) else "no rule has fired here"


def path_of(view: View) -> str:
    """The file that the selected run waits for, else the selected iteration's folder; empty where there is neither."""
    if view.run is None or not view.state.workspace:
        return ""
    if (wanted := waits(view.state, view.run).path) != "":
        return wanted
    if view.iteration is None:
        return ""
    return str(
        Workspace(Path(view.state.workspace)).iteration_folder(view.run.task, view.run.id, view.iteration.number)
    )


def _no_path(view: View) -> str:
    return "" if path_of(view) else "no iteration is selected"


def _no_host(view: View) -> str:
    return "" if view.host_card is not None else "no host is known yet"


def _nothing_to_trust(view: View) -> str:
    card = view.host_card
    if card is None:
        return _no_host(view)
    return "" if card.offered else f"{clean(card.name)} shows no key that waits for trust"


def _link_is_up(view: View) -> str:
    card = view.host_card
    if card is None:
        return _no_host(view)
    return f"the link to {clean(card.name)} is up" if card.link == "up" else ""


def _following(view: View) -> str:
    return "the selection follows the newest iteration already" if view.following else ""


# ── arguments ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _run(view: View, answer: str) -> Args:
    return {"run": view.at.run}


def _accept(view: View, answer: str) -> Args:
    return {"iteration": view.ref, "reason": answer}


def _iteration(view: View, answer: str) -> Args:
    return {"iteration": view.ref}


def _memo(view: View, answer: str) -> Args:
    return {"iteration": asking.memo_target(view), "text": answer}


def _task(view: View, answer: str) -> Args:
    return {"task": view.at.task}


def _host(view: View, answer: str) -> Args:
    return {"host": view.host}


def _all_hosts(view: View, answer: str) -> Args:
    return {"host": None}


def _key(view: View, answer: str) -> Args:
    return {"host": view.host, "fingerprint": view.host_card.offered if view.host_card else ""}


# ── answers ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _hosts_now(result: Any) -> Said:
    """How the hosts are that the daemon has just looked at."""
    try:
        cards = decode(encode(result["hosts"]), tuple[HostCard, ...])
    except (CodecError, KeyError, TypeError):
        return Said("the daemon's answer cannot be read: use one version of kpd", good=False)
    return Said(hosts.brief(cards), good=all(card.link == "up" for card in cards))


ACTIONS: tuple[Action, ...] = (
    Action("release", "u", "release", "let the held queue go on from where it stood", "Run", _not_held,
           "resume", told="the queue goes on", rank=1),
    Action("pause", "p", "pause", "finish the step under way, then wait", "Run", _not_running,
           "pause", _run, told="{run} pauses once its step is done", rank=2),
    Action("resume", "r", "resume", "go on with a paused run", "Run", _not_paused,
           "resume", _run, told="{run} goes on", rank=3),
    Action("steer", "s", "steer", "write, edit or withdraw notes to the agent", "Run", _no_live_run,
           "steer", told="note {note} for {run}: the next iteration reads it", rank=4),
    Action("skip", "x", "skip", "give up the iteration under way and go on", "Run", _nothing_to_skip,
           "skip", _run, told="skipped the iteration of {run}", rank=7),
    Action("stop", "S", "stop", "end the run now", "Run", _no_live_run,
           "stop", _run, asking.stop, "{run} is stopped", rank=8),
    Action("run", "n", "new run", "queue a run of the selected task", "Run", _no_task,
           "run", _task, asking.run, "{task} is queued as {run}", rank=9),
    Action("accept", "a", "accept", "make a measured iteration the incumbent against its verdict", "Iteration",
           _not_measured, "accept", _accept, asking.accept, "{iteration} is the incumbent", rank=6),
    Action("rollback", "b", "roll back", "make an earlier accepted iteration the incumbent again", "Iteration",
           _not_to_roll_back_to, "rollback", _iteration, asking.rollback, "{iteration} is back", rank=10),
    Action("memo", "m", "memo", "say in your own words what an iteration tried", "Iteration", _no_memo_target,
           "memo", _memo, asking.memo, "memo kept for {iteration}", rank=5),
    Action("check_hosts", "c", "check hosts", "look at all hosts anew: links, devices, checks", "Host",
           _no_host, "check_hosts", _all_hosts, rank=14, answer=_hosts_now),
    Action("check_host", "C", "check this host", "the same for the chosen host alone", "Host",
           _no_host, "check_hosts", _host, answer=_hosts_now),
    Action("retry_link", "R", "retry link", "try to reach the chosen host now", "Host",
           _link_is_up, "nudge", _host, rank=13, answer=_hosts_now),
    Action("trust", "T", "trust", "trust the key that the chosen host shows", "Host",
           _nothing_to_trust, "trust", _key, asking.trust, "the key of {host} is trusted; kpd connects", rank=12),
    Action("next_tab", "right_square_bracket", "next tab", "the tab to the right", "Look"),
    Action("previous_tab", "left_square_bracket", "previous tab", "the tab to the left", "Look"),
    *(
        Action(f"tab_{tab}", str(nth), tab.capitalize(), f"go to {tab.capitalize()}", "Look")
        for nth, tab in enumerate(TABS, 1)
    ),
    Action("focus_left", "h,shift+tab", "left pane", "move the keyboard to the tasks and runs", "Look"),
    Action("focus_right", "l,tab", "right pane", "move the keyboard to the open tab", "Look"),
    Action("zoom", "z", "zoom", "fold the left pane away, or bring it back", "Look"),
    Action("follow", "f,end", "follow", "select the newest iteration, and those to come", "Look", _following, rank=11),
    Action("skill", "enter", "skill", "open the skill of the chosen finding", "Look", _no_skill),
    Action("copy_path", "y", "copy path", "copy the path of the file that is waited for, or of the iteration's folder",
           "Look", _no_path),
    Action("theme", "t", "theme", "the next theme: dark, light, Okabe–Ito", "kpd"),
    Action("palette", "ctrl+p,colon", "palette", "find an act by name", "kpd"),
    Action("help", "question_mark", "help", "all keys and signs", "kpd", rank=90),
    Action("detach", "q", "detach", "leave this screen; the daemon goes on", "kpd", rank=91),
)  # fmt: skip

BY_ID: dict[str, Action] = {action.id: action for action in ACTIONS}
