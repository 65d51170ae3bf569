"""Calls on two sets of inputs in turn: what is wrong now and then, and what differs from call to call."""

import contextlib
import os
from dataclasses import replace

import pytest

from kpd.measure.bench import CheckFailed
from kpd.model.defects import Complaint, WrongValue
from kpd.workspace.specs import CheckSpec
from tests.support.hosts.local import linux_only
from tests.support.measure.measured import Lab
from tests.support.measure.sizes import AUTO, LOOP, RIGHT, _lab, checked, kernel, repeated

__all__ = ["_lab"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

YES, NO = replace(AUTO, deterministic="yes"), replace(AUTO, deterministic="no")


def in_some(calls: str, then: str) -> str:
    """A kernel that does `then` in the calls, numbered from 1, for which the condition holds."""
    return kernel(f"static long call; call++; {LOOP} if ({calls}) {{ {then} }}")


def wrong(calls: str) -> str:
    return in_some(calls, "y[n / 2] += 1.0f;")


def other(calls: str) -> str:
    """A kernel whose result has other bits in some calls, and is still right."""
    return in_some(calls, "y[n / 2] *= 1.0f + 0x1p-22f;")


async def test_what_is_wrong_in_one_call_of_fifty_is_found(lab: Lab) -> None:
    rarely = wrong("call % 50 == 0")
    assert (await checked(lab, rarely, AUTO)).worst < 1
    with pytest.raises(CheckFailed, match=r"\(call 50 on two sets of inputs in turn\)") as caught:
        await repeated(lab, rarely, NO)
    assert isinstance(caught.value.wrong.what, WrongValue)
    assert await repeated(lab, RIGHT) >= 200


async def test_what_is_right_on_the_inputs_of_the_call_before_is_found(lab: Lab) -> None:
    """A sum that is read before it is written: what stands there is of the last call."""
    stale = in_some("call % 50 == 0", "y[n / 2] = last;").replace("call++;", "static float last; call++;")
    stale = stale.replace(" if (call", " float now = y[n / 2]; if (call").replace("last; }", "last; } last = now;")
    with pytest.raises(CheckFailed, match="two sets of inputs in turn") as caught:
        await repeated(lab, stale, NO)
    assert isinstance(caught.value.wrong.what, WrongValue)


@pytest.mark.parametrize(
    ("spec", "own", "refused"),
    [
        (AUTO, RIGHT, True),
        (AUTO, other("call % 3 == 0"), False),
        (NO, RIGHT, False),
        (YES, RIGHT, True),
        (YES, other("call % 3 == 0"), True),
    ],
)
async def test_bits_may_differ_where_the_own_kernels_do_or_the_task_says_so(
    lab: Lab, spec: CheckSpec, own: str, refused: bool
) -> None:
    """Sums by atomics differ so: within the tolerance, from call to call."""
    differs = other("call % 5 == 0")
    if not refused:
        assert await repeated(lab, differs, spec, own) >= 200
        return
    with pytest.raises(CheckFailed, match=r'made y\[500\] .* in the first call on the same inputs .*"no"') as caught:
        await repeated(lab, differs, spec, own)
    assert isinstance(caught.value.wrong.what, Complaint)


@pytest.mark.parametrize(("call", "refused"), [(20, False), (21, True)])
async def test_the_own_kernel_is_called_twenty_times_before_it_counts_as_steady(
    lab: Lab, call: int, refused: bool
) -> None:
    if refused:
        with pytest.raises(CheckFailed, match="in the first call"):
            await repeated(lab, other("call == 2"), AUTO, other(f"call == {call}"))
    else:
        await repeated(lab, other("call == 2"), AUTO, other(f"call == {call}"))


@pytest.mark.parametrize(("call", "refused"), [(30, False), (31, True)])
async def test_the_own_kernel_is_called_as_often_as_the_candidate(lab: Lab, call: int, refused: bool) -> None:
    """The candidate's call 31 differs: thirty others did not."""
    if refused:
        with pytest.raises(CheckFailed, match="in the first call"):
            await repeated(lab, other("call == 31"), AUTO, other(f"call == {call}"))
    else:
        await repeated(lab, other("call == 31"), AUTO, other(f"call == {call}"))


@pytest.mark.parametrize(("call", "found"), [(4, True), (5, False)])
async def test_a_slow_kernel_is_called_four_times(lab: Lab, call: int, found: bool) -> None:
    slow = "struct timespec rest = {0, 210000000}; nanosleep(&rest, 0);"
    source = "#include <time.h>\n" + wrong(f"call == {call}").replace("call++;", f"call++; {slow}")
    if found:
        with pytest.raises(CheckFailed, match="call 4 "):
            await repeated(lab, source)
    else:
        assert await repeated(lab, source) == 4


async def test_what_is_written_beside_a_buffer_in_some_call_is_found(lab: Lab) -> None:
    with pytest.raises(CheckFailed, match=r"wrote past the end of y.*call 7"):
        await repeated(lab, in_some("call == 7", "y[n] = 1.0f;"))


def stalling(each: int, loops: int) -> str:
    """A kernel that does its work `loops` times more in one call of `each`."""
    again = f'for (int i = 0; i < {loops}; i++) {{ __asm__ volatile("" ::: "memory"); {LOOP} }}'
    return in_some(f"call % {each} == 0", again)


@linux_only
async def test_a_few_calls_that_take_very_long_are_found(lab: Lab) -> None:
    """On average it takes many times as long as in the middle."""
    with pytest.raises(CheckFailed, match=r"times as long on average as in most calls .* calls on two sets") as caught:
        await repeated(lab, stalling(97, 97 * 100))
    assert isinstance(caught.value.wrong.what, Complaint)


@linux_only
async def test_a_little_more_in_a_few_calls_is_not_and_neither_are_single_ones(lab: Lab) -> None:
    assert await repeated(lab, stalling(97, 20)) >= 200
    assert (
        await repeated(lab, in_some("call == 150 || call == 170", "for (volatile long i = 0; i < 90000000; i++);"))
        >= 170
    )


@linux_only
async def test_inputs_that_are_more_work_than_others_are_no_stalls(lab: Lab) -> None:
    longer = kernel(
        f'{LOOP} for (int i = 0; i < 2000 && x[0] < 0.0f; i++) {{ __asm__ volatile("" ::: "memory"); {LOOP} }}'
    )
    for _ in range(4):  # in one of two draws one set is more work, and the other one is not
        assert await repeated(lab, longer) >= 4


@linux_only
@pytest.mark.parametrize("each", [64, 65536])
async def test_memory_that_each_call_keeps_is_found(lab: Lab, each: int) -> None:
    """Also where the limit of memory is met early, and the kernel goes on without more."""
    leaks = kernel(
        f'{LOOP} char *kept = malloc({each} * 64); if (kept) kept[0] = 1; __asm__ volatile("" :: "r"(kept) : "memory");'
    )
    with pytest.raises(
        CheckFailed, match=r"keeps memory of its calls: it has .* MiB more than after the first 4"
    ) as caught:
        await repeated(lab, leaks)
    assert isinstance(caught.value.wrong.what, Complaint)


@linux_only
@pytest.mark.parametrize(("kib", "found"), [(512, False), (516, True)])
async def test_half_a_mebibyte_more_may_be_kept(lab: Lab, kib: int, found: bool) -> None:
    """Whole pages, taken in one call after the first four."""
    includes = "#include <sys/mman.h>\n"
    takes = f"mmap(0, {kib} << 10, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);"
    with pytest.raises(CheckFailed, match="keeps memory of its calls") if found else contextlib.nullcontext():
        assert await repeated(lab, includes + in_some("call == 10", takes)) >= 200


KEEPS = {
    "pages that it touches": (
        "static char *all; if (!all) all = malloc(64 << 20);",
        "memset(all + (1 << 20), 1, {} << 10);",
        16384,
    ),
    "addresses": ("", "mmap(0, {}l << 20, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);", 4096),
    "parts": ("", "for (int i = 0; i < {}; i++) mmap(0, 4096, i % 2, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);", 4096),
}


@linux_only
@pytest.mark.parametrize(("share", "found"), [(0.8, False), (1.2, True)])
@pytest.mark.parametrize("what", KEEPS)
async def test_memory_is_found_whatever_counts_it(lab: Lab, what: str, share: float, found: bool) -> None:
    before, takes, most = KEEPS[what]
    source = "#include <string.h>\n#include <sys/mman.h>\n" + in_some("call == 10", takes.format(int(share * most)))
    with pytest.raises(CheckFailed, match="keeps memory of its calls") if found else contextlib.nullcontext():
        assert await repeated(lab, source.replace("call++;", f"call++; {before}")) >= 200


@linux_only
async def test_memory_that_grows_as_a_stack_ends_a_kernel(lab: Lab) -> None:
    """No limit counts it, so that a kernel could do without it here only."""
    takes = "mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);"
    with pytest.raises(CheckFailed, match="SIGSYS"):
        await repeated(lab, "#include <sys/mman.h>\n" + in_some("call == 10", takes))


@linux_only
async def test_who_asks_for_much_memory_gets_it_and_is_told_if_it_is_used(lab: Lab) -> None:
    """A kernel that is refused memory in a check, and not in an operator's program, cannot tell which of them it is."""
    asks = (
        "static char *volatile room; static int known;"
        "if (!known++) {{ room = malloc({0}l << 20); if (room) {1}; free(room); }}"
    )
    more = 320 + 16 * (os.cpu_count() or 1)  # MiB: no kernel gets as much here
    wrong = kernel(f"{asks.format(more, 'known = 100')} {LOOP} if (known >= 100) y[n - 1] += 1.0f;")
    with pytest.raises(CheckFailed, match=r"y\[999\] is") as caught:
        await repeated(lab, wrong)
    assert isinstance(caught.value.wrong.what, WrongValue)
    uses = kernel(f"{asks.format(more, f'for (long i = 0; i < {more}l << 20; i += 512) room[i] = 1')} {LOOP}")
    with pytest.raises(CheckFailed, match=r"takes \d+ MiB of memory: a kernel gets \d+ MiB"):
        await repeated(lab, uses)
    assert await repeated(lab, kernel(f"{asks.format(more, 'room[0] = 1')} {LOOP}")) >= 200


@linux_only
async def test_who_takes_inputs_for_those_of_many_calls_before_is_found(lab: Lab) -> None:
    """It does nothing where three elements are what they were in so many calls, each on the same addresses."""
    skips = (
        "static const void *at; static float seen[3]; static long calls; float now[3] = {x[0], x[n / 2], x[n - 1]};"
        "if (at == y && !memcmp(now, seen, sizeof now)) { if (++calls > 100) return; } else calls = 0;"
        f"at = y; memcpy(seen, now, sizeof now); {LOOP}"
    )
    with pytest.raises(CheckFailed, match=r"y\[\d+\] is unwritten"):
        for _ in range(3):  # one of the few elements that differ may be one of the three, now and then
            await repeated(lab, kernel(skips, "#include <string.h>"))


async def test_a_buffer_begins_where_mallocs_could_whatever_its_size(lab: Lab) -> None:
    """Of 1000 floats, a multiple of 32 bytes, a check has the end, and so the beginning, at such a multiple."""
    faults = kernel(f"if ((unsigned long)x % 32 || (unsigned long)y % 32) __builtin_trap(); {LOOP}")
    await checked(lab, faults, AUTO)
    with pytest.raises(CheckFailed, match="crashed"):
        for _ in range(10):  # in three of four processes one of them is at no such multiple
            await repeated(lab, faults, replace(AUTO, sizes="any"), own=faults)


@linux_only
async def test_who_takes_outputs_for_done_is_found(lab: Lab) -> None:
    """By a look at some of them: in some calls they are as the last call on these inputs left them, but for a few."""
    done = " && ".join(f"y[{i}] == 2.0f * x[{i}] + 1.0f" for i in ("0", "n / 3", "n / 2", "n - 1"))
    with pytest.raises(CheckFailed, match=r"y\[\d+\] is unwritten.*two sets of inputs"):
        await repeated(lab, kernel(f"if ({done}) return; {LOOP}"))


@linux_only
async def test_memory_that_is_given_back_or_found_again_is_not(lab: Lab) -> None:
    mine = "static float *kept; static long room; if (room < n) { free(kept); kept = malloc((room = n) * 4); }"
    given = f"float *one = malloc(4 * n + 5000000); {LOOP} one[n] = y[0]; kept[0] = one[n]; free(one);"
    assert await repeated(lab, kernel(mine + given)) >= 200
