/* Truth: the oracle's outputs, and how far from them the kernel's are. */
#include "driver.h"

#include <float.h>
#include <math.h>
#include <pthread.h>

#define STEP (1u << 18) /* elements that are worth a thread */

void truth_find(view *v) { kpd_task.oracle(v->problem, v->pristine, v->want); }

static double limit_of(kpd_type type) {
    switch (type) {
    case KPD_F64: return DBL_MAX;
    case KPD_F16: return 65504.0;
    case KPD_BF16: return 0x1.FEp127;
    default: return FLT_MAX;
    }
}

static double value_of(kpd_type type, const void *data, size_t i) {
    switch (type) {
    case KPD_F64: return ((const double *)data)[i];
    case KPD_F16: return (double)kpd_f16(((const uint16_t *)data)[i]);
    case KPD_BF16: return (double)kpd_bf16(((const uint16_t *)data)[i]);
    case KPD_I32: return (double)((const int32_t *)data)[i];
    case KPD_U32: return (double)((const uint32_t *)data)[i];
    default: return (double)((const float *)data)[i];
    }
}

static double multiple_of(kpd_type type, double got, double want, double rtol, double atol) {
    if (type == KPD_I32 || type == KPD_U32) return got == want ? 0.0 : HOPELESS;
    if (isnan(want)) return isnan(got) ? 0.0 : HOPELESS;
    double tolerance = atol + rtol * fabs(want), limit = limit_of(type);
    /* Where the truth is beyond the type the kernel must say so, and near its end it may. */
    if (isinf(got) && (got > 0) == (want > 0) && fabs(want) + tolerance > limit) return 0.0;
    if (!isfinite(got) || fabs(want) > limit) return HOPELESS;
    double error = fabs(got - want);
    if (error == 0.0) return 0.0;
    return tolerance > 0.0 ? fmin(error / tolerance, HOPELESS) : HOPELESS;
}

typedef struct {
    const kpd_buffer *buffer;
    const void *data;
    const double *want;
    double rtol, atol;
    pthread_mutex_t lock;
    deviation found;
} comparison;

static void compare_part(void *context, size_t from, size_t to) {
    comparison *c = context;
    deviation mine = {.multiple = -1.0};
    kpd_type type = c->buffer->type;
    for (size_t i = from; i < to; i++) {
        double multiple = multiple_of(type, value_of(type, c->data, i), c->want[i], c->rtol, c->atol);
        if (multiple > 1.0) mine.wrong++;
        if (multiple <= mine.multiple) continue;
        mine.multiple = multiple;
        mine.index = i;
    }
    pthread_mutex_lock(&c->lock);
    int worse = mine.multiple > c->found.multiple || (mine.multiple == c->found.multiple && mine.index < c->found.index);
    if (worse) {
        c->found.multiple = mine.multiple;
        c->found.index = mine.index;
    }
    c->found.wrong += mine.wrong;
    pthread_mutex_unlock(&c->lock);
}

/* The worst element of all outputs in `data`, the first one of several. */
deviation truth_compare(const view *v, void *const *data, double rtol, double atol) {
    deviation worst = {.multiple = -1.0};
    size_t compared = 0, wrong = 0;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        const kpd_buffer *buffer = &v->buffers[b];
        if (buffer->role != KPD_OUT || !buffer->count) continue;
        comparison c = {buffer, data[b], v->want[b], rtol, atol, PTHREAD_MUTEX_INITIALIZER, {.multiple = -1.0}};
        kpd_parallel(buffer->count, STEP, compare_part, &c);
        compared += buffer->count;
        wrong += c.found.wrong;
        if (c.found.multiple <= worst.multiple) continue;
        worst = c.found;
        worst.output = buffer->name;
        worst.unwritten = arena_unwritten(buffer, data[b], worst.index);
        worst.got = value_of(buffer->type, data[b], worst.index);
        worst.want = v->want[b][worst.index];
    }
    worst.compared = compared;
    worst.wrong = wrong;
    return worst;
}
