/* Is it right on inputs that are almost those of the call before? Who looks at a part of them, or at a sum, for what has changed
 * takes them for the same, and has nothing to do. So calls are made on two sets in turn that differ in little, of the quickest case
 * and of the largest: it may look closer where there is less.
 */
#include "report.h"

/* The timed case with the most calls, or the largest one: a check-only one may be too small for sets that differ. */
static size_t timed_case(const size_t *order, size_t count, const size_t *calls, int largest) {
    size_t found = order[0];
    for (size_t i = 0; i < count; i++) {
        const kpd_case *one = &kpd_task.cases[order[i]], *other = &kpd_task.cases[found];
        int further = largest ? size_product(one, -1) > size_product(other, -1) : calls[order[i]] > calls[found];
        if (one->use != KPD_CHECK_ONLY && (other->use == KPD_CHECK_ONLY || further)) found = order[i];
    }
    return found;
}

/* Calls on sets of inputs that are alike, of the quickest case and of the largest: each has half of the time. 0 after a problem. */
int repeat_alike(const size_t *order, size_t count, size_t *calls, steadiness asked, uint64_t each_ns) {
    size_t last = kpd_task.case_count;
    for (int largest = 0; largest < 2; largest++) {
        size_t number = timed_case(order, count, calls, largest);
        if (number == last) break;
        last = number;
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
