"""The shipped tasks, each as points of its sweep."""

from itertools import count

import pytest

from kpd.agents.space import write_point
from kpd.measure.c.bench import prepare
from kpd.measure.driver.bench import DriverBench
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task
from tests.support.measure.measured import THIS_CPU, local_host

GOOD_POINTS = {
    "conv2d_cpu": {"VEC": "8", "COLS": "2", "ROWS": "2", "flags": "-O3 -march=native"},
    "histogram_cpu": {"TABLES": "4", "WORD": "8", "flags": "-O3 -march=native"},
    "matmul_cpu": {"VEC": "8", "COLS": "2", "ROWS": "4", "flags": "-O3 -march=native"},
    "rmsnorm_silu_cpu": {"VEC": "8", "EXP_POLY": "1", "UNROLL": "2", "flags": "-O3 -march=native"},
    "transpose_cpu": {"VEC": "4", "TILE_ROWS": "16", "TILE_COLS": "16", "flags": "-O3 -march=native"},
}
numbers = count()


@pytest.fixture(scope="module", params=sorted(GOOD_POINTS), name="bench")
async def _bench(request, tmp_path_factory):
    async with local_host(tmp_path_factory.mktemp(request.param)) as host:
        yield await prepare(host, load_task(shipped("tasks") / request.param), THIS_CPU, print)


def point(bench: DriverBench, **values: str) -> dict[str, bytes]:
    return write_point(read_files(bench.task.folder, bench.task.editable), values)


async def built(bench: DriverBench, files: dict[str, bytes]) -> str:
    return (await bench.build(await bench.stage(files), files, print)).job
