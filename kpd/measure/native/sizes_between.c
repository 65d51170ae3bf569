/* Is it slow at sizes that no case has? These are in no contest, and a kernel that is quick at those alone that it knows of makes a
 * program slower. So some sizes near the cases are drawn, and at all of them together a candidate may take twice as long as
 * the task's own kernel: one that is made for the cases, and else takes a plain way, does not.
 */
#include "report.h"

#include <stdio.h>

#define MOST_SIZES 12
#define CALLS 3 /* at each size, of which the quickest counts */
#define MOST_TIMES 2.0
#define MORE_NS 50000u /* at each size, whatever the task's own kernel takes: threads that are woken up, say */

static const char when[] = "sizes that no case has";

static uint64_t less(uint64_t one, uint64_t other) { return one < other ? one : other; }

/* The lesser of what the candidate's call took by the clock and of the CPUs' time: others may have had its CPU meanwhile, and its own
 * threads several. 0 after a problem, or where the system does not tell. */
static uint64_t taken(view *v) {
    uint64_t least = UINT64_MAX;
    for (int call = 0; call < CALLS && least; call++) {
        uint64_t passed, busy = candidate_takes(v, when, &passed);
        least = less(least, less(busy, passed));
    }
    return least;
}

static uint64_t taken_by_own(view *v) {
    uint64_t least = UINT64_MAX;
    for (int call = 0; call < CALLS && least; call++) least = less(least, referee_busy(v));
    return least;
}

/* 0 after a problem. */
int sizes_between(uint64_t limit_ns) {
    kpd_rng rng = {secret_draw()};
    view *v = &job.views[kpd_task.case_count];
    static kpd_case drawn;
    uint64_t until = now_ns() + limit_ns, candidate = 0, own = 0;
    for (int i = 0; i < MOST_SIZES && now_ns() < until; i++) {
        int near_case = size_drawn(&rng, &drawn, i % 2 ? THIN_SIZE : ANY_SIZE);
        if (near_case < 0) break;
        arena_resize(v, &drawn, 0);
        if (!baseline_right(v, &drawn, (size_t)near_case, job.timed)) continue;
        if (!resized(v, &drawn, 0, job.timed)) return 0;
        uint64_t theirs = taken_by_own(v), ns = theirs ? taken(v) : 0;
        if (problem.kind) return 0;
        if (!theirs || !ns) return 1;
        candidate += ns;
        own += theirs + MORE_NS;
    }
    if ((double)candidate <= MOST_TIMES * (double)own) return 1;
    blame("damage", CANDIDATE, NULL, timed_name(), when);
    snprintf(problem.message, sizeof problem.message, "takes %.1f times as long as the task's own kernel", (double)candidate / (double)own);
    return 0;
}
