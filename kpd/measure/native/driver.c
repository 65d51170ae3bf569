/* kpd's driver: what a task's harness becomes a program with.
 *
 *   bench describe                                                     the cases, their dims and sizes
 *   bench check OBJECT seeds rtol atol limit_ms                        is the candidate right?
 *   bench time INCUMBENT CANDIDATE first quads rtol atol limit_ms      A B B A; `first` (a or b) is loaded first
 *   bench run OBJECT calls                                             every timed case, for a profiler
 *   bench memcheck OBJECT                                              every checked case once, for compute-sanitizer
 *   bench timing OBJECT                                                a line of text a case, for people and other tools
 *
 * time may find a text of random length in the variable KPD_LAYOUT: by so much stack and heap are moved.
 * check and time read the secret seed from standard input: 16 hexadecimal digits. limit_ms is for one answer of the
 * worker: after a call, or within the timing of a case. The report is one line of JSON on standard output, `problem` in it
 * is null or what the kernel did wrong; run and memcheck have none. Exit status 0: no problem; 1: a problem; 2: the driver or the harness
 * is at fault, with the reason on standard error.
 */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STOPWATCH_CALLS 7
#define STOPWATCH_LIMIT_MS 60000

static void describe(void) {
    printf("{\"symbol\":\"%s\",\"cases\":[", kpd_task.symbol);
    for (size_t c = 0; c < kpd_task.case_count; c++) {
        const kpd_case *one = &kpd_task.cases[c];
        kpd_buffer buffers[KPD_MAX_BUFFERS];
        kpd_task.buffers(one, buffers);
        printf("%s{\"name\":\"%s\",\"dims\":{", c ? "," : "", one->name);
        for (size_t d = 0; d < KPD_MAX_DIMS && kpd_task.dims[d]; d++)
            printf("%s\"%s\":%ld", d ? "," : "", kpd_task.dims[d], one->dims[d]);
        printf("},\"bytes\":{");
        for (size_t b = 0; b < kpd_task.buffer_count; b++)
            printf("%s\"%s\":%zu", b ? "," : "", buffers[b].name, buffers[b].count * element(buffers[b].type));
        printf("},\"timed\":%s", one->use == KPD_CHECK_ONLY ? "false" : "true");
        printf(",\"checked\":%s}", one->use == KPD_TIME_ONLY ? "false" : "true");
    }
    printf("]}\n");
}

static int fail(const char *message) {
    fprintf(stderr, "kpd driver: %s\n", message);
    return 2;
}

/* Load `object`, and do `what` with every case that is timed. */
static void each(const char *object, int (*what)(int number, int calls), int calls) {
    kpd_rng rng = {1};
    int going = 1;
    job.paths[CANDIDATE] = object;
    job.first = CANDIDATE;
    for (size_t c = 0; c < kpd_task.case_count && going; c++) {
        if (kpd_task.cases[c].use == KPD_CHECK_ONLY) continue;
        arena_fill(&job.views[c], &rng, KPD_NORMAL);
        arena_poison(&job.views[c]);
        going = loaded() && what((int)c, calls);
    }
}

static int stopped(int number, int calls) {
    worker_stopwatch(number, calls);
    if (!answered(CANDIDATE, &job.views[number], "normal", "timing")) return 0;
    double us = (double)middle_of(job.shared->ns[CANDIDATE], calls) / 1e3;
    printf("KK_TIMING name=%s median_us=%.3f\n", kpd_task.cases[number].name, us);
    return 1;
}

/* For a profiler or a memcheck, in this process: to follow another one takes a second more. The kernel was right before. */
static int run(const char *object, kpd_use left_out, void (*what)(view *v, int calls, outcome *answer), int calls) {
    kpd_rng rng = {1};
    outcome answer = {.how = DONE};
    char path[PATH_BYTES];
    object_path(path, object);
    engine_start(job.shared, &answer);
    if (answer.how == DONE) engine_load(path, CANDIDATE, &answer);
    for (size_t c = 0; c < kpd_task.case_count && answer.how == DONE; c++) {
        if (kpd_task.cases[c].use == left_out) continue;
        arena_fill(&job.views[c], &rng, KPD_NORMAL);
        arena_poison(&job.views[c]);
        what(&job.views[c], calls, &answer);
    }
    return answer.how == DONE ? 0 : fail(answer.message);
}

static void stopwatch(const char *object) {
    each(object, stopped, STOPWATCH_CALLS);
    if (problem.kind) fprintf(stderr, "%s: %s %s\n", problem.case_name, problem.kind, problem.message);
}

int main(int argc, char **argv) {
    if (kpd_task.case_count > KPD_MAX_CASES || kpd_task.buffer_count > KPD_MAX_BUFFERS)
        return fail("too many cases or buffers in the harness");
    const char *mode = argc > 1 ? argv[1] : "";
    if (argc == 2 && !strcmp(mode, "describe")) {
        describe();
        return 0;
    }
    int checking = argc == 7 && !strcmp(mode, "check");
    int timing = argc == 9 && !strcmp(mode, "time");
    int running = argc == 4 && !strcmp(mode, "run");
    int bounding = argc == 3 && !strcmp(mode, "memcheck");
    int stopping = argc == 3 && !strcmp(mode, "timing");
    if (!checking && !timing && !running && !bounding && !stopping)
        return fail("usage: bench describe | check … | time … | run … | memcheck … | timing … (see driver.c)");
    int quads = timing ? atoi(argv[5]) : 1;
    if (quads < 1 || quads > MAX_QUADS) return fail("quads must be 1 to 256");
    arena_make(job.views, &job.shared);
    if (running) return run(argv[2], KPD_CHECK_ONLY, engine_profile, atoi(argv[3]));
    if (bounding) return run(argv[2], KPD_TIME_ONLY, engine_memcheck, 1);
    worker_start(job.views, job.shared);
    uint64_t seed = 0;
    if ((checking || timing) && scanf("%16" SCNx64, &seed) != 1) return fail("no seed on standard input");
    job.limit_ms = stopping ? STOPWATCH_LIMIT_MS : atoi(argv[argc - 1]);
    if (checking || timing) {
        job.rtol = atof(argv[argc - 3]);
        job.atol = atof(argv[argc - 2]);
    }
    if (stopping) stopwatch(argv[2]);
    if (checking) check(argv[2], atoi(argv[3]), seed);
    if (timing) time_pair(argv[2], argv[3], argv[4][0] == 'b' ? CANDIDATE : INCUMBENT, quads, seed);
    worker_stop();
    return problem.kind ? 1 : 0;
}
