/* Inputs that are constant but for a few elements: who takes them for constant, for zero, or for symmetric by a look at some of
 * them is found, as is who leaves out what is small beside the rest. Zero is such a constant where the task says what becomes of
 * values that are not finite: to divide by it gives one.
 */
#include "report.h"

#define OTHERS 3 /* elements that are not as the rest of an input: each of any kind, … */
#define END 8    /* … and half of them so near to its end or its beginning */

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
        arena_fill_unseen(v, promised_kind(rng), kpd_random(rng));
        for (int i = 0; i < OTHERS; i++) {
            size_t at = place(rng, buffer->count);
            others[count++] = (patch){v->offset[b] + at * size, bits_at(buffer->type, v->pristine[b], at), (uint32_t)size};
        }
    }
    return count;
}

static void fill_nearly(view *v, kpd_rng rng) {
    patch others[KPD_MAX_BUFFERS * OTHERS];
    size_t count = others_drawn(v, &rng, others);
    arena_fill_unseen(v, KPD_CONSTANT, kpd_random(&rng));
    for (size_t b = 0; job.nonfinite && !kpd_task.change && b < kpd_task.buffer_count; b++)
        if (is_read(&v->buffers[b]) && !is_integer(v->buffers[b].type) && kpd_random(&rng) & 1)
            memset(v->pristine[b], 0, bytes_of(&v->buffers[b]));
    for (size_t i = 0; i < count; i++) patch_apply(v->pristine_base, &others[i]);
}

/* Inputs from a number that was drawn, where not all kinds are checked that a case has: constant ones are nearly so. */
void fill_drawn(view *v, kpd_distribution d, uint64_t drawn) {
    if (d == KPD_CONSTANT) fill_nearly(v, (kpd_rng){drawn});
    else arena_fill_unseen(v, d, drawn);
}
