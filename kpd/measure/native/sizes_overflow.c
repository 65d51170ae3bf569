/* Is it as quick at sizes near the cases as at these, which it may know by heart? Contests have no others. And is it right where a
 * buffer has more elements than a number of 32 bits counts? Places that are computed in an `int` are wrong there, and nowhere else. A
 * device has the memory for that; the candidate is compared with the task's own kernel, in this process, as under compute-sanitizer:
 * who hides such a fault is not found.
 */
#include "report.h"

#include <math.h>
#include <stdio.h>

#define GROWING 2 /* dims that are large, where there are more */
#define FEW 64    /* the others, at the most */
#define TRIES 32  /* draws for a size */
#define STEP 1.1  /* by which dims grow until a buffer is large enough */
#define WORK 128  /* times as many elements may the product of all dims be: the task's own kernel takes long enough */
#define UNEVEN 8  /* a dim is longer than needed by less than one in so many */
#define SLOWER 2.5 /* times the time of the task's own kernel may a call take there, … */
#define ASIDE_NS 5000000u /* … and so much more */
#define MOST_NEAR 8       /* sizes near timed cases, … */
#define NEAR 4            /* … of which each dim is longer or shorter by up to one in so many: */
#define NEAR_TIMES 2.0    /* at all of them together a candidate may take so many times as long as the task's own kernel, … */
#define NEAR_ASIDE_NS 50000u /* … and so much more at each */
#define NEAR_TRIES 2      /* each has to show the same */

static uint64_t most_elements(const kpd_case *drawn, kpd_buffer *buffers) {
    uint64_t most = 0;
    memset(buffers, 0, KPD_MAX_BUFFERS * sizeof *buffers);
    kpd_task.buffers(drawn, buffers);
    for (size_t b = 0; b < kpd_task.buffer_count; b++) most = buffers[b].count > most ? buffers[b].count : most;
    return most;
}

/* Inputs are made on the device, which cannot ask the harness, and results have no one size. */
static int may_be_asked(const kpd_buffer *buffers) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        kpd_type type = buffers[b].type;
        if (buffers[b].sized_by || (type != KPD_F32 && type != KPD_F64 && type != KPD_F16 && type != KPD_BF16)) return 0;
    }
    return sizes_vary() && !kpd_task.change;
}

/* 0 where the harness allows no such size, or there is no room. */
static int drawn_beyond(kpd_rng *rng, kpd_case *drawn, view *v, double elements) {
    for (int try = 0; try < TRIES; try++) {
        int grows[KPD_MAX_DIMS], growing = 0;
        double parts[KPD_MAX_DIMS];
        *drawn = kpd_task.cases[kpd_random(rng) % kpd_task.case_count];
        for (int d = 0; d < size_dims(); d++)
            if (drawn->dims[d] > 0) grows[growing++] = d;
        while (growing > GROWING) {
            int given_up = (int)(kpd_random(rng) % (uint64_t)growing), d = grows[given_up];
            drawn->dims[d] = size_allowed(drawn->dims[d] < FEW ? drawn->dims[d] : FEW, &kpd_task.limits[d]);
            grows[given_up] = grows[--growing];
        }
        if (!growing) return 0;
        for (int i = 0; i < growing; i++) parts[i] = 1.0 + (double)(kpd_random(rng) % 1024) / (1024.0 * UNEVEN);
        for (double side = FEW;; side *= STEP) {
            int allowed = 1;
            for (int i = 0; i < growing; i++) {
                drawn->dims[grows[i]] = size_allowed((long)(side * parts[i]) + 1, &kpd_task.limits[grows[i]]);
                allowed &= drawn->dims[grows[i]] > 0;
            }
            if (!allowed) break;
            double most = (double)most_elements(drawn, v->buffers);
            if (!engine_has_room(v->buffers) || size_product(drawn, 0) > WORK * elements || side > 2.0 * elements) break;
            if (most > elements) return 1;
        }
    }
    return 0;
}

static int is_slow(const overflowed *found) { return (double)found->ns > SLOWER * (double)found->own_ns + ASIDE_NS; }

static void asked(const char *name, const view *v, size_t from, kpd_rng *rng) {
    outcome answer = {.how = DONE};
    overflowed found = {0};
    uint64_t seed = kpd_random(rng);
    engine_overflow_own(v, seed, from, &found, &answer);
    if (answer.how != DONE) {
        fprintf(stderr, "kpd driver: %s is beyond the device, or the task's own kernel: %s\n", name, answer.message);
        return;
    }
    printf("asked %s\n", name); /* what happens from here on is the candidate's */
    fflush(stdout);
    engine_overflow(v, seed, &found, &answer);
    if (answer.how == DONE && !found.wrong && is_slow(&found)) engine_overflow_timed(v, seed, &found, &answer);
    if (answer.how != DONE) printf("wrong 1 %s: %s\n", name, answer.message);
    else if (found.wrong)
        printf("wrong %llu %s: %s[%llu] is %.9g, and %.9g by the task's own kernel\n", (unsigned long long)found.wrong, name,
            v->buffers[found.buffer].name, (unsigned long long)found.first, found.got, found.own);
    else if (is_slow(&found))
        printf("wrong 1 %s: it takes %.1f times as long as the task's own kernel\n", name, (double)found.ns / (double)found.own_ns);
    printf("seen %s\n", name);
    fflush(stdout); /* the process may not come to its end */
}

/* 0 where the harness allows no such size. */
static int drawn_near(kpd_rng *rng, const kpd_case *named, kpd_case *drawn) {
    *drawn = *named;
    for (int d = 0; d < size_dims(); d++) {
        if (named->dims[d] <= 0) continue;
        long part = named->dims[d] / NEAR;
        drawn->dims[d] = size_allowed(named->dims[d] - part + (long)(kpd_random(rng) % (uint64_t)(2 * part + 1)), &kpd_task.limits[d]);
        if (drawn->dims[d] <= 0) return 0;
    }
    return 1;
}

/* How many times as long it takes at sizes near timed cases; 0 where that is not known, or where the candidate failed, as `answer` says. */
static double times_near(view *v, kpd_case *drawn, kpd_rng *rng, outcome *answer) {
    uint64_t own = 0, candidate = 0, theirs, ns;
    size_t start = kpd_random(rng) % kpd_task.case_count, sizes = 0;
    for (size_t i = 0; i < kpd_task.case_count && sizes < MOST_NEAR; i++) {
        const kpd_case *named = &kpd_task.cases[(start + i) % kpd_task.case_count];
        if (named->use == KPD_CHECK_ONLY || !drawn_near(rng, named, drawn)) continue;
        most_elements(drawn, v->buffers);
        if (!engine_has_room(v->buffers)) continue;
        outcome said = {.how = DONE};
        engine_takes(v, INCUMBENT, kpd_random(rng), &theirs, &said);
        if (said.how != DONE) return 0.0;
        printf("asked %s\n", size_name(drawn)); /* what happens from here on is the candidate's */
        fflush(stdout);
        engine_takes(v, CANDIDATE, kpd_random(rng), &ns, answer);
        if (answer->how != DONE) return 0.0;
        printf("seen %s\n", size_name(drawn));
        own += theirs + NEAR_ASIDE_NS;
        candidate += ns;
        sizes++;
    }
    return sizes ? (double)candidate / (double)own : 0.0;
}

/* 0 where the candidate failed. */
static int quick_near(view *v, kpd_case *drawn, kpd_rng *rng) {
    double times = 0.0;
    outcome answer = {.how = DONE};
    for (int try = 0; try < NEAR_TRIES && answer.how == DONE; try++) {
        times = times_near(v, drawn, rng, &answer);
        if (answer.how == DONE && times <= NEAR_TIMES) return 1;
    }
    if (answer.how != DONE) printf("wrong 1 %s: %s\n", size_name(drawn), answer.message);
    else printf("wrong 1 sizes near those of the cases: it takes %.1f times as long as the task's own kernel\n", times);
    return 0;
}

/* Once both kernels are loaded, with more than `most` elements, or where there is no room for that `least`. */
void sizes_overflow(double most, double least) {
    static kpd_case drawn;
    static view v;
    kpd_rng rng = {kpd_mixed(now_ns())};
    v.problem = &drawn;
    most_elements(&kpd_task.cases[0], v.buffers);
    if (!may_be_asked(v.buffers)) fprintf(stderr, "kpd driver: this task's inputs are the harness's to make, or its sizes do not vary\n");
    else if (!quick_near(&v, &drawn, &rng)) return;
    else if (drawn_beyond(&rng, &drawn, &v, most)) asked(size_name(&drawn), &v, (size_t)most, &rng);
    else if (drawn_beyond(&rng, &drawn, &v, least)) asked(size_name(&drawn), &v, (size_t)least, &rng);
    else fprintf(stderr, "kpd driver: the harness allows no size of more than %.0f elements, or the device has no room for it\n", least);
}
