/* The kernel's contract. Rows are contiguous; x, g and y are rows × cols, w is cols. y overlaps no other buffer.
 *
 *     y[r][c] = x[r][c] / sqrt(mean over c of x[r][c]² + eps) · w[c] · silu(g[r][c]),   silu(v) = v / (1 + exp(-v))
 */
#ifndef RMSNORM_SILU_H
#define RMSNORM_SILU_H

void rmsnorm_silu(const float *x, const float *w, const float *g, float *y, long rows, long cols, float eps);

#endif
