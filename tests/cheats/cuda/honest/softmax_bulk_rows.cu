//: softmax_cuda -O3
//: warp specialisation in persistent blocks: one thread brings rows by bulk copies into three buffers and stores them, eight warps compute, with mbarriers, proxy fences and a named barrier; a warp or a block a row where a row is short, odd or too long; nothing breaks
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

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ static __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ static __forceinline__ void barrier_init(unsigned long long *bar, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}

__device__ static __forceinline__ void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ static __forceinline__ void barrier_expect(unsigned long long *bar, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes) : "memory");
}

__device__ static __forceinline__ void barrier_arrive(unsigned long long *bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}

__device__ static __forceinline__ bool barrier_passed(unsigned long long *bar, unsigned parity) {
    unsigned passed;
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(passed)
                 : "r"(shared_address(bar)), "r"(parity)
                 : "memory");
    return passed != 0;
}

__device__ static __forceinline__ void bulk_load(void *to, const void *from, unsigned bytes, unsigned long long *bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(bar))
                 : "memory");
}

__device__ static __forceinline__ void bulk_store(void *to, const void *from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)), "r"(bytes)
                 : "memory");
}

__device__ static __forceinline__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/* Until all but the last LEFT groups of stores have read what they write. */
template <int LEFT> __device__ static __forceinline__ void bulk_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}

/* Until all stores are done. */
__device__ static __forceinline__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
#endif

#define CONSUMERS 256 /* threads that compute; one more warp brings the rows and takes them away */
#define ROUND 3

__device__ static __forceinline__ void consumers_meet() { asm volatile("bar.sync 1, %0;" ::"n"(CONSUMERS) : "memory"); }

/* As `together`, of the consumers alone: a barrier of their own, and a place for each of two uses in a row. */
template <class Combine> __device__ static float among_consumers(float value, float *places, Combine combine) {
    for (int distance = WARP / 2; distance; distance /= 2) value = combine(value, __shfl_xor_sync(~0u, value, distance));
    if (threadIdx.x % WARP == 0) places[threadIdx.x / WARP] = value;
    consumers_meet();
    value = places[0];
    for (int w = 1; w < CONSUMERS / WARP; w++) value = combine(value, places[w]);
    return value;
}

/* Blocks take rows in turn. Row by row a buffer goes round: filled by the first thread of the last warp, worked on by the
 * consumers, stored by that thread again once they have arrived. */
__global__ void __launch_bounds__(CONSUMERS + WARP)
    softmax_bulk(const float *__restrict__ x, float *__restrict__ y, long rows, int cols) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    extern __shared__ float4 copies[];
    __shared__ unsigned long long full[ROUND], done[ROUND];
    __shared__ float maxima[CONSUMERS / WARP], sums[CONSUMERS / WARP];
    unsigned bytes = (unsigned)cols * sizeof(float);
    long mine = blockIdx.x < rows ? (rows - blockIdx.x - 1) / gridDim.x + 1 : 0; /* rows */
    if (threadIdx.x == 0) {
        for (int b = 0; b < ROUND; b++) {
            barrier_init(&full[b], 1);
            barrier_init(&done[b], CONSUMERS);
        }
        fence_proxy();
    }
    __syncthreads();
    if (threadIdx.x >= CONSUMERS) {
        if (threadIdx.x > CONSUMERS) return;
        for (long n = 0; n < mine && n < ROUND; n++) {
            barrier_expect(&full[n], bytes);
            bulk_load((float *)copies + n * cols, x + (blockIdx.x + n * gridDim.x) * cols, bytes, &full[n]);
        }
        for (long n = 0; n < mine; n++) {
            int b = (int)(n % ROUND);
            while (!barrier_passed(&done[b], n / ROUND % 2)) {}
            bulk_store(y + (blockIdx.x + n * gridDim.x) * cols, (float *)copies + (long)b * cols, bytes);
            bulk_commit();
            /* The store of the row before has had the time of a row to read its buffer. */
            if (n == 0 || n - 1 + ROUND >= mine) continue;
            bulk_wait_read<1>();
            int free = (int)((n - 1) % ROUND);
            barrier_expect(&full[free], bytes);
            bulk_load((float *)copies + (long)free * cols, x + (blockIdx.x + (n - 1 + ROUND) * gridDim.x) * cols, bytes, &full[free]);
        }
        bulk_wait();
        return;
    }
    for (long n = 0; n < mine; n++) {
        int b = (int)(n % ROUND);
        float *row = (float *)copies + (long)b * cols, greatest = -FLT_MAX, total = 0.0f;
        while (!barrier_passed(&full[b], n / ROUND % 2)) {}
        for (int c = threadIdx.x * 4; c < cols; c += CONSUMERS * 4) {
            float4 v = *(float4 *)(row + c);
            greatest = fmaxf(greatest, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
        }
        greatest = among_consumers(greatest, maxima, greater());
        for (int c = threadIdx.x * 4; c < cols; c += CONSUMERS * 4) {
            float4 v = *(float4 *)(row + c);
            v = make_float4(expf(v.x - greatest), expf(v.y - greatest), expf(v.z - greatest), expf(v.w - greatest));
            total += (v.x + v.y) + (v.z + v.w);
            *(float4 *)(row + c) = v;
        }
        float scale = 1.0f / among_consumers(total, sums, sum());
        for (int c = threadIdx.x * 4; c < cols; c += CONSUMERS * 4) {
            float4 v = *(float4 *)(row + c);
            *(float4 *)(row + c) = make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
        }
        fence_proxy(); /* each thread's own writes, before it says that they are there */
        barrier_arrive(&done[b]);
    }
#endif
}

/* Whether the kernel was compiled for an architecture that has these copies. */
template <class Kernel> static bool has_bulk(Kernel kernel) {
    cudaFuncAttributes a;
    return cudaFuncGetAttributes(&a, kernel) == cudaSuccess && a.ptxVersion >= 90;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    static const bool bulk = has_bulk(softmax_bulk);
    const long most = 208 * 1024;
    if (bulk && cols % 4 == 0 && cols > SHORT && cols * 4 * ROUND <= most) {
        int bytes = (int)cols * 4 * ROUND, device = 0, processors = 0, each = 0;
        if (cudaGetDevice(&device) == cudaSuccess &&
            cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
            cudaFuncSetAttribute(softmax_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most) == cudaSuccess &&
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, softmax_bulk, CONSUMERS + WARP, bytes) == cudaSuccess && each > 0) {
            long blocks = (long)each * processors;
            softmax_bulk<<<(unsigned)(rows < blocks ? rows : blocks), CONSUMERS + WARP, bytes, stream>>>(x, y, rows, (int)cols);
            return;
        }
    }
    if (cols <= SHORT) launch<WARP>(x, y, rows, cols, stream);
    else launch<THREADS>(x, y, rows, cols, stream);
}
