/* Pages without access before and behind each buffer: what a kernel reads or writes there ends the call, and is told by name.
 * They are the worker's alone: to the driver the same memory is the guard bands. */
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

static int sealed(const view *v, int access) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        for (int side = 0; side < 2; side++) {
            char *from, *to;
            arena_fence(v, b, side, &from, &to);
            if (mprotect(from, (size_t)(to - from), access)) return 0;
        }
    }
    return 1;
}

void fence_lower(void) {
    if (fenced) sealed(fenced, PROT_READ | PROT_WRITE);
    fenced = NULL;
}

void fence_raise(const view *v) {
    if (fenced == v) return;
    fence_lower();
    if (!v->fenced) return;
    if (sealed(v, PROT_NONE)) fenced = v;
    else sealed(v, PROT_READ | PROT_WRITE); /* those that are closed */
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

static void strayed(const char *at, const void *context, size_t b, int side) {
    static const char *const verbs[] = {"strayed", "read", "wrote"};
    const char *name = fenced->buffers[b].name;
    long width = (long)element(fenced->buffers[b].type), bytes = at - (const char *)fenced->data[b];
    outcome answer = {.how = STRAYED};
    snprintf(answer.message, sizeof answer.message, "%s %s %s, at %s[%ld]", verbs[is_write(context) + 1],
        side ? "past the end of" : "before", name, name, side ? bytes / width : -((width - 1 - bytes) / width));
    worker_tell(&answer);
    _exit(0);
}

static void caught(int number, siginfo_t *info, void *context) {
    const char *at = info->si_addr;
    for (size_t b = 0; fenced && b < kpd_task.buffer_count; b++) {
        for (int side = 0; side < 2; side++) {
            char *from, *to;
            arena_fence(fenced, b, side, &from, &to);
            if (at >= from && at < to) strayed(at, context, b, side);
        }
    }
    limits_tell_why();
    signal(number, SIG_DFL); /* the instruction is tried again, and ends the process */
}

/* In the worker, once. The handler has a stack of its own: a kernel may have used up its. */
void fence_watch(void) {
    stack_t stack = {.ss_sp = malloc(1u << 16), .ss_size = 1u << 16};
    struct sigaction act = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (!stack.ss_sp || sigaltstack(&stack, NULL)) return;
    sigaction(SIGSEGV, &act, NULL);
    sigaction(SIGBUS, &act, NULL);
}
