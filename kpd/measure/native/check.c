/* Is the candidate right? Every case with every kind of inputs, from secret seeds. */
#include "report.h"

#include <stdio.h>

#define MOST_FAILURES 200

static struct {
    size_t comparisons;
    deviation worst;
    const char *case_name, *distribution;
    int failures; /* combinations of case and distribution that failed, as listed */
    struct {
        const char *case_name, *distribution;
    } failed[MOST_FAILURES];
} checked;

/* 1 when the worker can be asked on: values may be wrong, but nothing is broken. */
static int check_one(size_t c, kpd_distribution d, kpd_rng *rng) {
    view *v = &job.views[c];
    const char *distribution = distribution_names[d];
    arena_fill(v, rng, d);
    arena_poison(v);
    if (!loaded()) return 0;
    worker_call(CANDIDATE, (int)c, 0, 1);
    truth_find(v); /* while the kernel runs */
    if (!answered(CANDIDATE, v, distribution, "check")) return 0;
    if (!unharmed(CANDIDATE, v, distribution, "check")) return 0;
    deviation found = truth_compare(v, v->data, &job.how, bounds_of(c, d));
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

void check(const char *object, int seeds, uint64_t seed) {
    kpd_rng rng = {seed};
    int going = 1;
    job.paths[CANDIDATE] = object;
    job.first = CANDIDATE;
    for (int round = 0; round < seeds && going && !problem.kind; round++)
        for (size_t c = 0; c < kpd_task.case_count && going; c++)
            for (int d = 0; d < KPD_DISTRIBUTIONS && going && kpd_task.cases[c].use != KPD_TIME_ONLY; d++)
                if (job.promised[d]) going = check_one(c, (kpd_distribution)d, &rng);
    printf("{\"comparisons\":%zu,\"worst\":%.6g", checked.comparisons, checked.case_name ? checked.worst.multiple : 0.0);
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
