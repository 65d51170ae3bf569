"""A transpose on an H100 as an agent is told of it: contexts made of what was measured there."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from kpd.agents.agent import Context
from kpd.agents.prompt.background import Background
from kpd.agents.reply import FORMAT
from kpd.knowledge.skills import load_skills
from kpd.model.iteration import Iteration
from kpd.model.metrics import of_case
from kpd.model.profiles import Advice
from kpd.model.verdicts import Gain, Verdict
from kpd.profile import gpu
from kpd.workspace.run_files import IterationFolder
from tests.places import DATA
from tests.support.agents.asked import asked, shipped
from tests.support.model.samples import NO_CAUSE, done

MEASURED = json.loads((DATA / "gpu" / "h100_transpose.json").read_text())
TRANSPOSE = "transpose_cuda"
WON = Verdict("faster", Gain(76.7, 75.4, 78.0), 7, True, "told", told="faster beyond doubt")
LOST = Verdict("same", Gain(-0.3, -1.2, 0.6), 7, False, "told", told="the same")


@cache
def measured(which: str) -> dict[str, Any]:
    """What is given of a kernel ("naive" or "tiled"): its metrics, and what follows from them."""
    found = MEASURED[which]
    metrics = {}
    for name, (whole, *cases) in found["metrics"].items():
        metrics[name] = whole
        metrics |= {of_case(name, case): value for case, value in zip(found["cases"], cases, strict=False) if cases}
    return {
        "metrics": metrics,
        "findings": gpu.findings(metrics),
        "bottleneck": gpu.bottleneck(metrics),
        "advice": tuple(Advice(**{**piece, "cases": tuple(piece["cases"])}) for piece in found["advice"]),
    }


def rules(which: str) -> tuple[str, ...]:
    return tuple(finding.rule for finding in measured(which)["findings"])


BASELINE = Iteration(0, "baseline", 0, 0.0, status=done("baseline"), score=160.0, rules=rules("naive"))


def attempt(number: int, parent: int = 0, outcome: Any = None, **given: Any) -> Iteration:
    """One of the model's; without an outcome it is the one that is asked for now."""
    verdict = {"accepted": WON, "rejected": LOST}.get(outcome)
    status = done(outcome, given.pop("cause", NO_CAUSE))
    return Iteration(number, "claude", parent, 0.0, status=status, **{"verdict": verdict, **given})


def context(root: Path, *iterations: Iteration, kernel: str = "naive", files: Any = None, **given: Any) -> Context:
    """Of the newest of these iterations, which follow the baseline; by default of the first."""
    task, source = shipped(TRANSPOSE)
    known = {"arch": "sm_90", "device": "NVIDIA H100 80GB HBM3", **measured(kernel), **given}
    of = asked(root, task, files or source, BASELINE, *(iterations or (attempt(1),)), **known)
    return replace(of, run=replace(of.run, agent="claude"))


def proposed(of: Context, number: int, files: dict[str, bytes]) -> None:
    """Put into an iteration's folder what it proposed."""
    folder = of.workspace.iteration_folder(of.run.task, of.run.id, number)
    IterationFolder(folder).write_candidate(files)


def known(**given: Any) -> Background:
    return Background(FORMAT, load_skills(), **given)
