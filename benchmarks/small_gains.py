"""How often do the audits refuse small gains that are there, and let pass such that are not?

    python benchmarks/small_gains.py FOLDER [--task rmsnorm_silu_cpu] [--waste 0.13,0.16,0.20,0.26] [--audits 9]
        [--seconds 540] [--judge]

The incumbent is the task's kernel with an empty loop of so many turns an element, the candidate the kernel without it
(`null_candidates.py`). Each contest whose candidate would be accepted is kept in FOLDER with so many audits. With
`--judge` nothing is measured: what is in FOLDER is judged as it is, beginning with each of the audits in turn, and once
more where the gain is taken away by making the candidate's times longer: in all audits, on fresh inputs, or by the
driver's clock there; also for gains that were made 5 %, in contest and audits alike. Prints one JSON object.
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
from functools import partial
from math import exp, log
from pathlib import Path, PurePosixPath
from statistics import median

from null_candidates import KERNELS, wasteful
from nulls import MIN_GAIN_PCT, Workbench, found_device, silent

from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.measure.audits import AuditSamples, joined, refuse_gain, summary, wants_alone, wants_more
from kpd.measure.catalogue import prepare
from kpd.measure.contest import contest
from kpd.measure.fresh_gains import FreshCase, fresh_gain
from kpd.measure.judge import judge, percent
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.codec import decode, encode
from kpd.model.faults import GainNotHeld
from kpd.model.verdicts import Gain
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task

LARGER_PCT = 5.0


@dataclass(frozen=True, slots=True)
class Tried:
    """A contest that would be accepted: the turns that the incumbent wastes, its gain, its samples and its audits."""

    waste: float
    gain: tuple[float, float, float, float]
    contest: tuple[ProcessSample, ...]
    audits: tuple[AuditSamples, ...]

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
    found = next(order)
    while wants_more(told := summary(found, tried.contest), claimed):
        more = next(order)
        found = joined(found, more if wants_alone(told, claimed) else replace(more, alone=(), alone_s=0.0))
    fault = refuse_gain(told, claimed)
    word = "refused" if isinstance(fault, GainNotHeld) else "in doubt" if fault else "accepted"
    return word, found.times, found.fresh_s + found.alone_s


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


async def measure(args: argparse.Namespace) -> None:
    """Keep trials in the folder until the time is up."""
    until = time.perf_counter() + args.seconds
    args.folder.mkdir(parents=True, exist_ok=True)
    task = load_task(shipped("tasks") / args.task)
    kernel = KERNELS[task.name]
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
                    taken = range(args.audits)
                    found = [await bench.audit(*pair, f"audit-{number}-{n}", silent) for n in taken]
                    gain = (verdict.gain.pct, verdict.gain.low, verdict.gain.high, verdict.gain.confidence)
                    tried = Tried(waste, gain, samples, tuple(one for one in found if one is not None))
                    (args.folder / f"{number}.json").write_bytes(encode(tried))
                number += 1
        finally:
            await host.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--task", choices=[name for name in sorted(KERNELS) if name.endswith("cpu")],
                        default="rmsnorm_silu_cpu")  # fmt: skip
    parser.add_argument("--waste", default="0.13,0.16,0.20,0.26", help="turns an element, with commas between them")
    parser.add_argument("--audits", type=int, default=9, help="of each contest that would be accepted")
    parser.add_argument("--seconds", type=float, default=540.0, help="begin no contest after this time")
    parser.add_argument("--judge", action="store_true", help="judge what is in FOLDER")
    args = parser.parse_args()
    if not args.judge:
        asyncio.run(measure(args))
    trials = [decode(path.read_bytes(), Tried) for path in sorted(args.folder.glob("*.json"))]
    off = [abs(-log(1 - fresh_gain(one.fresh, some.contest).pct / 100) - some.true_gain) * 100
           for some in trials for one in some.audits]  # fmt: skip
    seconds = [one.fresh_s + one.alone_s for some in trials for one in some.audits]
    print(json.dumps({
        "contests": len(trials),
        "gain_pct": [round(percent(some.true_gain), 2) for some in trials],
        "audits": len(off),
        "audits_off_by_more_than_pct": {most: sum(some > most for some in off) for most in (0.5, 1, 2, 4)},
        "seconds_of_an_audit_median": median(seconds) if seconds else None,
        "there": judged(trials, lambda some: some),
        "in_no_audit": judged(trials, lambda some: gone(some, True, True, True)),
        "not_on_fresh_inputs": judged(trials, lambda some: gone(some, True, True)),
        "not_by_the_drivers_clock": judged(trials, lambda some: gone(some, clocked=True)),
        "5_pct_there": judged(trials, larger),
        "5_pct_in_no_audit": judged(trials, lambda some: gone(larger(some), True, True, True)),
        "5_pct_not_by_the_drivers_clock": judged(trials, lambda some: gone(larger(some), clocked=True)),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
