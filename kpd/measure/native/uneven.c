/* Inputs that are not alike in all their parts. Some are constant but for a few elements: who takes them for constant, for zero, or
 * for symmetric by a look at some of them is found, as is who leaves out what is small beside the rest. Zero is such a constant
 * where the task says what becomes of values that are not finite: to divide by it gives one. In others a stretch is of another
 * magnitude: who takes one row for like the row before, or is exact only beside the greatest of all, is found. In some one of several
 * inputs is constant, and the others are not. In others all are far from zero, where single precision has no exponential, or has none of a
 * sum.
 */
#include "report.h"

#include <math.h>

#define OTHERS 3 /* elements that are not as the rest of an input: half of the time large ones, … */
#define END 8    /* … and half of them so near to its end or its beginning */
#define WAYS 4 /* of so many inputs one has a constant buffer, one is moved, others have … */
#define LEAST_POWER 4 /* … a stretch that is smaller or larger by this power of two … */
#define POWERS 16     /* … at the least, and how many more there are; in types with few exponents a quarter of both */
#define WIDE 1e6      /* what is no type with few exponents goes beyond this */
#define LONGEST (1u << 20) /* of such a stretch, in elements */
#define LEAST_MOVED 84.0   /* inputs are moved by so much, and by up to … */
#define MOVED 20.0         /* … more: exp(88.7) is infinite, exp(-103.3) zero; in types with few exponents by an eighth of both. */
#define LEAST_FLAT 78.0    /* Constant ones, three in four, by so much, … */
#define FLAT 10.0          /* … and up to so much more: one exponential is finite there, and the sum of many is not */

static size_t place(kpd_rng *rng, size_t count) {
    size_t end = count < END ? count : END, at = kpd_random(rng) % end;
    switch (kpd_random(rng) % 4) {
    case 0: return at;
    case 1: return count - 1 - at;
    default: return kpd_random(rng) % count;
    }
}

/* What the harness changes between calls, where it does; else elements by chance of inputs of a kind for each buffer. Returns how
 * many. */
static size_t others_drawn(view *v, kpd_rng *rng, patch *others) {
    size_t count = 0;
    uint64_t seed = kpd_random(rng);
    while (kpd_task.change && count < OTHERS) others[count] = arena_patch(v, seed, count, 0), count++;
    for (size_t b = 0; !kpd_task.change && b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        size_t size = element(buffer->type);
        if (!is_read(buffer) || !buffer->count) continue;
        kpd_distribution kind = job.promised[KPD_LARGE] && kpd_random(rng) & 1 ? KPD_LARGE : promised_kind(rng);
        arena_fill_unseen(v, kind, kpd_random(rng));
        for (int i = 0; i < OTHERS; i++) {
            size_t at = place(rng, buffer->count);
            others[count++] = (patch){v->offset[b] + at * size, bits_at(buffer->type, v->pristine[b], at), (uint32_t)size};
        }
    }
    return count;
}

/* Whether a dim is longer than any case's. */
static int is_long(const view *v) {
    for (int d = 0; d < size_dims(); d++) {
        long longest = 0;
        for (size_t c = 0; c < kpd_task.case_count; c++) longest = kpd_task.cases[c].dims[d] > longest ? kpd_task.cases[c].dims[d] : longest;
        if (v->problem->dims[d] > longest) return 1;
    }
    return 0;
}

int signs_in(const view *v, size_t b) {
    int found = 0;
    for (size_t i = 0; i < v->buffers[b].count && found != (ABOVE | BELOW); i++) {
        double value = value_of(v->buffers[b].type, v->pristine[b], i);
        found |= (value > 0.0 ? ABOVE : 0) | (value < 0.0 ? BELOW : 0);
    }
    return found;
}

/* Which way elements may be moved: those of one sign keep it, as the task may need that. */
static double way_of(const view *v, size_t b, int up) {
    int signs = signs_in(v, b);
    return (signs == (ABOVE | BELOW) ? up : signs & ABOVE) ? 1.0 : -1.0;
}

/* Half the buffers, and one for certain where it is an input. Not where a dim is longer than any case's: errors of a sum whose parts
 * have one sign grow with it, as where a matrix unit cuts digits off. */
static void move_all(view *v, kpd_rng rng, double least, double more) {
    size_t certain = kpd_random(&rng) % kpd_task.buffer_count;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        uint64_t drawn = kpd_random(&rng);
        if (!is_read(buffer) || is_integer(buffer->type) || (b != certain && drawn & 1)) continue;
        double greatest = greatest_of(buffer->type), by = least + ldexp((double)(drawn >> 11), -53) * more;
        if (greatest < WIDE) by /= 8.0;
        by *= way_of(v, b, drawn & 2 ? 1 : 0);
        for (size_t i = 0; i < buffer->count; i++) {
            double value = value_of(buffer->type, v->pristine[b], i) + by;
            if (fabs(value) <= fmin(greatest, LARGEST_PROMISED)) bits_set(buffer->type, v->pristine[b], i, value_bits(buffer->type, value));
        }
    }
}

static void fill_nearly(view *v, kpd_rng rng) {
    patch others[KPD_MAX_BUFFERS * OTHERS];
    size_t count = others_drawn(v, &rng, others);
    arena_fill_unseen(v, KPD_CONSTANT, kpd_random(&rng));
    if (!kpd_task.change && job.promised[KPD_LARGE] && !is_long(v) && kpd_random(&rng) % 4) move_all(v, rng, LEAST_FLAT, FLAT);
    for (size_t b = 0; job.nonfinite && !kpd_task.change && b < kpd_task.buffer_count; b++)
        if (is_read(&v->buffers[b]) && !is_integer(v->buffers[b].type) && kpd_random(&rng) & 1)
            memset(v->pristine[b], 0, bytes_of(&v->buffers[b]));
    for (size_t i = 0; i < count; i++) patch_apply(v->pristine_base, &others[i]);
}

/* Of half the buffers, and of one for certain where it is an input; what becomes larger only where large values are promised. */
static void scale_stretches(view *v, kpd_rng rng) {
    size_t certain = kpd_random(&rng) % kpd_task.buffer_count;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        uint64_t drawn = kpd_random(&rng);
        if (!is_read(buffer) || is_integer(buffer->type) || buffer->count < 2 || (b != certain && drawn & 1)) continue;
        double greatest = greatest_of(buffer->type);
        int power = LEAST_POWER + (int)(drawn / 4 % POWERS);
        if (greatest < WIDE) power /= 4;
        double times = ldexp(1.0, drawn & 2 && job.promised[KPD_LARGE] ? power : -power);
        size_t from = kpd_random(&rng) % buffer->count, left = buffer->count - from;
        size_t count = 1 + kpd_random(&rng) % (left < LONGEST ? left : LONGEST);
        for (size_t i = from; i < from + count; i++) {
            double value = times * value_of(buffer->type, v->pristine[b], i);
            if (fabs(value) <= fmin(greatest, LARGEST_PROMISED)) bits_set(buffer->type, v->pristine[b], i, value_bits(buffer->type, value));
        }
    }
}

/* As they are, but for one input that is constant: who has a quick way for that, which is rough for what the others have, is found. */
static int make_one_constant(view *v, kpd_rng rng) {
    size_t of[KPD_MAX_BUFFERS], count = inputs_of_floats(v, of);
    if (count < 2) return 0;
    size_t b = of[kpd_random(&rng) % count];
    uint64_t bits = bits_at(v->buffers[b].type, v->pristine[b], kpd_random(&rng) % v->buffers[b].count);
    for (size_t i = 0; i < v->buffers[b].count; i++) bits_set(v->buffers[b].type, v->pristine[b], i, bits);
    return 1;
}

/* Inputs from a number that was drawn, where not all kinds are checked that a case has: constant ones are nearly so, and most
 * of the others are not alike everywhere, or have a pattern (patterns.c); where the harness says how they may change, only so. */
void fill_drawn(view *v, kpd_distribution d, uint64_t drawn) {
    kpd_rng rng = {drawn};
    if (d == KPD_CONSTANT) {
        fill_nearly(v, rng);
        return;
    }
    if (kpd_task.change && job.promised[KPD_CONSTANT] && kpd_random(&rng) & 1) {
        lanes_changed(v, rng);
        return;
    }
    arena_fill_unseen(v, d, kpd_random(&rng));
    if (kpd_task.change) return;
    int larger = job.promised[KPD_LARGE] && !is_long(v);
    uint64_t inner = kpd_random(&rng), way = kpd_random(&rng) % WAYS;
    if (inner & 1 && job.promised[KPD_CONSTANT] && patterned(v, (kpd_rng){inner}, larger)) return;
    if (way == 0 && job.promised[KPD_CONSTANT] && make_one_constant(v, rng)) return;
    if (way < 2 && larger) move_all(v, rng, LEAST_MOVED, MOVED);
    else scale_stretches(v, rng);
}
