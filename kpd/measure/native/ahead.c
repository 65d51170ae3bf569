/* Sets of inputs for each case that is asked for: two and what they should give, for calls that repeat, or one to be timed. Where
 * kernels run on a device the driver has little to do while its worker makes a context or is called, or while it waits for its
 * turn: meanwhile a thread makes what the next cases need. It begins once the workers have been forked, and rests where another
 * one is; nobody else uses the harness while it makes something. What is drawn for a case does not depend on when it is made.
 */
#include "report.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define MOST_SETS 2
#ifndef MOST_AHEAD
#define MOST_AHEAD ((size_t)3 << 29) /* bytes beside those of the largest case; about half of them are ever written */
#endif
#ifndef MOST_AHEAD_OF_TIMING
#define MOST_AHEAD_OF_TIMING ((size_t)1 << 29) /* the same, where several processes wait for their turn */
#endif
#define NICER 10                     /* than the calls that are made meanwhile */
#define LITTLE 4                     /* swaps of inputs, or changes of the harness, by which sets are made to differ */

typedef struct {
    const view *of;
    view sets[MOST_SETS];
    uint64_t drawn[MOST_SETS];
    size_t at, bytes; /* of the memory */
} group;

static group all[KPD_MAX_CASES + 1]; /* in the order in which they are asked for, and then a case that has further ones */
static size_t asked, made, used;     /* of these; what is used gives its memory back */
static int sets;                     /* of each */
static char *memory;
static size_t memory_bytes;
static int threaded, making, resting, ended;
static pthread_t maker;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static char *allot(size_t bytes) {
    char *found = malloc(bytes);
    if (found) return found;
    perror("cannot allocate sets of inputs");
    exit(2);
}

/* Whether each set has a truth of its own. */
static int with_truth(void) { return sets > 1; }

static size_t bytes_of_sets(const view *of) { return (size_t)sets * arena_own_bytes(of, with_truth()); }

static void lay(group *g, char *at) {
    size_t each = arena_own_bytes(g->of, with_truth());
    for (int set = 0; set < sets; set++) g->sets[set] = arena_own(g->of, at + (size_t)set * each, with_truth());
}

/* On a device, where their times are not compared, a second set is of any kind: what is timed only is checked with no other one. */
static void make(group *g, int set) {
    kpd_rng rng = {g->drawn[set]};
    kpd_distribution any = job.promised[KPD_CONSTANT] && kpd_random(&rng) & 1 ? KPD_CONSTANT : promised_kind(&rng);
    if (set && engine_uses_device) fill_drawn(&g->sets[set], any, kpd_random(&rng));
    else arena_fill_unseen(&g->sets[set], job.timed, g->drawn[set]);
    if (with_truth()) truth_find(&g->sets[set]);
}

/* Give the next case memory behind that of the case before, or from the beginning on. 0 while others are there. */
static int placed(size_t next) {
    group *g = &all[next];
    g->at = next ? all[next - 1].at + all[next - 1].bytes : 0;
    if (g->at + g->bytes > memory_bytes) g->at = 0;
    for (size_t i = used; i < next; i++)
        if (g->at < all[i].at + all[i].bytes && all[i].at < g->at + g->bytes) return 0;
    return 1;
}

static void tell(int *what, int value) {
    *what = value;
    pthread_cond_broadcast(&changed);
}

static void *make_all(void *unused) {
    setpriority(PRIO_PROCESS, 0, NICER); /* of this thread */
    pthread_mutex_lock(&lock);
    for (size_t next = 0; next < asked && !ended; next++) {
        while (!ended && !placed(next)) pthread_cond_wait(&changed, &lock);
        lay(&all[next], memory + all[next].at);
        for (int set = 0; set < sets && !ended; set++) {
            while (resting) pthread_cond_wait(&changed, &lock);
            making = 1;
            pthread_mutex_unlock(&lock);
            make(&all[next], set);
            pthread_mutex_lock(&lock);
            made = set + 1 == sets ? next + 1 : made;
            tell(&making, 0);
        }
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

/* Begin with `count` cases that are asked for in that order, each with its numbers that were drawn, of which it takes one for
 * each of so many sets. */
void ahead_begin(const size_t *order, size_t count, uint64_t drawn[][2], int sets_of_each) {
    size_t largest = 0, whole = 0, most = MOST_AHEAD;
    asked = count;
    sets = sets_of_each;
    if (!with_truth()) most = MOST_AHEAD_OF_TIMING;
    for (size_t i = 0; i < count; i++) {
        all[i].of = &job.views[order[i]];
        all[i].bytes = bytes_of_sets(all[i].of);
        memcpy(all[i].drawn, drawn[order[i]], sizeof all[i].drawn);
        largest = all[i].bytes > largest ? all[i].bytes : largest;
        whole += all[i].bytes;
    }
    threaded = engine_uses_device && !(with_truth() && job.truth); /* else who knows the truth is a worker that may be spoken to */
    memory_bytes = !threaded || largest > most ? largest : whole < largest + most ? whole : largest + most;
    if (threaded || with_truth()) memory = allot(memory_bytes);
    threaded = threaded && !pthread_create(&maker, NULL, make_all, NULL);
}

/* The sets of the case that is in this place of the order. Without a thread a single one is where the case has its own. */
view *ahead_take(size_t place) {
    if (!threaded) {
        if (with_truth()) lay(&all[place], memory);
        else all[place].sets[0] = *all[place].of;
        for (int set = 0; set < sets; set++) make(&all[place], set);
        return all[place].sets;
    }
    pthread_mutex_lock(&lock);
    while (made <= place) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return all[place].sets;
}

/* Those that were taken last are used no more, and others may be made. */
void ahead_leave(void) {
    pthread_mutex_lock(&lock);
    used++;
    tell(&resting, 0);
    pthread_mutex_unlock(&lock);
}

/* Let nothing be made until told to go on. */
void ahead_rest(int rest) {
    pthread_mutex_lock(&lock);
    tell(&resting, rest);
    while (rest && making) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* Further sets of a case, while no others that were taken are in use; on a device once. */
view *ahead_further(size_t number) {
    group *g = &all[asked];
    g->of = &job.views[number];
    for (int set = 0; set < sets; set++) g->drawn[set] = secret_draw();
    lay(g, threaded ? allot(bytes_of_sets(g->of)) : memory);
    ahead_rest(1);
    for (int set = 0; set < sets; set++) make(g, set);
    ahead_rest(0);
    return g->sets;
}

/* Of these all become as the first one, but for what is said. 0 where the task's inputs cannot differ in that. */
int ahead_make_alike(how_alike how) {
    group *g = &all[asked];
    int differ = 1;
    for (int set = 1; set < sets && differ; set++) {
        view *v = &g->sets[set];
        inputs_copy(v, v->pristine_base, g->sets[0].pristine_base);
        v->turns = 0;
        if (how == SWAPPED_FEW) arena_replay(v, secret_draw(), 0, LITTLE);
        else differ = how == LARGER_FEW ? few_larger(v, (kpd_rng){secret_draw()}) : negated(v, (kpd_rng){secret_draw()}, how);
        if (differ) truth_find(v);
    }
    return differ;
}

void ahead_end(void) {
    if (!threaded) return;
    pthread_mutex_lock(&lock);
    tell(&ended, 1);
    pthread_mutex_unlock(&lock);
    pthread_join(maker, NULL);
}
