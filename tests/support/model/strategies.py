"""Hypothesis strategies that make any fact, built from the facts' own type hints."""

from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from kpd.model.events import FACTS, Event
from kpd.model.fact import Fact, IterationFact, RunFact

_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=8),
    int: st.integers(-(2**53), 2**53),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    NoneType: st.none(),
}


@cache
def of_type(hint: Any) -> st.SearchStrategy[Any]:
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (UnionType, Union):
        return st.one_of(*map(of_type, arguments))
    if origin is tuple and arguments[1] is not ...:
        return st.tuples(*map(of_type, arguments))
    if origin is tuple:
        return st.lists(of_type(arguments[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(of_type(arguments[0]), of_type(arguments[1]), max_size=2)
    assert is_dataclass(hint) or issubclass(hint, msgspec.Struct), f"no strategy for {hint}"
    return st.builds(hint, **_fields(hint))


def _fields(cls: Any) -> dict[str, st.SearchStrategy[Any]]:
    hints = get_type_hints(cls)
    names = [field.name for field in fields(cls)] if is_dataclass(cls) else cls.__struct_fields__
    return {name: of_type(hints[name]) for name in names}


def _few(cls: type[Fact]) -> st.SearchStrategy[Fact]:
    """Facts about two runs with a few iterations, so that they meet each other."""
    chosen = _fields(cls)
    if issubclass(cls, RunFact):
        chosen["run"] = st.sampled_from(["r1", "r2"])
    if issubclass(cls, IterationFact):
        chosen["iteration"] = st.integers(0, 3)
    return st.builds(cls, **chosen)


any_fact = st.one_of([of_type(cls) for cls in FACTS.values()])
related_facts = st.lists(st.one_of([_few(cls) for cls in FACTS.values()]), max_size=25)
logs = related_facts.map(lambda facts: [Event(n, float(n), fact) for n, fact in enumerate(facts, start=1)])
