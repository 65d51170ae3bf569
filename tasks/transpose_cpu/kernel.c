/* Transpose of a matrix. As it stands: element by element, reading along the rows. */
#include "kernel.h"

#include <stdint.h>
#include <string.h>

#define TILE_ROWS 0 /* rows of a tile; 0 takes all of them: 0, 8, 16, 32, 64 */
#define TILE_COLS 0 /* columns of a tile; 0 takes all of them: 0, 8, 16, 32, 64 */
#define VEC 1       /* squares of this size are transposed in registers: 1 (none), 4, 8 */
#define ORDER 0     /* 0 walks along the rows of the input, 1 along the rows of the output */
#define PREFETCH 0  /* rows of the input to fetch ahead; 0 leaves it to the hardware */
#define STREAM 0    /* 1 stores past the caches where the machine can */

#if STREAM && defined(__SSE2__)
#include <emmintrin.h>
#endif

static inline long least(long a, long b) { return a < b ? a : b; }

static inline void fetch_ahead(const float *in, long cols) {
    if (PREFETCH) __builtin_prefetch(in + PREFETCH * cols);
}

#if VEC == 1

static inline void square(const float *in, float *out, long rows, long cols) {
    (void)rows;
    fetch_ahead(in, cols);
#if STREAM && defined(__SSE2__)
    int bits;
    memcpy(&bits, in, sizeof bits);
    _mm_stream_si32((int *)(void *)out, bits);
#else
    *out = *in;
#endif
}

#else

typedef float vec __attribute__((vector_size(VEC * 4)));
typedef int ivec __attribute__((vector_size(VEC * 4)));

#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (ivec){__VA_ARGS__})
#endif

static inline void store(float *out, vec v) {
#if STREAM && defined(__SSE2__)
    if ((uintptr_t)out % 16 == 0) {
        __m128 parts[VEC / 4];
        memcpy(parts, &v, sizeof parts);
        for (int k = 0; k < VEC / 4; k++) _mm_stream_ps(out + 4 * k, parts[k]);
        return;
    }
#endif
    memcpy(out, &v, sizeof v);
}

/* Exchange the upper part of every group of lanes of r[a] with the lower part of those of r[b]. */
#if VEC == 4
#define PAIRS 0, 4, 2, 6
#define PAIRS_UP 1, 5, 3, 7
#define FOURS 0, 1, 4, 5
#define FOURS_UP 2, 3, 6, 7
#else
#define PAIRS 0, 8, 2, 10, 4, 12, 6, 14
#define PAIRS_UP 1, 9, 3, 11, 5, 13, 7, 15
#define FOURS 0, 1, 8, 9, 4, 5, 12, 13
#define FOURS_UP 2, 3, 10, 11, 6, 7, 14, 15
#define EIGHTS 0, 1, 2, 3, 8, 9, 10, 11
#define EIGHTS_UP 4, 5, 6, 7, 12, 13, 14, 15
#endif
#define EXCHANGE(a, b, GROUP)                       \
    do {                                            \
        vec low = SHUFFLE(r[a], r[b], GROUP);       \
        r[b] = SHUFFLE(r[a], r[b], GROUP##_UP);     \
        r[a] = low;                                 \
    } while (0)

static inline void square(const float *in, float *out, long rows, long cols) {
    vec r[VEC];
    for (int k = 0; k < VEC; k++) {
        memcpy(&r[k], in + k * cols, sizeof(vec));
        fetch_ahead(in + k * cols, cols);
    }
    for (int k = 0; k < VEC; k += 4) {
        EXCHANGE(k, k + 1, PAIRS);
        EXCHANGE(k + 2, k + 3, PAIRS);
        EXCHANGE(k, k + 2, FOURS);
        EXCHANGE(k + 1, k + 3, FOURS);
    }
#if VEC == 8
    for (int k = 0; k < 4; k++) EXCHANGE(k, k + 4, EIGHTS);
#endif
    for (int k = 0; k < VEC; k++) store(out + k * rows, r[k]);
}

#endif

/* The VEC × VEC square at (i, j), or as much of it as lies before row i_end and column j_end. */
static inline void step(const float *in, float *out, long rows, long cols, long i, long i_end, long j, long j_end) {
    if (i + VEC <= i_end && j + VEC <= j_end) {
        square(in + i * cols + j, out + j * rows + i, rows, cols);
        return;
    }
    for (long y = i; y < least(i + VEC, i_end); y++)
        for (long x = j; x < least(j + VEC, j_end); x++) out[x * rows + y] = in[y * cols + x];
}

static inline void tile(const float *in, float *out, long rows, long cols, long i, long i_end, long j, long j_end) {
#if ORDER == 0
    for (long y = i; y < i_end; y += VEC)
        for (long x = j; x < j_end; x += VEC) step(in, out, rows, cols, y, i_end, x, j_end);
#else
    for (long x = j; x < j_end; x += VEC)
        for (long y = i; y < i_end; y += VEC) step(in, out, rows, cols, y, i_end, x, j_end);
#endif
}

void transpose(const float *in, float *out, long rows, long cols) {
    long tall = TILE_ROWS ? TILE_ROWS : rows, wide = TILE_COLS ? TILE_COLS : cols;
#if ORDER == 0
    for (long i = 0; i < rows; i += tall)
        for (long j = 0; j < cols; j += wide) tile(in, out, rows, cols, i, least(i + tall, rows), j, least(j + wide, cols));
#else
    for (long j = 0; j < cols; j += wide)
        for (long i = 0; i < rows; i += tall) tile(in, out, rows, cols, i, least(i + tall, rows), j, least(j + wide, cols));
#endif
#if STREAM && defined(__SSE2__)
    _mm_sfence();
#endif
}
