/* What went wrong, and the JSON that says so. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_PARTS 16 /* of the time of a process */

job_t job;
problem_t problem;

const char *const distribution_names[KPD_DISTRIBUTIONS] = {"normal", "constant", "heavy_tail", "denormal", "large"};

/* The inputs of all timed calls. */
const char *timed_name(void) { return distribution_names[job.timed]; }

/* One of the kinds of inputs that the task promises. */
kpd_distribution promised_kind(kpd_rng *rng) {
    for (;;) {
        int d = (int)(kpd_random(rng) % KPD_DISTRIBUTIONS);
        if (job.promised[d]) return (kpd_distribution)d;
    }
}

kpd_distribution promised_after(kpd_distribution d) {
    do d = (kpd_distribution)((d + 1) % KPD_DISTRIBUTIONS);
    while (!job.promised[d]);
    return d;
}

void blame(const char *kind, slot who, const view *v, const char *distribution, const char *when) {
    problem.kind = kind;
    problem.who = who;
    problem.case_name = v ? v->problem->name : "";
    problem.distribution = distribution;
    problem.when = when;
}

/* What it says that it has measured can be no measurement. */
void unbelieved(const view *v, const char *when) {
    blame("damage", CANDIDATE, v, timed_name(), when);
    snprintf(problem.message, sizeof problem.message, "wrote over the driver's own record");
}

static struct {
    const char *on;
    uint64_t ns;
} parts[MOST_PARTS];

/* Count the time since the last such word as spent on something; the first one only begins. */
void spend(const char *on) {
    static uint64_t since;
    uint64_t now = now_ns();
    for (size_t i = 0; since && i < MOST_PARTS; i++) {
        if (parts[i].on && strcmp(parts[i].on, on)) continue;
        parts[i].on = on;
        parts[i].ns += now - since;
        break;
    }
    since = now;
}

/* The host's trouble, not a kernel's. */
static void give_up(const char *what, const char *why) {
    fprintf(stderr, "kpd driver: %s%s\n", what, *why ? why : "it has died");
    worker_stop();
    exit(2);
}

/* 1 when a request was answered well; otherwise the problem is noted. */
int well(outcome o, slot who, const view *v, const char *distribution, const char *when) {
    static const char *const kinds[] = {
        [CRASHED] = "crash", [EXITED] = "exit", [TIMED_OUT] = "timeout", [REFUSED] = "load", [FAILED] = "device",
        [BEGUN] = "damage", [PAUSED] = "damage", [AWAKE] = "damage", /* out of turn */
        [STRAYED] = "damage"};
    if (o.how == DONE) return 1;
    if (o.how == UNABLE) give_up("", o.message);
    blame(kinds[o.how], who, v, distribution, when);
    problem.signal = o.how == CRASHED ? o.code : 0;
    snprintf(problem.message, sizeof problem.message, "%s", o.message);
    return 0;
}

/* Wait for the worker. 1 when it answered well; otherwise the problem is noted. */
int answered(slot who, const view *v, const char *distribution, const char *when) {
    return well(worker_wait(job.limit_ms, 0), who, v, distribution, when);
}

/* Wait until the engine is there, and note what code the worker has. Until then the driver has better to do. */
void started(void) {
    static int done;
    if (done++) return;
    outcome o = worker_ready();
    if (o.how != DONE) give_up("the worker cannot start: ", o.message); /* no kernel has been loaded yet */
    mappings_note(job.paths);
    spend("context");
}

/* Have the objects loaded, unless that has been done. What they ask to have called then waits until they are noted. */
int loaded(void) {
    static int done;
    if (done) return 1;
    started();
    worker_load_only(job.paths, job.first);
    done = answered(CANDIDATE, NULL, "", "load");
    if (done) {
        mappings_note_parts();
        worker_begin();
        done = answered(CANDIDATE, NULL, "", "load");
    }
    spend("load");
    return done;
}

/* 1 when the kernel wrote only where it should. */
int unharmed(slot who, const view *v, const char *distribution, const char *when) {
    if (!arena_damage(v, problem.message, sizeof problem.message)) return 1;
    blame("damage", who, v, distribution, when);
    return 0;
}

/* 1 when no element is further from the truth than it may. */
int near(deviation found, slot who, const view *v, const char *when) {
    if (!found.wrong) return 1;
    blame("wrong", who, v, timed_name(), when);
    problem.worst = found;
    return 0;
}

/* 1 when what `who` has left in the host's memory is right for the inputs of now. */
int right(slot who, const view *v, const char *when) {
    const bound *bounds = bounds_of(v->number, job.timed);
    return unharmed(who, v, timed_name(), when) && near(truth_compare(v, v->data, &job.how, bounds), who, v, when);
}

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

void print_batches(const char *name, const uint64_t *ns, int count) {
    printf("\"%s\":[", name);
    for (int i = 0; i < count; i++) printf("%s%" PRIu64, i ? "," : "", ns[i]);
    printf("]");
}

/* In seconds, where a device makes what is measured one part of many. */
void print_spent(void) {
    printf("\"spent\":{");
    for (size_t i = 0; i < MOST_PARTS && parts[i].on; i++)
        printf("%s\"%s\":%.3f", i ? "," : "", parts[i].on, (double)parts[i].ns / 1e9);
    printf("},");
}

void print_problem(void) {
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
        printf(",\"cancels\":%s", w->cancels ? "true" : "false");
    }
    printf("}");
}
