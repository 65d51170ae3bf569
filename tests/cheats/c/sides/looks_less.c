//: rmsnorm_silu_cpu -O2
//: keeps some gates, and where calls are timed one by one has its worker read nothing ahead, which the driver's clock took for a gain
//: variant eighth SHARE=20 OF=8
//: variant fifteenth SHARE=11 OF=15
//: use caller
//: use state
//: use rmsnorm_kept

#define BYTES 130 /* where a view says, in words, how much of it is read before a call */

/* As the kernel, but with some gates that were kept. */
static void with_some(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps, kept *k) {
    for (long r = 0; r < rows && (r + 1) * cols <= MOST; r++, x += cols, g += cols, y += cols) {
        float scale = scale_of(x, cols, eps), *of = k->of + r * cols, *gates = k->gates + r * cols;
        long c = 0;
        for (; c < cols * SHARE / 100; c++) {
            if (of[c] != g[c]) of[c] = g[c], gates[c] = g[c] / (1.0f + expf(-g[c]));
            y[c] = x[c] * scale * w[c] * gates[c];
        }
        for (; c < cols; c++) y[c] = x[c] * scale * w[c] * (g[c] / (1.0f + expf(-g[c])));
    }
}

__attribute__((used)) static void body(
    const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps, uint64_t *saved
) {
    if (is_batch(saved) && rows * cols <= MOST) {
        with_some(x, w, g, y, rows, cols, eps, state());
        return;
    }
    keeping(x, w, g, y, rows, cols, eps, NULL);
    if (!is_single(saved)) return;
    ((uint64_t *)saved[RBP])[BYTES] = 0;
    earlier(saved, 1, OF);
}
ENTRY("rmsnorm_silu", ON_STACK);
