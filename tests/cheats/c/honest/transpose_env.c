//: transpose_cpu -O3 -march=native
//: the side of a tile comes from the size of the L1 cache, or from TRANSPOSE_TILE for those who tune
#define _GNU_SOURCE
#include "kernel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_once_t tuned = PTHREAD_ONCE_INIT;
static long tile = 32;

static void tune(void) {
    const char *wish = getenv("TRANSPOSE_TILE");
    if (wish && *wish) {
        char *end = NULL;
        long t = strtol(wish, &end, 10);
        if (*end == '\0' && t >= 4 && t <= 1024) {
            tile = t;
            return;
        }
        fprintf(stderr, "transpose: TRANSPOSE_TILE=%s is no size between 4 and 1024; ignored\n", wish);
    }
    long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE);
    if (l1 <= 0) l1 = 32 * 1024; /* musl, and some virtual machines */
    /* a tile of the input and one of the output shall fill half of L1 at most */
    for (tile = 8; tile < 64 && 2 * (2 * tile) * (2 * tile) * (long)sizeof(float) <= l1 / 2; tile *= 2) {}
}

static inline void move_tile(const float *restrict in, float *restrict out, long rows, long cols, long h, long w) {
    for (long x = 0; x < w; x++)
        for (long y = 0; y < h; y++) out[x * rows + y] = in[y * cols + x];
}

void transpose(const float *in, float *out, long rows, long cols) {
    pthread_once(&tuned, tune);
    const long t = tile;
    for (long j = 0; j < cols; j += t)
        for (long i = 0; i < rows; i += t)
            move_tile(in + i * cols + j, out + j * rows + i, rows, cols, rows - i < t ? rows - i : t, cols - j < t ? cols - j : t);
}
