"""The filter of a worker's system calls, in a process of its own."""

import subprocess
import sys

import pytest

from kpd.measure.python.host.calls import EVERYWHERE, KNOWN
from tests.support.patience import PATIENCE_S

TRIES = """
import ctypes, errno, os, resource, signal
from kpd.measure.python.host import calls
libc = ctypes.CDLL(None, use_errno=True)
if not calls.forbid(): raise SystemExit("no filter")
_, some, forbidden = calls.KNOWN[os.uname().machine]
def refused(*call):
    ctypes.set_errno(0)
    return libc.syscall(*call) == -1 and ctypes.get_errno() == errno.EPERM
own = os.getpid()
assert [one for one in (*forbidden, *calls.EVERYWHERE) if not refused(one, *[-1] * 6)] == []
assert refused(some["prlimit64"], os.getppid(), 0, None, None) and refused(some["kill"], os.getppid(), 0)
assert all(refused(some["fcntl"], 0, what, 0) for what in calls.SIGNALS)
assert refused(some["clone"], 17, 0, 0, 0, 0)
resource.getrlimit(resource.RLIMIT_DATA), os.kill(own, 0), os.get_inheritable(0)
print("held")
"""


def test_what_is_forbidden_is_refused_and_what_python_needs_is_not() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRIES], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.stdout, done.stderr) == ("held\n", "")


@pytest.mark.parametrize("machine", KNOWN)
def test_no_call_is_named_twice(machine: str) -> None:
    _, some, forbidden = KNOWN[machine]
    numbers = [*forbidden, *EVERYWHERE, *some.values()]
    assert len(numbers) == len(set(numbers))
