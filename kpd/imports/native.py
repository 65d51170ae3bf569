"""Imports a kernel in C or C++ alone, for kpd's own driver: its prototype says what it gets."""

import json
import re
from dataclasses import dataclass

from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused, OpenQuestion, Unclear
from kpd.imports.importer import Importer
from kpd.imports.runner_task import LIMIT_S, MEASURED_BY, measured_by_kpd, second_opinion
from kpd.imports.source import ForeignFolder
from kpd.measure.flags import BUILD_FILE
from kpd.source.functions import Function, functions
from kpd.workspace.records import folders

C_SOURCES, CPP_SOURCES = (".c",), (".cc", ".cpp", ".cxx")
SOURCES = (*C_SOURCES, *CPP_SOURCES)
KNOWN = (*SOURCES, ".h", ".hpp", ".md", ".txt", ".rst")
"""The suffixes of a folder that is a kernel alone: a benchmark or a script beside it makes it another format."""
REALS = {"float": ("KPD_F32", "0.75f"), "double": ("KPD_F64", "0.75")}
"""The types of elements: kpd's name, and what an argument of this type is."""
SIZES = (
    "int", "long", "long long", "unsigned", "unsigned int", "unsigned long", "size_t", "ptrdiff_t", "ssize_t",
    "int32_t", "int64_t", "uint32_t", "uint64_t",
)  # fmt: skip
CASES = {
    1: ((4096,), (65536,), (1 << 20,)),
    2: ((64, 1024), (1024, 64), (512, 512)),
    3: ((64, 64, 64), (128, 64, 128), (96, 128, 64)),
    4: ((8, 16, 32, 32), (4, 64, 16, 16)),
}
"""Sizes by the number of dims; multiples of 4, as a kernel may need them."""
RTOL = 1e-4
_HARNESS = """/* The judge of this task, protected: written by kpd for {symbol}, whose own results are the truth. */
#include "kpd_task.h"

static const kpd_case cases[] = {{
{cases}
}};

static void buffers(const kpd_case *c, kpd_buffer *b) {{
    size_t count = {count}; /* no array can need more */
{buffers}
}}

static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {{
    kpd_buffer b[{arrays}];
    buffers(c, b);
    for (int i = 0; i < {arrays}; i++) kpd_fill_as(rng, d, b[i].type, data[i], b[i].count);
}}

static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {{
    ((void (*)({types}))kernel)({arguments});
}}

const kpd_task_t kpd_task = {{
    "{symbol}", {{{dims}}}, cases, sizeof cases / sizeof *cases, {arrays}, buffers, fill, 0, call,
}};
"""


@dataclass(frozen=True, slots=True)
class _Parameter:
    """One of a kernel's arguments: an array, a size, or a number. `const`: an array that is only read."""

    name: str
    type: str
    array: bool
    const: bool

    @property
    def is_size(self) -> bool:
        return not self.array and self.type in SIZES

    @property
    def declared(self) -> str:
        return f"{'const ' if self.const else ''}{self.type}{' *' if self.array else ''}"


def recognise(folder: ForeignFolder) -> tuple[str, ...]:
    if not all(path.endswith(KNOWN) or path.startswith("LICENSE") for path in folder.files):
        return ()
    return tuple(f"{path}: {each.name}" for path, each in _kernels(folder)[:1])


def _kernels(folder: ForeignFolder) -> list[tuple[str, Function]]:
    """Return the functions that others can call with arrays and sizes, each with its file; none beside a main."""
    found: list[tuple[str, Function]] = []
    for path in (path for path in folder.files if path.endswith(SOURCES)):
        text = folder.text(path)
        defined = [each for each in functions(path, text) if each.defined and not each.member and not each.static]
        if any(each.name == "main" for each in defined):
            return []
        found += [
            (path, each)
            for each in defined
            if each.template is None
            and not each.scope
            and "*" in each.parameters
            and (path.endswith(C_SOURCES) or _is_c(text, each))
        ]
    return found


def _is_c(text: str, function: Function) -> bool:
    """Return whether a function of C++ has the name that C gives it: alone, or in a block of extern "C"."""
    before = "\n".join(text.splitlines()[: function.line])
    if re.search(rf'extern\s*"C"[^;{{}}]*\b{re.escape(function.name)}\b', before):
        return True
    opened = before.rfind('extern "C" {')
    return opened >= 0 and before.count("{", opened) > before.count("}", opened)


def draft(folder: ForeignFolder, answers: Answers) -> TaskDraft:
    path, kernel = _chosen(_kernels(folder), answers.problem)
    home = path.rpartition("/")[0]
    beside = {one.removeprefix(f"{home}/"): one for one in folder.files if one.startswith(f"{home}/" if home else "")}
    if BUILD_FILE in beside:
        raise ImportRefused(f"{BUILD_FILE} is there already, and is another file", "rename it")
    files = {name: one for name, one in beside.items() if name.endswith(KNOWN)}
    sources = [name for name in files if name.endswith(_suffixes(path))]
    return _drafted(folder, path, kernel, files, sources)


def beside(folder: ForeignFolder, theirs: TaskDraft, answers: Answers) -> TaskDraft:
    """Return a draft for kpd's own driver of a folder that has a benchmark, which becomes a second opinion.

    `theirs` is the draft whose commands ask that benchmark. Raises Unclear, ImportRefused where no harness can be
    drafted.
    """
    measured_by_kpd(answers, "")
    named = theirs.get("task", "editable") or ()
    areas = tuple(entry for entry in named if entry.endswith("/"))
    editable = [path for path in folder.files if path in named or path.startswith(areas)]
    kernels = _kernels(ForeignFolder(folder.root, {path: folder.files[path] for path in editable}))
    if not kernels:
        raise ImportRefused(
            f"kpd cannot measure it itself: no function of C or C++ gets arrays in {', '.join(editable or named)}",
            f'in C++ it needs extern "C"; or leave out {MEASURED_BY}',
        )
    path, kernel = _chosen(kernels, answers.problem)
    home = path.rpartition("/")[0]
    inner = {one: one.removeprefix(f"{home}/") for one in folder.files if one.startswith(f"{home}/" if home else "")}
    own = [one for one in editable if one in inner and one.endswith(_suffixes(path))]
    headers = [one for one in inner if one.endswith((".h", ".hpp"))]
    others = {one: one for one in theirs.copied if one not in own}
    found = _drafted(
        folder, path, kernel, others | {inner[one]: one for one in (*own, *headers)}, [inner[one] for one in own]
    )
    found.made |= {name: data for name, data in theirs.made.items() if name not in found.made}
    commands = [theirs.get(table, "command") for table in ("check", "bench", "final")]
    places = {_kernel_file(path) if one == path else inner[one]: one for one in own}
    second_opinion(found, places, filter(None, commands), folders(tuple(theirs.get("task", "records") or ())))
    if unused := [one for one in editable if one not in own]:
        found.assumed.append(f"not editable, as kpd's own driver does not use it: {', '.join(unused)}")
    return found


def _suffixes(path: str) -> tuple[str, ...]:
    return CPP_SOURCES if path.endswith(CPP_SOURCES) else C_SOURCES


def _kernel_file(path: str) -> str:
    return "kernel.cpp" if path.endswith(CPP_SOURCES) else "kernel.c"


def _drafted(
    folder: ForeignFolder, path: str, kernel: Function, files: dict[str, str], sources: list[str]
) -> TaskDraft:
    """Return a draft whose kernel is that of `path`. `files` are those of the task, each with where the folder has it;
    the `sources` among them are editable.

    Raises ImportRefused where no harness can be drafted.
    """
    given = _parameters(kernel, path)
    dims = [each.name for each in given if each.is_size]
    arrays = [each for each in given if each.array]
    if len(dims) not in CASES or not any(not each.const for each in arrays):
        message = f"{kernel.name} of {path} has {len(dims)} sizes among its arguments, and must fill an array"
        raise ImportRefused(
            message, f"kpd drafts a harness for {min(CASES)} to {max(CASES)} sizes; else write harness.c"
        )
    own = _kernel_file(path)
    made = {name: folder.data(one) for name, one in files.items() if one != path}
    if taken := [name for name in (own, BUILD_FILE, "harness.c") if name in made]:
        raise ImportRefused(f"{taken[0]} is there already, and is another file", "rename it")
    more = [name for name in sources if files[name] != path]
    found = TaskDraft((), {"task": {"name": "", "language": "c++" if path.endswith(CPP_SOURCES) else "c"}})
    found.put("task", "summary", f"{kernel.name} of {path}"[:120])
    found.put("task", "editable", [own, *more, BUILD_FILE])
    found.toml["check"] = {
        "truth": "baseline", "compare": "norm", "rtol": RTOL, "distributions": ["normal", "constant", "heavy_tail"],
        "limit_s": LIMIT_S,
    }  # fmt: skip
    found.put("bench", "limit_s", LIMIT_S)
    found.made = {
        **made, own: folder.data(path), BUILD_FILE: json.dumps({"flags": "-O2"}).encode(),
        "harness.c": _harness(kernel.name, given, dims, arrays).encode(),
    }  # fmt: skip
    found.checked = True
    found.assumed += [
        f"{kernel.name} gets sizes {', '.join(dims)}; each array has as many elements as all of them multiplied",
        f"arrays that are not const are read and written; sizes are those in harness.c, flags -O2 in {BUILD_FILE}",
        f"a result may differ from the kernel's own by {RTOL:g} of the norm",
        *(f"{each.name} is {REALS[each.type][1]}" for each in given if not each.array and not each.is_size),
    ]
    found.weak.append("the kernel as it is is the truth: where it is wrong, a candidate that is right is refused")
    return found


def _chosen(kernels: list[tuple[str, Function]], wanted: str) -> tuple[str, Function]:
    """Return the kernel that is wanted, and its file. Raises Unclear, ImportRefused."""
    names = tuple(dict.fromkeys(each.name for _, each in kernels))
    if not names:
        remedy = 'in C++ it needs extern "C"; a program with a main is another format'
        raise ImportRefused("no function gets arrays", remedy)
    if not wanted and len(names) > 1:
        raise Unclear(OpenQuestion("--problem", f"which of {len(names)} functions?", names[:8]))
    found = [(path, each) for path, each in kernels if not wanted or each.name == wanted]
    if not found:
        raise ImportRefused(f"there is no function {wanted!r} that gets arrays", f"for example {', '.join(names[:3])}")
    return found[0]


def _parameters(kernel: Function, path: str) -> list[_Parameter]:
    """Read a prototype's parameters. Raises ImportRefused for a type that a harness cannot be drafted of."""
    found = []
    for text in kernel.parameters.split(","):
        plain = re.sub(r"\b(__)?(restrict(__)?|volatile|register)\b", " ", re.sub(r"/\*.*?\*/|//[^\n]*", " ", text))
        read = re.fullmatch(r"\s*([\w\s]+?)\s*(\*?)\s*(?:const\s+)?(\w+)\s*(\[\w*\])?\s*", plain)
        words = read[1].split() if read else []
        type_ = " ".join(word for word in words if word not in ("const", "std"))
        array = bool(read and (read[2] or read[4]))
        if read is None or type_ not in (REALS if array else (*REALS, *SIZES)):
            remedy = (
                "kpd drafts a harness for arrays of float and double, whole numbers as sizes, and numbers; else write"
            )
            raise ImportRefused(f"{kernel.name} of {path} has the argument {' '.join(text.split())!r}", f"{remedy} one")
        found.append(_Parameter(read[3], type_, array, array and "const" in words))
    return found


def _harness(symbol: str, given: list[_Parameter], dims: list[str], arrays: list[_Parameter]) -> str:
    cases = [f'    {{"{"x".join(map(str, case))}", {{{", ".join(map(str, case))}}}}},' for case in CASES[len(dims)]]
    roles = {True: "KPD_IN", False: "KPD_INOUT"}
    buffers = [
        f'    b[{at}] = (kpd_buffer){{"{one.name}", {roles[one.const]}, {REALS[one.type][0]}, count}};'
        for at, one in enumerate(arrays)
    ]
    passed = [
        f"data[{arrays.index(one)}]"
        if one.array
        else f"({one.type})c->dims[{dims.index(one.name)}]"
        if one.is_size
        else REALS[one.type][1]
        for one in given
    ]
    return _HARNESS.format(
        symbol=symbol, cases="\n".join(cases), buffers="\n".join(buffers), arrays=len(arrays),
        count=" * ".join(f"(size_t)c->dims[{at}]" for at in range(len(dims))), arguments=", ".join(passed),
        types=", ".join(one.declared for one in given), dims=", ".join(f'"{name}"' for name in dims),
    )  # fmt: skip


IMPORTER = Importer("a kernel in C or C++ alone, whose prototype says what it gets", recognise, draft)
