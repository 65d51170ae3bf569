/* Shared by the parts of the driver.
 *
 *   driver.c   modes                               check.c, timed.c, fresh.c, repeat.c   four of them
 *   report.c   the JSON, and what went wrong       values.c           kinds of inputs
 *   arena.c    where the buffers lie               contents.c         inputs, poison, guard bytes in them
 *   numbers.c  types of elements                   bounds.c           how exact the task's own kernel is
 *   crew.c     work in several threads             worker.c, requests.c, serve.c  the process that runs untrusted code
 *   sizes.c    sizes that no case names            fence.c            pages without access beside the buffers
 *   batches.c  how much to time, and what disturbs   sandbox.c         what that process cannot reach
 *   mappings.c whether its code is as it was loaded   turns.c         inputs that change between calls
 *   calls.c    what it cannot ask of the system       limits.c        what it may use
 *   secret.c   numbers that nobody can foresee     truth.c            oracle and comparison
 *   orders.c   inputs of a call on fresh ones       ahead.c           sets of inputs that are made ahead
 *   steady.c   what calls of the same work take      rows.c             several calls on fresh inputs, in a row
 *   renewed.c  thousands of inputs                   sizes_in_turn.c    calls of another size each time
 *   counters.c, forward.c  many calls before
 *   places.c   at which addresses buffers lie        sizes_between.c    calls at sizes that no case has
 *   overwrites.c  writes that leave no trace
 *   forward.c  calls after millions of others        counters.c         calls after 65,536 others
 *   cpu.c, or cuda/: the engine, which runs kernels on the CPU or on a GPU
 */
#ifndef KPD_DRIVER_H
#define KPD_DRIVER_H

#include "kpd_task.h"
#include "numbers.h"
#include "swap.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAX_QUADS 256
#define MAX_LAYOUTS 16 /* of one object, under names of their own: kpd/measure/c/layout.py */
#define PATH_BYTES 1024
#define MOST_CALLS 256 /* in a row on a device */
#define STRAY_MORE_NS 5000u /* a wait for the whole device, beyond the stream's, may take so much more for the candidate … */
#define STRAY_MORE_SHARE 100 /* … and one in so many parts of the calls, than for the incumbent */

/* One case's memory. What begins at `base` is shared with the worker, and all of it with the other cases; `pristine`, `kept`
 * and `want` are the driver's own. */
typedef struct {
    const kpd_case *problem;
    size_t number; /* of the case; a size that is drawn has that of none */
    kpd_buffer buffers[KPD_MAX_BUFFERS];
    char *base; /* all buffers with their guard bands; a page begins here */
    size_t bytes;
    swappable inputs;
    int in_place; /* the kernel changes some of its inputs: they are restored before each call */
    size_t offset[KPD_MAX_BUFFERS]; /* of a buffer from `base` */
    void *data[KPD_MAX_BUFFERS];
    char *pristine_base;            /* as `base`, but of the inputs alone: what they should be */
    void *pristine[KPD_MAX_BUFFERS];
    void *kept[KPD_MAX_BUFFERS];    /* outputs that were put aside in the middle of a timing */
    double *want[KPD_MAX_BUFFERS];  /* of a KPD_I64 it is an array of int64_t */
    double spread[KPD_MAX_BUFFERS]; /* between the baseline's own outputs, where they are the truth */
    double *scale[KPD_MAX_BUFFERS]; /* where the harness has a scaled_oracle */
    uint64_t turns; /* swaps that `pristine` has seen */
    kpd_distribution kind; /* of these inputs */
    double *truth;  /* where `want` and `scale` of all outputs lie */
    int placed;     /* how often its buffers got places: for drawn sizes, which take turns in one view */
    int fenced;
} view;

/* How far an output is from the truth. */
typedef struct {
    double multiple; /* of the tolerance; HOPELESS when a value is not a number, or infinite where it should not be */
    size_t index, wrong, compared;
    const char *output;
    double got, want;
    int unwritten; /* the element still holds what was there before the call */
    int cancels;   /* it is small beside the other elements, and wrong by little beside them */
} deviation;

#define HOPELESS 1e99

/* How an output is compared with the truth: see [check] in task.toml. */
typedef struct {
    enum { ELEMENTWISE, SCALED, NORM, EXACT, STEPS } kind;
    double rtol, atol;
    double steps; /* of STEPS: so many at most */
    int spreads;  /* what is not finite may have become another such value, and made others so: it must only not be lost */
    int native;   /* the tolerance follows from the error of the task's own kernel, instead of rtol and atol */
} rule;

/* The error of the task's own kernel, as far as it is more than a step of the output's type. */
typedef struct {
    double relative; /* to the element; beyond that there is … */
    double share;    /* … so much of the root of the output's mean square */
    double absolute; /* … or so much */
    double scaled;   /* relative to the scale of the element's error */
    double norm;     /* of all errors, relative to the output's norm */
} bound;

/* Pages without access on both sides of a buffer: near behind its end, or right before its beginning. */
enum { FENCED_BEHIND = 1, FENCED_BEFORE };

typedef enum { INCUMBENT, CANDIDATE } slot; /* A and B */

/* What a worker measured for one case. The worker writes it, so nothing in it is believed unseen. */
typedef struct {
    int reps, quads;
    int sets;                      /* copies of the buffers that the calls take turns on */
    uint64_t swaps;                /* performed on the inputs of each set, all told */
    uint64_t ns[2][2 * MAX_QUADS]; /* by slot, in the order the batches ran */
    volatile int look;             /* the driver wants to see what the candidate writes: set by the driver */
    int first_set;                 /* of the batch that it is shown, or of a call on fresh inputs */
    int layouts;                   /* that the quads take turns on: in each, both objects lie elsewhere */
    uint64_t spent_ns;             /* all batches, those that were not kept, too; 0 where the engine has another clock */
    uint64_t lost_ns;              /* of these batches, in which other work had the CPU */
    long steal_ticks;              /* of the CPU, taken by the hypervisor and not found as lost; 0 where that is not known */
    int threads;                   /* of the process, after the case; 0 where that is not known */
    /* on a GPU only: */
    int warm_quads;
    uint64_t warm_ns[2][2 * MAX_QUADS]; /* as `ns`, but on one set again and again */
    double device_ns[2];                /* of a call, without the time to launch it */
    int synchronises[2];                /* it waits for the device, so there is no device_ns */
    uint64_t stray_ns;                  /* of calls on fresh inputs: what the device was still at work when their stream was done */
    int order[MOST_CALLS];              /* of the sets in a row of calls on fresh inputs: set by the driver */
} measurement;

/* How a request to the worker ended. */
typedef enum {
    DONE, CRASHED, EXITED, TIMED_OUT, REFUSED, FAILED,
    UNABLE, /* not a kernel's fault */
    BEGUN,  /* not ended yet: a timing's clock runs from here on, and it should take `code` microseconds */
    PAUSED, /* nor this: the outputs of a timed batch can be fetched, until the worker is told to go on */
    AWAKE,  /* nor this: it has been told to, and batches are timed from here on */
    STRAYED, /* into a fence */
} ending;

typedef struct {
    ending how;
    int code;          /* signal, exit status or, of BEGUN, time */
    char message[400]; /* REFUSED, FAILED, UNABLE: why */
} outcome;

/* arena.c */
extern size_t arena_bytes; /* of the memory that the cases share, guard bands included */
extern int arena_fenced;   /* how; set it before arena_make */
extern int arena_loose;    /* buffers begin where malloc's may, and not at a line of the cache; set it before arena_make */
extern size_t arena_asked; /* where sizes are drawn: bytes that one may take at the least; set it before arena_make, … */
extern size_t arena_drawn; /* … which finds how many it may take */
int is_read(const kpd_buffer *buffer);    /* by the kernel */
int is_written(const kpd_buffer *buffer);
size_t bytes_of(const kpd_buffer *buffer);
void arena_make(view *views, measurement **shared);
int arena_fits(const kpd_case *drawn);
size_t arena_own_bytes(const view *v, int with_truth);
view arena_own(const view *of, char *memory, int with_truth);
view arena_copy(const view *of, size_t part);
void arena_resize(view *v, const kpd_case *size, int fenced);
void arena_fence(const view *v, size_t b, int side, char **from, char **to);
void arena_band(const view *v, size_t b, int side, unsigned char **from, unsigned char **to);

/* contents.c */
void arena_fill(view *v, kpd_distribution distribution);
void arena_fill_unseen(view *v, kpd_distribution distribution, uint64_t drawn);
void arena_show(view *v); /* the inputs as they should be, to the worker */
void arena_poison(view *v);
void arena_clear(view *v);
void arena_speckle(const kpd_buffer *buffer, void *data, kpd_rng *rng);
int arena_unwritten(const kpd_buffer *buffer, const void *data, size_t i);
const char *arena_damage(const view *v, char *text, size_t size);
size_t arena_packs(const view *v);
void arena_pack(const view *v, size_t pack, void **data);
void arena_keep(view *v);
void arena_spoil(view *v, kpd_rng *rng);
int arena_differs(const view *v, size_t *output, size_t *index);
void arena_restore(view *v, const char *fresh);

/* secret.c */
int secret_read(void);
uint64_t secret_draw(void);

/* turns.c */
patch arena_patch(const view *v, uint64_t seed, uint64_t turn, uint64_t set);
void arena_turn(const view *v, char *base, uint64_t seed, uint64_t turn, uint64_t set);
void arena_replay(view *v, uint64_t seed, uint64_t set, uint64_t turns);

/* orders.c */
int inputs_kept(const view *v); /* 0: there is no memory for them */
void inputs_anew(const view *v, kpd_distribution distribution, int by_harness);
void inputs_swapped(const view *v, uint64_t seed, uint64_t turn, int more);
void inputs_copy(const view *v, char *to, const char *from);

/* truth.c */
void truth_find(view *v);
void referee_start(const char *object, int limit_ms, int is_truth);
void *const *referee_call(const view *v);
void *const *referee_call_and_truth(view *v);
int referee_repeats(const view *v, size_t calls, uint64_t until);
int referee_ends(const view *v, int status, uint64_t word);
uint64_t referee_busy(const view *v);
int referee_find(view *v); /* 0 where there is none */
size_t truth_count(const view *v, size_t output);
double truth_of(const view *v, size_t output, size_t i);
int truth_excess(kpd_type type, double got, double want, double *error);
deviation truth_compare(const view *v, void *const *data, const rule *how, const bound *bounds); /* those of each buffer */

/* batches.c */
uint64_t now_ns(void);
uint64_t busy_ns(void);
typedef struct {
    int cpu;
    long stolen, switches, waits; /* switches that the kernel forced on the process, and those that it asked for */
    uint64_t at, busy; /* the clock, and the time in which this process had a CPU */
    uint64_t lost;     /* all that was found to be lost, in batches that were not kept, too */
    int forced;        /* whether its CPU was taken from this process before the last question */
    int retakes, unforced; /* batches that may yet be taken again, where it was and where it was not */
} watch;
extern const slot batch_order[4];
int batch_reps(uint64_t call_ns, uint64_t batch_ns, int most);
int batch_quads(int intended, uint64_t ns, uint64_t batch_ns);
uint64_t common_factor(uint64_t a, uint64_t b);
uint64_t middle_of(const uint64_t *ns, int count); /* at most 2 * MAX_QUADS of them */
watch watch_begin(int quads);
uint64_t watch_lost(watch *w);
int watch_retaken(watch *w, uint64_t lost, uint64_t ns);
long watch_stolen(const watch *w);
int watch_threads(void);
long proc_number(const char *path, const char *label, int skip);
int batch_shown(const measurement *m, int number);

/* requests.c: post a request; worker.c: then wait for its answer, of which a timing has several. */
/* That of both kernels, or of the candidate; the referee, of the baseline where its outputs are the truth; and one of the
 * incumbent's own, for its calls on fresh inputs on a CPU. */
enum { OF_BOTH, REFEREE, OF_INCUMBENT, WORKERS };
void worker_use(int which); /* it is spoken to from now on */
void worker_rest(int which);
void worker_wake(int which);
void worker_start(view *views, measurement *shared, const char *const objects[2]); /* that it may load */
void worker_load(const char *const paths[2], slot first); /* what they ask to have called then is called at once, … */
void worker_load_only(const char *const paths[2], slot first);
void worker_begin(void); /* … or only now */
#define ALL_OF_THEM 1u /* a bit of what is drawn for a move of buffers (places.c) */
void worker_move(int number, uint64_t drawn);
void worker_call(slot which, int number, int set, int reps);
void worker_call_squeezed(slot which, int number);
void worker_call_some(slot which, int number, int count, uint64_t order);
void worker_call_each(slot which, int number, int count);
void worker_resize(int number, const kpd_case *size, int fenced);
void worker_time(int number, int quads, uint64_t seed);
void worker_audit(slot which, int number, int first_set);
void worker_fetch(int number, int set);
void worker_fresh_begin(int number, uint64_t seed);
void worker_fresh(slot which, int number, int layout);
void worker_row_begin(int number);
void worker_row_put(int number, int set);
void worker_row(slot which, int number, int calls);
void worker_variables(int number, int back);
void worker_held(void);
int worker_process(void);
uint64_t worker_busy(void);
/* What the system counts of the worker's first thread, which times. */
typedef struct {
    int known;            /* whether the system tells */
    uint64_t ran, waited; /* nanoseconds on a CPU, and in which it could have been on one, but others had that */
    uint64_t forced;      /* how often its CPU was taken from it */
} scheduling;
scheduling worker_scheduling(void);
typedef struct {
    uint64_t at;   /* the clock, once the driver had heard the last answer */
    uint64_t late; /* nanoseconds before that, at the most, in which it could have heard it, but others had its CPU */
} hearing;
extern hearing worker_heard;
void worker_stopwatch(int number, int calls);
void object_path(char to[PATH_BYTES], const char *given);
outcome worker_ready(void);
void worker_look_at(volatile int *look, uint64_t moment);
void worker_resume(void);
outcome worker_wait(int limit_ms, int looking);
outcome worker_leave(int status, uint64_t word);
void worker_end(void);
void worker_stop(void);
/* In the worker. */
void worker_tell(const outcome *answer);
void worker_begun(uint64_t expected_ns);
void worker_pause(view *v);

/* sandbox.c */
void sandbox_hide(void);
void sandbox_enter(const char *const objects[2]);
void sandbox_narrow(void);
int sandbox_is_open(void);

/* calls.c: the last is the driver's, the others are the worker's */
void calls_filter(void);
void calls_narrow(void);
int calls_seal(void);
int calls_ask_for_threads(void);
void calls_let_thread_start(int asked);

/* limits.c: limits_enter and limits_tell_why are the worker's, the others the driver's */
void limits_enter(int line);
extern int limits_late; /* set before a worker starts: memory has no limit there but the machine's; it is looked at later */
uint64_t limits_memory(void); /* that a kernel gets, in bytes */
void limits_tell_why(const void *at);
int limits_listen(int line);
int limits_threads(void);
int limits_threads_of(int process);

/* places.c, in the worker */
void places_try(view *v); /* before any kernel is loaded */
void places_move(view *v, uint64_t drawn, outcome *answer);
void places_leave(void);

/* fence.c, in the worker */
void fence_watch(void);
void fence_raise(const view *v, outcome *answer);
void fence_lower(void);

#ifdef __cplusplus
}
#endif

#include "engine.h"

#endif
