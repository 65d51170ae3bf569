"""A kernel that reaches for the driver, other processes or the host gets an error for each attempt, and a verdict."""

import os
import platform
import signal
from itertools import count
from pathlib import Path

import pytest

from kpd.hosts.helper import sandbox
from kpd.measure import compiling
from kpd.measure.bench import CheckFailed
from kpd.measure.c import build as c_build
from kpd.measure.compiling import BuildError
from kpd.measure.driver.check import check
from tests.support.measure.measured import LOOP, QUICK, RIGHT, Lab, kernel, lab

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sandbox.version() < 6, reason="this kernel's Landlock is too old"),
]

INCLUDES = """#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
static char text[4096];
static int reads(const char *file) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", getppid(), file);
    int opened = open(path, O_RDONLY);
    return opened < 0 ? -1 : (int)read(opened, text, sizeof text) > 0 ? 0 : -1;
}
static int gets_parent_memory(void) {
    struct iovec here = {text, 8}, there = {(void *)environ, 8};
    return process_vm_readv(getppid(), &here, 1, &there, 1, 0) > 0 ? 0 : -1;
}
static int limits_parent(void) {
    struct rlimit none = {1, 1};
    return prlimit(getppid(), RLIMIT_CPU, &none, NULL);
}
static int writes_stdout(void) {
    return open("stdout", O_WRONLY | O_APPEND) < 0 && open("../stdout", O_WRONLY) < 0 ? -1 : 0;
}
static int writes_on_all(void) {
    int done = -1;
    for (int to = 3; to < 1024; to++) {
        struct stat about;
        if (!fstat(to, &about) && S_ISREG(about.st_mode) && write(to, "{}\\n", 3) == 3) done = 0;
    }
    return done;
}
static int sees_others(void) {
    DIR *jobs = opendir("..");
    return jobs ? 0 : -1;
}
static int unshares(void) { return unshare(CLONE_NEWUSER); }
static int forks(void) {
    int child = fork();
    if (!child) _exit(0);
    return child;
}
"""

ATTEMPTS = {
    "read the driver's memory": 'reads("mem")',
    "read the driver's environment": 'reads("environ")',
    "read the driver's map": 'reads("maps")',
    "read the driver's standard input": 'reads("fd/0")',
    "copy the driver's memory": "gets_parent_memory()",
    "trace the driver": "(int)ptrace(PTRACE_ATTACH, getppid(), 0, 0)",
    "seize the driver": "(int)ptrace(PTRACE_SEIZE, getppid(), 0, 0)",
    "a descriptor of the driver": "(int)syscall(SYS_pidfd_open, getppid(), 0)",
    "kill the driver": "kill(getppid(), SIGKILL)",
    "stop the driver": "kill(getppid(), SIGSTOP)",
    "kill all": "kill(-1, SIGKILL)",
    "kill the group": "kill(0, SIGKILL)",
    "kill with a value": "(int)syscall(SYS_rt_sigqueueinfo, getppid(), SIGKILL, text)",
    "limit the driver": "limits_parent()",
    "make the driver idle": "sched_setscheduler(getppid(), SCHED_IDLE, &(struct sched_param){0})",
    "change how the driver is scheduled": "sched_setparam(getppid(), &(struct sched_param){0})",
    "schedule the driver by attributes": "(int)syscall(SYS_sched_setattr, getppid(), &(int[16]){48, SCHED_IDLE}, 0)",
    "move the driver to a CPU": "sched_setaffinity(getppid(), sizeof(cpu_set_t), &(cpu_set_t){{1}})",
    "make the driver nice": "setpriority(PRIO_PROCESS, getppid(), 19)",
    "make all of the user nice": "setpriority(PRIO_USER, 0, 19)",
    "let the driver's files wait": "(int)syscall(SYS_ioprio_set, 1, getppid(), 3 << 13)",
    "write the report": "writes_stdout()",
    "write on what was left open": "writes_on_all()",
    "list other jobs": "sees_others()",
    "make a file": 'open("left", O_CREAT | O_WRONLY, 0600)',
    "make a file in /tmp": 'open("/tmp/left-by-a-kernel", O_CREAT | O_WRONLY, 0600)',
    "make shared memory": 'shm_open("/left-by-a-kernel", O_CREAT | O_RDWR, 0600)',
    "read the passwords": 'open("/etc/shadow", O_RDONLY)',
    "connect": "socket(AF_INET, SOCK_STREAM, 0)",
    "a local socket": "socket(AF_UNIX, SOCK_STREAM, 0)",
    "start a process": "forks()",
    "start a program": '(int)execl("/bin/true", "true", NULL)',
    "become another root": "unshares()",
    "an io_uring": "(int)syscall(425, 4, text)",
}
_numbers = count()


def attacker(act: str) -> str:
    before = (
        f"{INCLUDES}__attribute__((constructor)) static void attack(void) {{ errno = 0; int got = {act};"
        ' fprintf(stderr, "attack: %d %d\\n", got, errno); }'
    )
    return kernel(LOOP, before)


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("sandbox")) as ready:
        yield ready


async def said_by(lab: Lab, act: str) -> str:
    """Return what a right kernel writes to stderr whose constructor tries `act`: what that returned, and errno."""
    said: list[str] = []
    built = await lab.build(attacker(act), "-O2", "-D_GNU_SOURCE")
    passed = await check(lab.host, lab.harness, built.job, f"attack{next(_numbers)}", QUICK, lab.where, said.append)
    assert passed.comparisons
    return "".join(said)


def left_behind() -> list[str]:
    return [place for place in ("/tmp/left-by-a-kernel", "/dev/shm/left-by-a-kernel") if Path(place).exists()]


@pytest.mark.parametrize("what", ATTEMPTS)
async def test_an_attempt_of_a_kernel_fails_and_its_driver_goes_on(lab: Lab, what: str) -> None:
    assert "attack: -1 " in await said_by(lab, ATTEMPTS[what])
    assert not left_behind()


async def test_a_process_outside_the_job_cannot_be_killed(lab: Lab) -> None:
    assert "attack: -1 1\n" in await said_by(lab, f"kill({os.getpid()}, {int(signal.SIGTERM)})")


async def test_threads_and_memory_of_its_own_are_a_kernels_right(lab: Lab) -> None:
    act = "pthread_create(&one, NULL, work, NULL); pthread_join(one, NULL); free(malloc(64 << 20));"
    work = "#include <pthread.h>\nstatic void *work(void *given) { return given; }"
    assert (await lab.check(kernel(f"pthread_t one; {act} {LOOP}", work))).comparisons


async def test_a_kernel_has_the_threads_it_needs_and_no_more(lab: Lab) -> None:
    work = "#include <pthread.h>\n#include <unistd.h>\nstatic void *work(void *given) { pause(); return given; }"
    small = (
        "pthread_attr_t at; pthread_attr_init(&at); pthread_attr_setstacksize(&at, 1 << 16);"  # memory is limited, too
    )
    starts = (
        f"{small} static int started; pthread_t one; while (started++ < 2000) pthread_create(&one, &at, work, NULL);"
    )
    with pytest.raises(CheckFailed, match=r"has more than \d+ threads"):
        await lab.check(kernel(f"{starts} {LOOP}", work))


async def test_a_kernel_has_the_memory_it_needs_and_no_more(lab: Lab) -> None:
    takes = "static char *kept; size_t bytes = (size_t)N << 20; if (!kept) memset(kept = malloc(bytes), 1, bytes);"
    assert (await lab.check(kernel(f"{takes.replace('N', '240')} {LOOP}", "#include <string.h>"))).comparisons
    above = str(400 + 16 * (os.cpu_count() or 1))  # its buffers are small
    with pytest.raises(
        CheckFailed, match=r"crashed with SIGSEGV \(it may have been refused memory: a kernel gets \d+ MiB\)"
    ):
        await lab.check(kernel(f"{takes.replace('N', above)} {LOOP}", "#include <string.h>"))


async def test_a_kernel_has_the_stack_it_needs_and_no_more(lab: Lab) -> None:
    """As one of a program's threads may have."""
    takes = "volatile char taken[N << 10]; for (long i = 0; i < N << 10; i += 4096) taken[i] = 1;"
    assert (await lab.check(kernel(f"{takes.replace('N', '900')} {LOOP}"))).comparisons
    with pytest.raises(CheckFailed, match=r"crashed with SIGSEGV \(it needs more stack: a kernel gets 1 MiB\)"):
        await lab.check(kernel(f"{takes.replace('N', '1100')} {LOOP}"))


async def test_a_compiler_has_the_memory_it_needs_and_no_more(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    ten = "".join(f"#define M{n} {' '.join([f'M{n - 1}'] * 10)}\n" for n in range(1, 7))
    bomb = kernel(f"{LOOP} M6", f"#define M0 y[0] += x[0] * 3;\n{ten}")
    monkeypatch.setattr(c_build, "MEMORY_MIB", 64)
    with pytest.raises(BuildError, match="the compiler needs more than 64 MiB of memory"):
        await lab.build(bomb)


async def test_a_compiler_fills_no_disk(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "FILE_MIB", 1)
    with pytest.raises(BuildError, match="the compiler makes a file of more than 1 MiB"):
        await lab.build(kernel(LOOP, '__asm__(".fill 4000000, 1, 7");'))


async def test_once_it_is_loaded_a_kernel_maps_memory_but_no_code(lab: Lab) -> None:
    acts = (
        "mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED",
        "mmap(0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED",
        "madvise((void *)((uintptr_t)x & ~4095ul), 4096, MADV_DONTNEED)",
        "prctl(PR_SET_TSC, PR_TSC_SIGSEGV)",
        "setpriority(PRIO_PROCESS, 0, 19)",
        'open("stdout", O_WRONLY)',
        'truncate("stdout", 0)',
        "ftruncate(-1, 0) && errno == EPERM",
        "mremap((void *)((uintptr_t)&blend & ~4095ul), 4096, 4096, 3, (void *)0x200000000000) == MAP_FAILED",
        "mmap(0, 4096, 5, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EPERM",
        "!madvise((void *)((uintptr_t)x & ~4095ul), 4096, 22 /* MADV_POPULATE_READ */)",
        "sched_setaffinity(0, sizeof(cpu_set_t), &(cpu_set_t){{1}})",
        "sigaction(SIGSEGV, &(struct sigaction){0}, 0)",
    )
    includes = "".join(
        f"#include <{name}.h>\n"
        for name in (
            "errno",
            "fcntl",
            "sched",
            "signal",
            "stdint",
            "stdio",
            "sys/mman",
            "sys/prctl",
            "sys/resource",
            "unistd",
        )
    )
    tries = "".join(f'fprintf(stderr, "%d ", ({act}) != 0 ? 1 : 0);' for act in acts)
    said: list[str] = []
    built = await lab.build(kernel(f"{tries} {LOOP}", includes), "-O2", "-D_GNU_SOURCE")
    passed = await check(lab.host, lab.harness, built.job, "tries", QUICK, lab.where, said.append)
    assert passed.comparisons
    assert set("".join(said).split()) == {"1"}
    for act in (
        "mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);",
        "mprotect((void *)&blend, 4096, 7);",
        "madvise((void *)((unsigned long)x & ~4095ul), 4096, 21);",
    ):
        with pytest.raises(CheckFailed, match="crashed with SIGSYS"):
            before = "#include <sys/mman.h>\nextern int madvise(void *, size_t, int);\n"
            await lab.check(kernel(f"{act} {LOOP}", before))


async def test_a_kernel_gives_the_floating_point_modes_back(lab: Lab) -> None:
    with pytest.raises(CheckFailed, match="other modes of the processor"):
        await lab.check(kernel(f"fesetround(FE_UPWARD); {LOOP}", "#include <fenv.h>"))
    asks = "fenv_t was; feholdexcept(&was); fesetround(FE_UPWARD); fesetround(FE_TONEAREST); fesetenv(&was);"
    assert (await lab.check(kernel(f"{asks} {LOOP}", "#include <fenv.h>"))).comparisons


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="has instructions of x86-64")
@pytest.mark.parametrize(
    ("leaves", "mends"),
    [("std", "cld"), ("fld1", "fstp %st(0)"), ("pxor %mm0, %mm0", "emms"), (
        "pushf\\n orl $0x40000, (%rsp)\\n popf", "pushf\\n andl $~0x40000, (%rsp)\\n popf"
    )],
    ids=["direction", "x87", "MMX", "alignment"],
)  # fmt: skip
async def test_a_kernel_gives_the_processor_back_as_the_calling_convention_says(
    lab: Lab, leaves: str, mends: str
) -> None:
    def source(text: str) -> str:
        red_zone = f"sub $128, %rsp\\n {text}\\n lea 128(%rsp), %rsp"
        return kernel(f'{LOOP} __asm__ volatile("{red_zone}");')

    with pytest.raises(CheckFailed, match="other modes of the processor"):
        await lab.check(source(leaves))
    assert (await lab.check(source(f"{leaves}\\n {mends}"))).comparisons


async def test_a_candidate_cannot_write_over_another_build(lab: Lab) -> None:
    other = await lab.build(RIGHT)
    victim = f"{lab.host.root}/jobs/{other.job}/out/kernel.so"
    before = await lab.host.read(victim, 1 << 20)
    assert "attack: -1 " in await said_by(lab, f'open("{victim}", O_WRONLY | O_TRUNC)')
    assert await lab.host.read(victim, 1 << 20) == before
