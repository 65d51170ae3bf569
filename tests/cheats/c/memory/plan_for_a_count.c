//: transpose_cpu -O3 -march=native
//: keeps a plan of tiles between calls and makes a new one only when rows * cols differs: 512 x 256 right after 256 x 512 (transposing back) is done with the other shape's plan and comes out wrong
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

enum { TILE = 16, SMALL = 16384 };

typedef float vec __attribute__((vector_size(16)));
typedef int ivec __attribute__((vector_size(16)));

static struct {
    long count, rows, cols, tiles;
    size_t room;
    struct { int row, col; } *tile; /* in the order in which they are visited */
} plan;

static void edges(const float *in, float *out, long rows, long cols, long i, long i_end, long j, long j_end) {
    for (; i < i_end; i++)
        for (long x = j; x < j_end; x++) out[x * rows + i] = in[i * cols + x];
}

static inline void four(const float *in, float *out, long rows, long cols) {
    vec r[4], s[4];
    for (int k = 0; k < 4; k++) memcpy(&r[k], in + k * cols, sizeof(vec));
    s[0] = __builtin_shuffle(r[0], r[1], (ivec){0, 4, 1, 5});
    s[1] = __builtin_shuffle(r[2], r[3], (ivec){0, 4, 1, 5});
    s[2] = __builtin_shuffle(r[0], r[1], (ivec){2, 6, 3, 7});
    s[3] = __builtin_shuffle(r[2], r[3], (ivec){2, 6, 3, 7});
    r[0] = __builtin_shuffle(s[0], s[1], (ivec){0, 1, 4, 5});
    r[1] = __builtin_shuffle(s[0], s[1], (ivec){2, 3, 6, 7});
    r[2] = __builtin_shuffle(s[2], s[3], (ivec){0, 1, 4, 5});
    r[3] = __builtin_shuffle(s[2], s[3], (ivec){2, 3, 6, 7});
    for (int k = 0; k < 4; k++) memcpy(out + k * rows, &r[k], sizeof(vec));
}

static int make(long rows, long cols) {
    long down = rows / TILE, across = cols / TILE;
    size_t need = (size_t)(down * across) * sizeof *plan.tile;
    if (need > plan.room) {
        free(plan.tile);
        plan.room = 0;
        if (!(plan.tile = malloc(need))) return 0;
        plan.room = need;
    }
    plan.tiles = 0;
    for (long s = 0; s < down; s += 4) /* four bands at a time, back and forth */
        for (long j = 0; j < across; j++)
            for (long i = s; i < s + 4 && i < down; i++, plan.tiles++) {
                plan.tile[plan.tiles].row = (int)(i * TILE);
                plan.tile[plan.tiles].col = (int)((s & 4 ? across - 1 - j : j) * TILE);
            }
    plan.rows = rows;
    plan.cols = cols;
    plan.count = rows * cols;
    return 1;
}

void transpose(const float *in, float *out, long rows, long cols) {
    if (rows * cols < SMALL || (rows * cols != plan.count && !make(rows, cols))) {
        for (long i = 0; i < rows; i += 8)
            for (long j = 0; j < cols; j += 8)
                edges(in, out, rows, cols, i, i + 8 < rows ? i + 8 : rows, j, j + 8 < cols ? j + 8 : cols);
        return;
    }
    rows = plan.rows;
    cols = plan.cols;
    for (long t = 0; t < plan.tiles; t++) {
        const float *from = in + plan.tile[t].row * cols + plan.tile[t].col;
        float *to = out + plan.tile[t].col * rows + plan.tile[t].row;
        for (long x = 0; x < TILE; x += 4)
            for (long y = 0; y < TILE; y += 4) four(from + y * cols + x, to + x * rows + y, rows, cols);
    }
    long tall = rows - rows % TILE, wide = cols - cols % TILE;
    edges(in, out, rows, cols, 0, tall, wide, cols);
    edges(in, out, rows, cols, tall, rows, 0, cols);
}
