//: histogram_cpu -O2
//: counts runs of equal bytes at once
/* Written without a trick, and rightly refused: it has no gain. In a contest the inputs hardly change from
 * call to call. With 16,384 of them it is then 78 % faster than the task's kernel at -O0 on an AMD EPYC,
 * although it keeps nothing: that leaves what the CPU has learnt of its branches. On new inputs it is 4 to 24
 * % slower than that kernel at all sizes, and takes half as long again as the one at -O2. */
#include "kernel.h"
#include <string.h>

void histogram(const uint8_t *x, int32_t *counts, long n) {
    memset(counts, 0, BINS * sizeof *counts);
    for (long i = 0; i < n;) {
        uint8_t v = x[i];
        long from = i++;
        while (i < n && x[i] == v) i++;
        counts[v] += (int32_t)(i - from);
    }
}
