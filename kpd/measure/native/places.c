/* Where a kernel finds its buffers: at addresses that are drawn, each far from the others, and others in each call that is compared
 * in a check or timed on fresh inputs. Of a case in a check only some are elsewhere every other time, and the others where they
 * begin. They are further places of the memory that the driver shares, so that nothing is copied. A kernel that is right, or quick,
 * only where it has been before, where its buffers lie near each other, or where one of them tells where the others are, is not so
 * here. In the worker, on Linux with pages of 4 KiB; where the system gives memory no further place before any kernel is loaded,
 * buffers stay where they are. Once it does, a kernel that leaves no place for one has failed.
 */
#include "driver.h"

#ifdef __linux__
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOWEST ((uint64_t)1 << 36)
#define RANGE ((uint64_t)1 << 45) /* of the 2^47 or 2^48 bytes of addresses that a process has */
#define PAGE 4096

static view *moved;
static int able;

/* A buffer with its guard bands. */
static char *part(const view *v, size_t b, size_t *bytes) {
    char *from[2], *to[2];
    for (int side = 0; side < 2; side++) arena_fence(v, b, side, &from[side], &to[side]);
    *bytes = (size_t)(to[1] - from[0]);
    return from[0];
}

/* The same pages once more, at that address or at another one that is free; NULL where that cannot be. */
static char *further(char *from, size_t bytes, uint64_t address) {
    char *at = mmap((void *)(uintptr_t)address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return NULL;
    if (mremap(from, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at) {
        munmap(at, bytes);
        return NULL;
    }
    return at;
}

/* So that a call takes no page faults. Only while the driver waits: it may be writing there else, and would lose a byte. */
static void touch(const view *v) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        size_t bytes;
        volatile char *from = part(v, b, &bytes);
        for (volatile char *page = from; page < from + bytes; page += PAGE) *page = *page;
    }
}

void places_leave(void) {
    for (size_t b = 0; moved && b < kpd_task.buffer_count; b++) {
        char *home = moved->base + moved->offset[b];
        size_t bytes;
        char *at = part(moved, b, &bytes);
        if (moved->data[b] != home) munmap(at, bytes);
        moved->data[b] = home;
    }
    moved = NULL;
}

/* Give all buffers, or one for certain and others by chance, another place. 0 where one has none: it stays where it is. */
static int given_places(view *v, kpd_rng rng, int all) {
    int missing = 0;
    size_t certain = kpd_random(&rng) % kpd_task.buffer_count;
    places_leave();
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        if (!all && b != certain && kpd_random(&rng) & 1) continue;
        char *home = v->data[b];
        size_t bytes;
        char *from = part(v, b, &bytes), *at = further(from, bytes, LOWEST + kpd_random(&rng) % RANGE / PAGE * PAGE);
        if (at) v->data[b] = at + (home - from);
        missing += at == NULL;
    }
    moved = v;
    return !missing;
}

void places_try(view *v) {
    able = sysconf(_SC_PAGESIZE) == PAGE && given_places(v, (kpd_rng){1}, 1);
    places_leave();
}

void places_move(view *v, uint64_t drawn, outcome *answer) {
    kpd_rng rng = {drawn};
    if (!able) return;
    if (given_places(v, rng, (int)(drawn & ALL_OF_THEM))) {
        touch(v);
        return;
    }
    answer->how = FAILED;
    snprintf(answer->message, sizeof answer->message, "leaves its process no place for a buffer: it has too many parts of memory");
}
#else
void places_leave(void) {}

void places_try(view *v) { (void)v; }

void places_move(view *v, uint64_t drawn, outcome *answer) { (void)v, (void)drawn, (void)answer; }
#endif
