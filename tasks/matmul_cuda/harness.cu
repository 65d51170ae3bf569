/* Cases, inputs and truth for matmul. What is timed is large; what is checked is small, and has every kind of edge. */
#include "kpd_task.h"
#include "kernel.h"

#include <math.h>

#include <algorithm>
#include <memory>
#include <vector>

enum { A, B, C, BUFFERS };
enum { M, N, K };
constexpr size_t kRows = 2, kCols = 4; // of a block of the product, whose sums are kept in registers

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
    double *wide; // b: all of its first kCols columns, then of the next
    double *want, *scale;
    size_t n, k;
};

static void widen(void *context, size_t from, size_t to) {
    const product *p = (const product *)context;
    std::vector<double> row(p->n + kCols);
    for (size_t l = from; l < to; l++) {
        for (size_t j = 0; j < p->n; j++) row[j] = kpd_f16(p->b[l * p->n + j]);
        for (size_t j = 0; j < p->n; j += kCols) std::copy_n(&row[j], kCols, p->wide + j * p->k + l * kCols);
    }
}

static void one_block(const double *a, const double *b, size_t k, double (&want)[kRows][kCols], double (&scale)[kRows][kCols]) {
    double sums[kRows][kCols] = {}, sizes[kRows][kCols] = {};
    for (size_t l = 0; l < k; l++) {
        for (size_t r = 0; r < kRows; r++) {
            for (size_t s = 0; s < kCols; s++) {
                double both = a[r * k + l] * b[l * kCols + s];
                sums[r][s] += both;
                sizes[r][s] += fabs(both);
            }
        }
    }
    memcpy(want, sums, sizeof sums);
    memcpy(scale, sizes, sizeof sizes);
}

static void some_rows(void *context, size_t from, size_t to) {
    const product *p = (const product *)context;
    size_t n = p->n, k = p->k;
    std::vector<double> a((to - from + kRows) * k);
    double want[kRows][kCols], scale[kRows][kCols];
    for (size_t i = 0; i < (to - from) * k; i++) a[i] = kpd_f16(p->a[from * k + i]);
    for (size_t j = 0; j < n; j += kCols) {
        size_t cols = std::min(kCols, n - j);
        for (size_t i = from; i < to; i += kRows) {
            one_block(&a[(i - from) * k], p->wide + j * k, k, want, scale);
            for (size_t r = 0; r < std::min(kRows, to - i); r++) {
                std::copy_n(want[r], cols, p->want + (i + r) * n + j);
                std::copy_n(scale[r], cols, p->scale + (i + r) * n + j);
            }
        }
    }
}

/* The products cancel, so an error is measured by the sum of their magnitudes. */
static void scaled_oracle(const kpd_case *c, void *const *data, double *const *want, double *const *scale) {
    size_t n = (size_t)c->dims[N], k = (size_t)c->dims[K];
    std::unique_ptr<double[]> wide(new double[(n + kCols) * k]); // of which `widen` writes all that is read
    product p = {(const uint16_t *)data[A], (const uint16_t *)data[B], wide.get(), want[C], scale[C], n, k};
    kpd_parallel(k, 1 + 100000 / n, widen, &p);
    kpd_parallel((size_t)c->dims[M], kRows * (1 + 100000 / (n * k)), some_rows, &p);
}

static void call(const kpd_case *c, void *const *device, cudaStream_t stream) {
    matmul((const __half *)device[A], (const __half *)device[B], (float *)device[C], c->dims[M], c->dims[N], c->dims[K], stream);
}

const kpd_task_t kpd_task = {
    "matmul", {"m", "n", "k"}, kConfigs, sizeof kConfigs / sizeof *kConfigs, BUFFERS, buffers, fill, nullptr, call, nullptr,
    scaled_oracle,
};
