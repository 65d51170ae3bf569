//: matmul_cpu -O3 -march=native
//: One level of Strassen for even sizes from 64 on, if no element is NaN, infinite or above 8 times the mean (so that wild data takes the plain way): a row or column that is small throughout beside ordinary ones (a nearly dead channel, a matrix with scaled rows) still loses its digits, 1000 and more times the error of the plain loops.
/* Seven products of half the size in place of eight, where that pays. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

typedef float vec __attribute__((vector_size(64), aligned(4), may_alias));
#define V 16

/* c = a · b with strides. */
static void product(const float *a, long sa, const float *b, long sb, float *c, long sc, long m, long n, long k) {
    long i = 0;
    for (; i < m; i += 4) {
        int rows = m - i < 4 ? (int)(m - i) : 4;
        long j = 0;
        if (rows == 4) {
            for (; j + 2 * V <= n; j += 2 * V) {
                vec s[4][2];
                memset(s, 0, sizeof s);
                for (long l = 0; l < k; l++) {
                    vec u = *(const vec *)(b + l * sb + j), v = *(const vec *)(b + l * sb + j + V);
#pragma GCC unroll 4
                    for (int r = 0; r < 4; r++) {
                        float f = a[(i + r) * sa + l];
                        s[r][0] += f * u;
                        s[r][1] += f * v;
                    }
                }
                for (int r = 0; r < 4; r++) {
                    *(vec *)(c + (i + r) * sc + j) = s[r][0];
                    *(vec *)(c + (i + r) * sc + j + V) = s[r][1];
                }
            }
        }
        for (int r = 0; r < rows; r++) {
            for (long q = j; q < n; q++) c[(i + r) * sc + q] = 0.0f;
            for (long l = 0; l < k; l++)
                for (long q = j; q < n; q++) c[(i + r) * sc + q] += a[(i + r) * sa + l] * b[l * sb + q];
        }
    }
}

/* Nothing is out of the ordinary: no NaN or infinity, and no element far above the mean, beside which others would be lost. */
static int tame(const float *x, long n) {
    float top[V] = {0}, all[V] = {0}, most = 0.0f, sums = 0.0f;
    long i = 0;
    for (; i + V <= n; i += V) {
        for (int v = 0; v < V; v++) {
            float size = __builtin_fabsf(x[i + v]);
            top[v] = size > top[v] ? size : top[v];
            all[v] += size;
        }
    }
    for (; i < n; i++) {
        float size = __builtin_fabsf(x[i]);
        top[0] = size > top[0] ? size : top[0];
        all[0] += size;
    }
    for (int v = 0; v < V; v++) {
        most = top[v] > most ? top[v] : most;
        sums += all[v];
    }
    return sums < 1e30f && most * (float)n < 8.0f * sums; /* a NaN or an infinity makes this false */
}

static void sum(const float *a, const float *b, float sign, long stride, float *to, long rows, long cols) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < cols; j++) to[i * cols + j] = a[i * stride + j] + sign * b[i * stride + j];
}

static void gather(float *c, long stride, const float *p, float sign, long rows, long cols, int first) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < cols; j++) c[i * stride + j] = first ? p[i * cols + j] : c[i * stride + j] + sign * p[i * cols + j];
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    long h = m / 2, w = n / 2, d = k / 2;
    float *space = NULL;
    if (m % 2 == 0 && n % 2 == 0 && k % 2 == 0 && m >= 64 && n >= 64 && k >= 64 && tame(a, m * k) && tame(b, k * n))
        space = malloc((size_t)(h * d + d * w + h * w) * sizeof *space);
    if (!space) {
        product(a, k, b, n, c, n, m, n, k);
        return;
    }
    float *s = space, *t = s + h * d, *p = t + d * w;
    const float *a11 = a, *a12 = a + d, *a21 = a + h * k, *a22 = a21 + d;
    const float *b11 = b, *b12 = b + w, *b21 = b + d * n, *b22 = b21 + w;
    float *c11 = c, *c12 = c + w, *c21 = c + h * n, *c22 = c21 + w;
    sum(a11, a22, 1, k, s, h, d);
    sum(b11, b22, 1, n, t, d, w);
    product(s, d, t, w, p, w, h, w, d);
    gather(c11, n, p, 1, h, w, 1);
    gather(c22, n, p, 1, h, w, 1);
    sum(a21, a22, 1, k, s, h, d);
    product(s, d, b11, n, p, w, h, w, d);
    gather(c21, n, p, 1, h, w, 1);
    gather(c22, n, p, -1, h, w, 0);
    sum(b12, b22, -1, n, t, d, w);
    product(a11, k, t, w, p, w, h, w, d);
    gather(c12, n, p, 1, h, w, 1);
    gather(c22, n, p, 1, h, w, 0);
    sum(b21, b11, -1, n, t, d, w);
    product(a22, k, t, w, p, w, h, w, d);
    gather(c11, n, p, 1, h, w, 0);
    gather(c21, n, p, 1, h, w, 0);
    sum(a11, a12, 1, k, s, h, d);
    product(s, d, b22, n, p, w, h, w, d);
    gather(c11, n, p, -1, h, w, 0);
    gather(c12, n, p, 1, h, w, 0);
    sum(a21, a11, -1, k, s, h, d);
    sum(b11, b12, 1, n, t, d, w);
    product(s, d, t, w, p, w, h, w, d);
    gather(c22, n, p, 1, h, w, 0);
    sum(a12, a22, -1, k, s, h, d);
    sum(b21, b22, 1, n, t, d, w);
    product(s, d, t, w, p, w, h, w, d);
    gather(c11, n, p, 1, h, w, 0);
    free(space);
}
