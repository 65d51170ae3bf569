/* Do calls of the same work take the same, each time? Few calls that take very long are hardly in a contest, in which each copy of a
 * kernel's code is called some dozen times, and whose batches count by their median. So the repeats add up what the worker's CPU
 * time was, as the system tells it; calls on both sets of inputs count as one, as either may be more work. And memory that is still
 * growing after the first calls is never given back: it is what each call keeps. */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FIRST_CALLS 4     /* of a case: these take memory that later ones find again */
#define MOST_GROWN_KB 512 /* a heap grows by 132 KiB at a time */
#define MOST_TOUCHED_KB (16u << 10)  /* of pages that it has written to: a large one has 2 MiB */
#define MOST_RESERVED_KB (4ul << 20) /* of addresses: malloc takes 64 MiB of these for a thread */
#define MOST_MAPPINGS 4096           /* of the 65,530 that the system allows a process */
#define IDLE_NS 20000000     /* in which it should take less of one CPU than a tenth after all calls (others may be at work on it), … */
#define IDLE_PARTS 25        /* … in one of so many such times: libomp's threads wait at work for 0.2 s */
#define MOST_PAIRS (1u << 16)
#define FEWEST_PAIRS 50
#define LEFT_OUT 1 /* the longest pair: other work, or the hypervisor, may be in its time */
#define MOST_TIMES 2.0 /* as long as in the middle, all together */
#define MOST_FIRST 100         /* calls take as long as a first one at a size, which may fill tables and take memory, … */
#define MOST_FIRST_NS 20000000u /* … unless all of them together take no longer than this */

static uint64_t pairs[MOST_PAIRS], begun_ns; /* of this case */
static double times[MOST_PAIRS];              /* of all cases */
static size_t calls, compared;
static uint64_t first_ns, firsts_ns, usual_ns; /* the first call of this case, those of all but the first case, middle ones of these */

/* What the system counts as a process's memory, and how much more of it there may be than after the first calls. */
static const struct {
    const char *file, *name;
    long most_kb;
} kinds[] = {
    {"status", "VmData:", MOST_GROWN_KB}, {"smaps_rollup", "Anonymous:", MOST_TOUCHED_KB}, {"status", "VmSize:", MOST_RESERVED_KB}};
#define KINDS (sizeof kinds / sizeof *kinds)
static long first_kb[KINDS];

static long told_kb(const char *of, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", worker_process(), of);
    return proc_number(path, name, 0);
}

static long memory_kb(size_t kind) { return told_kb(kinds[kind].file, kinds[kind].name); }

/* From now on none of them may grow by more than it may. */
void memory_begin(void) {
    for (size_t kind = 0; kind < KINDS; kind++) first_kb[kind] = memory_kb(kind);
}

/* In KiB since then; 0 where no kind has grown by more than it may. */
long memory_grown(void) {
    for (size_t kind = 0; kind < KINDS; kind++) {
        long grown = first_kb[kind] ? memory_kb(kind) - first_kb[kind] : 0;
        if (grown > kinds[kind].most_kb) return grown;
    }
    return 0;
}

void steady_start(void) {
    calls = 0;
}

void steady_before(void) { begun_ns = worker_busy(); }

void steady_after(void) {
    size_t pair = calls / 2;
    uint64_t ns = worker_busy() - begun_ns;
    if (!calls) first_ns = ns;
    if (pair < MOST_PAIRS) pairs[pair] = (calls % 2 ? pairs[pair] : 0) + ns;
    if (++calls == FIRST_CALLS) memory_begin();
}

/* What a call takes of the CPUs' time, and by the clock; 0 after a problem, or where the system does not tell. */
uint64_t candidate_takes(const view *v, const char *when, uint64_t *passed) {
    view at = *v;
    arena_show(&at);
    arena_poison(&at);
    uint64_t before = worker_busy(), start = now_ns();
    worker_call(CANDIDATE, (int)v->number, 0, 1);
    if (!answered(CANDIDATE, v, timed_name(), when)) return 0;
    *passed = worker_heard.at - start;
    uint64_t ns = worker_busy() - before;
    return unharmed(CANDIDATE, v, timed_name(), when) ? ns : 0;
}

/* Whether it never had more memory than a kernel gets, which here it could have: who is refused some can tell where it is called.
 * The buffers are shared, and in the count. 0 after a problem. */
int memory_enough(void) {
    long most = (long)((limits_memory() + arena_bytes) >> 10), peak = told_kb("status", "VmHWM:");
    if (peak <= most) return 1;
    blame("damage", CANDIDATE, NULL, timed_name(), "all calls");
    snprintf(problem.message, sizeof problem.message, "takes %.0f MiB of memory: a kernel gets %.0f MiB", (double)peak / 1024.0, (double)most / 1024.0);
    return 0;
}

/* Whether it rests while no call is. Threads of a pool may look for more work for a while after a call. 0 after a problem. */
int rests(void) {
    uint64_t busy = 0;
    for (int part = 0; part < IDLE_PARTS; part++) {
        uint64_t before = worker_busy();
        nanosleep(&(struct timespec){.tv_nsec = IDLE_NS}, NULL);
        busy = worker_busy() - before;
        if (busy < IDLE_NS / 10) return 1;
    }
    blame("damage", CANDIDATE, NULL, timed_name(), "after all calls");
    snprintf(problem.message, sizeof problem.message, "is at work while no call is: %.0f %% of a CPU", 100.0 * (double)busy / IDLE_NS);
    return 0;
}

static int mappings(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", worker_process());
    FILE *file = fopen(path, "r");
    int found = 0;
    for (int c; file && (c = getc(file)) != EOF;) found += c == '\n';
    if (file) fclose(file);
    return found;
}

/* What it keeps, in words; NULL where that is nothing. */
static const char *kept(char *text, size_t size) {
    long grown = calls > FIRST_CALLS ? memory_grown() : 0;
    int parts = mappings();
    if (grown) snprintf(text, size, "it has %.1f MiB more than after the first %d", (double)grown / 1024.0, FIRST_CALLS);
    else if (parts > MOST_MAPPINGS) snprintf(text, size, "it is in %d parts", parts);
    return grown || parts > MOST_MAPPINGS ? text : NULL;
}

static int by_time(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

static int by_size(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return one < other ? -1 : one > other;
}

/* In the very first call of all a process may do what it has to do once. */
static void note_first(size_t number, uint64_t usual) {
    static int any, seen[KPD_MAX_CASES];
    if (!seen[number]++ && any++) {
        firsts_ns += first_ns;
        usual_ns += usual;
    }
}

/* Note how many times as long as the middle one of its case each pair took: calls that take very long end a case's time. */
static void compare_pairs(size_t number, size_t count) {
    static uint64_t sorted[MOST_PAIRS];
    memcpy(sorted, pairs, count * sizeof *pairs);
    qsort(sorted, count, sizeof *sorted, by_time);
    double middle = count ? (double)sorted[count / 2] : 0.0;
    note_first(number, (uint64_t)middle / 2);
    for (size_t i = 0; i < count && middle > 0.0 && compared < MOST_PAIRS; i++) times[compared++] = (double)pairs[i] / middle;
}

/* Of so many of these numbers, the least of them; they are sorted. */
double mean_of_least(double *numbers, size_t count, size_t least) {
    qsort(numbers, count, sizeof *numbers, by_size);
    double sum = 0.0;
    for (size_t i = 0; i < least; i++) sum += numbers[i];
    return sum / (double)least;
}

/* The mean of these over all cases so far, but for the longest; 1 where there are too few. */
static double times_on_average(void) {
    return compared < FEWEST_PAIRS ? 1.0 : mean_of_least(times, compared, compared - LEFT_OUT);
}

/* 0 after a problem. Calls that look uneven have to be so again: three times that a hypervisor takes the CPU away are much beside
 * a thousand short calls. */
int steady(const view *v, int again) {
    size_t count = calls / 2 < MOST_PAIRS ? calls / 2 : MOST_PAIRS;
    static char when[80];
    snprintf(when, sizeof when, "%zu calls on two sets of inputs in turn", calls);
    char what[80];
    if (kept(what, sizeof what)) {
        blame("damage", CANDIDATE, v, timed_name(), when);
        snprintf(problem.message, sizeof problem.message, "keeps memory of its calls: %s", what);
        return 0;
    }
    if (again && count >= FEWEST_PAIRS) compared = 0;
    compare_pairs(v->number, count);
    if (firsts_ns > MOST_FIRST_NS && firsts_ns / MOST_FIRST > usual_ns) {
        blame("damage", CANDIDATE, v, timed_name(), "the first call at each size");
        snprintf(problem.message, sizeof problem.message, "takes %.0f times as long in a first call as in later ones at the same size, "
            "and more than %u ms in all of these", (double)firsts_ns / (double)(usual_ns + 1), MOST_FIRST_NS / 1000000u);
        return 0;
    }
    double average = times_on_average();
    if (average <= MOST_TIMES) return 1;
    if (!again) return STEADY_AGAIN;
    blame("damage", CANDIDATE, v, timed_name(), when);
    snprintf(problem.message, sizeof problem.message,
        "takes %.1f times as long on average as in most calls on the same inputs: some take very long", average);
    return 0;
}
