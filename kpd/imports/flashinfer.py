"""Imports definitions of flashinfer-bench with their workloads, for kpd's own runner."""

import json
import keyword
import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused, OpenQuestion, Unclear
from kpd.imports.given import fitted, json_as
from kpd.imports.importer import Importer
from kpd.imports.runner_task import doubled, runner_task
from kpd.imports.source import ForeignFolder

DEFINITION, WORKLOADS = "definition.json", "workloads.jsonl"
REFERENCE, TRUTH = "reference.py", "reference64.py"
FLOATS = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
MOST_CASES = 16
"""The most workloads that become cases: each is checked and timed for every candidate."""
_KERNEL = '''"""The kernel to make faster. Agents edit this file: keep kernel and its arguments, harness.py calls it."""

from reference import run

OUTPUTS = {outputs!r}


def kernel(*inputs):
    found = run(*inputs)
    return tuple(found[name] for name in OUTPUTS) if isinstance(found, dict) else found
'''
_HARNESS = '''"""The judge of this task, protected: written by kpd for flashinfer-bench's definition.json."""

import torch

from reference64 import run

INPUTS = {inputs!r}
SCALARS = {scalars!r}
OUTPUTS = {outputs!r}
CASES = {cases}


def inputs(dims, draw):
    torch.manual_seed(draw.random.randrange(1 << 62))
    found = {{}}
    for name, (shape, dtype) in INPUTS.items():
        if name in SCALARS:
            found[name] = SCALARS[name]
        elif dtype == "bool":
            found[name] = torch.rand([dims[axis] for axis in shape]) < 0.5
        else:
            found[name] = torch.randn([dims[axis] for axis in shape]).to(getattr(torch, dtype))
    return found


def truth(**values):
    given = [
        value.double() if torch.is_tensor(value) and value.is_floating_point() else value for value in values.values()
    ]
    with torch.no_grad():
        return run(*given)
'''


class _Axis(msgspec.Struct):
    type: Literal["const", "var"]
    value: int | None = None


class _Tensor(msgspec.Struct):
    dtype: str
    shape: list[str] | None = None


class _Definition(msgspec.Struct):
    """What of a definition an importer reads."""

    name: str
    axes: dict[str, _Axis]
    inputs: dict[str, _Tensor]
    outputs: dict[str, _Tensor]
    reference: str
    description: str = ""


class _Input(msgspec.Struct):
    type: str
    value: int | float | bool | None = None


class _Workload(msgspec.Struct):
    axes: dict[str, int]
    inputs: dict[str, _Input] = {}
    uuid: str = ""


def recognise(folder: ForeignFolder) -> tuple[str, ...]:
    found = _definitions(folder)
    return (found[0], *_workloads(folder, found[0])[:1], "axes, inputs, outputs, reference") if found else ()


def _definitions(folder: ForeignFolder) -> tuple[str, ...]:
    """Return the definitions: the folder's own, or those of a checkout of the data set."""
    named = folder.matching(DEFINITION, "definitions/*.json", "definitions/*/*.json", "*.json")
    return tuple(path for path in dict.fromkeys(named) if _is_definition(folder.text(path)))


def _is_definition(text: str) -> bool:
    return all(f'"{key}"' in text for key in ("axes", "inputs", "outputs", "reference"))


def _workloads(folder: ForeignFolder, definition: str) -> tuple[str, ...]:
    stem = definition.rpartition("/")[2].removesuffix(".json")
    own = (f"{stem}.jsonl", f"{stem}_workloads.jsonl", *((WORKLOADS,) if "/" not in definition else ()))
    return tuple(path for path in folder.files if path.rpartition("/")[2] in own)


def draft(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    path = _chosen(_definitions(folder), answers.problem)
    definition: _Definition = json_as(folder.text(path), _Definition, path)
    _refuse(definition, path)
    listed = _workloads(folder, path)
    if not listed:
        raise ImportRefused(f"{path} has no workloads", f"put them beside it as {WORKLOADS}, one JSON object a line")
    outputs = tuple(definition.outputs)
    found = runner_task(answers, definition.description or definition.name, REFERENCE)
    cases, scalars = _cases(definition, listed[0], folder.text(listed[0]), found)
    inputs = {name: (tuple(one.shape or ()), one.dtype) for name, one in definition.inputs.items()}
    found.made |= {
        DEFINITION: folder.data(path), WORKLOADS: folder.data(listed[0]), REFERENCE: definition.reference.encode(),
        TRUTH: doubled(definition.reference).encode(),
        "kernel.py": _KERNEL.format(outputs=outputs).encode(),
        "harness.py": _HARNESS.format(
            inputs=inputs, scalars=scalars, outputs=outputs, cases=json.dumps(cases, indent=4)
        ).encode(),
    }  # fmt: skip
    found.assumed += [
        f"kpd's own runner measures it: a case for each workload ({len(cases)}), normal numbers with secret seeds",
        f"the truth is {TRUTH}: the reference with float64 in place of every shorter type",
        "a result may have 8 times the error of the reference as it is: more than this needs rtol and atol in [check]",
    ]
    found.weak.append("inputs are normal numbers alone; solutions of the data set are not read")
    return found


def _chosen(definitions: tuple[str, ...], wanted: str) -> str:
    """Return the definition that is wanted: its name, or a path. Raises Unclear, ImportRefused."""
    if not definitions:
        remedy = f"{DEFINITION} has axes, inputs, outputs and reference"
        raise ImportRefused("there is no definition", remedy)
    named = {path: path.rpartition("/")[2].removesuffix(".json") for path in definitions}
    if not wanted and len(named) > 1:
        names = tuple(named.values())
        raise Unclear(OpenQuestion("--problem", f"which of {len(names)} definitions?", names[:8]))
    found = [path for path, name in named.items() if not wanted or wanted in (name, path)]
    if len(found) != 1:
        some = ", ".join(list(named.values())[:3])
        raise ImportRefused(f"{wanted!r} names {len(found)} definitions", f"for example {some}")
    return found[0]


def _refuse(definition: _Definition, path: str) -> None:
    """Raise ImportRefused for what a harness cannot be written of."""
    names = (*definition.axes, *definition.inputs, *definition.outputs)
    if odd := [name for name in names if not name.isidentifier() or keyword.iskeyword(name)]:
        raise ImportRefused(f"{path} has the name {odd[0]!r}", "names are identifiers of Python")
    if not definition.inputs or not definition.outputs:
        raise ImportRefused(f"{path} has no inputs or no outputs", "correct it")
    if not re.search(r"^def run\(", definition.reference, re.MULTILINE):
        raise ImportRefused(f"the reference of {path} has no function run", "correct it")
    for name, one in definition.inputs.items():
        if unknown := [axis for axis in one.shape or () if axis not in definition.axes]:
            raise ImportRefused(f"{path}: the shape of {name} has {unknown[0]!r}, which is no axis", "correct it")
    for name, axis in definition.axes.items():
        if axis.type == "const" and axis.value is None:
            raise ImportRefused(f"{path}: the axis {name} is constant, but has no value", "correct it")


def _cases(
    definition: _Definition, path: str, text: str, found: TaskDraft
) -> tuple[dict[str, dict[str, int]], dict[str, Any]]:
    """Return the dims of each workload by its name, and the scalars that all share; tell what is left out.

    Raises ImportRefused where no workload can be a case.
    """
    fixed = {name: axis.value for name, axis in definition.axes.items() if axis.value is not None}
    cases: dict[str, dict[str, int]] = {}
    shared: dict[str, Any] | None = None
    why: list[str] = []
    for number, workload in _read(definition, path, text):
        dims = {**fixed, **workload.axes}
        scalars = {name: one.value for name, one in workload.inputs.items() if one.type == "scalar"}
        if reason := _unusable(definition, workload, dims, scalars, shared):
            why.append(f"line {number} of {path}: {reason}")
            continue
        name = ",".join(f"{axis}={size}" for axis, size in workload.axes.items())[:72] or "all"
        if dims in cases.values():
            why.append(f"line {number} of {path}: another workload has its sizes")
        elif len(cases) == MOST_CASES:
            why.append(f"line {number} of {path}: {MOST_CASES} workloads are the most")
        else:
            cases[name if name not in cases else f"{name} {number}"] = dims
            shared = scalars
    if why:
        found.weak.append(f"{len(why)} workloads are no cases, the first: {why[0]}")
    if not cases:
        raise ImportRefused(f"no workload can be a case: {why[0] if why else f'{path} is empty'}", "add one that can")
    return cases, shared or {}


def _read(definition: _Definition, path: str, text: str) -> Iterator[tuple[int, _Workload]]:
    """Yield the workloads of a definition with their lines, from 1 on. Raises ImportRefused."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        given = json_as(line, dict[str, Any], f"line {number} of {path}")
        if given.get("definition", definition.name) == definition.name:
            yield number, fitted(given.get("workload", given), _Workload, f"line {number} of {path}")


def _unusable(
    definition: _Definition, workload: _Workload, dims: dict[str, int], scalars: dict[str, Any],
    shared: dict[str, Any] | None,
) -> str:  # fmt: skip
    """Return why a workload cannot be a case; empty where it can."""
    if lacking := [axis for axis in definition.axes if axis not in dims]:
        return f"it has no size of {lacking[0]}"
    if odd := [axis for axis, size in dims.items() if axis not in definition.axes or not 0 < size < 1 << 31]:
        return f"its size of {odd[0]} cannot be"
    for name, one in definition.inputs.items():
        kind = workload.inputs[name].type if name in workload.inputs else "random"
        if kind not in ("random", "scalar"):
            return f"its {name} comes of a file ({kind}), which kpd does not read"
        if name not in scalars and one.shape is None:
            return f"its scalar {name} has no value"
        if name not in scalars and one.dtype not in (*FLOATS, "bool"):
            return f"its {name} are random numbers of {one.dtype}, and nothing says from where to where"
    return "its scalars are others than those before" if shared is not None and scalars != shared else ""


IMPORTER = Importer("a definition of flashinfer-bench with workloads", recognise, draft)
