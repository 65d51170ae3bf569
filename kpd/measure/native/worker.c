/* The worker, as the driver sees it: a child that loads the kernels and runs them (serve.c), and that knows neither the secret
 * seed nor the truth.
 *
 * It is forked before the seed is read. The driver asks it for one thing at a time over a socket pair and waits no longer
 * than a limit, so that a kernel that crashes, hangs or ends the process is an answer, not an accident.
 *
 * Its sandbox (sandbox.c) keeps the driver, other jobs and the host from it. Both kernels and the clock share the worker:
 * that code in it does not falsify its times there, other measurements have to show.
 */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_FILES 256       /* that the driver, or the shell before it, may have open at its start */
#define START_LIMIT_MS 60000 /* for the engine: a GPU's driver takes long on a machine with many, or after a pause */
#define LEAVE_LIMIT_MS 10000 /* for destructors, functions of atexit and a GPU's driver, while others may use the CPU */
#define LOOK_NS 1000000u     /* from one look whether it has ended to the next */
#define AT_ONCE 4096         /* bytes: who says something without end is heard no longer than this */
#define LINE_BYTES (1 << 24) /* more than a line holds */

static pid_t children[WORKERS] = {-1, -1, -1};
static int lines[WORKERS] = {-1, -1, -1}, asked_for_threads[WORKERS] = {-1, -1, -1}, current;
#define child children[current]
#define line_to_child lines[current]
#define asks_for_thread asked_for_threads[current]

void worker_use(int which) { current = which; }

/* Stop a worker with all its threads until it is woken: nothing in it runs once this returns. One that has ended stays to be
 * waited for. */
void worker_rest(int which) {
    siginfo_t about;
    if (children[which] < 0 || kill(children[which], SIGSTOP)) return;
    while (waitid(P_PID, (id_t)children[which], &about, WSTOPPED | WEXITED | WNOWAIT) < 0 && errno == EINTR) continue;
}

void worker_wake(int which) {
    if (children[which] >= 0) kill(children[which], SIGCONT);
}

/* Fork the worker. What a kernel prints does not reach the driver's standard output, which is the report. */
void worker_start(view *views, measurement *shared, const char *const objects[2]) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || (child = fork()) < 0) {
        perror("cannot start the worker");
        exit(2);
    }
    if (child) {
        close(pair[1]);
        if (line_to_child >= 0) close(line_to_child);
        if (asks_for_thread >= 0) close(asks_for_thread);
        line_to_child = pair[0];
        signal(SIGPIPE, SIG_IGN);
        asks_for_thread = limits_listen(line_to_child);
        return;
    }
    close(pair[0]);
    for (int other = STDERR_FILENO + 1; other < MOST_FILES; other++)
        if (other != pair[1]) close(other);
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    close(null);
    limits_enter(pair[1]);
    sandbox_enter(objects);
    worker_serve(pair[1], views, shared);
}

static outcome ended(int killed) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    child = -1;
    if (killed) return (outcome){.how = TIMED_OUT};
    if (WIFSIGNALED(status)) return (outcome){.how = CRASHED, .code = WTERMSIG(status)};
    return (outcome){.how = EXITED, .code = WEXITSTATUS(status)};
}

/* A worker that is no more shows when its answer is waited for. */
void worker_post(const request *asked) {
    if (send(line_to_child, asked, sizeof *asked, 0) != (ssize_t)sizeof *asked) shutdown(line_to_child, SHUT_WR);
}

static struct {
    volatile int *look;
    uint64_t moment;
} wish;

/* Set `look` at that moment, if the worker has not answered before. */
void worker_look_at(volatile int *look, uint64_t moment) {
    wish.look = look;
    wish.moment = moment;
}

hearing worker_heard;

/* How long a thread has run, and could have, but others had its CPU. A system that does not count says that it never has run. */
static scheduling scheduled_in(int file) {
    char text[96] = "";
    unsigned long long ran, waited;
    ssize_t got = pread(file, text, sizeof text - 1, 0);
    if (got <= 0 || sscanf(text, "%llu %llu", &ran, &waited) != 2) return (scheduling){.known = 0};
    return (scheduling){.known = ran > 0, .ran = ran, .waited = waited};
}

/* The latter of the driver; UINT64_MAX where the system does not tell. */
static uint64_t waited(void) {
    static int file = -1;
    if (file < 0) file = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    scheduling own = scheduled_in(file);
    return own.known ? own.waited : UINT64_MAX;
}

static uint64_t sooner(uint64_t one, uint64_t other) { return one < other ? one : other; }

#define TOO_MANY_THREADS (-1)

/* 1 when the worker has said something, or has died; 0 at the deadline. Until then the driver wakes as seldom as can be: both
 * may have the same CPU. */
static int heard(uint64_t deadline, int looking) {
    for (uint64_t now = now_ns(), next = looking ? now : UINT64_MAX; now < deadline; now = now_ns()) {
        if (now >= next) {
            int ms = engine_look();
            next = ms ? now_ns() + (uint64_t)ms * 1000000u : UINT64_MAX;
        }
        uint64_t wake = sooner(next, wish.look ? sooner(deadline, wish.moment) : deadline);
        uint64_t before = waited();
        now = now_ns();
        uint64_t ns = wake > now ? wake - now : 0;
        struct timespec rest = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
        fd_set line;
        FD_ZERO(&line);
        FD_SET(line_to_child, &line);
        if (asks_for_thread >= 0) FD_SET(asks_for_thread, &line);
        int last = line_to_child > asks_for_thread ? line_to_child : asks_for_thread;
        if (pselect(last + 1, &line, NULL, NULL, &rest, NULL) > 0) {
            worker_heard.at = now_ns(); /* before the wait is asked for, so that it is rather too long */
            if (FD_ISSET(line_to_child, &line)) {
                worker_heard.late = before == UINT64_MAX ? worker_heard.at - now : waited() - before;
                return 1;
            }
            if (limits_threads_of(child) > limits_threads()) return TOO_MANY_THREADS;
            calls_let_thread_start(asks_for_thread);
        }
        if (wish.look && now_ns() >= wish.moment) {
            *wish.look = 1;
            wish.look = NULL;
        }
    }
    return 0;
}

/* End it because of what `heard` has said. */
static outcome cut_off(int said) {
    kill(child, SIGKILL);
    outcome answer = ended(1);
    if (said == TOO_MANY_THREADS) {
        answer = (outcome){.how = FAILED};
        snprintf(answer.message, sizeof answer.message, "has more than %d threads", limits_threads());
    }
    return answer;
}

/* `looking`: at the device meanwhile. */
outcome worker_wait(int limit_ms, int looking) {
    outcome answer;
    if (child < 0) return (outcome){.how = EXITED};
    int said = heard(now_ns() + (uint64_t)limit_ms * 1000000u, looking);
    if (said != 1) return cut_off(said);
    wish.look = NULL;
    if (recv(line_to_child, &answer, sizeof answer, MSG_WAITALL) != (ssize_t)sizeof answer) return ended(0);
    answer.message[sizeof answer.message - 1] = 0;
    if ((unsigned)answer.how > STRAYED) answer.how = FAILED; /* the worker would not say that: a kernel did */
    return answer;
}

static int is_gone(void) {
    siginfo_t about = {0};
    return !waitid(P_PID, (id_t)child, &about, WEXITED | WNOHANG | WNOWAIT) && about.si_pid == child;
}

/* Take what the worker has said, so many bytes at the most, and note the last of them. */
static void take_last_words(unsigned char last[sizeof(uint64_t)], int most) {
    unsigned char byte;
    while (most-- && recv(line_to_child, &byte, 1, MSG_DONTWAIT) == 1) {
        memmove(last, last + 1, sizeof(uint64_t) - 1);
        last[sizeof(uint64_t) - 1] = byte;
    }
}

/* Have the worker end by itself, as any program that has loaded the object does some day: with this status, and with this word
 * once all functions that an object has registered have been called: who ends the process in one of them knows only the status.
 * What it says meanwhile does not count, and that its line is closed is not yet its end. */
outcome worker_leave(int status, uint64_t word) {
    int said = 0;
    uint64_t deadline = now_ns() + (uint64_t)LEAVE_LIMIT_MS * 1000000u;
    unsigned char last[sizeof word] = {0};
    if (child < 0) return (outcome){.how = EXITED};
    worker_post(&(request){.what = LEAVE, .amount = status, .seed = word});
    while (!is_gone()) {
        if (said == TOO_MANY_THREADS || now_ns() >= deadline) {
            outcome answer = cut_off(said);
            if (answer.how == TIMED_OUT) snprintf(answer.message, sizeof answer.message, "%d s", LEAVE_LIMIT_MS / 1000);
            return answer;
        }
        said = heard(now_ns() + LOOK_NS, 0);
        if (said != 1) continue;
        take_last_words(last, AT_ONCE); /* else its threads would not be heard */
        nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
    }
    take_last_words(last, LINE_BYTES);
    outcome answer = ended(0);
    if (answer.how == EXITED && answer.code == status && !memcmp(last, &word, sizeof word)) return (outcome){.how = DONE};
    if (answer.how == EXITED) snprintf(answer.message, sizeof answer.message, "with status %d", answer.code);
    return answer;
}

/* The answer that comes before any request: whether the engine can be used. */
outcome worker_ready(void) { return worker_wait(START_LIMIT_MS, 0); }

int worker_process(void) { return (int)child; }

/* The CPU time of the worker's threads, also of those that have ended; 0 where the system does not tell. */
uint64_t worker_busy(void) {
    struct timespec t = {0, 0};
#ifdef __linux__
    clockid_t of;
    if (clock_getcpuclockid(child, &of) || clock_gettime(of, &t)) return 0;
#endif
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

scheduling worker_scheduling(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)child);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    scheduling found = scheduled_in(file);
    if (file >= 0) close(file);
    snprintf(path, sizeof path, "/proc/%d/status", (int)child);
    found.forced = (uint64_t)proc_number(path, "nonvoluntary_ctxt_switches:", 0);
    return found;
}

/* The one that is spoken to. */
void worker_end(void) {
    if (child < 0) return; /* it never was, or a kernel has ended it already */
    kill(child, SIGKILL);
    ended(1);
}

void worker_stop(void) {
    for (current = WORKERS - 1; current >= 0; current--) worker_end();
    current = OF_BOTH;
}
