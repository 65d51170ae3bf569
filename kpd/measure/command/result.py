"""Parses the output of a task's own benchmark: a score and the times of its cases. Pure.

A benchmark prints logs as it likes, and its result as the last JSON object that begins a line; or, in Kernelking's
format, a line `KK_TIMING name=… median_us=…` a case.
"""

import json
import math
import re
from dataclasses import dataclass, field
from statistics import geometric_mean
from typing import Any

from kpd.measure.command.correctness import ResultClaim, claims

LEAST, MOST = 1e-15, 1e15
"""The limits of a score or a time; numbers beyond them come from a broken clock."""
MOST_CASES = 256
MOST_STARTS = 200
"""The number of last lines that are tried as the beginning of the result."""
LONGEST_NAME = 80
_OBJECT = re.compile(r"^\{", re.MULTILINE)
_KK_TIMING = re.compile(r"^\s*KK_TIMING name=(.*\S) median_us=(\S+)\s*$", re.MULTILINE)


class BadResult(ValueError):
    """The benchmark says that the candidate is wrong, or says nothing that could be a result."""


class UnclearResult(BadResult):
    """The benchmark makes a claim about its result that kpd does not understand."""

    def __init__(self, claim: ResultClaim) -> None:
        super().__init__(str(claim))
        self.claim = claim


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The microseconds of a call with its launch, those on the device alone if measured, and the case's dims."""

    us: float
    device_us: float | None = None
    dims: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """One run's score as it was printed, its cases, if there are any, and what it claims about its correctness."""

    score: float
    cases: dict[str, CaseResult]
    claims: tuple[ResultClaim, ...] = ()

    @property
    def confirmed(self) -> bool:
        """Whether it says that it is right."""
        return any(claim.confirms for claim in self.claims)


def result(said: str, key: str, good: frozenset[str] = frozenset()) -> Result:
    """Parse the result in a benchmark's stdout, with its score under `key`. Raises BadResult.

    `good` are texts, besides kpd's own, that say that a result is right.
    """
    found = last_object(said)
    timings = _timings(said)
    if found is None and not timings:
        raise BadResult("it printed neither a JSON object nor KK_TIMING lines")
    table = found or {}
    claimed = approved(table, key, good)
    if key in table:
        score, cases = _number(f"{key!r}", table[key]), _cases(table.get("cases"))
        if timings and cases.keys() != timings.keys():  # of two results, the candidate may have printed one
            raise BadResult(f"it printed KK_TIMING lines and a JSON object with {key!r} that has other cases")
        return Result(score, cases, claimed)
    if timings:
        return Result(geometric_mean(case.us for case in timings.values()), timings, claimed)
    there = ", ".join(sorted(str(name)[:LONGEST_NAME] for name in table)[:10]) or "nothing"
    raise BadResult(f"its JSON object has no {key!r}, but {there}; [bench] score in task.toml names the key")


def approved(table: dict[str, Any], key: str, good: frozenset[str] = frozenset()) -> tuple[ResultClaim, ...]:
    """Return what the result claims about its correctness. Raises BadResult for the first claim that is not good."""
    claimed = tuple(claims(table, key, good))
    if any(claim.good is False for claim in claimed):
        raise BadResult(complaint(table, claimed))
    if (unclear := next((claim for claim in claimed if claim.good is None), None)) is not None:
        raise UnclearResult(unclear)
    return claimed


def complaint(table: dict[str, Any], claimed: tuple[ResultClaim, ...]) -> str:
    """Return why the result says that the candidate is wrong, in its own words; empty if it does not say so."""
    bad = next((claim for claim in claimed if claim.good is False), None)
    if bad is None:
        return ""
    reasons = (table[name] for name in ("error", "reason", "message") if isinstance(table.get(name), str))
    reason = " ".join(next(reasons, "").split())[:300]
    return reason or str(bad)


def last_object(said: str) -> dict[str, Any] | None:
    """Find the last JSON object that begins at the start of a line and ends at the end of one."""
    decoder = json.JSONDecoder()
    starts = [match.start() for match in _OBJECT.finditer(said)]
    for start in reversed(starts[-MOST_STARTS:]):
        try:
            found, end = decoder.raw_decode(said, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and not said[end:].partition("\n")[0].strip():
            return found
    return None


def _timings(said: str) -> dict[str, CaseResult]:
    timings: dict[str, CaseResult] = {}
    for name, text in _KK_TIMING.findall(said):
        if name in timings:
            raise BadResult(f"it printed KK_TIMING of {name[:LONGEST_NAME]!r} twice")
        try:
            us: float | str = float(text)
        except ValueError:
            us = text
        timings[_name(name)] = CaseResult(_number(f"KK_TIMING of {name[:LONGEST_NAME]!r}", us))
    return _few(timings)


def _cases(given: Any) -> dict[str, CaseResult]:
    """Parse `[{"name": …, "us": …}, …]` or `{name: us, …}`, each case perhaps with `device_us` and `dims`."""
    if given is None:
        return {}
    if isinstance(given, dict):
        rows = [(name, case if isinstance(case, dict) else {"us": case}) for name, case in given.items()]
    elif isinstance(given, list) and all(isinstance(case, dict) for case in given):
        rows = [(case.get("name"), case) for case in given]
    else:
        raise BadResult("'cases' in its result is neither a list of objects nor an object")
    cases: dict[str, CaseResult] = {}
    for name, case in rows:
        name = _name(name)
        if name in cases:
            raise BadResult(f"its result has the case {name!r} twice")
        device = case.get("device_us")
        device_us = None if device is None else _number(f"'device_us' of the case {name!r}", device)
        cases[name] = CaseResult(_number(f"'us' of the case {name!r}", case.get("us")), device_us, _dims(case))
    return _few(cases)


def _few(cases: dict[str, CaseResult]) -> dict[str, CaseResult]:
    if len(cases) > MOST_CASES:
        raise BadResult(f"its result has {len(cases)} cases, but at most {MOST_CASES} are allowed")
    return cases


def _dims(case: dict[str, Any]) -> dict[str, int]:
    dims = case.get("dims")
    if not isinstance(dims, dict):
        return {}
    return {name: size for name, size in dims.items() if type(size) is int and 0 <= size < 1 << 63}


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
        raise BadResult(f"a case has no name of at most {LONGEST_NAME} printable characters: {str(name)[:40]!r}")
    return name


def _number(what: str, value: Any) -> float:
    """Convert `value` to a positive finite float; a bool is not a number. Raises BadResult."""
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:
        number = math.inf
    if not LEAST < number < MOST:
        shown = repr(value)[:40]
        raise BadResult(f"{what} in its result is {shown}, which is not a positive finite number")
    return number
