"""Checks the arguments of an operation from the socket against its declaration."""

from dataclasses import MISSING, field, make_dataclass
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec

from kpd.model.codec import CodecError, decode, encode
from kpd.operations.arguments import Within
from kpd.operations.operation import Operation, fields
from kpd.wire import DaemonError
from kpd.workspace.strict import misfit

Op = TypeVar("Op", bound=Operation[Any])


def checked(kind: type[Op], args: dict[str, Any]) -> Op:
    """Return the operation with these arguments, and defaults for the others. Raises DaemonError (usage)."""
    fits = shape(kind)
    known = list(fields(kind))
    if strange := [name for name in args if name not in known]:
        remedy = f"it takes {', '.join(known) or 'nothing'}"
        raise DaemonError("usage", f"{kind.name} takes no {strange[0]!r}", remedy)
    try:
        found = decode(encode(args), fits)
    except CodecError as err:
        raise DaemonError("usage", f"{kind.name}: {misfit(args, fits) or err}") from err
    return kind(**{name: getattr(found, name) for name in known})


def shape(kind: type[Operation[Any]]) -> type[Any]:
    """Return the dataclass as which the codec decodes the arguments of an operation."""
    found = []
    for name, hint in fields(kind).items():
        default = getattr(kind, name, MISSING)
        found.append((name, _type(hint), field() if default is MISSING else field(default=default)))
    return make_dataclass(kind.__name__, found, kw_only=True, frozen=True)


def _type(hint: Any) -> Any:
    """Translate a declared type into one that the codec understands."""
    if get_origin(hint) is Annotated:
        base, *notes = get_args(hint)
        limits = next((note for note in notes if isinstance(note, Within)), None)
        return Annotated[_type(base), msgspec.Meta(**limits._asdict())] if limits else _type(base)
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(_type(part) for part in get_args(hint))]  # noqa: UP007
    return hint
