"""One iteration as text: what was tried, what came of it, and why. Pure: answers in, lines out."""

from collections.abc import Iterator
from typing import Any

from kpd.cli import words
from kpd.cli.text import line, paint, table, wrapped
from kpd.model.metrics import describe
from kpd.profile.changes import changes

Answer = dict[str, Any]
LABEL = 12  # cells of the left column
MOST_MOVED = 12
SEVERITIES = {"high": "‼", "medium": "!", "low": "·"}


def report(shown: Answer, limit: int | None, colour: bool) -> list[str]:
    """The answer of `show` as lines; nothing is wider than `limit`, where there is one."""
    sections = (
        _head(shown, limit, colour),
        _cases(shown["detail"], limit),
        _findings(shown["detail"], limit),
        _moved(shown, limit),
        _troubles(shown["detail"], limit),
        _files(shown, limit),
    )
    lines: list[str] = []
    for section in sections:
        if found := list(section):
            lines += [*([""] if lines else []), *found]
    return lines


def _field(label: str, text: str, limit: int | None) -> list[str]:
    rows = wrapped(text, limit, " " * LABEL)
    return [f"{label:<{LABEL}}{rows[0].lstrip()}", *rows[1:]] if rows else []


def _head(shown: Answer, limit: int | None, colour: bool) -> Iterator[str]:
    run, it, detail = shown["run"], shown["iteration"], shown["detail"]
    tint = "green" if it["override"] else words.OUTCOMES.get(it["outcome"] or "", ("", "bold"))[1]
    yield f"{run['id']}.{it['number']}  {paint(words.outcome(it), tint, colour)}"
    against = "" if it["parent"] == it["number"] else f", against {run['id']}.{it['parent']}"
    yield from _field("task", f"{run['task']} on {run['host']}, proposed by {it['agent']}{against}", limit)
    yield from _field("memo", it["memo"] or "none", limit)
    if it["expected"]:
        yield from _field("expected", _expected(shown), limit)
    if detail["proposed"] and detail["proposed"]["point"]:
        point = ", ".join(f"{name} = {value}" for name, value in detail["proposed"]["point"].items())
        yield from _field("point", point, limit)
    if verdict := it["verdict"]:
        confidence = f"{100 * verdict['gain']['confidence']:g} %, {verdict['processes']} processes"
        yield from _field("verdict", f"{verdict['word']}: {words.gain(verdict)} at {confidence}", limit)
        yield from _field("", verdict["reason"], limit)
    if it["override"]:
        yield from _field("override", it["override"], limit)
    if it["score"] is not None:
        roofline = f", {it['roofline_pct']:.0f} % of the roofline" if it["roofline_pct"] is not None else ""
        yield from _field("score", f"{words.number(it['score'])} µs{roofline}{_since_baseline(shown)}", limit)
    if it["reason"] and not (it["verdict"] and it["reason"] == it["verdict"]["reason"]):
        yield from _field("reason", it["reason"], limit)
    if it["bottleneck"]:
        yield from _field("bottleneck", it["bottleneck"], limit)
    if it["flags"]:
        yield from _field("flagged", "; ".join(it["flags"]), limit)


def _since_baseline(shown: Answer) -> str:
    baseline = _score(shown["baseline"])
    score = shown["iteration"]["score"]
    if not baseline or shown["iteration"]["outcome"] == "baseline":
        return ""
    return f", the baseline's was {words.number(baseline)} µs ({baseline / score:.2f} times as fast)"


def _score(detail: Answer | None) -> float | None:
    return detail["timed"]["score"] if detail and detail["timed"] else None


def _expected(shown: Answer) -> str:
    """The expectation beside what was measured."""
    expected = shown["iteration"]["expected"]
    name = expected["metric"]
    text = f"{_label(name)} {expected['direction']}"
    if expected["gain_pct"] is not None:
        text += f", gain {words.signed(expected['gain_pct'])} %"
    before, after = _metrics(shown["parent"]).get(name), _metrics(shown["detail"]).get(name)
    if before is None or after is None:
        return f"{text}: not measured"
    went = "up" if after > before else "down" if after < before else "nowhere"
    held = "as expected" if went == expected["direction"] else "not as expected"
    return f"{text}: it went {went}, {words.number(before)} → {words.number(after)}, {held}"


def _cases(detail: Answer, limit: int | None) -> Iterator[str]:
    if not detail["timed"]:
        return
    rows = []
    for case in detail["timed"]["cases"]:
        floor = case["roofline_us"]
        share = f"{100 * floor / case['candidate_us']:.0f} %" if floor else ""
        sign = "▲" if case["gain_pct"] > 0 else "▼" if case["gain_pct"] < 0 else "="
        times = words.number(case["candidate_us"]), words.number(case["incumbent_us"])
        rows.append((case["case"], *times, f"{sign} {words.signed(case['gain_pct'])} %", words.number(floor), share))
    head = ("CASE", "µs", "INCUMBENT µs", "GAIN", "ROOFLINE µs", "OF ROOFLINE")
    yield from table(head, rows, limit, right="µs INCUMBENT_µs GAIN ROOFLINE_µs OF_ROOFLINE")


def _findings(detail: Answer, limit: int | None) -> Iterator[str]:
    for finding in detail["explained"]["findings"] if detail["explained"] else ():
        text = f"{SEVERITIES[finding['severity']]} {finding['rule']} ({finding['severity']}): {finding['message']}"
        yield from wrapped(text, limit)
        yield from wrapped(f"→ {finding['action']}", limit, "    ")


def _metrics(detail: Answer | None) -> dict[str, float]:
    return detail["profiled"]["metrics"] if detail and detail["profiled"] else {}


def _label(name: str) -> str:
    metric = describe(name)
    return line(metric.label if metric else name)


def _moved(shown: Answer, limit: int | None) -> Iterator[str]:
    """The metrics that differ from the parent's by more than noise would, the largest change first."""
    before, after = _metrics(shown["parent"]), _metrics(shown["detail"])
    if shown["iteration"]["parent"] == shown["iteration"]["number"]:
        before = {}
    # Those of one case are left out: the table of cases has its times.
    moved = [change for change in changes(before, after) if "[" not in change.name][:MOST_MOVED]
    rows = []
    for change in moved:
        metric = describe(change.name)
        unit = metric.unit if metric else ""
        rows.append((_label(change.name), words.number(change.before), words.number(change.after), unit))
    if rows:
        head = ("METRIC", f"ITERATION {shown['iteration']['parent']}", "NOW", "UNIT")
        yield from table(head, rows, limit, right=f"ITERATION_{shown['iteration']['parent']} NOW")


def _troubles(detail: Answer, limit: int | None) -> Iterator[str]:
    for fault in detail["faults"]:
        yield from wrapped(f"✗ attempt {fault['attempt']}, {fault['step']}: {fault['message']}", limit)
    missing: dict[str, list[str]] = {}
    for name, why in (detail["profiled"]["missing"] if detail["profiled"] else {}).items():
        missing.setdefault(why, []).append(_label(name))
    for why, names in missing.items():
        yield from wrapped(f"– not measured: {', '.join(names)} ({why})", limit)


def _files(shown: Answer, limit: int | None) -> Iterator[str]:
    proposed = shown["detail"]["proposed"]
    files = sorted(proposed["files"]) if proposed else []
    yield from _field("files", f"{', '.join(files)} in {shown['folder']}" if files else shown["folder"], limit)
