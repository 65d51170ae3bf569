/* Do calls take the same when their size is another one each time? A kernel can make ready for a size, and be quick for as long
 * as that stays: all calls of a contest are of one case, and then of the next. So cases take turns here, each called three
 * times in a row: what the first of these takes of a CPU's time, and what the third.
 *
 * After another size caches and what the processor has learnt are not those of this one, but before each call the driver has
 * written inputs and outputs anew anyway. Where it is twice as long on average the task's own kernel is called in the same way:
 * a candidate may lose as much as that does, and twice as much. What is made ready for a size and not given back shows here, too,
 * as memory that grows from round to round.
 */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_BYTES (64u << 20) /* of the inputs and truths of all cases that take part */
#define MOST_ROUNDS 64
#define FEWEST_ROUNDS 8 /* where first calls look long, whatever they take, … */
#define LONGEST 20      /* … but for no more than so many times the time that others have */
#define FIRST_ROUNDS 3  /* in these it takes memory that later ones find again */
#define IN_A_ROW 3
#define LOOKED 4 /* in one of so many rounds the first calls are compared */
#define LEFT_OUT 2 /* the longest of many: other work, or the hypervisor, may be in their time */
#define MOST_TIMES 2.0

static view sets[KPD_MAX_CASES];
static size_t cases;
static const char when[] = "calls of the cases in turn";

static char *take(void) {
    size_t bytes = 0;
    cases = 0;
    for (size_t c = 0; c < kpd_task.case_count; c++) {
        size_t more = arena_own_bytes(&job.views[c], 1);
        if (kpd_task.cases[c].use == KPD_CHECK_ONLY || bytes + more > MOST_BYTES) continue;
        bytes += more;
        sets[cases++].number = c;
    }
    char *memory = cases > 1 ? malloc(bytes) : NULL, *at = memory;
    for (size_t i = 0; memory && i < cases; i++) {
        const view *of = &job.views[sets[i].number];
        sets[i] = arena_own(of, at, 1);
        at += arena_own_bytes(of, 1);
    }
    return memory;
}

static int keeps_none(void) {
    long grown = memory_grown();
    if (!grown) return 1;
    blame("damage", CANDIDATE, NULL, timed_name(), when);
    snprintf(problem.message, sizeof problem.message, "keeps memory of each size: it has %.1f MiB more than after the first %d rounds",
        (double)grown / 1024.0, FIRST_ROUNDS);
    return 0;
}

static uint64_t candidate_busy(const view *v) {
    uint64_t passed;
    return candidate_takes(v, when, &passed);
}

static int right_in_turn(uint64_t (*busy)(const view *), view *v) {
    if (busy != candidate_busy) return 1;
    truth_find(v);
    return right(CANDIDATE, v, when);
}

/* How many times as long the first calls take as the third ones of their case, on average. */
static double times_in_turn(uint64_t (*busy)(const view *), uint64_t limit_ns) {
    static uint64_t first[KPD_MAX_CASES][MOST_ROUNDS], third[KPD_MAX_CASES][MOST_ROUNDS];
    static double times[KPD_MAX_CASES * MOST_ROUNDS];
    uint64_t start = now_ns(), sums[2] = {0, 0};
    int rounds = 0, looked = (int)(secret_draw() % LOOKED);
    for (uint64_t passed = 0; rounds < MOST_ROUNDS; rounds++, passed = now_ns() - start) {
        int looks_long = rounds < FEWEST_ROUNDS && (double)sums[0] > MOST_TIMES * (double)sums[1];
        if (passed > (looks_long ? LONGEST * limit_ns : limit_ns)) break;
        if (rounds == FIRST_ROUNDS && busy == candidate_busy) memory_begin();
        for (size_t i = 0; i < cases; i++) {
            for (int call = 0; call < IN_A_ROW; call++) {
                arena_fill_unseen(&sets[i], job.timed, secret_draw()); /* who keeps results has none for these */
                uint64_t ns = busy(&sets[i]);
                if (!ns || (call == 0 && rounds % LOOKED == looked && !right_in_turn(busy, &sets[i]))) return 1.0;
                *(call ? &third[i][rounds] : &first[i][rounds]) = ns;
            }
            sums[0] += first[i][rounds];
            sums[1] += third[i][rounds];
        }
    }
    if (rounds > FIRST_ROUNDS && busy == candidate_busy && !keeps_none()) return 1.0;
    size_t count = 0;
    for (size_t i = 0; i < cases; i++) {
        double usual = (double)middle_of(third[i], rounds);
        for (int round = 0; round < rounds; round++) times[count++] = (double)first[i][round] / usual;
    }
    return mean_of_least(times, count, count > FEWEST_ROUNDS * LEFT_OUT * 2 ? count - LEFT_OUT : count);
}

/* 0 after a problem. */
int sizes_in_turn(uint64_t limit_ns) {
    char *memory = take();
    if (!memory) return 1;
    double times = times_in_turn(candidate_busy, limit_ns);
    if (times > MOST_TIMES) {
        double own = times_in_turn(referee_busy, limit_ns), again = times_in_turn(candidate_busy, limit_ns);
        times = again < times ? again : times;
        if (!problem.kind && times > MOST_TIMES * (own > 1.0 ? own : 1.0)) {
            blame("damage", CANDIDATE, NULL, timed_name(), when);
            snprintf(problem.message, sizeof problem.message,
                "takes %.1f times as long on average when the call before was of another size (the task's own kernel: %.1f times)", times, own);
        }
    }
    free(memory);
    return !problem.kind;
}
