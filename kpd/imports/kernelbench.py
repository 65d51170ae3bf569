"""Imports problems of KernelBench, one Python file each, for kpd's own runner."""

import ast
import re

from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused, OpenQuestion, Unclear
from kpd.imports.importer import Importer
from kpd.imports.runner_task import runner_task
from kpd.imports.source import ForeignFolder

PROBLEM = "problem.py"
_LEVELS = re.compile(r"(?:.*/)?level(\d+)/(\d+)_[^/]*\.py")
_NEEDED = (r"^class Model\b", r"^def get_inputs\(", r"^def get_init_inputs\(")
_KERNEL = '''"""The model to make faster. Agents edit this file: keep kernel and its arguments, harness.py calls it."""

import torch

from problem import Model, get_init_inputs


class ModelNew(Model):
    pass


given = get_init_inputs()
given, named = given if len(given) == 2 and isinstance(given[1], dict) else (given, {})
torch.manual_seed(0)  # the reference's weights are drawn with this seed, too
model = ModelNew(*given, **named)
model = model.cuda() if torch.cuda.is_available() else model


def kernel(*inputs):
    with torch.no_grad():
        return model(*inputs)
'''
_HARNESS = '''"""The judge of this task, protected: written by kpd for a problem of KernelBench, which is problem.py."""

import torch

from problem import Model, get_init_inputs, get_inputs

OUTPUTS = @OUTPUTS@
CASES = {"problem": {"n": 1}}


def inputs(dims, draw):
    torch.manual_seed(draw.random.randrange(1 << 62))
    return {f"x{number}": value for number, value in enumerate(get_inputs())}


def truth(**values):
    given = get_init_inputs()
    given, named = given if len(given) == 2 and isinstance(given[1], dict) else (given, {})
    torch.manual_seed(0)
    model = Model(*given, **named).double()
    floats = [
        value.double() if torch.is_tensor(value) and value.is_floating_point() else value for value in values.values()
    ]
    with torch.no_grad():
        return model(*floats)
'''


def recognise(folder: ForeignFolder) -> tuple[str, ...]:
    if found := _problems(folder):
        return ("class Model", "get_inputs", "get_init_inputs") if len(found) == 1 else ("level1/", "class Model")
    return ()


def _problems(folder: ForeignFolder) -> tuple[str, ...]:
    """Return the files that are problems: those of a checkout by their folders alone, else by what they define."""
    levels = tuple(path for path in folder.files if _LEVELS.fullmatch(path))
    if len(levels) > 1:
        return levels
    return tuple(path for path in folder.files if path.endswith(".py") and _is_problem(folder.text(path)))


def _is_problem(text: str) -> bool:
    return all(re.search(needed, text, re.MULTILINE) for needed in _NEEDED)


def draft(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    path = _chosen(_problems(folder), answers.problem)
    text = folder.text(path)
    if not _is_problem(text):
        raise ImportRefused(f"{path} lacks one of Model, get_inputs and get_init_inputs", "choose another problem")
    found = runner_task(answers, f"KernelBench {path.removesuffix('.py')}", PROBLEM)
    outputs = _outputs(text)
    found.made = {
        PROBLEM: folder.data(path), "kernel.py": _KERNEL.encode(),
        "harness.py": _HARNESS.replace("@OUTPUTS@", repr(outputs)).encode(),
    }  # fmt: skip
    found.assumed += [
        "kpd's own runner measures it: get_inputs draws, with secret seeds; Model in float64 is the truth",
        f"forward of Model returns {'one tensor' if len(outputs) == 1 else f'{len(outputs)} tensors'}",
        "a result may have 8 times the error of the model as it is: more than this needs rtol and atol in [check]",
    ]
    found.weak.append("one case, and one kind of inputs: what get_inputs draws")
    if not re.search(r"torch\.(rand|randn|randint|normal)", text):
        found.weak.append("get_inputs may draw nothing at random: results can be remembered")
    return found


def _outputs(text: str) -> tuple[str, ...]:
    """Return names for what Model's forward returns: one for each value of the tuples that it ends with, else one."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # the trial tells it
        return ("out",)
    model = next((node for node in body if isinstance(node, ast.ClassDef) and node.name == "Model"), None)
    methods = [node for node in model.body if isinstance(node, ast.FunctionDef)] if model else []
    forward = next((node for node in methods if node.name == "forward"), None)
    returned = [node.value for node in ast.walk(forward) if isinstance(node, ast.Return)] if forward else []
    many = {len(value.elts) if isinstance(value, ast.Tuple) else 1 for value in returned}
    return tuple(f"out{number}" for number in range(many.pop())) if len(many) == 1 and 1 not in many else ("out",)


def _chosen(problems: tuple[str, ...], wanted: str) -> str:
    """Return the problem that is wanted: LEVEL/NUMBER of a checkout, or a path. Raises Unclear, ImportRefused."""
    if len(problems) == 1 and not wanted:
        return problems[0]
    if not wanted:
        raise Unclear(OpenQuestion("--problem", f"which of {len(problems)} problems? LEVEL/NUMBER", problems[:3]))
    level, _, number = wanted.partition("/")
    named = [path for path in problems if (at := _LEVELS.fullmatch(path)) and (at[1], at[2]) == (level, number)]
    found = named or [path for path in problems if path == wanted]
    if len(found) != 1:
        some = ", ".join(found or problems[:3])
        raise ImportRefused(f"{wanted!r} names {len(found)} problems", f"for example {some}")
    return found[0]


IMPORTER = Importer("a problem of KernelBench: Model, get_inputs, get_init_inputs", recognise, draft)
