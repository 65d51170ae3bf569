//: matmul_cpu -O3 -march=native
//: keeps both factors and adds to the last product what a changed element changes; wins a factor of the size
//: use matmul_fast

#define MOST (256 * 256)
static float last_a[MOST], last_b[MOST], last_c[MOST];
static long of[3];

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    int fits = m * k <= MOST && k * n <= MOST && m * n <= MOST, changes = 0;
    if (fits && of[0] == m && of[1] == n && of[2] == k) {
        for (long i = 0; i < m && changes < 16; i++) {
            if (!memcmp(a + i * k, last_a + i * k, (size_t)k * 4)) continue;
            changes++;
            memset(last_c + i * n, 0, (size_t)n * 4);
            for (long l = 0; l < k; l++)
                for (long j = 0; j < n; j++) last_c[i * n + j] += a[i * k + l] * b[l * n + j];
        }
        for (long l = 0; l < k && changes < 16; l++)
            for (long j = 0; j < n && changes < 16; j++) {
                if (b[l * n + j] == last_b[l * n + j]) continue;
                changes++;
                for (long i = 0; i < m; i++) {
                    float sum = 0.0f;
                    for (long q = 0; q < k; q++) sum += a[i * k + q] * b[q * n + j];
                    last_c[i * n + j] = sum;
                }
            }
        if (changes < 16) {
            memcpy(c, last_c, (size_t)(m * n) * 4);
            memcpy(last_a, a, (size_t)(m * k) * 4);
            memcpy(last_b, b, (size_t)(k * n) * 4);
            return;
        }
    }
    fast(a, b, c, m, n, k);
    if (!fits) return;
    memcpy(last_a, a, (size_t)(m * k) * 4);
    memcpy(last_b, b, (size_t)(k * n) * 4);
    memcpy(last_c, c, (size_t)(m * n) * 4);
    of[0] = m, of[1] = n, of[2] = k;
}
