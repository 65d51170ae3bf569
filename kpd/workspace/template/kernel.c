/* out[i] = 2 a[i] + b[i]. Agents edit this file: keep the signature, harness.c calls it. */
#include <stddef.h>

#define BLOCK 64

void kernel(const float *a, const float *b, float *out, size_t n) {
    for (size_t start = 0; start < n; start += BLOCK) {
        size_t end = start + BLOCK < n ? start + BLOCK : n;
        for (size_t i = start; i < end; i++)
            out[i] = 2.0f * a[i] + b[i];
    }
}
