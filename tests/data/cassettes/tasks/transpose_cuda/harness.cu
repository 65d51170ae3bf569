/* Cases, inputs and truth for transpose: what is timed is as large as work is, what is checked has every kind of edge. */
#include "kpd_task.h"
#include "kernel.h"

enum { IN, OUT, BUFFERS };

static const kpd_case kConfigs[] = {
    {"square_4096", {4096, 4096}, KPD_TIME_ONLY},
    {"square_1024", {1024, 1024}},
    {"tall", {16384, 1024}, KPD_TIME_ONLY},
    {"wide", {512, 32768}, KPD_TIME_ONLY},
    {"odd", {4097, 3001}, KPD_TIME_ONLY},
    {"1x1", {1, 1}, KPD_CHECK_ONLY},
    {"1x1000", {1, 1000}, KPD_CHECK_ONLY},
    {"31x33", {31, 33}, KPD_CHECK_ONLY},
    {"64x64", {64, 64}, KPD_CHECK_ONLY},
    {"132x66", {132, 66}, KPD_CHECK_ONLY},
    {"317x241", {317, 241}, KPD_CHECK_ONLY},
};

static size_t count(const kpd_case *c) { return (size_t)c->dims[0] * (size_t)c->dims[1]; }

static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[IN] = {"in", KPD_IN, KPD_F32, count(c)};
    b[OUT] = {"out", KPD_OUT, KPD_F32, count(c)};
}

static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[IN], count(c));
}

struct both {
    const float *in;
    double *want;
    long rows, cols;
};

/* Some columns of the input, in squares that fit the first cache. */
static void columns(void *context, size_t from, size_t to) {
    const long side = 32;
    const both *b = (const both *)context;
    for (long j = (long)from; j < (long)to; j += side)
        for (long i = 0; i < b->rows; i += side)
            for (long x = j; x < j + side && x < (long)to; x++)
                for (long y = i; y < i + side && y < b->rows; y++) b->want[x * b->rows + y] = b->in[y * b->cols + x];
}

static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    both b = {(const float *)data[IN], want[OUT], c->dims[0], c->dims[1]};
    kpd_parallel((size_t)b.cols, 64, columns, &b);
}

static void call(const kpd_case *c, void *const *device, cudaStream_t stream) {
    transpose((const float *)device[IN], (float *)device[OUT], c->dims[0], c->dims[1], stream);
}

const kpd_task_t kpd_task = {
    "transpose", {"rows", "cols"}, kConfigs, sizeof kConfigs / sizeof *kConfigs, BUFFERS, buffers, fill, oracle, call,
};
