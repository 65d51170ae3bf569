/* Candidate against incumbent, and whether what was timed was right. */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#define SOME_TURNS 64u
#define SAMPLED 3 /* one case in so many, and one more, is looked at where not all are: a truth takes longer than a timing */
#define FEW_LARGER 8 /* one in so many of the sizes that no case has is larger than one: its truth takes longer */
#define FEW_LISTED 8 /* in place of one in so many of them a case is taken that is not timed */
#define MARGIN 8.0 /* times the incumbent's own error, where that is more than the tolerance: as a check's own tolerance is */
#define TURN_US 1000      /* until the process before has had its turn */
#define HEARD 2 /* times that the worker says something in each part of a timing: where both have one CPU, the driver takes it then */
#define MOST_SWAPS 1000000000u /* far more than a case can take */

/* What the worker has recorded, as it was when that was looked at: it may write something else at any time. */
static measurement record;

/* 1 when the worker's record of a timing can be one. */
static int sound(const view *v, int quads) {
    const measurement *m = &record;
    record = *job.shared;
    int whole = m->reps >= 1 && m->quads >= 1 && m->quads <= quads && m->sets >= 1 && m->swaps <= MOST_SWAPS;
    whole = whole && m->first_set >= 0 && m->first_set < m->sets;
    whole = whole && m->layouts >= 1 && m->layouts <= m->quads;
    if (whole && m->warm_quads >= 0 && m->warm_quads <= MAX_QUADS) return 1;
    unbelieved(v, "timing");
    return 0;
}

static int one_of(kpd_rng *rng, int count) { return (int)(kpd_random(rng) % (uint64_t)count); }

/* A call by `who` on outputs that hold nothing. */
static int right_when_poisoned(slot who, int number, int set, int reps) {
    static const char when[] = "poisoned outputs after timing";
    view *v = &job.views[number];
    arena_poison(v);
    worker_call(who, number, set, reps);
    return answered(who, v, timed_name(), when) && right(who, v, when);
}

/* After the timing: a batch by the candidate that is like the timed ones, over outputs that still hold the last result, for
 * inputs that have changed since (a kernel that returns what it returned before is found out), at a place in it by chance the
 * set that was looked at before; then calls of both on poisoned outputs. The inputs stay the same meanwhile, so one truth
 * serves all. */
static int aftermath(int number, int set, uint64_t seed, kpd_rng *rng) {
    view *v = &job.views[number];
    int reps = record.reps, sets = record.sets;
    int before = one_of(rng, reps < sets ? reps : sets); /* calls of the batch before this set's */
    worker_audit(CANDIDATE, number, (set + sets - before) % sets);
    if (!answered(CANDIDATE, v, timed_name(), "timed outputs")) return 0;
    worker_fetch(number, set);
    if (!answered(CANDIDATE, v, timed_name(), "timed outputs") || !sound(v, MAX_QUADS)) return 0;
    arena_replay(v, seed, (uint64_t)set, record.swaps);
    truth_find(v);
    return right(CANDIDATE, v, "timed outputs") && right_when_poisoned(CANDIDATE, number, set, 1) &&
           right_when_poisoned(INCUMBENT, number, set, reps);
}

/* What the candidate had written, in the middle of the timing; and how long that took by the driver's clocks, without the stop
 * for this. A worker may be slow to wake up once it is let go, and the driver slow to hear that it is done. */
typedef struct {
    int set;
    uint64_t turns; /* swaps that its inputs had seen */
    uint64_t wall_ns; /* from letting it go to hearing from it */
    uint64_t late_ns; /* of that, before it had said that it is awake, or after it was done: at the most */
    uint64_t busy_ns; /* CPU time of the worker */
    uint64_t waited_ns; /* in which it could have run, but others had its CPU; all where the system does not tell */
    uint64_t others_ns; /* of that, what was neither for other threads of its own nor for the driver, at the least */
    uint64_t forced;    /* how often its CPU was taken from it, but by who heard from it */
    int unknown;        /* whether the system does not tell */
} glimpse;

/* Let the worker time batches until it says something; `look_in` nanoseconds later, unless 0, it is to show one. */
static outcome go_on(glimpse *seen, uint64_t look_in) {
    scheduling before = worker_scheduling();
    uint64_t busy = worker_busy(), driver = busy_ns(), from = now_ns();
    worker_resume();
    outcome o = worker_wait(job.limit_ms, 0);
    if (o.how != AWAKE) return o.how == DONE || o.how == PAUSED ? (outcome){.how = BEGUN} : o; /* out of turn */
    uint64_t awake = worker_heard.at;
    if (look_in) worker_look_at(&job.shared->look, awake + look_in);
    o = worker_wait(job.limit_ms, 1);
    seen->wall_ns += worker_heard.at - from;
    seen->late_ns += awake - from + worker_heard.late;
    busy = worker_busy() - busy;
    scheduling after = worker_scheduling();
    uint64_t ran = after.ran - before.ran, forced = after.forced - before.forced, waited = after.waited - before.waited;
    uint64_t own = (busy > ran ? busy - ran : 0) + busy_ns() - driver;
    seen->unknown |= !before.known || !after.known;
    seen->busy_ns += busy;
    seen->waited_ns += seen->unknown ? worker_heard.at - from : waited;
    seen->others_ns += waited > own ? waited - own : 0;
    seen->forced += forced > HEARD ? forced - HEARD : 0;
    return o;
}

static void print_case(const view *v, const glimpse *seen) {
    const measurement *m = &record;
    static int printed;
    printf("%s\"%s\":{\"reps\":%d,", printed++ ? "," : "", v->problem->name, m->reps);
    print_batches("a_ns", m->ns[INCUMBENT], 2 * m->quads);
    putchar(',');
    print_batches("b_ns", m->ns[CANDIDATE], 2 * m->quads);
    printf(",\"layouts\":%d,\"lost_ns\":%" PRIu64, m->layouts, m->lost_ns);
    printf(",\"steal_ticks\":%ld,\"threads\":%d", m->steal_ticks, m->threads);
    printf(",\"clock\":{\"wall_ns\":%" PRIu64 ",\"late_ns\":%" PRIu64, seen->wall_ns, seen->late_ns);
    printf(",\"busy_ns\":%" PRIu64 ",\"waited_ns\":%" PRIu64, seen->busy_ns, seen->waited_ns);
    printf(",\"others_ns\":%" PRIu64 ",\"forced\":", seen->others_ns);
    if (seen->unknown || v->in_place) printf("null"); /* in place, what is restored between calls is spent, too */
    else printf("%" PRIu64, seen->forced);
    printf(",\"spent_ns\":%" PRIu64 "}", m->spent_ns);
    engine_report(m);
    printf("}");
}

static int take_turn(int file) {
    while (flock(file, LOCK_EX))
        if (errno != EINTR) return 0;
    return 1;
}

static int turn_file = -1;

/* Processes that follow one another begin early, so that starting up costs no time, and wait for their turn here. It ends with
 * the process, if not before; the worker was forked before and does not hold on to it. Whoever is ready first is not always whose
 * turn it is: the file holds the number of the last process that had one, and each has its own in KPD_TURN (none: any time will
 * do). Once it is there, the first process has its engine, and others can start theirs: a device's driver makes one after the
 * other. */
void await_turn(void) {
    const char *said = getenv("KPD_TURN");
    uint32_t mine = said ? (uint32_t)strtoul(said, NULL, 10) : 0, last = 0;
    if (turn_file >= 0) return;
    started();
    turn_file = open("turn", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int taken = turn_file >= 0 && take_turn(turn_file);
    while (taken && mine && pread(turn_file, &last, sizeof last, 0) >= 0 && last + 1 != mine) {
        flock(turn_file, LOCK_UN);
        usleep(TURN_US);
        taken = take_turn(turn_file);
    }
    spend("turn");
    if (taken && (!mine || pwrite(turn_file, &mine, sizeof mine, 0) == sizeof mine)) return;
    perror("kpd driver: cannot wait for the turn of this process");
    exit(2);
}

/* Once the worker has ended and the report is written. What this process gives back itself keeps nobody from the device, and takes
 * as long as big buffers have pages. */
void end_turn(void) {
    if (turn_file >= 0) close(turn_file);
    turn_file = -1;
}

/* Let the worker time a case. At a moment that only the driver knows it stops after a batch of the candidate's, and one set by
 * chance of that batch's outputs is put aside; that is quick, so that the device does not come to rest. */
static int timed(int number, int quads, uint64_t seed, kpd_rng *rng, glimpse *seen) {
    view *v = &job.views[number];
    const measurement *m = &record;
    worker_time(number, quads, seed);
    outcome o = worker_wait(job.limit_ms, 0);
    if (o.how == BEGUN) {
        uint64_t ns = o.code > 0 ? (uint64_t)o.code * 1000u : 1;
        o = go_on(seen, 1 + kpd_random(rng) % ns);
    }
    if (o.how != PAUSED) {
        if (well(o, CANDIDATE, v, timed_name(), "timing")) unbelieved(v, "timing");
        return 0;
    }
    if (!sound(v, quads)) return 0;
    seen->turns = m->swaps;
    seen->set = (m->first_set + one_of(rng, m->reps < m->sets ? m->reps : m->sets)) % m->sets;
    worker_fetch(number, seen->set);
    if (!answered(CANDIDATE, v, timed_name(), "timing")) return 0;
    arena_keep(v);
    return well(go_on(seen, 0), CANDIDATE, v, timed_name(), "timing") && sound(v, quads);
}

/* Time a case as a contest does, and leave it at that. */
int rehearsed(int number, int quads) {
    kpd_rng rng = {secret_draw()};
    glimpse seen = {.set = 0};
    return timed(number, quads, secret_draw(), &rng, &seen);
}

/* Of each case: what its inputs follow from, and the swaps in them. */
enum { INPUTS, SWAPS };

static int time_one(int number, size_t place, int quads, uint64_t seed, int looks, kpd_rng *rng) {
    view *v = &job.views[number];
    glimpse seen = {.set = 0};
    *v = *ahead_take(place);
    arena_show(v);
    arena_poison(v);
    spend("inputs");
    await_turn();
    ahead_rest(1); /* no work beside the timing, and no second use of the harness after it */
    if (!loaded()) return 0; /* only now: whoever's turn it is may be writing its report */
    if (!timed(number, quads, seed, rng, &seen)) return 0;
    spend("timing");
    if (!looks) {
        print_case(v, &seen);
        return 1;
    }
    worker_fetch(number, seen.set);
    if (!answered(CANDIDATE, v, timed_name(), "timing")) return 0;
    arena_replay(v, seed, (uint64_t)seen.set, seen.turns);
    truth_find(v);
    deviation found = truth_compare(v, v->kept, &job.how, bounds_of((size_t)number, job.timed));
    arena_replay(v, seed, (uint64_t)seen.set, record.swaps);
    if (!unharmed(CANDIDATE, v, timed_name(), "timing")) return 0;
    print_case(v, &seen);
    return near(found, CANDIDATE, v, "timed outputs") && aftermath(number, seen.set, seed, rng);
}

/* A case that is not timed, and so was called between fences only, or a size that no case has. Returns the number of the case
 * whose bounds hold; -1 where there is none. */
static int untimed(kpd_rng *rng, kpd_case *size) {
    size_t c = kpd_random(rng) % kpd_task.case_count;
    uint64_t draw = kpd_random(rng);
    size_kind kind = draw % FEW_LARGER == 0 ? LARGER_SIZE : draw % 2 ? THIN_SIZE : ANY_SIZE;
    if (kpd_random(rng) % FEW_LISTED || kpd_task.cases[c].use != KPD_CHECK_ONLY) return size_drawn(rng, size, kind);
    *size = kpd_task.cases[c];
    return (int)c;
}

/* What is timed is another object than what was checked: linked anew, and called in another order. So here, too, it gets a size
 * and a kind of inputs that nobody can foresee. A kernel can find out that no fences stand here, as they do in a check: so it must
 * be as right as there. It is asked where the incumbent is right, in a process of its own. */
static int right_elsewhere(kpd_rng *rng) {
    static const char when[] = "another size after timing";
    static kpd_case drawn;
    int number = (int)kpd_task.case_count, near_case = untimed(rng, &drawn);
    kpd_distribution d = promised_kind(rng);
    view *v = &job.views[number];
    if (near_case < 0) return 1;
    const bound *bounds = bounds_of((size_t)near_case, d);
    arena_resize(v, &drawn, 0);
    size_watched(&drawn);
    arena_fill(v, d);
    size_watched(NULL);
    void *const *own = referee_call_and_truth(v);
    drawn.name = size_name(&drawn);
    double error = own ? truth_compare(v, own, &job.how, bounds).multiple : HOPELESS;
    if (error > 1.0) return 1;
    worker_resize(number, &drawn, 0);
    if (!answered(CANDIDATE, v, distribution_names[d], when)) return 0;
    arena_poison(v);
    worker_call(CANDIDATE, number, 0, 1);
    if (!answered(CANDIDATE, v, distribution_names[d], when) || !unharmed(CANDIDATE, v, distribution_names[d], when)) return 0;
    deviation found = truth_compare(v, v->data, &job.how, bounds);
    if (found.multiple <= fmax(1.0, MARGIN * error)) return 1;
    blame("wrong", CANDIDATE, v, distribution_names[d], when);
    problem.worst = found;
    return 0;
}

void time_pair(const char *incumbent, const char *candidate, slot first, int quads) {
    kpd_rng rng = {secret_draw()};
    int going = 1, looks;
    size_t order[KPD_MAX_CASES], cases = 0;
    static uint64_t drawn[KPD_MAX_CASES][2];
    job.paths[INCUMBENT] = incumbent;
    job.paths[CANDIDATE] = candidate;
    job.first = first;
    for (size_t c = 0; c < kpd_task.case_count; c++) {
        if (kpd_task.cases[c].use == KPD_CHECK_ONLY) continue;
        order[cases++] = c;
        drawn[c][INPUTS] = secret_draw();
        drawn[c][SWAPS] = secret_draw();
        for (uint64_t turn = 0; kpd_task.change && turn < SOME_TURNS; turn++)
            arena_patch(&job.views[c], drawn[c][SWAPS], turn, 0); /* a harness that is wrong shows here, not as a worker that dies */
    }
    looks = job.trusted ? 0 : job.sampled ? 1 + (int)cases / SAMPLED : (int)cases;
    ahead_begin(order, cases, drawn, 1);
    printf("{\"cases\":{");
    for (size_t place = 0; place < cases && going; place++) {
        size_t c = order[place];
        int look = one_of(&rng, (int)(cases - place)) < looks; /* so that each choice of so many cases is as likely */
        looks -= look;
        going = time_one((int)c, place, quads, drawn[c][SWAPS], look, &rng);
        spend("looks");
        ahead_leave();
    }
    ahead_end();
    if (going && unpatched() && job.any_size) right_elsewhere(&rng);
    spend("code");
    printf("},\"compared\":%s,", code_compared() ? "true" : "false");
    print_spent();
    print_problem();
    printf("}\n");
}
