"""A dot product of 4-bit weights and 8-bit activations, in blocks of 32 with a scale each, right and wrong."""

from collections.abc import AsyncIterator

import pytest

from kpd.measure.c.bench import harness
from tests.support.measure.measured import Lab, lab

HARNESS = b"""
#include "kpd_task.h"
#include <math.h>
enum { SCALES, NIBBLES, OF_X, X, Y };
static const kpd_case cases[] = {{"24x512", {24, 512}}};
static void buffers(const kpd_case *c, kpd_buffer *b) {
    size_t rows = (size_t)c->dims[0], cols = (size_t)c->dims[1];
    b[SCALES] = (kpd_buffer){"scales", KPD_IN, KPD_F32, rows * cols / 32};
    b[NIBBLES] = (kpd_buffer){"nibbles", KPD_IN, KPD_U8, rows * cols / 2};
    b[OF_X] = (kpd_buffer){"of_x", KPD_IN, KPD_F32, cols / 32};
    b[X] = (kpd_buffer){"x", KPD_IN, KPD_I8, cols};
    b[Y] = (kpd_buffer){"y", KPD_OUT, KPD_F32, rows};
}
/* A block of floats as a scale and numbers up to `most`. */
static float quantised(kpd_rng *rng, kpd_distribution d, float most, int *q) {
    float values[32], greatest = 0.0f;
    kpd_fill(rng, d, values, 32);
    for (int k = 0; k < 32; k++) greatest = fmaxf(greatest, fabsf(values[k]));
    for (int k = 0; k < 32; k++) q[k] = greatest > 0.0f ? (int)lrintf(values[k] / greatest * most) : 0;
    return greatest / most;
}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    int q[32];
    for (long b = 0; b < c->dims[0] * c->dims[1] / 32; b++) {
        ((float *)data[SCALES])[b] = quantised(rng, d, 7.0f, q);
        uint8_t *nibbles = (uint8_t *)data[NIBBLES] + b * 16;
        for (int k = 0; k < 16; k++) nibbles[k] = (uint8_t)(q[2 * k] + 8 | q[2 * k + 1] + 8 << 4);
    }
    for (long b = 0; b < c->dims[1] / 32; b++) {
        ((float *)data[OF_X])[b] = quantised(rng, d, 127.0f, q);
        for (int k = 0; k < 32; k++) ((int8_t *)data[X])[b * 32 + k] = (int8_t)q[k];
    }
}
static void scaled_oracle(const kpd_case *c, void *const *data, double *const *want, double *const *scale) {
    const float *scales = data[SCALES], *of_x = data[OF_X];
    const uint8_t *nibbles = data[NIBBLES];
    const int8_t *x = data[X];
    for (long i = 0; i < c->dims[0]; i++) {
        want[Y][i] = scale[Y][i] = 0.0;
        for (long k = 0; k < c->dims[1]; k++) {
            long at = i * c->dims[1] + k;
            double nibble = nibbles[at / 2] >> 4 * (at % 2) & 15;
            double factor = (double)scales[at / 32] * of_x[k / 32] * x[k];
            want[Y][i] += (nibble - 8.0) * factor;
            scale[Y][i] += (nibble + 8.0) * fabs(factor); /* some forms take the offset out */
        }
    }
}
static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {
    ((void (*)(const float *, const unsigned char *, const float *, const signed char *, float *, long, long))kernel)(
        data[SCALES], data[NIBBLES], data[OF_X], data[X], data[Y], c->dims[0], c->dims[1]);
}
const kpd_task_t kpd_task = {
    .symbol = "dot_q4_q8", .dims = {"rows", "cols"}, .cases = cases, .case_count = 1, .buffer_count = 5,
    .buffers = buffers, .fill = fill, .call = call, .scaled_oracle = scaled_oracle,
};
"""
KERNEL = """
static int low(const unsigned char *n, int k) {{ return n[k / 2] >> 4 * (k % 2) & 15; }}
typedef signed char i8;
typedef unsigned char u8;
static float row(const float *d, const u8 *n, const float *e, const i8 *x, long blocks) {{ {row} }}
void dot_q4_q8(const float *d, const u8 *n, const float *e, const i8 *x, float *y, long rows, long cols) {{
    for (long i = 0; i < rows; i++) y[i] = row(d + i * cols / 32, n + i * cols / 2, e, x, cols / 32);
}}
"""
BY_BLOCKS = (
    "float sum = 0; for (long b = 0; b < blocks; b++) {{ int all = 0;"
    " for (int k = 0; k < 32; k++) all += (low(n + b * 16, k) - 8) * x[b * 32 + k];"
    " sum += d[b] * e[b] * (float)all {also}; }} return sum;"
)


def kernel(row: str) -> str:
    return KERNEL.format(row=row)


PLAIN = kernel(
    "float sum = 0; for (long k = 0; k < blocks * 32; k++)"
    " sum += d[k / 32] * (float)(low(n + k / 32 * 16, k % 32) - 8) * (e[k / 32] * (float)x[k]); return sum;"
)
"""Both sides as floats, element by element."""
FORMS = {
    "integers within a block": kernel(BY_BLOCKS.format(also="")),
    "the offset taken out": kernel(
        "float sum = 0; for (long b = blocks; b--;) { int all = 0, of_x = 0;"
        " for (int k = 0; k < 32; k++) all += low(n + b * 16, k) * x[b * 32 + k], of_x += x[b * 32 + k];"
        " sum += d[b] * (e[b] * (float)all - 8.0f * e[b] * (float)of_x); } return sum;"
    ),
    "floats in eight lanes": kernel(
        "float sums[8] = {0}; for (long k = 0; k < blocks * 32; k++)"
        " sums[k % 8] += e[k / 32] * (float)x[k] * (d[k / 32] * (float)(low(n + k / 32 * 16, k % 32) - 8));"
        " return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));"
    ),
}
"""Equal in exact arithmetic."""
WRONG = kernel(BY_BLOCKS.format(also="* (b == 5 ? 1.01f : 1.0f)"))
"""One block of each row counts 1 % too much."""


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    async with lab(tmp_path_factory.mktemp("quants")) as ready:
        made = await harness(ready.host, ready.tools, {"harness.c": HARNESS}, 60.0)
        yield Lab(ready.host, ready.tools, made, ready.where)
