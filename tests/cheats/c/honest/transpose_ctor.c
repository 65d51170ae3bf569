//: transpose_cpu -O2
//: a constructor picks a micro-kernel of 8 x 8 (AVX) or 4 x 4 (SSE) from a static table before the first call
#include "kernel.h"

#include <assert.h>
#include <immintrin.h>

struct ukernel {
    const char *isa;
    int size;
    void (*run)(const float *restrict src, long lds, float *restrict dst, long ldd);
};

static void ukernel_4x4_sse(const float *restrict src, long lds, float *restrict dst, long ldd) {
    __m128 r0 = _mm_loadu_ps(src + 0 * lds);
    __m128 r1 = _mm_loadu_ps(src + 1 * lds);
    __m128 r2 = _mm_loadu_ps(src + 2 * lds);
    __m128 r3 = _mm_loadu_ps(src + 3 * lds);
    _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
    _mm_storeu_ps(dst + 0 * ldd, r0);
    _mm_storeu_ps(dst + 1 * ldd, r1);
    _mm_storeu_ps(dst + 2 * ldd, r2);
    _mm_storeu_ps(dst + 3 * ldd, r3);
}

__attribute__((target("avx"))) static void ukernel_8x8_avx(const float *restrict src, long lds, float *restrict dst, long ldd) {
    __m256 r[8], t[8];
    for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(src + i * lds);
    for (int i = 0; i < 4; i++) {
        t[2 * i + 0] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        r[4 * i + 0] = _mm256_shuffle_ps(t[4 * i + 0], t[4 * i + 2], _MM_SHUFFLE(1, 0, 1, 0));
        r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i + 0], t[4 * i + 2], _MM_SHUFFLE(3, 2, 3, 2));
        r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], _MM_SHUFFLE(1, 0, 1, 0));
        r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], _MM_SHUFFLE(3, 2, 3, 2));
    }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(dst + i * ldd, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(dst + (i + 4) * ldd, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

static const struct ukernel ukernels[] = {
    {"sse2", 4, ukernel_4x4_sse},
    {"avx", 8, ukernel_8x8_avx},
};

static const struct ukernel *active = &ukernels[0];

__attribute__((constructor)) static void select_ukernel(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx")) active = &ukernels[1];
}

void transpose(const float *in, float *out, long rows, long cols) {
    const struct ukernel k = *active;
    assert(k.size == 4 || k.size == 8);
    const long rows_main = rows / k.size * k.size, cols_main = cols / k.size * k.size;

    for (long j = 0; j < cols_main; j += k.size)
        for (long i = 0; i < rows_main; i += k.size) k.run(in + i * cols + j, cols, out + j * rows + i, rows);

    /* right edge, then bottom edge */
    for (long j = cols_main; j < cols; j++)
        for (long i = 0; i < rows; i++) out[j * rows + i] = in[i * cols + j];
    for (long i = rows_main; i < rows; i++)
        for (long j = 0; j < cols_main; j++) out[j * rows + i] = in[i * cols + j];
}
