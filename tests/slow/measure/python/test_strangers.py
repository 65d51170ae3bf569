"""Callables of a stranger, of tests/cheats, that are right and quick in what a check and a contest call for."""

import sys
from itertools import count
from pathlib import Path

import pytest

from kpd.hosts.host import Host
from kpd.measure.bench import CheckFailed
from kpd.measure.driver.bench import DriverBench
from kpd.text.faults import wrong
from tests.places import ROOT, TESTS
from tests.support.measure.measured import local_host
from tests.support.measure.python_tasks import built, ready

pytestmark = pytest.mark.asyncio(loop_scope="module")
CORPUS, TASK = TESTS / "cheats" / "python", ROOT / "tasks" / "rmsnorm_py"
numbers = count()


@pytest.fixture(scope="module", name="host")
async def _host(tmp_path_factory):
    async with local_host(tmp_path_factory.mktemp("strangers") / "host") as host:
        yield host


@pytest.fixture(scope="module", name="bench")
async def _bench(host: Host, tmp_path_factory):
    yield await ready(host, rmsnorm(tmp_path_factory.mktemp("tasks")))


def rmsnorm(root: Path, kernel: str = "") -> Path:
    """The task that they are for, with this Python and a kernel of its own: none is the task's."""
    folder = root / TASK.name
    folder.mkdir()
    for file in TASK.iterdir():
        if file.is_file():
            (folder / file.name).write_text(file.read_text())
    with (folder / "task.toml").open("a") as file:
        file.write(f'\n[build]\npython = "{sys.executable}"\n')
    if kernel:
        (folder / "kernel.py").write_text(kernel)
    return folder


def cheat(name: str) -> dict[str, str]:
    quick = (CORPUS / "parts" / "quick_rmsnorm.py").read_text()
    return {"kernel.py": quick + (CORPUS / f"{name}.py").read_text()}


async def test_a_number_that_is_an_argument_is_another_one_for_each_inputs(bench: DriverBench) -> None:
    job = await built(bench, cheat("correctness/eps_by_columns"))
    with pytest.raises(CheckFailed) as caught:
        await bench.check(job, f"check{next(numbers)}", print)
    assert "should be" in wrong(caught.value.wrong)
