"""On the host: reads a GPU's telemetry while a command runs, through NVML if installed.

The names and numbers are those of NVML's own header, nvml.h. Runs under Python 3.6, as all that is sent to a host.
"""

import ctypes
from typing import Any, NamedTuple

LIBRARY = "libnvidia-ml.so.1"
CLOCK_SM, CLOCK_MEMORY, TEMPERATURE_GPU = 1, 2, 0
IDLE = 1


class Reading(NamedTuple):
    sm_mhz: int
    mem_mhz: int
    power_w: float
    temp_c: int
    reasons: int


class NvmlGpu:
    """The device with this UUID. Without the NVML library, or without the device, no reading is ever taken."""

    def __init__(self, uuid: str) -> None:
        self._device = ctypes.c_void_p()
        self._seen = []  # type: list[Reading]
        try:
            self._library = ctypes.CDLL(LIBRARY)  # type: ctypes.CDLL | None
            self._ask("nvmlInit_v2")
            self._ask("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(self._device))
        except (OSError, AttributeError):  # not installed, too old, or it knows no such device
            self._library = None

    def look(self) -> None:
        """Take a reading. It is kept only if the device is not idle: else it says nothing about the command."""
        if self._library is None:
            return
        try:
            reading = Reading(
                self._number("nvmlDeviceGetClockInfo", CLOCK_SM),
                self._number("nvmlDeviceGetClockInfo", CLOCK_MEMORY),
                self._number("nvmlDeviceGetPowerUsage") / 1e3,
                self._number("nvmlDeviceGetTemperature", TEMPERATURE_GPU),
                self._number("nvmlDeviceGetCurrentClocksThrottleReasons", wide=True),
            )
        except (OSError, AttributeError):
            self._library = None
            return
        if not reading.reasons & IDLE:
            self._seen.append(reading)

    def said(self) -> "dict[str, Any] | None":
        """Return the least and the most of all readings, as `ClockReadings` has them; None when there is no reading."""
        if not self._seen:
            return None
        found = {}  # type: dict[str, Any]
        for name in ("sm_mhz", "mem_mhz", "power_w", "temp_c"):
            values = [getattr(reading, name) for reading in self._seen]
            found[name] = [min(values), max(values)]
        found["reasons"] = 0
        for reading in self._seen:
            found["reasons"] |= reading.reasons
        return found

    def _number(self, function: str, *which: int, wide: bool = False) -> int:
        answer = ctypes.c_ulonglong() if wide else ctypes.c_uint()
        self._ask(function, self._device, *which, ctypes.byref(answer))
        return int(answer.value)

    def _ask(self, function: str, *arguments: Any) -> None:
        """Call a function of NVML. Raises OSError when NVML refuses."""
        status = getattr(self._library, function)(*arguments)
        if status:
            raise OSError(status, function)
