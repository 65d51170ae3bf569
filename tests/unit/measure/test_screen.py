"""Python that looks like a known cheat is flagged where the candidate adds it; what was there before is not."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.measure.catalogue import stops_threads
from kpd.measure.screen import protected_touched, spliced, suspicious
from kpd.model.flags import InSource
from kpd.workspace.sections import ProtectedSection
from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task
from tests.support.model.samples import task_of


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("print('{\"best_us\": 0.001}'); raise SystemExit", "prints where a result is looked for"),
        ("print('{\"best_us\": 0.001}'); raise SystemExit", "ends or hooks a process"),
        ("quit()", "ends or hooks a process"),
        ("exit(0)", "ends or hooks a process"),
        ("leave = os._exit", "ends or hooks a process"),
        ("import benchmark; benchmark.measure = fake", "imports a protected file"),
        ("    from tests.test_correctness import check", "imports a protected file"),
        ("import os, verifier as v", "imports a protected file"),
        ("import __main__; __main__.compare = fake", "reaches into the program that runs it"),
        ("import builtins", "reaches into the program that runs it"),
        ("import gc", "reaches into the program that runs it"),
        ("for one in gc.get_objects():", "reaches into the program that runs it"),
        ("frame = inspect.currentframe()", "reaches into the program that runs it"),
        ("if '--profile' in sys.argv:", "reaches into the program that runs it"),
        ("sys.stdout.write(said)", "reaches into the program that runs it"),
        ("Path('benchmark.py').write_text(mine)", "reaches outside the kernel"),
        ("Path('benchmark.py').write_bytes(mine)", "reaches outside the kernel"),
        ("torch.cuda.Event = Fake", "replaces a part of a library"),
        ("import torch; torch.Tensor.__eq__ = always", "replaces a part of a library"),
        ("setattr(torch.cuda, 'Ev' + 'ent', Fake)", "replaces a part of a library"),
        ("t0 = time.perf_counter()", "reads or replaces the clock"),
        ("lib = ctypes.CDLL(None)", "reaches into its process"),
    ],
)
def test_each_pattern_names_its_line(line: str, reason: str) -> None:
    protected = ("benchmark.py", "verifier.py", "tests/test_correctness.py", "task.toml")
    before, after = b"import torch\n", f"import torch\n{line}\n".encode()
    assert InSource("kernel.py:2", reason) in suspicious({"kernel.py": before}, {"kernel.py": after}, protected)


@pytest.mark.parametrize("line", ["pool = ThreadPoolExecutor(1)", "threading.Thread(target=half).start()"])
def test_threads_are_flagged_where_a_benchmark_of_the_task_measures(line: str) -> None:
    """Kpd's own runner stops them while no call is timed; processes cannot be started there, and are flagged."""
    files = {"kernel.py": line.encode()}
    assert suspicious({}, files, ()) == (InSource("kernel.py:1", "starts threads"),)
    assert suspicious({}, files, (), stops_threads=True) == ()
    other = {"kernel.py": b"pool = ProcessPoolExecutor(1)"}
    assert suspicious({}, other, (), stops_threads=True) == (InSource("kernel.py:1", "starts processes"),)


def test_what_is_registered_for_the_end_is_flagged_where_no_process_ends_by_itself() -> None:
    files = {"kernel.py": b"import atexit\n"}
    assert suspicious({}, files, ()) == (InSource("kernel.py:1", "reaches into the program that runs it"),)
    assert suspicious({}, files, (), stops_threads=True) == ()


@pytest.mark.parametrize(("name", "stopped"), [("rmsnorm_py", True), ("rmsnorm_triton", False)])
def test_threads_run_in_calls_of_the_incumbent_where_both_share_a_process(name: str, stopped: bool) -> None:
    """On a GPU: one that is busy only meanwhile would make the incumbent slower."""
    task = load_task(shipped("tasks") / name)
    assert stops_threads(task) == stopped
    command = replace(task.bench, command=("python3", "bench.py"))
    assert not stops_threads(replace(task, bench=command))


def test_honest_python_is_silent() -> None:
    after = b"""
import torch, triton
import triton.language as tl

BLOCK: tl.constexpr = 256

@triton.jit
def kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr, CACHED: tl.constexpr = True):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < cols, cache_modifier=".cg").to(tl.float32)
    tl.device_print("x", x)
    tl.store(y_ptr + at, tl.exp(x), mask=at < cols)

def run(x):
    y = torch.empty_like(x)
    assert y.dtype == torch.float16
    kernel[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), BLOCK=BLOCK, num_warps=4)
    return y
"""
    assert suspicious({}, {"kernel.py": after}, ("benchmark.py", "verifier.py", "tests/run.py")) == ()


def test_only_added_lines_of_python_are_searched() -> None:
    source = b"t = time.perf_counter()\n"
    assert suspicious({"kernel.py": source}, {"kernel.py": source}, ()) == ()
    assert suspicious({}, {"kernel.c": source}, ()) == ()


@pytest.mark.parametrize(
    "line", ["# no perf_counter here", "x = 1  # print(x) would be wrong", "y = x * 2  # see /proc/"]
)
def test_a_comment_is_no_code(line: str) -> None:
    assert suspicious({}, {"kernel.py": f"{line}\n".encode()}, ()) == ()


def test_a_docstring_and_a_main_program_are_not_searched() -> None:
    text = """
def kernel(x):
    "No gc.disable(), no print(x)."
    return x

if __name__ == "__main__":
    print(time.perf_counter())
"""
    assert suspicious({}, {"kernel.py": text.encode()}, ()) == ()
    assert len(suspicious({}, {"kernel.py": text.encode()}, (), commanded=True)) > 2


@pytest.mark.parametrize(
    ("line", "flagged"),
    [
        ("at = x.ctypes.data", False),
        ("at = x.ctypes.data_as(p)", True),
        ("all = type(x.ctypes.shape).from_address(n)", True),
        ("lib = x.ctypes._ctypes", True),
        ("import ctypes", True),
        ("lib = ctypes.CDLL('libm.so')", True),
    ],
)
def test_the_address_of_an_array_is_no_library(line: str, flagged: bool) -> None:
    assert bool(suspicious({}, {"kernel.py": f"{line}\n".encode()}, ())) == flagged


def test_a_number_sign_in_a_text_hides_nothing() -> None:
    source = b"s = '#'; t = perf_counter()\n"
    assert suspicious({}, {"kernel.py": source}, ()) == (InSource("kernel.py:1", "reads or replaces the clock"),)


def test_what_is_no_python_is_searched_as_it_stands() -> None:
    found = suspicious({}, {"kernel.py": b"x = (\nt = perf_counter()  # never closed\n"}, ())
    assert found == (InSource("kernel.py:2", "reads or replaces the clock"),)


@pytest.mark.parametrize("prefix", ["f", "F", "rf", "fR"])
def test_a_number_sign_in_formatted_text_hides_nothing(prefix: str) -> None:
    """Python 3.12 reads a text within the braces, and code after it."""
    source = f'x = {prefix}"{{"#"}}"; t = perf_counter()\n'.encode()
    assert suspicious({}, {"kernel.py": source}, ()) == (InSource("kernel.py:1", "reads or replaces the clock"),)


def test_a_line_of_blanks_before_a_sign_that_python_has_not_is_read_at_once() -> None:
    """Python's own tokeniser was not through with 40,000 of them after eight minutes."""
    found = suspicious({}, {"kernel.py": b"x = 1" + b" " * 100_000 + b"$\n"}, ())
    assert found == (InSource("kernel.py:1", "has 100006 characters, of which 1000 were looked at"),)


def test_only_editable_files_may_be_proposed() -> None:
    task = task_of(Path("t"), {})
    assert protected_touched(task, {"kernel.c": b"", "harness.c": b"", "../x": b""}) == ("harness.c", "../x")
    assert protected_touched(task, {"new.h": b""}, ["kernel.c"]) == ("new.h", "kernel.c")
    open_ = replace(task, areas=("src/", "*.c"), kept=("kernel.c",), editable=("kernel.c", "src/a.h"))
    assert protected_touched(open_, {"src/b/new.h": b"", "Harness.c": b"", "src/a.h/b.h": b""}) == ("Harness.c",)
    assert protected_touched(open_, {}, ["src/a.h", "kernel.c", "harness.c"]) == ("kernel.c", "harness.c")


FILE = b"""\
// ===== KERNEL SECTION =====
int old;
// ===== END KERNEL SECTION =====
// ===== HARNESS SECTION =====
int judge;
// ===== END HARNESS SECTION =====
"""


def test_of_a_file_in_sections_only_the_kernel_is_taken(tmp_path: Path) -> None:
    (tmp_path / "one.cu").write_bytes(FILE)
    task = replace(task_of(tmp_path, {}, ("one.cu", "more.h")), sectioned="one.cu")
    assert spliced(task, {"more.h": b"x"}) == {"more.h": b"x"}
    assert spliced(task, {"one.cu": b"int new;", "more.h": b"x"}) == {
        "one.cu": FILE.replace(b"old", b"new"), "more.h": b"x",
    }  # fmt: skip
    with pytest.raises(ProtectedSection, match=r"^one\.cu$"):
        spliced(task, {"one.cu": FILE.replace(b"judge", b"friend")})
