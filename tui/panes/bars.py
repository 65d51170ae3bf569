"""Draws the one-line bars: header, banner, tabs, prompt, footer."""

from collections import Counter

from textual.content import Content
from textual.style import Style

from kpd.model.status import Paused
from kpd.text.notices import notice
from kpd.text.numbers import counted
from kpd.text.waits import conflict, hold
from tui.actions import confirm
from tui.actions.action import Action, reason
from tui.actions.table import ACTIONS, key
from tui.format import marks, money
from tui.format.text import BLANK, Part, clean, clip, first_line, fit, joined, line, wrapped
from tui.model.alarms import alarm
from tui.model.filtering import names, parsed
from tui.model.hosts import ordered
from tui.model.outline import TreePosition
from tui.model.view import TABS, View
from tui.model.waits import waits
from tui.panes.next_step import paused

MOST_BANNER_LINES, MOST_PROMPT_LINES = 3, 3


def header(view: View, width: int) -> list[Content]:
    """Draw the workspace, the link, the hosts, the run's cost and the step under way.

    Where the line is too narrow, the cost is left out first, then the names of the hosts.
    """
    parts: list[Content] = [line((" kpd ", ".key"), " ", (clip(clean(view.workspace), 24), ".strong"))]
    parts.append({"up": line(("● linked", ".good")), "down": line(("○ no link", ".bad"))}.get(
        view.link.state, line(("○ connecting", ".muted"))))  # fmt: skip
    if view.read_only:
        parts.append(line(("read-only", ".warn")))
    if view.run is not None and view.run.approve and not view.run.over and not confirm.for_review(view):
        parts.append(line(("review gate", ".accent")))
    right = _now(view, width).truncate(max(0, width - 2), ellipsis=True)
    parts += _hosts(view, width - _length(parts) - right.cell_length - 4)
    parts += _cost(view, width - _length(parts) - right.cell_length - 4)
    left = Content("  ").join(parts)
    space = max(1, width - left.cell_length - right.cell_length - 1)
    return [Content.assemble(left.truncate(max(0, width - right.cell_length - 2), ellipsis=True), " " * space, right)]


def _length(parts: list[Content]) -> int:
    return sum(part.cell_length + 2 for part in parts)


def _hosts(view: View, room: int) -> list[Content]:
    """List each host by name if all fit; else count those up and down, or at least those that are down."""
    marked = [(marks.of_host(card), card) for card in ordered(view.state)]
    named = [
        line((f"{mark.glyph} ", mark.style), f"{clip(clean(card.name), 16)} ", _quiet(mark, mark.word))
        for mark, card in marked
    ]
    if _length(named) <= room:
        return named
    sums = Counter(mark for mark, _ in marked)
    by_state = [
        line(
            (f"{mark.glyph} ", mark.style),
            _quiet(mark, f"{counted(sums[mark], 'host') if nth == 0 else sums[mark]} {mark.word}"),
        )
        for nth, mark in enumerate(sums)
    ]
    missing = [line((f"{marks.DOWN.glyph} {sums[marks.DOWN]} {marks.DOWN.word}", marks.DOWN.style))]
    for shown in (by_state, missing if sums[marks.DOWN] else []):
        if _length(shown) <= room:
            return shown
    return []


def _cost(view: View, room: int) -> list[Content]:
    """Return the cost and the limit of the run in the header; empty where it pays for no model or there is no room."""
    run = view.live or view.run
    shown = [line(money.of_limit(run))] if run is not None and money.costs(run) else []
    return shown if _length(shown) <= room else []


def _quiet(mark: marks.Mark, text: str) -> tuple[str, str]:
    """Return text beside a host's mark in a style that stands out only while the host is down."""
    return (text, ".muted" if mark is marks.UP else mark.style)


def _now(view: View, width: int) -> Content:
    """Return what the runs do, how many there are, and how far the selected or newest of them is.

    A step under way counts, as in Steps; the bar has those that are done.
    """
    state, run = view.state, view.live
    if not state.seq:
        return BLANK
    if run is None:
        waiting = len(state.queue)
        return line((f"{counted(waiting, 'run')} queued" if waiting else "idle", ".muted"))
    mark, it = marks.of_run(run, bool(state.held), view.out_of_touch), run.current
    at = f"{run.id}.{it.number}" if it is not None and it.step is not None else run.id
    at += f" +{len(run.open) - 1}" if len(run.open) > 1 else ""
    head = Content.assemble(_of_all(view, mark, width // 3), f"  {at}")
    if mark is marks.WAITING:
        return Content.assemble(head, ("  " + clip(waits(run).text, max(12, width // 2 - head.cell_length)), ".muted"))
    if it is None or it.step is None or view.out_of_touch:
        return head
    steps = it.steps
    done = steps.index(it.step)
    return Content.assemble(
        head, "  ", (f"{it.step} ", ".strong"), ("▮" * done, ".good"), ("▯" * (len(steps) - done), ".muted"),
        (f" {done + 1}/{len(steps)}", ".muted"),
    )  # fmt: skip


def _of_all(view: View, shown: marks.Mark, room: int) -> Content:
    """Return `… running`, `… 2 running`, or `… 1 running  ◔ 1 waiting   ◔`: the last mark is that of the run shown."""
    sums = Counter(marks.of_run(run, bool(view.state.held), view.out_of_touch) for run in view.begun)
    number = sums.total()
    if len(sums) == 1:
        return line(
            (f"{shown.glyph} {number} {shown.word}" if number > 1 else f"{shown.glyph} {shown.word}", shown.style)
        )
    each = joined([line((f"{mark.glyph} {sums[mark]} {mark.word}", mark.style)) for mark in sums], "  ")
    if each.cell_length > room:
        each = line((counted(number, "run"), ".muted"))
    return Content.assemble(each, (f"   {shown.glyph}", shown.style))


def banner(view: View, width: int) -> list[Content]:
    """Draw the most urgent news, with its remedy; nothing when all is well."""
    said = _urgent(view)
    if said is None:
        return []
    glyph, text, remedy = said
    lines = wrapped(f"{text} · {remedy}" if remedy else text, width - 4, most=MOST_BANNER_LINES)
    return [line((fit(f" {glyph if nth == 0 else ' '} {one.plain}", width), ".alert")) for nth, one in enumerate(lines)]


def _urgent(view: View) -> tuple[str, str, str] | None:
    """Return a mark, the most urgent news, and the remedy."""
    link, run = view.link, view.live
    if link.state == "down":
        return "○", first_line(link.message), f"{first_line(link.remedy)}; this screen reconnects by itself"
    if view.state.held:
        return "‖", f"held: {first_line(hold(view.state.held))}", f"{key(view, 'resume')} releases it"
    if (review := confirm.for_review(view)) and not view.read_only:
        return "◔", *_reviewed(view, review)
    if (changes := confirm.to_deploy(view)) and not view.read_only:
        names = " and ".join(clean(card.project) for card in changes)
        decide = f"{key(view, 'deploy')} shows and approves it, {key(view, 'keep_program')} declines it"
        several = "select the run of one, then " if len(changes) > 1 else ""
        return "◔", f"a change of {names} waits for you", several + decide
    for stopped in view.begun:
        if not isinstance(stopped.status, Paused):
            continue
        there = "" if stopped.id == view.at.run else "select it, then "
        return "‖", f"{stopped.id} {paused(stopped.status)}", f"{there}{key(view, 'resume')} resumes it"
    if run is not None and run.conflict:
        return "!", first_line(conflict(run.conflict)), "your version is measured first"
    if run is not None and run.stale:
        files = ", ".join(clean(name) for name in run.stale)
        return "!", f"protected files changed: {files}", f"{run.id} goes on with the old ones, a new run takes the new"
    if (last := alarm(view)) is not None:
        dismiss = "" if view.filter or view.find else f"{key(view, 'clear')} dismisses it"
        return "!" if last.level == "warning" else "✗", first_line(notice(last)), dismiss
    card = view.host_card
    if card is not None and card.offered and view.tab != "hosts":
        remedy = f"{key(view, 'tab_hosts')} shows it, {key(view, 'trust')} trusts it"
        return "!", f"{clean(card.name)} shows a key that nobody has trusted yet", remedy
    return None


def _reviewed(view: View, waiting: list[TreePosition]) -> tuple[str, str]:
    """Return which candidates wait for the operator's review, and the keys for it."""
    names = " and ".join(place.ref for place in waiting)
    decide = f"{key(view, 'approve')} approves, {key(view, 'decline')} declines"
    if len(waiting) > 1:
        return f"{names} wait for your review", f"select one, then {decide}"
    return f"{names} waits for your review", decide


def tabs(view: View, width: int) -> list[Content]:
    """Draw the tabs; the open one is marked by more than its colour."""
    parts: list[Content] = []
    short = width < 64
    for nth, tab in enumerate(TABS, 1):
        click = Style.from_meta({"@click": f"app.act('tab_{tab}')"})
        name = tab.capitalize()
        label = f"[{name}]" if tab == view.tab else f" {name} "
        text = label if short else f"{nth}{label}"
        parts.append(line((text, ".key" if tab == view.tab else ".muted")).stylize(click))
    return [Content("" if short else " ").join(parts)]


def prompt(view: View, width: int) -> list[Content]:
    """Draw the filter of the tree, and the answer to the last action, else the offer to write a memo."""
    return _narrowed(view, width) + _prompt(view, width)


def _narrowed(view: View, width: int) -> list[Content]:
    """Return the filter, how many iterations it lets through, and the order of the tree."""
    parts: list[Part] = []
    if view.filter:
        unknown = parsed(view.filter, view.filters).unknown
        among = f"{view.outline.matching:,} of {counted(view.outline.total, 'iteration')}"
        parts += [("/ ", ".accent"), clip(clean(view.filter), width // 2), (f"  {among}", ".muted")]
        if unknown:
            parts.append((f"  no filter is called {clip(clean(unknown), 16)} {names(view.filters)}", ".warn"))
    if view.order != "newest":
        parts.append(
            (f"  by {view.order}" if parts else f"≡ by {view.order}, {key(view, 'sort')} changes it", ".muted")
        )
    if view.filter:
        parts.append((f"  {key(view, 'clear')} clears it", ".muted"))
    return [line(" ", *parts).truncate(width, ellipsis=True)] if parts else []


def _prompt(view: View, width: int) -> list[Content]:
    if view.said is not None:
        mark = marks.RUNNING if view.said.under_way else marks.DONE if view.said.good else marks.FAILED
        glyph, style = ("»", ".accent") if view.said.others else (mark.glyph, mark.style)
        return _prompted(glyph, style, view.said.text, width)
    memo = key(view, "memo")
    for run in (one for one in view.begun if one.pending_edit):
        changed = [clean(name) for name, sha in run.pending_edit.items() if sha != run.files.get(name)]
        what = ", ".join(changed) or "the task folder"
        return _prompted("✎", ".accent", f"your edit of {what} is measured next; {memo} then says what it tries", width)
    wanted = "" if view.read_only else confirm.memo_wanted(view)
    if not wanted:
        return []
    on_it = "" if confirm.memo_target(view) == wanted else " on it"
    return _prompted("✎", ".accent", f"{wanted} is your edit, without a memo: {memo}{on_it} says what it tries", width)


def _prompted(glyph: str, style: str, text: str, width: int) -> list[Content]:
    lines = wrapped(text, width - 4, most=MOST_PROMPT_LINES)
    return [line(" ", (f"{glyph} " if nth == 0 else "  ", style), one.plain) for nth, one in enumerate(lines)]


def footer(view: View, width: int) -> list[Content]:
    """Draw the actions that matter now, grey where they cannot be taken; help and detach are always at the end."""
    ranked = sorted(
        (one for one in ACTIONS if one.rank and _belongs(one, view)),
        key=lambda one: (one.rank >= 90, bool(reason(one, view)), one.group != "Host" and one.rank > 2, one.rank),
    )
    last = [action for action in ranked if action.rank >= 90]
    room = width - sum(len(_label(view, action)) + 2 for action in last)
    chosen: list[Action] = []
    for action in (one for one in ranked if one.rank < 90):
        needed = len(_label(view, action)) + 2
        if needed <= room:
            chosen.append(action)
            room -= needed
    return [Content("  ").join([BLANK, *(_entry(view, action) for action in chosen + last)])]


def _belongs(action: Action, view: View) -> bool:
    """Return whether an action is in the footer: those on hosts only in their tab, rare ones only if possible."""
    return (action.group != "Host" or view.tab == "hosts") and not (action.rare and reason(action, view))


def _label(view: View, action: Action) -> str:
    return f"{key(view, action.id)} {action.label}"


def _entry(view: View, action: Action) -> Content:
    greyed = bool(reason(action, view))
    click = Style.from_meta({"@click": f"app.act('{action.id}')"})
    parts: list[Part] = [
        (key(view, action.id), ".off" if greyed else ".key"),
        (f" {action.label}", ".off" if greyed else ""),
    ]
    return line(*parts).stylize(click)
