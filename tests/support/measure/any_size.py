"""A CUDA task whose sizes may be drawn, y = 2 x, and its kernel."""

OF_ANY_SIZE = """
#include "kpd_task.h"
enum { X, Y };
static const kpd_case cases[] = {{"12x7", {12, 7}}};
static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[X] = {"x", KPD_IN, KPD_F32, (size_t)(c->dims[0] * c->dims[1])};
    b[Y] = {"y", KPD_OUT, KPD_F32, (size_t)(c->dims[0] * c->dims[1])};
}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[X], (size_t)(c->dims[0] * c->dims[1]));
}
static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    for (long i = 0; i < c->dims[0] * c->dims[1]; i++) want[Y][i] = 2.0 * ((const float *)data[X])[i];
}
static void call(const kpd_case *c, void *const *d, cudaStream_t stream) {
    twice((const float *)d[X], (float *)d[Y], c->dims[0], c->dims[1], stream);
}
const kpd_task_t kpd_task = {"twice", {"rows", "cols"}, cases, 1, 2, buffers, fill, oracle, call};
"""
TWICE = """
static __global__ void doubled(const float *x, float *y, long count) {
    long i = (long)blockIdx.x * 256 + threadIdx.x;
    if (i < count) y[i] = 2.0f * x[i];
}
static void twice(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    long count = rows * cols;
    doubled<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(x, y, count);
}
"""
