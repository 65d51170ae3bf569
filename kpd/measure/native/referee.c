/* The truth of a task without an oracle: what the task's own kernel makes of the same inputs, in a worker of its own, where no
 * candidate can reach it. It is called several times: what its outputs differ by is tolerated.
 */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLS 3

static view views[KPD_MAX_CASES]; /* as job.views, but of the referee's memory */
static const char *path;
static int limit;

static void must(outcome o, const view *v) {
    if (o.how == DONE) return;
    fprintf(stderr, "kpd driver: %s: the baseline, whose outputs are the truth, does not return: %s\n",
        v ? v->problem->name : "load", o.message);
    worker_use(0);
    worker_stop();
    exit(2);
}

/* After the candidate's worker has started: it does not share this memory. `object` is the task's own kernel. */
void referee_start(const char *object, int limit_ms) {
    measurement *shared;
    arena_make(views, &shared);
    worker_use(1);
    worker_start(views, shared, (const char *const[2]){NULL, object});
    worker_use(0);
    path = object;
    limit = limit_ms;
}

static void load(void) {
    static int done;
    const char *const paths[2] = {NULL, path};
    if (done++) return;
    must(worker_ready(), NULL);
    worker_load(paths, CANDIDATE);
    must(worker_wait(limit, 0), NULL);
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
    view *own = &views[v - job.views];
    size_t number = (size_t)(v - job.views);
    if (!path) return 0;
    worker_use(1);
    load();
    for (int call = 0; call < CALLS; call++) {
        for (size_t b = 0; b < kpd_task.buffer_count; b++) {
            size_t bytes = v->buffers[b].count * element(v->buffers[b].type);
            if (!call) v->spread[b] = 0.0;
            if (!is_read(&v->buffers[b])) continue;
            memcpy(own->pristine[b], v->pristine[b], bytes);
            memcpy(own->data[b], v->pristine[b], bytes);
        }
        arena_poison(own);
        worker_call(CANDIDATE, (int)number, 0, 1);
        must(worker_wait(limit, 0), v);
        for (size_t b = 0; b < kpd_task.buffer_count; b++)
            if (is_written(&v->buffers[b])) note(v, own, b, !call);
    }
    worker_use(0);
    return 1;
}
