//: matmul_cpu -O3 -march=native
//: an inner loop in assembly with labels of its own, and string instructions that clear the result
#include "kernel.h"

static void clear(float *to, long bytes) {
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0) : "memory");
}

static void add(float *c, const float *b, float of_a, long n) {
    long j = 0, eights = n & ~7L;
    if (eights)
        __asm__ volatile(
            "vbroadcastss %[a], %%ymm0\n"
            "1: vmovups (%[b],%[j],4), %%ymm1\n"
            "vfmadd213ps (%[c],%[j],4), %%ymm0, %%ymm1\n"
            "vmovups %%ymm1, (%[c],%[j],4)\n"
            "add $8, %[j]\n"
            "cmp %[n], %[j]\n"
            "jb 1b\n"
            "vzeroupper"
            : [j] "+r"(j) : [a] "m"(of_a), [b] "r"(b), [c] "r"(c), [n] "r"(eights) : "xmm0", "xmm1", "cc", "memory");
    for (; j < n; j++) c[j] += of_a * b[j];
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    clear(c, m * n * (long)sizeof *c);
    for (long i = 0; i < m; i++)
        for (long l = 0; l < k; l++) add(c + i * n, b + l * n, a[i * k + l], n);
}
