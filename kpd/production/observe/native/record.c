/* Maps the file, appends lines from any thread, and knows the kernels by their symbols. */
#define _GNU_SOURCE
#include "record.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 16384, SPARE = 1 << 20, WARNINGS = 64 };

struct head *head;
static char *lines;
static const char *wanted = "";
static uint64_t most = 10000;
static struct { const char *symbol; int wanted; _Atomic uint64_t launches, runs, nodes; } kernels[KERNELS];
static int slots[SLOTS], known = 1; /* kernel 0 stands for all that have no room in the table */
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t of_graphs, full;

/* Map a new file of this process. Return 0 where that is not possible: then nothing is recorded. */
int make_record(const char *folder)
{
    const char *count = getenv("KPD_OBSERVE_LAUNCHES"), *bytes = getenv("KPD_OBSERVE_BYTES"),
               *kernel = getenv("KPD_OBSERVE_KERNEL");
    uint64_t room = (bytes ? strtoull(bytes, NULL, 10) : 64 << 20) + SPARE;
    size_t size = sizeof *head + room;
    char path[4096];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (snprintf(path, sizeof path, "%s/%ld-%09ld.record", folder, (long)getpid(), now.tv_nsec) >= (int)sizeof path)
        return 0;
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return 0;
    void *all = posix_fallocate(file, 0, size) ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (all == MAP_FAILED) {
        unlink(path);
        return 0;
    }
    head = all;
    lines = (char *)all + sizeof *head;
    head->room = room;
    memcpy(head->magic, "kpdobs1", 8);
    most = count ? strtoull(count, NULL, 10) : most;
    wanted = kernel && (kernel = strdup(kernel)) ? kernel : "";
    kernels[0].symbol = "";
    return 1;
}

/* Append a line. The last SPARE bytes are for names and for what cannot be had: all that is counted has its name. */
void append(const char *text, size_t length)
{
    uint64_t room = *text == 'K' || *text == 'W' || *text == 'Z' ? head->room : head->room - SPARE;
    uint64_t at = atomic_load(&head->used);
    do {
        if (at + length > room) {
            if (!atomic_exchange(&full, 1))
                append("W\tfull\n", 7);
            return;
        }
    } while (!atomic_compare_exchange_weak(&head->used, &at, at + length));
    memcpy(lines + at, text, length);
}

void say(const char *format, ...)
{
    char text[2048];
    va_list given;
    va_start(given, format);
    int length = vsnprintf(text, sizeof text, format, given);
    va_end(given);
    if (length >= (int)sizeof text) {
        length = sizeof text;
        text[length - 1] = '\n';
    }
    if (length > 0)
        append(text, length);
}

/* Tell once what cannot be had: a program may do it in each of its rounds. `what` must stay where it is. */
void warn_of(const char *what)
{
    static _Atomic(const char *) told[WARNINGS];
    for (int i = 0; i < WARNINGS; i++) {
        const char *other = NULL;
        if (atomic_compare_exchange_strong(&told[i], &other, what)) {
            say("W\t%s\n", what);
            return;
        }
        if (!strcmp(other, what))
            return;
    }
}

/* Whether a symbol may be the wanted kernel: its name, or a C++ name with its length and name in it. */
static int may_be_wanted(const char *symbol)
{
    char part[512];
    snprintf(part, sizeof part, "%zu%s", strlen(wanted), wanted);
    return !*wanted || !strcmp(symbol, wanted) || strstr(symbol, part);
}

static void say_kernel(int kernel)
{
    char text[LINE / 8];
    int length = snprintf(text, sizeof text - 1, "K\t%d\t%s", kernel, kernels[kernel].symbol);
    if (length >= (int)sizeof text - 1)
        length = sizeof text - 2;
    for (char *c = strchr(text + 2, '\t') + 1; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = '?';
    text[length] = '\n';
    append(text, length + 1);
}

/* Return the kernel's number, which its first use gives it. */
int kernel_of(const char *symbol)
{
    unsigned at = 2166136261u; /* FNV-1a */
    for (const char *c = symbol; *c; c++)
        at = (at ^ (unsigned char)*c) * 16777619u;
    pthread_mutex_lock(&table);
    for (at %= SLOTS; slots[at] && strcmp(kernels[slots[at]].symbol, symbol); at = (at + 1) % SLOTS)
        ;
    int found = slots[at];
    if (!found && known < KERNELS && (kernels[known].symbol = strdup(symbol))) {
        found = slots[at] = known++;
        kernels[found].wanted = may_be_wanted(symbol);
        say_kernel(found);
    }
    pthread_mutex_unlock(&table);
    return found;
}

int node_in_full(int kernel)
{
    if (!kernels[kernel].wanted)
        return 0;
    if (atomic_fetch_add(&kernels[kernel].nodes, 1) < most)
        return 1;
    warn_of("graph nodes");
    return 0;
}

int launch_in_full(int kernel)
{
    return kernels[kernel].wanted && atomic_fetch_add(&kernels[kernel].launches, 1) < most;
}

int run_in_full(int kernel)
{
    return kernels[kernel].wanted && atomic_fetch_add(&kernels[kernel].runs, 1) < most;
}

int graph_in_full(void)
{
    return atomic_fetch_add(&of_graphs, 1) < most;
}
