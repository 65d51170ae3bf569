/* What a worker may use: memory, files, threads. Each limit that a kernel hits is told as its own fault.
 *
 * No limit of the system counts the threads of one process, and root has none at all. So the system asks the driver about
 * each thread that a worker starts (seccomp's notifications, Linux 5.5), and the driver looks how many there are.
 */
#include "driver.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_FILES 1024      /* that a worker may have */
#define THREAD_BYTES (16u << 20)
#define STACK_BYTES (1u << 20) /* threads of many programs have no more */
#define NEAR_BYTES (1u << 30)  /* what is so near below a full stack was meant to be on it */
#define COPIES 4             /* of a case's buffers, that a kernel may make */

static uint64_t cpus(void) { return (uint64_t)sysconf(_SC_NPROCESSORS_ONLN); }

/* Room for kernels, for the stacks of a thread on each CPU, and for copies of the buffers. */
uint64_t limits_memory(void) { return engine_own_bytes + cpus() * THREAD_BYTES + COPIES * arena_bytes; }

int limits_late;

int limits_threads(void) { return 64 + 4 * (int)cpus(); }

#ifdef __linux__
static char no_memory[96];
static uintptr_t stack_at; /* an address on the stack, from the beginning */

/* In a worker that crashes, at this address: a kernel that is refused memory rarely looks, and one that has no stack left cannot. */
void limits_tell_why(const void *at) {
    static const char no_stack[] = "\nit needs more stack: a kernel gets 1 MiB\n";
    uintptr_t below = stack_at - (uintptr_t)at;
    int full = stack_at && at && below > STACK_BYTES / 2 && below < NEAR_BYTES;
    if (full && write(STDERR_FILENO, no_stack, sizeof no_stack - 1) < 0) _exit(1);
    if (!full && errno == ENOMEM && write(STDERR_FILENO, no_memory, strlen(no_memory)) < 0) _exit(1);
}

static void aborted(int signal) {
    (void)signal;
    limits_tell_why(NULL);
}

/* Beside what the process has. Who is refused memory can tell that it is kpd that calls it: where the memory is only looked at
 * later, it may have as much as a process of an operator's program, or half of what the machine has left. */
static void limit_memory(void) {
    unsigned long long pages = 0;
    stack_at = (uintptr_t)&pages;
    FILE *file = fopen("/proc/self/statm", "r");
    int known = file && fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages) == 1;
    if (file) fclose(file);
    if (!known) return;
    uint64_t own = limits_memory(), half = (uint64_t)proc_number("/proc/meminfo", "MemAvailable:", 0) / 2 * 1024;
    if (limits_late && half > own) own = half;
    rlim_t most = pages * (uint64_t)sysconf(_SC_PAGESIZE) + own;
    setrlimit(RLIMIT_DATA, &(struct rlimit){most, most});
    snprintf(no_memory, sizeof no_memory, "\nit may have been refused memory: a kernel gets %llu MiB\n", (unsigned long long)own >> 20);
    sigaction(SIGABRT, &(struct sigaction){.sa_handler = aborted, .sa_flags = (int)SA_RESETHAND}, NULL);
}

/* To the driver: by what it is asked about threads. */
static void tell_what_asks(int line) {
    int asked = calls_ask_for_threads();
    char one[CMSG_SPACE(sizeof asked)] = {0}, byte = 0;
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (asked >= 0) {
        message.msg_control = one;
        message.msg_controllen = sizeof one;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof asked);
        memcpy(CMSG_DATA(head), &asked, sizeof asked);
    }
    if (sendmsg(line, &message, 0) != 1) _exit(0);
    if (asked >= 0) close(asked); /* it could answer itself */
}

/* In the driver: what it is asked about threads by; -1 where the system does not ask. */
int limits_listen(int line) {
    int asked = -1;
    char one[CMSG_SPACE(sizeof asked)], byte;
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = one, .msg_controllen = sizeof one};
    if (!engine_own_bytes || recvmsg(line, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS) memcpy(&asked, CMSG_DATA(head), sizeof asked);
    return asked;
}
#else
static void limit_memory(void) {}

void limits_tell_why(const void *at) { (void)at; }

static void tell_what_asks(int line) { (void)line; }

int limits_listen(int line) {
    (void)line;
    return -1;
}
#endif

/* In the worker. `line` is the one to the driver; below 0 where a kernel runs in the driver itself, and nobody is asked. */
void limits_enter(int line) {
    struct rlimit file = {engine_file_bytes, engine_file_bytes}, core = {0, 0}, opened = {OPEN_FILES, OPEN_FILES};
    struct rlimit stack = {STACK_BYTES, STACK_BYTES};
    setrlimit(RLIMIT_FSIZE, &file);
    setrlimit(RLIMIT_CORE, &core);
    if (!engine_own_bytes) return;
    setrlimit(RLIMIT_NOFILE, &opened);
    setrlimit(RLIMIT_STACK, &stack);
    limit_memory();
    if (line >= 0) tell_what_asks(line);
}

/* How many threads a process has; a folder has a link from each folder in it, and two of its own. */
int limits_threads_of(int process) {
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%d/task", process);
    return stat(path, &about) ? 0 : (int)about.st_nlink - 2;
}
