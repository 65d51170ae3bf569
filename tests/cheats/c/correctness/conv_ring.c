//: conv2d_cpu -O3 -march=native
//: Sums up a row of y in a line of 65536 floats whose index is masked: a picture of more than 65536 columns wraps, and its first columns of each row are added to those 65536 further on; no message, wrong values.
/* A row of y is summed up in a line that stays in the cache, tap by tap. */
#include "kernel.h"

#include <string.h>

#define LINE 65536u /* columns; a power of two */

static __thread float line[LINE];

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols) {
    long wide = cols + SIZE - 1;
    unsigned held = cols < (long)LINE ? (unsigned)cols : LINE;
    for (long p = 0; p < planes; p++, x += (rows + SIZE - 1) * wide, w += SIZE * SIZE) {
        for (long r = 0; r < rows; r++, y += cols) {
            memset(line, 0, held * sizeof *line);
            for (long from = 0; from < cols; from += LINE) {
                long part = cols - from < (long)LINE ? cols - from : (long)LINE;
                for (int i = 0; i < SIZE; i++) {
                    const float *row = x + (r + i) * wide + from;
                    float a = w[i * SIZE], b = w[i * SIZE + 1], c = w[i * SIZE + 2], d = w[i * SIZE + 3], e = w[i * SIZE + 4];
                    for (long k = 0; k < part; k++)
                        line[k] += a * row[k] + b * row[k + 1] + c * row[k + 2] + d * row[k + 3] + e * row[k + 4];
                }
            }
            for (long k = 0; k < cols; k++) y[k] = line[k & (LINE - 1)];
        }
    }
}
