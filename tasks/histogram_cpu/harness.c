/* Cases, inputs and truth for histogram. All bytes may be equal, or most of them: then each count waits for the one before. */
#include "kpd_task.h"
#include "kernel.h"

enum { X, COUNTS, BUFFERS };

static const kpd_case cases[] = {
    {"16K", {16384}},
    {"256K", {262144}},
    {"1M", {1048576}},
    {"100003", {100003}},
    {"1", {1}, KPD_CHECK_ONLY},
    {"37", {37}, KPD_CHECK_ONLY},
    {"0", {0}, KPD_CHECK_ONLY},
};

static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[X] = (kpd_buffer){"x", KPD_IN, KPD_U8, (size_t)c->dims[0]};
    b[COUNTS] = (kpd_buffer){"counts", KPD_OUT, KPD_I32, BINS};
}

static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill_integers(rng, d, KPD_U8, data[X], (size_t)c->dims[0], 0, BINS - 1);
}

static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    const uint8_t *x = data[X];
    for (long v = 0; v < BINS; v++) want[COUNTS][v] = 0.0;
    for (long i = 0; i < c->dims[0]; i++) want[COUNTS][x[i]] += 1.0;
}

/* Exchanging bytes leaves the counts as they are, so one byte gets another value. */
static kpd_change change(const kpd_case *c, kpd_rng *rng) {
    size_t index = (size_t)(kpd_random(rng) % (uint64_t)c->dims[0]);
    return (kpd_change){X, index, (double)(kpd_random(rng) % BINS)};
}

static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {
    ((void (*)(const uint8_t *, int32_t *, long))kernel)(data[X], data[COUNTS], c->dims[0]);
}

const kpd_task_t kpd_task = {
    "histogram", {"n"}, cases, sizeof cases / sizeof *cases, BUFFERS, buffers, fill, oracle, call, change,
};
