"""The tolerance of a check: what is within it is right, what is beyond it is wrong."""

import contextlib
from dataclasses import replace

import pytest

from kpd.measure.bench import CheckFailed
from tests.support.measure.measured import LOOP, QUICK, Lab, kernel, lab

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("check")) as ready:
        yield ready


@pytest.mark.parametrize(("rtol", "atol"), [(1e-5, 1e-6), (1e-4, 0.0), (1e-6, 1e-2)])
@pytest.mark.parametrize(("share", "right"), [(0.999, True), (1.001, False)])
async def test_an_element_may_be_off_by_both_tolerances_together(
    lab: Lab, rtol: float, atol: float, share: float, right: bool
) -> None:
    off = f"double want = t[3]; t[3] += {share} * ({atol!r} + {rtol!r} * (want < 0 ? -want : want));"
    with contextlib.nullcontext() if right else pytest.raises(CheckFailed, match=r"t\[3\] .* 1 times the tolerance"):
        found = await lab.check(kernel(f"{LOOP} {off}"), replace(QUICK, rtol=rtol, atol=atol))
        assert found.worst == pytest.approx(share, rel=1e-3)


@pytest.mark.parametrize(("milliseconds", "right"), [(1300, False), (600, True)])
async def test_a_call_may_take_a_quarter_of_the_check(lab: Lab, milliseconds: int, right: bool) -> None:
    wait = f"static int first = 1; if (first) usleep({milliseconds * 1000}); first = 0; {LOOP}"
    with contextlib.nullcontext() if right else pytest.raises(CheckFailed, match="did not return in time"):
        await lab.check(kernel(wait, "#include <unistd.h>"), replace(QUICK, limit_s=4.0))
