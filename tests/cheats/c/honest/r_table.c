//: rmsnorm_silu_cpu -O3 -march=native
//: has a table of powers of two that it fills at its first call, and a short polynomial between them
//: variant small BITS=6
//: variant large BITS=10
//: use rmsnorm_row

#define ENTRIES (1 << BITS)
static float powers[ENTRIES];
static int filled;

static inline float by_table(float v) {
    v = v < -87.0f ? -87.0f : v > 88.0f ? 88.0f : v;
    int n = (int)(v * (1.44269504f * ENTRIES) + 0.5f + 256.0f * ENTRIES) - 256 * ENTRIES, bits;
    float r = (float)((double)v - n * (0.69314718055994530942 / ENTRIES)), power;
    int whole = n >> BITS;
    bits = (whole + 127) << 23;
    if (whole < -126) return 0.0f;
    memcpy(&power, &bits, sizeof power);
    return power * powers[n & (ENTRIES - 1)] * (1.0f + r * (1.0f + r * (0.5f + r * (0.16666667f + r * 0.041666667f))));
}

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps) {
    if (!filled) {
        for (int i = 0; i < ENTRIES; i++) powers[i] = (float)exp2((double)i / ENTRIES);
        filled = 1;
    }
    for (long r = 0; r < rows; r++, x += cols, g += cols, y += cols) {
        float scale = scale_of(x, cols, eps);
        for (long c = 0; c < cols; c++) y[c] = x[c] * scale * w[c] * (g[c] / (1.0f + by_table(-g[c])));
    }
    (void)row;
}
