/* Cases, inputs and truth for rmsnorm_silu. */
#include "kpd_task.h"
#include "kernel.h"

#include <math.h>

enum { X, W, G, EPS, Y, BUFFERS };
enum { ROWS, COLS };

static const kpd_case cases[] = {
    {"64x512", {64, 512}},
    {"8x4096", {8, 4096}},
    {"33x1000", {33, 1000}},
    {"4x16384", {4, 16384}},
};

static void buffers(const kpd_case *c, kpd_buffer *b) {
    size_t rows = (size_t)c->dims[ROWS], cols = (size_t)c->dims[COLS];
    b[X] = (kpd_buffer){"x", KPD_IN, KPD_F32, rows * cols};
    b[W] = (kpd_buffer){"w", KPD_IN, KPD_F32, cols};
    b[G] = (kpd_buffer){"g", KPD_IN, KPD_F32, rows * cols};
    b[EPS] = (kpd_buffer){"eps", KPD_IN, KPD_F32, 1}; /* it is an argument: another one for each inputs */
    b[Y] = (kpd_buffer){"y", KPD_OUT, KPD_F32, rows * cols};
}

static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    size_t rows = (size_t)c->dims[ROWS], cols = (size_t)c->dims[COLS];
    kpd_fill(rng, d, data[X], rows * cols);
    kpd_fill(rng, d, data[W], cols);
    kpd_fill(rng, d, data[G], rows * cols);
    *(float *)data[EPS] = (float)pow(10.0, -1.0 - 11.0 * (double)(kpd_random(rng) >> 11) / 9007199254740992.0);
}

static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    const float *x = data[X], *w = data[W], *g = data[G], *eps = data[EPS];
    double *y = want[Y];
    long rows = c->dims[ROWS], cols = c->dims[COLS];
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        double sum = 0.0;
        for (long i = 0; i < cols; i++) sum += (double)x[i] * x[i];
        double scale = 1.0 / sqrt(sum / (double)cols + (double)*eps);
        for (long i = 0; i < cols; i++) y[i] = x[i] * scale * w[i] * (g[i] / (1.0 + exp(-(double)g[i])));
    }
}

static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {
    void (*run)(const float *, const float *, const float *, float *, long, long, float) = (void (*)(
        const float *, const float *, const float *, float *, long, long, float))kernel;
    run(data[X], data[W], data[G], data[Y], c->dims[ROWS], c->dims[COLS], *(const float *)data[EPS]);
}

const kpd_task_t kpd_task = {
    "rmsnorm_silu", {"rows", "cols"}, cases, sizeof cases / sizeof *cases, BUFFERS, buffers, fill, oracle, call,
    .limits = {{0}, {.most = 16387}}, /* twice as long a sum in one float can be off by more than rtol */
};
