/* Cases, inputs and truth for matmul: squares that fit a cache, a flat and a deep product, and sizes with edges. */
#include "kpd_task.h"
#include "kernel.h"

#include <math.h>

enum { A, B, C, BUFFERS };
enum { M, N, K };

static const kpd_case cases[] = {
    {"128x128x128", {128, 128, 128}},
    {"256x256x64", {256, 256, 64}},
    {"32x48x1024", {32, 48, 1024}},
    {"97x131x75", {97, 131, 75}},
    {"1x1x1", {1, 1, 1}, KPD_CHECK_ONLY},
    {"3x5x7", {3, 5, 7}, KPD_CHECK_ONLY},
};

static void buffers(const kpd_case *c, kpd_buffer *b) {
    size_t m = (size_t)c->dims[M], n = (size_t)c->dims[N], k = (size_t)c->dims[K];
    b[A] = (kpd_buffer){"a", KPD_IN, KPD_F32, m * k};
    b[B] = (kpd_buffer){"b", KPD_IN, KPD_F32, k * n};
    b[C] = (kpd_buffer){"c", KPD_OUT, KPD_F32, m * n};
}

static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[A], (size_t)(c->dims[M] * c->dims[K]));
    kpd_fill(rng, d, data[B], (size_t)(c->dims[K] * c->dims[N]));
}

/* The products cancel, so an error is measured by the sum of their magnitudes. */
static void scaled_oracle(const kpd_case *c, void *const *data, double *const *want, double *const *scale) {
    const float *a = data[A], *b = data[B];
    long m = c->dims[M], n = c->dims[N], k = c->dims[K];
    for (long i = 0; i < m; i++) {
        double *row = want[C] + i * n, *size = scale[C] + i * n;
        for (long j = 0; j < n; j++) row[j] = size[j] = 0.0;
        for (long l = 0; l < k; l++) {
            for (long j = 0; j < n; j++) {
                double product = (double)a[i * k + l] * b[l * n + j];
                row[j] += product;
                size[j] += fabs(product);
            }
        }
    }
}

static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {
    void (*run)(const float *, const float *, float *, long, long, long) =
        (void (*)(const float *, const float *, float *, long, long, long))kernel;
    run(data[A], data[B], data[C], c->dims[M], c->dims[N], c->dims[K]);
}

const kpd_task_t kpd_task = {
    "matmul", {"m", "n", "k"}, cases, sizeof cases / sizeof *cases, BUFFERS, buffers, fill, NULL, call, NULL, scaled_oracle,
};
