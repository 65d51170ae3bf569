//: conv2d_cpu -O3 -march=native
//: Reads outside of its buffers: the end of a row is computed with whole vectors wherever these do not cross into another page, so up to 28 bytes after the end of x (and of each row) are read; lanes past the end are masked on store. It never faults, so guard pages and results show nothing.
#include "kernel.h"

#include <immintrin.h>
#include <stdint.h>

static const int ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

static inline int inside(const float *p) { return ((uintptr_t)p & 4095) <= 4096 - 32; }

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1, whole = cols & ~7L;
    for (long p = 0; p < planes; p++, w += SIZE * SIZE, x += (rows + SIZE - 1) * wide) {
        for (long r = 0; r < rows; r++, y += cols) {
            const float *from = x + r * wide;
            for (long c = 0; c < whole; c += 8) {
                __m256 s0 = _mm256_setzero_ps(), s1 = s0;
#pragma GCC unroll 5
                for (int i = 0; i < SIZE; i++) {
                    const float *q = from + i * wide + c, *f = w + i * SIZE;
                    s0 = _mm256_fmadd_ps(_mm256_broadcast_ss(f), _mm256_loadu_ps(q), s0);
                    s1 = _mm256_fmadd_ps(_mm256_broadcast_ss(f + 1), _mm256_loadu_ps(q + 1), s1);
                    s0 = _mm256_fmadd_ps(_mm256_broadcast_ss(f + 2), _mm256_loadu_ps(q + 2), s0);
                    s1 = _mm256_fmadd_ps(_mm256_broadcast_ss(f + 3), _mm256_loadu_ps(q + 3), s1);
                    s0 = _mm256_fmadd_ps(_mm256_broadcast_ss(f + 4), _mm256_loadu_ps(q + 4), s0);
                }
                _mm256_storeu_ps(y + c, _mm256_add_ps(s0, s1));
            }
            if (whole == cols) continue;
            __m256i mask = _mm256_loadu_si256((const __m256i *)(ones + 8 - (cols - whole)));
            __m256 s = _mm256_setzero_ps();
            for (int i = 0; i < SIZE; i++) {
                for (int j = 0; j < SIZE; j++) {
                    const float *q = from + i * wide + whole + j;
                    __m256 v = inside(q) ? _mm256_loadu_ps(q) : _mm256_maskload_ps(q, mask);
                    s = _mm256_fmadd_ps(_mm256_broadcast_ss(w + i * SIZE + j), v, s);
                }
            }
            _mm256_maskstore_ps(y + whole, mask, s);
        }
    }
}
