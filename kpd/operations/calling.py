"""Checks the arguments of a query or a tool from a socket against the signature of the function that answers it."""

from collections.abc import Callable, Iterable
from dataclasses import field, fields, make_dataclass
from functools import cache
from inspect import signature
from typing import Any

from kpd.model import codec
from kpd.wire import DaemonError
from kpd.workspace.strict import misfit


def checked_call(
    what: str, function: Callable[..., Any], args: dict[str, Any], beside: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return all arguments of `function` but its first: those in `args`, and defaults for the others.

    An argument that is null counts as left out. In errors `what` names the function, and `beside` arguments that are
    taken before it is called. Raises DaemonError (usage).
    """
    kind = arguments_of(function)
    known = [one.name for one in fields(kind)]
    if unknown := sorted(args.keys() - {*known}):
        remedy = f"it takes: {', '.join([*known, *beside]) or 'nothing'}"
        raise DaemonError("usage", f"{what} takes no {unknown[0][:80]!r}", remedy)
    given = {name: value for name, value in args.items() if value is not None}
    try:
        found: dict[str, Any] = vars(codec.decode(codec.encode(given), kind))
        return found
    except codec.CodecError as err:
        raise DaemonError("usage", f"{what}: {misfit(given, kind) or err}") from err


@cache
def arguments_of(function: Callable[..., Any]) -> type[Any]:
    """Build the type of a function's arguments from its signature, without its first parameter."""
    own = [*signature(function).parameters.values()][1:]
    needed: Iterable[Any] = [(one.name, one.annotation) for one in own if one.default is one.empty]
    optional = [(one.name, one.annotation, field(default=one.default)) for one in own if one.default is not one.empty]
    return make_dataclass("Arguments", [*needed, *optional])
