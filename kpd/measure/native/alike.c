/* Is it right on inputs that are almost those of the call before? Who looks at a part of them, or at a sum, for what has changed
 * takes them for the same, and has nothing to do. So calls are made on two sets in turn that differ in little, of the quickest case
 * and of the largest: it may look closer where there is less.
 */
#include "report.h"

/* The timed case with the most calls: a check-only one may be too small for sets that differ. */
static size_t quickest_timed(const size_t *order, size_t count, const size_t *calls) {
    size_t found = order[0];
    for (size_t i = 0; i < count; i++)
        if (kpd_task.cases[order[i]].use != KPD_CHECK_ONLY && (kpd_task.cases[found].use == KPD_CHECK_ONLY || calls[order[i]] > calls[found]))
            found = order[i];
    return found;
}

/* Calls on sets of inputs that are alike, of the quickest case and of the largest, so long for each. 0 after a problem. */
int repeat_alike(const size_t *order, size_t count, size_t *calls, steadiness asked, uint64_t each_ns) {
    const size_t numbers[] = {quickest_timed(order, count, calls), case_of_size(1, KPD_CHECK_ONLY)};
    int cases = numbers[1] == numbers[0] || numbers[1] == kpd_task.case_count ? 1 : 2;
    for (int i = 0; i < cases; i++) {
        size_t number = numbers[i];
        view *sets = ahead_further(number);
        for (how_alike how = SWAPPED_FEW; how < WAYS_ALIKE; how++) {
            if (!ahead_make_alike(how)) continue;
            size_t more = repeat_one(sets, asked, each_ns / WAYS_ALIKE);
            calls[number] += more;
            if (!more) return 0;
        }
    }
    return 1;
}
