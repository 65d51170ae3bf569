"""Give the facts of an older recording the data that today's facts carry, from the recording's own files.

    python benchmarks/demo_retype.py IN OUT

Sentences are not read. A verdict follows from timing.json and the budget, a compiler's error from build.log, why the
run ended from the plan, why an iteration did from its verdict or its files, what moved
from the metrics. What none of them says stays `told`.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kpd.demo.recording import Recording, load, save
from kpd.engine import plan
from kpd.measure.compiling import first_error, kind_of
from kpd.measure.judge import judge
from kpd.measure.samples import samples_from_json
from kpd.model import codec, events as e
from kpd.model.causes import ByVerdict, IterationCause, Noise
from kpd.model.defects import Complaint, WrongResult
from kpd.model.faults import Incorrect, NotBuilt
from kpd.model.fold import fold
from kpd.model.iteration import Iteration
from kpd.model.state import State
from kpd.profile.changes import changes


def retyped(old: Recording) -> Recording:
    files = dict(old.files)
    return replace(old, events=tuple(_events(old, files)), files=files)


def _events(old: Recording, files: dict[str, bytes]) -> Iterator[e.Event]:
    """The events with data; `files` gets the verdicts that follow."""
    state = State()
    metrics: dict[int, dict[str, float]] = {}
    for event in old.events:
        fact = event.fact
        run = state.runs.get(old.about.run)
        if isinstance(fact, e.Judged) and run is not None:
            folder = f"runs/{old.about.task}/{run.id}/iter_{fact.iteration:04d}"
            verdict = judge(
                samples_from_json(files[f"{folder}/timing.json"]),
                run.budget.min_gain_pct,
                fact.verdict.worst_case,
                fact.verdict.fewest,
            )
            files[f"{folder}/verdict.json"] = codec.encode(verdict)
            fact = replace(fact, verdict=verdict)
        elif isinstance(fact, e.Profiled):
            metrics[fact.iteration] = fact.metrics
        elif (
            isinstance(fact, e.Explained) and fact.changes and run is not None and (it := run.iteration(fact.iteration))
        ):
            fact = replace(fact, changes=changes(metrics[it.parent], metrics[it.number])[: len(fact.changes)])
        elif isinstance(fact, e.IterationEnded) and run is not None:
            it = run.iteration(fact.iteration)
            assert it is not None
            folder = f"runs/{old.about.task}/{run.id}/iter_{it.number:04d}"
            fact = replace(fact, cause=_cause(it, fact, folder, files))
        elif isinstance(fact, e.RunEnded) and run is not None:
            end = plan.next_action(run, state.direction(run))
            assert isinstance(end, plan.End)
            fact = replace(fact, cause=end.cause)
        typed = replace(event, fact=fact)
        state = fold(state, typed)
        yield typed


def _cause(it: Iteration, ended: e.IterationEnded, folder: str, files: dict[str, bytes]) -> IterationCause:
    if it.verdict is not None:
        return Noise(it.verdict.gain) if ended.outcome == "baseline" else ByVerdict(it.verdict)
    if it.step == "record" and (found := files.get(f"{folder}/check.json")) is not None:
        report = json.loads(found)
        if report.get("ok") is False:
            return Incorrect(WrongResult(Complaint(report["problem"])))
    if ended.outcome == "failed" and (log := files.get(f"{folder}/build.log", b"").decode()):
        return NotBuilt(first_error(log), kind_of(log))
    return ended.cause


def main() -> None:
    parser = argparse.ArgumentParser(description="Give an older recording's facts the data that today's carry.")
    parser.add_argument("old", metavar="IN", type=Path)
    parser.add_argument("new", metavar="OUT", type=Path)
    args = parser.parse_args()
    made = retyped(load(args.old))
    save(made, args.new)
    kinds = [event.fact.cause.name for event in made.events if isinstance(event.fact, e.IterationEnded | e.RunEnded)]
    print(json.dumps({"ends": kinds, "bytes": args.new.stat().st_size}, indent=1))


if __name__ == "__main__":
    main()
