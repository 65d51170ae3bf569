/* Is the candidate right? Every case with every kind of inputs, from secret seeds, and what no case names: sizes near those of
 * the cases, and inputs that are not finite. */
#include "report.h"

#include <math.h>
#include <stdio.h>

#define MOST_FAILURES 200
#define AGAIN 32            /* calls between two that are compared, at a size that is drawn, at the most … */
#define AGAIN_NS 100000000u /* … or as many as begin within that */
#define NEAR_ROW 3          /* elements from where one begins, as many as a vector has beside one */
#define DRAWS 4 /* sizes that each seed draws, and more of several dims: see kind_of_draw */

static struct {
    size_t comparisons, calls;
    int drawn, unchecked; /* sizes that no case names, and those among them that the candidate was not asked */
    deviation worst;
    const char *case_name, *distribution;
    int failures; /* combinations of case and distribution that failed, as listed */
    struct {
        const char *case_name, *distribution;
    } failed[MOST_FAILURES];
} checked;

/* Every other call finds its buffers elsewhere: a kernel may be wrong where it has been before, or where it has not, or where it
 * knows some of them. At a size that is drawn the task's own kernel is asked, too, and finds none where it was. */
static int moved(const view *v, const char *distribution) {
    worker_move((int)v->number, secret_draw() | (v->number == kpd_task.case_count ? ALL_OF_THEM : 0u));
    return answered(CANDIDATE, v, distribution, "check");
}

/* The kernel is called on the inputs of now. 1 when the worker can be asked on: values may be wrong, but nothing is broken. */
static int compare(view *v, const char *distribution, const bound *bounds, int has_truth, int cleared) {
    arena_poison(v);
    if (cleared) arena_clear(v);
    if (!loaded()) return 0;
    if (checked.calls++ % 2 == 0 && !moved(v, distribution)) return 0;
    worker_call(CANDIDATE, (int)v->number, 0, 1);
    if (!has_truth) truth_find(v); /* while the kernel runs */
    if (!answered(CANDIDATE, v, distribution, "check")) return 0;
    if (!unharmed(CANDIDATE, v, distribution, "check")) return 0;
    deviation found = truth_compare(v, v->data, &job.how, bounds);
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

static int check_one(size_t c, kpd_distribution d) {
    arena_fill(&job.views[c], d);
    return compare(&job.views[c], distribution_names[d], bounds_of(c, d), 0, 0);
}

/* Every other element becomes zero, or each: what is left out there is lost, where it meets what is not finite. */
static void emptied(const view *v, size_t b, kpd_rng *rng) {
    uint64_t drawn = kpd_random(rng);
    size_t step = drawn & 2 ? 1 : 2;
    for (size_t i = drawn % step; i < v->buffers[b].count; i += step) {
        bits_set(v->buffers[b].type, v->pristine[b], i, 0);
        bits_set(v->buffers[b].type, v->data[b], i, 0);
    }
}

/* Of an input: any, or one that is near to where a row may begin or end, where a kernel's vectors reach into another row. */
static size_t drawn_place(const view *v, size_t b, kpd_rng *rng) {
    size_t count = v->buffers[b].count, dims = (size_t)size_dims(), at = kpd_random(rng) % count;
    size_t wide = dims ? (size_t)v->problem->dims[kpd_random(rng) % dims] : 0;
    if (wide < 2 || count % wide || kpd_random(rng) & 1) return at;
    return (at / wide * wide + count + kpd_random(rng) % (2 * NEAR_ROW) - NEAR_ROW) % count;
}

/* A few elements of one input get a value that is not finite, or a zero with a sign. */
static int plant(view *v, kpd_rng *rng, double value) {
    size_t inputs[KPD_MAX_BUFFERS], count = 0;
    for (size_t b = 0; b < kpd_task.buffer_count; b++)
        if (is_read(&v->buffers[b]) && !is_integer(v->buffers[b].type) && v->buffers[b].count) inputs[count++] = b;
    if (!count) return 0;
    size_t b = inputs[kpd_random(rng) % count];
    for (size_t i = 0; i < count; i++)
        if (inputs[i] != b && v->buffers[inputs[i]].count > 1) emptied(v, inputs[i], rng);
    for (uint64_t planted = 1 + kpd_random(rng) % 3; planted; planted--) {
        size_t i = drawn_place(v, b, rng);
        bits_set(v->buffers[b].type, v->pristine[b], i, value_bits(v->buffers[b].type, value));
        bits_set(v->buffers[b].type, v->data[b], i, value_bits(v->buffers[b].type, value));
    }
    return 1;
}

static const struct {
    const char *name;
    double value;
} kinds[] = {{"NaN", NAN}, {"+Inf", INFINITY}, {"-Inf", -INFINITY}, {"-0", -0.0}};

/* Where outputs have the bits of the truth, a zero keeps its sign, too. */
static size_t kinds_asked(void) { return job.how.kind == EXACT && job.nonfinite == PROPAGATE ? 4 : 3; }

/* A case by chance gets values of each kind. */
static int check_nonfinite(kpd_rng *rng) {
    for (size_t kind = 0; kind < kinds_asked(); kind++) {
        size_t c = kpd_random(rng) % kpd_task.case_count;
        while (kpd_task.cases[c].use == KPD_TIME_ONLY) c = (c + 1) % kpd_task.case_count;
        arena_fill(&job.views[c], job.timed);
        if (!plant(&job.views[c], rng, kinds[kind].value)) return 1;
        job.how.spreads = job.nonfinite == KEPT;
        int going = compare(&job.views[c], kinds[kind].name, bounds_of(c, job.timed), 0, 0);
        job.how.spreads = 0;
        if (!going) return 0;
    }
    return 1;
}

/* The same for inputs of a size that is drawn, where the task's own kernel is right. */
static int check_drawn_nonfinite(view *v, kpd_rng *rng, kpd_distribution d) {
    int going = 1;
    for (size_t kind = 0; kind < kinds_asked() && going; kind++) {
        arena_fill_unseen(v, d, kpd_random(rng));
        arena_show(v);
        if (!plant(v, rng, kinds[kind].value)) return 1;
        job.how.spreads = job.nonfinite == KEPT;
        void *const *own = referee_call_and_truth(v);
        if (own && !truth_compare(v, own, &job.how, bounds_of(v->number, d)).wrong) going = compare(v, kinds[kind].name, bounds_of(v->number, d), 1, 0);
        job.how.spreads = 0;
    }
    return going;
}

/* Calls whose values nobody looks at, one after the other. */
static int called_again(view *v, int times, const char *distribution) {
    for (uint64_t until = now_ns() + AGAIN_NS; times && now_ns() < until; times--) {
        arena_poison(v);
        worker_call(CANDIDATE, (int)v->number, 0, 1);
        if (!answered(CANDIDATE, v, distribution, "check") || !unharmed(CANDIDATE, v, distribution, "check")) return 0;
    }
    return 1;
}

static int called_before(view *v, kpd_distribution d) {
    arena_fill(v, d);
    return called_again(v, 1, distribution_names[d]);
}

/* A call on inputs that are NaN: what a kernel keeps of them must not be in the results of later calls, at other sizes. */
static int flooded(view *v, const char *distribution) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        if (!is_read(buffer) || is_integer(buffer->type)) continue;
        for (size_t i = 0; i < buffer->count; i++) bits_set(buffer->type, v->pristine[b], i, value_bits(buffer->type, NAN));
    }
    arena_show(v);
    return called_again(v, 1, distribution);
}

/* How many tolerances of the near case the task's own kernel may be off where its error there is the tolerance: a sum that is so many
 * times as long has at most so many times the error. */
static double lengthened(const kpd_case *drawn, size_t near_case) {
    double most = 1.0;
    for (int d = 0; job.how.native && d < size_dims(); d++)
        if (drawn->dims[d] > 0) most = fmax(most, (double)drawn->dims[d] / (double)kpd_task.cases[near_case].dims[d]);
    return most;
}

/* New inputs of a size that is drawn, near a case, and what is right for them. 1 where the baseline is within that case's bounds. */
int baseline_right(view *v, const kpd_case *drawn, size_t near_case, kpd_distribution d) {
    size_watched(drawn);
    fill_drawn(v, d, secret_draw());
    size_watched(NULL);
    arena_show(v);
    void *const *own = referee_call_and_truth(v);
    if (!own) return 0;
    deviation found = truth_compare(v, own, &job.how, bounds_of(near_case, d));
    if (found.wrong && found.multiple > lengthened(drawn, near_case)) return 0;
    if (job.how.native) bounds_draw(v, own, near_case, d);
    return 1;
}

/* 1 when the candidate's process has buffers of this size, too. The harness gets the name of the case near it. */
int resized(view *v, const kpd_case *drawn, int fenced, kpd_distribution d) {
    arena_resize(v, drawn, fenced);
    worker_resize((int)v->number, drawn, fenced);
    return answered(CANDIDATE, v, distribution_names[d], "check");
}

/* A size is asked of the candidate where the baseline is right. Its second result that is compared is that of a later call, with
 * other inputs, before another fence, and outputs that begin as zeros.
 */
static int check_drawn(kpd_rng *rng, size_kind kind, int fenced) {
    view *v = &job.views[kpd_task.case_count];
    static kpd_case drawn;
    int near_case = size_drawn(rng, &drawn, kind);
    kpd_distribution d = promised_kind(rng);
    checked.drawn++;
    checked.unchecked++;
    if (near_case < 0) return 1;
    const char *near_name = drawn.name, *name = size_name(&drawn);
    if (kind == TURNED_SIZE && !called_before(&job.views[near_case], d)) return 0;
    arena_resize(v, &drawn, fenced);
    if (!baseline_right(v, &drawn, (size_t)near_case, d)) return 1;
    checked.unchecked--;
    if (!loaded() || !resized(v, &drawn, fenced, d)) return 0;
    drawn.name = name;
    if (!compare(v, distribution_names[d], bounds_of(v->number, d), 1, 0)) return 0;
    if (job.nonfinite && !check_drawn_nonfinite(v, rng, d)) return 0;
    if (!called_again(v, (int)(kpd_random(rng) % (AGAIN + 1)), distribution_names[d])) return 0;
    drawn.name = near_name;
    d = promised_kind(rng);
    if (!resized(v, &drawn, fenced == FENCED_BEHIND ? FENCED_BEFORE : FENCED_BEHIND, d)) return 0;
    if (!baseline_right(v, &drawn, (size_t)near_case, d)) return 1;
    drawn.name = name;
    if (!compare(v, distribution_names[d], bounds_of(v->number, d), 1, 1)) return 0;
    return !job.nonfinite || flooded(v, distribution_names[d]);
}

/* The first is a larger one, the last small, with fences behind; before that is one of several dims, two of which are turned, and
 * before it thin ones. */
static size_kind kind_of_draw(int draw, int draws, int several) {
    if (draw == 0) return LARGER_SIZE;
    if (draw == draws - 1) return SMALL_SIZE;
    if (draw < DRAWS - 1) return ANY_SIZE;
    return several && draw == draws - 2 ? TURNED_SIZE : THIN_SIZE;
}

static int check_round(kpd_rng *rng) {
    for (size_t c = 0; c < kpd_task.case_count; c++) {
        if (kpd_task.cases[c].use == KPD_TIME_ONLY) continue;
        for (int d = 0; d < KPD_DISTRIBUTIONS; d++)
            if (job.promised[d] && !check_one(c, (kpd_distribution)d)) return 0;
    }
    if (job.nonfinite && !check_nonfinite(rng)) return 0;
    int several = size_dims() > 1, draws = DRAWS + size_dims() + several;
    for (int i = 0; job.baseline && i < draws; i++) {
        size_kind kind = kind_of_draw(i, draws, several);
        int before = kind != SMALL_SIZE && kpd_random(rng) & 1;
        if (!check_drawn(rng, kind, before ? FENCED_BEFORE : FENCED_BEHIND)) return 0;
    }
    return 1;
}

void check(const char *object, int seeds) {
    kpd_rng rng = {secret_draw()};
    job.paths[CANDIDATE] = object;
    job.first = CANDIDATE;
    for (int round = 0; round < seeds && !problem.kind; round++)
        if (!check_round(&rng)) break;
    printf("{\"comparisons\":%zu,\"worst\":%.6g", checked.comparisons, checked.case_name ? checked.worst.multiple : 0.0);
    printf(",\"drawn\":%d,\"unchecked\":%d", checked.drawn, checked.unchecked);
    int any = checked.case_name != NULL;
    printf(",\"case\":\"%s\",\"distribution\":\"%s\"", any ? checked.case_name : "", any ? checked.distribution : "");
    printf(",\"output\":\"%s\",\"index\":%zu", any ? checked.worst.output : "", checked.worst.index);
    printf(",\"failed\":[");
    for (int i = 0; i < checked.failures; i++)
        printf("%s\"%s/%s\"", i ? "," : "", checked.failed[i].case_name, checked.failed[i].distribution);
    printf("],");
    print_problem();
    printf("}\n");
}
