/* Does the candidate do the same each time? The same calls on two sets of inputs in turn, as often as time allows: what is wrong
 * once in a hundred calls, or right only when threads happen to run in a good order, shows here. On one set alone what the call
 * before has left would be right: a sum that is read before it is written.
 *
 * The first call on each is compared with the truth, the others bit by bit with that. One that differs has to be right, too; and
 * where results must repeat, the task's own kernel is asked whether it repeats itself.
 *
 * On a CPU calls are compared in what they take, too (steady.c, sizes_in_turn.c, sizes_between.c), and are made on thousands of
 * inputs (renewed.c), on two that are alike (alike.c), and after as many others as make a number come to
 * its end (counters.c, forward.c). At last the process has to end by itself: what an object has registered for that (destructors,
 * functions of atexit) runs at no other time, as kpd ends a worker by a signal.
 *
 * To ask the worker and to hear from it takes as long as a short call on a device, with all that is copied. So there a request is
 * for several calls, each of which finds its inputs and leaves its results in a place of its own. Cases with small buffers come
 * first there, as the driver's thread (ahead.c) meanwhile makes what the others need.
 */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

#define OWN_CALLS 20 /* of the task's own kernel, at the least, before it counts as one that repeats itself */
#define FEWEST 4     /* calls in each case, whatever they take */
#define SEVERAL 16   /* calls that a request is for, at the most, … */
#define NEARLY 10    /* all but one in so many */
#define SEVERAL_NS 2000000u /* … and what they may take */
#define HELD_LIMIT_MS 1000 /* to ask what is taken of a device's memory */
#define FEWEST_HELD 6      /* calls of which it is asked what they keep there, … */
#define LEAST_HELD 64      /* … bytes of a call, and … */
#define LEAST_HELD_KIB 16  /* … of all */
#define RENEWED_MS 200 /* of calls on new inputs; … */
#define AROUND_MS 60   /* … of so many calls that a counter of 16 bits is where it was; … */
#define BETWEEN_MS 80  /* … of calls at sizes that no case has; … */
#define KEPT_MS 100    /* … of calls at many sizes, of which nothing may be kept; … */
#define LONG_MS 110    /* … of a call at a size far beyond the cases', at the most, on a device; … */
#define IN_TURN_MS 80  /* … and of calls of the cases in turn */

/* The calls of a case. */
typedef struct {
    view *sets; /* two */
    steadiness asked;
    size_t calls;
    int set;  /* of the call before */
    int free; /* results may have other bits each time */
    uint64_t start, limit_ns;
    char when[80];
    kpd_rng rng;
} repeating;

/* Of two calls one is on each of them, in an order that is drawn: who remembers inputs of the call before is asked for them again,
 * too. */
static view *next_set(repeating *r) {
    if (r->calls % 2) r->set = !r->set;
    else if (r->calls) r->set = (int)(kpd_random(&r->rng) & 1);
    return &r->sets[r->set];
}

/* After so many calls that gave the same bits. */
static int must_repeat(const view *v, const repeating *r, size_t calls) {
    if (r->asked != AS_THE_BASELINE) return r->asked == ALWAYS;
    ahead_rest(1); /* a worker may be forked */
    int repeats = referee_repeats(v, calls < OWN_CALLS ? OWN_CALLS : calls, now_ns() + r->limit_ns);
    ahead_rest(0);
    return repeats;
}

static void blame_change(const view *v, size_t b, size_t i, const char *when) {
    kpd_type type = v->buffers[b].type;
    blame("damage", CANDIDATE, v, timed_name(), when);
    snprintf(problem.message, sizeof problem.message,
        "made %s[%zu] %.9g, and %.9g in the first call on the same inputs (deterministic = \"no\" in [check] allows it)",
        v->buffers[b].name, i, value_of(type, v->data[b], i), value_of(type, v->kept[b], i));
}

/* 1 when what it has left is right, on inputs of any kind. */
static int right_of_kind(view *v, const char *when) {
    if (v->kind == job.timed) return right(CANDIDATE, v, when);
    if (!unharmed(CANDIDATE, v, distribution_names[v->kind], when)) return 0;
    ahead_rest(1); /* a worker may be forked */
    int found = right_there(v, v->data, v->number, v->kind, when);
    ahead_rest(0);
    return found;
}

/* Look at what the next call has left. 0 after a problem. */
static int seen(repeating *r, view *v) {
    size_t b = 0, i = 0, number = r->calls++;
    snprintf(r->when, sizeof r->when, "call %zu on two sets of inputs in turn", number + 1);
    if (number > 1 && !arena_differs(v, &b, &i)) return unharmed(CANDIDATE, v, distribution_names[v->kind], r->when);
    if (!right_of_kind(v, r->when)) return 0;
    if (number < 2) {
        arena_keep(v);
        r->start = now_ns();
    } else if (!r->free) {
        uint64_t asking = now_ns();
        if (must_repeat(v, r, number)) {
            blame_change(v, b, i, r->when);
            return 0;
        }
        r->start += now_ns() - asking; /* that was no call of the candidate's */
        r->free = 1;
    }
    return 1;
}

/* What lies there before a call: nothing in outputs, or by chance most of what is right. */
static void make_ready(repeating *r, view *at) {
    arena_poison(at);
    if (r->calls > 1 && kpd_random(&r->rng) & 1) arena_spoil(at, &r->rng);
}

static int call_once(repeating *r) {
    view *v = next_set(r);
    snprintf(r->when, sizeof r->when, "call %zu on two sets of inputs in turn", r->calls + 1);
    arena_show(v);
    make_ready(r, v);
    steady_before();
    worker_call(CANDIDATE, (int)v->number, 0, 1);
    if (!answered(CANDIDATE, v, timed_name(), r->when)) return 0;
    steady_after();
    return seen(r, v);
}

/* Places for the buffers, in this order: those in which the kernel is called, the two sets as they are before a call, and what
 * each call leaves. */
static int call_some(repeating *r, size_t count) {
    for (size_t i = 0; i < 2 + count; i++) {
        view at = arena_copy(&r->sets[i % 2], 1 + i);
        if (i < 2) arena_show(&at), make_ready(r, &at);
        else arena_poison(&at);
    }
    snprintf(r->when, sizeof r->when, "calls %zu to %zu on two sets of inputs in turn", r->calls + 1, r->calls + count);
    const view *v = r->sets;
    uint64_t order = kpd_random(&r->rng); /* a bit for each call: on which of both */
    worker_call_some(CANDIDATE, (int)v->number, (int)count, order);
    if (!answered(CANDIDATE, v, timed_name(), r->when)) return 0;
    for (size_t i = 0; i < count; i++) {
        view at = arena_copy(&r->sets[order >> i & 1], 3 + i);
        if (!seen(r, &at)) return 0;
    }
    return 1;
}

/* How many calls the next request is for. */
static size_t some(const repeating *r, uint64_t passed) {
    size_t room = arena_bytes / r->sets->bytes;
    if (!engine_uses_device || r->calls < FEWEST || room < 3 + 2) return 1;
    uint64_t count = SEVERAL_NS / (passed / (r->calls - 2) + 1);
    count = count < room - 3 ? count : room - 3;
    return count < 2 ? 1 : count < SEVERAL ? count : SEVERAL;
}

/* KiB that are in use of the device's pool of memory; -1 where that is not known. */
static long held(void) {
    if (!engine_uses_device) return -1;
    worker_held();
    outcome answer = worker_wait(HELD_LIMIT_MS, 0);
    return answer.how == DONE ? answer.code : -1;
}

/* Who keeps memory of each call does so in both halves of them; what is taken for a size comes at once. */
static int keeps_none(const view *v, const long kib[3], const size_t calls[3]) {
    for (int half = 0; half < 2; half++) {
        long more = kib[half + 1] - kib[half];
        size_t made = calls[half + 1] - calls[half];
        if (kib[half] < 0 || kib[half + 1] < 0 || made < FEWEST_HELD || more < LEAST_HELD_KIB || (size_t)more * 1024 < made * LEAST_HELD) return 1;
    }
    blame("damage", CANDIDATE, v, timed_name(), "its calls");
    snprintf(problem.message, sizeof problem.message, "keeps memory of the device: %ld KiB of %zu calls", kib[2] - kib[0], calls[2] - calls[0]);
    return 0;
}

/* One case, for so long after its first call. Returns the calls; 0 after a problem. */
size_t repeat_one(view *sets, steadiness asked, uint64_t limit_ns) {
    static repeating r;
    r = (repeating){.sets = sets, .asked = asked, .free = asked == NEVER, .limit_ns = limit_ns, .rng = {secret_draw()}};
    await_turn();
    if (!loaded()) return 0;
    for (int again = 0, found = STEADY_AGAIN; found == STEADY_AGAIN; again++, r.start = now_ns()) {
        long kib[3] = {-1, -1, -1};
        size_t at[3] = {0, 0, 0};
        steady_start();
        for (uint64_t passed = 0; r.calls < FEWEST || passed < limit_ns; passed = now_ns() - r.start) {
            size_t count = some(&r, passed);
            if (count > 1 ? !call_some(&r, count) : !call_once(&r)) return 0;
            int half = r.calls < FEWEST ? -1 : !at[0] ? 0 : !at[1] && passed > limit_ns / 2 ? 1 : -1;
            if (half >= 0) kib[half] = held(), at[half] = r.calls;
        }
        kib[2] = held(), at[2] = r.calls;
        if (!keeps_none(sets, kib, at)) return 0;
        found = engine_uses_device ? 1 : steady(sets, again);
        if (!found) return 0;
    }
    return r.calls;
}

static int by_bytes(const void *one, const void *other) {
    size_t a = *(const size_t *)one, b = *(const size_t *)other;
    size_t bytes = job.views[a].bytes, others = job.views[b].bytes;
    return bytes == others ? (a > b) - (a < b) : bytes < others ? -1 : 1;
}

/* The one with the most calls; on a device, where small ones take as long as each other, the largest that has nearly as many. */
static size_t quickest_of(const size_t *order, size_t count, const size_t *calls) {
    size_t most = 0, last = count - 1;
    for (size_t i = 0; i < count; i++)
        if (has_elements(&job.views[order[i]]) && calls[order[i]] > most) most = calls[order[i]];
    if (engine_uses_device) most -= most / NEARLY;
    while (last && (calls[order[last]] < most || !has_elements(&job.views[order[last]]))) last--;
    return order[last];
}

/* Its status is drawn, so that what a kernel ends the process with is told from it. No candidate has to end better than the
 * task's own kernel. */
static void end_well(view *v) {
    static const char when[] = "when its process ends, in destructors or functions of atexit";
    int status = 1 + (int)(secret_draw() % 255);
    uint64_t word = secret_draw();
    outcome end = worker_leave(status, word);
    if (end.how != DONE) arena_fill(v, job.timed);
    if (end.how != DONE && !referee_ends(v, status, word))
        fprintf(stderr, "kpd driver: when its process ends, the task's own kernel is no better: that is not looked at\n");
    else well(end, CANDIDATE, NULL, "", when);
    spend("end");
}

/* `ms` are shared by the cases. The quickest case has four thirds as much besides, or the quickest of the smaller half as
 * much on a device: some thousand calls, as many as a kernel may be wrong in one of. On a CPU some hundred more are on two sets
 * that differ in a few elements, or in signs only: who takes one for the other, and does nothing, is found. */
void repeat(const char *object, steadiness asked, int ms) {
    job.paths[CANDIDATE] = object;
    job.first = CANDIDATE;
    size_t count = kpd_task.case_count, calls[KPD_MAX_CASES] = {0}, order[KPD_MAX_CASES], going = 1;
    uint64_t drawn[KPD_MAX_CASES][2];
    for (size_t c = 0; c < count; c++) {
        order[c] = c;
        for (int set = 0; set < 2; set++) drawn[c][set] = secret_draw();
    }
    if (engine_uses_device) qsort(order, count, sizeof *order, by_bytes);
    size_t among = engine_uses_device ? (count + 1) / 2 : count;
    uint64_t limit_ns = (uint64_t)ms * 1000000u, more_ns = engine_uses_device ? limit_ns : 4 * limit_ns / 3;
    size_t inputs = 0;
    int many = 0; /* calls take no time */
    int long_ones = engine_uses_device && job.any_size;
    if (long_ones) referee_start(job.baseline, job.limit_ms, 0); /* it gets ready meanwhile */
    ahead_begin(order, count, drawn, 2);
    for (size_t i = 0; i < count && going; i++) {
        view *sets = ahead_take(i);
        spend("inputs");
        going = calls[order[i]] = repeat_one(sets, asked, limit_ns / count);
        ahead_leave();
        spend("calls");
        if (!going || i + 1 != among) continue;
        size_t quickest = quickest_of(order, among, calls);
        if (calls[quickest] <= FEWEST) continue;
        many = !engine_uses_device;
        sets = ahead_further(quickest);
        spend("inputs");
        going = repeat_one(sets, asked, more_ns);
        calls[quickest] += going;
        spend("quickest");
        if (!going || engine_uses_device) continue;
        going = repeat_alike(order, count, calls, asked, limit_ns / 4);
        spend("alike");
    }
    ahead_end();
    if (going && many) {
        going = sizes_in_turn((uint64_t)IN_TURN_MS * 1000000u);
        spend("in turn");
        if (going && job.any_size) going = sizes_between((uint64_t)BETWEEN_MS * 1000000u) && sizes_kept((uint64_t)KEPT_MS * 1000000u);
        spend("sizes");
        if (going) inputs = renewed((uint64_t)RENEWED_MS * 1000000u);
        spend("new inputs");
        going = !problem.kind && (!job.any_size || counters_around((uint64_t)AROUND_MS * 1000000u));
        spend("counters");
        if (going && job.any_size) going = forward();
        spend("forward");
    }
    if (going && long_ones) {
        going = renewed_in_cases((uint64_t)RENEWED_MS * 1000000u) && sizes_long((uint64_t)LONG_MS * 1000000u);
        if (going) going = forward();
        spend("long");
    }
    if (going && !engine_uses_device) {
        going = memory_enough() && rests();
        spend("rest");
    }
    if (going) end_well(&job.views[order[0]]);
    printf("{\"calls\":{");
    for (size_t c = 0, printed = 0; c < count; c++)
        if (calls[c]) printf("%s\"%s\":%zu", printed++ ? "," : "", kpd_task.cases[c].name, calls[c]);
    printf("},\"inputs\":%zu,", inputs);
    print_spent();
    print_problem();
    printf("}\n");
}
