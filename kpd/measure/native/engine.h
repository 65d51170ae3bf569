/* What calls kernels, on a CPU (cpu.c) or on a device (cuda/): in the worker, but for
 * engine_look, engine_report, and what is for overflows. `set` is one of
 * measurement.sets. driver.h includes this.
 */
#ifndef KPD_ENGINE_H
#define KPD_ENGINE_H

#include "driver.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AFTERMATH_SWAPS 64 /* inputs that change before the outputs of a timed batch are looked at */

extern const uint64_t engine_file_bytes; /* that the worker may write to a file */
extern const uint64_t engine_own_bytes;  /* of memory that kernels may have for themselves; 0: no limit */
extern const size_t engine_alignment;    /* of the buffers */
extern const int engine_uses_device;     /* then it needs unix sockets, and writes in /proc/self */
extern const int engine_makes_code;      /* the device's driver has code in no file, and changes its own */
extern const int engine_fences;          /* kernels work in this memory itself, so pages without access stop them */
void engine_start(measurement *shared, const view *pinned, outcome *answer); /* `pinned`: one whose memory is shared by all; NULL: none */
void engine_load(const char *path, slot which, outcome *answer);
void engine_begin(void); /* what the objects ask to have called when they are loaded, once all are */
void engine_call(view *v, slot which, int set, int reps, outcome *answer);      /* on what the host memory holds */
void engine_squeezed(view *v, slot which, outcome *answer);                     /* the same, with few of the device's multiprocessors */
void engine_time(view *v, int quads, uint64_t seed, outcome *answer);
void engine_audit(view *v, slot which, int first_set, outcome *answer);         /* one more batch, as the timed ones */
void engine_fetch(view *v, int set, outcome *answer);                           /* a set, into the host memory */
void engine_fresh_begin(view *v, uint64_t seed, outcome *answer);
void engine_fresh(view *v, slot which, int layout, outcome *answer);            /* one call on what the host memory holds */
/* On a device: how many calls a contest makes in a row (reps), inputs for one of these, and the calls on measurement.order. */
void engine_row_begin(view *v, outcome *answer);
void engine_row_put(view *v, int set, outcome *answer);
void engine_row(view *v, slot which, int calls, outcome *answer);
void engine_variables(view *v, int back, outcome *answer);                      /* the candidate's on the device: answer.code bytes */
void engine_held(outcome *answer);                                              /* of the device's pool of memory: answer.code KiB */
void engine_profile(view *v, int calls, outcome *answer);
void engine_memcheck(view *v, int calls, outcome *answer);                      /* each buffer an allocation of its own */
void engine_stopwatch(view *v, int calls, outcome *answer);                     /* single calls, to ns[CANDIDATE] */
int engine_look(void); /* at the device, while a case is timed; milliseconds until it is time for the next look, 0: never */
void engine_report(const measurement *found);                                   /* what only this engine measures */

/* On a device, in this process, at a size that no host's memory is for: has it the room; calls of the task's own kernel, which is
 * the incumbent; some of the candidate, compared with that; and one more of each where it looks slow. UNABLE: it is beyond the device,
 * or beyond the task's own kernel, which makes nothing of what lies `from` there on. */
typedef struct {
    uint64_t wrong, first; /* elements that are not about as the task's own kernel's, and the first of them */
    size_t buffer;
    double got, own;
    uint64_t ns, own_ns; /* of a call, with its launcher */
} overflowed;
int engine_has_room(const kpd_buffer *buffers);
void engine_overflow_own(const view *v, uint64_t seed, size_t from, overflowed *found, outcome *answer);
void engine_overflow(const view *v, uint64_t seed, overflowed *found, outcome *answer);
void engine_overflow_timed(const view *v, uint64_t seed, overflowed *found, outcome *answer);
void engine_takes(const view *v, slot which, uint64_t seed, uint64_t *ns, outcome *answer); /* the quickest of some calls, so as well */

#ifdef __cplusplus
}
#endif

#endif
