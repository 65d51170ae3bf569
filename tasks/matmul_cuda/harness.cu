/* Cases, inputs and truth for matmul. What is timed is large; what is checked is small, and has every kind of edge. */
#include "kpd_task.h"
#include "kernel.h"

#include <math.h>

#include <algorithm>
#include <vector>

enum { A, B, C, BUFFERS };
enum { M, N, K };
constexpr size_t kRows = 8; // of the product, for which an element of b is made a double once

static const kpd_case kConfigs[] = {
    {"1024x1024x1024", {1024, 1024, 1024}, KPD_TIME_ONLY},
    {"2048x512x1024", {2048, 512, 1024}, KPD_TIME_ONLY},
    {"64x2048x2048", {64, 2048, 2048}, KPD_TIME_ONLY},
    {"512x512x4096", {512, 512, 4096}, KPD_TIME_ONLY},
    {"1000x777x515", {1000, 777, 515}, KPD_TIME_ONLY},
    {"1x1x1", {1, 1, 1}, KPD_CHECK_ONLY},
    {"128x128x64", {128, 128, 64}, KPD_CHECK_ONLY},
    {"130x66x1030", {130, 66, 1030}, KPD_CHECK_ONLY},
    {"17x257x33", {17, 257, 33}, KPD_CHECK_ONLY},
};

static void buffers(const kpd_case *c, kpd_buffer *b) {
    size_t m = (size_t)c->dims[M], n = (size_t)c->dims[N], k = (size_t)c->dims[K];
    b[A] = {"a", KPD_IN, KPD_F16, m * k};
    b[B] = {"b", KPD_IN, KPD_F16, k * n};
    b[C] = {"c", KPD_OUT, KPD_F32, m * n};
}

static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill_f16(rng, d, data[A], (size_t)(c->dims[M] * c->dims[K]));
    kpd_fill_f16(rng, d, data[B], (size_t)(c->dims[K] * c->dims[N]));
}

struct product {
    const uint16_t *a, *b;
    double *want, *scale;
    size_t n, k;
};

static void some_rows(void *context, size_t from, size_t to) {
    const product *p = (const product *)context;
    std::vector<double> b(p->n);
    std::fill(p->want + from * p->n, p->want + to * p->n, 0.0);
    std::fill(p->scale + from * p->n, p->scale + to * p->n, 0.0);
    for (size_t i = from; i < to; i += kRows) {
        for (size_t l = 0; l < p->k; l++) {
            for (size_t j = 0; j < p->n; j++) b[j] = kpd_f16(p->b[l * p->n + j]);
            for (size_t r = i; r < std::min(to, i + kRows); r++) {
                double a = kpd_f16(p->a[r * p->k + l]), *row = p->want + r * p->n, *size = p->scale + r * p->n;
                for (size_t j = 0; j < p->n; j++) {
                    row[j] += a * b[j];
                    size[j] += fabs(a * b[j]);
                }
            }
        }
    }
}

/* The products cancel, so an error is measured by the sum of their magnitudes. */
static void scaled_oracle(const kpd_case *c, void *const *data, double *const *want, double *const *scale) {
    size_t n = (size_t)c->dims[N], k = (size_t)c->dims[K];
    product p = {(const uint16_t *)data[A], (const uint16_t *)data[B], want[C], scale[C], n, k};
    kpd_parallel((size_t)c->dims[M], kRows + 100000 / (n * k), some_rows, &p);
}

static void call(const kpd_case *c, void *const *device, cudaStream_t stream) {
    matmul((const __half *)device[A], (const __half *)device[B], (float *)device[C], c->dims[M], c->dims[N], c->dims[K], stream);
}

const kpd_task_t kpd_task = {
    "matmul", {"m", "n", "k"}, kConfigs, sizeof kConfigs / sizeof *kConfigs, BUFFERS, buffers, fill, nullptr, call, nullptr,
    scaled_oracle,
};
