"""What several rooms' tests share."""

import gc
import os
import signal
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import settings

from tests.places import TESTS
from tests.support.cuda_standin import compiled

pytest_plugins = ["tests.support.daemon.served"]

SLOW = TESTS / "slow"
LONG = 100  # characters of a parameter in a test's name

# How long an example takes says how busy the machine is.
settings.register_profile("kpd", deadline=None, max_examples=10)  # each run draws others
settings.register_profile("thorough", deadline=None, max_examples=70)  # make slow
settings.load_profile("kpd")

# Programs of the tests write into pipes as they do for users, buffered, and compile a module once for all of them.
for name in ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"):
    os.environ.pop(name, None)
sys.dont_write_bytecode = False

# `python3` of a task's command is the Python of the tests: a shim that looks for one takes 0.2 s of CPU at each start.
programs = f"{Path(sys.executable).parent}{os.pathsep}"
if not os.environ["PATH"].startswith(programs):  # a worker has it of its controller
    os.environ["PATH"] = programs + os.environ["PATH"]

# Where a shell runs the suite in the background, interrupts are ignored, and would be by every program of a test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        compiled.forget_old()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--half", type=int, choices=(0, 1), help="only the tests of every other file, by its name")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as slow what lies in tests/slow, and leave out what is of the other half."""
    for item in items:
        if SLOW in item.path.parents:
            item.add_marker(pytest.mark.slow)
    half = config.getoption("--half")
    others = [] if half is None else [item for item in items if _half(item.path) != half]
    if others:
        items[:] = [item for item in items if _half(item.path) == half]
        config.hook.pytest_deselected(items=others)


def _half(path: Path) -> int:
    return zlib.crc32(str(path.relative_to(TESTS)).encode()) % 2


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a long text by its beginning and length: each test's name is sent, compared and kept by every worker."""
    if isinstance(val, str | bytes) and len(val) > LONG:
        return f"{val[:LONG]!a} of {len(val)}"
    return None


# Thousands of tests are collected, and last as long as the suite: nobody need look for cycles in them again and again.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000)  # of the screens' tests a fifth of the time went into looking for cycles


def pytest_sessionfinish() -> None:
    gc.freeze()  # pytest looks for cycles five times before it leaves
