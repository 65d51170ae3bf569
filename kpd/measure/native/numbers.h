/* The types of elements: their size, their value, their steps, and how a value becomes one. */
#ifndef KPD_NUMBERS_H
#define KPD_NUMBERS_H

#include "kpd_task.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline size_t element(kpd_type type) { /* bytes */
    switch (type) {
    case KPD_F64:
    case KPD_I64: return 8;
    case KPD_F16:
    case KPD_BF16:
    case KPD_I16: return 2;
    case KPD_I8:
    case KPD_U8:
    case KPD_BOOL:
    case KPD_E4M3:
    case KPD_E5M2: return 1;
    default: return 4;
    }
}

static inline uint64_t bits_at(kpd_type type, const void *data, size_t i) {
    switch (element(type)) {
    case 1: return ((const uint8_t *)data)[i];
    case 2: return ((const uint16_t *)data)[i];
    case 4: return ((const uint32_t *)data)[i];
    default: return ((const uint64_t *)data)[i];
    }
}

static inline void bits_set(kpd_type type, void *data, size_t i, uint64_t bits) {
    switch (element(type)) {
    case 1: ((uint8_t *)data)[i] = (uint8_t)bits; break;
    case 2: ((uint16_t *)data)[i] = (uint16_t)bits; break;
    case 4: ((uint32_t *)data)[i] = (uint32_t)bits; break;
    default: ((uint64_t *)data)[i] = bits;
    }
}

int is_integer(kpd_type type);
double value_of(kpd_type type, const void *data, size_t i);
uint64_t value_bits(kpd_type type, double value); /* rounded to nearest, ties to even */

/* Of floating-point types only. */
double greatest_of(kpd_type type);
double precision_of(kpd_type type); /* of one operation; work on narrow types is done as float */
double least_normal(kpd_type type);
double least_step(kpd_type type);   /* between numbers around 0 */
double step_at(kpd_type type, double value); /* from one number to the next, where `value` is (ulp) */
double steps_between(kpd_type type, uint64_t one, uint64_t other);

#ifdef __cplusplus
}
#endif

#endif
