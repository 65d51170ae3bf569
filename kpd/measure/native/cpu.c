/* The engine for kernels that run on the CPU: they work in the memory that is shared with the driver. */
#include "driver.h"

#include <dlfcn.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BATCH_NS 125000u       /* what a batch should take: disturbances come in bursts, and short quads dodge them */
#define MOST_REPS 100000
#define TRIALS 3               /* single calls that calibrate the batch, … */
#define TRIALS_NS 1000000u     /* … or fewer where they take longer together */
#define WARM_UPS 3
#define CLOSED (1u << 20)      /* bytes without access behind an object: two MiB would lie elsewhere, where large pages can */

const uint64_t engine_file_bytes = 1u << 20;
const uint64_t engine_own_bytes = 256u << 20; /* beside copies of the task's buffers: limits.c */
const size_t engine_alignment = 64; /* a line of the cache */
const int engine_uses_device = 0;
const int engine_makes_code = 0;
const int engine_fences = 1;

static measurement *result;
static kpd_kernel kernels[2][MAX_LAYOUTS];
static int layouts[2], layout; /* how many there are of each, and the one that is called */
static uint64_t swap_seed;

/* What objects ask to have called when they are loaded: in tables that the system's loader does not know (c/layout.py). */
typedef void (*beginning)(int, char **, char **);
static struct {
    const beginning *from, *to;
} tables[2];
static int table_count;

/* The heap of a kernel begins elsewhere in each process: the driver is given as many bytes as it may waste. */
static void move_heap(void) {
    static void *volatile kept;
    const char *pad = getenv("KPD_LAYOUT");
    kept = malloc(pad ? strlen(pad) + 1 : 1);
    (void)kept; /* it is never given back */
}

void engine_start(measurement *shared, const view *pinned, outcome *answer) {
    (void)pinned, (void)answer;
    move_heap();
    result = shared;
}

static int found(void *object, const char *name, slot which) {
    void *symbol = object ? dlsym(object, name) : NULL;
    if (symbol) memcpy(&kernels[which][layouts[which]++], &symbol, sizeof symbol);
    return symbol != NULL;
}

static void note_table(void *object) {
    const beginning *from = object ? dlsym(object, "kpd_begins") : NULL, *to = object ? dlsym(object, "kpd_begins_end") : NULL;
    if (!from || !to || table_count == 2 || (table_count && tables[0].from == from)) return; /* both may be one object */
    tables[table_count].from = from;
    tables[table_count++].to = to;
}

/* The system gives the next memory below the last: so who runs over the end of an object's own data mostly ends there. */
static void close_behind(void) { mmap(NULL, CLOSED, PROT_NONE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0); }

void engine_load(const char *path, slot which, outcome *answer) {
    close_behind();
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    char name[PATH_BYTES];
    note_table(object);
    if (found(object, kpd_task.symbol, which)) return;
    do snprintf(name, sizeof name, "%s.%d", kpd_task.symbol, layouts[which]);
    while (layouts[which] < MAX_LAYOUTS && found(object, name, which));
    if (layouts[which]) return;
    answer->how = REFUSED;
    if (object) snprintf(answer->message, sizeof answer->message, "no function %s in the object", kpd_task.symbol);
    else snprintf(answer->message, sizeof answer->message, "%s", dlerror());
}

/* Of a kernel that changes buffers in place: what they hold before a call, where they are in the case's memory. */
static char *fresh;

static void keep_fresh(const view *v, outcome *answer) {
    static size_t room;
    if (!v->in_place) return;
    if (v->bytes > room) {
        free(fresh);
        fresh = malloc(room = v->bytes);
    }
    if (!fresh) answer->how = UNABLE, room = 0;
    for (size_t b = 0; fresh && b < kpd_task.buffer_count; b++) /* what lies between them may be without access */
        memcpy(fresh + v->offset[b], v->data[b], bytes_of(&v->buffers[b]));
}

#if defined(__x86_64__)
#define DIRECTION 0x400u
#define ALIGNMENT 0x40000u
#endif

/* The processor as a function may find it, whatever another one has left. */
static void settle(void) {
    fesetenv(FE_DFL_ENV);
#if defined(__x86_64__)
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(uint64_t)(DIRECTION | ALIGNMENT));
    __asm__ volatile("emms" ::: "memory");
#endif
}

void engine_begin(void) {
    extern char **environ;
    for (int i = 0; i < table_count; i++) {
        for (const beginning *at = tables[i].from; at < tables[i].to; at++) {
            (*at)(0, (char *[]){NULL}, environ); /* as the loader does */
            settle();
        }
    }
}

/* How the processor rounds, traps and treats denormal numbers, in which direction it copies, whether it traps at odd addresses,
 * and which x87 or MMX registers are in use: a function gives that back as it was, by the calling convention. */
static uint64_t modes(void) {
#if defined(__x86_64__)
    uint64_t flags = __builtin_ia32_readeflags_u64() & (DIRECTION | ALIGNMENT);
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(uint64_t)(DIRECTION | ALIGNMENT));
    uint32_t vectors, x87[7];
    __asm__ volatile("stmxcsr %0" : "=m"(vectors));
    __asm__ volatile("fnstenv %0\n\tfldcw %0" : "=m"(x87)); /* the first word is the control word, the third says what is in use */
    uint64_t traps = (flags & DIRECTION ? 1 : 0) | (flags & ALIGNMENT ? 2 : 0);
    traps |= vectors & ~0x3Fu; /* the lowest bits only say what has happened */
    return (x87[0] & 0xFFFF) | traps << 16 | (uint64_t)x87[2] << 48;
#elif defined(__aarch64__)
    uint64_t found;
    __asm__ volatile("mrs %0, fpcr" : "=r"(found));
    return found;
#else
    return (uint64_t)fegetround();
#endif
}

void engine_call(view *v, slot which, int set, int reps, outcome *answer) {
    (void)set;
    keep_fresh(v, answer);
    settle();
    uint64_t before = modes();
    for (int i = 0; i < reps && answer->how == DONE; i++) {
        if (i && v->in_place) arena_restore(v, fresh);
        kpd_task.call(kernels[which][layout], v->problem, v->data);
        if (modes() == before) continue;
        answer->how = FAILED;
        snprintf(answer->message, sizeof answer->message, "returned with other modes of the processor (rounding, traps, denormals, "
            "direction, alignment, x87 registers in use)");
    }
    settle();
}

/* The clock stands still while what the kernel changes in place is restored. */
static uint64_t batch_in_place(view *v, slot which, int reps) {
    uint64_t ns = 0;
    for (int i = 0; i < reps; i++) {
        arena_turn(v, v->base, swap_seed, result->swaps, 0);
        arena_turn(v, fresh, swap_seed, result->swaps++, 0);
        arena_restore(v, fresh);
        uint64_t start = now_ns();
        kpd_task.call(kernels[which][layout], v->problem, v->data);
        ns += now_ns() - start;
    }
    return ns ? ns : 1;
}

/* Nanoseconds of `reps` calls. The processor's modes are the default ones whatever the objects' constructors or the
 * other kernel left; the inputs change before every call, at the same small cost for both kernels. */
static uint64_t batch(view *v, slot which, int reps) {
    settle();
    if (v->in_place) return batch_in_place(v, which, reps);
    uint64_t turn = result->swaps, start = now_ns();
    for (int i = 0; i < reps; i++) {
        arena_turn(v, v->base, swap_seed, turn++, 0);
        kpd_task.call(kernels[which][layout], v->problem, v->data);
    }
    uint64_t end = now_ns();
    result->swaps = turn;
    return end > start ? end - start : 1;
}

static int least(int one, int other) { return one < other ? one : other; }

static uint64_t quickest_call(view *v, slot which) {
    uint64_t best = UINT64_MAX, all = 0;
    for (int i = 0; i <= TRIALS && (i < 2 || all < TRIALS_NS); i++) {
        uint64_t ns = batch(v, which, 1);
        if (!i) continue; /* it only warms up */
        all += ns;
        best = ns < best ? ns : best;
    }
    return best;
}

void engine_time(view *v, int quads, uint64_t seed, outcome *answer) {
    keep_fresh(v, answer);
    if (answer->how != DONE) return;
    memset(result, 0, sizeof *result);
    swap_seed = seed;
    layout = 0;
    uint64_t a = quickest_call(v, INCUMBENT), b = quickest_call(v, CANDIDATE), call = a > b ? a : b;
    result->sets = 1;
    result->reps = batch_reps(call, BATCH_NS, MOST_REPS);
    result->quads = batch_quads(quads, (uint64_t)result->reps * call, BATCH_NS);
    result->layouts = least(result->quads, least(layouts[INCUMBENT], layouts[CANDIDATE]));
    batch(v, INCUMBENT, result->reps);
    batch(v, CANDIDATE, result->reps);
    int done[2] = {0, 0}, shown = 0;
    worker_begun(4 * (uint64_t)result->quads * (uint64_t)result->reps * call);
    uint64_t before = 0; /* lost in the quads before this one */
    watch w = watch_begin(result->quads);
    for (int i = 0; i < 4 * result->quads; i++) {
        slot which = batch_order[i % 4];
        before = i % 4 ? before : result->lost_ns;
        layout = i / 4 % result->layouts; /* quad by quad: what disturbs some in a row disturbs no layout much */
        watch_lost(&w);
        uint64_t from = now_ns(), ns = batch(v, which, result->reps), until = now_ns(), lost = watch_lost(&w);
        result->spent_ns += v->in_place ? until - from : ns;
        if (watch_retaken(&w, lost, ns)) {
            i--;
            continue;
        }
        result->ns[which][done[which]++] = ns;
        result->lost_ns += lost;
        if (shown || !batch_shown(result, i)) continue;
        worker_pause(v);
        shown = 1;
        result->lost_ns = before;
        done[INCUMBENT] = done[CANDIDATE] = i / 4 * 2; /* the quad begins anew */
        i = i / 4 * 4 - 1;
    }
    result->steal_ticks = watch_stolen(&w);
    result->threads = watch_threads();
}

void engine_audit(view *v, slot which, int first_set, outcome *answer) {
    (void)first_set, (void)answer;
    for (int i = 0; i < AFTERMATH_SWAPS; i++) {
        if (v->in_place) arena_turn(v, fresh, swap_seed, result->swaps, 0);
        arena_turn(v, v->base, swap_seed, result->swaps++, 0);
    }
    batch(v, which, result->reps);
}

void engine_fetch(view *v, int set, outcome *answer) { (void)v, (void)set, (void)answer; }

void engine_fresh_begin(view *v, uint64_t seed, outcome *answer) {
    (void)seed, (void)answer;
    for (int which = 0; which < 2; which++) kpd_task.call(kernels[which][0], v->problem, v->data);
}

void engine_fresh(view *v, slot which, int wanted, outcome *answer) {
    (void)answer;
    layout = wanted % least(layouts[INCUMBENT], layouts[CANDIDATE]);
    settle();
    uint64_t start = now_ns();
    kpd_task.call(kernels[which][layout], v->problem, v->data);
    uint64_t ns = now_ns() - start;
    result->ns[which][0] = ns ? ns : 1;
}

/* Only a device has sets of buffers for calls in a row: here each call has the same. */
void engine_row_begin(view *v, outcome *answer) { (void)v, answer->how = UNABLE; }

void engine_row_put(view *v, int set, outcome *answer) { (void)v, (void)set, answer->how = UNABLE; }

void engine_row(view *v, slot which, int calls, outcome *answer) { (void)v, (void)which, (void)calls, answer->how = UNABLE; }

/* The driver looks at these itself. */
void engine_variables(view *v, int back, outcome *answer) { (void)v, (void)back, (void)answer; }

void engine_held(outcome *answer) { (void)answer; }

void engine_squeezed(view *v, slot which, outcome *answer) { engine_call(v, which, 0, 1, answer); }

int engine_has_room(const kpd_buffer *buffers) { return !buffers; }

void engine_overflow_own(const view *v, uint64_t seed, size_t from, overflowed *found, outcome *answer) {
    (void)v, (void)seed, (void)from, (void)found;
    answer->how = UNABLE;
}

void engine_overflow(const view *v, uint64_t seed, overflowed *found, outcome *answer) { engine_overflow_own(v, seed, 0, found, answer); }

void engine_overflow_timed(const view *v, uint64_t seed, overflowed *found, outcome *answer) { engine_overflow_own(v, seed, 0, found, answer); }

void engine_takes(const view *v, slot which, uint64_t seed, uint64_t *ns, outcome *answer) {
    (void)v, (void)which, (void)seed, (void)ns;
    answer->how = UNABLE;
}

void engine_profile(view *v, int calls, outcome *answer) { engine_call(v, CANDIDATE, 0, calls, answer); }

void engine_memcheck(view *v, int calls, outcome *answer) { engine_call(v, CANDIDATE, 0, calls, answer); }

void engine_stopwatch(view *v, int calls, outcome *answer) {
    keep_fresh(v, answer);
    if (answer->how != DONE) return;
    for (int i = 0; i < WARM_UPS; i++) batch(v, CANDIDATE, 1);
    for (int i = 0; i < calls; i++) result->ns[CANDIDATE][i] = batch(v, CANDIDATE, 1);
}

int engine_look(void) { return 0; }

void engine_report(const measurement *found) { (void)found; }
