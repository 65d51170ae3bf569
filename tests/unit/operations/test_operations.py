"""Every operation has all its parts, its arguments are checked, and its refusal is one sentence wherever it is read."""

import inspect
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from kpd.cli.main import VERBS
from kpd.daemon.commands import carry_out
from kpd.daemon.journal import EventJournal
from kpd.daemon.sources import Sources
from kpd.daemon.store import EventStore
from kpd.daemon.views import answer
from kpd.engine.engine import Engine
from kpd.engine.operations.effects import EFFECTS
from kpd.model import events as e
from kpd.operations.arguments import Within
from kpd.operations.catalogue import KEYS, OPERATIONS
from kpd.operations.checking import checked
from kpd.operations.operation import Operation, fields, help_of
from kpd.subscription import DaemonError
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace
from tests.support.tui import logs
from tests.support.tui.deed_sentences import SENTENCES
from tests.support.tui.views import view_of
from tui.actions.table import ACTIONS, BY_ID, reason
from tui.format.operator_acts import operator_act
from tui.model.outline import TreePosition

EACH = pytest.mark.parametrize("kind", OPERATIONS.values(), ids=OPERATIONS.keys())
ELSEWHERE = {"shutdown": "the daemon ends itself", "playback": "the player of a recording has no engine"}
"""Operations that the engine has no effect for."""
UNTOLD = {"daemon_stopped", "playback_changed"}
"""Facts that are no deed of a person."""


# ── all parts ─────────────────────────────────────────────────────────────────────────────────────────────────────


@EACH
def test_an_operation_has_its_help_its_facts_and_its_effect(kind: type[Operation[Any]]) -> None:
    assert help_of(kind)
    assert all(fact in e.FACTS for fact in kind.emits)
    assert kind.done or kind.told is not Operation.told or kind.name in ("profile", "check_hosts", "nudge", "shutdown")
    assert (kind.name in EFFECTS) != (kind.name in ELSEWHERE)
    if kind.name in EFFECTS:
        named = list(inspect.signature(EFFECTS[kind.name]).parameters)
        assert named == ["engine", "op", "target", "by"]
        assert get_type_hints(EFFECTS[kind.name])["op"] is kind


def test_what_an_operator_did_is_told_in_a_sentence() -> None:
    told = {type(fact).kind() for fact, _ in SENTENCES}
    assert {fact for kind in OPERATIONS.values() for fact in kind.emits} - UNTOLD <= told


def test_the_command_line_and_the_screen_have_the_same_acts() -> None:
    verbs = {verb.name: verb.help for _, group in VERBS for verb in group}
    for kind, key in KEYS:
        assert (kind.verb or key.id) in verbs, "each key has a verb"
        action = BY_ID[key.id]
        assert (action.keys, action.label, action.group) == (key.keys, key.label, key.group)
        assert action.help == (key.help or help_of(kind))
        if not kind.verb and key.id != "run":
            assert verbs[key.id] == action.help, "one help text"
    assert {action.id for action in ACTIONS if action.pick is not None} == {key.id for _, key in KEYS}
    keyless = {kind.name for kind in OPERATIONS.values() if not kind.keys and kind.verb not in ("tools", "compare")}
    assert keyless == {"shutdown"}, "no screen ends its daemon; the screen of tools only shows them"


# ── arguments ─────────────────────────────────────────────────────────────────────────────────────────────────────


def plain(hint: Any) -> list[Any]:
    """The plain types that a declared one comes to, and what a Literal may be."""
    if get_origin(hint) is Annotated:
        return plain(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return [one for part in get_args(hint) for one in plain(part)]
    return list(get_args(hint)) if get_origin(hint) is Literal else [get_origin(hint) or hint]


def fitting(hint: Any) -> Any:
    first = plain(hint)[0]
    return {int: 3, float: 3.0, bool: True, dict: {"k": "x"}, tuple: ("x",), str: "x"}.get(first, first)


@EACH
def test_arguments_are_checked_from_the_declaration(kind: type[Operation[Any]]) -> None:
    args = {name: fitting(hint) for name, hint in fields(kind).items()}
    op = checked(kind, args)
    assert op.args() == args
    with pytest.raises(DaemonError, match=f"{kind.name} takes no 'minutes'"):
        checked(kind, {**args, "minutes": 3})
    for name, hint in fields(kind).items():
        wrong: list[Any] = [["a list", 3]]
        wrong += [None] if type(None) not in plain(hint) else []
        wrong += ["sideways"] if isinstance(plain(hint)[0], str) else []
        for limits in _limits(hint):
            wrong += [value - 1 for value in (limits.ge,) if value is not None]
            wrong += [value for value in (limits.gt, limits.lt) if value is not None]
            wrong += [value + 1 for value in (limits.le,) if value is not None]
            wrong += [""] if limits.min_length else []
        for value in wrong:
            with pytest.raises(DaemonError) as refused:
                checked(kind, {**args, name: value})
            assert refused.value.code == "usage"
            assert name in refused.value.message
        if not hasattr(kind, name):
            with pytest.raises(DaemonError, match=f"'?{name}'? is missing"):
                checked(kind, {one: value for one, value in args.items() if one != name})


def _limits(hint: Any) -> list[Within]:
    notes = getattr(hint, "__metadata__", ())
    inner = [part for part in getattr(hint, "__args__", ()) if part is not type(None)]
    return [note for note in notes if isinstance(note, Within)] + [one for part in inner for one in _limits(part)]


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("log", "at", "id", "verb", "args"),
    [
        (logs.paused, None, "pause", "pause", {"run": "r1"}),
        (logs.ended, None, "pause", "pause", {"run": "r1"}),
        (logs.some, None, "resume", "resume", {"run": "r1"}),
        (logs.ended, None, "steer", "steer", {"run": "r1", "text": "x"}),
        (logs.some, None, "skip", "skip", {"run": "r1"}),
        (logs.ended, None, "stop", "stop", {"run": "r1"}),
        (logs.some, None, "prune", "prune", {"run": "r1"}),
        (logs.ended, None, "budget", "budget", {"run": "r1", "iterations": 3}),
        (logs.some, None, "move_up", "move", {"run": "r1", "to": "up"}),
        (logs.ended, None, "review", "review", {"run": "r1", "on": True}),
        (logs.running, None, "approve", "approve", {}),
        (logs.running, None, "decline", "decline", {}),
        (logs.running, 6, "accept", "accept", {"iteration": "r1.6"}),
        (logs.some, 4, "accept", "accept", {"iteration": "r1.4"}),
        (logs.some, 1, "accept", "accept", {"iteration": "r1.1"}),
        (logs.some, 2, "accept", "accept", {"iteration": "r1.2"}),
        (logs.some, 3, "rollback", "rollback", {"iteration": "r1.3"}),
        (logs.some, None, "undo", "undo", {"run": "r1"}),
        (logs.running, 6, "retry", "again", {"iteration": "r1.6"}),
        (logs.ended, 1, "remeasure", "again", {"iteration": "r1.1", "thorough": True}),
        (logs.some, 2, "profile", "profile", {"iteration": "r1.2"}),
        (logs.ended, None, "edit", "edit", {"run": "r1", "files": {"k": "x"}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_refusal_is_the_same_sentence_everywhere(
    log: Any, at: int | None, id: str, verb: str, args: dict[str, Any], tmp_path: Any
) -> None:
    made = log()
    greyed = reason(BY_ID[id], view_of(made, None if at is None else TreePosition(logs.TASK, "r1", at)))
    with EventStore(tmp_path / "events.db") as store:
        journal = EventJournal(store)
        for event in made.events:
            journal.emit(event.fact)
        with pytest.raises(DaemonError) as refused:
            await carry_out(Engine(Workspace(tmp_path), Config(), journal), verb, args, "ada")
    assert refused.value.code == "refused"
    assert refused.value.message == greyed
    assert str(refused.value).startswith(greyed), "and the command line says it with its remedy"


# ── a note, which is an operation in four files ───────────────────────────────────────────────────────────────────


async def test_pruning_removes_what_lost_and_keeps_what_a_person_may_want(tmp_path: Any) -> None:
    with EventStore(tmp_path / "events.db") as store:
        journal, workspace = EventJournal(store), Workspace(tmp_path)
        for event in logs.ended().events:
            journal.emit(event.fact)
        engine = Engine(workspace, Config(), journal)
        run = journal.state.runs["r1"]
        folders = {it.number: workspace.iteration_folder(run.task, "r1", it.number) for it in run.iterations}
        for folder in folders.values():
            (folder / "candidate").mkdir(parents=True)
            (folder / "candidate" / "kernel.c").write_bytes(b"x" * 5000)
        best, accepted = run.incumbent, {it.number for it in run.iterations if it.outcome == "accepted"}
        assert {best} < accepted, "there is an older one to go back to"
        found = await carry_out(engine, "prune", {"run": "r1"}, "ada")
        left = {number for number, folder in folders.items() if folder.exists()}
        assert left == {0} | accepted
        assert found["count"] == len(folders) - len(left) and found["bytes"] >= 5000 * found["count"]
        await carry_out(engine, "prune", {"run": "r1", "keep_best": True}, "ada")
        assert {number for number, folder in folders.items() if folder.exists()} == {0, best}
        assert set(journal.state.runs["r1"].pruned) == set(folders) - {0, best}
        (older,) = accepted - {best}
        for verb, args in (("rollback", {}), ("accept", {}), ("again", {"thorough": True})):
            with pytest.raises(DaemonError):
                await carry_out(engine, verb, {"iteration": f"r1.{older}", **args}, "ada")
        with pytest.raises(DaemonError, match=f"the files of r1.{older} were pruned"):
            await carry_out(engine, "rollback", {"iteration": f"r1.{older}"}, "ada")
        with pytest.raises(DaemonError, match=f"the files of r1.{older} were pruned"):
            answer("diff", {"iteration": f"r1.{older}"}, Sources(journal.state, workspace))
        folders[older].mkdir()  # as a daemon leaves it that was killed while it pruned
        assert (await carry_out(engine, "prune", {"run": "r1"}, "ada"))["count"] == 0
        assert not folders[older].exists()


async def test_a_note_is_kept_in_the_log_and_changes_nothing(tmp_path: Any) -> None:
    with EventStore(tmp_path / "events.db") as store:
        journal = EventJournal(store)
        for event in logs.ended().events:
            journal.emit(event.fact)
        before = journal.state.runs
        engine = Engine(Workspace(tmp_path), Config(), journal)
        assert await carry_out(engine, "note", {"text": " the fan was replaced "}, "ada") == {"run": "r1"}
        fact = list(journal.events())[-1].fact
        assert fact == e.Noted("r1", "the fan was replaced", "ada")
        assert str(operator_act(fact)) == "ada notes on r1: the fan was replaced"
        assert journal.state.runs == before
        with pytest.raises(DaemonError, match="the note is empty"):
            await carry_out(engine, "note", {"text": " "}, "ada")
