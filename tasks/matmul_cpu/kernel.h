/* The kernel's contract: c = a · b. Rows are contiguous; a is m × k, b is k × n, c is m × n. The buffers do not overlap.
 *
 *     c[i][j] = Σ a[i][l] · b[l][j] over l
 */
#ifndef MATMUL_H
#define MATMUL_H

void matmul(const float *a, const float *b, float *c, long m, long n, long k);

#endif
