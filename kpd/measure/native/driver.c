/* kpd's driver: what a task's harness becomes a program with.
 *
 *   bench describe                                           the cases, their dims and sizes
 *   bench check OBJECT seeds limit_ms                        is the candidate right?
 *   bench time INCUMBENT CANDIDATE first quads limit_ms      A B B A; `first` (a or b) is loaded first
 *   bench alone INCUMBENT INCUMBENT first quads limit_ms      the same of the incumbent alone: its results are not looked at
 *   bench solo CANDIDATE CANDIDATE first quads limit_ms       of the candidate alone: on a device only some cases' results are
 *   bench fresh INCUMBENT CANDIDATE first budget_ms limit_ms   is the gain there when all inputs are new in each call?
 *   bench rows INCUMBENT CANDIDATE first budget_ms limit_ms    the same, and on a device also when several calls follow one another
 *   bench repeat OBJECT asked budget_ms limit_ms             the same each time? asked: yes, no, or auto: as the baseline
 *   bench far OBJECT call_ms limit_ms                        is it right at sizes far beyond the cases'? A call takes so long there (on a CPU)
 *   bench bounds OBJECT FILE limit_ms                        how exact the task's own kernel is, to a file
 *   bench run OBJECT calls                                   every timed case, for a profiler
 *   bench memcheck OBJECT                                    every checked case once, for compute-sanitizer
 *   bench overflow OBJECT OWN most least                     a call on a device at a size of more elements than that (sizes_overflow.c):
 *                                                            "asked SIZE", "wrong COUNT SIZE: …" for what is, "seen SIZE"; status 0
 *   bench timing OBJECT                                      a line of text a case, for people and other tools
 *
 * Before the mode may stand what [check] in task.toml says: inputs=normal,large (those that are promised), compare=scaled
 * (or elementwise, norm, exact, ulp:N), rtol=1e-4, atol=1e-6; or bounds=FILE, which `bounds` wrote, in place of both. With
 * truth=OBJECT the outputs of that kernel are the truth, in place of the oracle's. With sizes=any a timed object is called at a
 * size that no case has, too, and repeats draw sizes. With baseline=OBJECT a check draws sizes, and so does far:
 * where that kernel is right, the candidate must be. nonfinite=propagate: what is not finite in an input must show in the
 * outputs as it does in the truth; nonfinite=kept: where the truth is not finite, outputs may not be, either.
 *
 * time may find a text of random length in the variable KPD_LAYOUT: by so much stack and heap are moved; and its number among
 * processes that follow one another in KPD_TURN, from 1 on: they report in that order.
 * check, time, alone, solo, fresh, rows, repeat and far read the secret key from standard input: 32 hexadecimal digits. limit_ms is for one answer of the
 * worker: after a call, or within the timing of a case. The report is one line of JSON on standard output, `problem` in it
 * is null or what the kernel did wrong; run and memcheck have none, memcheck a line "seen NAME" for each case. Exit status 0: no problem; 1: a problem; 2: the driver or
 * the harness is at fault, with the reason on standard error.
 */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

#define STOPWATCH_CALLS 7
#define BEYOND_BYTES (64u << 20) /* that buffers may take at a size far beyond the cases' (sizes_beyond.c), on a device, … */
#define FAR_BYTES (256u << 20)   /* … and where there is more time, if … */
#define FAR_SHARE 16             /* … that is at most one part in so many of the memory that is free */
#define STOPWATCH_LIMIT_MS 60000
#define ELSEWHERE_LIMIT_MS 1000 /* for the incumbent's call at a size that no case has: where it hangs, no candidate is asked */

static void describe(void) {
    printf("{\"symbol\":\"%s\",\"scaled\":%s,", kpd_task.symbol, kpd_task.scaled_oracle ? "true" : "false");
    printf("\"varies\":%s,\"far\":%s,", sizes_vary() ? "true" : "false", engine_uses_device ? "false" : "true");
    printf("\"oracle\":%s,\"cases\":[", kpd_task.oracle || kpd_task.scaled_oracle ? "true" : "false");
    for (size_t c = 0; c < kpd_task.case_count; c++) {
        const kpd_case *one = &kpd_task.cases[c];
        kpd_buffer buffers[KPD_MAX_BUFFERS];
        kpd_task.buffers(one, buffers);
        printf("%s{\"name\":\"%s\",\"dims\":{", c ? "," : "", one->name);
        for (size_t d = 0; d < KPD_MAX_DIMS && kpd_task.dims[d]; d++)
            printf("%s\"%s\":%ld", d ? "," : "", kpd_task.dims[d], one->dims[d]);
        printf("},\"bytes\":{");
        for (size_t b = 0; b < kpd_task.buffer_count; b++)
            printf("%s\"%s\":%zu", b ? "," : "", buffers[b].name, bytes_of(&buffers[b]));
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
    int going = 1;
    job.paths[CANDIDATE] = object;
    job.first = CANDIDATE;
    for (size_t c = 0; c < kpd_task.case_count && going; c++) {
        if (kpd_task.cases[c].use == KPD_CHECK_ONLY) continue;
        arena_fill(&job.views[c], job.timed);
        arena_poison(&job.views[c]);
        going = loaded() && what((int)c, calls);
    }
}

static int stopped(int number, int calls) {
    worker_stopwatch(number, calls);
    if (!answered(CANDIDATE, &job.views[number], timed_name(), "timing")) return 0;
    double us = (double)middle_of(job.shared->ns[CANDIDATE], calls) / 1e3;
    printf("KK_TIMING name=%s median_us=%.3f\n", kpd_task.cases[number].name, us);
    return 1;
}

/* Load the candidate, and the task's own kernel unless that is NULL, in this process: to follow another one takes a profiler a second
 * more. The candidate was right before. Without a device it is in a worker's sandbox here, too: counters are read from outside. */
static outcome loaded_here(const char *object, const char *own) {
    outcome answer = {.how = DONE};
    char path[PATH_BYTES];
    if (engine_uses_device) sandbox_narrow();
    else {
        limits_enter(-1);
        sandbox_enter((const char *const[2]){object, own});
    }
    engine_start(job.shared, NULL, &answer);
    object_path(path, own ? own : "");
    if (own && answer.how == DONE) engine_load(path, INCUMBENT, &answer);
    object_path(path, object);
    if (answer.how == DONE) engine_load(path, CANDIDATE, &answer);
    if (!calls_seal() && answer.how == DONE) {
        answer.how = REFUSED;
        snprintf(answer.message, sizeof answer.message, "a thread that the kernel starts when it is loaded filters its system calls");
    }
    if (answer.how == DONE) engine_begin();
    return answer;
}

/* For a profiler or a memcheck. */
static int run(const char *object, kpd_use left_out, void (*what)(view *v, int calls, outcome *answer), int calls) {
    outcome answer = loaded_here(object, NULL);
    for (size_t c = 0; c < kpd_task.case_count && answer.how == DONE; c++) {
        if (kpd_task.cases[c].use == left_out) continue;
        arena_fill(&job.views[c], job.timed);
        arena_poison(&job.views[c]);
        what(&job.views[c], calls, &answer);
        if (answer.how != DONE || what != engine_memcheck) continue;
        printf("seen %s\n", kpd_task.cases[c].name);
        fflush(stdout); /* the tool may be ended in the next case */
    }
    return answer.how == DONE ? 0 : fail(answer.message);
}

static int overflow(const char *object, const char *own, double most, double least) {
    outcome answer = loaded_here(object, own);
    if (answer.how != DONE) return fail(answer.message);
    sizes_overflow(most, least);
    return 0;
}

static void stopwatch(const char *object) {
    each(object, stopped, STOPWATCH_CALLS);
    if (problem.kind) fprintf(stderr, "%s: %s %s\n", problem.case_name, problem.kind, problem.message);
}

/* Whether the harness can be used; what is wrong with it. */
static const char *fault_of_harness(void) {
    if (kpd_task.case_count > KPD_MAX_CASES || kpd_task.buffer_count > KPD_MAX_BUFFERS)
        return "too many cases or buffers in the harness";
    for (size_t c = 0; c < kpd_task.case_count; c++) {
        kpd_buffer buffers[KPD_MAX_BUFFERS] = {{0}};
        kpd_task.buffers(&kpd_task.cases[c], buffers);
        for (size_t b = 0; b < kpd_task.buffer_count; b++) {
            size_t by = buffers[b].sized_by;
            if (!by) continue;
            if (by > kpd_task.buffer_count || !is_written(&buffers[by - 1]) || !is_integer(buffers[by - 1].type) ||
                buffers[by - 1].count != 1 || !is_written(&buffers[b]))
                return "KPD_SIZED_BY in the harness must name an output of one integer, for another output";
        }
    }
    return NULL;
}

static int promise(const char *names) {
    for (int d = 0; d < KPD_DISTRIBUTIONS; d++) job.promised[d] = 0;
    for (int first = 1; *names; first = 0) {
        size_t length = strcspn(names, ",");
        int d = 0;
        while (d < KPD_DISTRIBUTIONS && (strlen(distribution_names[d]) != length || strncmp(distribution_names[d], names, length))) d++;
        if (d == KPD_DISTRIBUTIONS) return 0;
        job.promised[d] = 1;
        if (first) job.timed = (kpd_distribution)d;
        names += length + (names[length] == ',');
    }
    return 1;
}

static int compare_by(const char *kind) {
    static const char *const kinds[] = {"elementwise", "scaled", "norm", "exact"};
    for (int k = 0; k < 4; k++) {
        if (strcmp(kind, kinds[k])) continue;
        job.how.kind = k;
        return k != SCALED || kpd_task.scaled_oracle;
    }
    job.how.kind = STEPS;
    job.how.steps = strncmp(kind, "ulp:", 4) ? 0.0 : atof(kind + 4);
    return job.how.steps >= 1.0;
}

/* One of the settings that stand before the mode. */
static int set(const char *name, size_t length, const char *value) {
    if (!strncmp(name, "inputs", length)) return promise(value);
    if (!strncmp(name, "compare", length)) return compare_by(value);
    if (!strncmp(name, "rtol", length)) job.how.rtol = atof(value);
    else if (!strncmp(name, "atol", length)) job.how.atol = atof(value);
    else if (!strncmp(name, "truth", length)) job.truth = value;
    else if (!strncmp(name, "sizes", length)) job.any_size = !strcmp(value, "any");
    else if (!strncmp(name, "baseline", length)) job.baseline = value;
    else if (!strncmp(name, "nonfinite", length)) return (job.nonfinite = !strcmp(value, "propagate") ? PROPAGATE : !strcmp(value, "kept") ? KEPT : ANY) != ANY;
    else if (!strncmp(name, "bounds", length)) return job.how.native = bounds_read(value);
    else return 0;
    return 1;
}

static size_t far_bytes(void) {
    size_t free = (size_t)proc_number("/proc/meminfo", "MemAvailable:", 0) / FAR_SHARE * 1024;
    return free && free < FAR_BYTES ? free : FAR_BYTES;
}

int main(int argc, char **argv) {
    const char *fault = fault_of_harness();
    if (fault) return fail(fault);
    for (int d = 0; d < KPD_DISTRIBUTIONS; d++) job.promised[d] = 1;
    for (const char *equal; argc > 1 && (equal = strchr(argv[1], '=')) != NULL; argc--, argv++)
        if (!set(argv[1], (size_t)(equal - argv[1]), equal + 1)) return fail(argv[1]);
    const char *mode = argc > 1 ? argv[1] : "";
    if (argc == 2 && !strcmp(mode, "describe")) {
        describe();
        return 0;
    }
    int checking = argc == 5 && !strcmp(mode, "check");
    job.trusted = argc == 7 && !strcmp(mode, "alone");
    job.sampled = argc == 7 && !strcmp(mode, "solo") && engine_uses_device;
    int timing = argc == 7 && (!strcmp(mode, "time") || !strcmp(mode, "alone") || !strcmp(mode, "solo"));
    manner how = strcmp(mode, "rows") ? SINGLY : IN_A_ROW;
    int auditing = argc == 7 && (!strcmp(mode, "fresh") || how == IN_A_ROW);
    int repeating = argc == 6 && !strcmp(mode, "repeat");
    int far = argc == 5 && !strcmp(mode, "far") && job.baseline && !engine_uses_device;
    int measuring = argc == 5 && !strcmp(mode, "bounds");
    int running = argc == 4 && !strcmp(mode, "run");
    int bounding = argc == 3 && !strcmp(mode, "memcheck");
    int overflowing = argc == 6 && !strcmp(mode, "overflow");
    int stopping = argc == 3 && !strcmp(mode, "timing");
    if (!checking && !timing && !auditing && !repeating && !far && !measuring && !running && !bounding && !overflowing && !stopping)
        return fail("usage: bench describe | check … | time … | alone … | solo … | fresh … | rows … | repeat … | far … | bounds … | run … | memcheck … | overflow … | timing … "
            "(see driver.c)");
    int quads = timing ? atoi(argv[5]) : 1;
    if (quads < 1 || quads > MAX_QUADS) return fail("quads must be 1 to 256");
    int secret = checking || timing || auditing || repeating || far, judging = secret || measuring;
    spend("");
    if (judging) sandbox_hide(); /* but not from profilers and sanitizers */
    if (checking) arena_fenced = FENCED_BEHIND;
    job.any_size &= ((timing && !strcmp(mode, "time") && !engine_uses_device) || (repeating && job.baseline)) && !job.truth;
    if ((checking && job.baseline) || job.any_size || (repeating && !engine_uses_device)) arena_asked = 1;
    if (job.any_size && repeating && engine_uses_device) arena_asked = BEYOND_BYTES;
    if (far) arena_asked = far_bytes();
    arena_loose = far || (repeating && job.any_size && !engine_uses_device);
    arena_make(job.views, &job.shared);
    if (running) return run(argv[2], KPD_CHECK_ONLY, engine_profile, atoi(argv[3]));
    if (bounding) return run(argv[2], KPD_TIME_ONLY, engine_memcheck, 1);
    if (overflowing) return overflow(argv[2], argv[3], atof(argv[4]), atof(argv[5]));
    if (judging && !job.truth && !kpd_task.oracle && !kpd_task.scaled_oracle) return fail("the harness has no oracle");
    mappings_note_own();
    limits_late = repeating || far;
    worker_start(job.views, job.shared, (const char *const[2]){argv[2], timing || auditing ? argv[3] : NULL});
    if (auditing) apart_start(argv[2]);
    if (job.truth) referee_start(job.truth, atoi(argv[argc - 1]), 1); /* after the candidate's worker, which must not see it */
    else if (checking && job.baseline) referee_start(job.baseline, atoi(argv[argc - 1]), 0);
    else if (job.any_size && timing) referee_start(argv[2], ELSEWHERE_LIMIT_MS, 0);
    if (secret && !secret_read()) return fail("no key on standard input");
    job.limit_ms = stopping ? STOPWATCH_LIMIT_MS : atoi(argv[argc - 1]);
    if (stopping) stopwatch(argv[2]);
    if (checking) check(argv[2], atoi(argv[3]));
    if (timing) time_pair(argv[2], argv[3], argv[4][0] == 'b' ? CANDIDATE : INCUMBENT, quads);
    if (auditing) fresh_pair(argv[2], argv[3], argv[4][0] == 'b' ? CANDIDATE : INCUMBENT, atoi(argv[5]), how);
    if (repeating) repeat(argv[2], argv[3][0] == 'y' ? ALWAYS : argv[3][0] == 'n' ? NEVER : AS_THE_BASELINE, atoi(argv[4]));
    if (far) sizes_beyond(argv[2], (uint64_t)atoi(argv[3]) * 1000000u);
    if (measuring) bounds_measure(argv[2], argv[3]);
    worker_stop();
    if (fflush(stdout)) return fail("the report cannot be written");
    end_turn();
    return problem.kind ? 1 : 0;
}
