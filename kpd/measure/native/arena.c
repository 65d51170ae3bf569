/* Memory: where the buffers of all cases lie, each between guard bands. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u
#define LEAST_ALIGNMENT 16u /* what malloc gives: where a fence stands behind a buffer, a kernel may count on no more */
#define DRAWN (1u << 20) /* bytes that a drawn size may take, or twice those of the largest checked case, … */
#define BEYOND (256u << 20) /* … but only so many more than that */

size_t arena_bytes, arena_asked, arena_drawn;
int arena_fenced, arena_loose;
static size_t most_outputs; /* of a case */

int is_read(const kpd_buffer *buffer) { return buffer->role != KPD_OUT; }

int is_written(const kpd_buffer *buffer) { return buffer->role != KPD_IN; }

size_t bytes_of(const kpd_buffer *buffer) { return buffer->count * element(buffer->type); }

/* A buffer's share of the arena: a band of at least a page before and after it. */
static size_t span(const kpd_buffer *buffer) { return (bytes_of(buffer) + 4 * PAGE) / PAGE * PAGE; }

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
    size_t whole = (bytes_of(buffer) + LEAST_ALIGNMENT - 1) / LEAST_ALIGNMENT * LEAST_ALIGNMENT;
    if (v->fenced == FENCED_BEFORE) return 0;
    if (v->fenced) return (PAGE - whole % PAGE) % PAGE;
    size_t alignment = arena_loose ? LEAST_ALIGNMENT : engine_alignment;
    return kpd_random(placement) % (PAGE / alignment) * alignment;
}

/* What is the driver's own: the inputs as they should be, and for each of truth, scale and what is kept so many elements. */
static void aim(view *v, size_t room) {
    double *want = v->truth;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        v->pristine[b] = v->pristine_base + v->offset[b];
        if (!is_written(&v->buffers[b])) continue;
        v->want[b] = want;
        want += v->buffers[b].count;
        v->scale[b] = v->want[b] + room;
        v->kept[b] = v->scale[b] + room;
    }
}

/* In which order the buffers lie, in this process and its workers: no kernel can count on that of its arguments. */
static size_t order[KPD_MAX_BUFFERS];

static void draw_order(kpd_rng *placement) {
    static int drawn;
    if (drawn++) return;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        size_t other = kpd_random(placement) % (b + 1);
        order[b] = order[other];
        order[other] = b;
    }
}

static void place(view *v, kpd_rng *placement) {
    size_t at = 0;
    v->inputs.count = v->in_place = 0;
    v->placed++;
    for (size_t i = 0; i < kpd_task.buffer_count; i++) {
        size_t b = order[i];
        const kpd_buffer *buffer = &v->buffers[b];
        v->offset[b] = at + PAGE + into_page(v, buffer, placement);
        v->data[b] = v->base + v->offset[b];
        at += span(buffer);
        if (!is_read(buffer)) continue;
        v->in_place |= is_written(buffer);
        int input = v->inputs.count++;
        v->inputs.at[input].offset = v->offset[b];
        v->inputs.at[input].elements = buffer->count;
        v->inputs.at[input].size = (uint32_t)element(buffer->type);
    }
    aim(v, most_outputs);
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
    if (arena_asked) {
        size_t least = larger(DRAWN, arena_asked);
        arena_drawn = larger(least, twice(largest, BEYOND));
        arena_bytes = larger(arena_drawn, arena_bytes);
        most = larger(larger(DRAWN, least / sizeof(float)), twice(most, BEYOND / sizeof(double)));
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
    draw_order(&placement);
    for (size_t c = 0; c <= kpd_task.case_count; c++) { /* the last one is for sizes that are drawn */
        views[c].number = c;
        views[c].base = base;
        views[c].pristine_base = pristine;
        views[c].truth = want;
        views[c].fenced = arena_fenced;
        if (c < kpd_task.case_count) place(&views[c], &placement);
    }
}

/* Bytes of inputs for one more set of a case's, and of truth where it has that, too. */
size_t arena_own_bytes(const view *v, int with_truth) {
    return v->bytes + (with_truth ? (3 * outputs(v) * sizeof *v->truth + PAGE - 1) / PAGE * PAGE : 0);
}

/* The same buffers, with inputs of their own in that memory, and a truth of their own. */
view arena_own(const view *of, char *memory, int with_truth) {
    view v = *of;
    v.pristine_base = memory;
    if (with_truth) v.truth = (double *)(void *)(memory + v.bytes);
    aim(&v, with_truth ? outputs(&v) : most_outputs);
    return v;
}

/* The same buffers in another part of the memory that is shared, of which there are as many as fit: 0 is where they are. */
view arena_copy(const view *of, size_t part) {
    view v = *of;
    v.base += part * v.bytes;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) v.data[b] = v.base + v.offset[b];
    return v;
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
    char *data = v->data[b], *base = data - PAGE - ((uintptr_t)data & (PAGE - 1)), *end = data + bytes_of(&v->buffers[b]);
    *from = side ? end + (PAGE - ((uintptr_t)end & (PAGE - 1))) % PAGE : base;
    *to = side ? base + span(&v->buffers[b]) : base + PAGE;
}

/* The bounds of the guard bytes before (side 0) and after (side 1) a buffer. */
void arena_band(const view *v, size_t b, int side, unsigned char **from, unsigned char **to) {
    char *data = v->data[b];
    char *base = data - PAGE - ((uintptr_t)data & (PAGE - 1));
    *from = (unsigned char *)(side ? data + bytes_of(&v->buffers[b]) : base);
    *to = (unsigned char *)(side ? base + span(&v->buffers[b]) : data);
}
