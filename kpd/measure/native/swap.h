/* What changes in the inputs before a timed call: two elements of one input swap, or one gets a value that the harness names.
 * Which follows from a seed, a turn and the number of a set, so that the worker can do it where the inputs are, on the host or
 * on a device, and the driver can do the same to its own copy. */
#ifndef KPD_SWAP_H
#define KPD_SWAP_H

#include "kpd_task.h"

#ifdef __CUDACC__
#define KPD_ANYWHERE static inline __host__ __device__
#else
#define KPD_ANYWHERE static inline
#endif

/* Where a case's inputs lie. */
typedef struct {
    int count;
    struct {
        uint64_t offset, elements;
        uint32_t size; /* of an element */
    } at[KPD_MAX_BUFFERS];
} swappable;

#define KPD_STEP 0x9E3779B97F4A7C15u

KPD_ANYWHERE uint64_t kpd_mixed(uint64_t z) { /* the output function of SplitMix64 (Steele, Lea, Flood 2014) */
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

KPD_ANYWHERE uint64_t turn_key(uint64_t seed, uint64_t turn, uint64_t set) {
    return kpd_mixed(seed + turn * KPD_STEP) ^ kpd_mixed(~seed + set);
}

/* A new value of an element, as its type has it. */
typedef struct {
    uint64_t offset, bits;
    uint32_t size;
} patch;

KPD_ANYWHERE void patch_apply(char *base, const patch *p) {
    void *element = base + p->offset;
    if (p->size == 4) *(uint32_t *)element = (uint32_t)p->bits;
    else if (p->size == 2) *(uint16_t *)element = (uint16_t)p->bits;
    else if (p->size == 1) *(uint8_t *)element = (uint8_t)p->bits;
    else *(uint64_t *)element = p->bits;
}

KPD_ANYWHERE void swap_turn(char *base, const swappable *inputs, uint64_t seed, uint64_t turn, uint64_t set) {
    if (!inputs->count) return;
    uint64_t key = turn_key(seed, turn, set);
    int b = (int)(kpd_mixed(key) % (uint64_t)inputs->count);
    uint64_t i = kpd_mixed(key + KPD_STEP) % inputs->at[b].elements, j = kpd_mixed(key + 2 * KPD_STEP) % inputs->at[b].elements;
    char *data = base + inputs->at[b].offset;
    if (inputs->at[b].size == 4) {
        uint32_t *values = (uint32_t *)(void *)data, kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    } else if (inputs->at[b].size == 2) {
        uint16_t *values = (uint16_t *)(void *)data, kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    } else if (inputs->at[b].size == 1) {
        uint8_t *values = (uint8_t *)(void *)data, kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    } else {
        uint64_t *values = (uint64_t *)(void *)data, kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    }
}

#endif
