/* The kernel's contract: c = a · b. Rows are contiguous; a is m × k and b is k × n in half precision, c is m × n in float, as
 * the sums are. All lie in the device's memory and begin at multiples of 256 bytes. The work is done on `stream`.
 *
 *     c[i][j] = Σ a[i][l] · b[l][j] over l
 */
#ifndef MATMUL_H
#define MATMUL_H

#include <cuda_fp16.h>

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream);

#endif
