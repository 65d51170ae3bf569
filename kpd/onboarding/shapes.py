"""Makes a task of a usual shape of kernels (a product of matrices, a reduction …), for one's own kernel."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from string import Template

FILES = Path(__file__).parent / "shape_files"
"""What the files are made of: the harnesses for all shapes, and in a folder for each its kernels and its truth."""

Sizes = tuple[tuple[int, ...], ...]
DTYPES = {"float32": ("float", "KPD_F32", 4), "float64": ("double", "KPD_F64", 8)}
"""Each with its name in C, that of kpd_task.h, and its bytes."""
MOST_BYTES = 2 << 30
"""The most that the arrays of one case may take together: the truth of each is computed in double precision, too."""
MOST_CHECKED = 1 << 27
"""A case with more steps is only timed in C and CUDA: its truth would take minutes."""


@dataclass(frozen=True, slots=True)
class KernelShape:
    """A usual shape of kernels: arrays by name, each with the dims that it has, of which `inputs` are read.

    `bytes` and `flops` are expressions over the dims; `{size}` is the bytes of an element. `tune` is the space of its
    kernel in each language, and `sizes` are those without others, on a CPU and on a GPU. With `cancels` the inputs of a
    task in Python are positive: there nothing scales a tolerance where a sum cancels.
    """

    summary: str
    dims: tuple[str, ...]
    inputs: Mapping[str, tuple[str, ...]]
    output: tuple[str, tuple[str, ...]]
    bytes: str
    flops: str
    tune: Mapping[str, Mapping[str, tuple[int, ...]]]
    sizes: Mapping[str, str]
    cancels: bool = False

    @property
    def arrays(self) -> dict[str, tuple[str, ...]]:
        return {**self.inputs, self.output[0]: self.output[1]}


SHAPES = {
    "matmul": KernelShape(
        "Product of two matrices", ("m", "n", "k"), {"a": ("m", "k"), "b": ("k", "n")}, ("c", ("m", "n")),
        "(m*k + k*n + m*n)*{size}", "2*m*n*k",
        {"c": {"ROWS": (1, 4, 8, 32)}, "cuda": {"TILE": (8, 16, 32)}, "python": {"ROWS": (1, 16, 256)}},
        {"cpu": "128x128x128,97x131x75", "gpu": "512x512x512,500x300x700"},
    ),
    "elementwise": KernelShape(
        "2 a + b of two arrays", ("n",), {"a": ("n",), "b": ("n",)}, ("out", ("n",)),
        "n*3*{size}", "n*2",
        {"c": {"BLOCK": (64, 256, 1024)}, "cuda": {"THREADS": (128, 256, 512)},
         "python": {"BLOCK": (1024, 8192, 65536)}},
        {"cpu": "262144,4099", "gpu": "16777216,1000003"},
    ),
    "reduction": KernelShape(
        "Sum of an array", ("n",), {"x": ("n",)}, ("out", ()),
        "n*{size}", "n",
        {"c": {"BLOCK": (64, 256, 1024)}, "cuda": {"THREADS": (128, 256, 512), "BLOCKS": (256, 512, 1024)},
         "python": {"BLOCK": (1024, 8192, 65536)}},
        {"cpu": "262144,4099", "gpu": "16777216,1000003"}, True,
    ),
    "stencil": KernelShape(
        "Five-point stencil on a grid", ("rows", "cols"), {"x": ("rows", "cols")}, ("out", ("rows", "cols")),
        "rows*cols*2*{size}", "rows*cols*6",
        {"c": {"COLS": (64, 256, 4096)}, "cuda": {"TILE_COLS": (32, 64, 128), "TILE_ROWS": (2, 4, 8)},
         "python": {"ROWS": (1, 16, 256)}},
        {"cpu": "512x512,317x241", "gpu": "2048x2048,1999x1001"},
    ),
}  # fmt: skip
LANGS = {"c": "c", "cuda": "cu", "python": "py"}
"""The languages, each with the suffix of its files."""
FLAGS = ("-O2", "-O3", "-O3 -march=native")


def read_sizes(shape: KernelShape, dtype: str, text: str) -> Sizes:
    """Read sizes like `128x128x64,97x131x75`. Raises ValueError, which says what is wrong with which one."""
    order = " x ".join(shape.dims)
    found = []
    for one in filter(None, (part.strip() for part in text.split(","))):
        words = one.lower().split("x")
        if len(words) != len(shape.dims):
            raise ValueError(f"{one!r} has {len(words)} of the {len(shape.dims)} dims {order}")
        if not all(word.isascii() and word.isdigit() and 0 < len(word) < 12 and int(word) for word in words):
            raise ValueError(f"{one!r} is not made of whole numbers above 0: {order}")
        size = tuple(map(int, words))
        taken = DTYPES[dtype][2] * sum(_elements(shape, dims, size) for dims in shape.arrays.values())
        if taken > MOST_BYTES:
            raise ValueError(f"{one!r} needs {taken:,} bytes for its arrays, of at most {MOST_BYTES:,}")
        found.append(size)
    if not found:
        raise ValueError(f"there is no size: write it as {order}, several with commas")
    return tuple(dict.fromkeys(found))


def task_files(name: str, like: str, lang: str, dtype: str, sizes: Sizes) -> dict[str, str]:
    """Return the files of the task by their names."""
    shape, suffix = SHAPES[like], LANGS[lang]
    kernel = _file(f"{like}/kernel.{suffix}.in", float=DTYPES[dtype][0])
    harness = _python(like, shape, dtype, sizes) if lang == "python" else _native(like, shape, lang, dtype, sizes)
    files = {f"kernel.{suffix}": kernel, f"harness.{suffix}": harness}
    if lang == "c":
        files["build.json"] = f'{{\n  "flags": "{FLAGS[0]}"\n}}\n'
    return {"task.toml": _toml(name, shape, lang, dtype, [key for key in files if "harness" not in key]), **files}


def _file(path: str, **values: str) -> str:
    return Template((FILES / path).read_text()).substitute(values)


def _elements(shape: KernelShape, dims: tuple[str, ...], size: tuple[int, ...]) -> int:
    return prod(size[shape.dims.index(dim)] for dim in dims)


def _named(size: tuple[int, ...]) -> str:
    return "x".join(map(str, size))


def _toml(name: str, shape: KernelShape, lang: str, dtype: str, editable: list[str]) -> str:
    tune = [f"{key} = {list(values)}" for key, values in shape.tune[lang].items()]
    tune += ["flags = [" + ", ".join(f'"{flag}"' for flag in FLAGS) + "]"] if lang == "c" else []
    tuned = {"c": "a #define of kernel.c, or a key of build.json", "cuda": "a #define of kernel.cu"}
    size = str(DTYPES[dtype][2])
    return _file(
        "task.toml.in", name=name, summary=shape.summary, dtype=dtype, lang=lang,
        editable=", ".join(f'"{one}"' for one in editable), check=_check(shape, lang, dtype),
        tuned=tuned.get(lang, "a constant of kernel.py at the start of a line"), tune="\n".join(tune),
        bytes=shape.bytes.replace("{size}", size), flops=shape.flops,
    )  # fmt: skip


def _check(shape: KernelShape, lang: str, dtype: str) -> str:
    """Return lines of [check]. A sum of the whole array needs a tolerance that lets it be added up in another order."""
    lines = ["rtol = 5e-4" if dtype == "float32" else "rtol = 1e-11"] if shape.cancels else []
    return "".join(f"{line}\n" for line in (*lines, *(['compare = "scaled"'] if lang != "python" else [])))


def _native(like: str, shape: KernelShape, lang: str, dtype: str, sizes: Sizes) -> str:
    """Return the harness for C or CUDA: they differ in how they call the kernel."""
    real, kind, _ = DTYPES[dtype]
    arrays, output = list(shape.arrays), shape.output[0]
    lengths = [" * ".join(f"(size_t)c->dims[{dim.upper()}]" for dim in dims) or "1" for dims in shape.arrays.values()]
    described, values = [], []
    for array in arrays:
        role = "OUT" if array == output else "IN"
        upper = array.upper()
        described.append(f'    all[{upper}] = array(c, {upper}, "{array}", KPD_{role});')
        values.append(f"({'' if array == output else 'const '}{real} *)data[{upper}]")
    values += [f"c->dims[{dim.upper()}]" for dim in shape.dims]
    read = [one.upper() for one in shape.inputs]
    filled = [f"    kpd_fill_as(rng, d, {kind}, data[{one}], length(c, {one}));" for one in read]
    named = [f"    const {real} *{one} = (const {real} *)data[{one.upper()}];" for one in shape.inputs]
    named += [f"    double *sum = want[{output.upper()}], *size = scale[{output.upper()}];"]
    named += ["    long " + ", ".join(f"{dim} = c->dims[{dim.upper()}]" for dim in shape.dims) + ";"]
    change = FILES / like / "change.c"
    return _file(
        "harness.c.in", symbol=like, order=" x ".join(shape.dims), cases="\n".join(_cases(shape, sizes)),
        buffers=", ".join(one.upper() for one in arrays), dims=", ".join(dim.upper() for dim in shape.dims),
        lengths=",\n        ".join(lengths), kind=kind, described="\n".join(described), filled="\n".join(filled),
        named="\n".join(named),
        truth=(FILES / like / "truth.c").read_text().rstrip("\n"), call=_call(like, lang, real, shape, values),
        change=change.read_text() if change.exists() else "", changed="change" if change.exists() else "NULL",
        names=", ".join(f'"{dim}"' for dim in shape.dims),
    )  # fmt: skip


def _cases(shape: KernelShape, sizes: Sizes) -> Iterator[str]:
    """Yield the wanted sizes, then small ones that are only checked."""
    for size in sizes:
        use = ", KPD_TIME_ONLY" if prod(size) > MOST_CHECKED else ""
        yield f'    {{"{_named(size)}", {{{", ".join(map(str, size))}}}{use}}},'
    for small in ((1, 1, 1), (3, 5, 7), (17, 33, 65)):
        size = small[: len(shape.dims)]
        if size not in sizes:
            yield f'    {{"{_named(size)}", {{{", ".join(map(str, size))}}}, KPD_CHECK_ONLY}},'


def _call(like: str, lang: str, real: str, shape: KernelShape, values: list[str]) -> str:
    if lang == "cuda":
        head = "static void call(const kpd_case *c, void *const *data, cudaStream_t stream) {"
        return f"{head}\n    {like}({', '.join([*values, 'stream'])});\n}}"
    pointers = [f"const {real} *" for _ in shape.inputs] + [f"{real} *"]
    types = ", ".join([*pointers, *("long" for _ in shape.dims)])
    head = "static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {"
    return f"{head}\n    void (*run)({types}) = (void (*)({types}))kernel;\n    run({', '.join(values)});\n}}"


def _python(like: str, shape: KernelShape, dtype: str, sizes: Sizes) -> str:
    def dims(size: tuple[int, ...]) -> str:
        return ", ".join(f'"{dim}": {value}' for dim, value in zip(shape.dims, size, strict=True))

    cases = [f'    "{_named(size)}": {{{dims(size)}}},' for size in sizes]
    drawn = []
    for name, of in shape.inputs.items():
        extents = ", ".join(f'dims["{dim}"]' for dim in of)
        values = f'draw.values({extents}, dtype="{dtype}")'
        drawn.append(f'        "{name}": {f"abs({values})" if shape.cancels else values},')
    return _file(
        "harness.py.in", symbol=like, output=shape.output[0], order=" x ".join(shape.dims), cases="\n".join(cases),
        drawn="\n".join(drawn), arguments=", ".join(shape.inputs),
        truth=(FILES / like / "truth.py.in").read_text().rstrip("\n"),
    )  # fmt: skip
