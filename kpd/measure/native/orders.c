/* Inputs in another order: new contents for less than what a harness takes to fill them. */
#include "driver.h"

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

/* Put the elements that lie in `filled` into another order, which becomes what the inputs should be. */
void inputs_reorder(const view *v, const char *filled, kpd_rng *rng) {
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
