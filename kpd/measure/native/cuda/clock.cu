/* The CUDA engine's clock: events around batches of calls.
 *
 * Cold: the calls take turns on so many sets of buffers that all together exceed twice the L2 cache, so that each call finds
 * what it reads in memory. Warm: the same set again and again. Before every batch something changes in the inputs of each set
 * (change.cu). Device: the launches are queued behind a kernel that holds the device up until all are there, so that the time to
 * launch them does not count.
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>

#define BATCH_NS 250000u
#define MOST_REPS MOST_CALLS
#define TRIALS 3              /* single calls that calibrate the batch */
#define WARM_UPS 3
#define WARM_SHARE 4          /* one quad in so many is timed warm, too */
#define HOLD_NS 10000000u     /* a launcher that waits for the device would wait for ever */
#define HELD_TRIALS 5
#define STRAY_NS 20000u       /* what a wait for the whole device may take beyond the stream's … */
#define STRAY_SHARE 20        /* … and beyond one in so many parts of the batch */

static int reps;      /* of a batch */
static cudaEvent_t from, to;
static gate_t gate;
static uint64_t strays[2][2 * MAX_QUADS];

int ready(outcome *answer) {
    if (gate.host) return 1;
    return fine(cudaEventCreate(&from), answer) && fine(cudaEventCreate(&to), answer) && gate_made(&gate, answer);
}

/* Launch `calls` between two events, on sets from `first` in steps. */
int launch_timed(const view *v, slot which, int calls, int first, int step, outcome *answer) {
    if (!fine(cudaEventRecord(from, 0), answer)) return 0;
    for (int i = 0; i < calls; i++) launch(v, which, (first + i * step) % sets.count, 0);
    return launched(which, answer) && fine(cudaEventRecord(to, 0), answer);
}

int launch_ordered(const view *v, slot which, int calls, const int *order, outcome *answer) {
    if (!fine(cudaEventRecord(from, 0), answer)) return 0;
    for (int i = 0; i < calls; i++) launch(v, which, order[i], 0);
    return launched(which, answer) && fine(cudaEventRecord(to, 0), answer);
}

uint64_t elapsed(outcome *answer) {
    float ms = 0.0f;
    if (!fine(cudaEventSynchronize(to), answer) || !fine(cudaEventElapsedTime(&ms, from, to), answer)) return 0;
    return ms > 0.000001f ? (uint64_t)((double)ms * 1e6) : 1;
}

/* Nanoseconds of a batch; 0 after a failure. `stray` is what was still at work on the device when the stream was done. */
uint64_t batch(const view *v, slot which, int calls, int first, int step, uint64_t *stray, outcome *answer) {
    if (!change_inputs(v, 1, answer) || !launch_timed(v, which, calls, first, step, answer)) return 0;
    uint64_t ns = elapsed(answer), done = now_ns();
    if (!ns || !fine(cudaDeviceSynchronize(), answer)) return 0;
    if (stray) *stray = now_ns() - done;
    return ns;
}

/* Nanoseconds of the slower kernel's call, roughly; 0 after a failure. */
static uint64_t slower_call(const view *v, int calls, outcome *answer) {
    uint64_t slower = 0;
    for (int which = 0; which < 2; which++) {
        uint64_t best = UINT64_MAX;
        for (int i = 0; i <= TRIALS; i++) {
            uint64_t ns = batch(v, (slot)which, calls, i * calls, 1, NULL, answer);
            if (!ns) return 0;
            if (i > 0 && ns < best) best = ns; /* the first one only warms up */
        }
        if (best > slower) slower = best;
    }
    return slower / (uint64_t)calls + 1;
}

/* Sets that a batch cannot keep in the cache. */
int cold_sets(const view *v) {
    size_t bytes = 1, sets_needed;
    int cache = 0;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) bytes += bytes_of(&v->buffers[b]);
    if (cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, 0) != cudaSuccess) cudaGetLastError();
    sets_needed = 2 * (size_t)cache / bytes + 2;
    return sets_needed < MOST_SETS ? (int)sets_needed : MOST_SETS;
}

/* Find how many calls make a batch, with at least as many sets as that: no set serves twice in one batch. Nanoseconds of the
 * slower kernel's call; 0 after a failure. */
uint64_t calibrate(const view *v, outcome *answer) {
    if (!sets_hold(v, cold_sets(v), answer) || !sets_upload(v, answer)) return 0;
    uint64_t call = slower_call(v, 1, answer);
    int some = batch_reps(call, BATCH_NS, sets.count < MOST_REPS ? sets.count : MOST_REPS);
    if (call && some > 1) call = slower_call(v, some, answer); /* in a row they take less than one by one */
    if (!call) return 0;
    reps = batch_reps(call, BATCH_NS, MOST_REPS);
    if (reps > sets.count) {
        if (!sets_hold(v, reps, answer) || !sets_upload(v, answer)) return 0;
        result->swaps = 0;
        if (reps > sets.count) reps = sets.count;
    }
    result->reps = reps;
    result->sets = sets.count;
    return call;
}

/* A B B A. After each quad so many sets are left out that, as quads go by, each kernel starts at every set as often. The quad
 * in which the driver looks at what the candidate has written is timed once more. */
static int time_cold(view *v, outcome *answer) {
    int at = 0, leave_out = 0, done[2] = {0, 0}, shown = 0;
    while (common_factor((uint64_t)(4 * reps + leave_out), (uint64_t)sets.count) > 1) leave_out++;
    uint64_t before = 0; /* lost in the quads before this one */
    watch w = watch_begin(result->quads);
    for (int i = 0; i < 4 * result->quads; i++) {
        slot which = batch_order[i % 4];
        before = i % 4 ? before : result->lost_ns;
        watch_lost(&w);
        uint64_t ns = batch(v, which, reps, at, 1, &strays[which][done[which]], answer), lost = watch_lost(&w);
        if (!ns) return 0;
        if (watch_retaken(&w, lost, ns)) {
            at = (at + reps) % sets.count; /* the ones that it has used are in the cache */
            i--;
            continue;
        }
        result->ns[which][done[which]++] = ns;
        result->lost_ns += lost;
        int showing = !shown && batch_shown(result, i);
        result->first_set = showing ? at : result->first_set;
        at = (at + reps + (i % 4 == 3 ? leave_out : 0)) % sets.count;
        if (!showing) continue;
        worker_pause(v);
        shown = 1;
        result->lost_ns = before;
        done[INCUMBENT] = done[CANDIDATE] = i / 4 * 2;
        i = i / 4 * 4 - 1;
    }
    result->steal_ticks = watch_stolen(&w);
    return 1;
}

static int time_warm(const view *v, outcome *answer) {
    int done[2] = {0, 0};
    if (v->in_place) return 1; /* a set that has been called with is another one */
    for (int which = 0; which < 2; which++)
        if (!batch(v, (slot)which, reps, 0, 0, NULL, answer)) return 0;
    result->warm_quads = (result->quads + WARM_SHARE - 1) / WARM_SHARE;
    for (int i = 0; i < 4 * result->warm_quads; i++) {
        slot which = batch_order[i % 4];
        uint64_t ns = batch(v, which, reps, 0, 0, NULL, answer);
        if (!ns) return 0;
        result->warm_ns[which][done[which]++] = ns;
    }
    return 1;
}

/* Nanoseconds of a call without its launch; 0 when the launcher waited for the device, or after a failure. */
static double held_call(const view *v, slot which, int calls, int first, outcome *answer) {
    if (!change_inputs(v, 1, answer)) return 0.0;
    gate_closed(&gate, 1, 1, HOLD_NS, 0);
    int queued = launch_timed(v, which, calls, first, 1, answer);
    gate_opened(&gate);
    uint64_t ns = queued ? elapsed(answer) : 0;
    return gate.host[1] || !ns ? 0.0 : (double)ns / calls;
}

static int by_size(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return one < other ? -1 : one > other;
}

/* A call may be many launches, and a queue that is full waits for the device as well: then fewer calls are queued. */
static int time_device(const view *v, slot which, int wanted, outcome *answer) {
    double found[HELD_TRIALS];
    int calls = reps, trials = 0;
    result->synchronises[which] = held_call(v, which, 1, 0, answer) <= 0.0;
    while (!result->synchronises[which] && trials < wanted && calls > 0 && answer->how == DONE) {
        double ns = held_call(v, which, calls, trials * calls, answer);
        if (ns > 0.0) found[trials++] = ns;
        else calls /= 2;
    }
    qsort(found, (size_t)trials, sizeof *found, by_size);
    if (trials) result->device_ns[which] = found[trials / 2];
    return answer->how == DONE;
}

static uint64_t middle(const uint64_t *ns) { return middle_of(ns, 2 * result->quads); }

static int strayed(slot which, uint64_t ns, uint64_t most, ending how, outcome *answer) {
    if (ns <= most) return 0;
    answer->how = how;
    snprintf(answer->message, sizeof answer->message, "%s leaves the device at work for %.1f us after its stream is done",
        which == CANDIDATE ? "the kernel" : "the incumbent", (double)ns / 1e3);
    return 1;
}

/* Work on a stream of its own would go on while the clock does not run. An incumbent that does so was let pass, or came with
 * the task: no candidate is to blame, and none can be held against it. */
static int all_counted(outcome *answer) {
    uint64_t usual = middle(strays[INCUMBENT]), stray = middle(strays[CANDIDATE]), ns = middle(result->ns[CANDIDATE]);
    uint64_t most = STRAY_NS + middle(result->ns[INCUMBENT]) / STRAY_SHARE;
    return !strayed(INCUMBENT, usual, most, UNABLE, answer) &&
           !strayed(CANDIDATE, stray, usual + STRAY_MORE_NS + ns / STRAY_MORE_SHARE, FAILED, answer);
}

void engine_time(view *v, int quads, uint64_t seed, outcome *answer) {
    memset(result, 0, sizeof *result);
    change_seed(seed);
    uint64_t call = ready(answer) ? calibrate(v, answer) : 0;
    if (!call) return;
    uint64_t start = now_ns();
    for (int which = 0; which < 2; which++)
        if (!batch(v, (slot)which, reps, which * reps, 1, NULL, answer)) return;
    result->quads = batch_quads(quads, call * (uint64_t)reps, BATCH_NS);
    result->layouts = 1;
    worker_begun(2 * (uint64_t)result->quads * (now_ns() - start)); /* what lies between the batches takes time, too */
    int whole = time_cold(v, answer) && all_counted(answer) && time_warm(v, answer);
    int trials = result->quads < quads ? 1 : HELD_TRIALS; /* where calls take long, once is enough */
    if (whole && time_device(v, INCUMBENT, trials, answer)) time_device(v, CANDIDATE, trials, answer);
}

void engine_audit(view *v, slot which, int first_set, outcome *answer) {
    if (change_inputs(v, AFTERMATH_SWAPS, answer)) batch(v, which, reps, first_set, 1, NULL, answer);
}

void engine_stopwatch(view *v, int calls, outcome *answer) {
    if (!ready(answer) || !sets_hold(v, 1, answer) || !sets_upload(v, answer)) return;
    for (int i = -WARM_UPS; i < calls && answer->how == DONE; i++) {
        uint64_t ns = batch(v, CANDIDATE, 1, 0, 0, NULL, answer);
        if (i >= 0) result->ns[CANDIDATE][i] = ns;
    }
}
