/* How many calls a batch has and how many batches a case, and what disturbs a process while it is timed. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#ifdef __linux__
#include <sched.h>
#endif

#define STRETCH 2u /* a case may take this many times the intended time before quads are left out */
#define FEWEST_QUADS 3 /* that are left, or a third of those that were intended, where these are fewer */
#define TICK_NS 10000000u /* of /proc/stat */
#define LITTLE 20u   /* a batch that lost more than one in so many parts of its time is taken again … */
#define RETAKES 2    /* … for at most so many batches a quad, … */
#define UNFORCED 32  /* … and one in so many where nobody took its CPU: only that the driver can bear out (clocks.py) */

const slot batch_order[4] = {INCUMBENT, CANDIDATE, CANDIDATE, INCUMBENT};

uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* `call_ns` is the slower kernel's: it sets the size of a batch, and so the time that a case can take. */
int batch_reps(uint64_t call_ns, uint64_t batch_ns, int most) {
    uint64_t reps = batch_ns / (call_ns ? call_ns : 1);
    return reps < 1 ? 1 : reps > (uint64_t)most ? most : (int)reps;
}

/* Quads of batches that take `ns` each, of those intended: fewer where one call is longer than a batch should be. */
int batch_quads(int intended, uint64_t ns, uint64_t batch_ns) {
    uint64_t affordable = STRETCH * (uint64_t)intended * batch_ns / (ns ? ns : 1);
    int third = (intended + 2) / 3, fewest = third < FEWEST_QUADS ? third : FEWEST_QUADS;
    return affordable < (uint64_t)fewest ? fewest : affordable < (uint64_t)intended ? (int)affordable : intended;
}

static int by_time(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

uint64_t middle_of(const uint64_t *ns, int count) {
    uint64_t sorted[2 * MAX_QUADS];
    memcpy(sorted, ns, (size_t)count * sizeof *ns);
    qsort(sorted, (size_t)count, sizeof *sorted, by_time);
    return sorted[count / 2];
}

/* A number that stands after `label` in a file of /proc, `skip` words further on; 0 where there is none. */
long proc_number(const char *path, const char *label, int skip) {
    FILE *file = fopen(path, "r");
    char text[1024];
    long number = 0;
    while (file && fgets(text, sizeof text, file)) {
        if (strncmp(text, label, strlen(label))) continue;
        char *word = strtok(text + strlen(label), " \t");
        while (word && skip--) word = strtok(NULL, " \t");
        number = word ? atol(word) : 0;
        break;
    }
    if (file) fclose(file);
    return number;
}

static long steal_ticks(int cpu) {
    char label[32];
    snprintf(label, sizeof label, "cpu%d ", cpu);
    return proc_number("/proc/stat", label, 7);
}

/* The time of all threads of this process: they do not take the CPU from one another. */
uint64_t busy_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void look(watch *w) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    w->switches = usage.ru_nivcsw;
    w->waits = usage.ru_nvcsw;
    w->at = now_ns();
    w->busy = busy_ns();
}

watch watch_begin(int quads) {
#ifdef __linux__
    int cpu = sched_getcpu();
#else
    int cpu = -1;
#endif
    watch w = {.cpu = cpu, .stolen = steal_ticks(cpu), .retakes = RETAKES * quads, .unforced = 4 * quads / UNFORCED};
    look(&w);
    return w;
}

/* Nanoseconds since the last question in which others had the CPU: other processes, or, where the system knows, the
 * hypervisor. A kernel that only waits of its own accord loses none. */
uint64_t watch_lost(watch *w) {
    watch before = *w;
    look(w);
    uint64_t passed = w->at - before.at, busy = w->busy - before.busy;
    int waited = w->waits > before.waits && w->switches <= before.switches;
    uint64_t lost = !waited && passed > busy ? passed - busy : 0;
    w->lost += lost;
    w->forced = w->switches > before.switches;
    return lost;
}

/* 1 when a batch of `ns` lost so much of that time that it is not kept but taken again. */
int watch_retaken(watch *w, uint64_t lost, uint64_t ns) {
    if (lost <= ns / LITTLE) return 0;
    return (w->forced ? w->retakes-- : w->unforced--) > 0;
}

/* What the hypervisor took, where the system does not leave it out of a process's time: else it has been found as lost. */
long watch_stolen(const watch *w) {
    long unseen = steal_ticks(w->cpu) - w->stolen - (long)(w->lost / TICK_NS);
    return unseen > 0 ? unseen : 0;
}

int watch_threads(void) { return (int)proc_number("/proc/self/status", "Threads:", 0); }

/* Whether the driver is to see the outputs of this batch: when it wants to, and at the last chance. */
int batch_shown(const measurement *m, int number) {
    return batch_order[number % 4] == CANDIDATE && (m->look || number == 4 * m->quads - 2);
}

/* The greatest one of two numbers. */
uint64_t common_factor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
