"""How often the verdict is wrong, on synthetic noise: nulls accepted, true gains found, processes spent. Prints JSON.

    python benchmarks/simulated_gates.py [--trials 1000] [--shape normal] [--process-sd 0.3 --process-sd 1]

No kernel runs: times are drawn, and kpd's own judge decides when to stop and what to say. `process sd` is how much the
ratio of candidate to incumbent differs from process to process, `quad sd` how much one batch differs from the next.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable

from kpd.measure.judge import decide, judge
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.verdicts import Verdict

CASES, QUADS, CALL_NS = 2, 6, 1_000_000
GAINS = (0.0, 1.0, 2.0, 3.0, 5.0)
MIN_GAIN_PCT = 1.0

SHAPES: dict[str, Callable[[random.Random, float], float]] = {
    "normal": lambda rng, sd: rng.gauss(0, sd),
    "outliers": lambda rng, sd: rng.gauss(0, sd) + (rng.choice((-5, 5)) * sd if rng.random() < 0.1 else 0),
    "two_modes": lambda rng, sd: rng.choice((-sd, sd)) + rng.gauss(0, sd / 10),
}


def process(rng: random.Random, number: int, gain_pct: float, effect_pct: float, quad_sd_pct: float) -> ProcessSample:
    """One process that times a candidate with a true gain, off by this process's own effect."""
    share = 1 - gain_pct / 100 + effect_pct / 100

    def batches(factor: float) -> tuple[int, ...]:
        return tuple(round(CALL_NS * factor * max(0.5, rng.gauss(1, quad_sd_pct / 100))) for _ in range(2 * QUADS))

    return ProcessSample(number, {f"case{at}": CaseSample(1, batches(1), batches(share)) for at in range(CASES)})


def campaign(rng: random.Random, shape: str, gain_pct: float, process_sd: float, quad_sd: float) -> Verdict:
    """One candidate, sampled for as long as the judge asks for more."""
    samples: tuple[ProcessSample, ...] = ()
    while more := decide(samples, MIN_GAIN_PCT):
        for _ in range(more):
            effect = SHAPES[shape](rng, process_sd)
            samples += (process(rng, len(samples), gain_pct, effect, quad_sd),)
    return judge(samples, MIN_GAIN_PCT)


def gate(shape: str, gain_pct: float, process_sd: float, quad_sd: float, trials: int) -> dict[str, object]:
    rng = random.Random(f"{shape} {gain_pct} {process_sd} {quad_sd}")
    verdicts = [campaign(rng, shape, gain_pct, process_sd, quad_sd) for _ in range(trials)]
    covered = sum(v.gain.low <= gain_pct <= v.gain.high for v in verdicts)
    return {
        "shape": shape,
        "process_sd_pct": process_sd,
        "quad_sd_pct": quad_sd,
        "true_gain_pct": gain_pct,
        "accepted_pct": 100 * sum(v.accepted for v in verdicts) / trials,
        "words": dict(Counter(v.word for v in verdicts)),
        "mean_processes": sum(v.processes for v in verdicts) / trials,
        "interval_held_truth_pct": 100 * covered / trials,
    }


def judge_ms() -> float:
    """Milliseconds that one verdict over 15 processes, 4 cases and 12 quads takes here."""
    rng = random.Random(0)

    def batches() -> tuple[int, ...]:
        return tuple(rng.randint(10**6, 10**6 + 10**4) for _ in range(24))

    case = [CaseSample(1, batches(), batches()) for _ in range(60)]
    samples = [ProcessSample(n, {str(at): case[4 * n + at] for at in range(4)}) for n in range(15)]
    begun = time.perf_counter()
    for _ in range(10):
        judge(samples, MIN_GAIN_PCT)
    return 100 * (time.perf_counter() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--process-sd", action="append", type=float)
    parser.add_argument("--quad-sd", type=float, default=1.0)
    asked = parser.parse_args()
    gates = [
        gate(shape, gain, sd, asked.quad_sd, asked.trials)
        for shape in asked.shape or SHAPES
        for sd in asked.process_sd or (0.3, 1.0, 3.0)
        for gain in GAINS
        if gain in (0.0, 5.0) or shape == "normal"
    ]
    found = {"min_gain_pct": MIN_GAIN_PCT, "trials": asked.trials, "judge_ms": judge_ms(), "gates": gates}
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
