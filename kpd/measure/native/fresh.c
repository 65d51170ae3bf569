/* The audit of a gain on fresh contents: every call finds inputs that are new in all their bytes.
 *
 * They are made here, out of the clock and out of the worker's sight. Where a harness is slow to fill them, the elements that
 * it filled are put into another order, block by block: that is what the swaps of a timing do, all at once. A harness with a
 * change of its own (see kpd_task.h) may not be able to take that, so it fills them anew for each call.
 *
 * Before that, a part of a timing, so long by chance, and then calls that differ from the fresh ones in nothing but the
 * contents: as in a timing, little changes from call to call. All bytes are written and all caches are as with fresh contents.
 * So what is gained in these calls only is gained by what a kernel keeps from call to call. Nothing that it sees tells them from
 * a timing, but that on a GPU they come one by one; and its outputs still hold what was there, as in one: a kernel that keeps
 * results does so here.
 *
 * On a CPU the incumbent's calls are made in a process of its own (apart.c). Both processes are stopped but from when the clock has
 * started until they have answered: a candidate finds nothing of the incumbent that is timed, cannot work beside it, and has no time for
 * its inputs before the clock starts, nor for its results after its answer but until it is stopped. Bringing inputs into the
 * cache, as they are in a timing, is no work of a process that is timed, either: the driver does it, before the clock.
 */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PLACES MAX_LAYOUTS /* places of the code in memory: a kernel's calls differ by more from one to the next than within one */
#define PAIRS_A_PLACE 3  /* of calls, one of each side, for either kind of contents; where calls take long it is one, or two of which one comes later */
#define PAIRS (PLACES * PAIRS_A_PLACE)
#define FEWEST_PAIRS 4   /* whatever they cost */
#define REHEARSED 4      /* quads of a timing before a case's calls, at the least … */
#define MOST_REHEARSED 64 /* … and less than this many more; it ends anywhere in what a contest times … */
#define SHORT_MS 500     /* … but mostly early in a process that has less time than this: others of its audits have such parts, too */
#define SWAPPED_SHARE 3  /* a third of the time is for contents that hardly change */
#define FILLING_NS 480000000u /* for filling, over all cases: above that the elements are put into another order */
#define LEAST_SHARE 4    /* a case has this part of an equal share of the time, whatever the others took */
#define LINE 64          /* bytes of a cache's line, at the least */
#define DEAR 4           /* a truth that takes more than one in so many parts of a case's time is found once only */

const char fresh_when[] = "fresh inputs";

/* Whether the harness is quick enough to fill the inputs for each of so many calls, whatever time this process has for them: in
 * another order some outputs stay the same. */
static int fills_anew(uint64_t fill_ns, int cases) { return kpd_task.change || fill_ns * 2 * PAIRS * (uint64_t)cases < FILLING_NS; }

/* What is in the inputs of a call. */
typedef enum { SWAPPED, FRESH, CONTENTS } contents;

typedef struct {
    int pairs[CONTENTS], compared, anew, dear, secret, places;
    uint64_t first, step; /* the order of the places */
    uint64_t beside_ns; /* of the part of a timing, and of rows */
    uint64_t dear_ns; /* a comparison that takes longer is made once only */
    uint64_t seed, turns; /* of the swaps that the pristine inputs have seen */
    uint64_t ns[CONTENTS][2][PAIRS];
    uint64_t passed[2][PAIRS]; /* of FRESH ones, by the driver's own clock: from asking for a call to hearing of its end */
    uint64_t strays[2][PAIRS]; /* of these on a device, what was still at work when their stream was done */
    row_calls rows;
} found;

/* As much is read and written for either, so that the caches are as after the other. */
static void make(view *v, contents what, int first, found *f) {
    if (what == FRESH) inputs_anew(v, job.timed, f->anew);
    else inputs_swapped(v, f->seed, f->turns, first);
    f->turns += what == SWAPPED && first;
    arena_show(v);
}

/* Into the cache, where the inputs of a timing are. The worker has the same CPU, or shares a cache with that. */
static void bring_in(const view *v) {
    volatile char sum = 0;
    for (size_t i = 0; i < v->bytes; i += LINE) sum += v->base[i];
}

/* 1 when so many calls that took so long by this process's clock can have taken `ns`. */
int fresh_believed(slot who, const view *v, uint64_t ns, uint64_t passed, int calls) {
    if (ns && ns <= passed) return 1;
    blame("forged", who, v, timed_name(), fresh_when);
    snprintf(problem.message, sizeof problem.message, "says that %s of %.3f ms took %.3f ms", calls == 1 ? "a call" : "calls",
        (double)passed / 1e6, (double)ns / 1e6);
    return 0;
}

/* Fresh inputs lie at other addresses, too, each time: on a CPU. A device has several sets of buffers. */
static int moved(int number, slot who, contents what) {
    if (what != FRESH || engine_uses_device) return 1;
    apart_turn_to(who);
    worker_move(number, secret_draw() | ALL_OF_THEM);
    return apart_answered(who, &job.views[number]);
}

/* A call of `who`, and the time of it by this process's clock. Swapped contents are those of the other side's call before: from
 * one call of a kernel to its next one as much changes as within a batch of a timing. One at a time: a kernel finds no later
 * call's inputs. 0 after a failure. */
static uint64_t call(int number, slot who, contents what, int layout, int first, found *f, uint64_t *passed) {
    view *v = &job.views[number];
    if (!moved(number, who, what)) return 0;
    make(v, what, first, f);
    if (!engine_uses_device) bring_in(v);
    uint64_t start = now_ns();
    apart_ask(who, number, layout);
    if (!apart_answered(who, v)) return 0;
    uint64_t ns = apart_ns(who);
    *passed = worker_heard.at - start;
    return fresh_believed(who, v, ns, *passed, 1) ? ns : 0;
}

static int compared(int number, slot who, found *f) {
    view *v = &job.views[number];
    if (engine_uses_device) {
        worker_fetch(number, job.shared->first_set);
        if (!answered(who, v, timed_name(), fresh_when)) return 0;
    }
    truth_find(v);
    f->compared++;
    return right(who, v, fresh_when);
}

/* A pair of calls. Of each FEWEST_PAIRS fresh ones one, drawn in secret, is compared. */
static int take_pair(int number, contents what, int layout, found *f, kpd_rng *rng) {
    slot first = kpd_random(rng) & 1 ? CANDIDATE : INCUMBENT;
    int pair = f->pairs[what];
    if (pair % FEWEST_PAIRS == 0) f->secret = pair + (int)(kpd_random(rng) % FEWEST_PAIRS);
    for (int turn = 0; turn < 2; turn++) {
        slot who = turn ? (slot)!first : first;
        uint64_t passed;
        if (!(f->ns[what][who][pair] = call(number, who, what, layout, !turn, f, &passed))) return 0;
        if (what == FRESH) f->passed[who][pair] = passed, f->strays[who][pair] = job.shared->stray_ns;
        if (what != FRESH || who != CANDIDATE || f->dear || pair != f->secret) continue;
        uint64_t comparing = now_ns();
        if (!compared(number, who, f)) return 0;
        f->dear = now_ns() - comparing > f->dear_ns;
    }
    f->pairs[what] = pair + 1;
    return 1;
}

/* Pairs of calls with such contents, place by place in a drawn order, until `deadline` at the latest. Fresh contents, which have
 * twice the time, come to no place where there were no others: the first call there may find memory that nobody has touched. Where
 * calls take long they come to each place once, and then to each once more: so those that follow one another, of which the quickest
 * counts, are of several places, and a place in which a kernel is slow decides little. */
static int take_pairs(int number, contents what, uint64_t deadline, found *f, kpd_rng *rng) {
    uint64_t from = now_ns(), time = deadline > from ? deadline - from : 0;
    int a_place = PAIRS_A_PLACE, places = what == FRESH ? f->places : PLACES, all = places;
    for (int place = 0; place < all; place++) {
        int layout = (int)((f->first + f->step * (uint64_t)(place % places)) % PLACES);
        int new_copy = what == SWAPPED && (!engine_uses_device || place == 0); /* a device has no other copies of a kernel */
        for (int pair = new_copy ? -1 : 0; pair < a_place; pair++) {
            if (f->pairs[what] >= FEWEST_PAIRS && now_ns() >= deadline) return 1;
            if (!take_pair(number, what, layout, f, rng)) return 0;
            if (pair < 0) f->pairs[what]--; /* not counted: this copy of a kernel has not seen the inputs that hardly change now */
            else if (what == SWAPPED) f->places = place + 1;
            if (pair != 0 || f->pairs[what] != 1 || (now_ns() - from) * PAIRS <= time) continue;
            a_place = 1;
            if (what == FRESH) all = 2 * places;
        }
    }
    return 1;
}

static int begun(int number, slot who) {
    apart_turn_to(who);
    worker_fresh_begin(number, secret_draw());
    return apart_answered(who, &job.views[number]);
}

/* Quads of a timing: any number of them is possible. */
static int drawn_quads(int budget_ms, kpd_rng *rng) {
    uint64_t most = MOST_REHEARSED;
    for (int draw = 0; draw < (budget_ms < SHORT_MS ? 3 : 0); draw++) most = 1 + kpd_random(rng) % most;
    return REHEARSED + (int)(kpd_random(rng) % most);
}

/* In the time there is no part of a timing. */
static int audit_one(int number, uint64_t budget_ns, int cases, int quads, manner how, kpd_rng *rng, found *f) {
    view *v = &job.views[number];
    apart_turn_to(CANDIDATE);
    if (!engine_uses_device) {
        uint64_t from = now_ns();
        arena_fill(v, job.timed);
        arena_poison(v);
        if (!rehearsed(number, quads)) return 0;
        f->beside_ns = now_ns() - from;
    }
    uint64_t start = now_ns();
    arena_fill(v, job.timed);
    uint64_t filling = now_ns() - start;
    arena_poison(v);
    if (!inputs_kept(v)) {
        fprintf(stderr, "kpd driver: no memory for the inputs of %s\n", v->problem->name);
        worker_stop();
        exit(2);
    }
    if ((!engine_uses_device && !begun(number, INCUMBENT)) || !begun(number, CANDIDATE)) return 0;
    f->seed = secret_draw();
    f->anew = fills_anew(filling, cases);
    f->dear_ns = budget_ns / (8 * DEAR);
    f->first = secret_draw();
    f->step = secret_draw() | 1; /* an odd step comes to each place once */
    start = now_ns();
    if (!take_pairs(number, SWAPPED, start + budget_ns / SWAPPED_SHARE, f, rng)) return 0;
    if (!take_pairs(number, FRESH, start + budget_ns, f, rng)) return 0;
    if (engine_uses_device && !none_strays(v, f->strays[INCUMBENT], f->strays[CANDIDATE], f->ns[FRESH][CANDIDATE], f->pairs[FRESH])) return 0;
    if (how == SINGLY) return 1;
    start = now_ns();
    int taken = rows_timed(number, f->anew, budget_ns, &f->rows);
    f->beside_ns += now_ns() - start;
    return taken;
}

static void print_found(const view *v, const found *f) {
    static int printed;
    printf("%s\"%s\":{\"reps\":1,\"compared\":%d,\"anew\":%s,", printed++ ? "," : "", v->problem->name, f->compared,
        f->anew ? "true" : "false");
    print_batches("swapped_a_ns", f->ns[SWAPPED][INCUMBENT], f->pairs[SWAPPED]);
    putchar(',');
    print_batches("swapped_b_ns", f->ns[SWAPPED][CANDIDATE], f->pairs[SWAPPED]);
    putchar(',');
    print_batches("a_ns", f->ns[FRESH][INCUMBENT], f->pairs[FRESH]);
    putchar(',');
    print_batches("b_ns", f->ns[FRESH][CANDIDATE], f->pairs[FRESH]);
    putchar(',');
    int seen = engine_uses_device ? 0 : f->pairs[FRESH]; /* a device has a clock of its own */
    print_batches("a_passed_ns", f->passed[INCUMBENT], seen);
    putchar(',');
    print_batches("b_passed_ns", f->passed[CANDIDATE], seen);
    rows_print(&f->rows);
    putchar('}');
}

void fresh_pair(const char *incumbent, const char *candidate, slot first, int budget_ms, manner how) {
    kpd_rng rng = {secret_draw()};
    int going = 1, cases = 0, left;
    static found f;
    job.paths[INCUMBENT] = incumbent;
    job.paths[CANDIDATE] = candidate;
    job.first = first;
    for (size_t c = 0; c < kpd_task.case_count; c++) cases += kpd_task.cases[c].use != KPD_CHECK_ONLY;
    left = cases;
    uint64_t budget_ns = (uint64_t)budget_ms * 1000000u;
    printf("{\"cases\":{");
    await_turn();
    going = loaded() && apart_loaded();
    uint64_t end = now_ns() + budget_ns, least = budget_ns / (uint64_t)(cases * LEAST_SHARE);
    for (size_t c = 0; c < kpd_task.case_count && going; c++) {
        if (kpd_task.cases[c].use == KPD_CHECK_ONLY) continue;
        memset(&f, 0, sizeof f);
        uint64_t now = now_ns(), share = end > now ? (end - now) / (uint64_t)left : 0; /* of what others have left */
        left--;
        going = audit_one((int)c, share > least ? share : least, cases, drawn_quads(budget_ms, &rng), how, &rng, &f);
        end += f.beside_ns;
        if (going) print_found(&job.views[c], &f);
    }
    apart_turn_to(CANDIDATE);
    spend("calls");
    if (going) unpatched();
    spend("code");
    printf("},");
    print_spent();
    print_problem();
    printf("}\n");
}
