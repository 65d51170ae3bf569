"""The transpose of `examples/rust-prover`, made slow, with its launches, and a harness for it, right and wrong."""

BODY = "out[(long)x * rows + y] = in[(long)y * cols + x];"
SLOW = f"for (volatile int turn = 0; turn < 200; turn++) {BODY}"
LAUNCHES = [
    {"grid": [2, rows // 32], "block": [32, 8], "rows": rows, "cols": 64, "duration_us": rows / 64} for rows in (64, 32)
]
HARNESS = """\
#include "kpd_task.h"
#include <stdint.h>
enum { IN, OUT, BUFFERS };
static const kpd_case cases[] = {
    {"top1", {64, 64}, KPD_TIME_ONLY, {2, 2}, {32, 8}},
    {"top2", {32, 64}, KPD_TIME_ONLY, {2, 1}, {32, 8}},
    {"odd", {33, 5}, KPD_CHECK_ONLY, {1, 2}, {32, 8}},
};
static size_t count(const kpd_case *c) { return (size_t)c->dims[0] * (size_t)c->dims[1]; }
static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[IN] = {"in", KPD_IN, KPD_U32, count(c)};
    b[OUT] = {"out", KPD_OUT, KPD_U32, count(c)};
}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill_int(rng, d, data[IN], count(c), 0, 2013265920);
}
static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    const uint32_t *in = (const uint32_t *)data[IN];
    size_t rows = (size_t)c->dims[0], cols = (size_t)c->dims[1];
    for (size_t y = 0; y < rows; y++)
        for (size_t x = 0; x < cols; x++) want[OUT][x * rows + y] = in[y * cols + x];
}
static void call(const kpd_case *c, void *const *device, cudaStream_t stream) {
    transpose_kernel<<<kpd_dim3(c->grid), kpd_dim3(c->block), 0, stream>>>(
        (const uint32_t *)device[IN], (uint32_t *)device[OUT], (int)c->dims[0], (int)c->dims[1]);
}
const kpd_task_t kpd_task = {"transpose_kernel", {"rows", "cols"}, cases, 3, BUFFERS, buffers, fill, oracle, call};
"""
WRONG = HARNESS.replace("want[OUT][x * rows + y] = ", "want[OUT][x * rows + y] = 1.0 + ")
