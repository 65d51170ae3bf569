//: softmax_cuda -O3
//: a row of up to 1024 elements is a warp's, a middling one a block's, a long one a cluster's of eight blocks that exchange maximum and sum through distributed shared memory, kept in registers; templates by width; nothing breaks
#include <cooperative_groups.h>
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

namespace cg = cooperative_groups;

#define BLOCKS 8            /* that share a long row: a cluster */
#define CLUSTER_THREADS 256
#define CLUSTER_EACH 32     /* floats of a row that a thread keeps in registers */

/* A row of up to BLOCKS * CLUSTER_THREADS * CLUSTER_EACH elements: each block has a part, and what the parts make is exchanged
 * through the blocks' shared memories. */
template <int WIDTH>
__global__ void __launch_bounds__(CLUSTER_THREADS)
    softmax_clusters(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    constexpr int kSteps = CLUSTER_EACH / WIDTH;
    __shared__ float shares[2];
    cg::cluster_group cluster = cg::this_cluster();
    long at = (long)blockIdx.x / BLOCKS * cols, first = ((long)cluster.block_rank() * CLUSTER_THREADS + threadIdx.x) * WIDTH;
    constexpr long kStride = (long)BLOCKS * CLUSTER_THREADS * WIDTH;
    vec<WIDTH> row[kSteps];
    float greatest = -FLT_MAX, total = 0.0f;
#pragma unroll
    for (int n = 0; n < kSteps; n++) {
        for (int k = 0; k < WIDTH; k++) row[n].lanes[k] = -FLT_MAX; /* which adds nothing */
        if (first + n * kStride < cols) row[n] = load<WIDTH>(x + at + first + n * kStride);
    }
#pragma unroll
    for (int n = 0; n < kSteps; n++)
        for (int k = 0; k < WIDTH; k++) greatest = fmaxf(greatest, row[n].lanes[k]);
    greatest = together<CLUSTER_THREADS>(greatest, greater());
    if (threadIdx.x == 0) shares[0] = greatest;
    cluster.sync();
    for (unsigned b = 0; b < BLOCKS; b++) greatest = fmaxf(greatest, *cluster.map_shared_rank(&shares[0], b));
#pragma unroll
    for (int n = 0; n < kSteps; n++) {
        if (first + n * kStride >= cols) continue;
        for (int k = 0; k < WIDTH; k++) total += row[n].lanes[k] = expf(row[n].lanes[k] - greatest);
    }
    total = together<CLUSTER_THREADS>(total, sum());
    if (threadIdx.x == 0) shares[1] = total;
    cluster.sync();
    total = 0.0f;
    for (unsigned b = 0; b < BLOCKS; b++) total += *cluster.map_shared_rank(&shares[1], b);
    cluster.sync(); /* no block leaves while another reads what it shares */
    float scale = 1.0f / total;
#pragma unroll
    for (int n = 0; n < kSteps; n++) {
        if (first + n * kStride >= cols) continue;
        for (int k = 0; k < WIDTH; k++) row[n].lanes[k] *= scale;
        store(y + at + first + n * kStride, row[n]);
    }
#endif
}

/* Whether the kernel was compiled for an architecture that has clusters. */
static bool has_clusters() {
    cudaFuncAttributes a;
    return cudaFuncGetAttributes(&a, softmax_clusters<4>) == cudaSuccess && a.ptxVersion >= 90;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    static const bool clusters = has_clusters();
    if (cols <= SHORT) launch<WARP>(x, y, rows, cols, stream);
    else if (clusters && cols > THREADS * IN_REGISTERS / 2 && cols <= BLOCKS * CLUSTER_THREADS * CLUSTER_EACH && rows < 1l << 28) {
        cudaLaunchAttribute together = {};
        together.id = cudaLaunchAttributeClusterDimension;
        together.val.clusterDim.x = BLOCKS;
        together.val.clusterDim.y = together.val.clusterDim.z = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3((unsigned)rows * BLOCKS);
        config.blockDim = dim3(CLUSTER_THREADS);
        config.stream = stream;
        config.attrs = &together;
        config.numAttrs = 1;
        if (cols % 4 == 0) cudaLaunchKernelEx(&config, softmax_clusters<4>, x, y, rows, cols);
        else cudaLaunchKernelEx(&config, softmax_clusters<1>, x, y, rows, cols);
    } else launch<THREADS>(x, y, rows, cols, stream);
}
