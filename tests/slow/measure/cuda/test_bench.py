"""A whole bench on a CUDA task, by the stand-in for nvcc and a GPU: built, checked, timed and judged. No time of it is
a GPU's."""

from pathlib import Path

import pytest

from kpd.measure.compiling import BuildError
from tests.support.measure.cuda.bench import built, quiet, standing_in
from tests.support.measure.cuda_measured import LOOP, ONE_FILE

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_task_in_one_file(tmp_path: Path) -> None:
    async with standing_in(tmp_path, one_file=True) as bench:
        right = await built(bench, ONE_FILE, name="blend.cu")
        assert (await bench.check(right, "check-one", quiet)).comparisons == 5 * 21_014
        with pytest.raises(BuildError, match=r"blend\.cu.*nowhere"):
            await built(bench, ONE_FILE.replace(LOOP, "y[i] = nowhere;"), name="blend.cu")
