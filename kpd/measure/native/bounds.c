/* How exact the task's own kernel is: its error in each case, for each kind of inputs, of each output. A task without a
 * tolerance of its own judges candidates by it.
 *
 * The inputs are the same each time, as there is no key: what is found holds for others of the same kind, as all of it is relative to the outputs.
 */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ELEMENTS 256    /* to be seen of an output, … */
#define FEWEST_ROUNDS 3 /* … by so many calls … */
#define MOST_ROUNDS 12  /* … or so many */
#define SPREAD 4.0      /* the greatest of many errors is so many times the root of their mean square */
#define VANISHED 0x1p-100 /* of a norm may be lost in an element: what leaves the range of float32 on the way (2^-126, as e^-88
                           * does) is lost with its other factors, for which 2^26 are left. No few calls show how much that can be */
#define WORST 1e-3      /* a kernel with a greater error is wrong, or its task has to say what is right */

static bound table[KPD_MAX_CASES + 1][KPD_DISTRIBUTIONS][KPD_MAX_BUFFERS];

/* Those of what is timed only are measured for one kind of inputs. */
const bound *bounds_of(size_t number, kpd_distribution distribution) {
    int timed_only = number < kpd_task.case_count && kpd_task.cases[number].use == KPD_TIME_ONLY;
    return table[number][timed_only ? job.timed : distribution];
}

static double within(double error, double least) { return fmin(fmax(error, least), WORST); }

static void grow(double *greatest, double seen) { *greatest = fmax(*greatest, seen); }

/* Note the errors of one output. Returns the elements that were compared. */
static size_t note(const view *v, void *const *data, size_t b, bound *found) {
    kpd_type type = v->buffers[b].type;
    double errors = 0.0, truths = 0.0, scaled = 0.0, error, least = precision_of(type);
    size_t count = truth_count(v, b), finite = 0;
    for (size_t i = 0; i < count; i++) {
        double want = v->want[b][i];
        if (!truth_excess(type, value_of(type, data[b], i), want, &error)) continue;
        errors += error * error;
        truths += want * want;
        finite++;
    }
    double level = finite ? sqrt(truths / (double)finite) : 0.0, norm = truths > 0.0 ? sqrt(errors / truths) : 0.0;
    double relative = within(SPREAD * norm, least), beyond = VANISHED * sqrt(truths);
    for (size_t i = 0; i < count; i++) {
        double want = v->want[b][i], scale = kpd_task.scaled_oracle ? v->scale[b][i] : 0.0;
        if (!truth_excess(type, value_of(type, data[b], i), want, &error)) continue;
        grow(&beyond, error - relative * fabs(want));
        if (scale > 0.0) grow(&scaled, error / scale);
    }
    grow(&found->relative, relative);
    grow(&found->norm, within(norm, least));
    grow(&found->scaled, within(scaled, least));
    grow(&found->share, level > 0.0 ? fmin(beyond / level, WORST) : 0.0);
    grow(&found->absolute, level > 0.0 ? fmin(beyond, WORST * level) : beyond);
    return finite;
}

/* The bounds of a drawn size: those of the case near it, and the error of the task's own kernel, whose outputs are `data`. */
void bounds_draw(const view *v, void *const *data, size_t near, kpd_distribution d) {
    bound *drawn = table[kpd_task.case_count][d];
    memcpy(drawn, table[near][d], sizeof table[near][d]);
    for (size_t b = 0; b < kpd_task.buffer_count; b++)
        if (is_written(&v->buffers[b]) && !is_integer(v->buffers[b].type)) note(v, data, b, &drawn[b]);
}

/* One call of the task's own kernel. Returns the elements of the output that has the fewest; 0 after a problem. */
static size_t measure_once(size_t number, kpd_distribution d) {
    view *v = &job.views[number];
    size_t fewest = SIZE_MAX;
    arena_fill(v, d);
    arena_poison(v);
    if (!loaded()) return 0;
    worker_call(CANDIDATE, (int)number, 0, 1);
    truth_find(v);
    if (!answered(CANDIDATE, v, distribution_names[d], "check")) return 0;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        if (!is_written(&v->buffers[b]) || is_integer(v->buffers[b].type)) continue;
        size_t seen = note(v, v->data, b, &table[number][d][b]);
        if (seen < fewest) fewest = seen;
    }
    return fewest ? fewest : 1;
}

static int measure_kind(size_t number, kpd_distribution d) {
    int rounds = d == KPD_CONSTANT ? MOST_ROUNDS : FEWEST_ROUNDS; /* where all elements are equal, a call shows few errors */
    int least = kpd_task.cases[number].use == KPD_TIME_ONLY ? 1 : rounds;
    size_t seen = 0;
    for (int round = 0; round < MOST_ROUNDS && (round < least || seen < ELEMENTS); round++) {
        size_t more = measure_once(number, d);
        if (!more) return 0;
        seen = more < SIZE_MAX - seen ? seen + more : SIZE_MAX;
    }
    return 1;
}

/* Measure the errors of `object`, and write them to `path`: what bounds_read reads. */
void bounds_measure(const char *object, const char *path) {
    int going = 1;
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(2);
    }
    job.paths[CANDIDATE] = object;
    job.first = CANDIDATE;
    for (size_t c = 0; c < kpd_task.case_count && going; c++) {
        for (int d = 0; d < KPD_DISTRIBUTIONS && going; d++) {
            int timed_only = kpd_task.cases[c].use == KPD_TIME_ONLY;
            if (!job.promised[d] || (timed_only && d != (int)job.timed)) continue;
            going = measure_kind(c, (kpd_distribution)d);
            for (size_t b = 0; b < kpd_task.buffer_count && going; b++) {
                const bound *one = &table[c][d][b];
                fprintf(file, "%zu %d %zu %.17g %.17g %.17g %.17g %.17g\n", c, d, b, one->relative, one->share, one->absolute,
                    one->scaled, one->norm);
            }
        }
    }
    if (fclose(file)) {
        perror(path);
        exit(2);
    }
    printf("{");
    print_problem();
    printf("}\n");
}

/* Read what bounds_measure wrote. 0 where it cannot be read. */
int bounds_read(const char *path) {
    FILE *file = fopen(path, "r");
    size_t c, d, b;
    bound one;
    if (!file) return 0;
    while (fscanf(file, "%zu %zu %zu %lg %lg %lg %lg %lg", &c, &d, &b, &one.relative, &one.share, &one.absolute, &one.scaled,
               &one.norm) == 8)
        if (c < kpd_task.case_count && d < KPD_DISTRIBUTIONS && b < kpd_task.buffer_count) table[c][d][b] = one;
    int whole = feof(file);
    fclose(file);
    return whole;
}
