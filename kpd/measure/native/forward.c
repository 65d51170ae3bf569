/* Is it right after millions of calls? Numbers that it keeps and that grow alike with each call (how often it was called, tickets
 * of threads or blocks) are set forward, all by as many calls, until one of them is about to pass 2^31 or 2^32: as if it had
 * been called so often. The calls from there on have to be right.
 *
 * Only variables of the object are looked at, or on a device those that it has there; on a CPU only where it has no threads: what
 * a lock counts grows alike, too. That is no defence against who hides such a number: it finds those who have not thought of its
 * end.
 */
#include "report.h"

#ifdef __linux__
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define LOOKS 4               /* at the variables, after a call each */
#define MOST_SPANS 8          /* of an object's memory */
#define MOST_BYTES (1u << 18) /* of variables: more is a table */
#define MOST_NUMBERS 64       /* more is one that is filled */
#define BEFORE 2              /* calls before a number passes an end … */
#define CALLS 6               /* … and all that are looked at there */
#define WORTH 16              /* calls: fewer have been made already */
#define LIMIT_MS 1000         /* to copy variables of a device */
#define MOST_ENDS 3           /* that numbers are set forward to, in each case */

typedef struct {
    size_t at; /* among the bytes of all variables */
    uint32_t step; /* of each call */
} number;

static const uint64_t ends[] = {1ull << 31, 1ull << 32};

static struct {
    view *v;
    int memory; /* of the worker; not where a device has the variables */
    span spans[MOST_SPANS];
    int span_count;
    size_t bytes;
    char *looks; /* `bytes` each: the last one is what they are now */
    int looked;  /* how many of these there are */
    number numbers[MOST_NUMBERS];
    int count;
} its;

static char when[96];

static char *seen(int number) { return its.looks + (size_t)number * its.bytes; }

static int look_at_device(char *to) {
    worker_variables((int)its.v->number, 0);
    outcome answer = worker_wait(LIMIT_MS, 0);
    if (answer.how != DONE || (size_t)answer.code != its.bytes) return 0;
    memcpy(to, its.v->base + its.v->bytes, its.bytes);
    return 1;
}

static int look(char *to) {
    if (engine_uses_device) return look_at_device(to);
    for (int i = 0; i < its.span_count; i++) {
        size_t size = its.spans[i].to - its.spans[i].from;
        if (pread(its.memory, to, size, (off_t)its.spans[i].from) != (ssize_t)size) return 0;
        to += size;
    }
    return 1;
}

/* Not to its file in /proc: a job writes to no file there. */
static int put_word(size_t at) {
    int i = 0;
    size_t begin = 0;
    for (; at - begin >= its.spans[i].to - its.spans[i].from; i++) begin += its.spans[i].to - its.spans[i].from;
    struct iovec from = {seen(LOOKS - 1) + at, sizeof(uint32_t)}, to = {(char *)its.spans[i].from + (at - begin), sizeof(uint32_t)};
    return process_vm_writev(worker_process(), &from, 1, &to, 1, 0) == sizeof(uint32_t);
}

/* Put all numbers where they have been found. */
static int put(void) {
    if (engine_uses_device) {
        memcpy(its.v->base + its.v->bytes, seen(LOOKS - 1), its.bytes);
        worker_variables((int)its.v->number, 1);
        return worker_wait(LIMIT_MS, 0).how == DONE;
    }
    for (int i = 0; i < its.count; i++)
        if (!put_word(its.numbers[i].at)) return 0;
    return 1;
}

static uint32_t word_in(int look, size_t at) {
    uint32_t word;
    memcpy(&word, seen(look) + at, sizeof word);
    return word;
}

/* Half of an address is no number. */
static int in_address(size_t at) {
    uint64_t whole;
    memcpy(&whole, seen(LOOKS - 1) + (at & ~(size_t)7), sizeof whole);
    return whole >> 32 && mappings_contain(whole);
}

/* By how much a word grew in each call; 0 where that was not always as much. */
static uint32_t steady_step(size_t at) {
    uint32_t step = word_in(1, at) - word_in(0, at);
    for (int i = 2; step && i < LOOKS; i++)
        if (word_in(i, at) - word_in(i - 1, at) != step) return 0;
    return step;
}

static void find_numbers(void) {
    its.count = 0;
    for (size_t at = 0; at + sizeof(uint32_t) <= its.bytes; at += sizeof(uint32_t)) {
        uint32_t step = steady_step(at);
        if (!step || in_address(at)) continue;
        if (its.count == MOST_NUMBERS) {
            its.count = 0;
            return;
        }
        its.numbers[its.count++] = (number){at, step};
    }
}

/* After how many calls a number passes its next end. One that falls does so as one that grows from the other side. */
static uint64_t calls_to_end(uint32_t value, uint32_t step) {
    if (step >> 31) value = -value, step = -step;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        uint64_t calls = ends[i] > value ? (ends[i] - value) / step : 0;
        if (calls > BEFORE + WORTH) return calls - BEFORE;
    }
    return 0;
}

/* Set all forward to shortly before the next end. Returns by how many calls; 0 where there is none. */
static uint64_t set_forward(void) {
    uint64_t calls = 0;
    if (!look(seen(LOOKS - 1))) return 0;
    for (int i = 0; i < its.count; i++) {
        uint64_t own = calls_to_end(word_in(LOOKS - 1, its.numbers[i].at), its.numbers[i].step);
        if (own && (!calls || own < calls)) calls = own;
    }
    for (int i = 0; calls && i < its.count; i++) {
        uint32_t value = word_in(LOOKS - 1, its.numbers[i].at) + (uint32_t)calls * its.numbers[i].step;
        memcpy(seen(LOOKS - 1) + its.numbers[i].at, &value, sizeof value);
    }
    return calls && put() ? calls : 0;
}

static void forget(void) {
    free(its.looks);
    if (its.memory >= 0) close(its.memory);
    its.looks = NULL;
    its.memory = -1;
}

/* Look at the variables after each of the next calls, which are of this case. */
void forward_begin(view *v) {
    its.v = v;
    its.bytes = 0;
    its.looked = its.span_count = 0;
    its.memory = -1;
    if (engine_uses_device) {
        worker_variables((int)v->number, 0);
        outcome answer = worker_wait(LIMIT_MS, 0);
        its.bytes = answer.how == DONE && answer.code > 0 ? (size_t)answer.code : 0;
    } else if (limits_threads_of(worker_process()) == 1) {
        its.bytes = mappings_variables(job.paths[CANDIDATE], its.spans, MOST_SPANS, &its.span_count);
        its.memory = memory_of_worker();
    }
    its.looks = its.bytes && its.bytes <= MOST_BYTES ? malloc(LOOKS * its.bytes) : NULL;
}

void forward_look(void) {
    if (its.looks && its.looked < LOOKS && look(seen(its.looked))) its.looked++;
}

static int right_at_ends(size_t near_case) {
    static uint64_t passed; /* calls that were left out, all told */
    uint64_t calls;
    find_numbers();
    for (int end = 0; end < MOST_ENDS && (calls = set_forward()) != 0; end++) {
        passed += calls;
        snprintf(when, sizeof when, "call %llu, to which numbers that it keeps were set forward", (unsigned long long)passed);
        for (int i = 0; i < CALLS; i++)
            if (!called_on_new(its.v, near_case, job.timed, when)) return 0;
    }
    return 1;
}

/* 0 after a problem. */
int forward_to_ends(size_t near_case) {
    int right = its.looked < LOOKS || right_at_ends(near_case);
    forget();
    return right;
}

/* The same at a small size. */
int forward(void) {
    kpd_rng rng = {secret_draw()};
    static kpd_case drawn;
    int near_case = size_drawn(&rng, &drawn, SMALL_SIZE), going = 1;
    view *v = &job.views[kpd_task.case_count];
    if (near_case < 0) return 1;
    arena_resize(v, &drawn, 0);
    if (!baseline_right(v, &drawn, (size_t)near_case, job.timed)) return 1;
    if (!resized(v, &drawn, 0, job.timed)) return 0;
    drawn.name = size_name(&drawn);
    forward_begin(v);
    for (int i = 0; i < LOOKS && going; i++) {
        going = called_on_new(v, (size_t)near_case, job.timed, called_when);
        forward_look();
    }
    return forward_to_ends((size_t)near_case) && going;
}
#else
void forward_begin(view *v) { (void)v; }

void forward_look(void) {}

int forward_to_ends(size_t near_case) {
    (void)near_case;
    return 1;
}

int forward(void) { return 1; }
#endif
