/* What inputs are before a call on fresh ones, made from those that the harness has filled: these in another order, for less than
 * what it takes to fill others, or with little changed. */
#include "driver.h"

#include <stdlib.h>

#define BLOCK 127u /* elements that stay together; rows are rarely a multiple of it */
#define BLOCKS_A_STEP 8192u

typedef struct {
    const char *from;
    char *to;
    size_t size, count, blocks;
    uint64_t factor, offset, key;
} shuffle;

static void shuffle_part(void *context, size_t from, size_t to) {
    const shuffle *s = context;
    for (size_t at = from; at < to; at += BLOCK) {
        size_t block = at / BLOCK, length = to - at < BLOCK ? to - at : BLOCK;
        size_t source = block < s->blocks ? (size_t)((s->factor * block + s->offset) % s->blocks) * BLOCK : at;
        size_t turn = (size_t)(kpd_mixed(s->key + block) % length), rest = length - turn;
        memcpy(s->to + at * s->size, s->from + (source + turn) * s->size, rest * s->size);
        memcpy(s->to + (at + rest) * s->size, s->from + source * s->size, turn * s->size);
    }
}

/* Inputs that the harness has filled. Where they lie is as in the pristine ones. */
static char *filled;

/* Put their elements into another order, which becomes what the inputs should be. */
static void reorder(const view *v, kpd_rng *rng) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        if (!is_read(&v->buffers[b])) continue;
        size_t count = v->buffers[b].count;
        shuffle s = {filled + v->offset[b], v->pristine[b], element(v->buffers[b].type), count, count / BLOCK, 1, 0, kpd_random(rng)};
        if (s.blocks > 1) {
            do s.factor = kpd_random(rng) % s.blocks;
            while (common_factor(s.factor, s.blocks) != 1);
            s.offset = kpd_random(rng) % s.blocks;
        }
        kpd_parallel(count, BLOCK * BLOCKS_A_STEP, shuffle_part, &s);
    }
}

static void copy_part(void *context, size_t from, size_t to) {
    const shuffle *s = context;
    memcpy(s->to + from, s->from + from, to - from);
}

void inputs_copy(const view *v, char *to, const char *from) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        if (!is_read(&v->buffers[b])) continue;
        shuffle s = {.from = from + v->offset[b], .to = to + v->offset[b]};
        kpd_parallel(bytes_of(&v->buffers[b]), BLOCK * BLOCKS_A_STEP, copy_part, &s);
    }
}

/* Keep what the inputs should be now. */
int inputs_kept(const view *v) {
    if (!filled) filled = malloc(arena_bytes);
    if (filled) inputs_copy(v, filled, v->pristine_base);
    return filled != NULL;
}

/* New in all their bytes: filled by the harness, or in another order. */
void inputs_anew(const view *v, kpd_distribution distribution, int by_harness) {
    kpd_rng rng = {secret_draw()};
    if (by_harness) kpd_task.fill(v->problem, &rng, distribution, v->pristine);
    else reorder(v, &rng);
}

/* As they were kept, after so many swaps of a timing, and one more if asked for. */
void inputs_swapped(const view *v, uint64_t seed, uint64_t turn, int more) {
    if (more) arena_turn(v, filled, seed, turn, 0);
    inputs_copy(v, v->pristine_base, filled);
}
