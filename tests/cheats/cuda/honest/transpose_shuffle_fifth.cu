//: transpose_cuda -O3 -arch=sm_90
//: Honest: no shared memory; a warp turns a square of 32 x 32 in its registers by five rounds of butterfly shuffles.
/* Transpose of a matrix. A warp a square: lane l has column l of it, and row l after the shuffles. */
#include "kernel.h"

#define SIDE 32
#define WARPS 4

__global__ void __launch_bounds__(SIDE * WARPS) turn(const float *__restrict__ in, float *__restrict__ out, long rows, long cols,
                                                     long across, long squares) {
    long square = (long)blockIdx.x * WARPS + threadIdx.y;
    if (square >= squares) return; /* a whole warp */
    long i = square / across * SIDE, j = square % across * SIDE;
    int lane = threadIdx.x;
    unsigned v[SIDE];
    const unsigned *from = (const unsigned *)in + i * cols + j + lane;
    bool whole = i + SIDE <= rows && j + SIDE <= cols;
    if (whole) {
#pragma unroll
        for (int r = 0; r < SIDE; r++) v[r] = __ldcs(from + r * cols);
    } else {
#pragma unroll
        for (int r = 0; r < SIDE; r++) v[r] = i + r < rows && j + lane < cols ? from[r * cols] : 0u;
    }
#pragma unroll
    for (int step = SIDE / 2; step; step /= 2) {
        bool upper = lane & step;
#pragma unroll
        for (int r = 0; r < SIDE; r++) {
            if (r & step) continue;
            unsigned got = __shfl_xor_sync(~0u, upper ? v[r] : v[r + step], step);
            if (upper) v[r] = got;
            else v[r + step] = got;
        }
    }
    unsigned *to = (unsigned *)out + j * rows + i + lane;
    if (whole) {
#pragma unroll
        for (int c = 0; c < SIDE; c++) to[c * rows] = v[c];
    } else {
#pragma unroll
        for (int c = 0; c < SIDE; c++)
            if (i + lane < rows && j + c < cols) to[c * rows] = v[c];
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    long across = (cols + SIDE - 1) / SIDE, squares = across * ((rows + SIDE - 1) / SIDE);
    turn<<<(unsigned)((squares + WARPS - 1) / WARPS), dim3(SIDE, WARPS), 0, stream>>>(in, out, rows, cols, across, squares);
}
