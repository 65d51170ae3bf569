/* Calls on fresh inputs that follow one another, as a contest's do: on a device the launch of a call is hidden behind the calls
 * before it there, and one by one it is not. Each has a set of buffers of its own, whose inputs are made here, one after the other;
 * in which order the sets are called is drawn, so that a launcher cannot tell where the next call's inputs lie. Both kernels are
 * called on the same sets, whose outputs are written over in between.
 */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

#define FEWEST_ROWS 3
#define MOST_BYTES ((size_t)1 << 30) /* of the sets of a row, unless it has two calls only */

/* The inputs of a call that is compared. */
static char *compared_inputs;

/* An odd number of values has a middle one. */
static uint64_t middle(const uint64_t *ns, int count) { return middle_of(ns, count - !(count & 1)); }

/* Work on a stream of its own would go on while the clock does not run. */
int none_strays(const view *v, const uint64_t *incumbent, const uint64_t *candidate, const uint64_t *ns, int count) {
    uint64_t stray = middle(candidate, count), usual = middle(incumbent, count);
    if (stray <= usual + STRAY_MORE_NS + middle(ns, count) / STRAY_MORE_SHARE) return 1;
    blame("device", CANDIDATE, v, timed_name(), fresh_when);
    snprintf(problem.message, sizeof problem.message, "the kernel leaves the device at work for %.1f us after its stream is done, "
        "the incumbent for %.1f", (double)stray / 1e3, (double)usual / 1e3);
    return 0;
}

/* As many calls as a contest has in a row, as far as there is room for them, and the sets that there are; 0 after a problem. Each
 * number is read once: the worker may write another one meanwhile. */
static int calls_of(const view *v, int *sets) {
    const volatile measurement *m = job.shared;
    int reps = m->reps, held = *sets = m->sets;
    size_t room = MOST_BYTES / v->bytes > 2 ? MOST_BYTES / v->bytes : 2;
    if (reps >= 1 && reps <= MOST_CALLS && held >= reps) return (size_t)reps < room ? reps : (int)room;
    unbelieved(v, fresh_when);
    return 0;
}

static void draw_order(int *order, int calls, int sets, kpd_rng *rng) {
    int first = (int)(kpd_random(rng) % (uint64_t)sets);
    for (int i = 0; i < calls; i++) {
        int other = (int)(kpd_random(rng) % (uint64_t)(i + 1));
        order[i] = order[other];
        order[other] = (first + i) % sets;
    }
}

static int put(int number, const int *order, int calls, int anew, int compared) {
    view *v = &job.views[number];
    for (int i = 0; i < calls; i++) {
        inputs_anew(v, job.timed, anew);
        arena_show(v);
        if (i == compared) inputs_copy(v, compared_inputs, v->pristine_base);
        worker_row_put(number, order[i]);
        if (!answered(CANDIDATE, v, timed_name(), fresh_when)) return 0;
    }
    return 1;
}

static int is_right(int number, int set, row_calls *found) {
    view *v = &job.views[number];
    worker_fetch(number, set);
    if (!answered(CANDIDATE, v, timed_name(), fresh_when)) return 0;
    inputs_copy(v, v->pristine_base, compared_inputs);
    truth_find(v);
    found->compared++;
    return right(CANDIDATE, v, fresh_when);
}

/* One row of either kernel. Of the candidate's calls one, drawn in secret, is compared. */
static int take_row(int number, int anew, int sets, row_calls *found, kpd_rng *rng) {
    view *v = &job.views[number];
    int order[MOST_CALLS], calls = found->calls, compared = (int)(kpd_random(rng) % (uint64_t)calls);
    slot first = kpd_random(rng) & 1 ? CANDIDATE : INCUMBENT;
    draw_order(order, calls, sets, rng);
    if (!put(number, order, calls, anew, compared)) return 0;
    for (int turn = 0; turn < 2; turn++) {
        slot who = turn ? (slot)!first : first;
        memcpy(job.shared->order, order, (size_t)calls * sizeof *order); /* not sooner than it has to know */
        uint64_t start = now_ns();
        worker_row(who, number, calls);
        if (!answered(who, v, timed_name(), fresh_when)) return 0;
        uint64_t ns = found->ns[who][found->rows] = job.shared->ns[who][0];
        found->strays[who][found->rows] = job.shared->stray_ns;
        if (!fresh_believed(who, v, ns, worker_heard.at - start, calls)) return 0;
        if (who == CANDIDATE && !is_right(number, order[compared], found)) return 0;
    }
    found->rows++;
    return 1;
}

/* Rows for so long, and FEWEST_ROWS whatever they take; none where a contest has no calls in a row. 0 after a problem. */
int rows_timed(int number, int anew, uint64_t limit_ns, row_calls *found) {
    view *v = &job.views[number];
    kpd_rng rng = {secret_draw()};
    worker_row_begin(number);
    int sets;
    if (!answered(CANDIDATE, v, timed_name(), fresh_when) || !(found->calls = calls_of(v, &sets))) return 0;
    if (found->calls < 2) return 1;
    if (!compared_inputs && !(compared_inputs = malloc(arena_bytes))) {
        perror("cannot allocate the inputs of a row");
        exit(2);
    }
    uint64_t start = now_ns();
    while (found->rows < FEWEST_ROWS || (found->rows < MOST_ROWS && now_ns() - start < limit_ns))
        if (!take_row(number, anew, sets, found, &rng)) return 0;
    return none_strays(v, found->strays[INCUMBENT], found->strays[CANDIDATE], found->ns[CANDIDATE], found->rows);
}

void rows_print(const row_calls *found) {
    if (!found->rows) return;
    printf(",\"rows\":{\"calls\":%d,\"compared\":%d,", found->calls, found->compared);
    print_batches("a_ns", found->ns[INCUMBENT], found->rows);
    putchar(',');
    print_batches("b_ns", found->ns[CANDIDATE], found->rows);
    putchar('}');
}
