"""What a candidate's object must not have in common with the incumbent's, and what is kpd's own in it."""

import ctypes
from collections.abc import AsyncIterator

import pytest

from kpd.measure.compiling import BuildError
from kpd.measure.driver.harness import OBJECT
from kpd.measure.jobs import out
from tests.support.measure.cuda_driver import KERNEL, Driver, build
from tests.support.measure.cuda_measured import Builds, builds, kernel, needs_nvcc

COUNTS = """
template <class T> int *calls() { static T count; return &count; }
extern "C" int called(void) { return ++*calls<int>(); }
"""


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Builds]:
    async with builds(tmp_path_factory.mktemp("objects")) as ready:
        yield ready


@needs_nvcc
@pytest.mark.asyncio(loop_scope="module")
async def test_a_static_variable_of_a_template_is_each_objects_own(lab: Builds) -> None:
    loaded = []
    for number in range(2):
        built = await lab.build(kernel(before=f"{COUNTS}/* {number} */"))
        loaded.append(ctypes.CDLL(str(out(lab.host, built.job, OBJECT))))
    assert [one.called() for one in (*loaded, *loaded)] == [1, 1, 2, 2]


@needs_nvcc
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("flag", ["-DKPD_TASK_H", "-Dkpd_last_error=mine", "-DcudaGetLastError=mine"])
async def test_a_flag_cannot_take_a_name_of_kpds(lab: Builds, flag: str) -> None:
    with pytest.raises(BuildError, match="no flag may define them"):
        await lab.build(kernel(), flag)


@pytest.fixture(scope="module", name="driver")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return build(tmp_path_factory.mktemp("objects"))


def test_a_macro_cannot_change_what_kpd_asks_after_a_launch(driver: Driver) -> None:
    """It would run while the clock does, once for many calls."""
    macros = "#define cudaGetLastError() cudaErrorUnknown\n#define kpd_last_error stolen\n"
    driver.compiled("macros.so", macros + KERNEL)
    assert driver.report("rtol=1e-6", "check", "macros.so", 1, 20_000)["problem"] is None


def test_a_kernel_cannot_define_it_anew(driver: Driver) -> None:
    own = 'extern "C" int kpd_last_error(void) { return 0; }\n'
    with pytest.raises(AssertionError, match="kpd_last_error"):
        driver.compiled("own.so", KERNEL + own)
