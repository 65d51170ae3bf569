/* Is it right at sizes far beyond those of the cases? A counter of 16 bits, room for a whole matrix on the stack, or work that is
 * shared among a fixed number of parts shows there only. So a candidate is called with inputs of two of the kinds that the task
 * promises, or more if there is time, at sizes of up to MOST_TIMES the largest case's, as far as the truth and the task's own kernel
 * take no more than half of the time each, and the harness's limits let them be; and, for each dim, at a size of which this one is as
 * large as can be.
 */
#include "report.h"

#define MOST_TIMES 32.0 /* all dims together */
#define LEAST_TIMES 2.0
#define LONG_TIMES 4.0 /* where all dims but one are small */
#define AT_LEAST 2 /* kinds of inputs */
#define TIMES 2 /* that the largest case is asked what it takes: the first time its memory is new */

static const char when[] = "a size far beyond the cases'";

static size_t largest_case(void) {
    size_t largest = kpd_task.case_count;
    for (size_t c = 0; c < kpd_task.case_count; c++) {
        if (kpd_task.cases[c].use == KPD_TIME_ONLY || !has_elements(&job.views[c])) continue;
        if (largest == kpd_task.case_count || size_product(&kpd_task.cases[c], -1) > size_product(&kpd_task.cases[largest], -1)) largest = c;
    }
    return largest;
}

/* What inputs, the truth, and a call of the task's own kernel take of the CPUs' time for this case; 0 where nobody can tell. */
static uint64_t taken_by(view *v) {
    uint64_t least = 0;
    for (int time = 0; time < TIMES; time++) {
        uint64_t before = busy_ns();
        arena_fill_unseen(v, job.timed, secret_draw());
        truth_find(v);
        uint64_t own = referee_busy(v), ns = busy_ns() - before + own;
        if (!own) return 0;
        least = !least || ns < least ? ns : least;
    }
    return least;
}

/* A call at this size, where the task's own kernel is right. 0 after a problem. */
static int called_there(view *v, kpd_case *drawn, size_t number, kpd_distribution d) {
    arena_resize(v, drawn, 0);
    if (!baseline_right(v, drawn, number, d)) return 1;
    if (!resized(v, drawn, 0, d)) return 0;
    drawn->name = size_name(drawn);
    arena_show(v);
    arena_poison(v);
    worker_call(CANDIDATE, (int)v->number, 0, 1);
    if (!answered(CANDIDATE, v, distribution_names[d], when)) return 0;
    return unharmed(CANDIDATE, v, distribution_names[d], when) && right_there(v, v->data, number, d, when);
}

/* 0 after a problem. Inputs that are all alike come first: nothing makes counts and sums as large. */
int sizes_beyond(uint64_t limit_ns) {
    size_t number = largest_case();
    uint64_t each = number < kpd_task.case_count ? taken_by(&job.views[number]) : 0;
    if (!each) return 1;
    kpd_rng rng = {secret_draw()};
    view *v = &job.views[kpd_task.case_count];
    static kpd_case drawn;
    double work = size_product(&kpd_task.cases[number], -1), times = (double)limit_ns / (double)each / AT_LEAST;
    for (int dim = 0; dim < size_dims(); dim++)
        if (size_long(&rng, &drawn, number, dim, LONG_TIMES * work) && !called_there(v, &drawn, number, job.timed)) return 0;
    uint64_t until = now_ns() + limit_ns, step = 1 + kpd_random(&rng) % (KPD_DISTRIBUTIONS - 1);
    for (uint64_t i = 0, asked = 0; i < KPD_DISTRIBUTIONS && times >= LEAST_TIMES && (asked < AT_LEAST || now_ns() < until); i++) {
        kpd_distribution d = (kpd_distribution)((KPD_CONSTANT + i * step) % KPD_DISTRIBUTIONS);
        if (!job.promised[d] || !size_beyond(&rng, &drawn, number, times < MOST_TIMES ? times : MOST_TIMES)) continue;
        asked++;
        if (!called_there(v, &drawn, number, d)) return 0;
    }
    return 1;
}
