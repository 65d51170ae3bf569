"""Candidates of several Python files: for kpd's own runner, and for a task's own command."""

from collections.abc import AsyncIterator, Mapping
from itertools import count
from pathlib import Path, PurePosixPath

import pytest

from kpd.hosts.host import Host
from kpd.measure.bench import CheckFailed
from kpd.measure.catalogue import prepare
from kpd.measure.command.bench import CommandBench
from kpd.workspace.run_files import read_files
from kpd.workspace.task import load_task
from tests.support.imports.folders import written
from tests.support.measure.measured import THIS_CPU, local_host
from tests.support.measure.python_tasks import TOML, ready, small_task

pytestmark = pytest.mark.asyncio(loop_scope="module")
numbers = count()
IMPORTS = "from parts.sums import double\nimport aside\ndef kernel(a, b):\n    return aside.plus(double(a), b)\n"
TREE = {
    "kernel.py": IMPORTS,
    "aside.py": "def plus(a, b):\n    return a + b\n",
    "parts/sums.py": "def double(a):\n    return 2 * a\n",
}
COMMANDED = """\
[task]
name = "speed"
language = "python"
editable = ["parts/"]
[bench]
command = "python3 benchmark.py"
"""
BENCHMARK = """\
import json, os
names = sorted(os.listdir("parts"))
us = sum(float(open(f"parts/{name}").read()[1:]) for name in names)
print(json.dumps({"ok": names != ["wrong.txt"], "best_us": us, "cases": [{"name": "all", "us": us}]}))
"""


@pytest.fixture(scope="module", name="host")
async def _host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Host]:
    async with local_host(tmp_path_factory.mktemp("trees")) as host:
        yield host


def encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in files.items()}


async def test_modules_beside_the_kernel_and_in_folders_are_imported(host: Host, tmp_path: Path) -> None:
    folder = small_task(tmp_path, toml=TOML.replace('["kernel.py"]', '["kernel.py", "aside.py", "parts/"]'))
    written(folder, {path: text for path, text in TREE.items() if path != "kernel.py"})
    bench = await ready(host, folder)

    async def check(files: Mapping[str, str]) -> None:
        tree = await bench.stage(encoded(files))
        job = (await bench.build(tree, encoded(files), print)).job
        await bench.check(job, f"check{next(numbers)}", print)

    await check(TREE)
    await check({**TREE, "parts/sums.py": "from parts.new import double\n", "parts/new.py": TREE["parts/sums.py"]})
    with pytest.raises(CheckFailed, match=r"out\[\d+\] is"):
        await check({**TREE, "parts/sums.py": "def double(a):\n    return 3 * a\n"})
    with pytest.raises(CheckFailed, match=r"No module named 'parts"):
        await check({path: text for path, text in TREE.items() if path != "parts/sums.py"})


async def test_a_commands_folder_has_the_files_of_the_candidate_and_no_other(host: Host, tmp_path: Path) -> None:
    folder = written(
        tmp_path / "speed",
        {"task.toml": COMMANDED, "benchmark.py": BENCHMARK, "parts/a.txt": "#100", "parts/b.txt": "#20"},
    )
    bench = await prepare(host, load_task(folder), THIS_CPU, print)
    assert isinstance(bench, CommandBench)

    async def staged(files: Mapping[str, str]) -> tuple[str, str]:
        tree = await bench.stage(encoded(files))
        return tree, (await bench.build(tree, encoded(files), print)).job

    own = {path: data.decode() for path, data in read_files(folder, load_task(folder).editable).items()}
    _, before = await staged(own)
    tree, after = await staged({"parts/a.txt": "#50", "parts/deep.txt": "#10"})
    root = Path(PurePosixPath(host.root)) / "trees" / tree
    assert sorted(path.relative_to(root).as_posix() for path in root.rglob("*.txt")) == [
        "parts/a.txt",
        "parts/deep.txt",
    ]
    samples = [one async for one in bench.time(before, after, "time-trees", 0, 1, print)]
    (score,) = [one.score for one in samples]
    assert score is not None
    assert (score.a_ns, score.b_ns) == ((120_000.0,), (60_000.0,)), "of the removed file nothing is left"
