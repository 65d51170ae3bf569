/* Kinds of input values. A buffer is filled in blocks, each with a generator of its own, so that threads can share it. */
#include "driver.h"

#include <math.h>

#define BLOCK 4096u /* values that one generator makes */
#define STEP (16u * BLOCK)
#define KPD_FINE 0xD1342543DE82EF95u /* an odd number: the steps depend on all bits of a draw */

uint64_t kpd_random(kpd_rng *rng) { /* SplitMix64 (Steele, Lea, Flood 2014) */
    return kpd_mixed(rng->state += KPD_STEP);
}

/* The sum of four uniform numbers of 16 bits each, with finer steps between its 262,141 values, for which a kernel could have a
 * table: quick, and nearly a normal distribution, which ends at 3.46.
 */
static double short_bell(kpd_rng *rng) {
    uint64_t bits = kpd_random(rng);
    int sum = (int)((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48));
    double fine = (double)(int)(bits * KPD_FINE >> 33) / 2147483648.0;
    return ((sum + fine + 1.5) / 65536.0 - 2.0) * 1.7320508;
}

/* Stretched by a polynomial to tails that end at 5.9. */
static double bell(kpd_rng *rng) {
    double x = short_bell(rng), square = x * x;
    return x * (0.9005 + square * (0.08866 + square * (-0.020994 + square * 0.0015964)));
}

static double uniform(kpd_rng *rng) { return (double)(kpd_random(rng) >> 11) / 9007199254740992.0; }

static double sign(kpd_rng *rng) { return kpd_random(rng) & 1 ? 1.0 : -1.0; }

typedef struct {
    kpd_type type;
    kpd_distribution distribution;
    void *values;
    uint64_t key;
    double constant;
    double greatest, least_normal; /* of the type */
    int64_t least, most;           /* of integers */
} filling;

static double real(const filling *f, kpd_rng *rng) {
    switch (f->distribution) {
    case KPD_CONSTANT: return f->constant;
    case KPD_HEAVY_TAIL: return sign(rng) * fmin(exp(2.65 * short_bell(rng)), f->greatest);
    case KPD_DENORMAL: return kpd_random(rng) & 1 ? bell(rng) : sign(rng) * uniform(rng) * f->least_normal;
    case KPD_LARGE:
        if (f->type == KPD_E4M3) return sign(rng) * (64.0 + 384.0 * uniform(rng));
        return sign(rng) * (f->greatest < 1e6 ? 256.0 * exp(4.8 * uniform(rng)) : 1e6 * exp(13.8 * uniform(rng)));
    default: return bell(rng);
    }
}

static int64_t integer(const filling *f, kpd_rng *rng) {
    uint64_t range = (uint64_t)f->most - (uint64_t)f->least + 1, bits = kpd_random(rng);
    if (!range) range = UINT64_MAX; /* all values of the widest type but one */
    switch (f->distribution) {
    case KPD_CONSTANT: return f->least + (int64_t)(f->key % range);
    case KPD_HEAVY_TAIL: return f->least + (int64_t)((bits >> 5) % range >> (bits & 31));
    case KPD_LARGE: return f->most - (int64_t)(bits % (range / 8 + 1));
    default: return f->least + (int64_t)(bits % range);
    }
}

/* What most inputs are, without a question at each element. */
static void fill_bells(float *values, size_t from, size_t to, kpd_rng rng) {
    for (size_t i = from; i < to; i++) values[i] = (float)bell(&rng);
}

static void fill_block(const filling *f, size_t from, size_t to, kpd_rng rng) {
    for (size_t i = from; i < to; i++) {
        uint64_t bits = is_integer(f->type) ? (uint64_t)integer(f, &rng) : value_bits(f->type, real(f, &rng));
        bits_set(f->type, f->values, i, bits);
    }
}

/* A share begins with a block. */
static void fill_part(void *context, size_t from, size_t to) {
    const filling *f = context;
    for (size_t at = from; at < to; at += BLOCK) {
        kpd_rng rng = {kpd_mixed(f->key + at / BLOCK * KPD_STEP)};
        size_t end = to - at < BLOCK ? to : at + BLOCK;
        if (f->type == KPD_F32 && f->distribution == KPD_NORMAL) fill_bells(f->values, at, end, rng);
        else fill_block(f, at, end, rng);
    }
}

static void fill(kpd_rng *rng, filling f, size_t count) {
    f.constant = sign(rng) * (0.5 + 1.5 * uniform(rng));
    f.key = kpd_random(rng);
    f.greatest = greatest_of(f.type);
    f.least_normal = least_normal(f.type);
    kpd_parallel(count, STEP, fill_part, &f);
}

void kpd_fill_as(kpd_rng *rng, kpd_distribution distribution, kpd_type type, void *values, size_t count) {
    fill(rng, (filling){.type = type, .distribution = distribution, .values = values, .most = 1}, count);
}

void kpd_fill(kpd_rng *rng, kpd_distribution distribution, void *values, size_t count) {
    kpd_fill_as(rng, distribution, KPD_F32, values, count);
}

void kpd_fill_f16(kpd_rng *rng, kpd_distribution distribution, void *values, size_t count) {
    kpd_fill_as(rng, distribution, KPD_F16, values, count);
}

void kpd_fill_bf16(kpd_rng *rng, kpd_distribution distribution, void *values, size_t count) {
    kpd_fill_as(rng, distribution, KPD_BF16, values, count);
}

void kpd_fill_integers(
    kpd_rng *rng, kpd_distribution distribution, kpd_type type, void *values, size_t count, int64_t least, int64_t most
) {
    fill(rng, (filling){.type = type, .distribution = distribution, .values = values, .least = least, .most = most}, count);
}

void kpd_fill_int(kpd_rng *rng, kpd_distribution distribution, void *values, size_t count, int64_t least, int64_t most) {
    kpd_fill_integers(rng, distribution, KPD_I32, values, count, least, most);
}
