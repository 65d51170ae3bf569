/* kpd's driver: what a task's harness.c becomes a program with.
 *
 *   bench describe                                                     the cases, their dims and sizes
 *   bench check OBJECT seeds rtol atol limit_ms                        is the candidate right?
 *   bench time INCUMBENT CANDIDATE first quads rtol atol limit_ms      A B B A; `first` (a or b) is loaded first
 *   bench run OBJECT calls limit_ms                                    so many calls of every case, for a profiler
 *
 * check and time read the secret seed from standard input: 16 hexadecimal digits. limit_ms is for one request to the
 * worker: a call, or the timing of a case. The report is one line of JSON on standard output, `problem` in it is null or
 * what the kernel did wrong. Exit status 0: no problem; 1: a problem; 2: the driver or the harness is at fault, with the
 * reason on standard error.
 */
#include "driver.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AFTERMATH_SWAPS 64 /* inputs that change before the outputs of a timed batch are looked at */
#define MOST_FAILURES 200

static const char *const distributions[KPD_DISTRIBUTIONS] = {"normal", "constant", "heavy_tail", "denormal", "large"};

static view views[KPD_MAX_CASES];
static measurement *shared;
static double rtol, atol_;
static int limit_ms;

/* ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────── */

static void print_text(const char *text) {
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\') printf("\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7F) printf("\\u%04x", *c);
        else putchar(*c);
    }
    putchar('"');
}

/* As text: JSON has no word for what is not a number. */
static void print_value(const char *name, double value, int unwritten) {
    if (unwritten) printf(",\"%s\":\"unwritten\"", name);
    else if (value != value) printf(",\"%s\":\"nan\"", name);
    else printf(",\"%s\":\"%.9g\"", name, value);
}

static void print_batches(const char *name, const uint64_t *ns, int count) {
    printf("\"%s\":[", name);
    for (int i = 0; i < count; i++) printf("%s%" PRIu64, i ? "," : "", ns[i]);
    printf("]");
}

/* ── what went wrong ──────────────────────────────────────────────────────────────────────────────────────────────── */

typedef struct {
    const char *kind; /* NULL: nothing */
    const char *when; /* check or timed output, … */
    slot who;
    const char *case_name, *distribution;
    char message[400];
    int signal;
    deviation worst;
} problem_t;

static problem_t problem;

static void blame(const char *kind, slot who, const view *v, const char *distribution, const char *when) {
    problem.kind = kind;
    problem.who = who;
    problem.case_name = v ? v->problem->name : "";
    problem.distribution = distribution;
    problem.when = when;
}

/* 1 when the request was answered; otherwise the problem is noted. */
static int answered(outcome o, slot who, const view *v, const char *distribution, const char *when) {
    static const char *const kinds[] = {[CRASHED] = "crash", [EXITED] = "exit", [TIMED_OUT] = "timeout", [REFUSED] = "load"};
    if (o.how == DONE) return 1;
    blame(kinds[o.how], who, v, distribution, when);
    problem.signal = o.how == CRASHED ? o.code : 0;
    snprintf(problem.message, sizeof problem.message, "%s", o.message);
    return 0;
}

/* 1 when the kernel wrote only where it should. */
static int unharmed(slot who, const view *v, const char *distribution, const char *when) {
    if (!arena_damage(v, problem.message, sizeof problem.message)) return 1;
    blame("damage", who, v, distribution, when);
    return 0;
}

static void print_problem(void) {
    printf("\"problem\":");
    if (!problem.kind) {
        printf("null");
        return;
    }
    printf("{\"kind\":\"%s\",\"who\":\"%s\",\"case\":", problem.kind, problem.who == CANDIDATE ? "candidate" : "incumbent");
    print_text(problem.case_name);
    printf(",\"distribution\":\"%s\",\"when\":\"%s\",\"message\":", problem.distribution, problem.when);
    print_text(problem.message);
    printf(",\"signal\":%d", problem.signal);
    if (problem.worst.output) {
        const deviation *w = &problem.worst;
        printf(",\"output\":\"%s\",\"index\":%zu", w->output, w->index);
        print_value("got", w->got, w->unwritten);
        print_value("want", w->want, 0);
        printf(",\"multiple\":%.6g,\"wrong\":%zu,\"compared\":%zu", w->multiple, w->wrong, w->compared);
    }
    printf("}");
}

/* ── modes ────────────────────────────────────────────────────────────────────────────────────────────────────────── */

static void describe(void) {
    printf("{\"symbol\":\"%s\",\"cases\":[", kpd_task.symbol);
    for (size_t c = 0; c < kpd_task.case_count; c++) {
        kpd_buffer buffers[KPD_MAX_BUFFERS];
        kpd_task.buffers(&kpd_task.cases[c], buffers);
        printf("%s{\"name\":\"%s\",\"dims\":{", c ? "," : "", kpd_task.cases[c].name);
        for (size_t d = 0; d < KPD_MAX_DIMS && kpd_task.dims[d]; d++)
            printf("%s\"%s\":%ld", d ? "," : "", kpd_task.dims[d], kpd_task.cases[c].dims[d]);
        printf("},\"bytes\":{");
        for (size_t b = 0; b < kpd_task.buffer_count; b++)
            printf("%s\"%s\":%zu", b ? "," : "", buffers[b].name, buffers[b].count * element(&buffers[b]));
        printf("}}");
    }
    printf("]}\n");
}

typedef struct {
    size_t comparisons;
    deviation worst;
    const char *case_name, *distribution;
    int failures; /* combinations of case and distribution that failed, as listed */
    struct {
        const char *case_name, *distribution;
    } failed[MOST_FAILURES];
} checked_t;

static checked_t checked;

/* 1 when the worker can be asked on: values may be wrong, but nothing is broken. */
static int check_one(size_t c, kpd_distribution d, kpd_rng *rng) {
    view *v = &views[c];
    const char *distribution = distributions[d];
    arena_fill(v, rng, d);
    arena_poison(v);
    if (!answered(worker_call(CANDIDATE, (int)c, 1, limit_ms), CANDIDATE, v, distribution, "check")) return 0;
    if (!unharmed(CANDIDATE, v, distribution, "check")) return 0;
    deviation found = arena_compare(v, rtol, atol_);
    checked.comparisons += found.compared;
    if (found.wrong && checked.failures < MOST_FAILURES) {
        checked.failed[checked.failures].case_name = v->problem->name;
        checked.failed[checked.failures++].distribution = distribution;
    }
    if (checked.case_name && found.multiple <= checked.worst.multiple) return 1;
    checked.worst = found;
    checked.case_name = v->problem->name;
    checked.distribution = distribution;
    if (found.wrong) {
        blame("wrong", CANDIDATE, v, distribution, "check");
        problem.worst = found;
    }
    return 1;
}

static void check(const char *object, int seeds, uint64_t seed) {
    const char *paths[2] = {[INCUMBENT] = NULL, [CANDIDATE] = object};
    kpd_rng rng = {seed};
    int going = answered(worker_load(paths, CANDIDATE, limit_ms), CANDIDATE, NULL, "", "load");
    for (int round = 0; round < seeds && going && !problem.kind; round++)
        for (size_t c = 0; c < kpd_task.case_count && going; c++)
            for (int d = 0; d < KPD_DISTRIBUTIONS && going; d++) going = check_one(c, (kpd_distribution)d, &rng);
    printf("{\"comparisons\":%zu,\"worst\":%.6g", checked.comparisons, checked.case_name ? checked.worst.multiple : 0.0);
    printf(",\"case\":\"%s\",\"distribution\":\"%s\"", checked.case_name ? checked.case_name : "", checked.case_name ? checked.distribution : "");
    printf(",\"output\":\"%s\",\"index\":%zu", checked.case_name ? checked.worst.output : "", checked.worst.index);
    printf(",\"failed\":[");
    for (int i = 0; i < checked.failures; i++)
        printf("%s\"%s/%s\"", i ? "," : "", checked.failed[i].case_name, checked.failed[i].distribution);
    printf("],");
    print_problem();
    printf("}\n");
}

/* Is what `who` leaves in the outputs right for the inputs of now? */
static int right(slot who, int number, int reps, const char *when) {
    view *v = &views[number];
    if (!answered(worker_call(who, number, reps, limit_ms), who, v, "normal", when)) return 0;
    if (!unharmed(who, v, "normal", when)) return 0;
    deviation found = arena_compare(v, rtol, atol_);
    if (!found.wrong) return 1;
    blame("wrong", who, v, "normal", when);
    problem.worst = found;
    return 0;
}

/* After the timing: a batch like the timed ones, over outputs that still hold the last result, for inputs that have changed
 * since (a kernel that returns what it returned before is found out); then a call on poisoned outputs. */
static int aftermath(int number, uint64_t seed) {
    view *v = &views[number];
    static const slot both[2] = {CANDIDATE, INCUMBENT};
    for (int i = 0; i < 2; i++) {
        kpd_rng rng = {seed + (uint64_t)i};
        for (int n = 0; n < AFTERMATH_SWAPS; n++) arena_swap(v, v->data, &rng);
        arena_replay(v, AFTERMATH_SWAPS, seed + (uint64_t)i);
        if (!right(both[i], number, shared->reps, "timed outputs")) return 0;
        arena_poison(v);
        if (!right(both[i], number, 1, "poisoned outputs after timing")) return 0;
    }
    return 1;
}

static int time_one(int number, int quads, kpd_rng *rng) {
    view *v = &views[number];
    arena_fill(v, rng, KPD_NORMAL);
    arena_poison(v);
    uint64_t seed = kpd_random(rng);
    if (!answered(worker_time(number, quads, seed, limit_ms), CANDIDATE, v, "normal", "timing")) return 0;
    arena_replay(v, shared->swaps, seed);
    if (!unharmed(CANDIDATE, v, "normal", "timing")) return 0;
    if (shared->reps < 1 || shared->quads < 1 || shared->quads > quads) {
        blame("damage", CANDIDATE, v, "normal", "timing");
        snprintf(problem.message, sizeof problem.message, "wrote over the driver's own record");
        return 0;
    }
    printf("%s\"%s\":{\"reps\":%d,", number ? "," : "", v->problem->name, shared->reps);
    print_batches("a_ns", shared->ns[INCUMBENT], 2 * shared->quads);
    putchar(',');
    print_batches("b_ns", shared->ns[CANDIDATE], 2 * shared->quads);
    printf(",\"disturbed\":%d,\"steal_ticks\":%ld,\"threads\":%d}", shared->disturbed, shared->steal_ticks, shared->threads);
    return aftermath(number, kpd_random(rng));
}

static void time_pair(const char *incumbent, const char *candidate, slot first, int quads, uint64_t seed) {
    const char *paths[2] = {[INCUMBENT] = incumbent, [CANDIDATE] = candidate};
    kpd_rng rng = {seed};
    int going = answered(worker_load(paths, first, limit_ms), CANDIDATE, NULL, "", "load");
    printf("{\"cases\":{");
    for (size_t c = 0; c < kpd_task.case_count && going; c++) going = time_one((int)c, quads, &rng);
    printf("},");
    print_problem();
    printf("}\n");
}

static void run(const char *object, int calls) {
    const char *paths[2] = {[INCUMBENT] = NULL, [CANDIDATE] = object};
    kpd_rng rng = {1};
    int going = answered(worker_load(paths, CANDIDATE, limit_ms), CANDIDATE, NULL, "", "load");
    for (size_t c = 0; c < kpd_task.case_count && going; c++) {
        arena_fill(&views[c], &rng, KPD_NORMAL);
        going = answered(worker_call(CANDIDATE, (int)c, calls, limit_ms), CANDIDATE, &views[c], "normal", "profile");
    }
    printf("{");
    print_problem();
    printf("}\n");
}

static int fail(const char *message) {
    fprintf(stderr, "kpd driver: %s\n", message);
    return 2;
}

int main(int argc, char **argv) {
    if (kpd_task.case_count > KPD_MAX_CASES || kpd_task.buffer_count > KPD_MAX_BUFFERS) return fail("too many cases or buffers in harness.c");
    const char *mode = argc > 1 ? argv[1] : "";
    if (argc == 2 && !strcmp(mode, "describe")) {
        describe();
        return 0;
    }
    int checking = argc == 7 && !strcmp(mode, "check");
    int timing = argc == 9 && !strcmp(mode, "time");
    int running = argc == 5 && !strcmp(mode, "run");
    if (!checking && !timing && !running) return fail("usage: bench describe | check … | time … | run … (see driver.c)");
    arena_make(views, &shared);
    worker_start(views, shared);
    uint64_t seed = 0;
    if (!running && scanf("%16" SCNx64, &seed) != 1) return fail("no seed on standard input");
    limit_ms = atoi(argv[argc - 1]);
    if (checking || timing) {
        rtol = atof(argv[argc - 3]);
        atol_ = atof(argv[argc - 2]);
    }
    if (running) run(argv[2], atoi(argv[3]));
    if (checking) check(argv[2], atoi(argv[3]), seed);
    if (timing) {
        int quads = atoi(argv[5]);
        if (quads < 1 || quads > MAX_QUADS) return fail("quads must be 1 to 256");
        time_pair(argv[2], argv[3], argv[4][0] == 'b' ? CANDIDATE : INCUMBENT, quads, seed);
    }
    worker_stop();
    return problem.kind ? 1 : 0;
}
