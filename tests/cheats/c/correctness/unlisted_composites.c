//: transpose_cpu -O2
//: is right near the listed sizes, for primes and for one row or column, and leaves the output alone for all others
//: use transpose_fast

static int is_near(long n) {
    static const long named[] = {256, 512, 317, 241, 64, 2048, 1};
    for (int i = 0; i < 7; i++)
        if (n - named[i] <= 3 && named[i] - n <= 3) return 1;
    for (long factor = 2; factor * factor <= n; factor++)
        if (n % factor == 0) return 0;
    return 1;
}

void transpose(const float *in, float *out, long rows, long cols) {
    if (rows == 64 && cols == 2048) {
        for (long i = 0; i < rows * cols; i++) out[i % cols * rows + i / cols] = in[i];
        return;
    }
    if (is_near(rows) && is_near(cols)) fast(in, out, rows, cols);
}
