"""The gate: what is no whole candidate is named with its line, and honest code passes."""

import itertools
import json
from pathlib import Path

import pytest

from kpd.agents import space
from kpd.agents.agent import BadReply
from kpd.agents.precheck import precheck
from kpd.measure.omitted_code import elided
from tests.places import DATA
from tests.support.agents.asked import TASKS, made, shipped
from tests.support.agents.hygiene import KERNEL, refused

CASSETTE = DATA / "cassettes" / "transpose_h100" / "cassette.json"


@pytest.mark.parametrize(
    "line",
    [
        "// ...",
        "    /* ... */",
        "// …",
        "// ... rest of the kernel unchanged",
        "// ... (rest of code remains the same) ...",
        "/* rest of the kernel is unchanged */",
        "// existing code",
        "    // ... existing code ...",
        "// Existing implementation here",
        "// remaining helper functions unchanged",
        "// [other functions stay as they were]",
        "// everything else unchanged",
        "// keep the rest of the file as is",
        "// ... same as before ...",
        "// -- previous code omitted for brevity --",
        "// ... other helpers",
        "// unchanged ... fast path",
        "void f(int n) { /* ... same code as before ... */ }",
        "// the rest ...",
        "void f(int n) { /* ... */ }",
        "// TODO: implement the tail",
        "// FIXME - implement",
        "// your code here",
        "// implementation goes here",
        "...",
        "    { ... }",
    ],
)
def test_code_that_is_left_out_is_quoted_with_its_line(tmp_path: Path, line: str) -> None:
    reason = refused(tmp_path, KERNEL + line + "\n")
    assert reason.startswith(f'kernel.cu:3: "{line.strip()}" leaves ')
    assert refused(tmp_path, KERNEL + line + "\n", KERNEL + line + "\n") == "", "the incumbent has it already"


@pytest.mark.parametrize(
    "line",
    [
        "// the rest of the row is unchanged by padding",
        "/* The rest of the block waits at the barrier. */",
        "// x[0] + ... + x[n - 1]",
        "/* sums[0], sums[1], … are in registers */",
        "// ... and what is left over is added one by one by the first warp",
        "// same as above for the columns",
        "// unchanged",
        "float y = x; // same as before, but in registers",
        "// the existing values are added to the sum in place",
        "int printf(const char *format, ...);",
        "template <typename... T> void all(T... values) { use(values...); }",
        "#define LOG(...) log(__VA_ARGS__)",
        " *     ...",
        "/* denormals are not implemented in hardware */",
        "// the original kernel read each element twice",
        "vec() {}",
        "// other threads of the warp are idle here",
        "// Remaining elements...",
        "/* other threads wait here ... */",
        "// same layout as before...",
        "y += x; // previous tile ...",
        "y += x; // ... other code",
        "// ... the existing values",
    ],
)
def test_prose_is_no_elision(tmp_path: Path, line: str) -> None:
    assert refused(tmp_path, f"{KERNEL}{line}\n") == ""


def test_elisions_of_python_are_comments_of_python() -> None:
    assert elided("kernel.py", "    # ... rest of the kernel unchanged")
    assert not elided("kernel.py", "half = n // existing_code")
    assert not elided("kernel.py", "# other warps ...")
    assert not elided("kernel.py", "x = y[..., None]")
    assert not elided("build.json", '"flags": "//..."')


def test_a_hostile_line_is_no_elision_and_is_looked_at_once() -> None:
    for line in ("/*" * 500, "// " + "rest of the " * 90, "# " + "." * 998, "//" + "…" * 998):
        elided("kernel.cu", line)


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (KERNEL.replace("void scale", "void scaled"), "no longer defines `scale`, which kernel.h needs: keep"),
        ("int nothing;\n", "keep `void scale(float *x, long n)`"),
        (KERNEL.replace("scale(float *x, long n)", "scale(float *x, int n)"),
         "kernel.cu:2: the signature is `void scale(float *x, int n)`, but kernel.h needs `void scale(float *x, long"),
        (KERNEL.replace("scale(float *x, long n)", "scale(float *x, long n, cudaStream_t s)"), "the signature is"),
        (KERNEL.replace("void scale(", "int scale("), "the signature is `int scale"),
        (KERNEL.replace("void scale(", "__global__ void scale("), "the signature is"),
        (KERNEL.replace("void scale(", "template <int N> void scale("), "is `template <int N> void scale"),
        (f"namespace kk {{\n{KERNEL}}}\n", "`scale` stands in namespace kk, but kernel.h looks for it outside any"),
        (KERNEL.replace("k<<<1, 1>>>(x, n);", ""), "kernel.cu:2: the body of `scale` is empty"),
        (KERNEL.replace("k<<<1, 1>>>(x, n);", "/* same as before */ (void)x;"), "the body of `scale` is empty"),
        (KERNEL.replace("x[n] = 1.0f;", "// as it was\n"), "kernel.cu:1: the body of `k` is empty"),
    ],
)  # fmt: skip
def test_what_others_call_must_stay(tmp_path: Path, after: str, reason: str) -> None:
    assert reason in refused(tmp_path, after)


@pytest.mark.parametrize(
    "after",
    [
        KERNEL.replace("float *x, long n) { k", "float *__restrict__ values, const long int count) { k"),
        KERNEL.replace("void scale(", "extern void scale("),
        KERNEL.replace("k(float *x", "other(double *y"),
        "namespace {\n__global__ void k(float *x) { *x = 1; }\n}\nvoid scale(float x[], long) { k<<<1, 1>>>(x); }\n",
        "#if N == 4\nvoid scale(float *x, long n) {\n#else\nvoid scale(float *x, long n) {\n#endif\n  work(x, n);\n}\n",
        KERNEL + "static void more(void) {}\n",
        KERNEL + "#if FAST\nstatic void k(int) { }\n#endif\n",
        'const char *s = "}"; // }\n' + KERNEL,
        KERNEL.replace("void scale", "__attribute__((noinline)) FORCED void scale"),
    ],
)
def test_what_others_do_not_see_may_change(tmp_path: Path, after: str) -> None:
    assert refused(tmp_path, after) == ""


def test_a_function_is_needed_where_its_name_is_all_that_a_harness_says(tmp_path: Path) -> None:
    before = "static int twice(int n) { return n; }\nvoid scale(float *x) { twice(1); }\n"
    harness = 'static int twice(void) { return 0; }\ntask t = {"scale", {"n"}, twice()};\n'
    task = made(tmp_path, {"kernel.c": before, "harness.c": harness}, ("kernel.c",), "c")
    precheck(task, {"kernel.c": before.encode()}, {"kernel.c": b"void scale(float *x) { *x = 1; }\n"})
    with pytest.raises(BadReply, match=r"no longer defines `scale`, which harness\.c needs"):
        precheck(task, {"kernel.c": before.encode()}, {"kernel.c": b"void unscale(float *x) { *x = 1; }\n"})


def test_templates_that_others_call_keep_their_parameters_and_instances(tmp_path: Path) -> None:
    before = "template <int N, class T> void run(T *x) { *x = N; }\ntemplate void run<4, float>(float *);\n"
    harness = "void call(float *x) { run<4, float>(x); }\n"
    task = made(tmp_path, {"kernel.cu": before, "harness.cu": harness}, ("kernel.cu",))

    def tried(after: str) -> None:
        precheck(task, {"kernel.cu": before.encode()}, {"kernel.cu": after.encode()})

    tried(before.replace("int N, class T>", "int VEC, typename Real, int MORE = 2>"))
    with pytest.raises(
        BadReply, match=r"the signature is `template <class T> void run\(T \*x\)`, but harness\.cu needs"
    ):
        tried(before.replace("int N, class T", "class T"))
    with pytest.raises(BadReply, match=r"instantiation `template void run<4, float>\(float \*\);` is gone"):
        tried(before.partition("\n")[0])


def test_a_file_in_sections(tmp_path: Path) -> None:
    task, incumbent = shipped("softmax_cuda")
    whole = incumbent["softmax.cu"].decode()
    kernel = whole.partition("=====\n")[2].partition("// ===== END")[0]
    for good in (whole.replace("THREADS 32 ", "THREADS 64 "), kernel):
        precheck(task, incumbent, {"softmax.cu": good.encode()})
    line = whole[: whole.index("static void softmax(")].count("\n") + 1
    for bad, reason in (
        (whole.replace("RTOL", "X").replace("KPD_TIME_ONLY", "KPD_CHECK_ONLY"), "changed outside its kernel section"),
        (f"// ===== END KERNEL SECTION =====\n{kernel}", r"softmax\.cu:1: 'END KERNEL SECTION' where"),
        (kernel.replace("static void softmax(", "static void smax("), "which the harness section needs"),
        (kernel.replace("softmax(const float *x", "softmax(float *x"), rf"softmax\.cu:{line}: the signature is"),
        (f"{kernel}// ... existing code ...\n", "leaves code out"),
    ):
        with pytest.raises(BadReply, match=reason):
            precheck(task, incumbent, {"softmax.cu": bad.encode()})


@pytest.mark.parametrize(
    ("replaced", "by", "reason"),
    [
        ("def rmsnorm_silu(", "def rms_norm(", r"no longer defines `rmsnorm_silu`, which verify\.py imports"),
        ("eps: float = 1e-6)", "eps: float)", r"the signature is `rmsnorm_silu\(x, gate, weight, eps\)`, but"),
        ("weight: torch.Tensor, ", "", r"needs `rmsnorm_silu\(x, gate, weight, eps=…\)`"),
        ("x: torch.Tensor, gate", "gate: torch.Tensor, x", "the signature is"),
        ("eps: float = 1e-6)", "eps: float = 1e-6, *, block)", "the signature is"),
        ("    return y", "    # ... rest unchanged", r'kernel\.py:34: "# \.\.\. rest unchanged" leaves code out'),
    ],
)  # fmt: skip
def test_python_that_others_import(replaced: str, by: str, reason: str) -> None:
    task, incumbent = shipped("rmsnorm_silu_gate_h100")
    kernel = incumbent["kernel.py"].decode()
    assert replaced in kernel
    with pytest.raises(BadReply, match=reason):
        precheck(task, incumbent, {"kernel.py": kernel.replace(replaced, by).encode()})


def test_python_that_may_change() -> None:
    task, incumbent = shipped("rmsnorm_silu_gate_h100")
    kernel = incumbent["kernel.py"].decode()
    for good in (
        kernel.replace("eps: float = 1e-6)", "eps=1e-5, *, block=4, **more)"),
        kernel.replace("def rmsnorm_silu(", "def _plain(") + "rmsnorm_silu = torch.compile(_plain)\n",
        kernel.replace("def rmsnorm_silu_kernel(", "def renamed("),
        "if True:\n" + "\n".join(f"    {line}" for line in kernel.splitlines()),
        kernel + "type Newer = int\n" + "def broken(:\n",
        kernel + "x = " + "-" * 50_000 + "1\n",
        kernel + "a" + ".b" * 50_000 + "\n",
    ):
        precheck(task, incumbent, {"kernel.py": good.encode()})


@pytest.mark.parametrize("body", ["pass", "...", '"""The same as before."""', "raise NotImplementedError('later')"])
def test_an_emptied_function_of_python(body: str) -> None:
    task, incumbent = shipped("layernorm_pilot")
    kernel = incumbent["src/layernorm.py"].decode()
    head = kernel[: kernel.index("    wide")]
    with pytest.raises(BadReply, match=r"src/layernorm\.py:6: the body of `layernorm_scale_shift_` is empty"):
        precheck(task, incumbent, {"src/layernorm.py": f"{head}    {body}\n".encode()})


def test_a_protected_file_is_named_once_and_first(tmp_path: Path) -> None:
    task, incumbent = shipped("transpose_cuda")
    files = {"harness.cu": b"// ...\n", "../\x1b[2J": b"", "kernel.cu": b"// ...\n"}
    with pytest.raises(BadReply) as err:
        precheck(task, incumbent, files)
    assert str(err.value) == "harness.cu, ../ [2J may not be edited; editable are kernel.cu"


def test_all_reasons_come_at_once_but_not_without_end(tmp_path: Path) -> None:
    assert refused(tmp_path, "// ...\n" * 50).count("leaves code out") == 6


@pytest.mark.parametrize("folder", sorted(TASKS.iterdir()), ids=lambda path: path.name)
def test_every_shipped_kernel_passes_at_every_point(folder: Path) -> None:
    task, incumbent = shipped(folder.name)
    for values in itertools.islice(itertools.product(*task.tune.values()), 0, None, 97):
        precheck(task, incumbent, space.write_point(incumbent, dict(zip(task.tune, values, strict=True))))
    for path in (*task.editable, *task.protected):
        lines = (folder / path).read_text().splitlines()
        assert not [line for line in lines if elided(path, line)]


def test_every_recorded_candidate_passes() -> None:
    task, incumbent = shipped("transpose_cuda")
    for candidate in json.loads(CASSETTE.read_text())["candidates"]:
        precheck(task, incumbent, {path: text.encode() for path, text in candidate["files"].items()})
