"""Makes a harness for kpd's own runner of a problem of reference-kernels, where reference.py has the usual shape.

That is: `generate_input` makes what a kernel gets, and `check_implementation` is a comparison with `ref_kernel` within
a tolerance that is written there.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.runner_task import doubled, runner_task

REFERENCE, HOST, TRUTH, DATA = "reference.py", "kpd_reference.py", "kpd_reference64.py", "kpd_data.py"
OWN = ("harness.py", "kernel.py", HOST, TRUTH, DATA)
_KEYS = {"rtol", "atol"}
NUMBER = "case_number"
"""The dim by which the harness finds those parameters of a case that are no sizes."""
_KERNEL = '''"""What kpd calls, protected: gives custom_kernel the data of harness.py. Agents edit SUBMISSION."""

import json

from MODULE import custom_kernel
from kpd_data import maker

makers = {}


def kernel(form, *leaves):
    if form not in makers:
        makers[form] = maker(json.loads(form))
    return custom_kernel(makers[form](leaves))
'''
_DATA = '''"""Puts together what a kernel gets, protected. Memory that a kernel has to fill is new in each call."""

import torch


def maker(form, double=False):
    """Return a function of the tensors that makes the data; with `double`, in double precision."""
    kind, *said = form
    if kind == "given":
        return lambda leaves: leaves[said[0]]
    if kind == "copy":
        return lambda leaves: leaves[said[0]].clone()
    if kind == "new":
        shape, strides, dtype, zero = said
        dtype = getattr(torch, dtype)
        dtype = torch.float64 if double and dtype.is_floating_point else dtype

        def new(leaves):
            made = torch.empty_strided(shape, strides, dtype=dtype, device=leaves[0].device if leaves else None)
            return made.zero_() if zero else made

        return new
    if kind == "value":
        return lambda leaves: said[0]
    if kind == "dict":
        keys, parts = list(said[0]), [maker(part, double) for part in said[0].values()]
        return lambda leaves: {key: part(leaves) for key, part in zip(keys, parts)}
    whole, parts = {"list": list, "tuple": tuple}[kind], [maker(part, double) for part in said[0]]
    return lambda leaves: whole([part(leaves) for part in parts])


def form_of(value, leaves, filled, place=()):
    """Describe the data as JSON can hold it, and put its tensors into `leaves`; `filled` are places of outputs.

    A tensor of NaN alone is one, too: it has not been written.
    """
    if torch.is_tensor(value):
        plain = value.double() if value.is_floating_point() else value
        unwritten = value.is_floating_point() and value.numel() > 0 and bool(plain.isnan().all())
        zero = place in filled and not bool(plain.any())
        if unwritten or zero:
            return ["new", list(value.shape), list(value.stride()), str(value.dtype)[6:], zero]
        leaves.append(value)
        return ["copy" if place in filled else "given", len(leaves) - 1]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return ["dict", {key: form_of(part, leaves, filled, (*place, key)) for key, part in value.items()}]
    if isinstance(value, (list, tuple)):
        parts = [form_of(part, leaves, filled, (*place, number)) for number, part in enumerate(value)]
        return ["list" if isinstance(value, list) else "tuple", parts]
    if value is None or isinstance(value, (bool, int, float, str)):
        return ["value", value]
    raise TypeError(f"generate_input gives {type(value).__name__}, which kpd's own runner cannot pass on")
'''
_HARNESS = '''"""The judge of this task, protected: written by kpd for reference.py, a problem of reference-kernels."""

import json
import random

import numpy
import torch

import kpd_reference
import kpd_reference64
from kpd_data import form_of, maker

OUTPUTS = ("out",)
CASES = {cases}
OTHERS = {others}  # parameters that are no sizes, by the dim {number}
FILLED = {filled}  # places in the data that ref_kernel writes to
SEEDED = {seeded}


def inputs(dims, draw):
    seed = draw.random.randrange(1 << 31)
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True, warn_only=True)  # fills memory that nobody has written with NaN
    given = {{**dims}}
    given |= OTHERS.get(given.pop({number!r}, None), {{}})
    data = kpd_reference.generate_input(**given, **({{"seed": seed}} if SEEDED else {{}}))
    leaves = []
    form = json.dumps(form_of(data, leaves, FILLED))
    return {{"form": form, **{{f"x{{number}}": leaf for number, leaf in enumerate(leaves)}}}}


def truth(form, **leaves):
    wide = [leaf.double() if leaf.is_floating_point() else leaf for leaf in leaves.values()]
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            return kpd_reference64.ref_kernel(maker(json.loads(form), double=True)(wide))
    finally:
        torch.set_default_dtype(before)
'''


def why_not(reference: bytes, submission: str, others: Mapping[str, object], cases: list[dict[str, Any]]) -> str:
    """Return why kpd's own runner cannot measure a problem; empty where it can. `others` are the files besides."""
    functions = _functions(reference)
    if lacking := [name for name in ("generate_input", "ref_kernel") if name not in functions]:
        return f"{REFERENCE} has no function {lacking[0]}"
    if not re.fullmatch(r"[A-Za-z_]\w*\.py", submission, re.ASCII):
        return f"the submission is {submission}, and no module of Python"
    if clash := [name for name in OWN if name in (*others, submission)]:
        return f"it has a file {clash[0]} of its own"
    if _comparison(reference) is None:
        return (
            f"check_implementation of {REFERENCE} is not make_match_reference(ref_kernel, …) with numbers as tolerances"
        )
    taken = functions["generate_input"].args
    names = {one.arg for one in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)}
    for case in cases:
        if taken.kwarg is None and (unknown := [name for name in case if name not in names]):
            return f"generate_input takes no {unknown[0]!r}, which a benchmark of task.yml has"
    return ""


def draft(
    files: dict[str, bytes], submission: str, summary: str, cases: list[dict[str, Any]], answers: Answers
) -> TaskDraft:
    """Return a draft of a problem that `why_not` has nothing against. Raises ImportRefused for other editable files."""
    reference = files[REFERENCE].decode(errors="replace")
    found = runner_task(answers, summary, REFERENCE, editable=submission)
    for key, value in (_comparison(files[REFERENCE]) or {}).items():
        found.put("check", key, value)
    filled = set(_filled(_functions(files[REFERENCE])["ref_kernel"]))
    sizes, others = _cases(cases)
    found.made = {
        **files,
        HOST: on_cpu(reference).encode(),
        TRUTH: doubled(on_cpu(reference)).encode(),
        DATA: _DATA.encode(),
        "kernel.py": _KERNEL.replace("SUBMISSION", submission).replace("MODULE", submission[:-3]).encode(),
        "harness.py": _HARNESS.format(
            cases=json.dumps(sizes, indent=4), others=repr(others), filled=repr(filled or "set()").strip("'\""),
            seeded=any("seed" in case for case in cases), number=NUMBER,
        ).encode(),
    }  # fmt: skip
    found.assumed += [
        "kpd's own runner measures it: generate_input draws for each of the benchmarks, with secret seeds; the truth is"
        " ref_kernel in float64 on the CPU",
        "memory that a kernel is given to fill is new in each call, and the result is what it returns",
    ]
    if found.get("check", "rtol") is None:
        found.assumed.append(
            "a result may have 8 times the error of the kernel as it is: more than this needs rtol and atol in [check]"
        )
    return found


def on_cpu(reference: str) -> str:
    """Return a reference that makes its tensors on the CPU."""
    return re.sub(r"([\"'])cuda(:\d+)?\1", r"\1cpu\1", reference).replace(".cuda()", ".cpu()")


def _functions(reference: bytes) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in _body(reference) if isinstance(node, ast.FunctionDef)}


def _body(reference: bytes) -> list[ast.stmt]:
    try:
        return ast.parse(reference).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []


def _comparison(reference: bytes) -> dict[str, float] | None:
    """Return the tolerances that a plain comparison with ref_kernel gives, maybe none; None for another check."""
    for node in _body(reference):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "check_implementation":
            return _tolerances(node.value)
    return None


def _tolerances(made: ast.expr) -> dict[str, float] | None:
    if not isinstance(made, ast.Call) or ast.unparse(made.func).rpartition(".")[2] != "make_match_reference":
        return None
    named = {str(one.arg): one.value for one in made.keywords}
    compared = [*made.args, *(value for value in (named.pop("reference", None),) if value is not None)]
    if [ast.unparse(one) for one in compared] != ["ref_kernel"] or not {*named} <= _KEYS:
        return None
    numbers = {key: value.value for key, value in named.items() if isinstance(value, ast.Constant)}
    found = {key: float(value) for key, value in numbers.items() if isinstance(value, int | float)}
    return found if len(found) == len(named) else None


def _filled(kernel: ast.FunctionDef) -> Iterator[tuple[int, ...]]:
    """Yield the places of the kernel's data that it writes to: `*_, c = data`, then `c[...] = …` or `c.copy_(…)`."""
    data = kernel.args.args[0].arg if kernel.args.args else ""
    names: dict[str, tuple[int, ...]] = {data: ()}
    for node in ast.walk(kernel):
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == data and isinstance(node.targets[0], ast.Tuple):
            names |= {one.id: (at,) for at, one in enumerate(node.targets[0].elts) if isinstance(one, ast.Name)}
    for node in ast.walk(kernel):
        written: ast.expr | None = None
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            written = node.targets[0].value
        elif isinstance(node, ast.AugAssign):
            written = node.target.value if isinstance(node.target, ast.Subscript) else node.target
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            written = node.func.value
        elif isinstance(node, ast.keyword) and node.arg == "out":
            written = node.value
        if isinstance(written, ast.Name) and written.id in names and names[written.id]:
            yield names[written.id]


def _cases(rows: list[dict[str, Any]]) -> tuple[dict[str, dict[str, int]], dict[int, dict[str, Any]]]:
    """Return the sizes of each case by its name, and by its number what else it has where sizes do not tell it."""
    sizes, others, found = {}, {}, []
    for row in rows:
        given = {key: value for key, value in row.items() if key != "seed"}
        found.append(({key: value for key, value in given.items() if type(value) is int}, given))
    for number, (dims, given) in enumerate(found):
        if len(dims) < len(given) or not dims or [one for one, _ in found].count(dims) > 1:
            dims = dims | {NUMBER: number}
            others[number] = {
                key: tuple(v) if isinstance(v, list) else v for key, v in given.items() if key not in dims
            }
        name = ",".join(f"{key}={value}" for key, value in given.items())[:72] or f"benchmark {number}"
        sizes[name if name not in sizes else f"{name} {number}"] = dims
    return sizes, others
