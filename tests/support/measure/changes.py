"""A task whose candidates leave something out."""

from collections.abc import AsyncIterator

import pytest

from kpd.measure.c.bench import harness
from tests.support.measure.measured import Lab, lab

HARNESS = b"""
#include "kpd_task.h"
static const kpd_case cases[] = {{"500", {500}}};
static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[0] = (kpd_buffer){"x", KPD_IN, KPD_F64, (size_t)c->dims[0]};
    b[1] = (kpd_buffer){"out", KPD_OUT, KPD_F64, 1};
}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    (void)d;
    for (long i = 0; i < c->dims[0]; i++) ((double *)data[0])[i] = (double)(kpd_random(rng) % 1000);
}
static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    want[1][0] = 0.0;
    for (long i = 0; i < c->dims[0]; i++) want[1][0] += ((const double *)data[0])[i];
}
static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {
    ((void (*)(const double *, double *, long))kernel)(data[0], data[1], c->dims[0]);
}
static kpd_change change(const kpd_case *c, kpd_rng *rng) {
    return (kpd_change){0, kpd_random(rng) % (uint64_t)c->dims[0], (double)(kpd_random(rng) % 1000)};
}
const kpd_task_t kpd_task = {"total", {"n"}, cases, 1, 2, buffers, fill, oracle, call, change};
"""
RIGHT = """void total(double *x, double *out, long n) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += x[i];
    *out = sum;
}"""


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    async with lab(tmp_path_factory.mktemp("changes")) as ready:
        made = await harness(ready.host, ready.tools, {"harness.c": HARNESS}, 60.0)
        yield Lab(ready.host, ready.tools, made, ready.where)
