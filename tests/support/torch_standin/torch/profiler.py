"""A profiler that sees nothing, as CUPTI does where it may not."""

from contextlib import contextmanager
from types import SimpleNamespace


class ProfilerActivity:
    CUDA = 1


@contextmanager
def profile(activities):
    yield SimpleNamespace(events=tuple)
