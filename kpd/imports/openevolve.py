"""Imports OpenEvolve's examples: initial_program.* and evaluator.py."""

import re

from kpd.imports import glue
from kpd.imports.commanded import begun, language_of
from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.importer import Importer
from kpd.imports.source import ForeignFolder

_RUNNER = '''"""Written by kpd when it imported this task: calls the evaluator, and prints one JSON object."""

import contextlib
import json
import sys
import types


class EvaluationResult:
    """In place of OpenEvolve's own, where that is not installed."""

    def __init__(self, metrics=None, artifacts=None):
        self.metrics, self.artifacts = metrics or {}, artifacts or {}


try:
    import openevolve.evaluation_result
except ImportError:
    for name in ("openevolve", "openevolve.evaluation_result"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["openevolve.evaluation_result"].EvaluationResult = EvaluationResult

with contextlib.redirect_stdout(sys.stderr):
    import evaluator

    found = evaluator.evaluate(PROGRAM)
metrics = getattr(found, "metrics", found)
numbers = {name: value for name, value in metrics.items() if isinstance(value, (int, float)) and value is not True}
score = next((numbers[name] for name in ("combined_score", "overall_score") if name in numbers), None)
if score is None and numbers:
    score = sum(numbers.values()) / len(numbers)
errors = [str(metrics["error"])] if metrics.get("error") else []
partial = [name for name in ("correctness", "validity", "correctness_score") if numbers.get(name, 1) < 1]
errors += [f"{name} is {numbers[name]}: less than all is right" for name in partial]
errors += [] if score and score > 0 else [f"the score is {score}"]
print(json.dumps({"ok": not errors, "errors": errors, "score": score, "metrics": {k: v for k, v in numbers.items()}}))
'''


def recognise(folder: ForeignFolder) -> tuple[str, ...]:
    programs = folder.matching("initial_program.*")
    if not programs or not folder.has("evaluator.py") or "def evaluate(" not in folder.text("evaluator.py"):
        return ()
    return (*programs, "evaluator.py", *(("config.yaml",) * folder.has("config.yaml")))


def draft(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    program = folder.matching("initial_program.*")[0]
    language, device = language_of(folder, (program,), ("evaluator.py",))
    found = begun(folder, answers, (program,), language)
    found.put("need", "device", answers.device or device)
    found.made[glue.BENCH] = _RUNNER.replace("PROGRAM", repr(program)).encode()
    found.put("bench", "command", f"python3 {glue.BENCH}")
    found.put("bench", "score", "score")
    found.put("bench", "direction", "higher")
    found.checked = True
    found.assumed.append("the score is combined_score, else overall_score, else the mean of all figures")
    if re.search(r"EVOLVE-BLOCK-START", folder.text(program)):
        found.weak.append(f"a candidate may change all of {program}, also outside of its EVOLVE-BLOCK")
    if re.search(r"min\([^\n]*,\s*1(\.0)?\)", folder.text("evaluator.py")):
        found.weak.append("evaluator.py caps a figure with min(…, 1): beyond that no gain is seen")
    found.weak.append("the evaluator imports the program into its own process, and may score what is partly right")
    return found


IMPORTER = Importer("an OpenEvolve example: initial_program.* and evaluator.py", recognise, draft)
