"""Right kernels pass and wrong ones are told what is wrong, with a real compiler and real processes."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.bench import CheckFailed
from kpd.measure.driver.check import check
from tests.support.measure.measured import LOOP, QUICK, RIGHT, Lab, kernel, lab

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("check")) as ready:
        yield ready


FAKE_REPORT = json.dumps(
    '{"comparisons":9,"worst":0,"case":"","distribution":"","output":"y","index":0,"failed":[],"problem":null}'
)
"""As a string literal of C."""

WRONG = {
    "the last element is left out": (
        kernel(LOOP.replace("i < n", "i < n - 1")),
        r"y\[(4095|1002)\] is unwritten, should be .*wrong in 10 of the combinations",
    ),
    "a block in the middle is left out": (
        kernel(LOOP.replace("y[i] =", "if (i < 512 || i >= 600) y[i] =")),
        r"y\[512\] is unwritten, should be .* \(88 of ",
    ),
    "only a tail is wrong": (
        kernel(f"{LOOP} if (n % 8) y[n - 1] += 1.0f;"),
        r"^1003, \w+: y\[1002\] is .*, should be .* times the tolerance \(1 of 2006 elements wrong\)",
    ),
    "one element of the 64-bit output is off by little": (
        kernel(f"{LOOP} t[7] *= 1.001;"),
        r"t\[7\] is \S+, should be \S+, \S+ times the tolerance",
    ),
    "adds to what the output held": (kernel(LOOP.replace("y[i] =", "y[i] +=")), r"y\[0\] is nan"),
    "not a number": (kernel(f"{LOOP} y[3] = (float)(0.0 / (double)(n - n));"), r"y\[3\] is nan"),
    "infinite": (kernel(f"{LOOP} y[3] = 1e38f * (float)n;"), r"y\[3\] is inf"),
    "changes an input": (kernel(f"{LOOP} s[5] += 1.0;"), r"wrote to its input s, at s\[5\]"),
    "writes past the end": (kernel(f"{LOOP} y[n] = 0.0f;"), r"wrote past the end of y, at y\[(4096|1003)\]"),
    "writes before the start": (kernel(f"{LOOP} t[-1] = 0.0;"), r"wrote before t, at t\[-1\]"),
    "reads past the end": (
        kernel(f"{LOOP} y[n - 1] += 0.0f * x[n];"),
        r"read past the end of x, at x\[4096\]|y\[1002\] is nan",
    ),
    "returns early for buffers it has seen": (
        kernel(f"static float *seen; if (seen == x) return; seen = x; {LOOP}"),
        r"constant: y\[0\] is unwritten",
    ),
    "is right only where it has been first": (
        kernel(
            f"static float *first[2]; float **at = &first[n % 2]; if (!*at) *at = y; {LOOP} if (*at != y) y[7] += 1.0f;"
        ),
        r"y\[7\] is .*, should be",
    ),
    "reaches one buffer from another by a distance of 32 bits": (
        kernel(f"int far = (int)((char *)y - (char *)x);y = (float *)(void *)((char *)x + far); {LOOP}"),
        "crashed with SIG(SEGV|BUS)|is unwritten|should be",
    ),
    "leaves its buffers no other place": (
        kernel(
            LOOP,
            "#include <sys/mman.h>\n__attribute__((constructor)) static void fill(void) {"
            "for (int i = 0; i < 70000; i++) mmap(0, 4096, i & 1, 34, -1, 0); }",
        ),
        "leaves its process no (place for a buffer|room for fences)",
    ),
    "leaves no room for fences": (
        kernel(
            f"static int known; for (; known < 70000; known++) mmap(0, 4096, known & 1, 34, -1, 0); {LOOP}",
            "#include <sys/mman.h>",
        ),
        "leaves its process no (place for a buffer|room for fences)",
    ),
    "keeps its result for the length it has seen": (
        kernel(
            "static float kept[8192]; static long held;"
            f"if (held != n) {{ {LOOP} for (long i = 0; i < n; i++) kept[i] = y[i]; held = n; }}"
            "for (long i = 0; i < n; i++) { y[i] = kept[i]; t[i] = x[i] * s[i]; }"
        ),
        r"y\[\d+\] is .*, should be",
    ),
    "crashes": (kernel("*(volatile int *)8 = 1;"), "crashed with SIG(SEGV|BUS)"),
    "aborts and says why": (kernel('fprintf(stderr, "bad shape\\n"); abort();'), r"crashed with SIGABRT \(bad shape\)"),
    "prints without end": (kernel('for (;;) fputs("0123456789abcdef", stderr);'), "crashed with SIGXFSZ"),
    "ends the process": (kernel(f"{LOOP} exit(0);"), "ended the process instead of returning"),
    "forges a report": (
        kernel(f"puts({FAKE_REPORT}); fflush(stdout); _Exit(0);"),
        "ended the process instead of returning",
    ),
    "is not there": ("void blended(void) {}", "the object cannot be loaded: no function blend"),
}


async def test_a_right_kernel_passes(lab: Lab) -> None:
    found = await lab.check(RIGHT, replace(QUICK, seeds=2))
    assert found.comparisons == 2 * 5 * 2 * (4096 + 1003)
    assert 0 <= found.worst <= 1
    assert re.fullmatch(r"(4096|1003), (normal|constant|heavy_tail|denormal|large): [yt]\[\d+\]", found.where)


@pytest.mark.parametrize("what", WRONG)
async def test_a_wrong_kernel_is_told_what_is_wrong(lab: Lab, what: str) -> None:
    source, said = WRONG[what]
    with pytest.raises(CheckFailed) as caught:
        await lab.check(source)
    assert re.search(said, str(caught.value)), str(caught.value)


async def test_a_kernel_that_hangs_is_ended_and_blamed(lab: Lab) -> None:
    with pytest.raises(CheckFailed, match="4096, normal: did not return in time"):
        await lab.check(kernel("for (volatile int i = 0;; i++) {}"), replace(QUICK, limit_s=2.0))
    assert await lab.host.running() == []


async def test_an_object_that_hangs_while_it_is_loaded_is_blamed(lab: Lab) -> None:
    source = f"__attribute__((constructor)) static void stay(void) {{ for (volatile int i = 0;; i++) {{}} }}\n{RIGHT}"
    with pytest.raises(CheckFailed, match="did not return in time"):
        await lab.check(source, replace(QUICK, limit_s=2.0))


async def test_a_check_is_run_once_and_read_again(lab: Lab) -> None:
    built = await lab.build(RIGHT)
    first = await check(lab.host, lab.harness, built.job, "same", QUICK)
    assert await check(lab.host, lab.harness, built.job, "same", QUICK) == first


async def test_secret_inputs_differ_from_check_to_check(lab: Lab) -> None:
    """Seeds are fresh, so the largest error of a kernel that rounds is elsewhere each time."""
    rounds = kernel(LOOP.replace("2.0f * x[i] + 1.0f", "(2.0f * x[i] + 1.0f) * (1.0f + 5e-6f)"))
    found = [await lab.check(rounds) for _ in range(3)]
    assert len({(one.worst, one.where) for one in found}) > 1


async def test_an_object_that_is_gone_is_the_hosts_trouble(lab: Lab) -> None:
    with pytest.raises(HostError, match="gone") as caught:
        await check(lab.host, lab.harness, "build-of-yesterday", "lonely", QUICK)
    assert caught.value.kind == "not_found"


async def test_a_harness_that_crashes_is_named_with_its_file(lab: Lab, tmp_path: Path) -> None:
    """The program is the driver and the harness in one; kernels run in another process."""
    program = tmp_path / "bench"
    program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    program.chmod(0o755)
    built = await lab.build(RIGHT)
    with pytest.raises(HostError, match=r"the task's harness\.c crashed in the check \(SIGSEGV\)") as caught:
        await check(lab.host, replace(lab.harness, program=str(program)), built.job, "crash", QUICK)
    assert "look in harness.c" in caught.value.remedy


async def test_the_harness_describes_its_cases(lab: Lab) -> None:
    assert [(case.name, case.dims, case.bytes["x"], case.bytes["t"]) for case in lab.harness.cases] == [
        ("4096", {"n": 4096}, 16384, 32768),
        ("1003", {"n": 1003}, 4012, 8024),
    ]
