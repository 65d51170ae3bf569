"""A matrix times a vector: a task whose results cancel. Kernels that are right, and kernels that work less exactly."""

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from kpd.measure.bench import CheckPassed
from kpd.measure.c.bench import harness
from kpd.measure.driver.check import check
from kpd.measure.driver.tolerance import measure_bounds
from kpd.workspace.specs import CheckSpec
from tests.support.measure.measured import Lab, lab

HARNESS = b"""
#include "kpd_task.h"
#include <math.h>
enum { A, X, Y };
static const kpd_case cases[] = {{"300x512", {300, 512}}};
static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[A] = (kpd_buffer){"a", KPD_IN, KPD_F32, (size_t)(c->dims[0] * c->dims[1])};
    b[X] = (kpd_buffer){"x", KPD_IN, KPD_F32, (size_t)c->dims[1]};
    b[Y] = (kpd_buffer){"y", KPD_OUT, KPD_F32, (size_t)c->dims[0]};
}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[A], (size_t)(c->dims[0] * c->dims[1]));
    kpd_fill(rng, d, data[X], (size_t)c->dims[1]);
}
static void scaled_oracle(const kpd_case *c, void *const *data, double *const *want, double *const *scale) {
    const float *a = data[A], *x = data[X];
    for (long i = 0; i < c->dims[0]; i++, a += c->dims[1]) {
        want[Y][i] = scale[Y][i] = 0.0;
        for (long k = 0; k < c->dims[1]; k++) {
            want[Y][i] += (double)a[k] * x[k];
            scale[Y][i] += fabs((double)a[k] * x[k]);
        }
    }
}
static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {
    ((void (*)(const float *, const float *, float *, long, long))kernel)(
        data[A], data[X], data[Y], c->dims[0], c->dims[1]);
}
const kpd_task_t kpd_task = {
    .symbol = "product", .dims = {"rows", "cols"}, .cases = cases, .case_count = 1, .buffer_count = 3,
    .buffers = buffers, .fill = fill, .call = call, .scaled_oracle = scaled_oracle,
};
"""
KERNEL = """
#include <string.h>
typedef float lanes __attribute__((vector_size(32)));
static inline float cut(float value, int bits) {{ /* to so many bits of mantissa */
    unsigned all;
    memcpy(&all, &value, 4);
    all = (all + (1u << (22 - bits))) & ~((1u << (23 - bits)) - 1);
    memcpy(&value, &all, 4);
    return value;
}}
static float row(const float *a, const float *x, long n) {{ {row} }}
void product(const float *a, const float *x, float *y, long rows, long cols) {{
    for (long i = 0; i < rows; i++) {{ y[i] = row(a + i * cols, x, cols); {after} }}
}}
"""


def kernel(row: str, after: str = "") -> str:
    return KERNEL.format(row=row, after=after)


PLAIN = kernel("float sum = 0; for (long k = 0; k < n; k++) sum += a[k] * x[k]; return sum;")
RIGHT = {
    "from the end": kernel("float sum = 0; for (long k = n; k--;) sum += a[k] * x[k]; return sum;"),
    "in eight lanes": kernel(
        "lanes s = {0}, v, w; for (long k = 0; k < n; k += 8) { memcpy(&v, a + k, 32); memcpy(&w, x + k, 32);"
        " s += v * w; } float sum = 0; for (int k = 0; k < 8; k++) sum += s[k]; return sum;"
    ),
    "in blocks, fused": kernel(
        "float sum = 0; for (long b = 0; b < n; b += 64) { float part = 0;"
        " for (long k = b; k < b + 64; k++) part = __builtin_fmaf(a[k], x[k], part); sum += part; } return sum;"
    ),
}
"""Three other ways to sum up."""
INEXACT = {
    "TF32": kernel("float sum = 0; for (long k = 0; k < n; k++) sum += cut(a[k], 10) * cut(x[k], 10); return sum;"),
    "bfloat16": kernel("float sum = 0; for (long k = 0; k < n; k++) sum += cut(a[k], 7) * cut(x[k], 7); return sum;"),
    "accumulated with 11 bits": kernel(
        "float sum = 0; for (long k = 0; k < n; k++) sum = cut(sum + a[k] * x[k], 10); return sum;"
    ),
    "one row off by 1 %": kernel(
        "float sum = 0; for (long k = 0; k < n; k++) sum += a[k] * x[k]; return sum;",
        "if (i == 7) for (long k = 0; k < 64; k++) y[i] += 0.01f * a[i * cols + k] * x[k];",
    ),
}
NATIVE = CheckSpec(seeds=1, limit_s=20.0)
numbers = count()


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    async with lab(tmp_path_factory.mktemp("products")) as ready:
        made = await harness(ready.host, ready.tools, {"harness.c": HARNESS}, 60.0)
        yield Lab(ready.host, ready.tools, made, ready.where)


async def checked(lab: Lab, source: str, compare: str, own: str = PLAIN, **spec: Any) -> CheckPassed:
    """Check a kernel of a task whose own one is `own`; with a tolerance in `spec` that one does not matter."""
    how = replace(NATIVE, compare=compare, **spec)
    reference, built = await lab.build(own, "-O2"), await lab.build(source, "-O2", "-mfma")
    bounds = await measure_bounds(lab.host, lab.harness, reference.job, how, lab.where) if how.is_native else ""
    job = f"products{next(numbers)}"
    return await check(lab.host, lab.harness, built.job, job, how, lab.where, reference=bounds)
