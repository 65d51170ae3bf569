/* What this machine can do at best on one CPU: memory bandwidth by footprint, and fused multiply-adds.
 *
 * Bandwidth is the best of copy (one read, one write an element), triad (two reads, one write; McCalpin's STREAM) and, past
 * the caches, copy with stores that bypass them. Bytes are counted as the program asks for them: what a write fetches
 * before it writes is the hardware's own affair. The footprint is that of all arrays together, and they are used again and
 * again: a small one is served by a cache, as the buffers of a small case are.
 *
 * Prints {"bandwidth": [[footprint in bytes, GB/s], …], "peak_gflops": n} within about two seconds.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define SMALLEST (8u << 10)
#define LARGEST (128u << 20)
#define POINT_NS 60000000.0 /* to spend on each kernel at each footprint */
#define TRY_NS 2000000.0    /* one measurement; the best of many counts, as other work can only slow it down */

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
#define CHAINS 16 /* independent accumulators: enough to hide the latency, few enough for the registers */
#else
#define CHAINS 12
#endif

typedef float vec __attribute__((vector_size(LANES * 4)));

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Each moves through `bytes` of arrays and returns the bytes that it read and wrote. */
typedef size_t (*mover)(char *arena, size_t bytes);

static size_t copy(char *arena, size_t bytes) {
    size_t count = bytes / 2 / sizeof(vec);
    const vec *restrict from = (const vec *)(void *)arena;
    vec *restrict to = (vec *)(void *)arena + count;
    for (size_t i = 0; i < count; i++) to[i] = from[i] + 1.0f; /* the sum keeps it from becoming a call of memcpy */
    return 2 * count * sizeof(vec);
}

static size_t triad(char *arena, size_t bytes) {
    size_t count = bytes / 3 / sizeof(vec);
    const vec *restrict one = (const vec *)(void *)arena, *restrict two = one + count;
    vec *restrict to = (vec *)(void *)arena + 2 * count;
    for (size_t i = 0; i < count; i++) to[i] = one[i] + 3.0f * two[i];
    return 3 * count * sizeof(vec);
}

#if defined(__SSE2__)
static size_t stream(char *arena, size_t bytes) {
    size_t count = bytes / 2 / sizeof(__m128);
    const float *from = (const float *)(void *)arena;
    float *to = (float *)(void *)arena + 4 * count;
    for (size_t i = 0; i < count; i++) _mm_stream_ps(to + 4 * i, _mm_load_ps(from + 4 * i));
    _mm_sfence();
    return 2 * count * sizeof(__m128);
}
static const mover movers[] = {copy, triad, stream};
#else
static const mover movers[] = {copy, triad};
#endif

static double bandwidth(mover move, char *arena, size_t bytes) {
    double best = 0.0, end = now_ns() + POINT_NS;
    size_t rounds = 1;
    move(arena, bytes);
    do {
        double moved = 0.0, start = now_ns(), taken;
        for (size_t i = 0; i < rounds; i++) {
            moved += (double)move(arena, bytes);
            __asm__ volatile("" ::: "memory");
        }
        taken = now_ns() - start;
        if (taken < TRY_NS / 2) rounds *= 2;
        else if (moved / taken > best) best = moved / taken;
    } while (now_ns() < end || best == 0.0);
    return best;
}

static double peak(void) {
    vec sum[CHAINS];
    double best = 0.0, end = now_ns() + 2 * POINT_NS;
    const long rounds = 200000;
    for (int k = 0; k < CHAINS; k++) sum[k] = (vec){0} + (float)k;
    do {
        vec factor = (vec){0} + 0.999f, term = (vec){0} + 0.001f;
        double start = now_ns();
        for (long i = 0; i < rounds; i++) {
#pragma GCC unroll 16
            for (int k = 0; k < CHAINS; k++) sum[k] = sum[k] * factor + term;
        }
        double taken = now_ns() - start;
        double flops = 2.0 * LANES * CHAINS * (double)rounds;
        if (flops / taken > best) best = flops / taken;
        for (int k = 0; k < CHAINS; k++) { /* without this, nobody would need the sums */
            volatile float used = sum[k][0];
            (void)used;
        }
    } while (now_ns() < end);
    return best;
}

int main(void) {
    /* Shared and anonymous, as the driver maps a task's buffers: the same kind of pages. */
    char *arena = mmap(NULL, LARGEST, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (arena == MAP_FAILED) {
        perror("cannot map memory");
        return 2;
    }
    memset(arena, 0, LARGEST);
    printf("{\"bandwidth\":[");
    for (size_t bytes = SMALLEST; bytes <= LARGEST; bytes *= 4) {
        double best = 0.0;
        for (size_t m = 0; m < sizeof movers / sizeof *movers; m++) {
            double found = bandwidth(movers[m], arena, bytes);
            if (found > best) best = found;
        }
        printf("%s[%zu,%.3f]", bytes == SMALLEST ? "" : ",", bytes, best);
    }
    printf("],\"peak_gflops\":%.3f}\n", peak());
    return 0;
}
