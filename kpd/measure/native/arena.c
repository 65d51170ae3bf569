/* Memory: buffers between guard bands, inputs and what they should be, poison in the outputs. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u
#define LEAST_ALIGNMENT 16u /* what malloc gives: where a fence stands behind a buffer, a kernel may count on no more */
#define STEP (1u << 20) /* bytes, or elements, that are worth a thread */
#define DRAWN (1u << 20) /* bytes that a drawn size may take, or twice those of the largest checked case, … */
#define BEYOND (256u << 20) /* … but only so many more than that */

size_t arena_bytes, arena_drawn;
int arena_fenced;
static size_t most_outputs; /* of a case */

int is_read(const kpd_buffer *buffer) { return buffer->role != KPD_OUT; }

int is_written(const kpd_buffer *buffer) { return buffer->role != KPD_IN; }

static size_t size_of(const kpd_buffer *buffer) { return buffer->count * element(buffer->type); }

/* A buffer's share of the arena: a band of at least a page before and after it. */
static size_t span(const kpd_buffer *buffer) { return (size_of(buffer) + 4 * PAGE) / PAGE * PAGE; }

static void *must(void *memory, const char *what) {
    if (memory && memory != MAP_FAILED) return memory;
    perror(what);
    exit(2);
}

static size_t larger(size_t one, size_t other) { return one > other ? one : other; }

/* Twice as much, but only so much more. */
static size_t twice(size_t size, size_t more) { return size + (size < more ? size : more); }

/* Elements of all outputs: no type is wider than the truth's. */
static size_t outputs(const view *v) {
    size_t count = 0;
    for (size_t b = 0; b < kpd_task.buffer_count; b++)
        if (is_written(&v->buffers[b])) count += v->buffers[b].count;
    return count;
}

/* Bytes from the beginning of a page to a buffer. Where that is left to chance it differs from process to process, so that no
 * verdict hangs on one placement. Before a fence a buffer ends as near to it as the least alignment allows. */
static size_t into_page(const view *v, const kpd_buffer *buffer, kpd_rng *placement) {
    size_t whole = (size_of(buffer) + LEAST_ALIGNMENT - 1) / LEAST_ALIGNMENT * LEAST_ALIGNMENT;
    if (v->fenced == FENCED_BEFORE) return 0;
    if (v->fenced) return (PAGE - whole % PAGE) % PAGE;
    return kpd_random(placement) % (PAGE / engine_alignment) * engine_alignment;
}

static void place(view *v, kpd_rng *placement) {
    double *want = v->truth;
    size_t at = 0, most = most_outputs;
    v->inputs.count = v->in_place = 0;
    v->placed++;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        v->offset[b] = at + PAGE + into_page(v, buffer, placement);
        v->data[b] = v->base + v->offset[b];
        v->pristine[b] = v->pristine_base + v->offset[b];
        at += span(buffer);
        if (is_written(buffer)) {
            v->want[b] = want;
            want += buffer->count;
            v->scale[b] = v->want[b] + most;
            v->kept[b] = v->scale[b] + most;
        }
        if (!is_read(buffer)) continue;
        v->in_place |= is_written(buffer);
        int i = v->inputs.count++;
        v->inputs.at[i].offset = v->offset[b];
        v->inputs.at[i].elements = buffer->count;
        v->inputs.at[i].size = (uint32_t)element(buffer->type);
    }
}

/* Whether memory can be fenced here: some machines have larger pages. */
static int can_be_fenced(void) { return engine_fences && sysconf(_SC_PAGESIZE) == PAGE; }

static void measure(view *v, const kpd_case *problem) {
    v->problem = problem;
    v->bytes = 0;
    kpd_task.buffers(problem, v->buffers);
    for (size_t b = 0; b < kpd_task.buffer_count; b++) v->bytes += span(&v->buffers[b]);
}

/* Maps a case's buffers and the measurement in memory that a forked worker shares. The cases take turns in it: they are
 * looked at one after another, and fresh pages for each would cost more time than the timing. */
void arena_make(view *views, measurement **shared) {
    size_t own = (sizeof(measurement) + PAGE - 1) / PAGE * PAGE;
    size_t most = 1, largest = 0;
    if (!can_be_fenced()) arena_fenced = 0;
    arena_bytes = 0;
    for (size_t c = 0; c < kpd_task.case_count; c++) {
        measure(&views[c], &kpd_task.cases[c]);
        arena_bytes = larger(views[c].bytes, arena_bytes);
        if (kpd_task.cases[c].use != KPD_TIME_ONLY) largest = larger(views[c].bytes, largest);
        most = larger(outputs(&views[c]), most);
    }
    if (arena_drawn) {
        arena_drawn = larger(DRAWN, twice(largest, BEYOND));
        arena_bytes = larger(arena_drawn, arena_bytes);
        most = larger(DRAWN, twice(most, BEYOND / sizeof(double))); /* an element is a byte at least */
    }
    most_outputs = most;
    void *memory = mmap(NULL, own + arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    char *base = must(memory, "cannot map the task's buffers");
    char *pristine = must(malloc(arena_bytes), "cannot allocate the oracle's inputs");
    double *want = must(malloc(3 * most * sizeof *want), "cannot allocate the oracle's outputs");
    *shared = (measurement *)(void *)base;
    base += own;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    kpd_rng placement = {(uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32};
    for (size_t c = 0; c <= kpd_task.case_count; c++) { /* the last one is for sizes that are drawn */
        views[c].base = base;
        views[c].pristine_base = pristine;
        views[c].truth = want;
        views[c].fenced = arena_fenced;
        if (c < kpd_task.case_count) place(&views[c], &placement);
    }
}

/* Whether a drawn size has elements in every buffer, and room in the arena. */
int arena_fits(const kpd_case *drawn) {
    view v = {.problem = drawn};
    kpd_task.buffers(drawn, v.buffers);
    for (size_t b = 0; b < kpd_task.buffer_count; b++)
        if (!v.buffers[b].count || v.buffers[b].count > arena_drawn) return 0;
    measure(&v, drawn);
    return v.bytes <= arena_drawn && outputs(&v) <= most_outputs;
}

/* Make a view that of another size, between fences where the engine's memory can have them. */
void arena_resize(view *v, const kpd_case *size, int fenced) {
    kpd_rng placement = {0};
    measure(v, size);
    v->fenced = can_be_fenced() ? fenced : 0;
    place(v, &placement);
}

/* The pages of a guard band, before (side 0) or behind (side 1) a buffer, without the one that the buffer is in itself. */
void arena_fence(const view *v, size_t b, int side, char **from, char **to) {
    char *data = v->data[b], *base = data - PAGE - ((uintptr_t)data & (PAGE - 1)), *end = data + size_of(&v->buffers[b]);
    *from = side ? end + (PAGE - ((uintptr_t)end & (PAGE - 1))) % PAGE : base;
    *to = side ? base + span(&v->buffers[b]) : base + PAGE;
}

/* The bounds of the guard bytes before (side 0) and after (side 1) a buffer. */
static void band(const view *v, size_t b, int side, unsigned char **from, unsigned char **to) {
    char *data = v->data[b];
    char *base = data - PAGE - ((uintptr_t)data & (PAGE - 1));
    *from = (unsigned char *)(side ? data + size_of(&v->buffers[b]) : base);
    *to = (unsigned char *)(side ? base + span(&v->buffers[b]) : data);
}

/* Not a number, as any type of float: reading past a buffer shows as well as writing. */
static unsigned char guard(const unsigned char *at) { return (uintptr_t)at & 1 ? 0xFF : 0xF5; }

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

/* Fresh inputs. They are made where the worker cannot see them, and copied. */
void arena_fill(view *v, kpd_distribution distribution) {
    kpd_rng rng = {secret_draw()};
    v->turns = 0;
    kpd_task.fill(v->problem, &rng, distribution, v->pristine);
    arena_show(v);
}

void arena_show(view *v) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        if (!is_read(&v->buffers[b])) continue;
        pair p = {.to = v->data[b], .from = v->pristine[b]};
        kpd_parallel(size_of(&v->buffers[b]), STEP, copy_part, &p);
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
    const target *t = context;
    uint64_t poison = poison_of(t->buffer->type);
    for (size_t i = from; i < to; i++) bits_set(t->buffer->type, t->data, i, poison);
}

int arena_unwritten(const kpd_buffer *buffer, const void *data, size_t i) {
    return buffer->role == KPD_OUT && bits_at(buffer->type, data, i) == poison_of(buffer->type);
}

/* What was there before a call: outputs that hold no value yet, what is changed in place as it should be, whole guard bands. */
void arena_poison(view *v) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        target t = {&v->buffers[b], v->data[b]};
        pair p = {.to = v->data[b], .from = v->pristine[b]};
        if (t.buffer->role == KPD_OUT) kpd_parallel(t.buffer->count, STEP, poison_part, &t);
        if (t.buffer->role == KPD_INOUT) kpd_parallel(size_of(t.buffer), STEP, copy_part, &p);
        for (int side = 0; side < 2; side++) {
            unsigned char *byte, *end;
            for (band(v, b, side, &byte, &end); byte < end; byte++) *byte = guard(byte);
        }
    }
}

/* What the kernel wrote where it must not, in words; NULL when nothing. */
const char *arena_damage(const view *v, char *text, size_t size) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        long width = (long)element(buffer->type);
        for (int side = 0; side < 2; side++) {
            unsigned char *byte, *end;
            for (band(v, b, side, &byte, &end); byte < end; byte++) {
                if (*byte == guard(byte)) continue;
                long bytes = (char *)byte - (char *)v->data[b], at = side ? bytes / width : -((width - 1 - bytes) / width);
                snprintf(text, size, "wrote %s %s, at %s[%ld]", side ? "past the end of" : "before", buffer->name, buffer->name, at);
                return text;
            }
        }
        pair p = {.to = v->data[b], .from = v->pristine[b]};
        if (!is_written(buffer)) kpd_parallel(size_of(buffer), STEP, compare_part, &p);
        if (!p.differ) continue;
        size_t i = 0;
        while (i + 1 < size_of(buffer) && p.to[i] == p.from[i]) i++;
        snprintf(text, size, "changed its input %s[%zu]", buffer->name, i / element(buffer->type));
        return text;
    }
    return NULL;
}

/* Put the outputs aside. */
void arena_keep(view *v) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        pair p = {.to = v->kept[b], .from = v->data[b]};
        if (is_written(&v->buffers[b])) kpd_parallel(size_of(&v->buffers[b]), STEP, copy_part, &p);
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
        if (v->buffers[b].role == KPD_INOUT) memcpy(v->data[b], fresh + v->offset[b], size_of(&v->buffers[b]));
}
