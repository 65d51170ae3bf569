//: transpose_cuda -O3
//: Style: persistent blocks with two shared squares in turn; the loads of the next tile are under way in registers while the present one is written.
#include "kernel.h"

constexpr int kSide = 64, kThreads = 256, kSteps = kSide * kSide / kThreads, kApart = kThreads / kSide;

__global__ void __launch_bounds__(kThreads, 5) turn_tiles(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, long across,
                                                          long tiles) {
    __shared__ float squares[2][kSide][kSide + 1];
    int x = threadIdx.x % kSide, y = threadIdx.x / kSide, which = 0;
    float v[kSteps];
    auto read = [&](long t) {
        long i = t / across * kSide, j = t % across * kSide;
#pragma unroll
        for (int s = 0; s < kSteps; s++) {
            long r = i + y + s * kApart;
            v[s] = r < rows && j + x < cols ? __ldcs(in + r * cols + j + x) : 0.0f;
        }
    };
    long t = blockIdx.x;
    read(t); /* no more blocks than tiles */
    while (t < tiles) {
        /* Who writes here has passed the barrier of the round before, which all reach only after their reads two rounds ago. */
        float (*tile)[kSide + 1] = squares[which];
#pragma unroll
        for (int s = 0; s < kSteps; s++) tile[y + s * kApart][x] = v[s];
        long next = t + gridDim.x;
        if (next < tiles) read(next);
        __syncthreads();
        long i = t / across * kSide, j = t % across * kSide;
#pragma unroll
        for (int s = 0; s < kSteps; s++) {
            long c = j + y + s * kApart;
            if (c < cols && i + x < rows) out[c * rows + i + x] = tile[x][y + s * kApart];
        }
        which ^= 1;
        t = next;
    }
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    long across = (cols + kSide - 1) / kSide, tiles = (rows + kSide - 1) / kSide * across;
    turn_tiles<<<(unsigned)(tiles < 132 * 5 ? tiles : 132 * 5), kThreads, 0, stream>>>(in, out, rows, cols, across, tiles);
}
