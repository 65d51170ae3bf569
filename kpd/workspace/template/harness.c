/* The judge of this task, protected: its cases, inputs and truth. kpd_task.h explains every part. */
#include "kpd_task.h"

enum { A, B, OUT };

static const kpd_case cases[] = {
    {.name = "small", .dims = {4099}},
    {.name = "large", .dims = {1 << 20}},
};

static size_t length(const kpd_case *c) { return (size_t)c->dims[0]; }

static void buffers(const kpd_case *c, kpd_buffer *buffer) {
    buffer[A] = (kpd_buffer){"a", KPD_IN, KPD_F32, length(c)};
    buffer[B] = (kpd_buffer){"b", KPD_IN, KPD_F32, length(c)};
    buffer[OUT] = (kpd_buffer){"out", KPD_OUT, KPD_F32, length(c)};
}

static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution distribution, void *const *data) {
    kpd_fill(rng, distribution, data[A], length(c));
    kpd_fill(rng, distribution, data[B], length(c));
}

static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    const float *a = data[A], *b = data[B];
    for (size_t i = 0; i < length(c); i++)
        want[OUT][i] = 2.0 * (double)a[i] + (double)b[i];
}

typedef void (*kernel_type)(const float *, const float *, float *, size_t);

static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {
    ((kernel_type)kernel)(data[A], data[B], data[OUT], length(c));
}

const kpd_task_t kpd_task = {
    .symbol = "kernel",
    .dims = {"n"},
    .cases = cases,
    .case_count = sizeof cases / sizeof *cases,
    .buffer_count = 3,
    .buffers = buffers,
    .fill = fill,
    .oracle = oracle,
    .call = call,
};
