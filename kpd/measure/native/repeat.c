/* Does the candidate do the same each time? The same calls on two sets of inputs in turn, as often as the time allows: what is wrong
 * once in a hundred calls, or right only when threads happen to run in a good order, shows here. On one set alone what the call
 * before has left would be right: a sum that is read before it is written.
 *
 * The first call on each is compared with the truth, the others bit by bit with that. One that differs has to be right, too; and
 * where results must repeat, the task's own kernel is asked whether it repeats itself.
 */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

#define OWN_CALLS 20 /* of the task's own kernel, at the least, before it counts as one that repeats itself */
#define FEWEST 4     /* calls in each case, whatever they take */

/* What is the driver's own of each of the two. */
static struct {
    char *pristine;
    double *truth;
    double spread[KPD_MAX_BUFFERS];
} turns[2];

static void *must(void *memory) {
    if (memory) return memory;
    perror("cannot allocate a second set of inputs");
    exit(2);
}

/* Exchange the view's inputs, and what they should give, for the other ones. */
static void turn(view *v) {
    size_t room = 0; /* for the elements of all outputs: truth, scale and what is kept have as much each */
    for (size_t b = 0; b < kpd_task.buffer_count; b++)
        if (is_written(&v->buffers[b])) room = (size_t)(v->scale[b] - v->want[b]);
    if (!turns[1].pristine) {
        turns[0].pristine = v->pristine_base;
        turns[0].truth = v->truth;
        turns[1].pristine = must(malloc(arena_bytes));
        turns[1].truth = must(malloc(3 * room * sizeof *v->truth));
    }
    int to = v->truth == turns[0].truth;
    memcpy(turns[!to].spread, v->spread, sizeof v->spread);
    memcpy(v->spread, turns[to].spread, sizeof v->spread);
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        v->pristine[b] = turns[to].pristine + v->offset[b];
        if (!is_written(&v->buffers[b])) continue;
        v->want[b] = turns[to].truth + (v->want[b] - v->truth);
        v->scale[b] = v->want[b] + room;
        v->kept[b] = v->scale[b] + room;
    }
    v->pristine_base = turns[to].pristine;
    v->truth = turns[to].truth;
}

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
    for (int set = 0; set < 2; set++) {
        turn(v);
        arena_fill(v, job.timed);
        truth_find(v);
    }
    await_turn();
    if (!loaded()) return 0;
    for (; calls < FEWEST || now_ns() - start < limit_ns; calls++) {
        snprintf(when, sizeof when, "call %zu on two sets of inputs in turn", calls + 1);
        turn(v);
        arena_show(v);
        arena_poison(v);
        worker_call(CANDIDATE, (int)number, 0, 1);
        if (!answered(CANDIDATE, v, timed_name(), when)) return 0;
        if (calls > 1 && !arena_differs(v, &b, &i)) {
            if (!unharmed(CANDIDATE, v, timed_name(), when)) return 0;
            continue;
        }
        if (!right(CANDIDATE, v, when)) return 0;
        if (calls < 2) {
            arena_keep(v);
            start = now_ns();
        } else if (!free) {
            uint64_t asking = now_ns();
            if (must_repeat(v, asked, calls, limit_ns)) {
                blame_change(v, b, i, when);
                return 0;
            }
            start += now_ns() - asking; /* that was no call of the candidate's */
            free = 1;
        }
    }
    return calls;
}

/* `ms` are shared by the cases. The quickest case has twice as much besides: some thousand
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
    if (quick) calls[quickest] += repeat_one(quickest, asked, (uint64_t)ms * 2000000u);
    printf("{\"calls\":{");
    for (size_t c = 0; c < done; c++) printf("%s\"%s\":%zu", c ? "," : "", kpd_task.cases[c].name, calls[c]);
    printf("},");
    print_problem();
    printf("}\n");
}
