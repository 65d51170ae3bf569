"""Formats one iteration as text: what was tried, the result, and why. Pure: answers in, lines out."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from kpd.cli import labels
from kpd.cli.report_cases import table_of_cases
from kpd.cli.terminal_text import line, paint, table, wrapped
from kpd.model.hosts import Confinement
from kpd.model.metrics import describe, parted
from kpd.model.missing import missing_by_reason
from kpd.model.profiles import ESTIMATED
from kpd.model.spending import Spend
from kpd.model.tools import SmithEnded
from kpd.profile.changes import changes
from kpd.text import money, numbers
from kpd.text.confinement import lacks, means
from kpd.text.endings import TURN_ENDS
from kpd.text.gains import brief
from kpd.text.tools import smith_end
from kpd.text.verdicts import BASELINE_IS_TRUTH, UNCHECKED

Answer = dict[str, Any]
LABEL = 12  # cells of the left column
MOST_MOVED = 12
MOST_ADVICE = 8
SHORT_ADVICE = 160  # characters of a piece, then to the end of the sentence: the rest is general explanation
SEVERITIES = {"high": "‼", "medium": "!", "low": "·"}


def report(shown: Answer, limit: int | None, colour: bool) -> list[str]:
    """Format the answer of `show`, with the `card` of its task if that is known, as lines.

    No line is wider than `limit`, where there is one.
    """
    sections = (
        _head(shown, limit, colour),
        table_of_cases(shown["detail"], limit),
        _findings(shown["detail"], limit),
        _advice(shown["detail"], limit),
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
    tint = labels.COLOURS[it["sign"]["tone"]]
    yield f"{run['id']}.{it['number']}  {paint(labels.outcome(it), tint, colour)}"
    against = "" if it["parent"] == it["number"] else f", against {run['id']}.{it['parent']}"
    yield from _field("task", f"{run['task']} on {run['host']}, proposed by {it['agent']}{against}", limit)
    if run["device"]:
        yield from _field("device", run["device"], limit)
    if run["confinement"]:
        held = Confinement(**run["confinement"])
        yield from _field("sandbox", "; ".join((means(held), *lacks(held))), limit)
    if run["unchecked"]:
        yield from _field("unchecked", UNCHECKED.partition(": ")[2], limit)
    if detail["checked"] and detail["checked"].get("truth") == "baseline":
        yield from _field("truth", BASELINE_IS_TRUTH, limit)
    yield from _field("memo", it["memo"] or "none", limit)
    if asks := labels.approval(run["id"], it) or labels.held(run["id"], it):
        yield from _field("waits", asks, limit)
    if it["again"] is not None:
        thorough = ", with as many processes as a verdict can use" if it["thorough"] else ""
        thorough = ", against the baseline" if it["confirming"] else thorough
        thorough = ", against itself: the noise floor of its device" if it["confirming"] == "floor" else thorough
        yield from _field("again", f"what {run['id']}.{it['again']} proposed{thorough}", limit)
    if it["aims"]:
        yield from _field("aims at", ", ".join(it["aims"]), limit)
    if it["expected"]:
        yield from _field("expected", _expected(shown), limit)
    if detail["proposed"] and detail["proposed"]["point"]:
        point = ", ".join(f"{name} = {value}" for name, value in detail["proposed"]["point"].items())
        yield from _field("point", point, limit)
    if it["tune"]:
        unsure = "; ".join(f"{name} = {', '.join(values)}" for name, values in it["tune"].items())
        yield from _field("unsure of", f"{unsure} (left to a sweep)", limit)
    if it["spend"]["calls"]:
        yield from _field("cost", _cost(it["spend"]), limit)
    if it["session"]:
        yield from _field("session", _session(it), limit)
    if detail["smith"]:
        yield from _field("tool", smith_end(msgspec.convert(detail["smith"], SmithEnded)), limit)
    if detail["trials"]:
        yield from _field("trials", _trials(detail["trials"]), limit)
    if detail["checked"] and (sizes := detail["checked"].get("sizes")):
        yield from _field("sizes", sizes, limit)
    if verdict := it["verdict"]:
        yield from _field("verdict", verdict["reason"], limit)
        confidence = (
            f"{100 * verdict['gain']['confidence']:g} % interval, {numbers.counted(verdict['processes'], 'process')}"
        )
        yield from _field("", f"{labels.gain(verdict)} the incumbent's speed ({confidence})", limit)
    if detail["judged"] and (audited := detail["judged"].get("audited")):
        yield from _field("audited", audited["text"], limit)
    if detail["judged"] and (repeats := detail["judged"]["repeats"]):
        yield from _field("repeated", f"{numbers.counted(repeats, 'call')} before acceptance, each compared", limit)
    if it["sanitizer"]:
        yield from _field("last checks", it["sanitizer"], limit)
    if it["override"]:
        yield from _field("override", it["override"]["text"], limit)
    if it["score"] is not None:
        score = f"{numbers.number(it['score'])} {labels.unit(_card(shown))}"
        yield from _field("score", f"{score}{_share(shown)}, as measured then", limit)
    if headline := shown["headline"]:
        why = f": {headline['reason']}" if headline["reason"] else ""
        yield from _field("speed-up", f"{headline['text']}, {headline['over']}{why}", limit)
    if it["cause"] and it["cause"]["kind"] != "verdict":
        yield from _field("reason", it["reason"], limit)
    if it["bottleneck"]:
        yield from _field("bottleneck", it["bottleneck"], limit)
    if flagged := _flags(it):
        yield from _field("flagged", "; ".join(flagged), limit)


def _flags(it: Answer) -> list[str]:
    """List what a person should look at: in the candidate, and in what its agent wanted to do to its judges."""
    told, session = [flag["text"] for flag in it["flags"] or ()], it["session"] or {}
    if session.get("judges"):
        told.append(f"its agent asked to change {', '.join(session['judges'])}, which judges it, and was refused")
    if session.get("foreign"):
        told.append(f"its agent changed {', '.join(session['foreign'])}, which was not taken")
    return told


def _trials(found: list[Answer]) -> str:
    """Count the trials by how they ended: none of them says how fast the candidate is."""
    ends = Counter(one["end"].replace("_", " ") for one in found)
    seconds = sum(one["device_s"] for one in found)
    return f"{', '.join(f'{count} {end}' for end, count in ends.items())}; {seconds:.1f} s on the device"


def _session(it: Answer) -> str:
    """Tell what a coding agent did, and its claim beside what was measured."""
    found = it["session"]
    told = [found["agent"] or "an agent", f"{numbers.counted(found['turns'], 'turn')} in {found['seconds']:.0f} s"]
    if found["end"]:
        told.append(TURN_ENDS[found["end"]])
    if found["claimed_us"] is not None:
        measured = "" if it["score"] is None else f", measured {numbers.number(it['score'])}"
        told.append(f"said {numbers.number(found['claimed_us'])} µs{measured}")
    if found["refused"]:
        told.append(f"refused {numbers.counted(found['refused'], 'wish')}")
    if found["online"]:
        told.append("its network was open")
    if found["unreached"]:
        told.append(f"did not reach {', '.join(found['unreached'])}: not among its hosts")
    return "; ".join(told)


def _cost(spend: Answer) -> str:
    tokens = f"{sum(spend['usage'].values()):,}{' + ?' if spend['uncounted'] else ''} tokens"
    return f"{money.cost(msgspec.convert(spend, Spend))} for {tokens} in {numbers.counted(spend['calls'], 'call')}"


def _share(shown: Answer) -> str:
    """Format the share of the roofline, beside that of the incumbent in the same contest."""
    it, before = shown["iteration"], _metrics(shown["parent"]).get("roofline_pct")
    if it["roofline_pct"] is None:
        return ""
    found = f", {it['roofline_pct']:.0f} % of the roofline"
    return found if before is None else f"{found} (the incumbent {before:.0f} % in the same contest)"


def _card(shown: Answer) -> Answer:
    return shown.get("card") or {}


def _expected(shown: Answer) -> str:
    """Format the expectation beside the measured values."""
    expected = shown["iteration"]["expected"]
    name = expected["metric"]
    text = f"{_label(name)} {expected['direction']}"
    if expected["gain_pct"] is not None:
        text += f", {brief(expected['gain_pct'])}"
    before, after = _metrics(shown["parent"]).get(name), _metrics(shown["detail"]).get(name)
    if before is None or after is None:
        return f"{text}: not measured"
    went = "up" if after > before else "down" if after < before else "nowhere"
    held = "as expected" if went == expected["direction"] else "not as expected"
    return f"{text}: it went {went}, {numbers.number(before)} → {numbers.number(after)}, {held}"


def _findings(detail: Answer, limit: int | None) -> Iterator[str]:
    for finding in detail["explained"]["findings"] if detail["explained"] else ():
        text = f"{SEVERITIES[finding['severity']]} {finding['rule']} ({finding['severity']}): {finding['message']}"
        yield from wrapped(text, limit)
        yield from wrapped(f"→ {finding['action']}", limit, "    ")


def _advice(detail: Answer, limit: int | None) -> Iterator[str]:
    pieces = detail["profiled"]["advice"] if detail["profiled"] else []
    if not pieces:
        return
    yield "NVIDIA's advice" + ("; ✓ where a rule says the same" if any(piece["agrees"] for piece in pieces) else "")
    cases = len(detail["timed"]["cases"]) if detail["timed"] else 0
    for piece in pieces[:MOST_ADVICE]:
        yield from advice(piece, cases, limit, SHORT_ADVICE)
    if len(pieces) > MOST_ADVICE:
        yield f"  {len(pieces) - MOST_ADVICE} more: --json has all"


def advice(piece: Answer, cases: int, limit: int | None, most: int = 0) -> list[str]:
    """Format a piece of advice with its estimated gain, and the cases it is about unless these are all `cases`.

    `most` > 0 cuts its text after the sentence that reaches so many characters.
    """
    share = piece["speedup_pct"] or 0.0
    gain = f" {ESTIMATED[piece['scope']].format(f'{share:.{0 if share >= 9.95 else 1}f} %')}" if share else ""
    agrees = f" ✓ {piece['agrees']}" if piece["agrees"] else ""
    some = f" [{', '.join(piece['cases'])}]" if 0 < len(piece["cases"]) < cases else ""
    head, *rest = wrapped(f"{piece['level']} {piece['rule']}{gain}{agrees}{some}", limit, "  ")
    return [head, *rest, *wrapped(_beginning(piece["text"], most), limit, "    ")]


def _beginning(text: str, most: int) -> str:
    """Return `text` up to the end of the sentence that reaches `most` characters; all of it for 0."""
    if not most or len(text) <= most:
        return text
    end = text.find(". ", most)
    return text[: end + 1] if end >= 0 else text


def _metrics(detail: Answer | None) -> dict[str, float]:
    return detail["profiled"]["metrics"] if detail and detail["profiled"] else {}


def _label(name: str) -> str:
    metric = describe(name)
    return line(metric.label if metric else name)


def _moved(shown: Answer, limit: int | None) -> Iterator[str]:
    """Yield a table of the metrics that differ from the parent's by more than noise, the largest change first."""
    before, after = _metrics(shown["parent"]), _metrics(shown["detail"])
    if shown["iteration"]["parent"] == shown["iteration"]["number"]:
        before = {}
    # Metrics of single cases are left out: the table of cases has their times.
    moved = [change for change in changes(before, after) if not parted(change.metric)[1]][:MOST_MOVED]
    rows = []
    for change in moved:
        metric = describe(change.metric)
        unit = metric.unit if metric else ""
        rows.append((_label(change.metric), numbers.number(change.before), numbers.number(change.after), unit))
    if rows:
        head = ("METRIC", f"ITERATION {shown['iteration']['parent']}", "NOW", "UNIT")
        yield from table(head, rows, limit, right=f"ITERATION_{shown['iteration']['parent']} NOW")


def _troubles(detail: Answer, limit: int | None) -> Iterator[str]:
    for fault in detail["faults"]:
        yield from wrapped(f"✗ attempt {fault['attempt']}, {fault['step']}: {fault['message']}", limit)
    for lack in missing_by_reason(detail["profiled"]["missing"] if detail["profiled"] else {}):
        yield from wrapped(f"– not measured: {line(lack.what or 'all')} ({lack.reason})", limit)


def _files(shown: Answer, limit: int | None) -> Iterator[str]:
    proposed = shown["detail"]["proposed"]
    files = sorted(proposed["files"]) if proposed else []
    yield from _field("files", f"{', '.join(files)} in {shown['folder']}" if files else shown["folder"], limit)
