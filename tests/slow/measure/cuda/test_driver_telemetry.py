"""What the CUDA driver reports of a GPU's clocks, with a library that stands in for NVML and answers from a list."""

import pytest

from tests.support.measure import nvml_standin
from tests.support.measure.cuda_driver import Driver, build


@pytest.fixture(scope="module", name="driver")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return build(tmp_path_factory.mktemp("telemetry"))


@pytest.fixture(name="nvml")
def _nvml(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(nvml_standin.build(driver.folder / "nvml")))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.usefixtures("nvml")
def test_the_readings_of_a_busy_gpu_are_spread_out(driver: Driver) -> None:
    """The first case takes long enough for several readings, as its kernel works for a while."""
    first = driver.time("drags", incumbent="drags", quads=64)["cases"]["4000"]["telemetry"]
    assert first == {
        "sm_mhz": [1710, 1980], "mem_mhz": [2619, 2619], "power_w": [500.0, 650.0], "temp_c": [42, 44],
        "reasons": 4 | 64,
    }  # fmt: skip


@pytest.mark.usefixtures("nvml")
def test_the_next_case_has_readings_of_its_own(driver: Driver) -> None:
    found = driver.time("drags", incumbent="drags", quads=64)["cases"]["6001"]["telemetry"]
    assert (found["sm_mhz"], found["reasons"]) == ([1710, 1710], 0)


def test_without_the_library_there_is_none(driver: Driver) -> None:
    assert driver.time()["cases"]["4000"]["telemetry"] is None
