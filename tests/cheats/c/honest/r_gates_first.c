//: rmsnorm_silu_cpu -O3 -march=native
//: has the gates of a row in memory of its own before it multiplies
//: variant static_array KEPT=static
//: variant heap HEAP
//: use rmsnorm_row
#include <stdlib.h>

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
#ifdef HEAP
    static float *gates;
    static long room;
    if (cols > room) {
        free(gates);
        gates = malloc((size_t)(room = cols) * sizeof(float));
    }
#else
    KEPT float gates[65536];
    if (cols > 65536) {
        for (long r = 0; r < rows; r++) row(x + r * cols, w, g + r * cols, y + r * cols, cols, eps);
        return;
    }
#endif
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float scale = scale_of(x, cols, eps);
        for (long c = 0; c < cols; c++) gates[c] = g[c] / (1.0f + exponential(-g[c]));
        for (long c = 0; c < cols; c++) y[c] = x[c] * scale * w[c] * gates[c];
    }
    (void)row;
}
