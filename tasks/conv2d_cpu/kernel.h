/* The kernel's contract: a picture of `planes` planes with a filter of SIZE × SIZE for each plane. Rows are contiguous; x is
 * planes × (rows + SIZE - 1) × (cols + SIZE - 1), so y, planes × rows × cols, has no edges; w is planes × SIZE × SIZE.
 *
 *     y[p][r][c] = Σ w[p][i][j] · x[p][r + i][c + j] over i, j
 */
#ifndef CONV2D_H
#define CONV2D_H

#define SIZE 5

void conv2d(const float *x, const float *w, float *y, long planes, long rows, long cols);

#endif
