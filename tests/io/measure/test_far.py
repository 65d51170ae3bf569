"""Winners on a CPU are called at sizes far beyond those of the cases."""

from dataclasses import replace
from itertools import count

import pytest

from kpd.hosts.errors import HostError
from kpd.measure import jobs
from kpd.measure.c.bench import harness
from kpd.measure.driver.far import far
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.model.sanitizer import ToolReport
from tests.support.hosts.local import linux_only
from tests.support.measure.measured import Lab
from tests.support.measure.sizes import AUTO, LOOP, RIGHT, _lab, kernel, made

__all__ = ["_lab"]

pytestmark = [pytest.mark.asyncio(loop_scope="module"), linux_only]

DRAWN = replace(AUTO, sizes="any")
numbers = count()
SUMS = """
#include "kpd_task.h"
enum { X, W, Y };
static const kpd_case cases[] = {{"4x64x32", {4, 64, 32}}};
static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[X] = (kpd_buffer){"x", KPD_IN, KPD_F32, (size_t)(c->dims[0] * c->dims[2])};
    b[W] = (kpd_buffer){"w", KPD_IN, KPD_F32, (size_t)(c->dims[1] * c->dims[2])};
    b[Y] = (kpd_buffer){"y", KPD_OUT, KPD_F32, (size_t)(c->dims[0] * c->dims[1])};
}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[X], (size_t)(c->dims[0] * c->dims[2]));
    kpd_fill(rng, d, data[W], (size_t)(c->dims[1] * c->dims[2]));
}
static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    for (long i = 0; i < c->dims[0] * c->dims[1]; i++) want[Y][i] = ((const float *)data[X])[i / c->dims[1]];
}
static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {
    ((void (*)(const float *, const float *, float *, long, long))kernel)(data[X], data[W], data[Y], c->dims[1],
        c->dims[0] * c->dims[1]);
}
const kpd_task_t kpd_task = {
    .symbol = "blend", .dims = {"m", "n", "k"}, .cases = cases, .case_count = 1, .buffer_count = 3, .buffers = buffers,
    .fill = fill, .oracle = oracle, .call = call,
};
"""
FIRST = "for (long i = 0; i < n; i++) y[i] = x[i / of];"


async def seen(lab: Lab, program: Harness, source: str, own: str = RIGHT, limit_s: float = 30.0) -> ToolReport:
    """Call a kernel of the task whose own one is `own`."""
    ready = replace(lab, harness=program)
    built, baseline = await ready.build(source), await ready.build(own)
    path = jobs.out(lab.host, baseline.job, OBJECT)
    return await far(lab.host, program, built.job, path, f"far{next(numbers)}", DRAWN, lab.where, limit_s)


@pytest.mark.parametrize("what", ["y[n - 1] = 0.0f;", "__builtin_trap();", "y[n] = 0.0f;"])
async def test_what_is_wrong_there_is_found(lab: Lab, what: str) -> None:
    source = kernel(f"{LOOP} if (n > 3000000) {{ {what} }}")
    found = await seen(lab, await made(lab), source)
    assert (found.tool, found.errors, found.baseline, found.trouble) == ("overflow", 1, False, "")
    assert found.said.startswith("n=")
    at_most = await seen(lab, await made(lab, limits="{.most = 2000000}"), source)
    assert (at_most.errors, at_most.cases) == (0, at_most.of) and at_most.of >= 4, "where no larger ones are allowed"
    own = await seen(lab, await made(lab), source, source)
    assert own.errors == 0, "where the task's own kernel is wrong, too"


async def test_one_that_is_right_is_called_at_millions_of_elements(lab: Lab) -> None:
    asks = kernel(f"if (n > 8000000) __builtin_trap(); {LOOP}")
    found = await seen(lab, await made(lab), RIGHT)
    assert (found.errors, found.cases) == (0, found.of) and found.of >= 6
    assert (await seen(lab, await made(lab), asks)).errors, "how far it goes"


async def test_who_runs_over_the_end_of_its_own_data_is_found(lab: Lab) -> None:
    own = kernel(f"for (long i = 0; i < n; i++) all[i] = 1; {LOOP}", "static volatile char all[200000];")
    found = await seen(lab, await made(lab), own)
    assert found.errors and "crashed" in found.said


async def test_two_dims_are_large_together_where_the_third_is_small(lab: Lab) -> None:
    program = await harness(lab.host, lab.tools, {"harness.c": SUMS.encode()}, 60.0)
    right, wrong = (
        f"void blend(const float *x, const float *w, float *y, long of, long n) {{ (void)w; {FIRST} {what} }}\n"
        for what in ("", "if (of > 1000 && n / of > 60) y[n - 1] += 1.0f;")
    )
    assert (await seen(lab, program, right, right)).errors == 0
    found = await seen(lab, program, wrong, right)
    assert found.errors and "elements wrong" in found.said


async def test_what_is_at_work_after_calls_at_large_sizes_is_found(lab: Lab) -> None:
    spins = 'static void *spin(void *of) { for (;;) __asm__ volatile(""); return of; }'
    begins = "static int began; pthread_t one; if (n > 9000 && !began++) pthread_create(&one, NULL, spin, NULL);"
    found = await seen(lab, await made(lab), kernel(f"{begins} {LOOP}", f"#include <pthread.h>\n{spins}"))
    assert found.errors and "is at work while no call is" in found.said


async def test_no_size_is_asked_for_where_the_harness_allows_none(lab: Lab) -> None:
    found = await seen(lab, await made(lab, limits="{.most = 1000}"), kernel("__builtin_trap();"))
    assert (found.cases, found.of, found.errors, found.trouble) == (0, 0, 0, "")


async def test_a_kernel_that_has_no_end_is_told_from_a_host_that_fails(lab: Lab) -> None:
    found = await seen(lab, await made(lab), kernel(f'if (n > 100000) for (;;) __asm__(""); {LOOP}'))
    assert found.errors and "did not return in time" in found.said
    over = await seen(lab, await made(lab), kernel(f'if (n > 100000) for (;;) __asm__(""); {LOOP}'), limit_s=1.0)
    assert over.errors, "who takes all the time that there is"
    gone = replace(await made(lab), program="/nowhere/bench")
    with pytest.raises(HostError):
        await seen(lab, gone, RIGHT)
