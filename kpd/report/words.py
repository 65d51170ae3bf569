"""Says what every form of a report says: what speed-ups are over, what to know first, where it was measured."""

from collections.abc import Iterator
from datetime import UTC, datetime

from kpd.model.headline import Headline, floors
from kpd.model.run import Run
from kpd.model.scores import unit
from kpd.model.status import Ended
from kpd.report.facts import Facts
from kpd.text import money, signs
from kpd.text.confinement import lacks, means
from kpd.text.devices import formerly
from kpd.text.endings import of_run
from kpd.text.gains import gain
from kpd.text.headlines import unconfirmed
from kpd.text.numbers import counted, duration, number
from kpd.text.verdicts import BASELINE_IS_TRUTH, UNCHECKED


def base(run: Run) -> str:
    """Say what speed-ups are over."""
    return "the baseline" if run.first_right is None else f"iteration {run.first_right}, the first right candidate"


def nothing(run: Run) -> str:
    """Say why there is no headline."""
    if run.baseline is not None and run.incumbent == run.baseline.number:
        return f"no gain over {base(run)}"
    return f"the speed-up over {base(run)} is not known"


def ended(run: Run) -> str:
    """Say how the run ended, or where it stands."""
    word = signs.of_run(run).word
    return f"{word[0].upper()}{word[1:]}: {of_run(run) or counted(len(run.iterations), 'iteration')}."


def alerts(facts: Facts, found: Headline | None) -> Iterator[str]:
    """Yield what a reader has to know before believing the headline."""
    run = facts.run
    if run.first_right is not None:
        yield f"The task's own files are no right baseline: {base(run)}, is it."
    if run.unchecked:
        yield UNCHECKED[0].upper() + UNCHECKED[1:] + "."
    if any(detail.checked is not None and detail.checked.truth == "baseline" for detail in facts.details.values()):
        yield f"What is right is defined by {BASELINE_IS_TRUTH}."
    if found is not None and (why := unconfirmed(found)):
        yield f"The best could not be measured against the baseline: {why}."
    if found is not None and found.provisional:
        yield "Provisional: the best has not passed its last checks yet."
    if not run.over:
        yield "The run is still under way."
    if run.held:
        yield f"{counted(len(run.held), 'winner')} with flags still wait for a person: kpd held."
    if run.best is not None and run.best.override is not None:
        yield f"The best was accepted by {run.best.override.by} against its verdict."


def environment(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield names and values of the environment; a value that is not known is empty."""
    run, host = facts.run, facts.host
    yield "device", run.device
    for said in formerly(run):
        yield "before", said
    if run.best is not None and run.best.score is not None and facts.card is not None:
        better = "less" if facts.card.direction == "lower" else "more"
        told = f"{number(run.best.score)} {unit(facts.card.score)} as measured then; {better} is better"
        yield "score of the best", told
    if host is not None:
        yield "system", host.system
        yield "driver", host.driver or _checked(facts, "gpu")
        yield "compiler", _checked(facts, "nvcc") if run.device_id not in ("", "cpu") else host.compiler
        yield "profiler", _checked(facts, "ncu") if run.device_id not in ("", "cpu") else host.counters
    best = facts.details.get(run.incumbent) if run.incumbent is not None else None
    if best is not None and best.built is not None:
        yield "flags of the best", best.built.flags
    yield "begun", day(run.started or run.queued)
    if isinstance(run.status, Ended):
        yield "ended", f"{day(run.status.at)}, after {duration(run.status.at - (run.started or run.queued))}"
    yield (
        "cost",
        f"{money.cost(run.spend)} for {counted(run.spend.calls, 'call')} of models" if run.spend.calls else "",
    )
    for nth, noise in enumerate(floors(run).values(), 1):
        on = f" on device {nth}" if nth > 1 else ""
        told = f"{base(run)} against itself{on}: {gain(noise.gain)} over {counted(noise.processes, 'process')}"
        yield "noise floor", told
    if run.confinement is not None:
        yield "sandbox", "; ".join((means(run.confinement), *lacks(run.confinement)))
    yield "agents", ", ".join(run.agents)
    yield "kpd", facts.kpd


def _checked(facts: Facts, name: str) -> str:
    """Return what the check of the host with this name found."""
    return next((check.found for check in facts.host.checks if check.name == name), "") if facts.host else ""


def commands(run: Run) -> Iterator[str]:
    """Yield the commands that measure it again."""
    if run.incumbent is not None:
        yield f"kpd show {run.id}.{run.incumbent} --rederive    # the verdict again, from the recorded times"
    yield f"kpd run {run.task} --agent {run.agent} --iterations {run.budget.iterations}"


def day(at: float) -> str:
    """Format a Unix time."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
