"""A library that passes for NVML and answers from a list."""

import subprocess
from pathlib import Path

# Each reading asks for all five figures, the clock of the SMs first. The first reading comes while nothing runs yet.
SOURCE = """
static int reading;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = &reading; return index; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
    *device = &reading;
    return uuid[0] != 'G' || uuid[3] != '-';
}
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


def build(folder: Path) -> Path:
    """The folder that LD_LIBRARY_PATH has to name."""
    folder.mkdir(exist_ok=True)
    (folder / "nvml.c").write_text(SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "nvml.c", "-o", "libnvidia-ml.so.1"], cwd=folder, check=True)
    return folder
