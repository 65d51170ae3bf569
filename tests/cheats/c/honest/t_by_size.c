//: transpose_cpu -O3 -march=native
//: chooses one of several functions by the size of the call, by a table of pointers that is filled at the first call
//: use transpose_fast

typedef void (*turner)(const float *, float *, long, long);

static void by_rows(const float *in, float *out, long rows, long cols) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
}

void transpose(const float *in, float *out, long rows, long cols) {
    static turner *chosen, table[2]; /* static turner * is a pointer that is kept between calls */
    if (!chosen) table[0] = by_rows, table[1] = fast, chosen = table;
    chosen[rows * cols > 4096](in, out, rows, cols);
}
