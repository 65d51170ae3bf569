/* Kinds of input values. A buffer is filled in blocks, each with a generator of its own, so that threads can share it. */
#include "driver.h"

#include <float.h>
#include <math.h>

#define BLOCK 4096u /* values that one generator makes */
#define STEP (16u * BLOCK)

uint64_t kpd_random(kpd_rng *rng) { /* SplitMix64 (Steele, Lea, Flood 2014) */
    return kpd_mixed(rng->state += KPD_STEP);
}

/* The sum of four uniform numbers of 16 bits each, scaled: quick, and near enough to a normal distribution. */
static double bell(kpd_rng *rng) {
    uint64_t bits = kpd_random(rng);
    double sum = (double)(bits & 0xFFFF) + (double)(bits >> 16 & 0xFFFF) + (double)(bits >> 32 & 0xFFFF) + (double)(bits >> 48);
    return (sum / 65536.0 - 2.0) * 1.7320508;
}

static double uniform(kpd_rng *rng) { return (double)(kpd_random(rng) >> 11) / 9007199254740992.0; }

static double sign(kpd_rng *rng) { return kpd_random(rng) & 1 ? 1.0 : -1.0; }

typedef struct {
    kpd_type type;
    kpd_distribution distribution;
    void *values;
    uint64_t key;
    double constant;
    int64_t least, most; /* of integers */
} filling;

static double real(const filling *f, kpd_rng *rng) {
    int half = f->type == KPD_F16;
    switch (f->distribution) {
    case KPD_CONSTANT: return f->constant;
    case KPD_HEAVY_TAIL: return sign(rng) * exp(2.65 * bell(rng));
    case KPD_DENORMAL: return kpd_random(rng) & 1 ? bell(rng) : sign(rng) * uniform(rng) * (half ? 0x1p-14 : (double)FLT_MIN);
    case KPD_LARGE: return sign(rng) * (half ? 256.0 * exp(4.8 * uniform(rng)) : 1e6 * exp(13.8 * uniform(rng)));
    default: return bell(rng);
    }
}

static int64_t integer(const filling *f, kpd_rng *rng) {
    uint64_t range = (uint64_t)(f->most - f->least) + 1, bits = kpd_random(rng);
    switch (f->distribution) {
    case KPD_CONSTANT: return f->least + (int64_t)(f->key % range);
    case KPD_HEAVY_TAIL: return f->least + (int64_t)((bits >> 5) % range >> (bits & 31));
    case KPD_LARGE: return f->most - (int64_t)(bits % (range / 8 + 1));
    default: return f->least + (int64_t)(bits % range);
    }
}

/* Rounded to nearest, ties to even, as the hardware does it. */
static uint16_t bf16(double value) {
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

static uint16_t f16(double value) {
    double magnitude = fabs(value);
    int exponent;
    frexp(magnitude, &exponent); /* magnitude = m · 2^exponent with m from 0.5 to 1 */
    if (magnitude == 0.0 || exponent < -13) exponent = -13;
    uint32_t steps = (uint32_t)nearbyint(ldexp(magnitude, 11 - exponent)); /* 11 bits of it; what carries over is right, too */
    uint32_t bits = ((uint32_t)(exponent + 13) << 10) + steps;
    return (uint16_t)((value < 0 ? 0x8000u : 0u) | (bits < 0x7C00u ? bits : 0x7C00u));
}

uint64_t value_bits(kpd_type type, double value) {
    float single = (float)value;
    uint64_t bits = 0;
    switch (type) {
    case KPD_F64: memcpy(&bits, &value, sizeof value); return bits;
    case KPD_F32: memcpy(&bits, &single, sizeof single); return bits;
    case KPD_F16: return f16(value);
    case KPD_BF16: return bf16(value);
    default: return (uint32_t)(int64_t)value;
    }
}

static void fill_part(void *context, size_t from, size_t to) {
    const filling *f = context;
    kpd_rng rng = {0};
    for (size_t i = from; i < to; i++) {
        if (i == from || i % BLOCK == 0) rng.state = kpd_mixed(f->key + i / BLOCK * KPD_STEP);
        switch (f->type) {
        case KPD_F16: ((uint16_t *)f->values)[i] = f16(real(f, &rng)); break;
        case KPD_BF16: ((uint16_t *)f->values)[i] = bf16(real(f, &rng)); break;
        case KPD_F32: ((float *)f->values)[i] = (float)real(f, &rng); break;
        default: ((uint32_t *)f->values)[i] = (uint32_t)integer(f, &rng);
        }
    }
}

static void fill(kpd_rng *rng, filling f, size_t count) {
    f.constant = sign(rng) * (0.5 + 1.5 * uniform(rng));
    f.key = kpd_random(rng);
    kpd_parallel(count, STEP, fill_part, &f);
}

void kpd_fill(kpd_rng *rng, kpd_distribution distribution, void *values, size_t count) {
    fill(rng, (filling){.type = KPD_F32, .distribution = distribution, .values = values}, count);
}

void kpd_fill_f16(kpd_rng *rng, kpd_distribution distribution, void *values, size_t count) {
    fill(rng, (filling){.type = KPD_F16, .distribution = distribution, .values = values}, count);
}

void kpd_fill_bf16(kpd_rng *rng, kpd_distribution distribution, void *values, size_t count) {
    fill(rng, (filling){.type = KPD_BF16, .distribution = distribution, .values = values}, count);
}

void kpd_fill_int(kpd_rng *rng, kpd_distribution distribution, void *values, size_t count, int64_t least, int64_t most) {
    fill(rng, (filling){.type = KPD_I32, .distribution = distribution, .values = values, .least = least, .most = most}, count);
}
