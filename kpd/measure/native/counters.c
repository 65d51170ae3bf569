/* Is it right once a counter of 16 bits has been all around? A kernel may note in which call it wrote an element last, in a number
 * that is the same again 65,536 calls later. So some calls at a small size have new inputs; then it is called on others that never
 * change, until those first calls are nearly so many calls ago, and from there on each result is looked at.
 */
#include "report.h"

#define AROUND 65536
#define FIRST 256 /* calls on new inputs: … */
#define LOOKED (2 * FIRST) /* … each of these comes that many calls after one of them, or later */
#define TRIED 1024 /* calls by whose time it is known whether there is time for all */

static const char when[] = "65,536 calls after another one";

static int called_again(const view *v, int times) {
    worker_call(CANDIDATE, (int)v->number, 0, times);
    return answered(CANDIDATE, v, distribution_names[KPD_CONSTANT], when);
}

static int right_around(view *v, size_t near_case, uint64_t limit_ns) {
    for (int i = 0; i < FIRST; i++)
        if (!called_on_new(v, near_case, job.timed, called_when)) return 0;
    arena_fill(v, KPD_CONSTANT);
    truth_find(v);
    arena_poison(v);
    uint64_t start = now_ns();
    if (!called_again(v, TRIED)) return 0;
    if ((now_ns() - start) * (AROUND / TRIED) > limit_ns) return 1;
    if (!called_again(v, AROUND - TRIED - FIRST)) return 0;
    for (int i = 0; i < LOOKED; i++) {
        arena_poison(v);
        if (!called_again(v, 1) || !unharmed(CANDIDATE, v, distribution_names[KPD_CONSTANT], when)) return 0;
        if (!right_there(v, v->data, near_case, KPD_CONSTANT, when)) return 0;
    }
    return 1;
}

/* 0 after a problem. */
int counters_around(uint64_t limit_ns) {
    kpd_rng rng = {secret_draw()};
    view *v = &job.views[kpd_task.case_count];
    static kpd_case drawn;
    int near_case = job.promised[KPD_CONSTANT] ? size_drawn(&rng, &drawn, SMALL_SIZE) : -1;
    if (near_case < 0) return 1;
    arena_resize(v, &drawn, 0);
    if (!baseline_right(v, &drawn, (size_t)near_case, KPD_CONSTANT)) return 1;
    if (!resized(v, &drawn, 0, KPD_CONSTANT)) return 0;
    drawn.name = size_name(&drawn);
    return right_around(v, (size_t)near_case, limit_ns);
}
