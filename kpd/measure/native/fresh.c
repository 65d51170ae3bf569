/* The audit of a gain on fresh contents: every call finds inputs that are new in all their bytes.
 *
 * They are made here, out of the clock and out of the worker's sight. Where a harness is slow to fill them, the elements that
 * it filled are put into another order, block by block: that is what the swaps of a timing do, all at once. A harness with a
 * change of its own (see kpd_task.h) may not be able to take that, so it fills them anew for each call.
 */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PAIRS 40         /* batches of each side */
#define FEWEST_PAIRS 4   /* whatever they cost */
#define MOST_REPS 256
#define BLOCK 127u       /* elements that stay together; rows are rarely a multiple of it */
#define BLOCKS_A_STEP 8192u
#define DEAR 4           /* a truth that takes more than one in so many parts of a case's time is found once only */

static char *filled; /* the harness's own inputs, to be put into other orders; where they lie is as in the pristine ones */

typedef struct {
    const char *from;
    char *to;
    size_t size, count, blocks;
    uint64_t factor, offset, key;
} shuffle;

static uint64_t common(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void shuffle_part(void *context, size_t from, size_t to) {
    const shuffle *s = context;
    for (size_t at = from; at < to; at += BLOCK) {
        size_t block = at / BLOCK, length = to - at < BLOCK ? to - at : BLOCK;
        size_t source = block < s->blocks ? (size_t)((s->factor * block + s->offset) % s->blocks) * BLOCK : at;
        size_t turn = (size_t)(kpd_mixed(s->key + block) % length), rest = length - turn;
        memcpy(s->to + at * s->size, s->from + (source + turn) * s->size, rest * s->size);
        memcpy(s->to + (at + rest) * s->size, s->from + source * s->size, turn * s->size);
    }
}

static void reorder(const view *v, kpd_rng *rng) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        if (!is_read(&v->buffers[b])) continue;
        size_t count = v->buffers[b].count;
        shuffle s = {filled + v->offset[b], v->pristine[b], element(v->buffers[b].type), count, count / BLOCK, 1, 0, kpd_random(rng)};
        if (s.blocks > 1) {
            do s.factor = kpd_random(rng) % s.blocks;
            while (common(s.factor, s.blocks) != 1);
            s.offset = kpd_random(rng) % s.blocks;
        }
        kpd_parallel(count, BLOCK * BLOCKS_A_STEP, shuffle_part, &s);
    }
}

/* Whether the harness is quick enough to fill the inputs for each of so many calls. */
static int fills_anew(const view *v, uint64_t fill_ns, uint64_t budget_ns) {
    if (kpd_task.change || fill_ns * 2 * PAIRS < budget_ns / 2) return 1;
    if (!filled) filled = malloc(arena_bytes);
    if (!filled) return 1;
    memcpy(filled, v->pristine_base, v->bytes);
    return 0;
}

typedef struct {
    int reps, pairs, compared, anew;
    uint64_t ns[2][PAIRS];
} found;

static void make(view *v, int anew, kpd_rng *rng) {
    if (anew) kpd_task.fill(v->problem, rng, job.timed, v->pristine);
    else reorder(v, rng);
    arena_show(v);
    arena_poison(v);
}

/* A batch on contents of its own. 0 after a failure. */
static uint64_t batch(int number, slot who, const found *f, kpd_rng *rng) {
    static const char when[] = "fresh inputs";
    view *v = &job.views[number];
    for (int set = 0; set < f->reps; set++) {
        make(v, f->anew, rng);
        worker_take(number, set);
        if (!answered(who, v, timed_name(), when)) return 0;
    }
    uint64_t start = now_ns();
    worker_fresh(who, number, f->reps, (int)(kpd_random(rng) % MAX_LAYOUTS));
    if (!answered(who, v, timed_name(), when)) return 0;
    uint64_t ns = job.shared->ns[who][0], passed = now_ns() - start;
    if (ns && ns <= passed) return ns;
    blame("forged", who, v, timed_name(), when);
    snprintf(problem.message, sizeof problem.message, "says that calls of %.3f ms took %.3f ms", (double)passed / 1e6, (double)ns / 1e6);
    return 0;
}

/* The last of a batch's contents is the one that the driver still has. */
static int compared(int number, slot who, found *f) {
    static const char when[] = "fresh inputs";
    view *v = &job.views[number];
    worker_fetch(number, f->reps - 1);
    if (!answered(who, v, timed_name(), when)) return 0;
    truth_find(v);
    f->compared++;
    return right(who, v, when);
}

static int audit_one(int number, uint64_t budget_ns, kpd_rng *rng, found *f) {
    view *v = &job.views[number];
    uint64_t start = now_ns();
    arena_fill(v, rng, job.timed);
    arena_poison(v);
    uint64_t filling = now_ns() - start;
    worker_fresh_begin(number, kpd_random(rng));
    if (!answered(CANDIDATE, v, timed_name(), "fresh inputs")) return 0;
    f->reps = job.shared->reps < 1 ? 1 : job.shared->reps > MOST_REPS ? MOST_REPS : job.shared->reps;
    f->anew = fills_anew(v, filling, budget_ns / (uint64_t)f->reps);
    uint64_t making = now_ns();
    make(v, f->anew, rng);
    making = now_ns() - making;
    uint64_t most = budget_ns / (making * 2 * FEWEST_PAIRS + 1);
    if ((uint64_t)f->reps > most) f->reps = most < 1 ? 1 : (int)most;
    int secret = (int)(kpd_random(rng) % FEWEST_PAIRS), dear = 0;
    for (f->pairs = 0; f->pairs < PAIRS; f->pairs++) {
        if (f->pairs >= FEWEST_PAIRS && now_ns() - start > budget_ns) break;
        slot first = kpd_random(rng) & 1 ? CANDIDATE : INCUMBENT;
        for (int turn = 0; turn < 2; turn++) {
            slot who = turn ? (slot)!first : first;
            if (!(f->ns[who][f->pairs] = batch(number, who, f, rng))) return 0;
            if (who != CANDIDATE || (f->pairs != secret && (dear || kpd_random(rng) % 8))) continue;
            uint64_t comparing = now_ns();
            if (!compared(number, who, f)) return 0;
            dear = now_ns() - comparing > budget_ns / (8 * DEAR);
        }
    }
    return 1;
}

static void print_found(const view *v, const found *f) {
    static int printed;
    printf("%s\"%s\":{\"reps\":%d,\"compared\":%d,\"anew\":%s,", printed++ ? "," : "", v->problem->name, f->reps, f->compared,
        f->anew ? "true" : "false");
    print_batches("a_ns", f->ns[INCUMBENT], f->pairs);
    putchar(',');
    print_batches("b_ns", f->ns[CANDIDATE], f->pairs);
    putchar('}');
}

void fresh_pair(const char *incumbent, const char *candidate, slot first, int budget_ms, uint64_t seed) {
    kpd_rng rng = {seed};
    int going = 1, cases = 0;
    static found f;
    job.paths[INCUMBENT] = incumbent;
    job.paths[CANDIDATE] = candidate;
    job.first = first;
    for (size_t c = 0; c < kpd_task.case_count; c++) cases += kpd_task.cases[c].use != KPD_CHECK_ONLY;
    uint64_t budget_ns = (uint64_t)budget_ms * 1000000u / (uint64_t)cases;
    printf("{\"cases\":{");
    await_turn();
    going = loaded();
    for (size_t c = 0; c < kpd_task.case_count && going; c++) {
        if (kpd_task.cases[c].use == KPD_CHECK_ONLY) continue;
        memset(&f, 0, sizeof f);
        going = audit_one((int)c, budget_ns, &rng, &f);
        if (going) print_found(&job.views[c], &f);
    }
    if (going) unpatched();
    printf("},");
    print_problem();
    printf("}\n");
}
