/* The worker: a child that loads the kernels and runs them, and that knows neither the secret seed nor the truth.
 *
 * It is forked before the seed is read. The driver asks it for one thing at a time over a socket pair and waits no longer
 * than a limit, so that a kernel that crashes, hangs or ends the process is an answer, not an accident.
 *
 * This is no sandbox: both kernels and the clock share the worker, and code that sets out to falsify its times there can.
 */
#include "driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#define BATCH_NS 125000u       /* what a batch should take: disturbances come in bursts, and short quads dodge them */
#define MOST_REPS 100000u
#define TRIALS 3               /* single calls that calibrate the batch */
#define STRETCH 2u             /* a case may take this many times the intended time before quads are left out */
#define FEWEST_QUADS 3
#define FILE_LIMIT (1u << 20)  /* bytes that a kernel may write to a file (its standard error, say) */

typedef struct {
    enum { LOAD, CALL, TIME } what;
    slot which;
    int number, amount;
    uint64_t seed;
    char paths[2][1024];
} request;

static pid_t child = -1;
static int line_to_child = -1;

/* ── in the child ─────────────────────────────────────────────────────────────────────────────────────────────────── */

static view *cases;
static measurement *result;
static kpd_kernel kernels[2];

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long involuntary_switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

/* A number that stands after `label` in a file of /proc, `skip` words further on; 0 where there is none. */
static long proc_number(const char *path, const char *label, int skip) {
    FILE *file = fopen(path, "r");
    char text[1024];
    long number = 0;
    while (file && fgets(text, sizeof text, file)) {
        if (strncmp(text, label, strlen(label))) continue;
        char *word = strtok(text + strlen(label), " \t");
        while (word && skip--) word = strtok(NULL, " \t");
        number = word ? atol(word) : 0;
        break;
    }
    if (file) fclose(file);
    return number;
}

static int cpu_now(void) {
#ifdef __linux__
    return sched_getcpu();
#else
    return -1;
#endif
}

static long steal_ticks(int cpu) {
    char label[32];
    snprintf(label, sizeof label, "cpu%d ", cpu);
    return proc_number("/proc/stat", label, 7);
}

static void load(const request *asked, outcome *answer) {
    for (int turn = 0; turn < 2; turn++) {
        slot which = turn == 0 ? asked->which : (slot)!asked->which;
        if (!asked->paths[which][0]) continue;
        void *object = dlopen(asked->paths[which], RTLD_NOW | RTLD_LOCAL);
        void *symbol = object ? dlsym(object, kpd_task.symbol) : NULL;
        if (!symbol) {
            answer->how = REFUSED;
            snprintf(answer->message, sizeof answer->message, "%s", object ? "" : dlerror());
            if (object) snprintf(answer->message, sizeof answer->message, "no function %s in the object", kpd_task.symbol);
            return;
        }
        memcpy(&kernels[which], &symbol, sizeof symbol);
    }
}

/* Nanoseconds of `reps` calls. The floating-point environment is the default one whatever the objects' constructors or the
 * other kernel left; the inputs change before every call, at the same small cost for both kernels. */
static uint64_t batch(view *v, slot which, int reps, kpd_rng *swaps) {
    fesetenv(FE_DFL_ENV);
    uint64_t start = now_ns();
    for (int i = 0; i < reps; i++) {
        arena_swap(v, v->data, swaps);
        kpd_task.call(kernels[which], v->problem, v->data);
    }
    uint64_t end = now_ns();
    result->swaps += (uint64_t)reps;
    return end > start ? end - start : 1;
}

static uint64_t quickest_call(view *v, slot which, kpd_rng *swaps) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i <= TRIALS; i++) {
        uint64_t ns = batch(v, which, 1, swaps);
        if (i > 0 && ns < best) best = ns; /* the first one only warms up */
    }
    return best;
}

static void time_case(view *v, int quads, uint64_t seed) {
    static const slot order[4] = {INCUMBENT, CANDIDATE, CANDIDATE, INCUMBENT};
    kpd_rng swaps = {seed};
    memset(result, 0, sizeof *result);
    uint64_t a = quickest_call(v, INCUMBENT, &swaps), b = quickest_call(v, CANDIDATE, &swaps);
    uint64_t call = a > b ? a : b; /* the slower one sets the size of a batch, and so the time a case can take */
    uint64_t reps = BATCH_NS / call < 1 ? 1 : BATCH_NS / call > MOST_REPS ? MOST_REPS : BATCH_NS / call;
    uint64_t affordable = STRETCH * (uint64_t)quads * BATCH_NS / (reps * call);
    result->reps = (int)reps;
    result->quads = affordable < FEWEST_QUADS ? FEWEST_QUADS : affordable < (uint64_t)quads ? (int)affordable : quads;
    batch(v, INCUMBENT, result->reps, &swaps);
    batch(v, CANDIDATE, result->reps, &swaps);
    int done[2] = {0, 0}, cpu = cpu_now();
    long stolen = steal_ticks(cpu), switches = involuntary_switches();
    for (int i = 0; i < 4 * result->quads; i++) {
        slot which = order[i % 4];
        result->ns[which][done[which]++] = batch(v, which, result->reps, &swaps);
        long after = involuntary_switches();
        result->disturbed += after > switches;
        switches = after;
    }
    result->steal_ticks = steal_ticks(cpu) - stolen;
    result->threads = (int)proc_number("/proc/self/status", "Threads:", 0);
}

static void serve(int line) {
    request asked;
    while (recv(line, &asked, sizeof asked, MSG_WAITALL) == (ssize_t)sizeof asked) {
        outcome answer = {.how = DONE};
        view *v = &cases[asked.number];
        fesetenv(FE_DFL_ENV);
        switch (asked.what) {
        case LOAD: load(&asked, &answer); break;
        case CALL:
            for (int i = 0; i < asked.amount; i++) kpd_task.call(kernels[asked.which], v->problem, v->data);
            break;
        case TIME: time_case(v, asked.amount, asked.seed); break;
        }
        if (send(line, &answer, sizeof answer, 0) != (ssize_t)sizeof answer) break;
    }
    _exit(0);
}

/* ── in the driver ────────────────────────────────────────────────────────────────────────────────────────────────── */

/* Fork the worker. What a kernel prints does not reach the driver's standard output, which is the report. */
void worker_start(view *views, measurement *shared) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || (child = fork()) < 0) {
        perror("cannot start the worker");
        exit(2);
    }
    if (child) {
        close(pair[1]);
        line_to_child = pair[0];
        signal(SIGPIPE, SIG_IGN);
        return;
    }
    close(pair[0]);
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    close(null);
    struct rlimit file = {FILE_LIMIT, FILE_LIMIT}, core = {0, 0};
    setrlimit(RLIMIT_FSIZE, &file);
    setrlimit(RLIMIT_CORE, &core);
    cases = views;
    result = shared;
    serve(pair[1]);
}

static outcome ended(int killed) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    child = -1;
    if (killed) return (outcome){.how = TIMED_OUT};
    if (WIFSIGNALED(status)) return (outcome){.how = CRASHED, .code = WTERMSIG(status)};
    return (outcome){.how = EXITED, .code = WEXITSTATUS(status)};
}

static outcome ask(const request *asked, int limit_ms) {
    outcome answer;
    if (send(line_to_child, asked, sizeof *asked, 0) != (ssize_t)sizeof *asked) return ended(0);
    uint64_t deadline = now_ns() + (uint64_t)limit_ms * 1000000u;
    for (;;) {
        uint64_t now = now_ns();
        struct pollfd line = {.fd = line_to_child, .events = POLLIN};
        int ready = poll(&line, 1, now < deadline ? (int)((deadline - now) / 1000000u) + 1 : 0);
        if (ready < 0 && errno == EINTR) continue;
        if (ready > 0) break;
        kill(child, SIGKILL);
        return ended(1);
    }
    if (recv(line_to_child, &answer, sizeof answer, MSG_WAITALL) != (ssize_t)sizeof answer) return ended(0);
    answer.message[sizeof answer.message - 1] = 0;
    return answer;
}

outcome worker_load(const char *const paths[2], slot first, int limit_ms) {
    request asked = {.what = LOAD, .which = first};
    for (int i = 0; i < 2; i++) /* a path with a slash is looked up nowhere else */
        if (paths[i]) snprintf(asked.paths[i], sizeof asked.paths[i], "%s%s", strchr(paths[i], '/') ? "" : "./", paths[i]);
    return ask(&asked, limit_ms);
}

outcome worker_call(slot which, int number, int reps, int limit_ms) {
    request asked = {.what = CALL, .which = which, .number = number, .amount = reps};
    return ask(&asked, limit_ms);
}

outcome worker_time(int number, int quads, uint64_t swap_seed, int limit_ms) {
    request asked = {.what = TIME, .number = number, .amount = quads, .seed = swap_seed};
    return ask(&asked, limit_ms);
}

void worker_stop(void) {
    if (child < 0) return; /* a kernel has ended it already */
    kill(child, SIGKILL);
    ended(1);
}
