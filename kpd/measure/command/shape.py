"""Finds what a result holds where: the score, the cases, and the word that says whether it is right. Pure.

A place is a path through the result's tables, `latency.p50`; `[*]` stands for each entry of a list or table, as in
`runs[*].us`.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

from kpd.workspace.specs import BenchSpec, CasesSpec

Unit = Literal["ns", "us", "ms", "s"]
MICROSECONDS: dict[Unit, float] = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
"""The microseconds in one of each unit."""
TIMES = ("us", "best_us", "median_us")
"""The keys of a case's time that are known without being named."""
EACH = "[*]"
MOST_VALUES = 10_000
"""The most values that a place with `[*]` may lead to."""
_STEP = re.compile(r"[^.\[\]]+|\[\*\]")


@dataclass(frozen=True, slots=True)
class ResultShape:
    """Where a task's own benchmark puts what, see [bench] in task.toml.

    `score` is a place. Each entry of the table or list at the place `cases` is a case: its `name`, and its time in
    `unit` under one of the keys `times`. Where `verdict` names a place, one of the texts `verdict_good` must stand
    there. `good` are texts, besides kpd's own, that say that a result is right.
    """

    score: str
    cases: str = "cases"
    name: str = "name"
    times: tuple[str, ...] = TIMES
    unit: Unit = "us"
    verdict: str = ""
    verdict_good: tuple[str, ...] = ()
    good: frozenset[str] = frozenset()


def shape_of(spec: BenchSpec, good: frozenset[str] = frozenset()) -> ResultShape:
    """Return the shape that [bench] describes."""
    cases, verdict = spec.cases or CasesSpec(), spec.verdict
    return ResultShape(
        spec.score, cases.at, cases.name, (cases.time,) if cases.time else TIMES, spec.unit,
        verdict.key if verdict else "", verdict.good if verdict else (),
        good | {words(text) for text in (verdict.good if verdict else ())},
    )  # fmt: skip


def words(text: str) -> str:
    """Return a text as it is compared with others: in small letters, with single spaces."""
    return " ".join(text.lower().split())


class NotEverywhere(ValueError):
    """A place with `[*]` that not every entry has, or that leads to more than MOST_VALUES values."""


def values_at(table: dict[str, Any], place: str) -> list[Any]:
    """Return what the result has at a place: several values with `[*]`, none where there is no such place.

    A key of the result that is written just as the place comes first. Raises NotEverywhere.
    """
    if place in table:
        return [table[place]]
    found: list[Any] = [table]
    for step in _STEP.findall(place):
        if step == EACH:
            found = [inner for value in found for inner in _entries(value)]
            if len(found) > MOST_VALUES:
                raise NotEverywhere(f"{place!r} in its result are more than {MOST_VALUES} values")
            continue
        have = [value[step] for value in found if isinstance(value, dict) and step in value]
        if have and len(have) < len(found):
            raise NotEverywhere(f"{len(found) - len(have)} of {len(found)} entries of its result lack {place!r}")
        found = have
    return found


def _entries(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else []


def general(place: str) -> str:
    """Return a place of one entry as the place of each: `cases[3].us` is `cases[*].us`."""
    return re.sub(r"\[\d+\]", EACH, place)
