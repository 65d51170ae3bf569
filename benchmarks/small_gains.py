"""How often do the audits refuse small gains that are there, and let pass such that are not?

    python benchmarks/small_gains.py FOLDER [--task rmsnorm_silu_cpu] [--waste 0.13,0.16,0.20,0.26] [--audits 9]
        [--held 1] [--seconds 540] [--judge]

The incumbent is the task's kernel with an empty loop of so many turns an element, the candidate the kernel without it
(`null_candidates.py`). What must hold of each candidate that would be accepted is found so often, as a run does it, and
timed; then its contest is kept in FOLDER with so many audits, three of one job. With `--judge` nothing is measured:
what is in FOLDER is judged as it is, beginning with each of the audits in turn, and once more where the gain is taken
away by making the candidate's times longer: in all audits, on fresh inputs, by the driver's clock there, or alone; also
for gains that were made 5 %, in contest and audits alike. Prints one JSON object.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from math import exp, log
from pathlib import Path, PurePosixPath
from statistics import median
from types import SimpleNamespace
from typing import Any

from null_candidates import WITH_WASTE, wasteful
from nulls import MIN_GAIN_PCT, Workbench, found_device, silent

from kpd.engine.attempt import CandidateFailed
from kpd.engine.audits import Winner, all_hold
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.measure.audit_time import cut_short, next_job
from kpd.measure.audits import (
    LOOKS,
    AuditSamples,
    at_first,
    joined,
    refuse_gain,
    summary,
    wants_more,
)
from kpd.measure.bench import Bench, BuiltObject
from kpd.measure.catalogue import prepare
from kpd.measure.contest import contest
from kpd.measure.fresh_cases import FreshCase, parts_of
from kpd.measure.fresh_gains import fresh_gain
from kpd.measure.judge import judge, percent
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.codec import decode, encode
from kpd.model.faults import GainNotHeld
from kpd.model.verdicts import Gain, Verdict
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task

LARGER_PCT = 5.0
REPEATS_S = 1.3
"""Seconds of the calls on unchanged inputs, beside which each kernel is timed alone."""
Pair = tuple[str, str]
"""The build jobs of an incumbent and a candidate."""


@dataclass(frozen=True, slots=True)
class Held:
    """What became of a candidate, after how many audits, and the seconds from its contest's end."""

    word: str
    times: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Tried:
    """A contest that would be accepted: the turns that the incumbent wastes, its gain, its samples and its audits."""

    waste: float
    gain: tuple[float, float, float, float]
    contest: tuple[ProcessSample, ...]
    audits: tuple[AuditSamples, ...]
    held: tuple[Held, ...] = ()

    @property
    def true_gain(self) -> float:
        """The logarithm of the gain that the audits show on fresh inputs, in the middle."""
        return median(-log(1 - fresh_gain(one.fresh, self.contest).pct / 100) for one in self.audits)


def slower(audit: AuditSamples, fresh: float, clocked: float, alone: float) -> AuditSamples:
    """Return the audit with a candidate that takes so many times as long, in each of its parts."""

    def of_case(case: FreshCase) -> FreshCase:
        passed = zip(case.b_passed_ns, case.b_ns, strict=True)
        return replace(
            case, b_ns=tuple(round(ns * fresh) for ns in case.b_ns),
            swapped_b_ns=tuple(round(ns * fresh) for ns in case.swapped_b_ns),
            b_passed_ns=tuple(round(passed_ns + ns * (clocked - 1)) for passed_ns, ns in passed),
        )  # fmt: skip

    processes = tuple(_times(one, *[alone if one.process % 2 else 1.0] * 2) for one in audit.alone)
    return replace(audit, fresh={name: of_case(case) for name, case in audit.fresh.items()}, alone=processes)


def _times(sample: ProcessSample, a: float, b: float) -> ProcessSample:
    """Return the sample of kernels that take so many times as long."""

    def of_case(case: CaseSample) -> CaseSample:
        return replace(case, a_ns=tuple(ns * a for ns in case.a_ns), b_ns=tuple(ns * b for ns in case.b_ns))

    return replace(sample, cases={name: of_case(case) for name, case in sample.cases.items()})


def gone(tried: Tried, fresh: bool = False, clocked: bool = False, alone: bool = False) -> Tried:
    """Return the trial as of a candidate whose gain is not there in these parts of the audits."""
    factor = exp(tried.true_gain)
    times = [factor if part else 1.0 for part in (fresh, clocked, alone)]
    return replace(tried, audits=tuple(slower(one, *times) for one in tried.audits))


def larger(tried: Tried) -> Tried:
    """Return the trial as of a candidate that is quicker still, so that its gain is `LARGER_PCT`."""
    more = -log(1 - LARGER_PCT / 100) - tried.true_gain
    low, middle, high = (percent(-log(1 - pct / 100) + more) for pct in sorted(tried.gain[:3]))
    samples = tuple(_times(sample, 1.0, exp(-more)) for sample in tried.contest)
    return Tried(
        tried.waste, (middle, low, high, tried.gain[3]), samples,
        tuple(slower(one, *[exp(-more)] * 3) for one in tried.audits),
    )  # fmt: skip


def outcome(tried: Tried, first: int) -> tuple[str, int, float]:
    """Return what becomes of it, after how many audits, and their seconds, if they come in this order."""
    claimed = Gain(*tried.gain)
    order: Iterator[AuditSamples] = (tried.audits[(first + n) % len(tried.audits)] for n in range(100))

    def taken(times: int, alone: int) -> AuditSamples:
        """Return some that one job takes, which times each kernel alone so often."""
        each = [next(order) for _ in range(max(times, alone))]
        processes = tuple(process for one in each[:alone] for process in one.alone)
        found = reduce(joined, each[:times])
        return replace(found, alone=processes, alone_s=sum(one.alone_s for one in each[:alone]))

    found = taken(at_first(claimed), at_first(claimed))
    late, passed_s = False, found.fresh_s + REPEATS_S
    while wants_more(told := summary(found, tried.contest), claimed):
        job = next_job(found, told, claimed, passed_s)
        late = late or job.late
        if not job.times:
            break
        more = taken(job.times, job.alone)
        found, passed_s = joined(found, more), passed_s + more.fresh_s + more.alone_s
    fault = refuse_gain(told, claimed) or (cut_short(told, claimed) if late else None)
    word = "refused" if isinstance(fault, GainNotHeld) else "in doubt" if fault else "accepted"
    return word, found.times, passed_s


def judged(trials: list[Tried], change: Callable[[Tried], Tried]) -> dict[str, object]:
    """Count the outcomes of all trials, beginning with each of their audits in turn."""
    changed = map(change, trials)
    found = [outcome(one, first) for one in changed for first in range(len(one.audits))]
    taken = Counter(times for _, times, _ in found)
    seconds = sorted(seconds for _, _, seconds in found)
    return {
        **Counter(word for word, _, _ in found),
        "audits": {str(times): taken[times] for times in sorted(taken)},
        "seconds": {"median": round(median(seconds), 2), "most": round(seconds[-1], 2)} if seconds else None,
    }


async def held(bench: Bench, contest: tuple[ProcessSample, ...], verdict: Verdict, pair: Pair, name: str) -> Held:
    """Find what must hold of a candidate in the same way as a run."""
    attempt: Any = SimpleNamespace(
        bench=bench, is_tasks_own=False, is_baseline=False, in_place="", job=partial("{}-{}".format, name),
        say=lambda what: silent, keep=lambda file, content: None,
        run=SimpleNamespace(budget=SimpleNamespace(min_gain_pct=MIN_GAIN_PCT)),
    )  # fmt: skip
    a, b = (BuiltObject(job, False, "", 0, "") for job in pair)
    winner, begun, word = Winner(attempt, contest, b, a), time.perf_counter(), "accepted"
    try:
        await all_hold(winner, verdict)
    except CandidateFailed as failed:
        word = "refused" if isinstance(failed.what, GainNotHeld) else "in doubt"
        print(failed.what, file=sys.stderr)
    seconds = time.perf_counter() - begun
    return Held(word, (winner.audited and winner.audited.times) or 0, round(seconds, 2))


async def each_process(bench: Bench, pair: Pair, name: str) -> list[AuditSamples]:
    """Take as many audits as there are at first of a small gain, and return each by itself."""
    found = await bench.audit(*pair, name, silent, LOOKS[0], times=LOOKS[0])
    assert found is not None
    cases, many, alone = found.fresh, found.times, len(found.alone) // found.times
    by_case = {name: parts_of(case) for name, case in cases.items()}
    seconds = found.fresh_s / many, found.alone_s / many
    return [
        AuditSamples({name: by_case[name][at] for name in cases}, found.alone[at * alone : (at + 1) * alone], *seconds)
        for at in range(many)
    ]


async def measure(args: argparse.Namespace) -> None:
    """Keep trials in the folder until the time is up."""
    until = time.perf_counter() + args.seconds
    args.folder.mkdir(parents=True, exist_ok=True)
    task = load_task(shipped("tasks") / args.task)
    kernel = WITH_WASTE[task.name]
    files = read_files(task.folder, task.editable)
    source = files[kernel.file].decode()
    with tempfile.TemporaryDirectory() as root:
        host = Host("local", PurePosixPath(root), Local(), leases=f"{root}/leases")
        await host.connect()
        try:
            bench = await prepare(host, task, await found_device(host, task), silent)
            work = Workbench(bench, files, kernel.file)
            quick = await work.built(wasteful("less work", source, kernel, 0.0))
            wastes = [float(waste) for waste in args.waste.split(",")]
            slow = {waste: await work.built(wasteful("less work", source, kernel, waste)) for waste in wastes}
            number = 0
            while time.perf_counter() < until:
                waste = wastes[number % len(wastes)]
                pair, name = (slow[waste], quick), partial("{}-{}-{}".format, "trial", number)
                samples = await contest(bench, *pair, name, MIN_GAIN_PCT, silent, lambda taken: None)
                verdict = judge(samples, MIN_GAIN_PCT)
                print(number, waste, verdict.word, f"{verdict.gain.pct:+.2f} %", file=sys.stderr, flush=True)
                if verdict.accepted:
                    names = [f"held-{number}-{n}" for n in range(args.held)]
                    seen = [await held(bench, samples, verdict, pair, one) for one in names]
                    print(*seen, sep="\n", file=sys.stderr, flush=True)
                    taken = range(0, args.audits, LOOKS[0])
                    found = [one for n in taken for one in await each_process(bench, pair, f"audit-{number}-{n}")]
                    gain = (verdict.gain.pct, verdict.gain.low, verdict.gain.high, verdict.gain.confidence)
                    tried = Tried(waste, gain, samples, tuple(found), tuple(seen))
                    (args.folder / f"{number}.json").write_bytes(encode(tried))
                number += 1
        finally:
            await host.close()


def timed(found: list[Held]) -> dict[str, object] | None:
    """Summarise what became of candidates as a run would have it."""
    seconds = sorted(one.seconds for one in found)
    taken = Counter(one.times for one in found)
    return {
        **Counter(one.word for one in found),
        "audits": {str(times): taken[times] for times in sorted(taken)},
        "seconds": {"median": median(seconds), "most": seconds[-1], "over_3": sum(some > 3.0 for some in seconds)},
    } if found else None  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--task", choices=sorted(WITH_WASTE), default="rmsnorm_silu_cpu")
    parser.add_argument("--waste", default="0.13,0.16,0.20,0.26", help="turns an element, with commas between them")
    parser.add_argument("--audits", type=int, default=9, help="of each contest that would be accepted")
    parser.add_argument("--held", type=int, default=1, help="how often to find what must hold of it, as a run does")
    parser.add_argument("--seconds", type=float, default=540.0, help="begin no contest after this time")
    parser.add_argument("--judge", action="store_true", help="judge what is in FOLDER")
    args = parser.parse_args()
    if not args.judge:
        asyncio.run(measure(args))
    kept = [decode(path.read_bytes(), Tried) for path in sorted(args.folder.glob("*.json"))]
    trials = [one for one in kept if one.audits]
    off = [abs(-log(1 - fresh_gain(one.fresh, some.contest).pct / 100) - some.true_gain) * 100
           for some in trials for one in some.audits]  # fmt: skip
    seconds = [one.fresh_s + one.alone_s for some in trials for one in some.audits]
    print(json.dumps({
        "contests": len(kept),
        "held": timed([one for some in kept for one in some.held]),
        "gain_pct": [round(percent(some.true_gain), 2) for some in trials],
        "audits": len(off),
        "audits_off_by_more_than_pct": {most: sum(some > most for some in off) for most in (0.5, 1, 2, 4)},
        "seconds_of_an_audit_median": median(seconds) if seconds else None,
        "there": judged(trials, lambda some: some),
        "in_no_audit": judged(trials, lambda some: gone(some, True, True, True)),
        "not_on_fresh_inputs": judged(trials, lambda some: gone(some, True, True)),
        "not_alone": judged(trials, lambda some: gone(some, alone=True)),
        "not_by_the_drivers_clock": judged(trials, lambda some: gone(some, clocked=True)),
        "5_pct_there": judged(trials, larger),
        "5_pct_in_no_audit": judged(trials, lambda some: gone(larger(some), True, True, True)),
        "5_pct_not_by_the_drivers_clock": judged(trials, lambda some: gone(larger(some), clocked=True)),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
