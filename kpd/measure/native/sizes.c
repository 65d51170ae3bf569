/* Sizes that no case names: drawn from the secret seed, near those of a case, smaller, larger, 1 or prime. */
#include "report.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NEAR 3     /* a size is so much more or less than a case's, */
#define FURTHER 4  /* or one dim of it up to so many times that of the case, … */
#define SMALL 3    /* all dims of a small size at the most: its buffers end far from the end of a line of the cache */
#define THIN 32    /* one dim of a thin size at the most, so that rows may be shorter than a vector: others are a case's */
#define LITTLE 8   /* so much more may a dim be where it is large */
#define QUICK 1024   /* elements that the dims of a quick size are for, at the most: thousands of calls take no time */
#define SQUARE 4   /* one quick or small size in so many has dims that are all the same */
#define WORK 2     /* … where the product of all dims is at most so many times that of the largest checked case */
#define TRIES 64   /* draws for one that is allowed and that no case has */

static uint64_t below(kpd_rng *rng, uint64_t count) { return kpd_random(rng) % count; }

static int is_prime(long n) {
    for (long factor = 2; factor * factor <= n; factor++)
        if (n % factor == 0) return 0;
    return n > 1;
}

static double share_drawn(kpd_rng *rng) { return (double)(kpd_random(rng) >> 11) / 9007199254740992.0; }

/* A number from `least` up to `most`, small ones as often as large ones. */
static long between(kpd_rng *rng, double least, double most) {
    return (long)(least * exp(log((most + 1.0) / least) * share_drawn(rng)));
}

/* A prime up to `most`, small ones as often as large ones; 1 where there is none. */
static long prime(kpd_rng *rng, long most) {
    long n = between(rng, 1.0, (double)most);
    while (n > 1 && !is_prime(n)) n--;
    return n > 1 ? n : 1;
}

/* The nearest size that the harness allows; 0 where there is none. */
long size_allowed(long size, const kpd_limit *limit) {
    long multiple = limit->multiple > 0 ? limit->multiple : 1, least = limit->least > 0 ? limit->least : 1;
    least = (least + multiple - 1) / multiple * multiple;
    if (limit->most > 0 && size > limit->most) size = limit->most;
    size = size / multiple * multiple;
    if (size < least) size = least;
    return limit->most > 0 && size > limit->most ? 0 : size;
}

int size_dims(void) {
    int dims = 0;
    while (dims < KPD_MAX_DIMS && kpd_task.dims[dims]) dims++;
    return dims;
}

static long one_size(kpd_rng *rng, long named, size_kind kind, const kpd_limit *limit) {
    long multiple = limit->multiple > 0 ? limit->multiple : 1;
    if (kind == SMALL_SIZE) return size_allowed(1 + (long)below(rng, SMALL), limit);
    if (kind == QUICK_SIZE) return size_allowed(between(rng, 1.0, pow(QUICK, 1.0 / size_dims())), limit);
    switch (below(rng, 5)) {
    case 0: return named;
    case 1: return size_allowed(named + ((long)below(rng, 2 * NEAR + 1) - NEAR) * multiple, limit);
    case 2: return size_allowed(1, limit);
    case 3: return size_allowed(1 + (long)below(rng, (uint64_t)named), limit);
    default: return size_allowed(prime(rng, named), limit);
    }
}

double size_product(const kpd_case *size, unsigned but) {
    double found = 1.0;
    for (int d = 0; d < KPD_MAX_DIMS && kpd_task.dims[d]; d++)
        if (!(but >> d & 1) && size->dims[d] > 0) found *= (double)size->dims[d];
    return found;
}

static double most_work(void) {
    double most = 1.0;
    for (size_t c = 0; c < kpd_task.case_count; c++)
        if (kpd_task.cases[c].use != KPD_TIME_ONLY) most = fmax(most, size_product(&kpd_task.cases[c], 0));
    return WORK * most;
}

static int dim_by_chance(kpd_rng *rng, const kpd_case *named) {
    int dims = size_dims(), d = (int)below(rng, (uint64_t)dims);
    while (named->dims[d] <= 0) d = (d + 1) % dims;
    return d;
}

/* All dims become as large as the first, where the harness allows that. */
static void make_square(kpd_case *drawn) {
    kpd_case square = *drawn;
    long side = 0;
    for (int d = 0; d < size_dims(); d++) {
        if (square.dims[d] <= 0) continue;
        if (!side) side = square.dims[d];
        if ((square.dims[d] = size_allowed(side, &kpd_task.limits[d])) != side) return;
    }
    *drawn = square;
}

/* One dim by chance becomes small, and all others are those of the case. */
static void make_thin(kpd_rng *rng, const kpd_case *named, kpd_case *drawn) {
    int d = dim_by_chance(rng, named);
    uint64_t most = named->dims[d] < THIN ? (uint64_t)named->dims[d] : THIN;
    *drawn = *named;
    drawn->dims[d] = size_allowed(1 + (long)below(rng, most), &kpd_task.limits[d]);
}

/* Two dims by chance change places, where the harness allows that: who knows a size by a product or a sum takes one for the other. */
static void make_turned(kpd_rng *rng, const kpd_case *named, kpd_case *drawn) {
    int one = dim_by_chance(rng, named), other = dim_by_chance(rng, named);
    *drawn = *named;
    drawn->dims[one] = size_allowed(named->dims[other], &kpd_task.limits[one]);
    drawn->dims[other] = size_allowed(named->dims[one], &kpd_task.limits[other]);
}

/* One dim by chance becomes larger than the case's, where that is not too much work; every other one is a prime. */
static void enlarge(kpd_rng *rng, const kpd_case *named, kpd_case *drawn) {
    int d = dim_by_chance(rng, named);
    double least = (double)named->dims[d] + 1.0, most = fmin(FURTHER * (least - 1.0), most_work() / size_product(drawn, 1u << d));
    if (most < least) return;
    long size = between(rng, least, most);
    if (below(rng, 2))
        while (size > named->dims[d] + 1 && !is_prime(size)) size--;
    drawn->dims[d] = size_allowed(size, &kpd_task.limits[d]);
}

static int is_new(const kpd_case *drawn) {
    for (size_t c = 0; c < kpd_task.case_count; c++)
        if (!memcmp(kpd_task.cases[c].dims, drawn->dims, sizeof drawn->dims)) return 0;
    return 1;
}

/* Draw a size, of that kind where that can be: one dim of a larger or a thin one is, two of a turned one. Returns the number of the checked case
 * that it is near; -1 where none is allowed that no case has. */
int size_drawn(kpd_rng *rng, kpd_case *drawn, size_kind kind) {
    for (int try = 0; try < TRIES; try++) {
        size_t c = below(rng, kpd_task.case_count);
        int whole = 1, sized = 0, of_kind = try < TRIES / 2;
        if (kpd_task.cases[c].use == KPD_TIME_ONLY) continue;
        *drawn = kpd_task.cases[c];
        for (int d = 0; d < KPD_MAX_DIMS && kpd_task.dims[d]; d++) {
            if (drawn->dims[d] <= 0) continue;
            drawn->dims[d] = one_size(rng, drawn->dims[d], of_kind ? kind : ANY_SIZE, &kpd_task.limits[d]);
            whole &= drawn->dims[d] > 0;
            sized = 1;
        }
        if (whole && sized && of_kind && (kind == QUICK_SIZE || kind == SMALL_SIZE) && !below(rng, SQUARE)) make_square(drawn);
        if (whole && sized && kind == LARGER_SIZE && of_kind) enlarge(rng, &kpd_task.cases[c], drawn);
        if (whole && sized && kind == THIN_SIZE && of_kind) make_thin(rng, &kpd_task.cases[c], drawn);
        if (whole && sized && kind == TURNED_SIZE && of_kind) make_turned(rng, &kpd_task.cases[c], drawn);
        if (whole && is_new(drawn) && arena_fits(drawn)) return (int)c;
    }
    return -1;
}

/* The case with the most elements by the product of its dims, or the fewest, but for those `without` that use and empty ones; the
 * number of cases where there is none. */
size_t case_of_size(int most, kpd_use without) {
    size_t found = kpd_task.case_count;
    for (size_t c = 0; c < kpd_task.case_count; c++) {
        if ((without != KPD_CHECK_AND_TIME && kpd_task.cases[c].use == without) || !has_elements(&job.views[c])) continue;
        double size = size_product(&kpd_task.cases[c], 0), other = found < c ? size_product(&kpd_task.cases[found], 0) : 0.0;
        if (found == kpd_task.case_count || (most ? size > other : size < other)) found = c;
    }
    return found;
}

/* Draw a size none of whose dims is larger than this case's, or less than three quarters of it. 0 where none is allowed. */
int size_less(kpd_rng *rng, kpd_case *drawn, size_t number) {
    *drawn = kpd_task.cases[number];
    for (int d = 0; d < size_dims(); d++) {
        if (drawn->dims[d] <= 0) continue;
        drawn->dims[d] = size_allowed(drawn->dims[d] - (long)below(rng, (uint64_t)drawn->dims[d] / 4 + 1), &kpd_task.limits[d]);
        if (drawn->dims[d] <= 0) return 0;
    }
    return arena_fits(drawn);
}

/* Draw a size of which all dims but these, a bit for each, are few. 0 where that is not allowed. */
int size_few(kpd_rng *rng, kpd_case *drawn, size_t number, unsigned dims, double few) {
    *drawn = kpd_task.cases[number];
    for (int d = 0; d < size_dims(); d++) {
        if (dims >> d & 1 || drawn->dims[d] <= 0) continue;
        drawn->dims[d] = size_allowed(between(rng, 1.0, few), &kpd_task.limits[d]);
        if (drawn->dims[d] <= 0) return 0;
    }
    return 1;
}

/* Make these dims, one or two, about so many times as large together as this case's: each of two by a quarter of that at least. 0 where they may not be larger, or do not fit. */
int size_long(kpd_rng *rng, kpd_case *drawn, size_t number, unsigned dims, double times) {
    const kpd_case *named = &kpd_task.cases[number];
    double before = size_product(named, ~dims);
    while (dims) {
        int d = __builtin_ctz(dims);
        if (below(rng, 2) && dims & (dims - 1)) d = __builtin_ctz(dims & (dims - 1));
        double factor = dims == 1u << d ? times : exp(log(times) * (1.0 + 2.0 * share_drawn(rng)) / 4.0);
        drawn->dims[d] = size_allowed((long)(factor * (double)named->dims[d]) + (long)below(rng, LITTLE), &kpd_task.limits[d]);
        if (drawn->dims[d] <= 0) return 0;
        before /= (double)drawn->dims[d];
        times *= (double)named->dims[d] / (double)drawn->dims[d];
        dims &= ~(1u << d);
    }
    return before < 1.0 && arena_fits(drawn);
}

/* Draw a size whose dims have a product of so many times that of this case's, or somewhat less: none is smaller, but
 * where it has to be a multiple. 0 where there is none. */
int size_beyond(kpd_rng *rng, kpd_case *drawn, size_t number, double times) {
    for (int try = 0; try < TRIES; try++) {
        double rest = exp(log(times) * (9.0 + share_drawn(rng)) / 10.0);
        int dims = 0, vary[KPD_MAX_DIMS];
        *drawn = kpd_task.cases[number];
        for (int d = 0; d < size_dims(); d++)
            if (drawn->dims[d] > 0) vary[dims++] = d;
        for (; dims; dims--) {
            size_t i = below(rng, (uint64_t)dims);
            double factor = dims == 1 ? rest : exp(log(rest) * share_drawn(rng));
            long *size = &drawn->dims[vary[i]], named = *size;
            *size = size_allowed((long)((double)named * factor), &kpd_task.limits[vary[i]]);
            vary[i] = vary[dims - 1];
            if (*size <= 0) return 0;
            rest *= (double)named / (double)*size;
        }
        if (size_product(drawn, 0) > size_product(&kpd_task.cases[number], 0) && arena_fits(drawn)) return 1;
        times /= 1.1; /* there may be no room for more */
    }
    return 0;
}

/* "rows=3 cols=7", to be kept until the end. */
const char *size_name(const kpd_case *drawn) {
    char *text = malloc(KPD_MAX_DIMS * 48);
    size_t length = 0;
    if (!text) return "drawn";
    text[0] = 0;
    for (int d = 0; d < KPD_MAX_DIMS && kpd_task.dims[d] && length < KPD_MAX_DIMS * 40; d++)
        length += (size_t)snprintf(text + length, KPD_MAX_DIMS * 48 - length, "%s%.24s=%ld", d ? " " : "", kpd_task.dims[d], drawn->dims[d]);
    return text;
}

static const char *watched;

static void crashed(int number) {
    static const char text[] = "kpd driver: the harness crashes at a size that no case names; say in its `limits` which dims it can "
        "work with, or write sizes = \"listed\" in [check]: ";
    (void)number;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0 || write(STDERR_FILENO, watched, strlen(watched)) < 0) _exit(2);
    _exit(2);
}

/* From here on a crash is the harness's, at this size; NULL: from here on it is not. */
void size_watched(const kpd_case *drawn) {
    static const int kinds[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
    watched = drawn ? size_name(drawn) : "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) signal(kinds[i], drawn ? crashed : SIG_DFL);
}

/* Whether each buffer of a case has elements. */
int has_elements(const view *v) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++)
        if (!v->buffers[b].count) return 0;
    return 1;
}

/* Whether sizes may be drawn: no case has a geometry of its own, and there are dims. */
int sizes_vary(void) {
    for (size_t c = 0; c < kpd_task.case_count; c++)
        if (kpd_task.cases[c].grid[0] || kpd_task.cases[c].block[0]) return 0;
    return kpd_task.dims[0] != NULL;
}
