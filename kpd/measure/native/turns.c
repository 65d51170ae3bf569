/* Inputs that change from call to call: by the harness, or by swaps (swap.h). */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>

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

/* Do to the pristine inputs what was done to a set of the worker's, up to `turns` in all. */
void arena_replay(view *v, uint64_t seed, uint64_t set, uint64_t turns) {
    while (v->turns < turns) arena_turn(v, v->pristine_base, seed, v->turns++, set);
}
