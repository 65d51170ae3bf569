/* Shared by the parts of the driver: arena.c (memory and truth), worker.c (runs untrusted code), driver.c (modes). */
#ifndef KPD_DRIVER_H
#define KPD_DRIVER_H

#include "kpd_task.h"

#define MAX_QUADS 256

/* One case's memory. Everything in `data` is shared with the worker; `pristine` and `want` are the driver's own. */
typedef struct {
    const kpd_case *problem;
    kpd_buffer buffers[KPD_MAX_BUFFERS];
    void *data[KPD_MAX_BUFFERS];
    void *pristine[KPD_MAX_BUFFERS];
    double *want[KPD_MAX_BUFFERS];
} view;

/* How far an output is from the truth. */
typedef struct {
    double multiple; /* of the tolerance; HOPELESS when a value is not a number, or infinite where it should not be */
    size_t index, wrong, compared;
    const char *output;
    double got, want;
    int unwritten; /* the element still holds what was there before the call */
} deviation;

#define HOPELESS 1e99

typedef enum { INCUMBENT, CANDIDATE } slot; /* A and B */

/* What a worker measured for one case. */
typedef struct {
    int reps, quads;
    uint64_t swaps;           /* performed on the inputs, all told */
    uint64_t ns[2][2 * MAX_QUADS]; /* by slot, in the order the batches ran */
    int disturbed;            /* batches during which the kernel took the CPU away from the process */
    long steal_ticks;         /* of the CPU, taken by the hypervisor; 0 where that is not known */
    int threads;              /* of the process, after the case; 0 where that is not known */
} measurement;

/* How a request to the worker ended. */
typedef enum { DONE, CRASHED, EXITED, TIMED_OUT, REFUSED } ending;

typedef struct {
    ending how;
    int code;          /* signal or exit status */
    char message[400]; /* REFUSED: why */
} outcome;

/* arena.c */
size_t element(const kpd_buffer *buffer);
void arena_make(view *views, measurement **shared);
void arena_fill(view *v, kpd_rng *rng, kpd_distribution distribution);
void arena_poison(view *v);
const char *arena_damage(const view *v, char *text, size_t size);
void arena_swap(view *v, void *const *data, kpd_rng *rng);
void arena_replay(view *v, uint64_t swaps, uint64_t seed);
deviation arena_compare(const view *v, double rtol, double atol);

/* worker.c */
void worker_start(view *views, measurement *shared);
outcome worker_load(const char *const paths[2], slot first, int limit_ms);
outcome worker_call(slot which, int number, int reps, int limit_ms);
outcome worker_time(int number, int quads, uint64_t swap_seed, int limit_ms);
void worker_stop(void);

#endif
