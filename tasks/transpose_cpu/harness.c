/* Cases, inputs and truth for transpose: powers of two, where strides collide in the caches, and odd sizes with edges. */
#include "kpd_task.h"
#include "kernel.h"

enum { IN, OUT, BUFFERS };
enum { ROWS, COLS };

static const kpd_case cases[] = {
    {"256x256", {256, 256}},
    {"512x512", {512, 512}},
    {"317x241", {317, 241}},
    {"64x2048", {64, 2048}},
};

static void buffers(const kpd_case *c, kpd_buffer *b) {
    size_t count = (size_t)c->dims[ROWS] * (size_t)c->dims[COLS];
    b[IN] = (kpd_buffer){"in", KPD_IN, KPD_F32, count};
    b[OUT] = (kpd_buffer){"out", KPD_OUT, KPD_F32, count};
}

static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[IN], (size_t)c->dims[ROWS] * (size_t)c->dims[COLS]);
}

static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    const float *in = data[IN];
    long rows = c->dims[ROWS], cols = c->dims[COLS];
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < cols; j++) want[OUT][j * rows + i] = in[i * cols + j];
}

static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {
    void (*run)(const float *, float *, long, long) = (void (*)(const float *, float *, long, long))kernel;
    run(data[IN], data[OUT], c->dims[ROWS], c->dims[COLS]);
}

const kpd_task_t kpd_task = {
    "transpose", {"rows", "cols"}, cases, sizeof cases / sizeof *cases, BUFFERS, buffers, fill, oracle, call,
};
