/* Inputs that change from call to call: by the harness, or by swaps (swap.h). */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>

#define OTHERS 3 /* elements that are not as the rest of an input */

/* What the harness changes in a set before this turn's call. */
patch arena_patch(const view *v, uint64_t seed, uint64_t turn, uint64_t set) {
    kpd_rng rng = {turn_key(seed, turn, set)};
    kpd_change c = kpd_task.change(v->problem, &rng);
    if (c.buffer >= kpd_task.buffer_count || !is_read(&v->buffers[c.buffer]) || c.index >= v->buffers[c.buffer].count) {
        fprintf(stderr, "kpd driver: %s: the harness changes what is no element of an input\n", v->problem->name);
        exit(2);
    }
    const kpd_buffer *buffer = &v->buffers[c.buffer];
    size_t size = element(buffer->type);
    return (patch){v->offset[c.buffer] + c.index * size, value_bits(buffer->type, c.value), (uint32_t)size};
}

/* What changes before this turn's call in the set that lies at `base`. */
void arena_turn(const view *v, char *base, uint64_t seed, uint64_t turn, uint64_t set) {
    if (!kpd_task.change) {
        swap_turn(base, &v->inputs, seed, turn, set);
        return;
    }
    patch p = arena_patch(v, seed, turn, set);
    patch_apply(base, &p);
}

/* Elements by chance of inputs of this kind, or what the harness changes. Returns how many. */
static size_t others_drawn(view *v, kpd_distribution kind, kpd_rng *rng, patch *others) {
    size_t count = 0;
    if (!kpd_task.change) arena_fill_unseen(v, kind, kpd_random(rng));
    else
        for (uint64_t seed = kpd_random(rng); count < OTHERS; count++) others[count] = arena_patch(v, seed, count, 0);
    for (size_t b = 0; !kpd_task.change && b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        size_t size = element(buffer->type);
        for (int i = 0; i < OTHERS && is_read(buffer) && buffer->count; i++) {
            size_t at = kpd_random(rng) % buffer->count;
            others[count++] = (patch){v->offset[b] + at * size, bits_at(buffer->type, v->pristine[b], at), (uint32_t)size};
        }
    }
    return count;
}

/* Inputs from a number that was drawn, of one value but for a few elements: who takes them for constant by a look at some of
 * them is found. */
void arena_fill_nearly(view *v, kpd_distribution kind, uint64_t drawn) {
    kpd_rng rng = {drawn};
    patch others[KPD_MAX_BUFFERS * OTHERS];
    size_t count = others_drawn(v, kind, &rng, others);
    arena_fill_unseen(v, KPD_CONSTANT, kpd_random(&rng));
    for (size_t i = 0; i < count; i++) patch_apply(v->pristine_base, &others[i]);
}

/* Do to the pristine inputs what was done to a set of the worker's, up to `turns` in all. */
void arena_replay(view *v, uint64_t seed, uint64_t set, uint64_t turns) {
    while (v->turns < turns) arena_turn(v, v->pristine_base, seed, v->turns++, set);
}
