/* Pages without access before and behind each buffer, and inputs that can only be read: what a kernel reads or writes there ends
 * the call, and is told by name. They are the worker's alone: to the driver the same memory can be written. */
#include "driver.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined __linux__ && defined __x86_64__
#include <ucontext.h>
#endif

static const view *fenced; /* whose fences stand */

/* The bands of a buffer, and of an input what is between them. */
static int sealed(const view *v, int bands, int inputs) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        char *from[2], *to[2];
        for (int side = 0; side < 2; side++) {
            arena_fence(v, b, side, &from[side], &to[side]);
            if (mprotect(from[side], (size_t)(to[side] - from[side]), bands)) return 0;
        }
        if (!is_written(&v->buffers[b]) && mprotect(to[0], (size_t)(from[1] - to[0]), inputs)) return 0;
    }
    return 1;
}

void fence_lower(void) {
    if (fenced) sealed(fenced, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE);
    fenced = NULL;
}

/* A kernel that leaves no room for fences has failed. */
void fence_raise(const view *v, outcome *answer) {
    if (fenced == v) return;
    fence_lower();
    if (!v->fenced) return;
    fenced = v;
    if (sealed(v, PROT_NONE, PROT_READ)) return;
    fence_lower();
    answer->how = FAILED;
    snprintf(answer->message, sizeof answer->message, "leaves its process no room for fences: it has too many parts of memory");
}

/* 1 for a write, 0 for a read, -1 where the machine does not tell. */
static int is_write(const void *context) {
#if defined __linux__ && defined __x86_64__
    return (((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    (void)context;
    return -1;
#endif
}

/* Into the band before a buffer (side 0) or behind it (1), or into an input itself (2), which could be read. */
static void strayed(const char *at, const void *context, size_t b, int side) {
    static const char *const verbs[] = {"strayed", "read", "wrote"}, *const places[] = {"before", "past the end of", "to its input"};
    const char *name = fenced->buffers[b].name, *verb = side == 2 ? verbs[2] : verbs[is_write(context) + 1];
    long width = (long)element(fenced->buffers[b].type), bytes = at - (const char *)fenced->data[b];
    outcome answer = {.how = STRAYED};
    snprintf(answer.message, sizeof answer.message, "%s %s %s, at %s[%ld]", verb, places[side], name, name,
        side ? bytes / width : -((width - 1 - bytes) / width));
    worker_tell(&answer);
    _exit(0);
}

static void caught(int number, siginfo_t *info, void *context) {
    const char *at = info->si_addr;
    for (size_t b = 0; fenced && b < kpd_task.buffer_count; b++) {
        char *from[2], *to[2];
        for (int side = 0; side < 2; side++) {
            arena_fence(fenced, b, side, &from[side], &to[side]);
            if (at >= from[side] && at < to[side]) strayed(at, context, b, side);
        }
        const char *data = fenced->data[b], *end = data + bytes_of(&fenced->buffers[b]);
        if (!is_written(&fenced->buffers[b]) && at >= to[0] && at < from[1]) strayed(at, context, b, at < data ? 0 : at < end ? 2 : 1);
    }
    (void)number;
    limits_tell_why(at); /* the instruction is tried again, and without a handler ends the process */
}

/* In the worker, once. The handler has a stack of its own: a kernel may have used up its. */
void fence_watch(void) {
    stack_t stack = {.ss_sp = malloc(1u << 16), .ss_size = 1u << 16};
    struct sigaction act = {.sa_sigaction = caught, .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND)};
    if (!stack.ss_sp || sigaltstack(&stack, NULL)) return;
    sigaction(SIGSEGV, &act, NULL);
    sigaction(SIGBUS, &act, NULL);
}
