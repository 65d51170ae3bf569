/* Inputs with a structure that drawn ones never have, as those of real programs do: every so many elements are the same one (the
 * alpha channel of a picture), the first row and the first column of a matrix are one value (a border), or all are whole numbers of
 * 8, 15 or 24 bits (pictures, counts, tokens). Who has a quick way for these, or one that is wrong for these only, is found.
 * And sets that are like one another, but for what a sum over some of the elements may not show.
 */
#include "report.h"

#include <math.h>

#define LONGEST_PERIOD_LOG 5 /* of lanes, in powers of two */
#define MOST_CHANGES (1u << 20) /* of the harness, in place of lanes */
#define PATTERNS 3
#define FEW 16      /* elements that become larger, … */
#define LARGER 64.0 /* … by so much */
#define FEW_SIGNS 2 /* elements that get the other sign */

static const int bits_of_whole[] = {8, 15, 24};

/* Those that may be changed freely. */
size_t inputs_of_floats(const view *v, size_t *of) {
    size_t count = 0;
    for (size_t b = 0; b < kpd_task.buffer_count; b++)
        if (is_read(&v->buffers[b]) && !is_integer(v->buffers[b].type) && v->buffers[b].count > 1) of[count++] = b;
    return kpd_task.change ? 0 : count;
}

/* In half the buffers, and in one for certain where it is an input. */
static int is_chosen(size_t b, size_t certain, uint64_t drawn) { return b == certain || drawn & 1; }

static void lanes_set(view *v, size_t b, kpd_rng *rng) {
    kpd_type type = v->buffers[b].type;
    size_t period = (size_t)1 << (1 + kpd_random(rng) % LONGEST_PERIOD_LOG), from = kpd_random(rng) % period;
    uint64_t bits = bits_at(type, v->pristine[b], kpd_random(rng) % v->buffers[b].count);
    for (size_t i = from; i < v->buffers[b].count; i += period) bits_set(type, v->pristine[b], i, bits);
}

/* A row is as long as a dim by which the elements can be divided. */
static void border_set(view *v, size_t b, kpd_rng *rng) {
    kpd_type type = v->buffers[b].type;
    size_t count = v->buffers[b].count, dims = (size_t)size_dims(), first = dims ? kpd_random(rng) % dims : 0, wide = 0;
    for (size_t d = 0; d < dims && wide < 2; d++) {
        size_t dim = (size_t)v->problem->dims[(first + d) % dims];
        wide = dim > 1 && dim < count && count % dim == 0 ? dim : 0;
    }
    if (wide < 2) return;
    uint64_t bits = bits_at(type, v->pristine[b], kpd_random(rng) % count);
    for (size_t i = 0; i < wide; i++) bits_set(type, v->pristine[b], i, bits);
    for (size_t i = 0; i < count; i += wide) bits_set(type, v->pristine[b], i, bits);
}

/* None becomes zero: a task may divide by it. With one sign for all sums become as large as they can. */
static void whole_set(view *v, size_t b, int bits, int one_sign) {
    const kpd_buffer *buffer = &v->buffers[b];
    double most = 0.0, way = 0.0;
    for (size_t i = 0; i < buffer->count; i++) {
        double value = value_of(buffer->type, v->pristine[b], i);
        if (fabs(value) > most) most = fabs(value), way = value < 0.0 ? -1.0 : 1.0;
    }
    double times = fmin(ldexp(1.0, bits) - 1.0, floor(greatest_of(buffer->type))) / most;
    for (size_t i = 0; most > 0.0 && i < buffer->count; i++) {
        double value = value_of(buffer->type, v->pristine[b], i), whole = fmax(rint(fabs(value) * times), 1.0);
        whole *= one_sign ? way : value < 0.0 ? -1.0 : 1.0;
        bits_set(buffer->type, v->pristine[b], i, value_bits(buffer->type, whole));
    }
}

static int all_whole(view *v, kpd_rng *rng) {
    int bits = bits_of_whole[kpd_random(rng) % (sizeof bits_of_whole / sizeof *bits_of_whole)], one_sign = (int)(kpd_random(rng) & 1);
    size_t of[KPD_MAX_BUFFERS], count = inputs_of_floats(v, of);
    for (size_t i = 0; i < count; i++) whole_set(v, of[i], bits, one_sign);
    return count > 0;
}

/* Whether inputs became whole numbers, which nothing else should be made of then. */
int patterned(view *v, kpd_rng rng, int larger) {
    uint64_t pattern = kpd_random(&rng) % PATTERNS;
    if (pattern == 0 && larger && all_whole(v, &rng)) return 1;
    size_t certain = kpd_random(&rng) % kpd_task.buffer_count;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        if (!is_read(&v->buffers[b]) || v->buffers[b].count < 2 || !is_chosen(b, certain, kpd_random(&rng))) continue;
        if (pattern == 1) border_set(v, b, &rng);
        else lanes_set(v, b, &rng);
    }
    return 0;
}

/* Constant inputs of a harness that says how they may change, which it does, but for the elements in one lane. */
void lanes_changed(view *v, kpd_rng rng) {
    size_t period = (size_t)1 << (1 + kpd_random(&rng) % LONGEST_PERIOD_LOG), lane = kpd_random(&rng) % period, count = 0;
    uint64_t seed = kpd_random(&rng);
    arena_fill_unseen(v, KPD_CONSTANT, kpd_random(&rng));
    for (size_t b = 0; b < kpd_task.buffer_count; b++) count += is_read(&v->buffers[b]) ? v->buffers[b].count : 0;
    for (size_t turn = 0; turn < 2 * count && turn < MOST_CHANGES; turn++) {
        patch change = arena_patch(v, seed, turn, 0);
        for (size_t b = 0; b < kpd_task.buffer_count; b++) {
            if (!is_read(&v->buffers[b]) || change.offset < v->offset[b]) continue;
            size_t at = (change.offset - v->offset[b]) / change.size;
            if (at < v->buffers[b].count && at % period != lane) patch_apply(v->pristine_base, &change);
        }
    }
}

/* Some elements become larger, as much as a sum shows. 0 where none may. */
int few_larger(view *v, kpd_rng rng) {
    size_t of[KPD_MAX_BUFFERS], count = inputs_of_floats(v, of);
    for (int i = 0; i < FEW && count && job.promised[KPD_LARGE]; i++) {
        size_t b = of[kpd_random(&rng) % count], at = kpd_random(&rng) % v->buffers[b].count;
        double value = LARGER * value_of(v->buffers[b].type, v->pristine[b], at);
        if (fabs(value) <= fmin(greatest_of(v->buffers[b].type), LARGEST_PROMISED))
            bits_set(v->buffers[b].type, v->pristine[b], at, value_bits(v->buffers[b].type, value));
    }
    return count && job.promised[KPD_LARGE];
}

/* One input, or all, have the other sign, in all elements or in some few, if they have both. 0 where none has. A sum of bits
 * in which each counts by its place is the same where an even number of signs is another. */
int negated(view *v, kpd_rng rng, how_alike how) {
    size_t of[KPD_MAX_BUFFERS], count = inputs_of_floats(v, of), first = count ? kpd_random(&rng) % count : 0, found = 0;
    for (size_t i = 0; i < count && (!found || how == NEGATED_ALL); i++) {
        size_t b = of[(first + i) % count], elements = v->buffers[b].count;
        kpd_type type = v->buffers[b].type;
        if (signs_in(v, b) != (ABOVE | BELOW)) continue;
        size_t from = kpd_random(&rng) % elements, step = 1 + kpd_random(&rng) % (elements - 1);
        for (size_t k = 0; k < (how == NEGATED_FEW ? FEW_SIGNS : elements); k++) {
            size_t at = how == NEGATED_FEW ? (from + k * step) % elements : k;
            bits_set(type, v->pristine[b], at, value_bits(type, -value_of(type, v->pristine[b], at)));
        }
        found++;
    }
    return found > 0;
}
