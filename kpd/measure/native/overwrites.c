/* Does it write behind a buffer what lay there already? No byte differs then, and no page without access is met by who looks where
 * pages end; but what another thread writes there meanwhile is lost. So the processor watches the first bytes behind the outputs, in
 * some calls, where the system lets a process have that (perf_event_open).
 */
#include "report.h"

#ifdef __linux__
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 4  /* places that a processor watches */
#define WIDEST 8 /* bytes of one */
#define EACH 4  /* one in so many calls is watched */

static struct {
    int file;
    size_t buffer;
} watched[MOST];
static int count;

/* The longest part from there on that begins at a multiple of its length. */
static uint64_t length_at(uint64_t address) {
    uint64_t length = WIDEST;
    while (address % length) length /= 2;
    return length;
}

/* Watch what lies behind the outputs during the next call, or not. */
void overwrites_watch(const view *v) {
    static unsigned calls;
    count = 0;
    if (engine_uses_device || calls++ % EACH) return;
    for (size_t b = 0; b < kpd_task.buffer_count && count < MOST; b++) {
        if (!is_written(&v->buffers[b])) continue;
        uint64_t end = (uint64_t)(uintptr_t)v->data[b] + bytes_of(&v->buffers[b]);
        struct perf_event_attr asked = {
            .type = PERF_TYPE_BREAKPOINT, .size = sizeof asked, .bp_type = HW_BREAKPOINT_W, .bp_addr = end, .bp_len = length_at(end),
            .exclude_kernel = 1, .exclude_hv = 1, .inherit = 1,
        };
        int file = (int)syscall(SYS_perf_event_open, &asked, worker_process(), -1, -1, PERF_FLAG_FD_CLOEXEC);
        if (file >= 0) watched[count].buffer = b, watched[count++].file = file;
    }
}

/* 0 after a problem; where there is one already, that is told. */
int overwrites_none(const view *v, const char *kind, const char *when) {
    int found = -1;
    for (int i = 0; i < count; i++) {
        uint64_t writes = 0;
        if (read(watched[i].file, &writes, sizeof writes) == sizeof writes && writes) found = i;
        close(watched[i].file);
    }
    if (found < 0 || problem.kind) return !problem.kind;
    blame("damage", CANDIDATE, v, kind, when);
    snprintf(problem.message, sizeof problem.message, "wrote past the end of %s, though only what lay there: another thread's writes are lost so",
        v->buffers[watched[found].buffer].name);
    return 0;
}
#else
void overwrites_watch(const view *v) { (void)v; }

int overwrites_none(const view *v, const char *kind, const char *when) {
    (void)v, (void)kind, (void)when;
    return 1;
}
#endif
