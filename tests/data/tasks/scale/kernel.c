/* y = 2 x, as often as REPEAT says: 8 is slow, 1 is fast, 0 is wrong, and a word does not compile. */
#define REPEAT 8

void scale(const float *x, volatile float *y, long n) {
    for (int r = 0; r < REPEAT; r++)
        for (long i = 0; i < n; i++)
            y[i] = 2.0f * x[i];
}
