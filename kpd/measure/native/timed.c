/* Candidate against incumbent, and whether what was timed was right. */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>

#define MOST_SWAPS 1000000000u /* far more than a case can take */

/* 1 when the worker's record of a timing can be one. */
static int sound(const view *v, int quads) {
    const measurement *m = job.shared;
    int whole = m->reps >= 1 && m->quads >= 1 && m->quads <= quads && m->sets >= 1 && m->swaps <= MOST_SWAPS;
    if (whole && m->warm_quads >= 0 && m->warm_quads <= MAX_QUADS) return 1;
    blame("damage", CANDIDATE, v, "normal", "timing");
    snprintf(problem.message, sizeof problem.message, "wrote over the driver's own record");
    return 0;
}

/* A call by `who` on outputs that hold nothing. */
static int right_when_poisoned(slot who, int number, int set, int reps) {
    static const char when[] = "poisoned outputs after timing";
    view *v = &job.views[number];
    arena_poison(v);
    worker_call(who, number, set, reps);
    return answered(who, v, "normal", when) && right(who, v, when);
}

/* After the timing: a batch by the candidate that is like the timed ones, over outputs that still hold the last result, for
 * inputs that have changed since (a kernel that returns what it returned before is found out), of which one set by chance is
 * looked at; then calls of both on poisoned outputs. The inputs stay the same meanwhile, so one truth serves all. */
static int aftermath(int number, int set, uint64_t seed, kpd_rng *rng) {
    view *v = &job.views[number];
    int reps = job.shared->reps, sets = job.shared->sets;
    int before = (int)(kpd_random(rng) % (uint64_t)(reps < sets ? reps : sets)); /* calls of the batch before this set's */
    worker_audit(CANDIDATE, number, (set + sets - before) % sets);
    if (!answered(CANDIDATE, v, "normal", "timed outputs")) return 0;
    worker_fetch(number, set);
    if (!answered(CANDIDATE, v, "normal", "timed outputs") || !sound(v, MAX_QUADS)) return 0;
    arena_replay(v, seed, (uint64_t)set, job.shared->swaps);
    truth_find(v);
    return right(CANDIDATE, v, "timed outputs") && right_when_poisoned(CANDIDATE, number, set, 1) &&
           right_when_poisoned(INCUMBENT, number, set, reps);
}

static void print_case(const view *v) {
    const measurement *m = job.shared;
    static int printed;
    printf("%s\"%s\":{\"reps\":%d,", printed++ ? "," : "", v->problem->name, m->reps);
    print_batches("a_ns", m->ns[INCUMBENT], 2 * m->quads);
    putchar(',');
    print_batches("b_ns", m->ns[CANDIDATE], 2 * m->quads);
    printf(",\"disturbed\":%d,\"steal_ticks\":%ld,\"threads\":%d", m->disturbed, m->steal_ticks, m->threads);
    engine_report(m);
    printf("}");
}

/* Processes that follow one another begin early, so that starting up costs no time, and wait for their turn here. It ends with
 * the process; the worker was forked before and does not hold on to it. */
static void await_turn(void) {
    static int file = -1;
    if (file >= 0) return;
    file = open("turn", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    while (file < 0 || flock(file, LOCK_EX)) {
        if (file >= 0 && errno == EINTR) continue;
        perror("kpd driver: cannot wait for the turn of this process");
        exit(2);
    }
}

static int time_one(int number, int quads, kpd_rng *rng) {
    view *v = &job.views[number];
    arena_fill(v, rng, KPD_NORMAL);
    arena_poison(v);
    uint64_t seed = kpd_random(rng);
    if (!loaded()) return 0;
    await_turn();
    engine_look(0);
    worker_time(number, quads, seed);
    if (!answered(CANDIDATE, v, "normal", "timing")) return 0;
    engine_look(1);
    if (!sound(v, quads)) return 0;
    int set = (int)(kpd_random(rng) % (uint64_t)job.shared->sets);
    worker_fetch(number, set);
    if (!answered(CANDIDATE, v, "normal", "timing")) return 0;
    arena_replay(v, seed, (uint64_t)set, job.shared->swaps);
    if (!unharmed(CANDIDATE, v, "normal", "timing")) return 0;
    print_case(v);
    return aftermath(number, set, seed, rng);
}

void time_pair(const char *incumbent, const char *candidate, slot first, int quads, uint64_t seed) {
    const char *paths[2] = {[INCUMBENT] = incumbent, [CANDIDATE] = candidate};
    kpd_rng rng = {seed};
    int going = 1;
    worker_load(paths, first);
    printf("{\"cases\":{");
    for (size_t c = 0; c < kpd_task.case_count && going; c++)
        if (kpd_task.cases[c].use != KPD_CHECK_ONLY) going = time_one((int)c, quads, &rng);
    printf("},");
    print_problem();
    printf("}\n");
}
