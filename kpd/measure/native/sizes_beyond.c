/* Is it right at sizes far beyond those of the cases? A counter of 16 bits, room for a whole matrix on the stack, or work that is
 * shared among a fixed number of parts shows there only. So a candidate is called at sizes that grow from call to call: of all
 * dims, up to 34 times the work of the largest case, with inputs of two kinds; and of each dim by itself, where the others are
 * few. It ends where the next one could take too long, as work may grow faster than a dim does, has no room, is not allowed by the
 * harness, or is beyond the task's own kernel.
 */
#include "report.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#define PART (1u << 16) /* elements that are worth a thread */
#define LONG_TIMES 4.0 /* on a device the work of the largest case, where one dim is large: there is no call after one of more */
#define LONGEST 2.2e6  /* of a dim on a device: a grid has 65,535 blocks in two of its directions, often of 32 elements */
#define STEP 2.0       /* from one such size to the next, … */
#define DEVICE_STEP 2.2 /* … and on a device, where there are few */
#define GROWS 2.0      /* what a call takes may grow as the square of a dim; … */
#define LARGER 4.0     /* … at first all dims together become so many times as large */
#define FEW 8.0        /* the other dims where one is large, at the most, … */
#define FEW_AT_LAST 2.0 /* … and where it is as large as can be */
#define WORTH 1.3      /* times as large as the size before is worth a call */
#define LONG_SHARE 0.5 /* of what a call may take, where one dim is large: there are several */
#define KINDS 2        /* of inputs, … */
#define LONGER 2.5     /* … of which constant ones may take so many times as long: nothing makes counts and sums as large */
#define LARGE_TIMES 34.0 /* on a device the work of the largest case, where all dims are larger, … */
#define MOST_TIMES 1e3 /* … and on a CPU, at the most */
#define ABOUT 0.01     /* of the greatest element: what is further off than that may be wrong */

static const char when[] = "a size far beyond the cases'";
static size_t called; /* the candidate, at so many sizes */

typedef struct {
    uint64_t clock, spent; /* by CPUs, for this process and the candidate's */
} moment;

typedef struct {
    double work, ns; /* the product of all dims, and what a call there took */
} reached;

static moment now(void) { return (moment){now_ns(), busy_ns() + worker_busy()}; }

/* By the clock, or of CPUs where others had these. */
static uint64_t passed_since(moment start) {
    moment end = now();
    uint64_t passed = end.clock - start.clock, spent = end.spent - start.spent;
    return end.spent > start.spent && spent < passed ? spent : passed;
}

/* What inputs, the truth, and a call of the task's own kernel take for this case; 0 where nobody can tell. */
static uint64_t taken_by(view *v) {
    moment start = now();
    arena_fill_unseen(v, job.timed, secret_draw());
    truth_find(v);
    return referee_busy(v) ? passed_since(start) : 0;
}

/* A call at this size. 0 after a problem, or where the task's own kernel is not right. */
static int called_there(view *v, kpd_case *drawn, size_t number, kpd_distribution d) {
    arena_resize(v, drawn, FENCED_BEHIND);
    if (!baseline_right(v, drawn, number, d) || !resized(v, drawn, FENCED_BEHIND, d)) return 0;
    drawn->name = size_name(drawn);
    arena_show(v);
    arena_poison(v);
    called++;
    worker_call(CANDIDATE, (int)v->number, 0, 1);
    if (!answered(CANDIDATE, v, distribution_names[d], when)) return 0;
    return unharmed(CANDIDATE, v, distribution_names[d], when) && right_there(v, v->data, number, d, when);
}

static view *drawn_view(void) { return &job.views[kpd_task.case_count]; }

/* For how much work the next call may be to take `most_ns`. That grows as it did in the step before, where there was one. */
static double next_work(reached now, reached before, double grows, double most_ns) {
    if (before.work > 0.0 && before.work < now.work) grows = fmax(1.0, log(now.ns / before.ns) / log(now.work / before.work));
    return now.work * pow(most_ns / now.ns, 1.0 / grows);
}

/* Draw a size of which these dims are so large that the work is about this much, or half as much as often as it does not fit; they
 * are together at least `least` times as large as a case's. */
static int drawn_long(kpd_rng *rng, kpd_case *drawn, size_t number, unsigned dims, double few, double least, double work) {
    if (!size_few(rng, drawn, number, dims, few)) return 0;
    for (double times = fmax(least, work / size_product(drawn, 0)); times >= least; times /= STEP)
        if (size_long(rng, drawn, number, dims, times)) return 1;
    return 0;
}

/* Calls at sizes of which these dims grow: to twice and four times a case's, and then to what time allows; two of them in two shapes.
 * 0 after a problem. */
static int called_where_long(size_t number, unsigned dims, double most_ns, kpd_rng *rng) {
    static kpd_case drawn;
    const kpd_case *named = &kpd_task.cases[number];
    double work = 0.0, few = FEW, longest = 1.0;
    int more = __builtin_popcount(dims) - 1;
    for (reached before = {0.0, 0.0}; drawn_long(rng, &drawn, number, dims, few, STEP * longest, work);) {
        moment start = now();
        reached at = {size_product(&drawn, 0), 0.0};
        double times = size_product(&drawn, ~dims) / size_product(named, ~dims);
        if (times <= longest) break; /* the harness allows no more */
        longest = times;
        if (!called_there(drawn_view(), &drawn, number, job.timed)) break;
        at.ns = (double)passed_since(start);
        work = next_work(at, before, GROWS, most_ns);
        if (before.work > 0.0) few = FEW_AT_LAST;
        else work = fmin(work, STEP * at.work);
        if (work < WORTH * at.work) {
            if (!more--) break;
            work = at.work;
            longest = times / STEP;
        }
        before = at;
    }
    return !problem.kind;
}

/* The same on a device, where three are enough, the second one a million; with a dim beside it, it is no longer than what a grid has blocks
 * for. 0 after a problem. */
static int called_where_long_there(size_t number, int dim, double most_ns, kpd_rng *rng) {
    static kpd_case drawn;
    double named = (double)kpd_task.cases[number].dims[dim], longest = HUGE_VAL, step = STEP, size = STEP * named;
    double most = LONG_TIMES * size_product(&kpd_task.cases[number], 0);
    if (size_dims() > 1) {
        longest = LONGEST;
        step = DEVICE_STEP;
        size = fmax(size, LONGEST / (step * step));
    }
    for (long before = 0; size < 1.01 * longest && size_few(rng, &drawn, number, 1u << dim, FEW_AT_LAST); size *= step) {
        moment start = now();
        if (!size_long(rng, &drawn, number, 1u << dim, size / named) || drawn.dims[dim] <= before) break;
        before = drawn.dims[dim];
        if (!called_there(drawn_view(), &drawn, number, job.timed)) break;
        if (LARGER * (double)passed_since(start) > most_ns || (longest == HUGE_VAL && size_product(&drawn, 0) > most)) break;
    }
    return !problem.kind;
}

/* Draw one that is so many times as large, or half as large as often as it does not fit. */
static int drawn_large(kpd_rng *rng, kpd_case *drawn, size_t number, double times, double least) {
    for (; times >= least; times /= STEP)
        if (size_beyond(rng, drawn, number, times)) return 1;
    return 0;
}

/* Calls at sizes that are larger in all dims; the first is there twice, as its memory is new. Work mostly grows as the product of all
 * dims does. 0 after a problem. */
static int called_where_large(size_t number, kpd_distribution d, double most_ns, kpd_rng *rng) {
    static kpd_case drawn;
    double of_case = size_product(&kpd_task.cases[number], 0), times = STEP, least = STEP;
    reached before = {0.0, 0.0};
    for (int i = 0; drawn_large(rng, &drawn, number, times, least); i++) {
        moment start = now();
        reached at = {size_product(&drawn, 0), 0.0};
        if (at.work <= before.work || !called_there(drawn_view(), &drawn, number, d)) break;
        if (!i) continue;
        at.ns = (double)passed_since(start);
        times = fmin(next_work(at, before, 1.0, most_ns) / of_case, i == 1 ? LARGER * STEP : MOST_TIMES);
        least = WORTH * at.work / of_case;
        if (times < least) break;
        before = at;
    }
    return !problem.kind;
}

/* Each dim, and on a CPU each two of more. 0 after a problem. */
static int called_where_some_are_long(size_t number, double most_ns, kpd_rng *rng) {
    const kpd_case *named = &kpd_task.cases[number];
    int varying = 0;
    for (int d = 0; d < size_dims(); d++) varying += named->dims[d] > 0;
    for (int one = 0; one < size_dims(); one++) {
        if (named->dims[one] <= 0) continue;
        if (engine_uses_device ? !called_where_long_there(number, one, most_ns, rng) : !called_where_long(number, 1u << one, most_ns, rng)) return 0;
        for (int other = 0; other < one && varying > 2 && !engine_uses_device; other++)
            if (named->dims[other] > 0 && !called_where_long(number, 1u << one | 1u << other, most_ns, rng)) return 0;
    }
    return 1;
}

typedef struct {
    const kpd_buffer *buffer;
    const void *data, *own;
    double greatest; /* of the task's own kernel's */
    int off;
    pthread_mutex_t lock;
} likeness;

static void greatest_part(void *context, size_t from, size_t to) {
    likeness *l = context;
    double found = 0.0;
    for (size_t i = from; i < to; i++) {
        double size = fabs(value_of(l->buffer->type, l->own, i));
        if (isfinite(size) && size > found) found = size;
    }
    pthread_mutex_lock(&l->lock);
    l->greatest = fmax(l->greatest, found);
    pthread_mutex_unlock(&l->lock);
}

static void alike_part(void *context, size_t from, size_t to) {
    likeness *l = context;
    double most = is_integer(l->buffer->type) ? 0.0 : ABOUT * l->greatest;
    for (size_t i = from; i < to; i++) {
        double got = value_of(l->buffer->type, l->data, i), own = value_of(l->buffer->type, l->own, i);
        if (got == own || fabs(got - own) <= most) continue;
        __atomic_store_n(&l->off, 1, __ATOMIC_RELAXED);
        return;
    }
}

static int about_alike(const view *v, void *const *own) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        likeness l = {.buffer = &v->buffers[b], .data = v->data[b], .own = own[b]};
        if (!is_written(l.buffer)) continue;
        pthread_mutex_init(&l.lock, NULL);
        kpd_parallel(l.buffer->count, PART, greatest_part, &l);
        kpd_parallel(l.buffer->count, PART, alike_part, &l);
        if (l.off) return 0;
    }
    return 1;
}

/* On a device, at a size that is larger in all dims: a call is short there, but the truth takes long. So that is asked for only
 * where the candidate is not about as the task's own kernel is: who is wrong at such sizes alone leaves something out, or does not
 * come to an end. 0 after a problem. */
static int called_where_truth_takes_long(size_t number, kpd_rng *rng) {
    static kpd_case drawn;
    view *v = drawn_view();
    size_t largest = case_of_size(1, KPD_CHECK_AND_TIME);
    if (size_beyond(rng, &drawn, largest, LARGE_TIMES)) number = largest;
    else if (!size_beyond(rng, &drawn, number, LARGE_TIMES)) return 1;
    arena_resize(v, &drawn, 0);
    size_watched(&drawn);
    arena_fill(v, job.timed);
    size_watched(NULL);
    void *const *own = referee_call(v);
    if (!own) return 1;
    if (!resized(v, &drawn, 0, job.timed)) return 0;
    drawn.name = size_name(&drawn);
    arena_poison(v);
    worker_call(CANDIDATE, (int)v->number, 0, 1);
    if (!answered(CANDIDATE, v, timed_name(), when) || !unharmed(CANDIDATE, v, timed_name(), when)) return 0;
    if (about_alike(v, own)) return 1;
    truth_find(v);
    return truth_compare(v, own, &job.how, bounds_of(number, job.timed)).wrong || right_there(v, v->data, number, job.timed, when);
}

/* On a device, at sizes of which one dim is large, and at one of which all are. 0 after a problem. */
int sizes_long(uint64_t limit_ns) {
    size_t number = case_of_size(1, KPD_TIME_ONLY);
    kpd_rng rng = {secret_draw()};
    if (number == kpd_task.case_count || !taken_by(&job.views[number])) return 1;
    return called_where_some_are_long(number, (double)limit_ns, &rng) && called_where_truth_takes_long(number, &rng);
}

/* 0 after a problem. Inputs that are all alike come first. */
static int called_beyond(size_t number, double limit_ns, kpd_rng *rng) {
    if (!called_where_some_are_long(number, LONG_SHARE * limit_ns, rng)) return 0;
    uint64_t step = 1 + kpd_random(rng) % (KPD_DISTRIBUTIONS - 1);
    for (uint64_t i = 0, kinds = 0; i < KPD_DISTRIBUTIONS && kinds < KINDS; i++) {
        kpd_distribution d = (kpd_distribution)((KPD_CONSTANT + i * step) % KPD_DISTRIBUTIONS);
        if (!job.promised[d]) continue;
        kinds++;
        if (!called_where_large(number, d, (d == KPD_CONSTANT ? LONGER : 1.0) * limit_ns, rng)) return 0;
    }
    return 1;
}

/* Where a call may take so long. There is none where one of the largest case takes nearly as long, or nothing but the task's own
 * kernel says what is right. */
void sizes_beyond(const char *object, uint64_t limit_ns) {
    job.paths[CANDIDATE] = object;
    job.first = CANDIDATE;
    size_t number = case_of_size(1, KPD_TIME_ONLY);
    uint64_t each = number < kpd_task.case_count && !job.truth && loaded() ? taken_by(&job.views[number]) : 0;
    kpd_rng rng = {secret_draw()};
    if (each && LARGER * (double)each <= (double)limit_ns && called_beyond(number, (double)limit_ns, &rng) && memory_enough()) rests();
    spend("far sizes");
    printf("{\"sizes\":%zu,", called);
    print_spent();
    print_problem();
    printf("}\n");
}
