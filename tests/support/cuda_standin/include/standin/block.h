/* A block: its threads, one after another, and in turns where they wait for one another.
 *
 * A fiber runs thread after thread until one of them waits; only then is another fiber needed. So a kernel without
 * barriers costs no switches. Each thread runs as far as it can before another one does: a read that lacks its barrier
 * sees what was there before. */
#pragma once

namespace kpd_standin {

inline constexpr unsigned kMostThreads = 1024, kLanes = 32, kMostShared = 227 << 10;

enum class Wait { nothing, barrier, warp };

struct Fiber {
    Context context;
    uint3 thread;
    unsigned number; /* of the thread in the block */
    Wait wait;
    Fiber *next;     /* in the queue of those that can go on */
};

struct Lane {
    Fiber *fiber;
    const char *what; /* the operation's name: lanes meet in the same one */
    unsigned mask;
    uint64_t value, result;
    int source;       /* the lane that the value comes from, or kBallot */
};

struct Warp {
    unsigned alive, waiting; /* lanes: not ended, in an operation */
    Lane lanes[kLanes];
};

struct Grid {
    const char *kernel;
    dim3 blocks, threads;
    uint3 block;
    unsigned count;   /* threads of a block */
    void (*body)(const void *);
    const void *arguments;
};

inline Grid grid;
inline Context scheduler;
inline Fiber *fibers[kMostThreads], *self, *ready, **ready_end = &ready;
inline unsigned fibers_made, fibers_busy, next_thread, ended, at_barrier;
inline int votes, votes_before;        /* true ones: at this barrier so far, at the one before */
inline unsigned long long block_number; /* since the process began: see fresh */
inline Warp warps[kMostThreads / kLanes];
alignas(1024) inline char dynamic_shared[kMostShared];
inline uint3 current_thread, upcoming; /* the latter: next_thread's */

inline void go_on(Fiber *fiber) {
    fiber->wait = Wait::nothing;
    fiber->next = nullptr;
    *ready_end = fiber;
    ready_end = &fiber->next;
}

/* Give way until somebody calls go_on. */
inline void pause(Wait why) {
    Fiber *me = self;
    me->wait = why;
    switch_to(me->context, scheduler);
}

inline void resume(Fiber *fiber) {
    self = fiber;
    current_thread = fiber->thread;
    switch_to(scheduler, fiber->context);
}

inline void lane_ended(Warp &warp);

inline void fiber_main() {
    for (;;) {
        while (next_thread < grid.count) {
            Fiber *me = self;
            unsigned n = me->number = next_thread++;
            me->thread = current_thread = upcoming;
            if (++upcoming.x == grid.threads.x) {
                upcoming.x = 0;
                if (++upcoming.y == grid.threads.y) upcoming = {0, 0, upcoming.z + 1};
            }
            grid.body(grid.arguments);
            ended++;
            Warp &warp = warps[n / kLanes];
            warp.alive &= ~(1u << n % kLanes);
            if (warp.waiting) lane_ended(warp);
        }
        pause(Wait::nothing);
    }
}

[[noreturn]] inline void die(const char *why) {
    uint3 b = grid.block, t = current_thread;
    fprintf(stderr, "CUDA stand-in: kernel %s, block (%u,%u,%u), thread (%u,%u,%u): %s\n", grid.kernel, b.x, b.y, b.z, t.x, t.y,
            t.z, why);
    abort();
}

/* Nobody can go on: on a GPU the kernel would hang, or read what is not there yet. */
[[noreturn]] inline void deadlock() {
    char text[400];
    for (unsigned i = 0; i < fibers_busy; i++) {
        Fiber *f = fibers[i];
        if (f->wait == Wait::nothing) continue;
        current_thread = f->thread;
        if (f->wait == Wait::barrier) {
            snprintf(text, sizeof text,
                     "deadlock: %u of the block's %u threads wait at __syncthreads(), which the others never reach (%u have ended)",
                     at_barrier, grid.count, ended);
        } else {
            Lane &lane = warps[f->number / kLanes].lanes[f->number % kLanes];
            snprintf(text, sizeof text, "deadlock: waits in %s with mask 0x%08x for lanes that never come there", lane.what,
                     lane.mask);
        }
        die(text);
    }
    die("deadlock");
}

inline void run_block() {
    block_number++;
    next_thread = ended = at_barrier = fibers_busy = 0;
    votes = 0;
    upcoming = {0, 0, 0};
    for (unsigned w = 0; w * kLanes < grid.count; w++) {
        unsigned left = grid.count - w * kLanes;
        warps[w].alive = left < kLanes ? (1u << left) - 1 : ~0u;
        warps[w].waiting = 0;
    }
    while (next_thread < grid.count) {
        if (fibers_busy == fibers_made) {
            fibers[fibers_made] = new Fiber();
            prepare(fibers[fibers_made++]->context, fiber_main);
        }
        resume(fibers[fibers_busy++]);
    }
    while (ready) {
        Fiber *fiber = ready;
        ready = fiber->next;
        if (!ready) ready_end = &ready;
        resume(fiber);
    }
    if (ended != grid.count) deadlock();
}

inline int barrier(int vote) {
    votes += vote != 0;
    if (++at_barrier < grid.count) {
        pause(Wait::barrier);
        return votes_before;
    }
    votes_before = votes;
    votes = 0;
    at_barrier = 0;
    for (unsigned i = 0; i < fibers_busy; i++)
        if (fibers[i]->wait == Wait::barrier) go_on(fibers[i]);
    return votes_before;
}

/* Shared memory is not initialised on a GPU: it begins as NaNs in every block. Called at the declaration. */
inline bool fresh(unsigned long long &seen, void *variable, size_t bytes) {
    if (seen != block_number) memset(variable, 0xff, bytes);
    seen = block_number;
    return true;
}

} /* namespace kpd_standin */

inline const uint3 &threadIdx = kpd_standin::current_thread, &blockIdx = kpd_standin::grid.block;
inline const dim3 &blockDim = kpd_standin::grid.threads, &gridDim = kpd_standin::grid.blocks;
inline constexpr int warpSize = 32;

inline void __syncthreads() { kpd_standin::barrier(0); }
inline int __syncthreads_count(int p) { return kpd_standin::barrier(p); }
inline int __syncthreads_and(int p) { return kpd_standin::barrier(p) == (int)kpd_standin::grid.count; }
inline int __syncthreads_or(int p) { return kpd_standin::barrier(p) != 0; }
