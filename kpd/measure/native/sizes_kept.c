/* Does it keep memory of each size? A table of plans or of scratch, one for each size, is never full in a contest of a few cases, but
 * in a program whose sizes differ from call to call. So it is called at many that are somewhat less than the smallest timed case's:
 * after the first ones its memory may grow for a while, but not among the last ones again.
 */
#include "report.h"

#include <stdio.h>

#define FIRST_SIZES 8
#define SIZES 64 /* of each part: memory that grows in both is kept */

static const char when[] = "many sizes that no case has";

/* On inputs that nobody compares, where the task's own kernel comes to its end. 0 after a problem. */
static int called_at(view *v, const kpd_case *drawn) {
    arena_resize(v, drawn, 0);
    arena_fill_unseen(v, job.timed, secret_draw());
    arena_show(v);
    if (!referee_call(v)) return 1;
    if (!resized(v, drawn, 0, job.timed)) return 0;
    arena_show(v);
    arena_poison(v);
    worker_call(CANDIDATE, (int)v->number, 0, 1);
    return answered(CANDIDATE, v, timed_name(), when) && unharmed(CANDIDATE, v, timed_name(), when);
}

/* 0 after a problem. */
int sizes_kept(uint64_t limit_ns) {
    static kpd_case drawn;
    kpd_rng rng = {secret_draw()};
    view *v = &job.views[kpd_task.case_count];
    size_t number = case_of_size(0, KPD_CHECK_ONLY);
    uint64_t until = now_ns() + limit_ns;
    for (int i = 0; i < FIRST_SIZES + 2 * SIZES; i++) {
        if (number == kpd_task.case_count || now_ns() > until || !size_less(&rng, &drawn, number)) return 1;
        if (i == FIRST_SIZES + SIZES && !memory_grown()) return 1;
        if (i == FIRST_SIZES || i == FIRST_SIZES + SIZES) memory_begin();
        if (!called_at(v, &drawn)) return 0;
    }
    long grown = memory_grown();
    if (!grown) return 1;
    blame("damage", CANDIDATE, NULL, timed_name(), when);
    snprintf(problem.message, sizeof problem.message, "keeps memory of each size: %.1f MiB more after %d others", (double)grown / 1024.0, SIZES);
    return 0;
}
