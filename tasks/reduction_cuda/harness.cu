/* Cases, inputs and truth for reduction. The elements have one sign, so that the sum is as exact as the way it is made: a
 * tree of floats keeps the tolerance with ease, one float that takes up millions of elements in turn does not.
 */
#include "kpd_task.h"
#include "kernel.h"

#include <math.h>

#include <vector>

enum { X, OUT, BUFFERS };
constexpr size_t kPart = 1 << 18; // elements that are summed up by one thread
constexpr size_t kEnd = 4;        // elements, of which one is heavy

static const kpd_case kConfigs[] = {
    {"64M", {67108864}, KPD_TIME_ONLY},
    {"16M", {16777216}, KPD_TIME_ONLY},
    {"4M", {4194304}, KPD_TIME_ONLY},
    {"1M", {1048576}},
    {"odd", {33333333}, KPD_TIME_ONLY},
    {"1", {1}, KPD_CHECK_ONLY},
    {"3", {3}, KPD_CHECK_ONLY},
    {"257", {257}, KPD_CHECK_ONLY},
    {"4095", {4095}, KPD_CHECK_ONLY},
    {"100003", {100003}, KPD_CHECK_ONLY},
};

static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[X] = {"x", KPD_IN, KPD_F32, (size_t)c->dims[0]};
    b[OUT] = {"out", KPD_OUT, KPD_F32, 1};
}

struct sided {
    float *x, sign;
};

static void make_sided(void *context, size_t from, size_t to) {
    const sided *s = (const sided *)context;
    for (size_t i = from; i < to; i++) s->x[i] = copysignf(s->x[i], s->sign);
}

/* One of the last elements weighs about as much as a hundredth of the others together: no kernel can leave the
 * end out unseen. What `change` puts into the timed inputs is positive, as they are; half of the other ones are negative. */
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    float *x = (float *)data[X];
    size_t n = (size_t)c->dims[0], sample = n < 4096 ? n : 4096;
    kpd_fill(rng, d, x, n);
    sided s = {x, d != KPD_NORMAL && kpd_random(rng) & 1 ? -1.0f : 1.0f};
    kpd_parallel(n, kPart, make_sided, &s);
    double sum = 0.0;
    for (size_t i = 0; i < sample; i++) sum += x[i];
    x[n - 1 - kpd_random(rng) % (n < kEnd ? n : kEnd)] += (float)(sum / (double)sample * (double)n / 100.0);
}

static double sum(const float *x, size_t n) {
    double sums[8] = {0.0}; /* so that one addition need not wait for the one before */
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++) sums[k] += x[i + k];
    for (; i < n; i++) sums[0] += x[i];
    for (size_t k = 1; k < 8; k++) sums[0] += sums[k];
    return sums[0];
}

struct parts {
    const float *x;
    double *sums;
};

static void sum_parts(void *context, size_t from, size_t to) {
    const struct parts *p = (const struct parts *)context;
    for (size_t at = from; at < to; at += kPart) p->sums[at / kPart] = sum(p->x + at, to - at < kPart ? to - at : kPart);
}

static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    size_t n = (size_t)c->dims[0];
    std::vector<double> sums(n / kPart + 1);
    struct parts p = {(const float *)data[X], sums.data()};
    kpd_parallel(n, kPart, sum_parts, &p);
    want[OUT][0] = 0.0;
    for (double one : sums) want[OUT][0] += one;
}

/* Exchanging elements leaves their sum as it is. A timed process makes some hundred changes to an array: together they weigh
 * about as much as the other elements, and each of them is several times the tolerance. */
static kpd_change change(const kpd_case *c, kpd_rng *rng) {
    double n = (double)c->dims[0], share = (double)(kpd_random(rng) >> 11) / 9007199254740992.0;
    return {X, (size_t)(kpd_random(rng) % (uint64_t)c->dims[0]), n / 200.0 * share};
}

static void call(const kpd_case *c, void *const *device, cudaStream_t stream) {
    reduction((const float *)device[X], (float *)device[OUT], c->dims[0], stream);
}

const kpd_task_t kpd_task = {
    "reduction", {"n"}, kConfigs, sizeof kConfigs / sizeof *kConfigs, BUFFERS, buffers, fill, oracle, call, change,
};
