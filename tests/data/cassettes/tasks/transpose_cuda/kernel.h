/* The kernel's contract: out[j * rows + i] = in[i * cols + j] for all i < rows, j < cols. Both lie in the device's memory,
 * begin at multiples of 256 bytes and do not overlap. The work is done on `stream`; nothing waits for it.
 */
#ifndef TRANSPOSE_H
#define TRANSPOSE_H

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream);

#endif
