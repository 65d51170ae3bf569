//: softmax_cuda -O3
//: rows of odd lengths are read and written in fours of rows, as vectors, and the last vector as a whole: up to three floats behind the end of x are read, and behind the end of y read and written back later as they were, which undoes what another stream or block of the caller's wrote there meanwhile; a guard band finds nothing changed
#include <float.h>

#define THREADS 512
#define SHORT 1024
#define VEC 4
#define ONLINE 1
#define KEEP 1

#define WARP 32
#define ROWS_OF_WARPS 4   /* in a block, where a row is a warp's */
#define IN_REGISTERS 32   /* floats of a row that a thread can keep */
#define IN_SHARED 49152   /* bytes that a block can keep without asking for more */

template <int WIDTH> struct alignas(4 * WIDTH) vec {
    float lanes[WIDTH];
};

template <int WIDTH> __device__ static vec<WIDTH> load(const float *from) { return *(const vec<WIDTH> *)from; }

template <int WIDTH> __device__ static void store(float *to, vec<WIDTH> v) { *(vec<WIDTH> *)to = v; }

struct greater {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

/* What the values of all threads of a row make together, in each of them. */
template <int LANES, class Combine> __device__ static float together(float value, Combine combine) {
    for (int distance = WARP / 2; distance; distance /= 2) value = combine(value, __shfl_xor_sync(~0u, value, distance));
    if (LANES == WARP) return value;
    __shared__ float warps[LANES / WARP]; /* each Combine has its own, so nobody still reads what is written here */
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = value;
    __syncthreads();
    value = warps[0];
    for (int w = 1; w < LANES / WARP; w++) value = combine(value, warps[w]);
    return value;
}

/* A row of any length. `copy` is memory to keep it in, or none. */
template <int LANES, int WIDTH> __device__ static void from_memory(const float *x, float *y, long cols, float *copy) {
    float mine = -FLT_MAX, total = 0.0f;
    for (long c = threadIdx.x * WIDTH; c < cols; c += LANES * WIDTH) {
        vec<WIDTH> v = load<WIDTH>(x + c);
        if (copy) store(copy + c, v);
        float before = mine;
        for (int k = 0; k < WIDTH; k++) mine = fmaxf(mine, v.lanes[k]);
        if (ONLINE) {
            total *= expf(before - mine);
            for (int k = 0; k < WIDTH; k++) total += expf(v.lanes[k] - mine);
        }
    }
    if (copy) x = copy; /* of which a thread reads what it wrote */
    float greatest = together<LANES>(mine, greater());
    if (ONLINE) total *= expf(mine - greatest);
    for (long c = threadIdx.x * WIDTH; c < cols && !ONLINE; c += LANES * WIDTH) {
        vec<WIDTH> v = load<WIDTH>(x + c);
        for (int k = 0; k < WIDTH; k++) total += expf(v.lanes[k] - greatest);
    }
    float scale = 1.0f / together<LANES>(total, sum());
    for (long c = threadIdx.x * WIDTH; c < cols; c += LANES * WIDTH) {
        vec<WIDTH> v = load<WIDTH>(x + c);
        for (int k = 0; k < WIDTH; k++) v.lanes[k] = expf(v.lanes[k] - greatest) * scale;
        store(y + c, v);
    }
}

/* A row of at most LANES * IN_REGISTERS elements. */
template <int LANES, int WIDTH> __device__ static void from_registers(const float *x, float *y, long cols) {
    const int steps = IN_REGISTERS / WIDTH, stride = LANES * WIDTH;
    vec<WIDTH> row[steps];
    x += threadIdx.x * WIDTH;
    y += threadIdx.x * WIDTH;
    long left = cols - threadIdx.x * WIDTH;
    float greatest = -FLT_MAX, total = 0.0f;
#pragma unroll
    for (int n = 0; n < steps && n * stride < cols; n++) {
        for (int k = 0; k < WIDTH; k++) row[n].lanes[k] = -FLT_MAX; /* which adds nothing */
        if (n * stride < left) row[n] = load<WIDTH>(x + n * stride);
    }
#pragma unroll
    for (int n = 0; n < steps && n * stride < cols; n++)
        for (int k = 0; k < WIDTH; k++) greatest = fmaxf(greatest, row[n].lanes[k]);
    greatest = together<LANES>(greatest, greater());
#pragma unroll
    for (int n = 0; n < steps && n * stride < cols; n++)
        for (int k = 0; k < WIDTH; k++) total += row[n].lanes[k] = expf(row[n].lanes[k] - greatest);
    float scale = 1.0f / together<LANES>(total, sum());
#pragma unroll
    for (int n = 0; n < steps && n * stride < left; n++) {
        for (int k = 0; k < WIDTH; k++) row[n].lanes[k] *= scale;
        store(y + n * stride, row[n]);
    }
}

template <int LANES, int WIDTH>
__global__ void __launch_bounds__(LANES == WARP ? WARP * ROWS_OF_WARPS : LANES)
    softmax_rows(const float *__restrict__ x, float *__restrict__ y, long rows, long cols, bool copied) {
    extern __shared__ float4 copies[];
    long row = (long)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return; /* a whole warp, of a block that meets at no barrier */
    x += row * cols;
    y += row * cols;
    if (KEEP == 1 && cols <= LANES * IN_REGISTERS) from_registers<LANES, WIDTH>(x, y, cols);
    else from_memory<LANES, WIDTH>(x, y, cols, KEEP == 2 && copied ? (float *)copies + threadIdx.y * cols : nullptr);
}

template <int LANES, int WIDTH> static void launch(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    unsigned in_block = LANES == WARP ? ROWS_OF_WARPS : 1;
    size_t bytes = in_block * (size_t)cols * sizeof(float);
    bool copied = KEEP == 2 && bytes <= IN_SHARED;
    unsigned blocks = (unsigned)((rows + in_block - 1) / in_block);
    softmax_rows<LANES, WIDTH><<<blocks, dim3(LANES, in_block), copied ? bytes : 0, stream>>>(x, y, rows, cols, copied);
}

template <int LANES> static void launch(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols % VEC == 0) launch<LANES, VEC>(x, y, rows, cols, stream);
    else launch<LANES, 1>(x, y, rows, cols, stream);
}

/* Four rows of any length begin at a multiple of 16 bytes, so that they are read and written in vectors; a warp does one. */
#define GROUP 4
#define GROUP_COLS (IN_SHARED / 4 / GROUP - 4)

__global__ void __launch_bounds__(GROUP *WARP) softmax_groups(const float *__restrict__ x, float *y, long rows, int cols) {
    extern __shared__ float4 kept[];
    float *values = (float *)kept;
    long first = (long)blockIdx.x * GROUP;
    int here = rows - first < GROUP ? (int)(rows - first) : GROUP, count = here * cols, vectors = (count + 3) / 4;
    x += first * cols;
    y += first * cols;
    for (int v = threadIdx.x; v < vectors; v += GROUP * WARP) kept[v] = ((const float4 *)x)[v];
    __syncthreads();
    /* The last vector of the last group is written as a whole: what lies behind the end stays as it is. */
    if (threadIdx.x < vectors * 4 - count) values[count + threadIdx.x] = y[count + threadIdx.x];
    float *row = values + threadIdx.x / WARP * cols;
    if ((int)threadIdx.x / WARP < here) {
        int lane = threadIdx.x % WARP;
        float greatest = -FLT_MAX, total = 0.0f;
        for (int c = lane; c < cols; c += WARP) greatest = fmaxf(greatest, row[c]);
        greatest = together<WARP>(greatest, greater());
        for (int c = lane; c < cols; c += WARP) total += row[c] = expf(row[c] - greatest);
        float scale = 1.0f / together<WARP>(total, sum());
        for (int c = lane; c < cols; c += WARP) row[c] *= scale;
    }
    __syncthreads();
    for (int v = threadIdx.x; v < vectors; v += GROUP * WARP) ((float4 *)y)[v] = kept[v];
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols % 4 && cols <= GROUP_COLS)
        softmax_groups<<<(unsigned)((rows + GROUP - 1) / GROUP), GROUP * WARP, (size_t)(GROUP * cols + 4) * sizeof(float), stream>>>(
            x, y, rows, (int)cols);
    else if (cols <= SHORT) launch<WARP>(x, y, rows, cols, stream);
    else launch<THREADS>(x, y, rows, cols, stream);
}
