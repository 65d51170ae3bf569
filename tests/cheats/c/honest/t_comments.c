//: transpose_cpu -O3 -march=native
//: words in comments and names that a search for cheats may stumble over
/* TODO for later: clock_gettime and rdtsc say 41 us for 512x512, getenv("HOME") is not needed, and fork() neither. We do
 * not dlopen() anything; there is no system(), no kill(pid) and no /proc/self/maps. The same as before, but blocked.
 * ... rest of the idea: https://example.com/ptrace?mprotect=1 and "kpd_fill" fills the inputs. */
#include "kernel.h"

#define open_block(at, side) ((at) + (side)) /* "opens" a block; exit(…) of a loop is its end */
static long clock_like_counter_of_tiles(long n) { return (n + 23) / 24; }

void transpose(const float *in, float *out, long rows, long cols) {
    static const char *const about[] = {"blocks of 24", "gettimeofday: none"}; /* names * of * what * it does */
    long socket_count = clock_like_counter_of_tiles(rows);
    for (long b = 0; b < socket_count && about[0]; b++)
        for (long j = 0; j < cols; j++)
            for (long i = b * 24; i < open_block(b * 24, 24) && i < rows; i++) out[j * rows + i] = in[i * cols + j];
}
