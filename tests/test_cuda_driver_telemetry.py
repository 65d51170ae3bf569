"""What the CUDA driver reports of a GPU's clocks, with a library that stands in for NVML and answers from a list."""

import subprocess

import pytest

from tests.cuda_driver import Driver, build

pytestmark = pytest.mark.slow

# Each reading asks for all five figures, the clock of the SMs first. The first reading comes while nothing runs yet.
NVML = """
static int reading;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = &reading; return index; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) { (void)uuid; *device = &reading; return 0; }
int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz) {
    static const unsigned sm[] = {345, 1905, 1980, 1710};
    (void)device;
    reading += which == 1;
    *mhz = which == 1 ? sm[reading <= 4 ? reading - 1 : 3] : 2619;
    return 0;
}
int nvmlDeviceGetPowerUsage(void *device, unsigned *mw) {
    (void)device;
    *mw = reading == 3 ? 650000 : 500000;
    return 0;
}
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *c) {
    (void)device;
    *c = sensor + (reading > 4 ? 44 : 40 + reading);
    return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons) {
    (void)device;
    *reasons = reading == 1 ? 1 : reading == 2 ? 4 : reading == 3 ? 64 : 0;
    return 0;
}
"""


@pytest.fixture(scope="module", name="driver")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return build(tmp_path_factory.mktemp("telemetry"))


@pytest.fixture(name="nvml")
def _nvml(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = driver.folder / "nvml"
    folder.mkdir(exist_ok=True)
    (folder / "nvml.c").write_text(NVML)
    command = ["gcc", "-shared", "-fPIC", "-Wall", "nvml.c", "-o", "libnvidia-ml.so.1"]
    subprocess.run(command, cwd=folder, check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
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
