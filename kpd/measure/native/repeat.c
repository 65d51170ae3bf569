/* Does the candidate do the same each time? The same call on unchanged inputs, as often as the time allows: what is wrong once in
 * a hundred calls, or right only when threads happen to run in a good order, shows here.
 *
 * The first call is compared with the truth, the others bit by bit with the first. One that differs has to be right, too; and
 * where results must repeat, the task's own kernel is asked whether it repeats itself.
 */
#include "report.h"

#include <stdio.h>

#define OWN_CALLS 20 /* of the task's own kernel, at the least, before it counts as one that repeats itself */
#define FEWEST 3     /* calls in each case, whatever they take */

static int must_repeat(const view *v, steadiness asked, size_t calls, uint64_t limit_ns) {
    if (asked != AS_THE_BASELINE) return asked == ALWAYS;
    return referee_repeats(v, calls < OWN_CALLS ? OWN_CALLS : calls, now_ns() + limit_ns);
}

static void blame_change(const view *v, size_t b, size_t i, const char *when) {
    kpd_type type = v->buffers[b].type;
    blame("damage", CANDIDATE, v, timed_name(), when);
    snprintf(problem.message, sizeof problem.message,
        "made %s[%zu] %.9g, and %.9g in the first call on the same inputs (deterministic = \"no\" in [check] allows it)",
        v->buffers[b].name, i, value_of(type, v->data[b], i), value_of(type, v->kept[b], i));
}

/* One case, for so long after its first call. Returns the calls; 0 after a problem. */
static size_t repeat_one(size_t number, steadiness asked, uint64_t limit_ns) {
    static char when[80];
    view *v = &job.views[number];
    size_t b, i, calls = 0;
    int free = asked == NEVER;
    uint64_t start = 0;
    arena_fill(v, job.timed);
    truth_find(v);
    if (!loaded()) return 0;
    for (; calls < FEWEST || now_ns() - start < limit_ns; calls++) {
        snprintf(when, sizeof when, "call %zu on the same inputs", calls + 1);
        arena_poison(v);
        worker_call(CANDIDATE, (int)number, 0, 1);
        if (!answered(CANDIDATE, v, timed_name(), when)) return 0;
        if (calls && !arena_differs(v, &b, &i)) {
            if (!unharmed(CANDIDATE, v, timed_name(), when)) return 0;
            continue;
        }
        if (!right(CANDIDATE, v, when)) return 0;
        if (!calls) {
            arena_keep(v);
            start = now_ns();
        } else if (!free && must_repeat(v, asked, calls, limit_ns)) {
            blame_change(v, b, i, when);
            return 0;
        } else free = 1;
    }
    return calls;
}

/* `ms` are shared by the cases. The quickest case has as much again: some thousand
 * calls, as many as a kernel may be wrong in one of. */
void repeat(const char *object, steadiness asked, int ms) {
    job.paths[CANDIDATE] = object;
    job.first = CANDIDATE;
    uint64_t limit_ns = (uint64_t)ms * 1000000u / kpd_task.case_count;
    size_t calls[KPD_MAX_CASES] = {0}, quickest = 0, done = 0;
    while (done < kpd_task.case_count && (calls[done] = repeat_one(done, asked, limit_ns)) > 0) {
        if (calls[done] > calls[quickest]) quickest = done;
        done++;
    }
    int quick = done == kpd_task.case_count && calls[quickest] > FEWEST;
    if (quick) calls[quickest] += repeat_one(quickest, asked, (uint64_t)ms * 1000000u);
    printf("{\"calls\":{");
    for (size_t c = 0; c < done; c++) printf("%s\"%s\":%zu", c ? "," : "", kpd_task.cases[c].name, calls[c]);
    printf("},");
    print_problem();
    printf("}\n");
}
