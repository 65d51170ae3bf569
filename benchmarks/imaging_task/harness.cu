#include "kpd_task.h"
#include <stdlib.h>

enum { IN, OUT, BUFFERS };

static const kpd_case cases[] = {
    {"top1", /* the case that was observed */},
    {"1x1", {1, 1, 1}, KPD_CHECK_ONLY, {1, 1}, {32, 8}},
    {"33x9", {33, 9, 4}, KPD_CHECK_ONLY, {2, 2}, {32, 8}},
    {"97x131", {97, 131, 7}, KPD_CHECK_ONLY, {4, 17}, {32, 8}},
    {"far_reach", {8, 4, 113}, KPD_CHECK_ONLY, {1, 1}, {32, 8}},
};

static size_t count(const kpd_case *c) { return (size_t)c->dims[0] * (size_t)c->dims[1]; }

static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[IN] = {"in", KPD_IN, KPD_U8, count(c)};
    b[OUT] = {"out", KPD_OUT, KPD_U8, count(c)};
}

static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill_as(rng, d, KPD_U8, data[IN], count(c));
}

static long edge(long at, long size) { return at < 0 ? 0 : at < size ? at : size - 1; }

/* Sums of columns are kept from row to row, and of rows from pixel to pixel: the radius costs nothing. */
static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    const uint8_t *in = (const uint8_t *)data[IN];
    long w = c->dims[0], h = c->dims[1], r = c->dims[2], all = (2 * r + 1) * (2 * r + 1);
    long *column = (long *)calloc((size_t)w, sizeof *column);
    for (long y = 0; y < h; ++y) {
        for (long x = 0; x < w; ++x) {
            if (y == 0) for (long dy = -r; dy <= r; ++dy) column[x] += in[edge(dy, h) * w + x];
            else column[x] += in[edge(y + r, h) * w + x] - in[edge(y - 1 - r, h) * w + x];
        }
        long sum = 0;
        for (long dx = -r; dx <= r; ++dx) sum += column[edge(dx, w)];
        for (long x = 0; x < w; ++x) {
            if (x) sum += column[edge(x + r, w)] - column[edge(x - 1 - r, w)];
            want[OUT][y * w + x] = (double)((sum + all / 2) / all);
        }
    }
    free(column);
}

static void call(const kpd_case *c, void *const *device, cudaStream_t stream) {
    blur_kernel<<<kpd_dim3(c->grid), kpd_dim3(c->block), 0, stream>>>(
        (const uint8_t *)device[IN], (uint8_t *)device[OUT], (int)c->dims[0], (int)c->dims[1], (int)c->dims[2]);
}

const kpd_task_t kpd_task = {
    "blur_kernel", {"width", "height", "radius"}, cases, sizeof cases / sizeof *cases, BUFFERS, buffers, fill, oracle, call,
};
