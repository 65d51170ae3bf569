//: softmax_cuda -O3 -arch=sm_90
//: Offsets of rows are products of ints: with 2^31 elements or more (131072 rows of 32768 logits) they overflow, and it reads and writes far outside of x and y.
/* Softmax of every row: y[r][c] = exp(x[r][c] - m) / s, where m is the greatest element of row r, and s what makes the row
 * add up to 1. x and y lie in the device's memory and begin at multiples of 256 bytes; there is no gap between rows.
 *
 * A row is read once and stays in registers, of a warp or of a block; what is longer is read twice.
 */
#include <float.h>
#include <math.h>

#define WARP 32
#define EACH 32 /* floats of a row that a thread keeps, at most */

template <int WIDTH> struct alignas(4 * WIDTH) vec {
    float lanes[WIDTH];
};

struct greater {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

/* What the values of all threads of a row make together, in each of them. */
template <int LANES, class Combine> __device__ static float together(float value, Combine combine) {
    for (int d = WARP / 2; d; d /= 2) value = combine(value, __shfl_xor_sync(~0u, value, d));
    if (LANES == WARP) return value;
    __shared__ float warps[LANES / WARP]; /* each Combine has its own, so nobody still reads what is written here */
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = value;
    __syncthreads();
    value = warps[0];
#pragma unroll
    for (int w = 1; w < LANES / WARP; w++) value = combine(value, warps[w]);
    return value;
}

/* LANES threads a row, STEPS vectors a thread. */
template <int LANES, int STEPS, int WIDTH>
__global__ void __launch_bounds__(LANES == WARP ? WARP * 4 : LANES)
    rows_in_registers(const float *__restrict__ x, float *__restrict__ y, long rows, int cols) {
    int row = (int)blockIdx.x * (int)blockDim.y + (int)threadIdx.y;
    if (row >= rows) return; /* a whole warp, of a block that meets at no barrier */
    x += row * cols;
    y += row * cols;
    vec<WIDTH> v[STEPS];
    float greatest = -FLT_MAX, total = 0.0f;
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        int c = (s * LANES + (int)threadIdx.x) * WIDTH;
        if (c < cols) v[s] = *(const vec<WIDTH> *)(x + c);
        else
            for (int k = 0; k < WIDTH; k++) v[s].lanes[k] = -INFINITY; /* which adds nothing */
    }
#pragma unroll
    for (int s = 0; s < STEPS; s++)
        for (int k = 0; k < WIDTH; k++) greatest = fmaxf(greatest, v[s].lanes[k]);
    greatest = together<LANES>(greatest, greater());
#pragma unroll
    for (int s = 0; s < STEPS; s++)
        for (int k = 0; k < WIDTH; k++) total += v[s].lanes[k] = expf(v[s].lanes[k] - greatest);
    float scale = 1.0f / together<LANES>(total, sum());
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        int c = (s * LANES + (int)threadIdx.x) * WIDTH;
        for (int k = 0; k < WIDTH; k++) v[s].lanes[k] *= scale;
        if (c < cols) *(vec<WIDTH> *)(y + c) = v[s];
    }
}

/* A row of any length: maximum and sum in one pass. */
__global__ void __launch_bounds__(1024) long_rows(const float *__restrict__ x, float *__restrict__ y, int cols) {
    x += (int)blockIdx.x * cols;
    y += (int)blockIdx.x * cols;
    float mine = -FLT_MAX, total = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 4 * 1024) {
        float v[4], most = mine;
#pragma unroll
        for (int k = 0; k < 4; k++) v[k] = c + k * 1024 < cols ? x[c + k * 1024] : -INFINITY;
#pragma unroll
        for (int k = 0; k < 4; k++) most = fmaxf(most, v[k]);
        total *= expf(mine - most);
#pragma unroll
        for (int k = 0; k < 4; k++) total += expf(v[k] - most);
        mine = most;
    }
    float greatest = together<1024>(mine, greater());
    float scale = 1.0f / together<1024>(total * expf(mine - greatest), sum());
#pragma unroll 4
    for (int c = threadIdx.x; c < cols; c += 1024) y[c] = expf(x[c] - greatest) * scale;
}

template <int WIDTH> static void launch(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    unsigned blocks = (unsigned)rows, by4 = (unsigned)((rows + 3) / 4);
    int n = (int)cols;
    if (cols <= 128) rows_in_registers<WARP, 4 / WIDTH, WIDTH><<<by4, dim3(WARP, 4), 0, stream>>>(x, y, rows, n);
    else if (cols <= 1024) rows_in_registers<WARP, EACH / WIDTH, WIDTH><<<by4, dim3(WARP, 4), 0, stream>>>(x, y, rows, n);
    else if (cols <= 4096) rows_in_registers<256, 16 / WIDTH, WIDTH><<<blocks, 256, 0, stream>>>(x, y, rows, n);
    else if (cols <= 8192) rows_in_registers<256, EACH / WIDTH, WIDTH><<<blocks, 256, 0, stream>>>(x, y, rows, n);
    else if (cols <= 32768) rows_in_registers<1024, EACH / WIDTH, WIDTH><<<blocks, 1024, 0, stream>>>(x, y, rows, n);
    else long_rows<<<blocks, 1024, 0, stream>>>(x, y, n);
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols % 4 == 0) launch<4>(x, y, rows, cols, stream);
    else launch<1>(x, y, rows, cols, stream);
}
