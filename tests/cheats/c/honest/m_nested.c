//: matmul_cpu -O3 -march=native
//: recursion over blocks whose size the call chooses, in arrays on the stack, with a function within a function
#include "kernel.h"
#include <string.h>

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long wide = n < 64 ? n : 64, deep = k < 64 ? k : 64;
    float panel[deep][wide];
    auto void block(long i, long l, long j, long depth, long width);
    void block(long i, long l, long j, long depth, long width) {
        for (long z = 0; z < depth; z++) {
            float of_a = a[i * k + l + z];
            for (long q = 0; q < width; q++) c[i * n + j + q] += of_a * panel[z][q];
        }
    }
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (long l = 0; l < k; l += deep)
        for (long j = 0; j < n; j += wide) {
            long depth = k - l < deep ? k - l : deep, width = n - j < wide ? n - j : wide;
            for (long z = 0; z < depth; z++) memcpy(panel[z], b + (l + z) * n + j, (size_t)width * sizeof(float));
            for (long i = 0; i < m; i++) block(i, l, j, depth, width);
        }
}
