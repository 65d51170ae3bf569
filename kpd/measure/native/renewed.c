/* Is it right for all inputs, and not for most? In the checks a kernel sees some hundred, in the repeats two for each case. So
 * it is called on new inputs in each call, thousands of them, at sizes at which neither they nor the truth take long to make:
 * drawn ones, or where only those of cases count that of the smallest case.
 *
 * So many inputs come to the ends of what a tolerance allows. One that is beyond it is a fault only where the task's own kernel
 * is far nearer to the truth for the same inputs.
 */
#include "report.h"

#include <stdlib.h>

#define OF_A_SIZE 1024 /* inputs */
#define AT_ONCE 64    /* calls that a request is for, at the most: to be asked takes longer than most of them */
#define LONGER 4      /* times the time it should take, where others have the CPU */
#define UNEVEN 4      /* calls of each case on inputs that are not alike everywhere */
#define FAR 4.0       /* times the error of the task's own kernel */

const char called_when[] = "new inputs in each call";
static const char squeezed_when[] = "a call while other work has most of the device";

/* Whether the baseline, too, is wrong for the inputs of now, or hardly better. Where its own outputs are the truth nothing says how
 * far it is from another one. */
static int baseline_no_better(view *v, void *const *data, size_t near_case, kpd_distribution d, deviation *found) {
    void *const *own = job.baseline ? referee_call(v) : NULL;
    if (!own) return job.baseline != NULL || found->multiple <= FAR;
    if (job.truth) return found->multiple <= FAR;
    if (job.how.native && v->number == kpd_task.case_count) bounds_draw(v, own, near_case, d);
    const bound *bounds = bounds_of(v->number, d);
    deviation theirs = truth_compare(v, own, &job.how, bounds);
    *found = truth_compare(v, data, &job.how, bounds);
    return theirs.wrong || found->multiple <= FAR * theirs.multiple;
}

/* What the kernel has left for the inputs of now, in these buffers. 0 after a problem. */
int right_there(view *v, void *const *data, size_t near_case, kpd_distribution d, const char *when) {
    deviation found = truth_compare(v, data, &job.how, bounds_of(v->number, d));
    if (!found.wrong || baseline_no_better(v, data, near_case, d, &found) || !found.wrong) return 1;
    blame("wrong", CANDIDATE, v, distribution_names[d], when);
    problem.worst = found;
    return 0;
}

static int called(view *v, size_t near_case, kpd_distribution d, const char *when, int squeezed) {
    const char *kind = distribution_names[d];
    fill_drawn(v, d, secret_draw());
    arena_show(v);
    arena_poison(v);
    overwrites_watch(v);
    if (squeezed) worker_call_squeezed(CANDIDATE, (int)v->number);
    else worker_call(CANDIDATE, (int)v->number, 0, 1);
    truth_find(v); /* while the kernel runs */
    int well = answered(CANDIDATE, v, kind, when) && unharmed(CANDIDATE, v, kind, when);
    return overwrites_none(v, kind, when) && well && right_there(v, v->data, near_case, d, when);
}

/* One call; 0 after a problem. */
int called_on_new(view *v, size_t near_case, kpd_distribution d, const char *when) { return called(v, near_case, d, when, 0); }

/* What is written beside a buffer shows after the last of these calls. */
static int called_at_once(view *v, int count, size_t near_case, kpd_distribution d) {
    uint64_t drawn[AT_ONCE];
    kpd_rng rng = {secret_draw()};
    void *at[KPD_MAX_BUFFERS];
    for (int i = 0; i < count; i++) {
        fill_drawn(v, d, drawn[i] = secret_draw());
        if (!i) arena_poison(v);
        arena_pack(v, (size_t)i, at);
        for (size_t b = 0; b < kpd_task.buffer_count; b++)
            if (is_read(&v->buffers[b])) memcpy(at[b], v->pristine[b], bytes_of(&v->buffers[b]));
            else if (i % 2) arena_speckle(&v->buffers[b], at[b], &rng);
            else memcpy(at[b], v->data[b], bytes_of(&v->buffers[b]));
    }
    worker_call_each(CANDIDATE, (int)v->number, count);
    if (!answered(CANDIDATE, v, distribution_names[d], called_when) || !unharmed(CANDIDATE, v, distribution_names[d], called_when)) return 0;
    for (int i = 0; i < count; i++) {
        fill_drawn(v, d, drawn[i]);
        truth_find(v);
        arena_pack(v, (size_t)i, at);
        if (!right_there(v, at, near_case, d, called_when)) return 0;
    }
    return 1;
}

/* Of CPUs, for this process and the candidate's: beside other work there are as many calls. */
static uint64_t spent_ns(void) { return busy_ns() + worker_busy(); }

static struct {
    uint64_t spent, late; /* when there is no more time: of CPUs, or by the clock */
} end;

static int is_time(void) { return !problem.kind && spent_ns() < end.spent && now_ns() < end.late; }

/* Returns the calls; what is wrong ends them. */
static size_t at_one_size(view *v, size_t near_case, kpd_distribution d) {
    size_t calls = 0, count = 1, most = arena_packs(v);
    most = most < 1 ? 1 : most < AT_ONCE ? most : AT_ONCE;
    while (calls < OF_A_SIZE && is_time()) {
        uint64_t start = spent_ns();
        if (!(count > 1 ? called_at_once(v, (int)count, near_case, d) : called_on_new(v, near_case, d, called_when))) break;
        calls += count;
        count = (spent_ns() - start) / count * most < end.spent - start ? most : 1;
    }
    return calls;
}

static size_t at_drawn_sizes(kpd_rng *rng) {
    view *v = &job.views[kpd_task.case_count];
    static kpd_case drawn;
    size_t calls = 0;
    for (kpd_distribution d = promised_kind(rng); is_time(); d = promised_after(d)) {
        int near_case = size_drawn(rng, &drawn, kpd_random(rng) & 1 ? QUICK_SIZE : SMALL_SIZE);
        if (near_case < 0) break;
        arena_resize(v, &drawn, 0);
        if (!baseline_right(v, &drawn, (size_t)near_case, d)) continue;
        if (!resized(v, &drawn, 0, d)) break;
        drawn.name = size_name(&drawn);
        calls += at_one_size(v, (size_t)near_case, d);
    }
    return calls;
}

static size_t at_smallest_case(kpd_rng *rng) {
    view *least = NULL;
    for (size_t c = 0; c < kpd_task.case_count; c++) {
        view *v = &job.views[c];
        if (kpd_task.cases[c].use != KPD_TIME_ONLY && has_elements(v) && (!least || v->bytes < least->bytes)) least = v;
    }
    size_t calls = 0;
    while (least && is_time()) calls += at_one_size(least, least->number, promised_kind(rng));
    return calls;
}

static int by_bytes(const void *one, const void *other) {
    size_t a = job.views[*(const size_t *)one].bytes, b = job.views[*(const size_t *)other].bytes;
    return (a > b) - (a < b);
}

/* Each case once with inputs that are constant but for a few elements, and several times with such as are not alike everywhere
 * (uneven.c): what is quick for these needs a certain shape. Small cases come first: the truth of one large case can take all the
 * time there is. */
static size_t at_each_case(void) {
    size_t calls = 0, order[KPD_MAX_CASES], count = kpd_task.case_count;
    for (size_t c = 0; c < count; c++) order[c] = c;
    qsort(order, count, sizeof *order, by_bytes);
    for (size_t c = 0; c < count && is_time(); c++) {
        view *v = &job.views[order[c]];
        if (kpd_task.cases[order[c]].use == KPD_TIME_ONLY || !has_elements(v)) continue;
        forward_begin(v);
        for (int i = 0; i < UNEVEN && is_time(); i++) {
            calls += (size_t)called_on_new(v, order[c], job.timed, called_when);
            forward_look();
        }
        if (is_time() && job.promised[KPD_CONSTANT]) calls += (size_t)called_on_new(v, order[c], KPD_CONSTANT, called_when);
        if (is_time() && engine_uses_device) calls += (size_t)called(v, order[c], job.timed, squeezed_when, 1);
        if (is_time()) calls += (size_t)forward_to_ends(order[c]);
    }
    return calls;
}

static void begin(uint64_t limit_ns) {
    end.spent = spent_ns() + limit_ns;
    end.late = now_ns() + LONGER * limit_ns;
}

/* On a device only these: each call is far longer there than most kernels take. 0 after a problem. */
int renewed_in_cases(uint64_t limit_ns) {
    begin(limit_ns);
    at_each_case();
    return !problem.kind;
}

size_t renewed(uint64_t limit_ns) {
    kpd_rng rng = {secret_draw()};
    begin(limit_ns);
    size_t first = at_each_case(), calls = job.any_size ? at_drawn_sizes(&rng) : 0;
    return first + (calls || problem.kind ? calls : at_smallest_case(&rng));
}
