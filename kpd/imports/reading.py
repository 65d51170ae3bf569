"""Understands what a benchmark printed: where its score is, which scores are better, what its cases are. Pure.

What is not certain is a question; nothing is guessed.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kpd.imports.draft import Answers
from kpd.imports.errors import ImportRefused, OpenQuestion, Unclear
from kpd.imports.failing import at_fault
from kpd.measure.command.correctness import claims
from kpd.measure.command.result import complaint, last_object
from kpd.measure.command.shape import EACH, TIMES, values_at

LOWER = re.compile(r"(^|_)(us|ms|ns|s|sec|secs|seconds|cycles|time|latency|elapsed|duration|runtime|cost|loss)($|_)")
HIGHER = re.compile(
    r"(^|_)(gflops|tflops|flops|gbps|gibps|mbps|gb_s|gib_s|bandwidth|throughput|speedup|tokens_per_s|rate|per_s|per_sec|ops|fps)($|_)"
)
FIGURE = re.compile(r"^(best|median|mean|min|avg|average|geomean|total|p50|score|time|latency)(_|$)|^(us|ms|ns|score)$")
NOT_SCORES = re.compile(r"target|threshold|tolerance|limit|seed|max_abs|err|baseline|runs?$|repeats|warmup|roofline")
NAMES = ("name", "case", "label", "shape", "workload", "id", "spec", "config")
UNITS = ("ns", "us", "ms", "s")
SHOWN = 8


@dataclass(frozen=True, slots=True)
class BenchmarkReading:
    """What the printed object means: keys of [bench]. `said` are its claims about correctness, for people."""

    score: str
    value: float
    direction: str
    unit: str
    cases: dict[str, str]
    names: tuple[str, ...]
    said: tuple[str, ...]
    confirmed: bool


def understand(stdout: str, prefers: tuple[str, ...], known: dict[str, Any], answers: Answers) -> BenchmarkReading:
    """Read the object that a benchmark printed. `known` are keys of [bench] that the importer has set already.

    Raises Unclear, ImportRefused.
    """
    table = last_object(stdout)
    if table is None:
        raise ImportRefused(
            f"the benchmark printed no JSON object that begins a line: {_shown(stdout)}",
            "name a command that prints one with --bench, or let it print one",
        )
    if (count := _objects(stdout)) > 1 and not answers.last:
        raise Unclear(OpenQuestion("--last", f"the benchmark printed {count} JSON objects: is the last the result?"))
    score = _score(table, answers.score or str(known.get("score", "")), prefers)
    cases, unit, names = _cases(table, score)
    found = tuple(claims(table, score, frozenset(good.lower() for good in answers.good)))
    if (wrong := complaint(table, found)) and not answers.baseline:
        raise at_fault(f"its result says that it is wrong: {wrong}")
    if unknown := tuple(dict.fromkeys(claim.said for claim in found if claim.good is None)):
        places = ", ".join(dict.fromkeys(claim.place for claim in found if claim.good is None))
        text = f"its result says {places}: {', '.join(map(repr, unknown))}. Does that say that all is right?"
        raise Unclear(OpenQuestion("--good", text, unknown, "if it does not, correct the folder; if it does"))
    direction = answers.direction or known.get("direction") or _direction(score)
    if not direction:
        raise Unclear(OpenQuestion("--direction", f"is a lower or a higher {score!r} better?", ("lower", "higher")))
    said = tuple(f"{claim.place} = {claim.said}" for claim in found)
    value = float(values_at(table, score)[0])
    return BenchmarkReading(score, value, direction, unit, cases, names, said, any(claim.confirms for claim in found))


def _score(table: dict[str, Any], given: str, prefers: tuple[str, ...]) -> str:
    places = dict(_figures(table))
    if given:
        if not values_at(table, given):
            raise ImportRefused(f"the result has no {given!r}, but {_few(places)}", "name its place with --score")
        return given
    for name in prefers:
        found = [place for place in places if place == name] or [p for p in places if p.endswith(f".{name}")]
        if len(found) == 1:
            return found[0]
    likely = [place for place in places if FIGURE.search(_last(place)) and not NOT_SCORES.search(_last(place))]
    top = [place for place in likely if "." not in place] or likely
    best = [place for place in top if _last(place).startswith("best")] or top
    if len(best) == 1:
        return best[0]
    if EACH in "".join(best) and len({_last(place) for place in best}) == 1:
        return best[0]
    measured = [place for place in places if _direction(place) and not NOT_SCORES.search(_last(place))]
    if not best and len(measured) == 1:
        return measured[0]
    raise Unclear(OpenQuestion("--score", "which number of the result is the score?", tuple(best or places)[:SHOWN]))


def _figures(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Yield the place of each positive number; the entries of a list share one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if re.fullmatch(r"[^.\[\]]+", key):
                yield from _figures(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list) and value and all(isinstance(inner, dict) for inner in value):
        yield from _figures(value[0], f"{place}{EACH}")
    elif isinstance(value, int | float) and not isinstance(value, bool) and value > 0 and place:
        yield place, float(value)


def _direction(score: str) -> str:
    last = _last(score).lower()
    lower, higher = LOWER.search(last), HIGHER.search(last)
    return "" if bool(lower) == bool(higher) else "lower" if lower else "higher"


def _cases(table: dict[str, Any], score: str) -> tuple[dict[str, str], str, tuple[str, ...]]:
    """Return where the cases are, the unit of their times, and their names; empty where none has a time in a unit."""
    for at, rows in table.items():
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            continue
        name = next((key for key in NAMES if all(isinstance(row.get(key), str) for row in rows)), "")
        keys = [_last(score), *TIMES, *(key for key in rows[0] if FIGURE.search(key) and not NOT_SCORES.search(key))]
        time = next((key for key in keys if unit_of(key) and all(_is_time(row.get(key)) for row in rows)), "")
        if name and time:
            return {"at": at, "name": name, "time": time}, unit_of(time), tuple(str(row[name]) for row in rows)
    return {}, "", ()


def unit_of(key: str) -> str:
    """Return the unit that the last part of a key names; empty where it names none."""
    last = key.rpartition("_")[2].lower()
    return last if last in UNITS else ""


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _last(place: str) -> str:
    return place.rpartition(".")[2].replace(EACH, "")


def _objects(stdout: str) -> int:
    """Count the JSON objects that begin a line, one after the other."""
    decoder, at, count = json.JSONDecoder(), 0, 0
    while (found := re.compile(r"^\{", re.MULTILINE).search(stdout, at)) is not None:
        try:
            _, at = decoder.raw_decode(stdout, found.start())
            count += 1
        except (ValueError, RecursionError):
            at = found.end()
    return count


def _shown(stdout: str) -> str:
    lines = stdout.strip().splitlines()
    return json.dumps("\n".join(lines[-3:])[-200:]) if lines else "it printed nothing"


def _few(places: dict[str, float]) -> str:
    return ", ".join(list(places)[:SHOWN]) or "no number"
