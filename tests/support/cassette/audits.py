"""The audits and repeats of a cassette that was recorded before there were any: made of the timings of its contests."""

import json
import re
from pathlib import Path
from typing import Any

from tests.support.cassette.answers import Answer, Answers
from tests.support.cassette.calls import Call

_PAIR = re.compile(r"\.asked-([0-9a-f]{64})\Z")
_AUDIT = re.compile(r"-(audit|repeats)\Z")

_WELL = {"stderr": "", "status": 0, "report": ""}


def made(answers: Answers, job: Path, asked: Call) -> Answer | None:
    """The answer to a call of an audit's job; None if this job is none, or no contest came before.

    What takes no order are the calls on unchanged inputs, which may come first. The next one has fresh inputs, those
    after it time the incumbent only and the candidate only, in turns.
    """
    found = _AUDIT.search(job.name)
    pairs = [
        match[1]
        for path in sorted(job.parent.glob(f"{_AUDIT.sub('', job.name)}-time*/.asked-*"))
        if (match := _PAIR.search(path.name))
    ]
    timed = answers.find(pairs[0]) if found and pairs else []
    if not found or not timed:
        return None
    number = asked.number - (found[1] == "repeats")
    report = json.loads(answers.text(timed[number % len(timed)]["stdout"]))
    cases = report["cases"]
    if not asked.ordered:
        return {"stdout": json.dumps({"calls": dict.fromkeys(cases, 1), "problem": None}) + "\n", **_WELL}
    made = _fresh(cases) if number == 1 else _alone(cases, "b_ns" if number % 2 else "a_ns")
    return {"stdout": json.dumps({**report, "cases": made}) + "\n", **_WELL}


def _fresh(cases: dict[str, Any]) -> dict[str, Any]:
    def case(one: dict[str, Any]) -> dict[str, Any]:
        return {"reps": one["reps"], "compared": 1, "anew": True, "a_ns": one["a_ns"], "b_ns": one["b_ns"]}

    return {name: case(one) for name, one in cases.items()}


def _alone(cases: dict[str, Any], side: str) -> dict[str, Any]:
    return {name: {**one, "a_ns": one[side], "b_ns": one[side]} for name, one in cases.items()}
