/* Cases, inputs and truth for conv2d. */
#include "kpd_task.h"
#include "kernel.h"

#include <math.h>

enum { X, W, Y, BUFFERS };
enum { PLANES, ROWS, COLS };

static const kpd_case cases[] = {
    {"1x256x256", {1, 256, 256}},
    {"16x56x56", {16, 56, 56}},
    {"3x101x203", {3, 101, 203}},
    {"64x14x14", {64, 14, 14}},
    {"1x1x1", {1, 1, 1}, KPD_CHECK_ONLY},
    {"2x3x67", {2, 3, 67}, KPD_CHECK_ONLY},
};

static size_t of_x(const kpd_case *c) {
    return (size_t)(c->dims[PLANES] * (c->dims[ROWS] + SIZE - 1) * (c->dims[COLS] + SIZE - 1));
}

static size_t of_w(const kpd_case *c) { return (size_t)(c->dims[PLANES] * SIZE * SIZE); }

static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[X] = (kpd_buffer){"x", KPD_IN, KPD_F32, of_x(c)};
    b[W] = (kpd_buffer){"w", KPD_IN, KPD_F32, of_w(c)};
    b[Y] = (kpd_buffer){"y", KPD_OUT, KPD_F32, (size_t)(c->dims[PLANES] * c->dims[ROWS] * c->dims[COLS])};
}

static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[X], of_x(c));
    kpd_fill(rng, d, data[W], of_w(c));
}

/* The products cancel, so an error is measured by the sum of their magnitudes. */
static void scaled_oracle(const kpd_case *c, void *const *data, double *const *want, double *const *scale) {
    const float *x = data[X], *w = data[W];
    double *y = want[Y], *size = scale[Y];
    long rows = c->dims[ROWS], cols = c->dims[COLS], wide = cols + SIZE - 1;
    for (long p = 0; p < c->dims[PLANES]; p++, x += (rows + SIZE - 1) * wide, w += SIZE * SIZE) {
        for (long r = 0; r < rows; r++) {
            for (long col = 0; col < cols; col++, y++, size++) {
                *y = *size = 0.0;
                for (long i = 0; i < SIZE; i++) {
                    for (long j = 0; j < SIZE; j++) {
                        double product = (double)w[i * SIZE + j] * x[(r + i) * wide + col + j];
                        *y += product;
                        *size += fabs(product);
                    }
                }
            }
        }
    }
}

static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {
    void (*run)(const float *, const float *, float *, long, long, long) =
        (void (*)(const float *, const float *, float *, long, long, long))kernel;
    run(data[X], data[W], data[Y], c->dims[PLANES], c->dims[ROWS], c->dims[COLS]);
}

const kpd_task_t kpd_task = {
    "conv2d", {"planes", "rows", "cols"}, cases, sizeof cases / sizeof *cases, BUFFERS, buffers, fill, NULL, call, NULL, scaled_oracle,
};
