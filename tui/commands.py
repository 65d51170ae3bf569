"""Sends commands: asks before them where needed, and shows the answers."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kpd.model.run import RuleSetting
from kpd.operations.deployments import AnswerDeployment
from kpd.operations.iterations import RollBack
from kpd.operations.operation import Operation
from kpd.operations.runs import QueueRun, SteerRun
from kpd.operations.spelling import command_of
from kpd.operations.terms import SetRule
from kpd.subscription import DaemonError
from tui import opening
from tui.actions import confirm, forms
from tui.actions.action import Action, no_link, reason
from tui.actions.table import BY_ID
from tui.format.text import clean
from tui.model.answers import Diff, Problem
from tui.model.selected import findings
from tui.model.view import StatusMessage, View
from tui.panes.tools import tool_lines
from tui.screens.form import FormScreen
from tui.screens.question import QuestionScreen
from tui.screens.reader import ReadingScreen, skill_lines
from tui.screens.steering import SteeringScreen

if TYPE_CHECKING:
    from tui.app import KpdApp


def take(app: "KpdApp", action: Action) -> None:
    """Send the command of an action, after its question or form if it has one."""
    view = app.view
    if action.form is not None:
        _fill(app, action, view, FormScreen(action.form(view)))
    elif action.ask is not None and (question := action.ask(view)) is not None:
        _ask(app, action, view, QuestionScreen(question))
    else:
        carry_out(app, action, _picked(action, view))


def _picked(action: Action, view: View, answer: str = "") -> Operation[Any]:
    """Return the operation of an action that can be taken in this view."""
    op = action.pick(view, answer) if action.pick is not None else f"{action.id} is no operation"
    assert isinstance(op, Operation), op
    return op


def _fill(app: "KpdApp", action: Action, view: View, screen: FormScreen) -> None:
    async def send(changes: dict[str, Any]) -> str:
        op = _picked(action, view)
        return await refusal(app, action, type(op)(**{**op.args(), **changes})) if changes else ""

    def spelled(changes: dict[str, Any]) -> None:
        op = _picked(action, view)
        spell(app, command_of(type(op)(**{**op.args(), **changes})))

    screen.spell = spelled
    opening.ask(app, screen, send)


def _ask(app: "KpdApp", action: Action, view: View, screen: QuestionScreen) -> None:
    opening.ask(app, screen, lambda answer: refusal(app, action, _picked(action, view, answer)))


def carry_out(app: "KpdApp", action: Action, op: Operation[Any]) -> None:
    """Send a command, and show what the daemon answers."""
    app.run_worker(refusal(app, action, op), group="send")


def spell(app: "KpdApp", command: str) -> None:
    """Copy a command, and show it."""
    if not command:
        app.say("no single command does this", good=False)
        return
    app.copy_to_clipboard(command)
    app.say(f"copied, if this terminal allows it: {command}")


async def refusal(app: "KpdApp", action: Action, op: Operation[Any]) -> str:
    """Send a command, and show the daemon's answer. Return why it was refused; an empty text if it was done."""
    if app.feed is None:
        return _refused(app, action, no_link(app.view))
    if action.answer is not None:
        app.show_said(StatusMessage(f"{action.label}: under way", under_way=True))
    if command := command_of(op):
        app.change(sent=command)
    try:
        result = await app.feed.command(op.name, **op.args())
    except DaemonError as err:
        why = _refused(app, action, _refusal(action, err))
        if isinstance(op, RollBack) and err.code == "refused" and not op.force:
            overwrite = QuestionScreen(confirm.overwrite(err.message, err.remedy))
            forced = RollBack(iteration=op.iteration, force=True)
            app.run_worker(_overwrite(app, replace(action, pick=lambda view, answer: forced), overwrite), group="late")
            return ""
        return why
    if action.answer is not None:
        app.show_said(action.answer(result))
        return ""
    answer = result if isinstance(result, dict) else {}
    app.say(op.told(answer))
    if isinstance(op, QueueRun):
        app.change(followed=str(answer.get("run", "")), following=True)
    return ""


async def _overwrite(app: "KpdApp", action: Action, screen: QuestionScreen) -> None:
    screen.sends = lambda answer: refusal(app, action, _picked(action, app.view, answer))
    await opening.show_late(app, screen)


def _refused(app: "KpdApp", action: Action, why: str) -> str:
    text = clean(f"{action.label}: {why}")
    app.say(text, good=False)
    return text


async def asked(app: "KpdApp", act: str, what: str, **args: Any) -> Any:
    """Ask the daemon for what an action needs. Where it does not answer, show why and return None."""
    if app.feed is None:
        app.say(f"{act}: {no_link(app.view)}", good=False)
        return None
    try:
        found = await app.feed.query(what, **args)
    except DaemonError as err:
        app.say(f"{act}: {err}", good=False)
        return None
    return found


def _refusal(action: Action, err: DaemonError) -> str:
    """Return an error as text; an unknown command means that the daemon is older than this screen."""
    if err.code == "no_command":
        return "the daemon that runs is older than this screen; kpd shutdown, then kpd start, brings up a newer one"
    return str(err)


# ── acts that are more than a command ─────────────────────────────────────────────────────────────────────────────


def new_run(app: "KpdApp") -> None:
    _new_run(app, FormScreen(forms.run(app.view)))


def may_run_with_note(view: View) -> bool:
    """Return whether a note that comes too late for the selected run can be given to a new one."""
    return view.run is not None and view.run.over and not reason(BY_ID["run"], view)


def run_with_note(app: "KpdApp") -> None:
    """Offer a new run that begins with the note for which the selected one has no use any more."""
    _new_run(app, FormScreen(forms.run_with_note(app.view)))


def _new_run(app: "KpdApp", screen: FormScreen) -> None:
    action, op = BY_ID["run"], _picked(BY_ID["run"], app.view)

    def queued(changes: dict[str, Any]) -> QueueRun:
        return QueueRun(**{**op.args(), **{name: value for name, value in changes.items() if name != "note"}})

    async def send(changes: dict[str, Any]) -> str:
        why = await refusal(app, action, queued(changes))
        if not why and "note" in changes and app.view.followed:
            await refusal(app, BY_ID["steer"], SteerRun(run=app.view.followed, text=changes["note"]))
        return why

    screen.spell = lambda changes: spell(app, command_of(queued(changes)))
    opening.ask(app, screen, send)


def rollback(app: "KpdApp") -> None:
    """Ask before a rollback. The question opens at once; the diff is added when the daemon has sent it."""
    action, view = BY_ID["rollback"], app.view
    run = view.run
    assert run is not None
    screen = QuestionScreen(confirm.rollback(view), reads=True)
    _ask(app, action, view, screen)
    app.run_worker(_show_diff(app, screen, view.ref, f"{run.id}.{run.incumbent}"), group="ask")


async def _show_diff(app: "KpdApp", screen: QuestionScreen, iteration: str, against: str) -> None:
    if app.feed is None:
        return
    try:
        found = await app.feed.query("diff", iteration=iteration, against=against)
    except DaemonError as err:
        screen.show_diff(Problem(f"the diff cannot be shown: {err.message}", err.remedy))
        return
    text = str(found.get("text", "")) if isinstance(found, dict) else ""
    screen.show_diff(Diff(text, against, iteration))


def deploy(app: "KpdApp") -> None:
    """Ask before a change of a production program. Only the diff with the hash that the answer names is shown."""
    action, view = BY_ID["deploy"], app.view
    op = _picked(action, view)
    assert isinstance(op, AnswerDeployment)
    screen = QuestionScreen(confirm.deploy(view), reads=True)
    _ask(app, action, view, screen)
    app.run_worker(_show_change(app, screen, op), group="ask")


async def _show_change(app: "KpdApp", screen: QuestionScreen, op: AnswerDeployment) -> None:
    if app.feed is None:
        return
    try:
        found = await app.feed.query("change", deployment=op.deployment)
    except DaemonError as err:
        screen.show_diff(Problem(f"the change cannot be shown: {err.message}", err.remedy))
        return
    if not isinstance(found, dict) or found.get("diff") != op.diff:
        screen.show_diff(Problem("another change waits by now", "leave this, and look again"))
        return
    card = app.view.state.deployments[op.deployment]
    screen.show_diff(Diff(str(found["text"]), card.project, f"{card.deployment.run}.{card.deployment.iteration}"))


def steer(app: "KpdApp") -> None:
    opening.show(app, _steering(app, app.view.at.run))


def _steering(app: "KpdApp", run: str, draft: str = "", trouble: str = "", note: int | None = None) -> SteeringScreen:
    async def send_note(text: str, note: int | None) -> str:
        op = SteerRun(run=run, text=text) if note is None else SteerRun(run=run, text=text, note=note)
        why = await refusal(app, BY_ID["steer"], op)
        if why and text and screen not in app.screen_stack:
            await opening.show_late(app, _steering(app, run, text, why, note))
        return why

    screen = SteeringScreen(run, send_note, draft, trouble, note)
    return screen


def pin(app: "KpdApp") -> None:
    _stand(app, BY_ID["pin"], "pinned")


def ban(app: "KpdApp") -> None:
    _stand(app, BY_ID["ban"], "banned")


def _stand(app: "KpdApp", action: Action, wanted: RuleSetting) -> None:
    """Pin or ban the chosen rule; where it is so already, undo that."""
    run, rule = app.view.run, chosen_rule(app)
    assert run is not None
    now = run.stands.get(rule, "plain")
    carry_out(app, action, SetRule(run=run.id, rule=rule, stand="plain" if now == wanted else wanted))


def chosen_rule(app: "KpdApp") -> str:
    there = findings(app.view)
    return there[min(app.board.chosen_finding, len(there) - 1)].rule


def tools(app: "KpdApp") -> None:
    run = app.view.at.run
    screen = ReadingScreen(f"Tools of {run}" if run else "Tools")
    opening.show(app, screen)
    app.run_worker(_show_tools(app, screen, run), group="send")


async def _show_tools(app: "KpdApp", screen: ReadingScreen, run: str) -> None:
    called = await asked(app, "tools", "tool_calls", **({"run": run} if run else {}))
    built = await asked(app, "tools", "toolbox") if called is not None else None
    if built is None:
        screen.dismiss()
    else:
        screen.fill(lambda width: tool_lines(called, built, width))


def skill(app: "KpdApp") -> None:
    rule = chosen_rule(app)
    screen = ReadingScreen(f"Skill {rule}")
    opening.show(app, screen)
    app.run_worker(_show_skill(app, screen, rule), group="send")


async def _show_skill(app: "KpdApp", screen: ReadingScreen, rule: str) -> None:
    found = await asked(app, "skill", "skill", id=rule)
    if found is None:
        screen.dismiss()
        return
    signal, body = (str(found.get(part, "")) for part in ("signal", "body"))
    screen.fill(lambda width: skill_lines(signal, body, width))
