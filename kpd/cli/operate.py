"""Makes verbs of operations, with arguments and help from their declarations."""

from argparse import ArgumentParser, Namespace
from functools import partial
from typing import Any, get_args, get_origin

from kpd.cli.ask import command, workspace
from kpd.cli.exit_codes import OK
from kpd.cli.parser import amount, count, count_or
from kpd.cli.terminal_text import narrate
from kpd.operations.arguments import Arg
from kpd.operations.catalogue import KEYS, OPERATIONS
from kpd.operations.operation import Operation, fields, spoken
from kpd.text.foreign import visible
from kpd.workspace.entry_points import SESSION, EntryPointGroup


def declared(verb: str) -> tuple[type[Operation[Any]], dict[str, Any]]:
    """Return the operation of a verb, and the arguments that the verb fixes."""
    found = next(((kind, dict(key.fixed)) for kind, key in KEYS if key.id == verb), None)
    return found or (OPERATIONS[verb], {})


def arguments(parser: ArgumentParser) -> None:
    kind, fixed = declared(parser.get_default("verb"))
    add_arguments(parser, kind, *fixed)


def add_arguments(parser: ArgumentParser, kind: type[Operation[Any]], *without: str) -> None:
    """Add the operation's arguments for the command line, required ones first."""
    hints = {name: hint for name, hint in fields(kind).items() if spoken(hint) and name not in without}
    for name in sorted(hints, key=lambda name: hasattr(kind, name)):
        _add(parser, name, hints[name], needed=not hasattr(kind, name))


def _add(parser: ArgumentParser, name: str, hint: Any, needed: bool) -> None:
    said, known = spoken(hint), _parts(hint)
    assert said is not None
    if bool in known and said.option:
        parser.add_argument(said.option, dest=name, action="store_true", default=None, help=said.help)
        return
    how: dict[str, Any] = {"help": _help(said), "metavar": said.metavar}
    choices = [part for part in known if isinstance(part, str)] or (["on", "off"] if bool in known else [])
    if choices and int in known:
        how["type"] = partial(count_or, choices)
    elif choices:
        how |= {"choices": choices, "metavar": None}
    elif number := count if int in known else amount if float in known else None:
        how["type"] = number
    if said.option:
        parser.add_argument(said.option, dest=name, **how)
    else:
        how["nargs"] = ("+" if needed else "*") if said.words else None if needed else "?"
        parser.add_argument(name, **how)


def _help(said: Arg) -> str:
    return said.help.replace("{agents}", ", ".join(agents())) if "{agents}" in said.help else said.help


def agents() -> tuple[str, ...]:
    """Return the names of all installed agents, without importing any. Raises PlugInError."""
    return tuple(name for name in EntryPointGroup("kpd.agents", lambda found: found).names() if name != SESSION)


def _parts(hint: Any) -> list[Any]:
    """Return the plain types in a declared type, and the values of a Literal."""
    inner = [part for part in get_args(hint) if isinstance(part, type | str) or get_origin(part) is not None]
    return [one for part in inner for one in _parts(part)] if inner else [hint]


def given(args: Namespace, kind: type[Operation[Any]]) -> dict[str, Any]:
    """Return the operation's arguments that the command line gives; those left out are not in the result."""
    found = {}
    for name, hint in fields(kind).items():
        value = getattr(args, name, None)
        if isinstance(value, list):
            value = " ".join(value)
        elif value in ("on", "off") and bool in _parts(hint):
            value = value == "on"
        if value is not None:
            found[name] = value
    return found


def execute(args: Namespace) -> int:
    kind, fixed = declared(args.verb)
    op = kind(**given(args, kind), **fixed)
    narrate(visible(op.told_with_verbs(command(workspace(args), kind.name, **op.args()))))
    return OK
