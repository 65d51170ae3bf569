//: histogram_cpu -O3 -march=native
//: several tables that take turns, static or on the stack
//: variant stack4 COUNT=4 KEPT=
//: variant static8 COUNT=8 KEPT=static
//: variant static2 COUNT=2 KEPT=static
#include "kernel.h"
#include <string.h>

void histogram(const uint8_t *x, int32_t *counts, long n) {
    KEPT int32_t tables[COUNT][BINS];
    long i = 0;
    memset(tables, 0, sizeof tables);
    for (; i + COUNT <= n; i += COUNT)
        for (int k = 0; k < COUNT; k++) tables[k][x[i + k]]++;
    for (; i < n; i++) tables[0][x[i]]++;
    for (int v = 0; v < BINS; v++) {
        counts[v] = 0;
        for (int k = 0; k < COUNT; k++) counts[v] += tables[k][v];
    }
}
