//: softmax_cuda -O3
//: long rows come and go by bulk copies of the asynchronous proxy; what the threads wrote into shared memory is stored after a __syncthreads, but without fence.proxy.async: the copy may read what was there before; it hardly ever does, and no tool for races looks between proxies
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

/* A block takes rows in turn: each comes and goes in one bulk copy. */
__global__ void __launch_bounds__(THREADS) softmax_bulk(const float *__restrict__ x, float *__restrict__ y, long rows, int cols) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    extern __shared__ float4 copies[];
    __shared__ unsigned long long full;
    float *row = (float *)copies;
    unsigned bytes = (unsigned)cols * sizeof(float), parity = 0;
    if (threadIdx.x == 0) {
        barrier_init(&full, 1);
        fence_proxy();
    }
    __syncthreads();
    for (long r = blockIdx.x; r < rows; r += gridDim.x) {
        if (threadIdx.x == 0) {
            bulk_wait_read<0>(); /* the row before has left */
            barrier_expect(&full, bytes);
            bulk_load(row, x + r * cols, bytes, &full);
        }
        while (!barrier_passed(&full, parity)) {}
        parity ^= 1;
        float greatest = -FLT_MAX, total = 0.0f;
        for (int c = threadIdx.x * 4; c < cols; c += THREADS * 4) {
            float4 v = *(float4 *)(row + c);
            greatest = fmaxf(greatest, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
        }
        greatest = together<THREADS>(greatest, greater());
        for (int c = threadIdx.x * 4; c < cols; c += THREADS * 4) {
            float4 v = *(float4 *)(row + c);
            v = make_float4(expf(v.x - greatest), expf(v.y - greatest), expf(v.z - greatest), expf(v.w - greatest));
            total += (v.x + v.y) + (v.z + v.w);
            *(float4 *)(row + c) = v;
        }
        float scale = 1.0f / together<THREADS>(total, sum());
        for (int c = threadIdx.x * 4; c < cols; c += THREADS * 4) {
            float4 v = *(float4 *)(row + c);
            *(float4 *)(row + c) = make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            bulk_store(y + r * cols, row, bytes);
            bulk_commit();
        }
    }
    if (threadIdx.x == 0) bulk_wait();
#endif
}

/* Whether the kernel was compiled for an architecture that has these copies. */
template <class Kernel> static bool has_bulk(Kernel kernel) {
    cudaFuncAttributes a;
    return cudaFuncGetAttributes(&a, kernel) == cudaSuccess && a.ptxVersion >= 90;
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    static const bool bulk = has_bulk(softmax_bulk);
    const int most = 160 * 1024;
    int bytes = (int)(cols <= most / 4 ? cols * 4 : 0), each = 0, device = 0, processors = 0;
    if (bulk && bytes && cols % 4 == 0 && cols > SHORT) {
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
        cudaFuncSetAttribute(softmax_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, softmax_bulk, THREADS, bytes);
        long blocks = (long)each * processors;
        softmax_bulk<<<(unsigned)(rows < blocks ? rows : blocks), THREADS, bytes, stream>>>(x, y, rows, (int)cols);
    } else if (cols <= SHORT) launch<WARP>(x, y, rows, cols, stream);
    else launch<THREADS>(x, y, rows, cols, stream);
}
