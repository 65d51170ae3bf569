"""A unit test starts no process and opens no connection: what does belongs into tests/io."""

import sys
from collections.abc import Generator

import pytest

from tests.places import TESTS

FORBIDDEN = {
    "subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system",
    "socket.bind", "socket.connect", "time.sleep",
}  # fmt: skip
UNIT = TESTS / "unit"
_running: list[str] = []  # the unit test under way


def _refuse(event: str, _arguments: tuple[object, ...]) -> None:
    if _running and event in FORBIDDEN:
        raise AssertionError(f"{event} in {_running[-1]}: move this test to tests/io")


sys.addaudithook(_refuse)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if UNIT not in item.path.parents:  # this hook is asked about every test of a session
        return (yield)
    _running.append(item.nodeid)
    try:
        return (yield)
    finally:
        _running.pop()
