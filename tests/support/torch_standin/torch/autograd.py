"""Where an event of the profiler was."""

from enum import Enum


class DeviceType(Enum):
    CUDA = 1
