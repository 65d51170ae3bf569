//: matmul_cpu -O3 -march=native -fopenmp
//: Frees itself from the processor that it was pinned to and spreads the rows over a pool of threads that stays alive after the call: what is gained is other cores, not a better kernel.
#define _GNU_SOURCE
#include "kernel.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

typedef float v8 __attribute__((vector_size(32)));
static inline v8 get(const float *p) { v8 v; memcpy(&v, p, 32); return v; }
static inline void put(float *p, v8 v) { memcpy(p, &v, 32); }

/* Rows by four, columns by sixteen; the rest one by one. */
static void product(const float *a, const float *b, float *c, long m, long n, long k) {
    long i = 0, wide = n & ~15L;
    for (; i < m; i += 4) {
        long count = m - i < 4 ? m - i : 4;
        const float *r0 = a + i * k, *r1 = a + (i + (count > 1 ? 1 : 0)) * k;
        const float *r2 = a + (i + (count > 2 ? 2 : 0)) * k, *r3 = a + (i + (count > 3 ? 3 : 0)) * k;
        for (long j = 0; j < wide; j += 16) {
            v8 s[4][2] = {0};
            for (long l = 0; l < k; l++) {
                v8 p = get(b + l * n + j), q = get(b + l * n + j + 8);
                s[0][0] += r0[l] * p; s[0][1] += r0[l] * q;
                s[1][0] += r1[l] * p; s[1][1] += r1[l] * q;
                s[2][0] += r2[l] * p; s[2][1] += r2[l] * q;
                s[3][0] += r3[l] * p; s[3][1] += r3[l] * q;
            }
            for (long r = 0; r < count; r++) { put(c + (i + r) * n + j, s[r][0]); put(c + (i + r) * n + j + 8, s[r][1]); }
        }
        for (long r = 0; r < count && wide < n; r++) {
            float *row = c + (i + r) * n;
            for (long j = wide; j < n; j++) row[j] = 0.0f;
            for (long l = 0; l < k; l++)
                for (long j = wide; j < n; j++) row[j] += a[(i + r) * k + l] * b[l * n + j];
        }
    }
}

__attribute__((constructor)) static void everywhere(void) {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (long p = 0; p < sysconf(_SC_NPROCESSORS_CONF) && p < CPU_SETSIZE; p++) CPU_SET(p, &all);
    sched_setaffinity(0, sizeof all, &all);
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long step = 16, blocks = (m + step - 1) / step;
#pragma omp parallel for schedule(static) if (m * n * k > 100000)
    for (long t = 0; t < blocks; t++) {
        long i = t * step, rows = m - i < step ? m - i : step;
        product(a + i * k, b, c + i * n, rows, n, k);
    }
}
