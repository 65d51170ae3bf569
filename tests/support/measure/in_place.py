"""A task with buffers that are changed in place, an output whose size is known only afterwards, and bytes."""

HARNESS = """
#include "kpd_task.h"
enum { X, K, SUM, COUNT, FOUND, BYTES, FLAGS };
static const kpd_case cases[] = {{"4001", {4001}}, {"63", {63}}};
static void buffers(const kpd_case *c, kpd_buffer *b) {
    size_t n = (size_t)c->dims[0];
    kpd_buffer all[] = {
        {"x", KPD_IN, KPD_F32, n}, {"k", KPD_IN, KPD_I8, n}, {"sum", KPD_INOUT, KPD_F32, n},
        {"count", KPD_OUT, KPD_I64, 1}, {"found", KPD_OUT, KPD_I32, n, KPD_SIZED_BY(COUNT)},
        {"bytes", KPD_OUT, KPD_U8, n}, {"flags", KPD_OUT, KPD_BOOL, n},
    };
    memcpy(b, all, sizeof all);
}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    size_t n = (size_t)c->dims[0];
    kpd_fill(rng, d, data[X], n);
    kpd_fill_integers(rng, d, KPD_I8, data[K], n, -128, 127);
    kpd_fill(rng, d, data[SUM], n);
}
static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    const float *x = (const float *)data[X], *sum = (const float *)data[SUM];
    const int8_t *k = (const int8_t *)data[K];
    int64_t *count = (int64_t *)(void *)want[COUNT];
    *count = 0;
    for (long i = 0; i < c->dims[0]; i++) {
        want[SUM][i] = (double)x[i] + sum[i];
        if (x[i] > 0) want[FOUND][(*count)++] = (double)i;
        want[BYTES][i] = (uint8_t)(k[i] + 100);
        want[FLAGS][i] = k[i] > 0;
    }
}
static void call(kpd_kernel kernel, const kpd_case *c, void *const *d) {
    ((void (*)(const float *, const int8_t *, float *, int64_t *, int *, uint8_t *, uint8_t *, long))kernel)(
        d[X], d[K], d[SUM], d[COUNT], d[FOUND], d[BYTES], d[FLAGS], c->dims[0]);
}
const kpd_task_t kpd_task = {"gather", {"n"}, cases, 2, 7, buffers, fill, oracle, call};
"""
KERNEL = """
#include <stdint.h>
void gather(const float *x, const int8_t *k, float *sum, int64_t *count, int *found, uint8_t *bytes, uint8_t *flags,
            long n) {
    int64_t seen = 0;
    for (long i = 0; i < n; i++) {
        sum[i] += x[i];
        if (x[i] > 0) found[seen++] = (int)i;
        bytes[i] = (uint8_t)(k[i] + 100);
        flags[i] = k[i] > 0;
    }
    *count = seen;
    AFTER
}
"""


def kernel(after: str = "") -> str:
    """A kernel that is right, and then does this."""
    return KERNEL.replace("AFTER", after)
