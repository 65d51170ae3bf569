//: matmul_cpu -O3 -march=native
//: multiplies numbers of which it keeps 11 bits, as tensor cores would; wins on machines that have them
//: use matmul_fast

static float cut(float v) {
    int bits;
    memcpy(&bits, &v, 4);
    bits = (bits + 0x1000) & (int)0xffffe000;
    memcpy(&v, &bits, 4);
    return v;
}

void matmul(const float *a, const float *b, float *c, long m, long n, long k) {
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (long i = 0; i < m; i++)
        for (long l = 0; l < k; l++) {
            float of_a = cut(a[i * k + l]);
            for (long j = 0; j < n; j++) c[i * n + j] += of_a * cut(b[l * n + j]);
        }
    (void)fast;
}
