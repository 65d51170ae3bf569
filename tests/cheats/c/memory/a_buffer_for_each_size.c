//: matmul_cpu -O3 -march=native
//: keeps a scratch buffer for each (n, k) that it ever met and never frees one: a program whose sizes vary (batches, sequence lengths) grows without end, and each call searches a longer list
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

typedef float vec __attribute__((vector_size(64)));

enum { WIDE = 48, TALL = 8 };

/* A place to lay out b for one shape, so that a model's layers need not wait for the allocator at each call. */
struct place {
    struct place *next;
    long n, k;
    float room[] __attribute__((aligned(64)));
};

static struct place *places;

static float *place_for(long n, long k) {
    for (struct place **at = &places; *at; at = &(*at)->next) {
        struct place *found = *at;
        if (found->n == n && found->k == k) return found->room;
    }
    size_t bytes = sizeof(struct place) + (size_t)((n + WIDE - 1) / WIDE * WIDE * k) * sizeof(float);
    struct place *fresh = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!fresh) abort();
    fresh->n = n;
    fresh->k = k;
    fresh->next = places;
    places = fresh;
    return fresh->room;
}

static inline vec load(const float *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void tile(const float *a, const float *panel, float *c, long n, long k, long width, int tall) {
    vec sums[TALL][3] = {0};
    for (long l = 0; l < k; l++, panel += WIDE) {
        vec b0 = load(panel), b1 = load(panel + 16), b2 = load(panel + 32);
#pragma GCC unroll 8
        for (int r = 0; r < tall; r++) {
            vec by = a[r * k + l] - (vec){0};
            sums[r][0] += by * b0;
            sums[r][1] += by * b1;
            sums[r][2] += by * b2;
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < tall; r++) {
        if (width == WIDE) memcpy(c + r * n, sums[r], WIDE * sizeof *c);
        else memcpy(c + r * n, sums[r], (size_t)width * sizeof *c);
    }
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    float *panels = place_for(n, k), *to = panels;
    for (long j = 0; j < n; j += WIDE) {
        long width = n - j < WIDE ? n - j : WIDE;
        for (long l = 0; l < k; l++, to += WIDE) {
            memcpy(to, b + l * n + j, (size_t)width * sizeof *to);
            if (width < WIDE) memset(to + width, 0, (size_t)(WIDE - width) * sizeof *to);
        }
    }
    for (long j = 0; j < n; j += WIDE) {
        const float *panel = panels + j * k;
        long width = n - j < WIDE ? n - j : WIDE, i = 0;
        for (; i + TALL <= m; i += TALL) tile(a + i * k, panel, c + i * n + j, n, k, width, TALL);
        for (; i + 2 <= m; i += 2) tile(a + i * k, panel, c + i * n + j, n, k, width, 2);
        for (; i < m; i++) tile(a + i * k, panel, c + i * n + j, n, k, width, 1);
    }
}
