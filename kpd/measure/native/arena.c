/* Memory and truth: buffers between guard bands, input values, poison, comparison with the oracle. */
#include "driver.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u
#define LINE 64u
#define GUARD 0xFFF5A5A5u  /* not a number, as float and as double: reading past a buffer shows as well as writing */
#define POISON32 0xFFA5A5A5u            /* signalling NaNs: copied as they are, but arithmetic would change them, */
#define POISON64 0xFFF5A5A5FFA5A5A5u    /* so an element that still holds one was not written */

uint64_t kpd_random(kpd_rng *rng) { /* SplitMix64 (Steele, Lea, Flood 2014) */
    uint64_t z = (rng->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* The sum of four uniform numbers of 16 bits each, scaled: quick, and near enough to a normal distribution. */
static double bell(kpd_rng *rng) {
    uint64_t bits = kpd_random(rng);
    double sum = (double)(bits & 0xFFFF) + (double)(bits >> 16 & 0xFFFF) + (double)(bits >> 32 & 0xFFFF) + (double)(bits >> 48);
    return (sum / 65536.0 - 2.0) * 1.7320508;
}

static double uniform(kpd_rng *rng) { return (double)(kpd_random(rng) >> 11) / 9007199254740992.0; }

static double sign(kpd_rng *rng) { return kpd_random(rng) & 1 ? 1.0 : -1.0; }

static double draw(kpd_rng *rng, kpd_distribution distribution) {
    switch (distribution) {
    case KPD_HEAVY_TAIL: return sign(rng) * exp(2.65 * bell(rng));
    case KPD_DENORMAL: return kpd_random(rng) & 1 ? bell(rng) : sign(rng) * uniform(rng) * FLT_MIN;
    case KPD_LARGE: return sign(rng) * 1e6 * exp(13.8 * uniform(rng));
    default: return bell(rng);
    }
}

void kpd_fill(kpd_rng *rng, kpd_distribution distribution, float *values, size_t count) {
    double constant = sign(rng) * (0.5 + 1.5 * uniform(rng));
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(distribution == KPD_CONSTANT ? constant : draw(rng, distribution));
}

size_t element(const kpd_buffer *buffer) { return buffer->type == KPD_F32 ? sizeof(float) : sizeof(double); }

static size_t size_of(const kpd_buffer *buffer) { return buffer->count * element(buffer); }

/* A buffer's share of the arena: a band of at least a page before and after it. */
static size_t span(const kpd_buffer *buffer) { return (size_of(buffer) + 4 * PAGE) / PAGE * PAGE; }

/* Maps every case's buffers and the measurement in memory that a forked worker shares. Where in its page a buffer starts
 * differs from process to process, so that no verdict hangs on one placement. */
void arena_make(view *views, measurement **shared) {
    size_t total = (sizeof(measurement) + PAGE - 1) / PAGE * PAGE;
    for (size_t c = 0; c < kpd_task.case_count; c++) {
        views[c].problem = &kpd_task.cases[c];
        kpd_task.buffers(views[c].problem, views[c].buffers);
        for (size_t b = 0; b < kpd_task.buffer_count; b++) total += span(&views[c].buffers[b]);
    }
    char *base = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (base == MAP_FAILED) {
        perror("cannot map the task's buffers");
        exit(2);
    }
    *shared = (measurement *)(void *)base;
    char *next = base + (sizeof(measurement) + PAGE - 1) / PAGE * PAGE;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    kpd_rng placement = {(uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32};
    for (size_t c = 0; c < kpd_task.case_count; c++) {
        for (size_t b = 0; b < kpd_task.buffer_count; b++) {
            kpd_buffer *buffer = &views[c].buffers[b];
            views[c].data[b] = next + PAGE + kpd_random(&placement) % (PAGE / LINE) * LINE;
            views[c].pristine[b] = buffer->role == KPD_IN ? malloc(size_of(buffer)) : NULL;
            views[c].want[b] = buffer->role == KPD_OUT ? malloc(buffer->count * sizeof(double)) : NULL;
            if (!views[c].pristine[b] && !views[c].want[b]) {
                perror("cannot allocate the oracle's buffers");
                exit(2);
            }
            next += span(buffer);
        }
    }
}

/* The bounds of the guard words before (side 0) and after (side 1) a buffer; up to 3 bytes after it stay unwatched. */
static void band(const view *v, size_t b, int side, uint32_t **from, uint32_t **to) {
    char *data = v->data[b];
    char *base = data - PAGE - ((uintptr_t)data & (PAGE - 1));
    char *after = data + (size_of(&v->buffers[b]) + 3) / 4 * 4;
    *from = (uint32_t *)(void *)(side ? after : base);
    *to = (uint32_t *)(void *)(side ? base + span(&v->buffers[b]) : data);
}

/* Fresh inputs, and the truth for them. */
void arena_fill(view *v, kpd_rng *rng, kpd_distribution distribution) {
    kpd_task.fill(v->problem, rng, distribution, v->data);
    for (size_t b = 0; b < kpd_task.buffer_count; b++)
        if (v->buffers[b].role == KPD_IN) memcpy(v->pristine[b], v->data[b], size_of(&v->buffers[b]));
    kpd_task.oracle(v->problem, v->data, v->want);
}

static void poison(const kpd_buffer *buffer, void *data) {
    for (size_t i = 0; i < buffer->count; i++) {
        if (buffer->type == KPD_F32) ((uint32_t *)data)[i] = POISON32;
        else ((uint64_t *)data)[i] = POISON64;
    }
}

static int unwritten(const kpd_buffer *buffer, const void *data, size_t i) {
    return buffer->type == KPD_F32 ? ((const uint32_t *)data)[i] == POISON32 : ((const uint64_t *)data)[i] == POISON64;
}

/* Outputs that hold no value yet, and whole guard bands. */
void arena_poison(view *v) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        if (v->buffers[b].role == KPD_OUT) poison(&v->buffers[b], v->data[b]);
        for (int side = 0; side < 2; side++) {
            uint32_t *word, *end;
            for (band(v, b, side, &word, &end); word < end; word++) *word = GUARD;
        }
    }
}

/* What the kernel wrote where it must not, in words; NULL when nothing. */
const char *arena_damage(const view *v, char *text, size_t size) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        for (int side = 0; side < 2; side++) {
            uint32_t *word, *end;
            for (band(v, b, side, &word, &end); word < end; word++) {
                if (*word == GUARD) continue;
                long at = ((char *)word - (char *)v->data[b]) / (long)element(buffer);
                snprintf(text, size, "wrote %s %s, at %s[%ld]", side ? "past the end of" : "before", buffer->name, buffer->name, at);
                return text;
            }
        }
        if (buffer->role != KPD_IN || !memcmp(v->data[b], v->pristine[b], size_of(buffer))) continue;
        size_t i = 0;
        const char *now = v->data[b], *then = v->pristine[b];
        while (now[i] == then[i]) i++;
        snprintf(text, size, "changed its input %s[%zu]", buffer->name, i / element(buffer));
        return text;
    }
    return NULL;
}

/* Exchange two elements of one input, the next one in turn by chance. `data` holds the inputs to change. */
void arena_swap(view *v, void *const *data, kpd_rng *rng) {
    uint64_t bits = kpd_random(rng);
    size_t b = bits % kpd_task.buffer_count;
    while (v->buffers[b].role != KPD_IN) b = (b + 1) % kpd_task.buffer_count;
    size_t count = v->buffers[b].count, i = (bits >> 8) % count, j = kpd_random(rng) % count;
    if (v->buffers[b].type == KPD_F32) {
        float *values = data[b], kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    } else {
        double *values = data[b], kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    }
}

/* Do to the pristine inputs what was done to the shared ones, and find the truth anew. */
void arena_replay(view *v, uint64_t swaps, uint64_t seed) {
    kpd_rng rng = {seed};
    while (swaps--) arena_swap(v, v->pristine, &rng);
    kpd_task.oracle(v->problem, v->pristine, v->want);
}

static double multiple_of(double got, double want, double limit, double rtol, double atol) {
    if (isnan(want) || fabs(want) > limit) /* beyond the type: the kernel must say so too */
        return isnan(want) ? (isnan(got) ? 0.0 : HOPELESS) : (isinf(got) && (got > 0) == (want > 0) ? 0.0 : HOPELESS);
    if (!isfinite(got)) return HOPELESS;
    double error = fabs(got - want), tolerance = atol + rtol * fabs(want);
    if (error == 0.0) return 0.0;
    return tolerance > 0.0 ? fmin(error / tolerance, HOPELESS) : HOPELESS;
}

deviation arena_compare(const view *v, double rtol, double atol) {
    deviation found = {.multiple = -1.0};
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        if (buffer->role != KPD_OUT) continue;
        int single = buffer->type == KPD_F32;
        found.compared += buffer->count;
        for (size_t i = 0; i < buffer->count; i++) {
            double got = single ? (double)((float *)v->data[b])[i] : ((double *)v->data[b])[i];
            double multiple = multiple_of(got, v->want[b][i], single ? FLT_MAX : DBL_MAX, rtol, atol);
            if (multiple > 1.0) found.wrong++;
            if (multiple <= found.multiple) continue;
            found.multiple = multiple;
            found.index = i;
            found.output = buffer->name;
            found.unwritten = unwritten(buffer, v->data[b], i);
            found.got = got;
            found.want = v->want[b][i];
        }
    }
    return found;
}
