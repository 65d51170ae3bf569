"""What a kernel can be wrong at beside the named cases: other sizes, memory beside the buffers, NaN and infinities."""

import contextlib
import platform
from dataclasses import replace

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.bench import CheckFailed
from kpd.measure.c import layout
from kpd.measure.c.bench import harness
from kpd.measure.driver.check import check
from kpd.measure.driver.timing import time_pair
from kpd.model.defects import Complaint
from kpd.workspace.specs import CheckSpec
from tests.support.measure.measured import CPU, FEW, Lab
from tests.support.measure.sizes import ANY, HARNESS, LISTED, LOOP, RIGHT, _lab, checked, kernel, made, numbers

__all__ = ["_lab"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


def wrong_if(condition: str) -> str:
    return kernel(f"{LOOP} if ({condition}) y[n / 2] += 1.0f;")


UNLISTED = wrong_if("n != 1000")


async def test_garbage_at_a_size_that_no_case_names_is_found(lab: Lab) -> None:
    assert (await checked(lab, UNLISTED, LISTED)).worst < 1
    with pytest.raises(CheckFailed, match=r"n=\d+") as caught:
        await checked(lab, UNLISTED, replace(ANY, seeds=1))
    assert caught.value.wrong.case.startswith("n=")
    assert (await checked(lab, RIGHT)).worst < 1


@pytest.mark.parametrize("size", [1, 2, 997, 999, 1001, 1003])
async def test_sizes_near_a_case_and_one_and_primes_are_drawn(lab: Lab, size: int) -> None:
    with pytest.raises(CheckFailed, match=f"n={size}"):
        await checked(lab, wrong_if(f"n == {size}"), replace(ANY, seeds=256))


async def test_other_sizes_below_that_of_a_case_are_drawn(lab: Lab) -> None:
    with pytest.raises(CheckFailed, match=r"n=\d+"):
        await checked(lab, wrong_if("n % 2 == 0 && n < 997 && n > 2"), replace(ANY, seeds=64))


@pytest.mark.parametrize("condition", ["n > 1003", "n > 1003 && n % 2", "n > 1800"])
async def test_larger_sizes_than_that_of_a_case_are_drawn(lab: Lab, condition: str) -> None:
    with pytest.raises(CheckFailed, match=r"n=1\d{3}|n=2000"):
        await checked(lab, wrong_if(condition), replace(ANY, seeds=128))


async def test_each_seed_draws_a_larger_size_than_that_of_a_case(lab: Lab) -> None:
    with pytest.raises(CheckFailed, match=r"n=1\d{3}|n=2000"):
        await checked(lab, wrong_if("n > 1000"), replace(ANY, seeds=1))


async def test_no_size_is_drawn_that_is_more_than_twice_the_work_of_a_case(lab: Lab) -> None:
    assert (await checked(lab, wrong_if("n > 2000"), replace(ANY, seeds=256))).worst < 1
    with pytest.raises(CheckFailed, match=r"n=19[5-9]\d|n=2000"):
        await checked(lab, wrong_if("n >= 1950"), replace(ANY, seeds=256))


@pytest.mark.parametrize(
    ("limits", "never", "found"),
    [
        ("{.multiple = 8}", "n % 8", "n == 8"),
        ("{.multiple = 8}", "n > 2000 || n < 8", "n == 1024"),
        ("{.least = 998}", "n < 998", "n == 998"),
        ("{.most = 1002}", "n > 1002", "n == 1002"),
        ("{.least = 9, .multiple = 8}", "n < 16", "n == 16"),
    ],
)
async def test_the_harness_says_in_a_line_what_a_dim_may_be(lab: Lab, limits: str, never: str, found: str) -> None:
    spec = replace(ANY, seeds=128)
    assert (await checked(lab, wrong_if(never), spec, limits=limits)).worst < 1
    with pytest.raises(CheckFailed):
        await checked(lab, wrong_if(found), spec, limits=limits)


@pytest.mark.parametrize(
    ("n", "least", "drawn"), [(200, 357, True), (200, 358, False), (300, 428, True), (300, 429, False)]
)
async def test_a_size_beyond_the_bounds_of_memory_is_not_drawn(lab: Lab, n: int, least: int, drawn: bool) -> None:
    """Where n * n floats are two buffers, they may take 1 MiB together, or twice what they take in the case."""
    wrong = wrong_if(f"n >= {least}l * {least}")
    with pytest.raises(CheckFailed) if drawn else contextlib.nullcontext():
        limits, count = f"{{.least = {least}}}", "c->dims[0] * c->dims[0]"
        assert (await checked(lab, wrong, limits=limits, n=n, count=count)).worst < 1


@pytest.mark.parametrize(("size", "right"), [(32, False), (33, True)])
async def test_a_size_is_drawn_for_each_dim_where_that_is_shorter_than_two_vectors(
    lab: Lab, size: int, right: bool
) -> None:
    """Among 100,000 others no other kind of size comes to a number that is neither 1 nor a prime in so few draws."""
    with contextlib.nullcontext() if right else pytest.raises(CheckFailed, match=f"n={size}"):
        await checked(lab, wrong_if(f"n == {size}"), replace(ANY, seeds=256, limit_s=60.0), n=100_000)


async def test_no_dim_of_a_thin_size_is_above_that_of_its_case(lab: Lab) -> None:
    """A larger size is twice the case's at the most."""
    assert (await checked(lab, wrong_if("n > 16"), replace(ANY, seeds=64), n=8)).worst < 1


@pytest.mark.parametrize(("call", "right"), [(5, False), (6, True)])
async def test_each_seed_draws_four_sizes_and_one_for_each_dim(lab: Lab, call: int, right: bool) -> None:
    """In the last call at a size outputs hold zeros."""
    leaves = kernel(f"static int calls; if (y[0] == 0.0f && ++calls == {call}) exit(0); {LOOP}")
    with contextlib.nullcontext() if right else pytest.raises(CheckFailed, match="end"):
        await checked(lab, leaves, replace(ANY, seeds=1))


LATER = {
    "leaves its outputs alone": "static long at; if (n == at) return; at = n;",
    "leaves its outputs alone after some calls": "static long at, calls; if (n != at) calls = 0; at = n;"
    "if (++calls > 12) return;",
    "leaves outputs alone that are cleared": "if (n > 2 && y[n - 1] == 0.0f) return;",
    "writes where the size's first buffers were": "static float *out; static long at; if (n != at) out = y;"
    "at = n; y = out;",
}


@pytest.mark.parametrize("what", LATER)
async def test_a_drawn_size_is_called_again_with_other_inputs_at_another_place(lab: Lab, what: str) -> None:
    with pytest.raises(CheckFailed, match=r"n=\d+"):
        await checked(lab, kernel(f"if (n != 1000) {{ {LATER[what]} }} {LOOP}"), replace(ANY, seeds=4))


async def test_buffers_lie_in_a_drawn_order(lab: Lab) -> None:
    """Of twenty processes some have the output before the input, and some behind it."""
    for after in ("x < y", "y < x"):
        with pytest.raises(CheckFailed):
            for _ in range(20):
                await checked(lab, kernel(f"{LOOP} if ({after}) y[0] = 7.0f;"), replace(LISTED, seeds=1))


async def test_one_of_them_is_small_and_ends_before_a_fence(lab: Lab) -> None:
    """Of larger ones that end there many end at a line of the cache, too."""
    reads = kernel(f"{LOOP} volatile float z; if (n <= 3) for (long i = n; i < 16; i++) z = x[i]; (void)z;")
    with pytest.raises(CheckFailed, match=r"n=[123], normal: read past the end of x, at x\[4\]"):
        await checked(lab, reads, replace(ANY, seeds=1))


EVEN = "if (n % 2) {}; " + LOOP


@pytest.mark.parametrize("beyond", ["abort()", "for (;;)", "{ y[0] = 7; return; }", "y[0] = x[n + 4096]"])
async def test_a_size_at_which_the_own_kernel_is_wrong_is_not_asked(lab: Lab, beyond: str) -> None:
    """Crashes, hangs, garbage and reads past the end alike."""
    spec = replace(ANY, seeds=20, limit_s=4.0)
    own = kernel(EVEN.format(beyond))
    passed = await checked(lab, own, spec, own=own)
    assert passed.worst < 1
    assert passed.drawn == 5 * spec.seeds
    if beyond == "abort()":
        assert 0 < passed.unchecked < passed.drawn
    if "for" not in beyond:
        with pytest.raises(CheckFailed):
            await checked(lab, wrong_if("n % 2 == 0 && n != 1000"), spec, own=own)


async def test_a_harness_that_crashes_at_a_drawn_size_is_told_what_helps(lab: Lab) -> None:
    with pytest.raises(HostError, match=r"harness crashes at a size that no case names.*limits.*n="):
        await checked(lab, RIGHT, before="if (c->dims[0] != 1000) *(volatile int *)0 = 1;")


@pytest.mark.skipif(platform.system() != "Linux", reason="what a fault was is told by Linux")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("volatile float z = x[n]; (void)z;", r"read past the end of x, at x\[1024\]"),
        ("volatile float z = x[n + 1023]; (void)z;", r"read past the end of x, at x\[2047\]"),
        ("volatile float z = x[-1]; (void)z;", r"read before x, at x\[-1\]"),
        ("volatile float z = y[n]; (void)z;", r"read past the end of y, at y\[1024\]"),
        ("volatile float z = y[-1]; (void)z;", r"read before y, at y\[-1\]"),
        ("y[n] = 1;", r"(wrote|strayed) past the end of y, at y\[1024\]"),
    ],
)
async def test_what_lies_beside_a_buffer_cannot_be_read(lab: Lab, body: str, said: str) -> None:
    with pytest.raises(CheckFailed, match=said) as caught:
        await checked(lab, kernel(f"{LOOP} {body}"), replace(LISTED, seeds=1), n=1024)
    assert isinstance(caught.value.wrong.what, Complaint)


@pytest.mark.parametrize(("index", "right"), [(1003, True), (1004, False)])
async def test_a_buffer_of_an_odd_size_ends_within_16_bytes_of_the_page(lab: Lab, index: int, right: bool) -> None:
    """1003 floats take 4012 bytes, which end 4 bytes before a multiple of 16."""
    reads = kernel(f"{LOOP} volatile float z = x[{index}]; (void)z;")
    with contextlib.nullcontext() if right else pytest.raises(CheckFailed, match=rf"of x, at x\[{index}\]"):
        await checked(lab, reads, replace(LISTED, seeds=1), n=1003)


async def test_a_crash_elsewhere_is_still_a_crash(lab: Lab) -> None:
    with pytest.raises(CheckFailed, match="SIGSEGV"):
        await checked(lab, kernel("*(volatile int *)64 = 1;"), replace(LISTED, seeds=1))


PROPAGATE = replace(LISTED, nonfinite="propagate")
SWALLOWS = {
    "NaN": "float v = x[i] != x[i] ? 0.0f : x[i];",
    "infinity": "float v = x[i] > 1e38f ? 1e38f : x[i];",
    "negative infinity": "float v = x[i] < -1e38f ? -1e38f : x[i];",
    "any, for NaN": 'float v = x[i]; if (v - v != 0) v = __builtin_nanf("");',
}


@pytest.mark.parametrize("what", SWALLOWS)
async def test_what_is_not_finite_may_not_be_swallowed(lab: Lab, what: str) -> None:
    source = kernel(f"for (long i = 0; i < n; i++) {{ {SWALLOWS[what]} y[i] = 2.0f * v + 1.0f; }}")
    assert (await checked(lab, source, LISTED)).worst < 1
    with pytest.raises(CheckFailed, match=r"NaN|Inf"):
        await checked(lab, source, replace(PROPAGATE, seeds=8))
    assert (await checked(lab, RIGHT, PROPAGATE)).worst < 1


COPY = HARNESS.replace("2.0 * ((const float *)data[X])[i] + 1.0", "((const float *)data[X])[i]")


@pytest.mark.parametrize(
    ("rule", "nonfinite", "found"),
    [("exact", "propagate", True), ("exact", "kept", False), ("elementwise", "propagate", False)],
)
async def test_a_zero_keeps_its_sign_where_outputs_have_the_bits_of_the_truth(
    lab: Lab, rule: str, nonfinite: str, found: bool
) -> None:
    source = COPY.format(n=1000, limits="{0}", before="", count="c->dims[0]").encode()
    program = await harness(lab.host, lab.tools, {"harness.c": source}, 60.0)
    ready, spec = replace(lab, harness=program), replace(LISTED, compare=rule, nonfinite=nonfinite)
    copies = await ready.build(kernel("for (long i = 0; i < n; i++) y[i] = x[i];"))
    adds = await ready.build(kernel("for (long i = 0; i < n; i++) y[i] = x[i] + 0.0f;"))
    assert (await check(lab.host, program, copies.job, f"zero{next(numbers)}", spec, lab.where)).worst < 1
    with pytest.raises(CheckFailed, match="-0") if found else contextlib.nullcontext():
        await check(lab.host, program, adds.job, f"zero{next(numbers)}", spec, lab.where)


KEPT = replace(LISTED, nonfinite="kept", seeds=8)


@pytest.mark.parametrize(
    "what",
    [
        pytest.param('if (v - v != 0) v = __builtin_nanf("");', id="another such value"),
        pytest.param("for (long j = 0; j < n; j++) v += x[j] - x[j];", id="it spreads"),
    ],
)
async def test_what_is_not_finite_may_become_another_such_value_where_it_must_only_be_kept(lab: Lab, what: str) -> None:
    source = kernel(f"for (long i = 0; i < n; i++) {{ float v = x[i]; {what} y[i] = 2.0f * v + 1.0f; }}")
    assert (await checked(lab, source, KEPT)).worst < 1
    with pytest.raises(CheckFailed, match=r"NaN|Inf"):
        await checked(lab, source, replace(PROPAGATE, seeds=8))


@pytest.mark.parametrize("what", ["NaN", "infinity", "negative infinity"])
async def test_what_must_be_kept_is_not_lost(lab: Lab, what: str) -> None:
    source = kernel(f"for (long i = 0; i < n; i++) {{ {SWALLOWS[what]} y[i] = 2.0f * v + 1.0f; }}")
    with pytest.raises(CheckFailed, match=r"NaN|Inf"):
        await checked(lab, source, KEPT)


async def test_no_nan_of_an_earlier_call_is_in_later_outputs(lab: Lab) -> None:
    source = kernel(f"{LOOP} y[0] += 0.0f * last; if (n > 900) last = x[n / 3];", "static float last;")
    assert (await checked(lab, source, replace(ANY, seeds=8))).worst < 1
    with pytest.raises(CheckFailed, match="is nan"):
        await checked(lab, source, replace(ANY, nonfinite="propagate", seeds=2))


@pytest.mark.parametrize(("index", "said"), [("0", r"wrote to its input x, at x\[0\]"), ("n", r"past the end of x")])
async def test_an_input_that_is_put_back_was_written_to(lab: Lab, index: str, said: str) -> None:
    writes = f"volatile float *at = (float *)x + {index}; float was = *at; *at = 0.0f; *at = was;"
    with pytest.raises(CheckFailed, match=said):
        await checked(lab, kernel(f"{writes} {LOOP}"), replace(LISTED, seeds=1))


async def test_a_task_may_leave_both_out(lab: Lab) -> None:
    assert (CheckSpec().sizes, CheckSpec().nonfinite) == ("listed", "any")


@pytest.mark.parametrize("bytes", [16, 64])
async def test_a_buffer_begins_where_mallocs_could(lab: Lab, bytes: int) -> None:
    """A case of 1000 floats: no multiple of 64 bytes."""
    asks = kernel(f"if (((unsigned long)x | (unsigned long)y) % {bytes}) abort(); {LOOP}")
    with contextlib.nullcontext() if bytes == 16 else pytest.raises(CheckFailed, match="SIGABRT"):
        assert (await checked(lab, asks, replace(ANY, seeds=1))).worst < 1


async def timed(lab: Lab, own: str, candidate: str, processes: int = 8) -> None:
    """Time a candidate of the task whose incumbent is `own`."""
    program = await made(lab)
    a, b = await lab.build(own), await lab.build(candidate)
    job, where, place = f"far{next(numbers)}", replace(lab.where, lease=CPU), layout.placed(lab.host, lab.tools)
    taken = time_pair(
        lab.host, program, a.job, b.job, job, 0, processes, FEW, replace(ANY, limit_s=8.0), where, place=place
    )
    async for _ in taken:
        continue


async def test_an_object_that_is_timed_is_right_at_other_sizes_too(lab: Lab) -> None:
    """Linked anew, its functions lie further apart than where it was checked."""
    far = "static void one(void) {} static void other(void) {} static void *volatile a = one, *volatile b = other;"
    source = kernel(f"if (n != 1000 && ((char *)a - (char *)b > 64 || (char *)b - (char *)a > 64)) return; {LOOP}", far)
    assert (await checked(lab, source)).worst < 1
    await timed(lab, RIGHT, RIGHT)
    with pytest.raises(CheckFailed, match=r"n=\d+.*another size after timing"):
        await timed(lab, RIGHT, source)


@pytest.mark.skipif(platform.system() != "Linux", reason="asks Linux for a page")
async def test_an_object_that_is_timed_is_right_at_sizes_that_are_shorter_than_two_vectors_too(lab: Lab) -> None:
    """In each second process, in which other kinds of sizes hardly come to one that is even, and above 2."""
    wrong = f"if (n > 2 && n <= 32 && n % 2 == 0 && !is_fenced(x)) return; {LOOP}"
    with pytest.raises(CheckFailed, match=r"n=\d+.*another size after timing"):
        await timed(lab, RIGHT, kernel(wrong, IS_FENCED), 40)


IS_FENCED = """
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
static int is_fenced(const void *x) {
    return madvise((void *)(((uintptr_t)x & ~4095ul) - 4096), 4096, 22 /* to read its page */) && errno != ENOMEM;
}
"""


def rough(tolerances: float) -> str:
    """A kernel that is off by so many tolerances at other sizes than that of the case, where no fences stand."""
    off = f"if (n != 1000 && !is_fenced(x)) for (long i = 0; i < n; i++) y[i] *= 1.0f + {tolerances}e-5f;"
    return kernel(f"{LOOP} {off}", IS_FENCED)


@pytest.mark.skipif(platform.system() != "Linux", reason="asks Linux for a page")
@pytest.mark.parametrize(
    ("own", "tolerances", "right"), [(0.0, 0.8, True), (0.0, 1.5, False), (0.5, 3.5, True), (0.5, 5.0, False)]
)
async def test_an_object_that_is_timed_is_as_right_at_other_sizes_as_in_its_check(
    lab: Lab, own: float, tolerances: float, right: bool
) -> None:
    """A kernel can tell calls between fences from others: it must be as right in these, or within 8 times the error."""
    assert (await checked(lab, rough(tolerances))).worst < 1
    with contextlib.nullcontext() if right else pytest.raises(CheckFailed, match=r"n=\d+.*another size after timing"):
        await timed(lab, rough(own), rough(tolerances))
