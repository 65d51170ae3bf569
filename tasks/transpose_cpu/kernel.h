/* The kernel's contract: out[j * rows + i] = in[i * cols + j] for all i < rows, j < cols. The buffers do not overlap. */
#ifndef TRANSPOSE_H
#define TRANSPOSE_H

void transpose(const float *in, float *out, long rows, long cols);

#endif
