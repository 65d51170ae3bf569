/* Where a kernel finds its buffers: at addresses that are drawn, each far from the others, and others in each call that is compared
 * in a check or timed on fresh inputs. They are further places of the memory that the driver shares, so that nothing is copied. A
 * kernel that is right, or quick, only where it has been before, or where its buffers lie near each other, is not so here. In the
 * worker, on Linux; where memory has no further place, a buffer stays where it is.
 */
#include "driver.h"

#ifdef __linux__
#include <sys/mman.h>

#define LOWEST ((uint64_t)1 << 36)
#define RANGE ((uint64_t)1 << 45) /* of the 2^47 or 2^48 bytes of addresses that a process has */
#define PAGE ((uint64_t)4096)

static view *moved;

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
    for (volatile char *page = at; page < at + bytes; page += PAGE) *page = *page; /* a call takes no page faults */
    return at;
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

void places_move(view *v, uint64_t drawn) {
    kpd_rng rng = {drawn};
    places_leave();
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        char *home = v->data[b];
        size_t bytes;
        char *from = part(v, b, &bytes), *at = further(from, bytes, LOWEST + kpd_random(&rng) % RANGE / PAGE * PAGE);
        if (at) v->data[b] = at + (home - from);
    }
    moved = v;
}
#else
void places_leave(void) {}

void places_move(view *v, uint64_t drawn) { (void)v, (void)drawn; }
#endif
