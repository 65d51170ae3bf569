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

/* What the quickest call takes, each on inputs of its own: who keeps results has none for them. Of a candidate's it is the lesser of
 * the time by the clock and that of the CPUs: others may have had its CPU meanwhile, and its own threads several. 0 after a problem,
 * where the system does not tell, or where this takes too long. */
static int taken(view *v, size_t near_case, uint64_t limit_ns, uint64_t *own, uint64_t *candidate) {
    *own = *candidate = UINT64_MAX;
    for (int call = 0; call < CALLS; call++) {
        uint64_t passed, busy, theirs;
        arena_fill_unseen(v, job.timed, secret_draw());
        truth_find(v);
        theirs = referee_busy(v);
        if (!theirs || theirs > limit_ns) return 0;
        busy = candidate_takes(v, when, &passed);
        if (!busy || !right_there(v, v->data, near_case, job.timed, when)) return 0;
        *own = less(*own, theirs);
        *candidate = less(*candidate, less(busy, passed));
    }
    return 1;
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
        uint64_t theirs, ns;
        if (!taken(v, (size_t)near_case, limit_ns, &theirs, &ns)) return !problem.kind;
        candidate += ns;
        own += theirs + MORE_NS;
    }
    if ((double)candidate <= MOST_TIMES * (double)own) return 1;
    blame("damage", CANDIDATE, NULL, timed_name(), when);
    snprintf(problem.message, sizeof problem.message, "takes %.1f times as long as the task's own kernel", (double)candidate / (double)own);
    return 0;
}
