/* Truth: the oracle's outputs, and how far from them the kernel's are. */
#include "driver.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define STEP (1u << 18)  /* elements that are worth a thread */
#define NATIVE 8.0       /* times the error of the task's own kernel are tolerated */
#define ELEMENT_CAP 16.0 /* times its share of a norm are tolerated in one element */
#define ROUNDED (1.0 - 0x1p-50) /* of a bound: more than a product and a quotient can be rounded by */
#define SMALL 0.25       /* an element below this share of the root of the mean square may be what others left over */

void truth_find(view *v) {
    if (referee_find(v)) return;
    if (kpd_task.scaled_oracle) kpd_task.scaled_oracle(v->problem, v->pristine, v->want, v->scale);
    else kpd_task.oracle(v->problem, v->pristine, v->want);
}

double truth_of(const view *v, size_t output, size_t i) {
    if (v->buffers[output].type == KPD_I64) return (double)((const int64_t *)(const void *)v->want[output])[i];
    return v->want[output][i];
}

/* Elements of an output that are compared. */
size_t truth_count(const view *v, size_t output) {
    const kpd_buffer *buffer = &v->buffers[output];
    if (!buffer->sized_by) return buffer->count;
    double count = truth_of(v, buffer->sized_by - 1, 0);
    if (count >= 0.0 && count <= (double)buffer->count) return (size_t)count;
    fprintf(stderr, "kpd driver: %s: the oracle says that %s has %.0f elements, but there is room for %zu\n",
        v->problem->name, buffer->name, count, buffer->count);
    exit(2);
}

/* Where the truth is beyond the type the kernel must say so, and near its end it may. */
static int overflows(kpd_type type, double got, double want, double tolerance) {
    double greatest = greatest_of(type);
    if (fabs(want) + tolerance <= greatest) return 0;
    if (isinf(got)) return (got > 0) == (want > 0);
    if (type == KPD_E4M3 && isnan(got)) return 1;
    return element(type) == 1 && fabs(got) == greatest && (got > 0) == (want > 0); /* they saturate */
}

/* What an error is more than a step of the type, by which the nearest two numbers to the truth may differ. 0 where it cannot
 * be told. */
int truth_excess(kpd_type type, double got, double want, double *error) {
    if (!isfinite(got) || !isfinite(want) || fabs(want) > greatest_of(type)) return 0;
    *error = fmax(fabs(got - want) - step_at(type, want), 0.0);
    return 1;
}

typedef struct {
    const kpd_buffer *buffer;
    const void *data;
    const double *want, *scale;
    const rule *how;
    double least, share; /* what is tolerated: `least`, and this share of the element or of its scale */
    double spread;       /* tolerated besides */
    double level;        /* root of the mean square of the output */
    double greatest;     /* of the type */
    pthread_mutex_t lock;
    deviation found;
    double errors, truths; /* sums of squares */
    size_t finite, above;  /* elements above their share of a norm */
} comparison;

static double apart(kpd_type type, double got, double want, double tolerance, int native) {
    double error;
    if (isnan(want)) return isnan(got) ? 0.0 : HOPELESS;
    if (overflows(type, got, want, tolerance)) return 0.0;
    if (!isfinite(got) || fabs(want) > greatest_of(type)) return HOPELESS;
    error = fabs(got - want);
    if (native) error = fmax(error - step_at(type, want), 0.0);
    if (error == 0.0) return 0.0;
    return tolerance > 0.0 ? fmin(error / tolerance, HOPELESS) : HOPELESS;
}

/* Where there is one: not of what has to have the same bits, or nearly. */
static double tolerance_at(const comparison *c, size_t i) {
    double of = c->how->kind == SCALED ? c->scale[i] : fabs(c->want[i]), times = 1.0;
    if (c->how->kind == NORM) of += c->level, times = ELEMENT_CAP;
    return times * (c->least + c->share * of);
}

/* How many times the tolerance an element is off. */
static double multiple_of(const comparison *c, size_t i) {
    kpd_type type = c->buffer->type;
    float single = (float)c->want[i];
    if (type == KPD_F32 && c->how->kind == EXACT && !memcmp((const float *)c->data + i, &single, sizeof single)) return 0.0;
    if (type == KPD_I64) return bits_at(type, c->data, i) == ((const uint64_t *)(const void *)c->want)[i] ? 0.0 : HOPELESS;
    double got = value_of(type, c->data, i), want = c->want[i];
    if (is_integer(type)) return got == want ? 0.0 : HOPELESS;
    if (c->how->spreads && (!isfinite(got) || !isfinite(want))) return isfinite(got) ? HOPELESS : 0.0;
    if (c->how->kind == EXACT || c->how->kind == STEPS) {
        if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0.0 : HOPELESS;
        uint64_t is = bits_at(type, c->data, i), should = value_bits(type, want);
        if (c->how->kind == EXACT) return is == should ? 0.0 : HOPELESS;
        return steps_between(type, is, should) / c->how->steps;
    }
    return apart(type, got, want, tolerance_at(c, i), c->how->native);
}

/* Whether an element is surely off by no more than so many times the tolerance. Most are, and need no closer look. */
static int surely_within(const comparison *c, size_t i, double multiple) {
    kpd_type type = c->buffer->type;
    double got = type == KPD_F32 ? (double)((const float *)c->data)[i] : value_of(type, c->data, i), want = c->want[i];
    double tolerance = tolerance_at(c, i);
    return fabs(want) + tolerance <= c->greatest && fabs(got - want) <= multiple * tolerance;
}

static void compare_part(void *context, size_t from, size_t to) {
    comparison *c = context;
    deviation mine = {.multiple = -1.0};
    size_t above = 0;
    int quick = !is_integer(c->buffer->type) && !c->how->spreads && c->how->kind != EXACT && c->how->kind != STEPS;
    double most = -1.0; /* that changes nothing of what is told; below 0: it always does */
    for (size_t i = from; i < to; i++) {
        if (most >= 0.0 && surely_within(c, i, most)) continue;
        double multiple = multiple_of(c, i);
        if (multiple > 1.0) mine.wrong++;
        if (multiple > 1.0 / ELEMENT_CAP) above++;
        if (multiple <= mine.multiple) continue;
        mine.multiple = multiple;
        mine.index = i;
        if (quick) most = ROUNDED * fmin(multiple, 1.0 / ELEMENT_CAP);
    }
    pthread_mutex_lock(&c->lock);
    int worse = mine.multiple > c->found.multiple || (mine.multiple == c->found.multiple && mine.index < c->found.index);
    if (worse) {
        c->found.multiple = mine.multiple;
        c->found.index = mine.index;
    }
    c->found.wrong += mine.wrong;
    c->above += above;
    pthread_mutex_unlock(&c->lock);
}

static void square_part(void *context, size_t from, size_t to) {
    comparison *c = context;
    double errors = 0.0, truths = 0.0;
    size_t finite = 0;
    for (size_t i = from; i < to; i++) {
        double got = value_of(c->buffer->type, c->data, i), want = c->want[i], error;
        if (!truth_excess(c->buffer->type, got, want, &error)) continue;
        if (!c->how->native) error = got - want;
        errors += error * error;
        truths += want * want;
        finite++;
    }
    pthread_mutex_lock(&c->lock);
    c->errors += errors;
    c->truths += truths;
    c->finite += finite;
    pthread_mutex_unlock(&c->lock);
}

static void squares(comparison *c, size_t count) {
    if (is_integer(c->buffer->type)) return;
    c->errors = c->truths = 0.0;
    c->finite = 0;
    kpd_parallel(count, STEP, square_part, c);
    c->level = c->finite ? sqrt(c->truths / (double)c->finite) : 0.0;
}

/* How many times the tolerance all errors together are. */
static double norm_multiple(const comparison *c) {
    double tolerance = c->least * sqrt((double)c->finite) + c->share * sqrt(c->truths), error = sqrt(c->errors);
    return error == 0.0 ? 0.0 : tolerance > 0.0 ? fmin(error / tolerance, HOPELESS) : HOPELESS;
}

static void tolerate(comparison *c, const bound *b) {
    c->least = c->how->atol;
    c->share = c->how->rtol;
    c->least += c->spread;
    if (!c->how->native || is_integer(c->buffer->type)) return;
    double beyond = fmax(fmax(b->share * c->level, b->absolute), least_step(c->buffer->type));
    c->least = c->how->kind == ELEMENTWISE ? NATIVE * beyond : NATIVE * least_step(c->buffer->type);
    c->share = NATIVE * (c->how->kind == SCALED ? b->scaled : c->how->kind == NORM ? b->norm : b->relative);
}

static void judge_norm(comparison *c) {
    double multiple = norm_multiple(c);
    if (multiple <= c->found.multiple) return;
    c->found.multiple = multiple;
    if (multiple > 1.0 && !c->found.wrong) c->found.wrong = c->above ? c->above : 1;
}

static deviation compare_one(const view *v, void *const *data, size_t b, size_t count, const rule *how, const bound *bounds) {
    const kpd_buffer *buffer = &v->buffers[b];
    comparison c = {.buffer = buffer, .data = data[b], .want = v->want[b], .scale = v->scale[b], .how = how,
        .spread = v->spread[b]};
    c.found.multiple = -1.0;
    c.greatest = greatest_of(buffer->type);
    pthread_mutex_init(&c.lock, NULL);
    if (how->native || how->kind == NORM) squares(&c, count);
    tolerate(&c, how->native ? &bounds[b] : NULL);
    kpd_parallel(count, STEP, compare_part, &c);
    if (how->kind == NORM && !is_integer(buffer->type)) judge_norm(&c);
    if (c.found.wrong && how->kind == ELEMENTWISE && !is_integer(buffer->type)) {
        squares(&c, count);
        c.found.cancels = fabs(c.want[c.found.index]) < SMALL * c.level && norm_multiple(&c) <= 1.0;
    }
    c.found.output = buffer->name;
    c.found.unwritten = arena_unwritten(buffer, data[b], c.found.index);
    c.found.got = value_of(buffer->type, data[b], c.found.index);
    c.found.want = truth_of(v, b, c.found.index);
    c.found.compared = count;
    return c.found;
}

/* The worst element of all outputs in `data`, the first one of several. */
deviation truth_compare(const view *v, void *const *data, const rule *how, const bound *bounds) {
    deviation worst = {.multiple = -1.0, .output = ""};
    size_t compared = 0, wrong = 0;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        if (!is_written(buffer)) continue;
        size_t by = buffer->sized_by, count = truth_count(v, b);
        if (!count || (by && value_of(v->buffers[by - 1].type, data[by - 1], 0) != (double)count)) continue; /* that is told */
        deviation one = compare_one(v, data, b, count, how, bounds);
        compared += one.compared;
        wrong += one.wrong;
        if (one.multiple > worst.multiple) worst = one;
    }
    if (!compared) worst.multiple = 0.0;
    worst.compared = compared;
    worst.wrong = wrong;
    return worst;
}
