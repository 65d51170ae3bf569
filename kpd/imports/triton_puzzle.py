"""Imports single files in the manner of Triton puzzles: a spec in torch, a kernel in Triton, a call that tests it."""

import ast
import re
from dataclasses import dataclass
from math import ceil

from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused, OpenQuestion, Unclear
from kpd.imports.importer import Importer
from kpd.imports.runner_task import runner_task
from kpd.imports.source import ForeignFolder

SPEC = "spec.py"
KNOWN = ("torch", "math", "numpy", "triton")
"""The modules that a spec or a kernel may import; what draws pictures or checks annotations is left out."""
DTYPES = {"Float64": "float64", "Float32": "float32", "Float16": "float16", "BFloat16": "bfloat16", "Int32": "int32"}
BLOCK = 32
"""The size of a block that the call does not name."""
_SOLVED = '''

def kernel({arguments}):
    found = torch.empty({shape}, dtype=torch.{dtype}, device={first}.device)
    {name}[{grid}]({arguments}, found, **{constants!r})
    return found
'''  # fmt: skip
_UNSOLVED = '''"""The kernel to write. Agents edit this file: keep kernel and its arguments, harness.py calls it.

It begins as the spec itself. The puzzle's own kernel is not written yet:

{shown}
"""

from spec import {spec}


def kernel({arguments}):
    with {first}.device:  # what the spec makes belongs where its arguments are
        return {spec}({arguments})
'''
_HARNESS = '''"""The judge of this task, protected: written by kpd for a puzzle, whose spec is in spec.py."""

import torch

from spec import {spec}

OUTPUTS = ("found",)
CASES = {{"puzzle": {sizes!r}}}
INPUTS = {inputs!r}


def inputs(dims, draw):
    torch.manual_seed(draw.random.randrange(1 << 62))
    return {{
        name: torch.randint(-100000, 100000, shape, dtype=torch.int32)
        if dtype == "int32"
        else torch.randn(shape).to(getattr(torch, dtype))
        for name, (shape, dtype) in INPUTS.items()
    }}


def truth(**values):
    torch.set_default_dtype(torch.float64)  # of what the spec makes itself
    try:
        return {spec}(*(value.double() if value.is_floating_point() else value for value in values.values()))
    finally:
        torch.set_default_dtype(torch.float32)
'''


@dataclass(frozen=True, slots=True)
class _Puzzle:
    """A call that tests a kernel against a spec: both as functions, and the sizes that it gives."""

    kernel: ast.FunctionDef
    spec: ast.FunctionDef
    sizes: dict[str, int]
    blocks: dict[str, int]


def recognise(folder: ForeignFolder) -> tuple[str, ...]:
    found = _files(folder)
    return (found[0], "a spec", "triton.jit") if found else ()


def _files(folder: ForeignFolder) -> tuple[str, ...]:
    return tuple(path for path in folder.matching("*.py") if _may_be(folder.text(path)))


def _may_be(text: str) -> bool:
    signs = (r"^@triton\.jit", rf"\b({'|'.join(DTYPES)})\[\s*([\w.]*Tensor, *[\"']|[0-9])", r"\bnelem\s*=")
    return all(re.search(sign, text, re.MULTILINE) for sign in signs)


def draft(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    files = _files(folder)
    if len(files) != 1:
        raise ImportRefused(f"{folder.root} has {len(files)} files of puzzles", "name one of them")
    text = folder.text(files[0])
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as err:
        raise ImportRefused(f"{files[0]} is no Python: {err}", "correct it") from err
    puzzle = _chosen(_puzzles(tree, files[0]), answers.problem, files[0])
    found = runner_task(answers, f"{puzzle.spec.name} of {files[0]}", SPEC)
    inputs = {each.arg: _shaped(each.annotation, files[0], each.arg) for each in puzzle.spec.args.args}
    shape, dtype = _shaped(puzzle.spec.returns, files[0], "its result")
    if not inputs:
        raise ImportRefused(f"{puzzle.spec.name} of {files[0]} has no arguments", "choose another puzzle")
    arguments = ", ".join(inputs)
    source = _needed(tree, text, puzzle.kernel)
    solved = "tl.store(" in source and found.get("task", "language") == "triton"
    if solved:
        grid = tuple(ceil(puzzle.sizes.get(f"N{d}", 1) / puzzle.blocks.get(f"B{d}", 1)) for d in range(3))
        kernel = source + _SOLVED.format(
            arguments=arguments, shape=shape, dtype=dtype, first=next(iter(inputs)), name=puzzle.kernel.name, grid=grid,
            constants=puzzle.sizes | puzzle.blocks,
        )  # fmt: skip
    else:
        shown = "\n".join(f"    {line}".rstrip() for line in source.splitlines()).replace("\\", "\\\\")
        kernel = _UNSOLVED.format(
            shown=shown.replace('"""', "'''"), spec=puzzle.spec.name, arguments=arguments, first=next(iter(inputs)),
        )  # fmt: skip
        found.assumed.append("kernel.py begins as the spec in torch: a kernel that stores nothing is no baseline")
    found.made = {
        SPEC: _needed(tree, text, _bare(puzzle.spec)).encode(), "kernel.py": kernel.encode(),
        "harness.py": _HARNESS.format(spec=puzzle.spec.name, inputs=inputs, sizes=puzzle.sizes or {"n": 1}).encode(),
    }  # fmt: skip
    found.assumed.append("kpd's own runner measures it: the spec on float64 is the truth, inputs have secret seeds")
    found.weak.append("one case, of the puzzle's small size: what is timed is mostly the launch")
    return found


def _puzzles(tree: ast.Module, path: str) -> dict[str, _Puzzle]:
    """Return the puzzles of a file by the names of their kernels. Raises ImportRefused."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    jitted = {name for name, node in functions.items() if any("jit" in ast.unparse(d) for d in node.decorator_list)}
    found: dict[str, _Puzzle] = {}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        names = [one.id for one in call.args if isinstance(one, ast.Name) and one.id in functions]
        kernels, specs = [n for n in names if n in jitted], [n for n in names if n not in jitted]
        if len(kernels) == len(specs) == 1:
            sizes = _sizes(call, "nelem", path)
            blocks = {f"B{name[1:]}": BLOCK for name in sizes if name in ("N0", "N1", "N2")} | _sizes(call, "B", path)
            found[kernels[0]] = _Puzzle(functions[kernels[0]], functions[specs[0]], sizes, blocks)
    return found


def _sizes(call: ast.Call, name: str, path: str) -> dict[str, int]:
    given = next((word.value for word in call.keywords if word.arg == name), None)
    try:
        found = {} if given is None else ast.literal_eval(given)
    except (ValueError, TypeError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(
        isinstance(key, str) and key.isidentifier() and type(size) is int and size > 0 for key, size in found.items()
    ):
        raise ImportRefused(f"{path}:{call.lineno}: {name} is no table of whole numbers", "write the numbers there")
    return found


def _chosen(puzzles: dict[str, _Puzzle], wanted: str, path: str) -> _Puzzle:
    """Return the puzzle that is wanted, by the name of its kernel or spec. Raises Unclear, ImportRefused."""
    if not puzzles:
        raise ImportRefused(f"{path} calls nothing with a kernel and its spec", "test(a_kernel, a_spec, nelem={…})")
    if not wanted and len(puzzles) > 1:
        raise Unclear(OpenQuestion("--problem", f"which of {len(puzzles)} puzzles?", tuple(puzzles)))
    found = [one for name, one in puzzles.items() if not wanted or wanted in (name, one.spec.name)]
    if len(found) != 1:
        raise ImportRefused(f"{wanted!r} names {len(found)} puzzles", f"for example {', '.join(list(puzzles)[:3])}")
    return found[0]


def _shaped(annotation: ast.expr | None, path: str, name: str) -> tuple[tuple[int, ...], str]:
    """Return the shape and the type that `Float32[Tensor, "4 32"]` or `Float32[4, 32]` says. Raises ImportRefused."""
    if isinstance(annotation, ast.Subscript):
        dtype = DTYPES.get(ast.unparse(annotation.value).rpartition(".")[2])
        inner = annotation.slice
        parts = [ast.unparse(part) for part in (inner.elts if isinstance(inner, ast.Tuple) else [inner])]
        dims = parts[1].strip("'").split() if len(parts) == 2 and parts[0].endswith("Tensor") else parts
        if dtype and dims and all(re.fullmatch("[0-9]{1,9}", dim) for dim in dims):
            return tuple(map(int, dims)), dtype
    kinds = ", ".join(DTYPES)
    remedy = f'as in Float32[Tensor, "4 32"] or Float32[4, 32]; types: {kinds}'
    raise ImportRefused(f"{path} does not say the shape of {name}", remedy)


def _bare(function: ast.FunctionDef) -> ast.FunctionDef:
    """Return a function without annotations, whose libraries a host need not have."""
    plain = [ast.arg(arg=each.arg) for each in function.args.args]
    arguments = ast.arguments(posonlyargs=[], args=plain, kwonlyargs=[], kw_defaults=[], defaults=[])
    found = ast.FunctionDef(name=function.name, args=arguments, body=function.body, decorator_list=[])
    return ast.fix_missing_locations(ast.copy_location(found, function))


def _needed(tree: ast.Module, text: str, function: ast.FunctionDef) -> str:
    """Return the source of a function with all that it needs of its file, and the imports that kpd knows."""
    named: dict[str, ast.stmt] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        names = [one.id for one in targets if isinstance(one, ast.Name)]
        named |= dict.fromkeys([node.name] if isinstance(node, ast.FunctionDef) else names, node)
    taken: dict[str, ast.stmt] = {}
    left = [function.name]
    while left:
        name = left.pop()
        node = function if name == function.name else named[name]
        taken[name] = node
        used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        left += sorted((used & named.keys()) - taken.keys() - set(left))
    used = {one.id for node in taken.values() for one in ast.walk(node) if isinstance(one, ast.Name)}
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) and _is_known(node, used)]
    parts = ["\n".join(["import torch", *(ast.unparse(node) for node in imports)])]
    for node in sorted(taken.values(), key=lambda node: node.lineno):
        parts.append(ast.unparse(node) if not getattr(node, "decorator_list", []) else _lines(text, node))
    return "\n\n\n".join(parts) + "\n"


def _lines(text: str, node: ast.stmt) -> str:
    """Return the lines of a decorated function as they are, its comments too."""
    first = min(one.lineno for one in getattr(node, "decorator_list", [node]))
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])


def _is_known(node: ast.Import | ast.ImportFrom, used: set[str]) -> bool:
    """Return whether an import is of a library that kpd knows, and of a name that is used; torch is there anyway."""
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
    bound = {(one.asname or one.name).partition(".")[0] for one in node.names}
    known = all(name.partition(".")[0] in KNOWN for name in names) and not getattr(node, "level", 0)
    return known and bool(bound & used) and ast.unparse(node) != "import torch"


IMPORTER = Importer("a Triton puzzle: a spec, a kernel, and the call that tests it", recognise, draft)
