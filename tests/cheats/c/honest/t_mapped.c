//: transpose_cpu -O3 -march=native
//: turns blocks in a pool of mapped memory, on huge pages where there are some
#include "kernel.h"
#include <string.h>
#include <sys/mman.h>

#define POOL ((size_t)4 << 20)

void transpose(const float *in, float *out, long rows, long cols) {
    static float *pool;
    if (!pool) {
        void *mapped = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) return;
        madvise(pool = mapped, POOL, MADV_HUGEPAGE);
    }
    for (long i = 0; i < rows; i += 32)
        for (long j = 0; j < cols; j += 32) {
            long tall = rows - i < 32 ? rows - i : 32, wide = cols - j < 32 ? cols - j : 32;
            for (long y = 0; y < tall; y++)
                for (long x = 0; x < wide; x++) pool[x * 32 + y] = in[(i + y) * cols + j + x];
            for (long x = 0; x < wide; x++) memcpy(out + (j + x) * rows + i, pool + x * 32, (size_t)tall * 4);
        }
}
