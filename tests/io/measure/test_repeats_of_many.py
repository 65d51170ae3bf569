"""Calls on thousands of new inputs, of cases in turn, and the first calls at each size: what few calls do not show."""

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from kpd.measure import jobs
from kpd.measure.bench import CheckFailed
from kpd.measure.c.bench import harness
from kpd.measure.driver.harness import OBJECT
from kpd.measure.driver.repeat import NEW_INPUTS, repeat
from kpd.model.defects import Complaint, WrongValue
from kpd.workspace.specs import CheckSpec
from tests.support.hosts.local import linux_only
from tests.support.measure.measured import Lab
from tests.support.measure.sizes import AUTO, HARNESS, LOOP, RIGHT, _lab, kernel, repeated

__all__ = ["_lab"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

DRAWN = replace(AUTO, sizes="any")
SIZES = (1000, 3000, 500, 2000)
HASH = "unsigned bits; memcpy(&bits, x, 4); bits = (bits ^ bits >> 15) * 2654435761u;"
WORK = f'for (int i = 0; i < {{}}; i++) {{{{ __asm__ volatile("" ::: "memory"); {LOOP} }}}}'
SPIN = "for (volatile long i = 0; i < {}; i++);"
SOONER = "new inputs in each call|sizes that no case has|two sets of inputs"
"""Where a rare fault is found: mostly in the first of these steps, and now and then in one that comes before it."""
numbers = count()


def paranoid() -> int:
    """What the system says of who may watch what a process does; more than 2 is nobody but root."""
    path = Path("/proc/sys/kernel/perf_event_paranoid")
    return int(path.read_text()) if path.exists() else 3


def rarely(then: str) -> str:
    """A kernel that does `then` for one input of a thousand: of some ten thousand, and of four before."""
    return kernel(f"{LOOP} {HASH} if ((bits >> 8) % 1000 == 7) {{ {then} }}", "#include <string.h>")


def changing(then: str) -> str:
    """A kernel that does `then` where the size is not that of the call before, once sizes have changed eight times."""
    return kernel(f"static long last, changes; if (last != n && ++changes > 8) {{ {then} }} last = n; {WORK.format(9)}")


def at_first(then: str) -> str:
    """A kernel that does `then` in its first call at a size; `number` is which that is."""
    known = "static long known[16]; int number = 0; while (known[number] && known[number] != n) number++;"
    return kernel(f"{known} if (!known[number]) {{ known[number] = n; {then} }} {LOOP}")


async def several(lab: Lab, source: str, own: str = RIGHT) -> None:
    """Call a kernel of a task that has several sizes."""
    text = HARNESS.format(n=1000, limits="{0}", before="", count="c->dims[0]")
    cases = ", ".join(f'{{"{n}", {{{n}}}}}' for n in SIZES)
    text = text.replace('{"1000", {1000}}', cases).replace(".case_count = 1", f".case_count = {len(SIZES)}")
    ready = replace(lab, harness=await harness(lab.host, lab.tools, {"harness.c": text.encode()}, 60.0))
    built, baseline = await ready.build(source), await ready.build(own)
    path = jobs.out(lab.host, baseline.job, OBJECT)
    calls = await repeat(lab.host, ready.harness, built.job, f"many{next(numbers)}", AUTO, lab.where, baseline=path)
    assert set(calls) == {*map(str, SIZES), NEW_INPUTS}


@linux_only
@pytest.mark.parametrize("spec", [DRAWN, AUTO], ids=["at drawn sizes", "at that of the smallest case"])
async def test_what_is_wrong_for_one_input_of_hundreds_is_found(lab: Lab, spec: CheckSpec) -> None:
    with pytest.raises(CheckFailed, match=SOONER) as caught:
        await repeated(lab, rarely("y[n - 1] += 1.0f;"), spec)
    assert isinstance(caught.value.wrong.what, WrongValue)
    assert await repeated(lab, RIGHT, spec) >= 200


async def repeated_unless_among_the_first(lab: Lab, source: str, own: str) -> int:
    """Call a kernel as `repeated` does, once more where the first inputs were among the rare ones."""
    try:
        return await repeated(lab, source, DRAWN, own)
    except CheckFailed as err:
        if "two sets of inputs" not in str(err):
            raise
        return await repeated(lab, source, DRAWN, own)


@linux_only
@pytest.mark.parametrize(
    ("more", "own", "refused"), [(1.5, 0.0, True), (1.5, 0.9, False), (6.0, 0.9, True), (6.0, 1.5, False)]
)
async def test_nobody_is_refused_who_is_hardly_further_from_the_truth_than_the_own_kernel(
    lab: Lab, more: float, own: float, refused: bool
) -> None:
    """So many times the tolerance the rare results are off. Of the first two sets of inputs more is asked."""
    off = [
        rarely(f"y[n - 1] += {times}f * (1e-6f + 1e-5f * (y[n - 1] < 0 ? -y[n - 1] : y[n - 1]));")
        for times in (more, own)
    ]
    if not refused:
        assert await repeated_unless_among_the_first(lab, off[0], off[1]) >= 200
        return
    with pytest.raises(CheckFailed, match=SOONER):
        await repeated(lab, off[0], DRAWN, off[1])


@linux_only
async def test_what_is_written_beside_a_buffer_for_few_inputs_is_found(lab: Lab) -> None:
    with pytest.raises(CheckFailed, match=rf"wrote past the end of y.*({SOONER})"):
        await repeated(lab, rarely("y[n] = 1.0f;"), DRAWN)


@linux_only
async def test_who_adds_to_outputs_that_look_empty_is_found(lab: Lab) -> None:
    looks = "if (y[0] != 0.0f || y[n / 2] != 0.0f || y[n - 1] != 0.0f) for (long i = 0; i < n; i++) y[i] = 0.0f;"
    with pytest.raises(CheckFailed, match="new inputs in each call"):
        await repeated(lab, kernel(f"{looks} {LOOP.replace('y[i] =', 'y[i] +=')}"), DRAWN)


@linux_only
async def test_what_takes_long_when_sizes_change_is_found(lab: Lab) -> None:
    with pytest.raises(
        CheckFailed, match=r"when the call before was of another size .*calls of the cases in turn"
    ) as found:
        await several(lab, changing(WORK.format(2000)))
    assert isinstance(found.value.wrong.what, Complaint)


@linux_only
async def test_neither_what_is_kept_nor_what_is_left_out_hides_that(lab: Lab) -> None:
    kept = (
        "static struct { float x; long n; } seen[8]; int at = 0;"
        "while (at < 8 && (seen[at].x != x[0] || seen[at].n != n)) at++;"
        f"if (at < 8) {{ {LOOP} return; }} for (at = 7; at; at--) seen[at] = seen[at - 1];"
        "seen[0].x = x[0]; seen[0].n = n;"
    )
    with pytest.raises(CheckFailed, match="calls of the cases in turn"):
        await several(lab, changing(kept + WORK.format(2000)))
    with pytest.raises(CheckFailed, match=r"should be .*calls of the cases in turn"):
        await several(lab, changing("last = n; return;"))


@linux_only
async def test_a_little_more_when_sizes_change_is_not_nor_what_the_own_kernel_takes_too(lab: Lab) -> None:
    await several(lab, changing(WORK.format(3)))
    await several(lab, changing(WORK.format(2000)), changing(WORK.format(2000)))


@linux_only
async def test_first_calls_that_take_very_long_at_each_size_are_found(lab: Lab) -> None:
    with pytest.raises(CheckFailed, match=r"in a first call as in later ones at the same size") as found:
        await several(lab, at_first(SPIN.format(60_000_000)))
    assert isinstance(found.value.wrong.what, Complaint)


@linux_only
async def test_what_is_made_ready_once_or_takes_few_milliseconds_is_not(lab: Lab) -> None:
    await several(lab, at_first("if (number == 0) " + SPIN.format(300_000_000)))
    await several(lab, at_first(SPIN.format(1_500_000)))


@linux_only
async def test_what_is_slow_at_sizes_that_no_case_has_is_found(lab: Lab) -> None:
    slow = kernel(f"if (n == 1000) {{ {LOOP} return; }} {WORK.format(20_000)}")
    keeps = kernel(
        f"static float x0[2], y0[2000]; static long known; if (n == 1000) {{ {LOOP} return; }}"
        "if (n > 2000 || known != n || x0[0] != x[0] || x0[1] != x[n - 1]) {"
        f"{WORK.format(20_000)} known = n; x0[0] = x[0]; x0[1] = x[n - 1]; if (n <= 2000) memcpy(y0, y, 4 * n); }}"
        "else memcpy(y, y0, 4 * n);",
        "#include <string.h>",
    )
    for source in (slow, keeps):
        with pytest.raises(CheckFailed, match=r"times as long as the task's own kernel \(sizes that no case has\)"):
            await repeated(lab, source, DRAWN)
    assert await repeated(lab, slow, AUTO) >= 200, "where only those of the cases count"
    assert await repeated(lab, slow, DRAWN, slow) >= 200, "the task's own kernel is no quicker"


@linux_only
async def test_who_takes_inputs_for_constant_by_a_look_at_some_is_found(lab: Lab) -> None:
    one = "for (long i = 0; i < n; i++) y[i] = 2.0f * x[0] + 1.0f;"
    kinds = replace(DRAWN, distributions=("normal", "constant"))
    with pytest.raises(CheckFailed, match=rf"(constant|normal).*({SOONER})"):
        await repeated(lab, kernel(f"if (x[0] == x[n - 1] && x[0] == x[n / 2]) {{ {one} return; }} {LOOP}"), kinds)
    every = "int same = 1; for (long i = 1; i < n; i++) same &= x[i] == x[0];"
    assert await repeated(lab, kernel(f"{every} if (same) {{ {one} return; }} {LOOP}"), kinds) >= 200


@linux_only
async def test_who_is_wrong_where_all_inputs_are_far_from_zero_is_found(lab: Lab) -> None:
    far = "int far = n > 1; for (long i = 0; i < n; i++) far &= x[i] < -64.0f && x[i] > -128.0f;"
    source = kernel(f"{LOOP} {far} if (far) y[n - 1] = 0.0f;")
    with pytest.raises(CheckFailed, match=SOONER):
        await repeated(lab, source, replace(DRAWN, distributions=("normal", "large")))
    assert await repeated(lab, source, replace(DRAWN, distributions=("normal",))) >= 200, "none are moved"


@linux_only
async def test_who_is_wrong_where_the_sum_of_exponentials_is_infinite_and_none_of_them_is_is_found(lab: Lab) -> None:
    flat = "int flat = n > 1; for (long i = 0; i < n; i++) flat &= x[i] > 80.0f && x[i] < 88.0f;"
    source = kernel(f"{LOOP} {flat} if (flat) y[n - 1] = 0.0f;")
    with pytest.raises(CheckFailed, match=SOONER):
        await repeated(lab, source, replace(DRAWN, distributions=("normal", "constant", "large")))
    assert await repeated(lab, source, replace(DRAWN, distributions=("normal", "constant"))) >= 200, "none are moved"


@linux_only
async def test_who_is_wrong_for_whole_numbers_is_found(lab: Lab) -> None:
    whole = "int whole = n > 1; for (long i = 0; i < n; i++) whole &= x[i] == rintf(x[i]);"
    source = kernel(f"{LOOP} {whole} if (whole) y[n - 1] = 0.0f;", "#include <math.h>")
    with pytest.raises(CheckFailed, match=SOONER):
        await repeated(lab, source, replace(DRAWN, distributions=("normal", "constant", "large")))
    assert await repeated(lab, source, replace(DRAWN, distributions=("normal",))) >= 200, "none are whole"


@linux_only
async def test_who_is_wrong_where_one_lane_is_constant_is_found(lab: Lab) -> None:
    one = "int same = n > 128; for (long i = r + 32; i < n; i += 32) same &= x[i] == x[r]; lanes += same;"
    source = kernel(
        f"int lanes = 0; for (int r = 0; r < 32; r++) {{ {one} }} {LOOP} if (lanes && lanes < 24) y[n - 1] = 0.0f;"
    )
    with pytest.raises(CheckFailed, match=SOONER):
        await repeated(lab, source, replace(DRAWN, distributions=("normal", "constant")))
    assert await repeated(lab, source, replace(DRAWN, distributions=("normal",))) >= 200, "none are constant"


@linux_only
async def test_who_knows_inputs_by_what_is_the_same_without_signs_is_found(lab: Lab) -> None:
    key = "double sum = 0.0; for (long i = 0; i < n; i++) sum += fabs(x[i] * (double)(i + 1));"
    knows = "if (n == known && sum == key) { memcpy(y, kept, 4 * n); return; }"
    keeps = "if (n <= 4096) { known = n; key = sum; memcpy(kept, y, 4 * n); }"
    source = kernel(
        f"static float kept[4096]; static long known; static double key; {key} {knows} {LOOP} {keeps}",
        "#include <math.h>\n#include <string.h>",
    )
    with pytest.raises(CheckFailed, match="two sets of inputs"):
        await repeated(lab, source, DRAWN)


@linux_only
async def test_what_is_kept_of_each_size_is_found(lab: Lab) -> None:
    keeps = "static long last; if (last != n) { last = n; memset(malloc(60000), 1, 60000); }"
    with pytest.raises(CheckFailed, match="keeps memory of each size"):
        await several(lab, kernel(f"{keeps} {WORK.format(9)}", "#include <stdlib.h>\n#include <string.h>"))


@linux_only
async def test_what_is_kept_of_many_sizes_is_found(lab: Lab) -> None:
    keeps = "static long of[4096]; static float *kept[4096]; int i = 0; while (i < 4095 && of[i] && of[i] != n) i++;"
    takes = (
        'if (!of[i]) kept[i] = memset(malloc(n * 64), 1, n * 64), of[i] = n; __asm__("" : : "r"(kept[i]) : "memory");'
    )
    with pytest.raises(CheckFailed, match=r"keeps memory of each size: \d+\.\d MiB more after 64 others"):
        await repeated(lab, kernel(f"{keeps} {takes} {LOOP}", "#include <string.h>"), DRAWN)
    grows = (
        "static long size; static float *room; if (n > size) size = n, room = realloc(room, n * 64); room[n - 1] = 1;"
    )
    assert await repeated(lab, kernel(f"{grows} {LOOP}"), DRAWN)


@linux_only
async def test_what_is_at_work_after_all_calls_is_found(lab: Lab) -> None:
    spins = 'static void *spin(void *of) { for (;;) __asm__ volatile(""); return of; }'
    begins = "static long calls; pthread_t one; if (n < 900 && ++calls == 5000) pthread_create(&one, NULL, spin, NULL);"
    with pytest.raises(CheckFailed, match="is at work while no call is"):
        await repeated(lab, kernel(f"{begins} {LOOP}", f"#include <pthread.h>\n{spins}"), DRAWN)


@linux_only
async def test_inputs_that_a_harness_makes_positive_stay_so(lab: Lab) -> None:
    positive = "x[i] = x[i] < 0.0f ? -x[i] : x[i];"
    fill = f"float *x = data[X]; long n = c->dims[0]; kpd_fill(rng, d, x, n); for (long i = 0; i < n; i++) {positive}"
    below = "int below = 0; for (long i = 0; i < n; i++) below |= x[i] < 0.0f;"
    source = kernel(f"{LOOP} {below} if (below) y[0] = 0.0f;")
    kinds = replace(DRAWN, distributions=("normal", "constant", "large"))
    assert await repeated(lab, source, kinds, before=f"{fill} return;") >= 200
    with pytest.raises(CheckFailed):
        await repeated(lab, source, kinds)


@linux_only
async def test_who_takes_the_first_elements_for_like_all_others_is_found(lab: Lab) -> None:
    few = "float most = 0.0f; for (long i = 0; i < n && i < 8; i++) most = fmaxf(most, fabsf(x[i]));"
    cut = "for (long i = 0; i < n; i++) y[i] = 2.0f * fmaxf(fminf(x[i], 60.0f), -60.0f) + 1.0f;"
    source = kernel(f"{few} if (most < 8.0f) {{ {cut} return; }} {LOOP}", "#include <math.h>")
    with pytest.raises(CheckFailed, match=SOONER):
        await repeated(lab, source, replace(DRAWN, distributions=("normal", "large")))
    assert await repeated(lab, source, replace(DRAWN, distributions=("normal",))) >= 200, "none are that large"


@linux_only
async def test_a_counter_that_is_the_same_again_after_65536_calls_is_found(lab: Lab) -> None:
    """As in a kernel that notes in which call it has been somewhere, in place of clearing it."""
    key = "unsigned bits; memcpy(&bits, x, 4); now++;"
    stale = "for (int k = 0; k < 256; k++) if (seen[k] == now) y[0] += 1.0f;"
    body = f"{LOOP} if (n > 100) return; {key} {stale} seen[bits >> 11 & 255] = now;"
    source = kernel(f"static unsigned short now, seen[256]; {body}", "#include <string.h>")
    with pytest.raises(CheckFailed, match=rf"65,536 calls after another one|set forward|{SOONER}"):
        await repeated(lab, source, replace(DRAWN, distributions=("normal", "constant")))


@linux_only
@pytest.mark.parametrize(
    "number", ["static unsigned calls", "static int calls = 5", "static struct { long kept; int calls; } its"]
)
async def test_a_number_that_grows_with_each_call_is_set_forward_to_its_end(lab: Lab, number: str) -> None:
    """As that of a kernel that is wrong after ten million calls, or once the number begins anew."""
    grown = f"{number}; if (++{'its.calls' if 'its' in number else 'calls'}"
    for wrong in (f"{grown} > 10000000)", f"{grown} == 0)"):
        with pytest.raises(CheckFailed, match="to which numbers that it keeps were set forward"):
            await repeated(lab, kernel(f"{LOOP} {wrong} y[0] += 1.0f;"), DRAWN)


@linux_only
async def test_numbers_that_may_begin_anew_and_places_in_memory_refuse_nobody(lab: Lab) -> None:
    ring = "static char ring[4096], *at = ring; if (at + 64 > ring + sizeof ring) at = ring; *at = 1; at += 64;"
    numbers = "static unsigned epoch, slot; static long calls; epoch += 3; calls++; slot = (slot + 1) % 1000;"
    assert await repeated(lab, kernel(f"{ring} {numbers} ring[slot] = 2; {LOOP}"), DRAWN) >= 200


@linux_only
@pytest.mark.skipif(paranoid() > 2, reason="the system lets nobody have a processor's watchpoints")
async def test_who_writes_behind_an_output_what_lies_there_is_found(lab: Lab) -> None:
    """As one that blends the end of a row into a whole vector, where that crosses no page."""
    behind = "volatile float *end = y + n; if (((unsigned long)end & 4095) - 1 < 3999) *end = *end;"
    with pytest.raises(CheckFailed, match="wrote past the end of y, though only what lay there"):
        await repeated(lab, kernel(f"{LOOP} {behind}"), DRAWN)
    assert await repeated(lab, kernel(f"{LOOP} {behind.replace('*end = *end', '(void)*end')}"), DRAWN) >= 200
