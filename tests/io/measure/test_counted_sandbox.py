"""A kernel on a CPU reaches no more while its counters are read than in a worker."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.hosts.helper import sandbox
from kpd.measure import jobs
from kpd.measure.driver.harness import OBJECT
from tests.support.measure.measured import LOOP, kernel, lab, local_host
from tests.support.measure.python_tasks import built, ready, small_task

INCLUDES = """#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
static int forks(void) {
    int child = fork();
    if (!child) _exit(0);
    return child;
}
static int is_capable(void) {
    struct __user_cap_header_struct version = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct has[2];
    return syscall(SYS_capget, &version, has) || has[0].effective || has[1].effective ? 0 : -1;
}
static int opens_many(void) {
    for (int i = 0; i < 2000; i++) if (open("/dev/null", O_RDONLY) < 0) return -1;
    return 0;
}
"""
AT_LOAD = {
    "start a process": "forks()",
    "start a program": '(int)execl("/bin/true", "true", NULL)',
    "connect": "socket(AF_INET, SOCK_STREAM, 0)",
    "a local socket": "socket(AF_UNIX, SOCK_STREAM, 0)",
    "a file of the job": 'open("left", O_CREAT | O_WRONLY, 0600)',
    "stop what counts": "kill(getppid(), SIGSTOP)",
    "move what counts to a CPU": "sched_setaffinity(getppid(), sizeof(cpu_set_t), &(cpu_set_t){{1}})",
    "make all of the user nice": "setpriority(PRIO_USER, 0, 19)",
    "have what only root may": "is_capable()",
    "open files without end": "opens_many()",
}
LATER = {
    "another handler": "sigaction(SIGSEGV, &(struct sigaction){0}, 0)",
    "other memory for all": "mmap(0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0",
}


def tries(acts: dict[str, str]) -> str:
    return "".join(f'fprintf(stderr, "%s: %d\\n", "{name}", {act});' for name, act in acts.items())


@pytest.mark.skipif(sandbox.version() < 6, reason="this kernel's Landlock is too old")
async def test_a_kernel_whose_counters_are_read_is_confined_like_any(tmp_path: Path) -> None:
    """As the job of `DriverBench.counted`, without the `perf` around it."""
    at_load = f"__attribute__((constructor)) static void attack(void) {{ {tries(AT_LOAD)} }}"
    once = f"static int done; if (!done++) {{ {tries(LATER)} }} {LOOP}"
    async with lab(tmp_path) as ready:
        built = await ready.build(kernel(once, INCLUDES + at_load), "-O2", "-D_GNU_SOURCE")
        path = jobs.out(ready.host, built.job, OBJECT)
        script = jobs.words([ready.harness.program, "run", path, "10"])
        ran = await jobs.run(ready.host, replace(ready.where, capable=True).spec("perf", script, 20.0))
    assert ran.rc == 0
    assert ran.stderr.decode().splitlines() == [f"{name}: -1" for name in (*AT_LOAD, *LATER)]


CALLABLE = """\
import os, socket, sys
def refused(act, *given):
    try: act(*given)
    except OSError: return True
    return False
acts = [
    refused(os.fork), refused(os.execv, "/bin/true", ["true"]), refused(socket.socket), refused(os.mkdir, "left"),
    refused(os.kill, os.getppid(), 19), refused(os.sched_setaffinity, os.getppid(), {0}),
    refused(os.setpriority, os.PRIO_USER, 0, 19),
    "CapEff:\\t0000000000000000" in open("/proc/self/status").read(),
]
print("refused:", acts.count(True), "of", len(acts), file=sys.stderr)
def kernel(a, b):
    return 2 * a + b
"""


@pytest.mark.skipif(sandbox.version() < 6, reason="this kernel's Landlock is too old")
async def test_a_callable_whose_counters_are_read_is_confined_like_any(tmp_path: Path) -> None:
    async with local_host(tmp_path / "host") as host:
        bench = await ready(host, small_task(tmp_path, CALLABLE))
        job = await built(bench)
        ran = await bench.counted(job, "perf", lambda calls: calls(10), print)
    assert (ran.rc, ran.stderr.decode()) == (0, "refused: 8 of 8\n")
