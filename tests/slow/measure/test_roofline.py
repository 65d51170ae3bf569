"""The machine's own limits: interpolated sensibly, and measured for real."""

import pytest

from kpd.measure.c.bench import measure_roofline
from tests.support.measure.measured import Lab, lab


@pytest.mark.asyncio(loop_scope="module")
async def test_a_machine_is_measured_once(lab: Lab) -> None:
    found = await measure_roofline(lab.host, lab.tools, lab.where)
    assert found.peak_gflops > 0.1
    assert len(found.bandwidth) >= 6
    assert max(gbs for _, gbs in found.bandwidth) > found.memory_gbs > 0.1
    assert await measure_roofline(lab.host, lab.tools, lab.where) == found
    anew = await measure_roofline(lab.host, lab.tools, lab.where, again=True)
    assert await measure_roofline(lab.host, lab.tools, lab.where) == anew != found


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("roofline")) as ready:
        yield ready
