"""Imports scripts of Kernel Tuner: a kernel as a file or as a text, the parameters to tune, and the answer."""

import ast
import json
import re
from typing import Any

from kpd.imports import glue
from kpd.imports.commanded import begun, literals
from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused, OpenQuestion, Unclear
from kpd.imports.importer import Importer
from kpd.imports.source import ForeignFolder
from kpd.workspace import expr

POINT = "params.json"
SUFFIXES = (".cu", ".c", ".cpp", ".cl", ".hip")
MOST_SPACE = 64
"""The most values of one parameter that become a part of [tune]."""
_RUNNER = '''"""Written by kpd when it imported this task: runs its script with one point, and prints a JSON object."""

import contextlib
import json
import runpy
import sys

import kernel_tuner

tune, found = kernel_tuner.tune_kernel, []


def one(kernel_name, kernel_source, problem_size, arguments, tune_params, *more, **named):
    given = json.load(open("params.json"))
    point = {name: [given.get(name, values[0])] for name, values in tune_params.items()}
    source = open(KERNEL).read() if isinstance(kernel_source, str) else kernel_source
    named = {key: value for key, value in named.items() if key not in ("cache", "strategy", "strategy_options")}
    if named.get("answer") is None:
        found.append({"errors": ["tune_kernel has no answer, so nothing compares the results"]})
        return [], {}
    results, env = tune(kernel_name, source, problem_size, arguments, point, *more, **named)
    times = [row["time"] for row in results if isinstance(row.get("time"), (int, float))]
    name = f"{len(found)}: {kernel_name}"[:80]
    if times:
        found.append({"name": name, "us": 1e3 * min(times), "ok": True})
    else:
        found.append({"name": name, "errors": [f"no valid result: {str(results)[:200]}"]})
    return results, env


kernel_tuner.tune_kernel = one
with contextlib.redirect_stdout(sys.stderr):
    runpy.run_path(SCRIPT, run_name="__main__")
errors = [error for case in found for error in case.get("errors", [])] + ([] if found else ["nothing was tuned"])
result = {"ok": not errors, "errors": errors}
if not errors:
    result |= {"best_us": sum(case["us"] for case in found), "cases": found}
print(json.dumps(result))
sys.exit(1 if errors else 0)
'''


def recognise(folder: ForeignFolder) -> tuple[str, ...]:
    found = _scripts(folder)
    return (found[0], "tune_kernel") if found else ()


def _scripts(folder: ForeignFolder) -> tuple[str, ...]:
    scripts = (path for path in folder.files if path.endswith(".py"))
    return tuple(path for path in scripts if re.search(r"\bkernel_tuner\b[\s\S]*\btune_kernel\s*\(", folder.text(path)))


def draft(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    scripts = [path for path in _scripts(folder) if not answers.problem or path == answers.problem]
    if len(scripts) != 1:
        raise Unclear(OpenQuestion("--problem", "which script is the task?", tuple(scripts)))
    text, script = folder.text(scripts[0]), scripts[0]
    call = _call(script, text)
    kernel, source = _kernel(folder, text, call)
    space, unread = _space(text)
    one = ForeignFolder(folder.root, {**folder.files, kernel: 0, POINT: 0})
    found = begun(one, answers, (kernel, POINT), "command")
    found.copied = tuple(path for path in folder.files if path != kernel)
    found.made[kernel] = source
    found.made[POINT] = (json.dumps({name: values[0] for name, values in space.items()}, indent=2) + "\n").encode()
    runner = _RUNNER.replace("KERNEL", repr(kernel)).replace("SCRIPT", repr(script))
    found.made[glue.BENCH] = runner.encode()
    found.toml["tune"] = dict(space)
    found.put("need", "device", answers.device or ("gpu" if kernel.endswith((".cu", ".hip")) else ""))
    found.put("bench", "command", f"python3 {glue.BENCH}")
    found.put("bench", "score", "best_us")
    found.put("bench", "direction", "lower")
    found.checked = any(keyword.arg == "answer" for keyword in call.keywords)
    found.assumed.append(f"{POINT} has one point of tune_params; Kernel Tuner compiles, checks and times it")
    found.weak += [f"{name} is no list of plain values in the script: it stays at its first value" for name in unread]
    restrictions = next((keyword.value for keyword in call.keywords if keyword.arg == "restrictions"), None)
    if restrictions is not None:
        conditions = _conditions(_values(restrictions), space)
        found.put("sweep", "where", conditions)
        if not conditions:
            found.weak.append("the search does not follow the restrictions: a point that breaks one costs a run")
    return found


def _call(script: str, text: str) -> ast.Call:
    """Return the one call of tune_kernel. Raises ImportRefused."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as err:
        raise ImportRefused(f"{script} is no Python: {err}", "correct it") from err
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) == "tune_kernel"]
    if len(calls) != 1:
        raise ImportRefused(f"{script} calls tune_kernel {len(calls)} times", "keep one call in a script")
    return calls[0]


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _kernel(folder: ForeignFolder, text: str, call: ast.Call) -> tuple[str, bytes]:
    """Return the path and the content of the kernel: a file that the script names, or a text in it.

    Raises ImportRefused.
    """
    named = [path for path in folder.files if path.endswith(SUFFIXES) and path in _strings(text)]
    if len(named) == 1:
        return named[0], folder.data(named[0])
    given = call.args[1] if len(call.args) > 1 else None
    inline = literals(text).get(_name(given)) if given is not None else None
    inline = given.value if isinstance(given, ast.Constant) else inline
    if named or not isinstance(inline, str) or "{" not in inline:
        what = f"{len(named)} kernels ({', '.join(named)})" if named else "no kernel that kpd can find"
        raise ImportRefused(f"the script has {what}", "let it read one file, or give one literal text to tune_kernel")
    return ("kernel.cu" if "__global__" in inline else "kernel.c"), inline.encode()


def _strings(text: str) -> set[str]:
    found = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return {value.removeprefix("./") for value in found if isinstance(value, str)}


def _space(text: str) -> tuple[dict[str, list[Any]], list[str]]:
    """Return the parameters with plain lists of values, and the names of the others. Nothing of the script is run."""
    space: dict[str, list[Any]] = {}
    unread: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        pairs: list[tuple[ast.expr | None, ast.expr]] = []
        if isinstance(target, ast.Subscript) and _name(target.value) == "tune_params":
            pairs = [(target.slice, node.value)]
        elif _name(target) == "tune_params" and isinstance(node.value, ast.Dict):
            pairs = list(zip(node.value.keys, node.value.values, strict=True))
        for key, value in pairs:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                values = _values(value)
                unread += [] if values else [key.value]
                space |= {key.value: values} if values else {}
    return space, unread


def _conditions(texts: list[Any], space: dict[str, list[Any]]) -> list[str]:
    """Return the restrictions as conditions of [sweep]; none where one of them is more than kpd can read."""
    try:
        named = [expr.condition(str(text)).names for text in texts]
    except expr.ExprError:
        return []
    return [str(text) for text in texts] if all(names <= space.keys() for names in named) else []


def _values(node: ast.expr) -> list[Any]:
    """Return the distinct plain values of a literal list; empty for anything else."""
    try:
        found = ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return []
    plain = isinstance(found, list | tuple) and all(isinstance(one, bool | int | float | str) for one in found)
    distinct = list({str(one).lower(): one for one in found}.values()) if plain else []
    return distinct[:MOST_SPACE]


IMPORTER = Importer("a script of Kernel Tuner: tune_kernel", recognise, draft)
