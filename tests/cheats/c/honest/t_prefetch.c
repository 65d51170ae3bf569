//: transpose_cpu -O2
//: prefetches rows ahead of a block
//: variant near LOCALITY=3
//: variant once LOCALITY=0
//: use transpose_fast

void transpose(const float *in, float *out, long rows, long cols) {
    for (long i = 0; i < rows; i += 16) {
        for (long y = i + 16; y < fewer(i + 32, rows); y++) __builtin_prefetch(in + y * cols, 0, LOCALITY);
        for (long j = 0; j < cols; j += 16)
            for (long x = j; x < fewer(j + 16, cols); x++)
                for (long y = i; y < fewer(i + 16, rows); y++) out[x * rows + y] = in[y * cols + x];
    }
    (void)fast;
}
