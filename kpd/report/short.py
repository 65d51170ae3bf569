"""Renders the facts of a run, or of many runs, as Markdown: the short form of a report. Pure, and needs no extra."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kpd import __version__
from kpd.model.headline import headline
from kpd.report import overview, tables, words
from kpd.report.facts import Facts
from kpd.report.overview import ReportedRun
from kpd.report.tables import ReportedCandidate, ReportedCase
from kpd.text.foreign import escaped
from kpd.text.gains import column, gain, times
from kpd.text.headlines import headline as told_headline
from kpd.text.numbers import counted, number


def short(facts: Facts, links: Mapping[str, str]) -> str:
    """Render a run that has a baseline.

    `links` are addresses beside the file: "page" is the HTML page, "N" the diff of iteration N; none are needed.
    """
    run = facts.run
    found = headline(run)
    said = f"{told_headline(found, based=True)}, over {words.base(run)}" if found else words.nothing(run)
    lines = [f"# {escaped(run.task)} · {run.id}", ""]
    lines += [escaped(facts.card.summary), ""] if facts.card and facts.card.summary else []
    lines += [f"**{said}**", "", f"{words.ended(run)} Measured on {escaped(run.device)}, {words.day(run.queued)}.", ""]
    lines += [line for alert in words.alerts(facts, found) for line in (f"> {escaped(alert)}", "")]
    lines += [f"The whole report: [{links['page']}]({links['page']})", ""] if "page" in links else []
    lines += [*_cases(facts), *_changes(facts, links), *_candidates(facts), "## Environment", ""]
    lines += [f"- {name}: {escaped(value)}" for name, value in words.environment(facts) if value]
    lines += ["", "## Measuring it again", "", *(f"    {command}" for command in words.commands(run))]
    return "\n".join(lines) + "\n"


def short_overview(runs: Sequence[ReportedRun]) -> str:
    """Render many runs: the best of each task on each device."""
    devices, found = overview.devices(runs), overview.best(runs)
    lines = ["# All runs", "", "Speed-ups are over each run's own baseline, with their intervals.", ""]
    lines += _table(
        ("task", *devices), (_row(task, devices, found) for task in dict.fromkeys(task for task, _ in found))
    )
    return "\n".join([*lines, f"Made by kpd {__version__}."]) + "\n"


def _row(task: str, devices: Sequence[str], found: overview.Best) -> tuple[str, ...]:
    cells = (found.get((task, device)) for device in devices)
    return (task, *(_best(*cell) if cell else "" for cell in cells))


def _best(one: ReportedRun, runs: int) -> str:
    gained = column(one.found.speedup) if one.found else "no gain"
    return f"{gained} ({one.run.id}{f', {one.score}' if one.score else ''}; {counted(runs, 'run')})"


def _cases(facts: Facts) -> Iterator[str]:
    rows = tables.cases(facts)
    if rows:
        yield from ("## Cases", "", "Times in µs, of the contest of the best.", "")
        yield from _table(("case", "before, µs", "best, µs", "speed-up", "of the roofline"), map(_case, rows))


def _case(row: ReportedCase) -> tuple[str, ...]:
    gained = column(row.speedup) if row.speedup else times(row.ratio) if row.ratio else ""
    share = f"{row.share_after:.0f} %" if row.share_after is not None else ""
    return row.case, number(row.before_us), number(row.after_us), gained, share


def _changes(facts: Facts, links: Mapping[str, str]) -> Iterator[str]:
    if facts.line:
        yield from ("## What made it faster", "")
        for at, it in enumerate(facts.line, 1):
            won = gain(it.verdict.gain) if it.verdict else ""
            link = links.get(str(it.number))
            name = f"[iteration {it.number}]({link})" if link else f"iteration {it.number}"
            yield f"{at}. {name}, {won}: {escaped(it.memo) or 'no memo'}"
        yield ""


def _candidates(facts: Facts) -> Iterator[str]:
    head = ("#", "outcome", "against its parent", f"over {words.base(facts.run)}", "why", "memo")
    yield from ("## Candidates", "")
    yield from _table(head, map(_candidate, tables.candidates(facts)))


def _candidate(row: ReportedCandidate) -> tuple[str, ...]:
    against = column(row.against) if row.against else ""
    over = times(row.over.ratio) if row.over else ""
    return str(row.iteration.number), row.sign.word, against, over, row.why, row.iteration.memo


def _table(head: Sequence[str], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(map(escaped, head))} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(escaped(cell) for cell in row)} |"
    yield ""
