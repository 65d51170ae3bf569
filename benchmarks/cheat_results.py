"""What became of the kernels that benchmarks/cheats.py tried: one by one, and as rates."""

import os
import platform
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from cheat_corpus import Kernel

from kpd.model import events as e
from kpd.model.audits import AuditedGain
from kpd.model.verdicts import Gain
from kpd.text import endings
from kpd.text.flags import flag


@dataclass(slots=True)
class Result:
    """What became of one kernel. `outcome` is that of its iteration, or how it stopped the queue."""

    name: str
    kind: str
    task: str
    outcome: str
    why: str = ""
    step: str = ""
    flags: tuple[str, ...] = ()
    gain_pct: float | None = None
    audited: dict[str, list[float]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """`accepted`, `held`, `no gain` (measured, and not taken for the better one) or `refused`."""
        if self.outcome == "accepted":
            return "accepted"
        if self.outcome == "held":
            return "held"
        return "no gain" if self.outcome == "rejected" and self.gain_pct is not None else "refused"


def blank(kernel: Kernel) -> Result:
    """Return the result of a kernel that has not been tried yet."""
    return Result(kernel.name, kernel.kind, kernel.task, "")


def note_fault(result: Result, fact: e.Sanitized) -> None:
    """Note that compute-sanitizer has refused what was accepted, if it has."""
    if fact.fault is not None:
        result.outcome, result.why = "unsound", endings.iteration_ended(fact.fault)[:300]
        say(f"{result.kind}/{result.name}: {result.verdict} after all: {result.why}")


def note(result: Result, fact: e.IterationFact) -> None:
    """Note what a fact says of the kernel."""
    if isinstance(fact, e.StepFact):
        result.step = fact.kind()
        result.seconds[fact.kind()] = round(fact.seconds, 2)
    match fact:
        case e.Screened():
            result.flags = tuple(map(flag, fact.flags))
        case e.Judged():
            result.flags = (*result.flags, *map(flag, fact.flags))
            result.gain_pct = round(fact.verdict.gain.pct, 2)
            result.audited = audited(fact)
        case e.IterationEnded():
            result.outcome = fact.outcome
            result.why = endings.iteration_ended(fact.cause)[:300]


def audited(fact: e.Judged) -> dict[str, list[float]]:
    """Return the gain and the ends of its interval, in the contest and in each audit."""
    if (found := fact.audited) is None:
        return {}
    gains: dict[str, Gain | AuditedGain | None] = {
        "contest": fact.verdict.gain, "fresh": found.fresh, "alone": found.alone, "kept": found.kept,
        "clocked": found.clocked, "driver": found.driver, "rows": found.rows,
    }  # fmt: skip
    ends = {name: [gain.pct, gain.low, gain.high] for name, gain in gains.items() if gain is not None}
    return ends | {"cold": [found.cold], "seconds": [found.seconds]}


def summary(results: list[Result]) -> dict[str, Any]:
    """Rates of some kernels, and the names of those that should have ended otherwise."""
    verdicts = Counter(result.verdict for result in results)
    measured = [sum(result.seconds.values()) for result in results]
    return {
        "kernels": len(results),
        "refused": verdicts["refused"], "no_gain": verdicts["no gain"], "held": verdicts["held"],
        "accepted": verdicts["accepted"],
        "accepted_without_flag": sum(result.verdict == "accepted" and not result.flags for result in results),
        "flagged": sum(bool(result.flags) for result in results),
        "stopped_the_queue": sum(bool(result.stopped) for result in results),
        "left_something": sum(bool(result.left) for result in results),
        "seconds_median": round(median(measured), 2) if measured else None,
    }  # fmt: skip


def told(results: list[Result], asked: int) -> dict[str, Any]:
    """The figures: attacks by class, honest kernels, and each result."""
    attacks = [result for result in results if result.kind != "honest"]
    honest = [result for result in results if result.kind == "honest"]
    not_accepted = sum(result.verdict != "accepted" for result in attacks)
    classes = {
        kind: summary([one for one in attacks if one.kind == kind]) for kind in sorted({r.kind for r in attacks})
    }
    refused = [result for result in honest if result.verdict in ("refused", "held")]
    return {
        "asked": asked,
        "tried": len(results),
        "attacks": summary(attacks) | {"not_accepted_pct": percent(not_accepted, len(attacks)), "classes": classes},
        "honest": summary(honest) | {"refused_or_held_pct": percent(len(refused), len(honest))},
        "each": [{**asdict(result), "verdict": result.verdict} for result in results],
    }


def devices(gpus: str) -> str:
    """Return the names of the devices that were used."""
    if gpus:
        names = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader", "-i", gpus], capture_output=True, text=True
        ).stdout.splitlines()
        return ", ".join(names)
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())
    return f"{model}, {os.cpu_count()} CPUs"


def percent(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 1) if whole else None


def say(text: str) -> None:
    """Tell of progress on stderr."""
    print(text, file=sys.stderr, flush=True)
