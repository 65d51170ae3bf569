/* What lies in the buffers: inputs, poison in the outputs, guard bytes around both, outputs that were put aside. */
#include "driver.h"

#include <stdio.h>

#define STEP (1u << 20) /* bytes, or elements, that are worth a thread */

/* Not a number, as any type of float: reading past a buffer shows as well as writing. */
static unsigned char guard(const unsigned char *at) { return (uintptr_t)at & 1 ? 0xFF : 0xF5; }

#define PIECE 512

/* Guard bytes, for memory that begins at an even address. */
static const unsigned char *guards(void) {
    static unsigned char all[PIECE + 1];
    if (!all[0])
        for (size_t i = 0; i <= PIECE; i++) all[i] = guard((const unsigned char *)i);
    return all;
}

static size_t piece(const unsigned char *byte, const unsigned char *end) {
    return (size_t)(end - byte) < PIECE ? (size_t)(end - byte) : PIECE;
}

static void guard_write(unsigned char *byte, const unsigned char *end) {
    for (size_t size; (size = piece(byte, end)) > 0; byte += size) memcpy(byte, guards() + ((uintptr_t)byte & 1), size);
}

/* The first byte that is none; `end` where all are. */
static const unsigned char *guard_seen(const unsigned char *byte, const unsigned char *end) {
    size_t size;
    while ((size = piece(byte, end)) > 0 && !memcmp(byte, guards() + ((uintptr_t)byte & 1), size)) byte += size;
    while (byte < end && *byte == guard(byte)) byte++;
    return byte;
}

typedef struct {
    char *to;
    const char *from;
    int differ;
} pair;

static void copy_part(void *context, size_t from, size_t to) {
    const pair *p = context;
    memcpy(p->to + from, p->from + from, to - from);
}

static void compare_part(void *context, size_t from, size_t to) {
    pair *p = context;
    if (memcmp(p->to + from, p->from + from, to - from)) __atomic_store_n(&p->differ, 1, __ATOMIC_RELAXED);
}

/* Fresh inputs from a number that was drawn, where the worker cannot see them. */
void arena_fill_unseen(view *v, kpd_distribution distribution, uint64_t drawn) {
    kpd_rng rng = {drawn};
    v->turns = 0;
    v->kind = distribution;
    kpd_task.fill(v->problem, &rng, distribution, v->pristine);
}

void arena_fill(view *v, kpd_distribution distribution) {
    arena_fill_unseen(v, distribution, secret_draw());
    arena_show(v);
}

void arena_show(view *v) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        if (!is_read(&v->buffers[b])) continue;
        pair p = {.to = v->data[b], .from = v->pristine[b]};
        kpd_parallel(bytes_of(&v->buffers[b]), STEP, copy_part, &p);
    }
}

typedef struct {
    const kpd_buffer *buffer;
    void *data;
} target;

/* What an output holds before a call. As a floating-point number it is none: it is copied as it is, but arithmetic would
 * change it, so an element that still holds it was not written. */
static uint64_t poison_of(kpd_type type) {
    switch (type) {
    case KPD_E5M2: return 0xFDu;
    case KPD_E4M3: return 0xFFu;
    case KPD_F16: return 0xFDA5u;
    default: break;
    }
    switch (element(type)) {
    case 1: return 0xA5u;
    case 2: return 0xFFA5u;
    case 4: return 0xFFA5A5A5u;
    default: return 0xFFF5A5A5FFA5A5A5u;
    }
}

static void poison_part(void *context, size_t from, size_t to) {
    target t = *(const target *)context;
    kpd_type type = t.buffer->type;
    uint64_t poison = poison_of(type);
    for (size_t i = from; i < to; i++) bits_set(type, t.data, i, poison);
}

int arena_unwritten(const kpd_buffer *buffer, const void *data, size_t i) {
    return buffer->role == KPD_OUT && bits_at(buffer->type, data, i) == poison_of(buffer->type);
}

#define SPECK 8 /* one element in so many is no zero */

/* An output of zeros but for a few: who adds to what is there, where a look at some elements says that it is nothing, is found. */
void arena_speckle(const kpd_buffer *buffer, void *data, kpd_rng *rng) {
    for (size_t i = 0; i < buffer->count; i++)
        bits_set(buffer->type, data, i, kpd_random(rng) % SPECK ? 0 : poison_of(buffer->type));
}

/* What was there before a call: outputs that hold no value yet, what is changed in place as it should be, whole guard bands. */
void arena_poison(view *v) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        target t = {&v->buffers[b], v->data[b]};
        pair p = {.to = v->data[b], .from = v->pristine[b]};
        if (t.buffer->role == KPD_OUT) kpd_parallel(t.buffer->count, STEP, poison_part, &t);
        if (t.buffer->role == KPD_INOUT) kpd_parallel(bytes_of(t.buffer), STEP, copy_part, &p);
        for (int side = 0; side < 2; side++) {
            unsigned char *byte, *end;
            arena_band(v, b, side, &byte, &end);
            guard_write(byte, end);
        }
    }
}

/* Outputs as calloc gives them. */
void arena_clear(view *v) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++)
        if (v->buffers[b].role == KPD_OUT) memset(v->data[b], 0, bytes_of(&v->buffers[b]));
}

/* What the kernel wrote where it must not, in words; NULL when nothing. */
const char *arena_damage(const view *v, char *text, size_t size) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        long width = (long)element(buffer->type);
        for (int side = 0; side < 2; side++) {
            unsigned char *byte, *end;
            arena_band(v, b, side, &byte, &end);
            const unsigned char *changed = guard_seen(byte, end);
            if (changed == end) continue;
            long bytes = (const char *)changed - (char *)v->data[b], at = side ? bytes / width : -((width - 1 - bytes) / width);
            snprintf(text, size, "wrote %s %s, at %s[%ld]", side ? "past the end of" : "before", buffer->name, buffer->name, at);
            return text;
        }
        pair p = {.to = v->data[b], .from = v->pristine[b]};
        if (!is_written(buffer)) kpd_parallel(bytes_of(buffer), STEP, compare_part, &p);
        if (!p.differ) continue;
        size_t i = 0;
        while (i + 1 < bytes_of(buffer) && p.to[i] == p.from[i]) i++;
        snprintf(text, size, "changed its input %s[%zu]", buffer->name, i / element(buffer->type));
        return text;
    }
    return NULL;
}

#define LINE 64 /* a line of the cache */

static size_t packed(const kpd_buffer *buffer) { return (bytes_of(buffer) + LINE - 1) / LINE * LINE; }

/* Packs of the contents of all buffers, in shared memory behind the buffers themselves: how many there are, … */
size_t arena_packs(const view *v) {
    size_t each = 0;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) each += packed(&v->buffers[b]);
    return each ? (arena_bytes - v->bytes) / each : 0;
}

/* … and where one of them has each buffer. */
void arena_pack(const view *v, size_t pack, void **data) {
    char *at = v->base + v->bytes;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) at += pack * packed(&v->buffers[b]);
    for (size_t b = 0; b < kpd_task.buffer_count; at += packed(&v->buffers[b++])) data[b] = at;
}

/* Put the outputs aside. */
void arena_keep(view *v) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        pair p = {.to = v->kept[b], .from = v->data[b]};
        if (is_written(&v->buffers[b])) kpd_parallel(bytes_of(&v->buffers[b]), STEP, copy_part, &p);
    }
}

#define SPOILT 3

/* Outputs as they were put aside, but for a few elements that hold no value: who takes them for done is found. */
void arena_spoil(view *v, kpd_rng *rng) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        pair p = {.to = v->data[b], .from = v->kept[b]};
        if (buffer->role != KPD_OUT || !buffer->count) continue;
        kpd_parallel(bytes_of(buffer), STEP, copy_part, &p);
        for (int i = 0; i < SPOILT; i++) bits_set(buffer->type, v->data[b], kpd_random(rng) % buffer->count, poison_of(buffer->type));
    }
}

/* Whether an output has other bits than what was put aside: which, and where first. What lies behind an output's length, as the
 * kernel then told it, holds nothing. */
int arena_differs(const view *v, size_t *output, size_t *index) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        size_t by = buffer->sized_by, count = buffer->count, width = element(buffer->type);
        if (!is_written(buffer)) continue;
        if (by) {
            double told = value_of(v->buffers[by - 1].type, v->kept[by - 1], 0);
            if (told >= 0.0 && told < (double)count) count = (size_t)told;
        }
        pair p = {.to = v->kept[b], .from = v->data[b]};
        kpd_parallel(count * width, STEP, compare_part, &p);
        if (!p.differ) continue;
        *output = b;
        /* the worker may still write, so that they are the same by now */
        for (*index = 0; *index + 1 < count && !memcmp(p.to + *index * width, p.from + *index * width, width); ++*index) continue;
        return 1;
    }
    return 0;
}

/* What the kernel changes in place gets what it has at the same offset from `fresh`. */
void arena_restore(view *v, const char *fresh) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++)
        if (v->buffers[b].role == KPD_INOUT) memcpy(v->data[b], fresh + v->offset[b], bytes_of(&v->buffers[b]));
}
