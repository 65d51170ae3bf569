"""Commands on their way to the daemon: what is asked before them, and what is said of the answer."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kpd.subscription import DaemonError
from tui.acts import asking
from tui.acts.action import Action
from tui.acts.actions import BY_ID
from tui.model.details import Diff, Problem
from tui.model.fired import findings
from tui.model.view import Said
from tui.screens.form import FormScreen
from tui.screens.question import QuestionScreen
from tui.screens.reading import ReadingScreen, skill_lines
from tui.screens.steering import SteeringScreen

if TYPE_CHECKING:
    from tui.app import KpdApp

NO_LINK = "no link to the daemon: `kpd start` brings it back"


def take(app: "KpdApp", action: Action) -> None:
    """Send the command of an act, after its question or form if it has one."""
    view = app.view
    if action.form is not None:

        def filled(changes: dict[str, Any] | None) -> None:
            if changes:
                carry_out(app, action, {**action.args(view, ""), **changes})

        app.push_screen(FormScreen(action.form(view)), filled)
    elif action.ask is not None:
        _ask(app, action, QuestionScreen(action.ask(view)))
    else:
        carry_out(app, action, action.args(view, ""))


def _ask(app: "KpdApp", action: Action, screen: QuestionScreen) -> None:
    view = app.view

    def answered(answer: str | None) -> None:
        if answer is not None:
            carry_out(app, action, action.args(view, answer))

    app.push_screen(screen, answered)


def carry_out(app: "KpdApp", action: Action, args: Mapping[str, Any]) -> None:
    app.run_worker(send(app, action, args), group="send")


async def send(app: "KpdApp", action: Action, args: Mapping[str, Any]) -> bool:
    """Whether the daemon did it; what it said is shown either way."""
    if app.feed is None:
        app.say(f"{action.label}: {NO_LINK}", good=False)
        return False
    if action.answer is not None:
        app.show_said(Said(f"{action.label}: under way", under_way=True))
    try:
        result = await app.feed.command(action.verb, **args)
    except DaemonError as err:
        app.say(f"{action.label}: {_refusal(action, err)}", good=False)
        if action.id == "rollback" and err.code == "refused" and not args.get("force"):
            overwrite = QuestionScreen(asking.overwrite(err.message, err.remedy))
            _ask(app, replace(action, args=lambda view, answer: {**args, "force": True}), overwrite)
        return False
    if action.answer is not None:
        app.show_said(action.answer(result))
        return True
    known = _Told({**result, **args} if isinstance(result, dict) else args)
    app.say(action.told.format_map(known) if isinstance(action.told, str) else action.told(known))
    return True


async def asked(app: "KpdApp", act: str, what: str, **args: Any) -> dict[str, Any] | None:
    """What the daemon answers to a question that an act needs; None where it does not, and then it was said why."""
    if app.feed is None:
        app.say(f"{act}: {NO_LINK}", good=False)
        return None
    try:
        found = await app.feed.query(what, **args)
    except DaemonError as err:
        app.say(f"{act}: {err}", good=False)
        return None
    return found if isinstance(found, dict) else {}


class _Told(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "it"


def _refusal(action: Action, err: DaemonError) -> str:
    """A daemon from before there was such a command says that it does not know it."""
    if err.code == "unknown" and err.message.startswith("no command"):
        return "the daemon that runs is older than this screen; kpd shutdown, then kpd start, brings up a newer one"
    return str(err)


# ── acts that are more than a command ─────────────────────────────────────────────────────────────────────────────


def rollback(app: "KpdApp") -> None:
    """The question comes at once; what it would change, as soon as the daemon has said so."""
    action, view = BY_ID["rollback"], app.view
    run = view.run
    assert run is not None
    screen = QuestionScreen(asking.rollback(view), reads=True)
    _ask(app, action, screen)
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


def steer(app: "KpdApp") -> None:
    run = app.view.at.run

    async def send_note(text: str, note: int | None) -> bool:
        args = {"run": run, "text": text} | ({} if note is None else {"note": note})
        action = BY_ID["steer"]
        return await send(app, action if text else replace(action, told="note {note} is withdrawn"), args)

    app.push_screen(SteeringScreen(run, send_note).data_bind(type(app).view))


def stand(app: "KpdApp", action: Action, wanted: str) -> None:
    """Pin or ban the chosen rule; one that is so already becomes like any other."""
    run, rule = app.view.run, chosen_rule(app)
    assert run is not None
    now = run.stands.get(rule, "plain")
    carry_out(app, action, {"run": run.id, "rule": rule, "stand": "plain" if now == wanted else wanted})


def chosen_rule(app: "KpdApp") -> str:
    return findings(app.view)[app.board.chosen_finding].rule


def skill(app: "KpdApp") -> None:
    app.run_worker(_show_skill(app, chosen_rule(app)), group="send")


async def _show_skill(app: "KpdApp", rule: str) -> None:
    found = await asked(app, "skill", "skill", id=rule)
    if found is None:
        return
    signal, body = (str(found.get(part, "")) for part in ("signal", "body"))
    app.push_screen(ReadingScreen(f"Skill {rule}", lambda width: skill_lines(signal, body, width)))
