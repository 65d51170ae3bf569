/* What the modes share: the job, what went wrong in it, and how both are reported. */
#ifndef KPD_REPORT_H
#define KPD_REPORT_H

#include "driver.h"

typedef struct {
    view views[KPD_MAX_CASES + 1]; /* the last one in use is for sizes that are drawn */
    measurement *shared; /* the worker's */
    rule how;                                /* outputs are compared */
    int promised[KPD_DISTRIBUTIONS];         /* the kinds of inputs that the task promises */
    kpd_distribution timed;                  /* the first of them */
    const char *truth;                       /* the task's own kernel, if its outputs are the truth */
    const char *baseline;                    /* the same, if sizes are drawn: where it is right, a candidate must be */
    enum { ANY, KEPT, PROPAGATE } nonfinite; /* what becomes of values in an input that are not finite: anything, a value that is
                                              * not finite, either; or that which the oracle has */
    int any_size;         /* a timed object is called at a size that no case has, too */
    int trusted;          /* the two objects are the incumbent's: its results are not looked at */
    int sampled;          /* results are looked at in some cases, which nobody can know before */
    int limit_ms;         /* for one answer of the worker */
    const char *paths[2]; /* of the objects, by slot; NULL: there is none */
    slot first;           /* to be loaded */
} job_t;

typedef struct {
    const char *kind; /* NULL: nothing */
    const char *when; /* check or timed outputs, … */
    slot who;
    const char *case_name, *distribution;
    char message[400];
    int signal;
    deviation worst;
} problem_t;

extern job_t job;
extern const char *const distribution_names[KPD_DISTRIBUTIONS];
extern problem_t problem;

kpd_distribution promised_kind(kpd_rng *rng);
kpd_distribution promised_after(kpd_distribution d);
void blame(const char *kind, slot who, const view *v, const char *distribution, const char *when);
void unbelieved(const view *v, const char *when);
int well(outcome o, slot who, const view *v, const char *distribution, const char *when);
int answered(slot who, const view *v, const char *distribution, const char *when);
void spend(const char *on);
void started(void);
int loaded(void);
int unharmed(slot who, const view *v, const char *distribution, const char *when);
const char *timed_name(void);
int near(deviation found, slot who, const view *v, const char *when);
int right(slot who, const view *v, const char *when);
void print_batches(const char *name, const uint64_t *ns, int count);
void print_spent(void);
void print_problem(void);

/* bounds.c */
void bounds_measure(const char *object, const char *path);
int bounds_read(const char *path);
const bound *bounds_of(size_t number, kpd_distribution distribution);
void bounds_draw(const view *v, void *const *data, size_t near, kpd_distribution d);

/* sizes.c */
int sizes_vary(void);
int has_elements(const view *v);
int size_dims(void); /* that the task has */
long size_allowed(long size, const kpd_limit *limit);
typedef enum { ANY_SIZE, LARGER_SIZE, SMALL_SIZE, THIN_SIZE, TURNED_SIZE, QUICK_SIZE } size_kind;
int size_drawn(kpd_rng *rng, kpd_case *drawn, size_kind kind);
size_t case_of_size(int most, kpd_use without);
int size_less(kpd_rng *rng, kpd_case *drawn, size_t number);
int size_few(kpd_rng *rng, kpd_case *drawn, size_t number, unsigned dims, double few);
int size_long(kpd_rng *rng, kpd_case *drawn, size_t number, unsigned dims, double times);
int size_beyond(kpd_rng *rng, kpd_case *drawn, size_t number, double times);
double size_product(const kpd_case *size, unsigned but); /* of all dims but these, a bit for each */
const char *size_name(const kpd_case *drawn);
void size_watched(const kpd_case *drawn);

/* ahead.c */
void ahead_begin(const size_t *order, size_t count, uint64_t drawn[][2], int sets_of_each);
view *ahead_take(size_t place);
view *ahead_further(size_t number);
typedef enum { SWAPPED_FEW, LARGER_FEW, NEGATED_FEW, NEGATED_ONE, NEGATED_ALL, WAYS_ALIKE } how_alike; /* what sets that are alike differ in */
int ahead_make_alike(how_alike how);
void ahead_leave(void);
void ahead_rest(int rest);
void ahead_end(void);

/* mappings.c */
void mappings_note_own(void);
void mappings_note(const char *const paths[2]);
void mappings_note_parts(void);
typedef struct {
    unsigned long from, to;
} span;
size_t mappings_variables(const char *path, span *spans, int most, int *count);
int mappings_contain(uint64_t address);
int memory_of_worker(void); /* a file to read it from */
int unpatched(void);
int code_compared(void); /* by that */

/* steady.c */
void steady_start(void);
void steady_before(void);
void steady_after(void);
#define STEADY_AGAIN (-1) /* the calls of this case have to be made once more */
int steady(const view *v, int again);
void memory_begin(void);
long memory_grown(void);
int memory_enough(void);
int rests(void);
double mean_of_least(double *numbers, size_t count, size_t least);
uint64_t candidate_takes(const view *v, const char *when, uint64_t *passed);

/* renewed.c */
size_t renewed(uint64_t limit_ns);
int renewed_in_cases(uint64_t limit_ns);
extern const char called_when[]; /* new inputs in each call */
int called_on_new(view *v, size_t near_case, kpd_distribution d, const char *when);
int right_there(view *v, void *const *data, size_t near_case, kpd_distribution d, const char *when);

/* sizes_in_turn.c */
int sizes_in_turn(uint64_t limit_ns);

/* sizes_overflow.c */
void sizes_overflow(double most, double least);

/* sizes_between.c */
int sizes_between(uint64_t limit_ns);

/* sizes_kept.c */
int sizes_kept(uint64_t limit_ns);

/* counters.c */
int counters_around(uint64_t limit_ns);

/* overwrites.c */
void overwrites_watch(const view *v);
int overwrites_none(const view *v, const char *kind, const char *when);

/* forward.c */
void forward_begin(view *v);
void forward_look(void);
int forward_to_ends(size_t near_case);
int forward(void);

/* sizes_beyond.c */
void sizes_beyond(const char *object, uint64_t limit_ns);
int sizes_long(uint64_t limit_ns);

/* rows.c */
typedef enum { SINGLY, IN_A_ROW } manner; /* of calls on fresh inputs: these, or besides some in a row */
#define MOST_ROWS 12
typedef struct {
    int calls, rows, compared; /* calls of a row */
    uint64_t ns[2][MOST_ROWS], strays[2][MOST_ROWS];
} row_calls;
int rows_timed(int number, int anew, uint64_t limit_ns, row_calls *found);
void rows_print(const row_calls *found);
int none_strays(const view *v, const uint64_t *incumbent, const uint64_t *candidate, const uint64_t *ns, int count);

/* apart.c */
void apart_start(const char *incumbent);
int apart_loaded(void);
void apart_turn_to(slot who);
void apart_ask(slot who, int number, int layout);
int apart_answered(slot who, const view *v);
uint64_t apart_ns(slot who); /* of the call that has been answered */

/* uneven.c */
void fill_drawn(view *v, kpd_distribution d, uint64_t drawn);

enum { ABOVE = 1, BELOW = 2 };
int signs_in(const view *v, size_t b); /* whether an input has elements above zero, below it, or both */

/* patterns.c */
#define LARGEST_PROMISED 1e12 /* of values (kpd_task.h) */
size_t inputs_of_floats(const view *v, size_t *of);
int patterned(view *v, kpd_rng rng, int larger);
void lanes_changed(view *v, kpd_rng rng);
int few_larger(view *v, kpd_rng rng);
int negated(view *v, kpd_rng rng, how_alike how);

/* check.c */
int baseline_right(view *v, const kpd_case *drawn, size_t near_case, kpd_distribution d);
int resized(view *v, const kpd_case *drawn, int fenced, kpd_distribution d);

/* check.c, timed.c, fresh.c, repeat.c */
typedef enum { NEVER, ALWAYS, AS_THE_BASELINE } steadiness; /* whether equal inputs must give equal bits */
void check(const char *object, int seeds);
void await_turn(void);
void end_turn(void);
int rehearsed(int number, int quads);
void time_pair(const char *incumbent, const char *candidate, slot first, int quads);
void fresh_pair(const char *incumbent, const char *candidate, slot first, int budget_ms, manner how);
int fresh_believed(slot who, const view *v, uint64_t ns, uint64_t passed, int calls);
extern const char fresh_when[];
void repeat(const char *object, steadiness asked, int ms);
size_t repeat_one(view *sets, steadiness asked, uint64_t limit_ns);

/* alike.c */
int repeat_alike(const size_t *order, size_t count, size_t *calls, steadiness asked, uint64_t each_ns);

#endif
