"""What an object has registered for the end of its process, which kpd looks at after the calls on unchanged inputs."""

import pytest

from kpd.measure.bench import CheckFailed
from kpd.model.defects import Crashed, Defect, LeftProcess, NoReturn
from kpd.text.faults import wrong
from tests.support.measure.measured import Lab
from tests.support.measure.sizes import LOOP, _lab, kernel, repeated

__all__ = ["_lab"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

INCLUDES = "#include <pthread.h>\n#include <signal.h>\n#include <stdio.h>\n#include <time.h>\n#include <unistd.h>\n"
SLEEP = "struct timespec rest = {%d, 0}; nanosleep(&rest, 0);"
CLOSES_ALL = "for (int file = 3; file < 64; file++) close(file);"
POOL = """
#define HANDS 3
static pthread_t hands[HANDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int done;
static void *wait_for_more(void *unused) {
    pthread_mutex_lock(&lock);
    while (!done) pthread_cond_wait(&more, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
static void start(void) {
    for (int i = 0; i < HANDS && !hands[i]; i++) pthread_create(&hands[i], 0, wait_for_more, 0);
}
"""


def at_exit(does: str) -> str:
    """A right kernel that does this in a function of atexit."""
    before = f"{INCLUDES}static int known; static void at_end(void) {{ {does} }}"
    return kernel(f"{LOOP} if (!known) known = !atexit(at_end);", before)


def destroys(does: str, body: str = "", before: str = "") -> str:
    """A right kernel, `body` in its calls, that does this in a destructor."""
    last = f"__attribute__((destructor)) static void last(void) {{ {does} }}"
    return kernel(f"{LOOP} {body}", f"{INCLUDES}{before}{last}")


BAD: dict[str, tuple[str, Defect]] = {
    "aborts": (at_exit("abort();"), Crashed(6)),
    "crashes": (destroys("*(volatile int *)8 = 1;"), Crashed(11)),
    "has a status of its own": (at_exit("exit(3);"), LeftProcess("with status 3")),
    "leaves out what comes after it": (at_exit("_exit(0);"), LeftProcess("with status 0")),
    "sleeps too long": (at_exit(SLEEP % 12), NoReturn("10 s")),
    "stops": (destroys("raise(SIGSTOP);"), NoReturn("10 s")),
    "looks as if it had ended": (at_exit(f"{CLOSES_ALL} for (;;) pause();"), NoReturn("10 s")),
}


@pytest.mark.parametrize("what", BAD)
async def test_a_kernel_whose_process_does_not_end_well_is_found(lab: Lab, what: str) -> None:
    source, defect = BAD[what]
    with pytest.raises(CheckFailed) as caught:
        await repeated(lab, source)
    assert caught.value.wrong.what == defect
    assert not caught.value.wrong.by_incumbent
    assert wrong(caught.value.wrong).endswith(" (when its process ends, in destructors or functions of atexit)")


async def test_a_kernel_that_ends_with_the_status_that_it_is_told_is_found(lab: Lab) -> None:
    """Functions of atexit are told the status; those before them, and the process's own last word, are left out."""
    before = (
        f"{INCLUDES}int __cxa_atexit(void (*)(void *), void *, void *); static int known;"
        "static void at_end(void *unused, int status) { _exit(status); }"
    )
    source = kernel(f"{LOOP} if (!known++) __cxa_atexit((void (*)(void *))at_end, 0, 0);", before)
    with pytest.raises(CheckFailed) as caught:
        await repeated(lab, source)
    assert isinstance(caught.value.wrong.what, LeftProcess)


async def test_no_candidate_has_to_end_better_than_the_tasks_own_kernel(lab: Lab) -> None:
    assert await repeated(lab, BAD["has a status of its own"][0], own=BAD["aborts"][0]) >= 4


GOOD = {
    "sleeps": at_exit(SLEEP % 2),
    "gives memory back": destroys("free(kept);", "if (!kept) kept = malloc(1 << 20);", "static float *kept;"),
    "joins its pool": destroys(
        "pthread_mutex_lock(&lock); done = 1; pthread_cond_broadcast(&more); pthread_mutex_unlock(&lock);"
        "for (int i = 0; i < HANDS; i++) pthread_join(hands[i], 0);",
        "start();",
        POOL,
    ),
    "lets its pool wait": kernel(f"{LOOP} start();", INCLUDES + POOL),
    "starts a thread": destroys(
        "done = 1; start(); for (int i = 0; i < HANDS; i++) pthread_join(hands[i], 0);", "", POOL
    ),
    "prints": at_exit('puts("seen"); fprintf(stderr, "seen\\n"); fflush(stdout);'),
}


@pytest.mark.parametrize("what", GOOD)
async def test_what_ends_well_is_none(lab: Lab, what: str) -> None:
    assert await repeated(lab, GOOD[what]) >= 4
