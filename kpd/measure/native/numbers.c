/* The types of elements: their size, their value, their steps, and how a value becomes one. */
#include "numbers.h"

#include <float.h>
#include <math.h>

/* A floating-point type: bits of the fraction, exponent of the least normal number (as 2^n), greatest value. */
typedef struct {
    int fraction, least;
    double greatest;
} format;

static format format_of(kpd_type type) {
    switch (type) {
    case KPD_F64: return (format){52, -1022, DBL_MAX};
    case KPD_F16: return (format){10, -14, 65504.0};
    case KPD_BF16: return (format){7, -126, 0x1.FEp127};
    case KPD_E4M3: return (format){3, -6, 448.0};
    case KPD_E5M2: return (format){2, -14, 57344.0};
    default: return (format){23, -126, FLT_MAX};
    }
}

int is_integer(kpd_type type) {
    switch (type) {
    case KPD_I32: case KPD_U32: case KPD_I8: case KPD_U8: case KPD_I16: case KPD_I64: case KPD_BOOL: return 1;
    default: return 0;
    }
}

double greatest_of(kpd_type type) { return format_of(type).greatest; }

double precision_of(kpd_type type) { return ldexp(1.0, -(format_of(type).fraction < 24 ? 24 : format_of(type).fraction + 1)); }

double least_normal(kpd_type type) { return ldexp(1.0, format_of(type).least); }

double least_step(kpd_type type) { return ldexp(1.0, format_of(type).least - format_of(type).fraction); }

double step_at(kpd_type type, double value) {
    format f = format_of(type);
    uint64_t bits;
    double step;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7FFu) - 1023; /* |value| = m · 2^exponent with m from 1 to 2, or it is below all of these */
    exponent = (exponent < f.least ? f.least : exponent) - f.fraction;
    if (exponent < -1022) return ldexp(1.0, exponent); /* which takes far longer */
    bits = (uint64_t)(exponent + 1023) << 52;
    memcpy(&step, &bits, sizeof step);
    return step;
}

double value_of(kpd_type type, const void *data, size_t i) {
    switch (type) {
    case KPD_F64: return ((const double *)data)[i];
    case KPD_F16: return (double)kpd_f16(((const uint16_t *)data)[i]);
    case KPD_BF16: return (double)kpd_bf16(((const uint16_t *)data)[i]);
    case KPD_E4M3: return (double)kpd_e4m3(((const uint8_t *)data)[i]);
    case KPD_E5M2: return (double)kpd_e5m2(((const uint8_t *)data)[i]);
    case KPD_I8: return (double)((const int8_t *)data)[i];
    case KPD_U8:
    case KPD_BOOL: return (double)((const uint8_t *)data)[i];
    case KPD_I16: return (double)((const int16_t *)data)[i];
    case KPD_I32: return (double)((const int32_t *)data)[i];
    case KPD_U32: return (double)((const uint32_t *)data)[i];
    case KPD_I64: return (double)((const int64_t *)data)[i];
    default: return (double)((const float *)data)[i];
    }
}

/* Rounded to nearest, ties to even, as the hardware does it. `over` are the bits of what is too large. */
static uint32_t rounded(format f, double value, uint32_t over) {
    double magnitude = fabs(value);
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    if (bits < (uint64_t)(1023 + f.least) << 52) return (uint32_t)nearbyint(ldexp(magnitude, f.fraction - f.least));
    int dropped = 52 - f.fraction; /* bits of a double's fraction; what carries over into the exponent is right, too */
    bits += ((uint64_t)1 << (dropped - 1)) - 1 + (bits >> dropped & 1);
    bits = (bits >> dropped) - ((uint64_t)(1022 + f.least) << f.fraction);
    return bits < over ? (uint32_t)bits : over;
}

static uint16_t bf16(double value) {
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

uint64_t value_bits(kpd_type type, double value) {
    float single = (float)value;
    uint64_t bits = 0;
    if (isnan(value) && (type == KPD_F16 || type == KPD_BF16)) return 0x7FFFu;
    if (isnan(value) && (type == KPD_E4M3 || type == KPD_E5M2)) return 0x7Fu;
    switch (type) {
    case KPD_F64: memcpy(&bits, &value, sizeof value); return bits;
    case KPD_F32: memcpy(&bits, &single, sizeof single); return bits;
    case KPD_F16: return (signbit(value) ? 0x8000u : 0u) | rounded(format_of(type), value, 0x7C00u);
    case KPD_BF16: return bf16(value);
    case KPD_E4M3: return (signbit(value) ? 0x80u : 0u) | rounded(format_of(type), value, 0x7Eu); /* it has no infinity */
    case KPD_E5M2: return (signbit(value) ? 0x80u : 0u) | rounded(format_of(type), value, 0x7Cu);
    case KPD_I64: return (uint64_t)(int64_t)value;
    default: return (uint64_t)(int64_t)value & (UINT64_MAX >> (64 - 8 * element(type)));
    }
}

/* The bits of floating-point numbers of one sign in the order of their values, across 0. */
static int64_t place(kpd_type type, uint64_t bits) {
    uint64_t sign = (uint64_t)1 << (8 * element(type) - 1);
    return bits & sign ? -(int64_t)(bits & ~sign) : (int64_t)bits;
}

double steps_between(kpd_type type, uint64_t one, uint64_t other) {
    return fabs((double)place(type, one) - (double)place(type, other));
}
