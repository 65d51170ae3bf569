/* Two sets of inputs for each case, and what they should give. Where kernels run on a device the driver has little to do while its
 * worker makes a context or is called: meanwhile a thread makes what the next cases need. It begins once the workers have been
 * forked, and rests where another one is; nobody else uses the harness while it makes something. What is drawn for a case does not
 * depend on when it is made.
 */
#include "report.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define SETS 2
#ifndef MOST_AHEAD
#define MOST_AHEAD ((size_t)3 << 29) /* bytes beside those of the largest case; about half of them are ever written */
#endif
#define NICER 10                     /* than the calls that are made meanwhile */

typedef struct {
    const view *of;
    view sets[SETS];
    uint64_t drawn[SETS];
    size_t at, bytes; /* of the memory */
} twins;

static twins all[KPD_MAX_CASES + 1]; /* in the order in which they are asked for, and then a case that has further ones */
static size_t made, used;            /* of these; what is used gives its memory back */
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

static void lay(twins *t, char *at) {
    for (size_t set = 0; set < SETS; set++) t->sets[set] = arena_own(t->of, at + set * arena_own_bytes(t->of));
}

static void make(twins *t, int set) {
    arena_fill_unseen(&t->sets[set], job.timed, t->drawn[set]);
    truth_find(&t->sets[set]);
}

/* Give the next case memory behind that of the case before, or from the beginning on. 0 while others are there. */
static int placed(size_t next) {
    twins *t = &all[next];
    t->at = next ? all[next - 1].at + all[next - 1].bytes : 0;
    if (t->at + t->bytes > memory_bytes) t->at = 0;
    for (size_t i = used; i < next; i++)
        if (t->at < all[i].at + all[i].bytes && all[i].at < t->at + t->bytes) return 0;
    return 1;
}

static void tell(int *what, int value) {
    *what = value;
    pthread_cond_broadcast(&changed);
}

static void *make_all(void *unused) {
    setpriority(PRIO_PROCESS, 0, NICER); /* of this thread */
    pthread_mutex_lock(&lock);
    for (size_t next = 0; next < kpd_task.case_count && !ended; next++) {
        while (!ended && !placed(next)) pthread_cond_wait(&changed, &lock);
        lay(&all[next], memory + all[next].at);
        for (int set = 0; set < SETS && !ended; set++) {
            while (resting) pthread_cond_wait(&changed, &lock);
            making = 1;
            pthread_mutex_unlock(&lock);
            make(&all[next], set);
            pthread_mutex_lock(&lock);
            made = set + 1 == SETS ? next + 1 : made;
            tell(&making, 0);
        }
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

/* Begin with what is asked for in that order of the cases. */
void ahead_begin(const size_t *order) {
    size_t largest = 0, whole = 0;
    uint64_t drawn[KPD_MAX_CASES][SETS];
    for (size_t c = 0; c < kpd_task.case_count; c++)
        for (int set = 0; set < SETS; set++) drawn[c][set] = secret_draw();
    for (size_t i = 0; i < kpd_task.case_count; i++) {
        all[i].of = &job.views[order[i]];
        all[i].bytes = SETS * arena_own_bytes(all[i].of);
        memcpy(all[i].drawn, drawn[order[i]], sizeof all[i].drawn);
        largest = all[i].bytes > largest ? all[i].bytes : largest;
        whole += all[i].bytes;
    }
    threaded = engine_uses_device && !job.truth; /* else who knows the truth is a worker that may be spoken to */
    memory_bytes = !threaded || largest > MOST_AHEAD ? largest : whole < largest + MOST_AHEAD ? whole : largest + MOST_AHEAD;
    memory = allot(memory_bytes);
    threaded = threaded && !pthread_create(&maker, NULL, make_all, NULL);
}

/* The two sets of the case that is in this place of the order. */
view *ahead_take(size_t place) {
    if (!threaded) {
        lay(&all[place], memory);
        for (int set = 0; set < SETS; set++) make(&all[place], set);
        return all[place].sets;
    }
    pthread_mutex_lock(&lock);
    while (made <= place) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return all[place].sets;
}

/* Those that were taken last are used no more. */
void ahead_leave(void) {
    pthread_mutex_lock(&lock);
    used++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Let nothing be made until told to go on. */
void ahead_rest(int rest) {
    pthread_mutex_lock(&lock);
    tell(&resting, rest);
    while (rest && making) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* Two further sets of a case, once, while no others that were taken are in use. */
view *ahead_further(size_t number) {
    twins *t = &all[kpd_task.case_count];
    t->of = &job.views[number];
    t->bytes = SETS * arena_own_bytes(t->of);
    for (int set = 0; set < SETS; set++) t->drawn[set] = secret_draw();
    lay(t, threaded ? allot(t->bytes) : memory);
    ahead_rest(1);
    for (int set = 0; set < SETS; set++) make(t, set);
    ahead_rest(0);
    return t->sets;
}

void ahead_end(void) {
    if (!threaded) return;
    pthread_mutex_lock(&lock);
    tell(&ended, 1);
    pthread_mutex_unlock(&lock);
    pthread_join(maker, NULL);
}
