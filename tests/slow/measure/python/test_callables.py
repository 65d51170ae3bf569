"""What a callable may get and return, and what becomes of a task that is not in order."""

from itertools import count

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure.bench import CheckFailed
from kpd.measure.compiling import BuildError
from kpd.workspace.task import TaskError, load_task
from tests.support.measure.measured import local_host
from tests.support.measure.python_tasks import HARNESS, RIGHT, TOML, built, ready, small_task

pytestmark = pytest.mark.asyncio(loop_scope="module")
numbers = count()

MANY = """\
import numpy as np
OUTPUTS = ("y", "total")
CASES = {"odd": {"rows": 33, "cols": 7}, "empty": {"rows": 0, "cols": 3}}
FIXED = ("index",)
def inputs(dims, draw):
    rows, cols = dims["rows"], dims["cols"]
    return {
        "y": abs(draw.values(rows, cols)),  # no sum comes near 0, of which rounding is a large share
        "turned": abs(draw.values(cols, rows, dtype="float64")).T,
        "parts": [draw.values(rows, dtype="float16"), draw.values(cols)],
        "index": draw.integers(0, max(rows, 1), 5),
        "factor": 3,
    }
def truth(y, turned, parts, index, factor):
    return {"y": y.astype("float64") * factor + turned, "total": index.sum() + parts[1].astype("float64")}
"""
FILLS = """\
def kernel(y, turned, parts, index, factor):
    assert not turned.flags.c_contiguous or turned.size < 2
    assert parts[0].dtype == "float16"
    y *= factor
    y += turned
    return index.sum() + parts[1]
"""
PLAIN = """\
import array
OUTPUTS = ("out",)
CASES = {"plain": {"n": 257}}
def inputs(dims, draw):
    return {"a": draw.values(dims["n"]), "b": array.array("f", draw.values(dims["n"])), "scale": 2.0}
def truth(a, b, scale):
    return [scale * x + y for x, y in zip(a, b)]
"""
LISTS = "def kernel(a, b, scale):\n    return [scale * x + y for x, y in zip(a, b)]\n"
ARRAYS = "import array\n" + LISTS.replace("return [", "return array.array('f', [").replace("b)]", "b)])")
OLD = """\
#!/bin/sh
echo '{"path": "/python", "version": [3, 9, 1], "modules": [], "prefixes": [], "missing": []}'
"""
ODD = "#!/bin/sh\necho '[3, 12]'\n"
WORK = TOML.replace('bytes = "n*12"', 'bytes = "8"')


@pytest.fixture(scope="module", name="host")
async def _host(tmp_path_factory):
    async with local_host(tmp_path_factory.mktemp("callables") / "host") as host:
        yield host


@pytest.mark.parametrize(
    ("kernel", "harness"), [(FILLS, MANY), (LISTS, PLAIN), (ARRAYS, PLAIN)], ids=["many", "lists", "arrays"]
)
async def test_a_callable_is_checked_timed_and_called_again(host: Host, tmp_path, kernel: str, harness: str) -> None:
    toml = WORK.replace("rtol = 1e-5\natol = 1e-6\n", "") if kernel == ARRAYS else WORK
    bench = await ready(host, small_task(tmp_path, kernel, harness, toml))
    job = await built(bench)
    assert (await bench.check(job, f"check{next(numbers)}", print)).worst <= 1
    (sample,) = [one async for one in bench.time(job, job, f"time{next(numbers)}", 0, 1, print)]
    assert {len(case.a_ns) for case in sample.cases.values()} == {16}
    assert all(calls > 1 for calls in (await bench.repeat(job, f"repeat{next(numbers)}", print)).values())


async def test_a_module_that_a_kernel_imports_from_its_own_files_is_its_own(host: Host, tmp_path) -> None:
    kernel = "import parts\n\ndef kernel(a, b):\n    return parts.sums(a, b)\n"
    folder = small_task(tmp_path, kernel, toml=TOML.replace('["kernel.py"]', '["kernel.py", "parts.py"]'))
    (folder / "parts.py").write_text("def sums(a, b):\n    return 2 * a + b\n")
    bench = await ready(host, folder)
    right = await built(bench)
    wrong = await built(bench, {"parts.py": "def sums(a, b):\n    return 2 * a\n"})
    await bench.check(right, f"check{next(numbers)}", print)
    with pytest.raises(CheckFailed, match=r"out.* should be") as caught:
        _ = [one async for one in bench.time(right, wrong, f"time{next(numbers)}", 0, 1, print)]
    assert not caught.value.wrong.by_incumbent


async def test_what_cannot_be_parsed_does_not_build(host: Host, tmp_path) -> None:
    bench = await ready(host, small_task(tmp_path))
    with pytest.raises(BuildError, match=r"kernel.py:1: .*"):
        await built(bench, {"kernel.py": "def kernel(a, b:\n"})


@pytest.mark.parametrize(
    ("old", "new", "error", "said"),
    [
        (
            "import numpy as np",
            "import nothing_like_it, json, cutlass.cute",
            HostError,
            "has no cutlass, nothing_like_it; .*python.* -m pip install nvidia-cutlass-dsl nothing_like_it there",
        ),
        (
            "import numpy as np",
            "__import__('not_here')",
            HostError,
            "No module named 'not_here'.* pip install not_here",
        ),
        ('OUTPUTS = ("out",)', "", BuildError, "OUTPUTS is missing"),
        ('{"n": 4099}', '{"n": "4099"}', BuildError, "whole numbers"),
        ("draw.values", "draw.nothing", BuildError, "raised AttributeError"),
    ],
)
async def test_a_harness_that_is_not_in_order_is_named(host: Host, tmp_path, old, new, error, said) -> None:
    with pytest.raises(error, match=said):
        await ready(host, small_task(tmp_path, harness=HARNESS.replace(old, new)))


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("/nowhere/python3", "/nowhere/python3: not found"),
        ("/bin/true", "does not say where its modules are, as a Python does: ''"),
        ("echo [] #", "echo .* not found"),
        (OLD, "is Python 3.9.1, and kpd's runner needs 3.10"),
        (ODD, "does not say where its modules are, as a Python does: '\\[3, 12\\]'"),
    ],
)
async def test_a_python_that_will_not_do_is_named(host: Host, tmp_path, python: str, said: str) -> None:
    if python.startswith("#!"):
        script = tmp_path / "python"
        script.write_text(python)
        script.chmod(0o755)
        python = str(script)
    toml = "\n".join(f'python = "{python}"' if line.startswith("python") else line for line in TOML.split("\n"))
    with pytest.raises(HostError, match=rf"{said}.*name another Python.*\[build\]"):
        await ready(host, small_task(tmp_path, toml=toml))


async def test_a_harness_makes_a_task_in_python_kpds_own_and_a_command_the_tasks(tmp_path) -> None:
    folder = small_task(tmp_path, RIGHT)
    assert load_task(folder).protected == ("harness.py", "task.toml")
    commanded = TOML.replace("[bench]", '[bench]\ncommand = "python3 harness.py"')
    (folder / "task.toml").write_text(commanded.replace("python = ", "# python = "))
    assert load_task(folder).bench.command == "python3 harness.py"


SUM = """\
import numpy as np
OUTPUTS = ("out",)
CASES = {"small": {"n": 4096}}
def inputs(dims, draw):
    return {"a": draw.values(dims["n"]), "b": draw.values(dims["n"])}
def truth(a, b):
    return np.array([np.dot(a.astype(np.float64), b.astype(np.float64))])
"""


async def test_a_sum_that_cancels_is_compared_by_its_scale(host: Host, tmp_path) -> None:
    toml = TOML.replace("rtol = 1e-5\natol = 1e-6", 'compare = "scaled"').replace(', "large"]', "]")
    kernel = "import numpy as np\ndef kernel(a, b):\n    return np.array([np.dot(a, b)])\n"
    with pytest.raises(TaskError, match="gives no scale"):
        await ready(host, small_task(tmp_path / "without", kernel, SUM, toml))
    scale = "def scale(a, b):\n    return np.array([np.dot(abs(a.astype(np.float64)), abs(b))])\n"
    bench = await ready(host, small_task(tmp_path, kernel, SUM + scale, toml))
    turned = await built(bench, {"kernel.py": kernel.replace("(a, b)])", "(a[::-1].copy(), b[::-1].copy())])")})
    assert (await bench.check(turned, f"check{next(numbers)}", print)).worst <= 1
    half = await built(bench, {"kernel.py": kernel.replace("np.dot(a, b)", "np.dot(a.astype('e'), b.astype('e'))")})
    with pytest.raises(CheckFailed, match="times the tolerance"):
        await bench.check(half, f"check{next(numbers)}", print)
