#include "kpd_task.h"

enum { X, Y };

static const kpd_case cases[] = {{"n=4096", {4096}}, {"n=1001", {1001}}};

static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[X] = (kpd_buffer){"x", KPD_IN, KPD_F32, (size_t)c->dims[0]};
    b[Y] = (kpd_buffer){"y", KPD_OUT, KPD_F32, (size_t)c->dims[0]};
}

static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[X], (size_t)c->dims[0]);
}

static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    const float *x = data[X];
    for (long i = 0; i < c->dims[0]; i++) want[Y][i] = 2.0 * (double)x[i];
}

static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {
    ((void (*)(const float *, float *, long))kernel)(data[X], data[Y], c->dims[0]);
}

const kpd_task_t kpd_task = {"scale", {"n"}, cases, 2, 2, buffers, fill, oracle, call};
