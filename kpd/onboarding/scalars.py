"""What a scalar argument sets: how many threads have work (role A), or how much work each of them has (role B).

Mixing them up makes a harness that measures nothing: threads that all return at once, or one that works for all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kpd.onboarding.configs import Config
from kpd.onboarding.signature import Kernel, Parameter
from kpd.onboarding.source import Source
from kpd.onboarding.tokens import Token, closing, spelled, split

Role = Literal["A", "B", "other"]
_INDEX = frozenset(("threadIdx", "blockIdx"))
_BUILT_IN = _INDEX | {"blockDim", "gridDim"}
_COMPARES = frozenset(("<", "<=", ">", ">=", "==", "!="))
NEAR = 0.9
"""From which part of the threads on a bound counts as one for all of them."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """An argument that is no pointer, its role, and why. `values` are those of the configurations, by their names."""

    name: str
    type: str
    role: Role
    reason: str
    values: Mapping[str, int | float]


def scalars(source: Source, kernel: Kernel, configs: Sequence[Config]) -> tuple[Scalar, ...]:
    """Every scalar of the kernel, in the order of its arguments. What the table does not hold has no values."""
    tokens = source.tokens[kernel.scope.start : kernel.scope.end]
    indices = _thread_indices(tokens)
    return tuple(_scalar(tokens, indices, one, configs) for one in kernel.parameters if one.name and not one.pointer)


def _scalar(tokens: Sequence[Token], indices: set[str], one: Parameter, configs: Sequence[Config]) -> Scalar:
    values = {config.name: config.scalars[one.name] for config in configs if one.name in config.scalars}
    bounds = list(_bounds(tokens, indices, _stand_ins(tokens, one.name)))
    fits = _fits(one.name, configs)
    for wanted in ("guard", "stride", "loop"):
        for kind, text, place in bounds:
            if kind == wanted:
                return Scalar(one.name, one.type, *_judged(kind, f"{text} at line {place}", fits), values)
    if fits is not None and fits[0]:
        return Scalar(one.name, one.type, "A", fits[1], values)
    return Scalar(one.name, one.type, "other", "the source bounds neither threads nor a loop with it", values)


def _judged(kind: str, where: str, fits: tuple[bool, str] | None) -> tuple[Role, str]:
    seen = f"; {fits[1]}" if fits is not None else ""
    if kind == "guard":
        return "A", f"it bounds the threads that have work: {where}{seen}"
    if kind == "loop":
        return "B", f"it bounds a loop that each thread runs: {where}"
    if fits is not None and fits[0]:
        return "A", f"threads stride up to it, and there is about one of them for each: {where}{seen}"
    return "B", f"threads stride up to it, so it sets how often each goes round: {where}{seen}"


def _fits(name: str, configs: Sequence[Config]) -> tuple[bool, str] | None:
    """Whether the observed values are about as many as the threads, in all or along an axis; None without values."""
    found = [(config, config.scalars[name]) for config in configs if name in config.scalars]
    if not found:
        return None
    for what in ("of the grid", "along x", "along y", "along z"):
        if all(_about(value, _threads(config, what)) for config, value in found):
            return True, f"observed {found[0][1]} for {_threads(found[0][0], what)} threads {what}"
    return False, f"observed {found[0][1]} for {_threads(found[0][0], 'of the grid')} threads of the grid"


def _threads(config: Config, what: str) -> int:
    x, y, z = (blocks * threads for blocks, threads in zip(config.grid, config.block, strict=True))
    return {"along x": x, "along y": y, "along z": z}.get(what, x * y * z)


def _about(value: int | float, threads: int) -> bool:
    return threads > 1 and NEAR * threads <= value <= threads


def _thread_indices(tokens: Sequence[Token]) -> set[str]:
    """The variables that a thread computes from where it stands, directly or through others."""
    found = set(_INDEX)
    grown = True
    while grown:
        grown = False
        for at, token in enumerate(tokens):
            if token.text not in ("=", "(", "{") or at == 0 or tokens[at - 1].kind != "word":
                continue
            name = tokens[at - 1].text
            declared = token.text == "=" or (at > 1 and tokens[at - 2].kind == "word")
            if not declared or name in found or name in _BUILT_IN:
                continue
            if any(one.text in found for one in _expression(tokens, at)):
                found.add(name)
                grown = True
    return found


def _stand_ins(tokens: Sequence[Token], name: str) -> set[str]:
    """The scalar, and variables that are nothing but another name or type for it."""
    found = {name}
    for at in range(1, len(tokens)):
        if tokens[at].text == "=" and tokens[at - 1].kind == "word":
            words = [one.text for one in _expression(tokens, at) if one.kind == "word"]
            if words[-1:] and words[-1] in found and len(set(words) - _CAST_WORDS) == 1:
                found.add(tokens[at - 1].text)
    return found


_CAST_WORDS = frozenset(
    ("int", "long", "unsigned", "size_t", "uint32_t", "int64_t", "uint64_t", "int32_t", "static_cast")
)


def _expression(tokens: Sequence[Token], at: int) -> Sequence[Token]:
    """What is assigned after the mark at `at`."""
    if tokens[at].text in ("(", "{"):
        return tokens[at + 1 : closing(tokens, at)]
    end = at + 1
    while end < len(tokens) and tokens[end].text not in (";", ","):
        end = closing(tokens, end) + 1 if tokens[end].text in ("(", "[", "{") else end + 1
    return tokens[at + 1 : end]


def _bounds(tokens: Sequence[Token], indices: set[str], names: set[str]) -> Iterator[tuple[str, str, int]]:
    """Where the scalar bounds threads ("guard"), a loop over threads ("stride"), or a loop of each thread ("loop")."""
    for at, token in enumerate(tokens[:-1]):
        if token.text not in ("if", "while", "for") or tokens[at + 1].text != "(":
            continue
        inside = tokens[at + 2 : closing(tokens, at + 1)]
        loop: Sequence[Token] = inside
        if token.text == "for":
            parts = split(inside, ";")
            if len(parts) < 2:
                continue
            loop = parts[1]
        for part in _conditions(loop):
            words = {one.text for one in part if one.kind == "word"}
            if not words & names or not any(one.text in _COMPARES for one in part):
                continue
            if not words - names - _BUILT_IN and token.text == "if":
                continue
            by_thread = bool(words & indices)
            if token.text == "if" and by_thread:
                yield "guard", spelled(part), token.line
            elif token.text == "if":
                continue
            elif by_thread:
                yield "stride", spelled(inside), token.line
            else:
                yield "loop", spelled(inside), token.line


def _conditions(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The parts of a condition between && and ||."""
    part: list[Token] = []
    for token in tokens:
        if token.text in ("&&", "||"):
            yield part
            part = []
        else:
            part.append(token)
    yield part
