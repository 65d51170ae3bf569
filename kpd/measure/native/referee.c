/* A worker of its own for the task's own kernel, where no candidate can reach it. In a task without an oracle its outputs are
 * the truth: it is called several times, and what they differ by is tolerated. Where sizes are drawn it says which can be asked
 * of a candidate: those at which it is right itself. And where a candidate's results differ from call to call, whether its own do.
 */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLS 3

static view views[KPD_MAX_CASES + 1]; /* as job.views, but of the referee's memory */
static measurement *shared;
static const char *path;
static int limit, is_truth, is_loaded;

static void must(outcome o, const view *v) {
    if (o.how == DONE) return;
    char crash[64];
    snprintf(crash, sizeof crash, "it crashes (signal %d): does it need larger arrays?", o.code);
    const char *why = o.how == CRASHED ? crash : o.how == TIMED_OUT ? "it takes too long"
        : o.how == EXITED ? "it ends the process" : o.message;
    fprintf(stderr, "kpd driver: %s: the task's own kernel does not return: %s\n", v ? v->problem->name : "load", why);
    worker_use(OF_BOTH);
    worker_stop();
    exit(2);
}

/* After the candidate's worker has started: it does not share this memory. `object` is the task's own kernel. */
void referee_start(const char *object, int limit_ms, int outputs_are_the_truth) {
    int fenced = arena_fenced, loose = arena_loose;
    arena_fenced = arena_loose = 0; /* a baseline that reads past the end, or needs lines of the cache, may still say what is right */
    arena_make(views, &shared);
    arena_fenced = fenced;
    arena_loose = loose;
    worker_use(REFEREE);
    worker_start(views, shared, (const char *const[2]){NULL, object});
    worker_use(OF_BOTH);
    path = object;
    limit = limit_ms;
    is_truth = outputs_are_the_truth;
}

static outcome load(void) {
    const char *const paths[2] = {NULL, path};
    outcome o = {.how = DONE};
    if (!is_loaded) o = worker_ready();
    if (o.how != DONE) o.how = UNABLE; /* no kernel has been loaded yet */
    if (is_loaded || o.how != DONE) return o;
    worker_load(paths, CANDIDATE);
    o = worker_wait(job.limit_ms, 0); /* a call at a size that no case has may take less */
    is_loaded = o.how == DONE;
    return o;
}

/* The inputs of `v`, for a call of the baseline. What they should be is kept once: a large task has no memory to spare. */
static void give(view *own, const view *v) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) own->pristine[b] = v->pristine[b];
    arena_show(own);
    arena_poison(own);
}

static void note(view *v, const view *own, size_t b, int first) {
    kpd_type type = v->buffers[b].type;
    for (size_t i = 0; i < v->buffers[b].count; i++) {
        double got = value_of(type, own->data[b], i);
        if (!first && isfinite(got)) v->spread[b] = fmax(v->spread[b], fabs(got - truth_of(v, b, i)));
        if (!first) continue;
        if (type == KPD_I64) ((uint64_t *)(void *)v->want[b])[i] = bits_at(type, own->data[b], i);
        else v->want[b][i] = got;
    }
}

int referee_find(view *v) {
    view *own = &views[v->number];
    if (!is_truth) return 0;
    worker_use(REFEREE);
    must(load(), NULL);
    for (int call = 0; call < CALLS; call++) {
        give(own, v);
        worker_call(CANDIDATE, (int)v->number, 0, 1);
        must(worker_wait(limit, 0), v);
        for (size_t b = 0; b < kpd_task.buffer_count; b++) {
            if (!call) v->spread[b] = 0.0;
            if (is_written(&v->buffers[b])) note(v, own, b, !call);
        }
    }
    worker_use(OF_BOTH);
    return 1;
}

/* For a call of the baseline on the inputs of `v`, at the size of a case. */
static outcome ask(const view *v) {
    if (!path) referee_start(job.baseline, job.limit_ms, 0);
    worker_use(REFEREE);
    outcome o = load();
    give(&views[v->number], v);
    return o;
}

/* Whether the baseline gives the same bits in so many calls on the inputs of `v`, or in as many as there is time for. Where it
 * cannot run beside the candidate, as a GPU may not have the memory, nothing says that it does. */
int referee_repeats(const view *v, size_t calls, uint64_t until) {
    size_t b, i;
    view *own = &views[v->number];
    static int unable;
    int same = 1;
    if (unable) return 0;
    if (!path) referee_start(job.baseline, job.limit_ms, 0);
    worker_use(REFEREE);
    outcome o = load();
    for (size_t call = 0; o.how == DONE && same && call < calls && (call < CALLS || now_ns() < until); call++) {
        give(own, v);
        worker_call(CANDIDATE, (int)v->number, 0, 1);
        o = worker_wait(limit, 0);
        if (call) same = !arena_differs(own, &b, &i);
        else arena_keep(own);
    }
    unable = o.how == UNABLE;
    if (!unable) must(o, v);
    worker_use(OF_BOTH);
    return same && !unable;
}

/* After a call that it did not return from it starts anew. */
static void start_again(outcome o) {
    if (o.how == DONE) return;
    worker_end();
    worker_start(views, shared, (const char *const[2]){NULL, path});
    is_loaded = 0;
}

/* What a call of the baseline on the inputs of `v` takes of a CPU's time; 0 where that cannot be told. */
uint64_t referee_busy(const view *v) {
    uint64_t ns = 0;
    if (!path && !job.baseline) return 0;
    outcome o = ask(v);
    uint64_t before = worker_busy();
    if (o.how == DONE) {
        worker_call(CANDIDATE, (int)v->number, 0, 1);
        o = worker_wait(limit, 0);
        if (before && o.how == DONE) ns = worker_busy() - before;
    }
    start_again(o);
    worker_use(OF_BOTH);
    return ns;
}

/* Whether the baseline's process, too, ends by itself after a call on the inputs of `v`; 1 where that cannot be told. */
int referee_ends(const view *v, int status, uint64_t word) {
    int ends = 1;
    if (!path && !job.baseline) return 1;
    outcome o = ask(v);
    if (o.how == DONE) {
        worker_call(CANDIDATE, (int)v->number, 0, 1);
        o = worker_wait(limit, 0);
    }
    if (o.how == DONE) ends = worker_leave(status, word).how == DONE;
    worker_use(OF_BOTH);
    return ends;
}

static int hung; /* at a drawn size */

/* For a call at a drawn size, on the inputs of `v`. Once the baseline has hung it is asked at no other size of this check: the time
 * that it takes is the candidate's. */
static outcome begin_there(const view *v) {
    view *own = &views[v->number];
    if (!path) referee_start(job.baseline, job.limit_ms, 0);
    worker_use(REFEREE);
    must(load(), NULL);
    arena_resize(own, v->problem, v->fenced);
    worker_resize((int)v->number, v->problem, v->fenced);
    outcome o = worker_wait(limit, 0);
    if (o.how == DONE) {
        worker_move((int)v->number, secret_draw() | ALL_OF_THEM); /* as the candidate's are: no memory lies behind them, either */
        o = worker_wait(limit, 0);
    }
    give(own, v);
    if (o.how == DONE) worker_call(CANDIDATE, (int)v->number, 0, 1);
    return o;
}

/* A baseline that failed starts anew: a size that is beyond it is no size to ask of a candidate. */
static void *const *end_there(const view *v, outcome o) {
    const view *own = &views[v->number];
    char text[200];
    if (o.how == DONE) o = worker_wait(limit, 0);
    hung = o.how == TIMED_OUT;
    start_again(o);
    worker_use(OF_BOTH);
    return o.how == DONE && !arena_damage(own, text, sizeof text) ? own->data : NULL;
}

/* One call at a drawn size, with the inputs of `v`. Returns the baseline's buffers; NULL where it crashed, hung or wrote where
 * it must not. */
void *const *referee_call(const view *v) { return hung ? NULL : end_there(v, begin_there(v)); }

/* The same, and what is right for these inputs, which the oracle finds meanwhile. */
void *const *referee_call_and_truth(view *v) {
    int asked = !hung;
    outcome o = asked ? begin_there(v) : (outcome){.how = TIMED_OUT};
    size_watched(v->problem);
    truth_find(v);
    size_watched(NULL);
    return asked ? end_there(v, o) : NULL;
}
