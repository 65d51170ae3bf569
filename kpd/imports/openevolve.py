"""Imports OpenEvolve's examples: initial_program.* and evaluator.py."""

import re

from kpd.imports import glue
from kpd.imports.commanded import begun, language_of
from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import OpenQuestion, Unclear
from kpd.imports.importer import Importer
from kpd.imports.source import ForeignFolder
from kpd.workspace.sections import has_block

NAMED = ("combined_score", "overall_score")
"""Names that evaluators give to the one figure that counts, the first first; then higher is better."""
MOST_CHOICES = 8
_RUNNER = '''"""Written by kpd when it imported this task: calls the evaluator, and prints one JSON object."""

import contextlib
import json
import re
import sys
import types
from numbers import Real


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
flags = {name: bool(value) for name, value in metrics.items() if type(value).__name__ in ("bool", "bool_")}
figures = {name: float(metrics[name]) for name in metrics if name not in flags and isinstance(metrics[name], Real)}
errors = [str(metrics["error"])] if metrics.get("error") else []
for name, value in flags.items():
    names_trouble = re.search("err|fail|timeout|timed_out|invalid|incorrect|wrong|crash|mismatch", name.lower())
    errors += [f"{name} is {value}"] if value == bool(names_trouble) else []
partial = [name for name in ("correctness", "validity", "correctness_score") if not figures.get(name, 1) >= 1]
errors += [f"{name} is {figures[name]}: less than all is right" for name in partial]
result = {"metrics": figures}
if NAMED:
    result["score"] = next((figures[name] for name in NAMED if name in figures), None)
    said = next((f"{name} is {metrics[name]!r:.80}" for name in NAMED if name in metrics), "there is none")
    errors += [] if result["score"] and result["score"] > 0 else [f"the score has to be a number above 0: {said}"]
print(json.dumps({"ok": not errors, "errors": errors, **result}))
'''


def recognise(folder: ForeignFolder) -> tuple[str, ...]:
    programs = folder.matching("initial_program.*")
    if not programs or not folder.has("evaluator.py") or "def evaluate(" not in folder.text("evaluator.py"):
        return ()
    return (*programs, "evaluator.py", *(("config.yaml",) * folder.has("config.yaml")))


def draft(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    program = folder.matching("initial_program.*")[0]
    text = folder.text("evaluator.py")
    named = tuple(name for name in NAMED if re.search(rf"\b{name}\b", text))
    if not named:
        _ask(text, answers)
    language, device = language_of(folder, (program,), ("evaluator.py",))
    found = begun(folder, answers, (program,), language)
    found.put("need", "device", answers.device or device)
    found.made[glue.BENCH] = _RUNNER.replace("NAMED", repr(named)).replace("PROGRAM", repr(program)).encode()
    found.put("bench", "command", f"python3 {glue.BENCH}")
    found.judges = True
    if named:
        found.put("bench", "score", "score")
        found.put("bench", "direction", "higher")
        found.assumed.append(f"the score is {', else '.join(named)}; higher is better")
    if has_block(folder.data(program)):
        found.assumed.append(f"a candidate may change what is in the EVOLVE-BLOCK of {program}, and nothing around it")
    else:
        found.weak.append(f"{program} does not have one EVOLVE-BLOCK: a candidate may change all of it")
    if re.search(r"min\([^\n]*,\s*1(\.0)?\)", text):
        found.weak.append("evaluator.py caps a figure with min(…, 1): beyond that no gain is seen")
    found.weak.append("the evaluator may score what is partly right")
    found.weak.append("it imports the program into its own process: one that prints a result itself and ends it passes")
    return found


def _ask(text: str, answers: Answers) -> None:
    """Raise Unclear for what the operator has not said of the score, where the evaluator has none of its own."""
    questions = []
    if not answers.score:
        figures = dict.fromkeys(re.findall(r"""["']([A-Za-z_]\w*)["']\s*:""", text))
        choices = tuple(f"metrics.{name}" for name in figures if name != "error")[:MOST_CHOICES]
        what = f"evaluator.py names no {' and no '.join(NAMED)}: which of its figures is the score?"
        questions.append(OpenQuestion("--score", what, choices))
    if not answers.direction:
        questions.append(OpenQuestion("--direction", "is a lower or a higher score better?", ("lower", "higher")))
    if questions:
        raise Unclear(*questions)


IMPORTER = Importer("an OpenEvolve example: initial_program.* and evaluator.py", recognise, draft)
