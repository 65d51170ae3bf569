"""The filter of a worker's system calls, in a process of its own."""

import subprocess
import sys

import pytest

from kpd.measure.python.host.calls import EVERYWHERE, FILES, KNOWN
from tests.support.patience import PATIENCE_S

TRIES = """
import ctypes, errno, mmap, os, resource, signal, subprocess, sys, threading
from kpd.measure.python.host import calls
gpu = sys.argv[1] == "gpu"
libc = ctypes.CDLL(None, use_errno=True)
known = calls.KNOWN[os.uname().machine]
some = known.some
def refused(*call):
    ctypes.set_errno(0)
    return libc.syscall(*call) == -1 and ctypes.get_errno() == errno.EPERM
installed, in_thread = threading.Event(), []
earlier = threading.Thread(target=lambda: installed.wait() and in_thread.append(refused(known.forbidden[0], *[-1] * 6)))
earlier.start()
if not calls.forbid(gpu): raise SystemExit("no filter")
installed.set()
earlier.join()
assert in_thread == [True]
own = os.getpid()
forbidden = (*known.forbidden, *calls.EVERYWHERE, *known.scheduling, *(() if gpu else (*known.of_a_gpu, *calls.FILES)))
assert [one for one in forbidden if not refused(one, *[-1] * 6)] == []
assert all(refused(some["fcntl"], 0, what, 0) for what in calls.SIGNALS)
assert refused(some["kill"], own, signal.SIGCONT)
assert refused(some["tgkill"], own, threading.get_native_id(), signal.SIGCONT)
assert refused(some["prlimit64"], os.getppid(), 0, None, None)
assert all(refused(one, os.getppid(), 0, None, None) for one in known.scheduling)
if gpu:
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    assert subprocess.run(["sh", "-c", "exit 7"]).returncode == 7
else:
    assert refused(some["kill"], os.getppid(), 0) and refused(some["clone"], 17, 0, 0, 0, 0)
    assert refused(some["mmap"], 0, 4096, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, -1, 0)
resource.getrlimit(resource.RLIMIT_DATA), os.kill(own, 0), signal.raise_signal(signal.SIGURG)
mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), os.get_inheritable(0)
print("held")
"""


UNDER_A_PROFILER = """
import ctypes, errno, os, subprocess
from kpd.measure.python.host import calls
libc = ctypes.CDLL(None, use_errno=True)
known = calls.KNOWN[os.uname().machine]
if not calls.narrow(): raise SystemExit("no filter")
def allowed(number, *given):
    ctypes.set_errno(0)
    return libc.syscall(number, *given) != -1 or ctypes.get_errno() != errno.EPERM
assert [one for one in known.of_the_machine if allowed(one, *[-1] * 6)] == []
assert [one for one in known.scheduling if allowed(one, os.getppid(), 0, None, None)] == []
os.sched_setaffinity(0, os.sched_getaffinity(0)), os.kill(os.getppid(), 0)
assert subprocess.run(["sh", "-c", "exit 7"]).returncode == 7
print("held")
"""


def test_under_a_profiler_the_machine_and_others_schedules_stay_as_they_are() -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNDER_A_PROFILER], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.stdout, done.stderr) == ("held\n", "")


@pytest.mark.parametrize("where", ["cpu", "gpu"])
def test_what_is_forbidden_is_refused_and_what_python_needs_is_not(where: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRIES, where], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.stdout, done.stderr) == ("held\n", "")


@pytest.mark.parametrize("machine", KNOWN)
def test_no_call_is_named_twice(machine: str) -> None:
    known = KNOWN[machine]
    assert len(set(known.of_the_machine)) == len(known.of_the_machine)
    numbers = [*known.forbidden, *known.of_a_gpu, *known.scheduling, *EVERYWHERE, *FILES, *known.some.values()]
    assert len(numbers) == len(set(numbers))
