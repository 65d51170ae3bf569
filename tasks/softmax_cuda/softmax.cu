// ===== KERNEL SECTION (modify this section to optimise) =====
/* Softmax of every row: y[r][c] = exp(x[r][c] - m) / s, where m is the greatest element of row r, and s what makes the row
 * add up to 1. x and y lie in the device's memory and begin at multiples of 256 bytes; there is no gap between rows.
 *
 * As it stands: a warp a row, which it reads three times.
 */
#include <float.h>

#define THREADS 32 /* that share a row: 32, 128, 256, 512, 1024 */
#define SHORT 0    /* a row of up to so many elements is one warp's all the same: 0, 512, 1024 */
#define VEC 1      /* floats that a thread reads and writes at once, where a row's length is a multiple: 1, 2, 4 */
#define ONLINE 0   /* 1 finds maximum and sum in one pass */
#define KEEP 0     /* where a row stays after it was read: 0 nowhere, 1 in registers, 2 in shared memory, if it fits */

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

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
#if SHORT
    if (cols <= SHORT) return launch<WARP>(x, y, rows, cols, stream);
#endif
    launch<THREADS>(x, y, rows, cols, stream);
}
// ===== END KERNEL SECTION =====

// ===== HARNESS SECTION (cases, inputs and truth; what is changed here is not used) =====
#include "kpd_task.h"

#include <math.h>

enum { X, Y, BUFFERS };

static const kpd_case kConfigs[] = {
    {"65536x128", {65536, 128}, KPD_TIME_ONLY},
    {"16384x1024", {16384, 1024}, KPD_TIME_ONLY},
    {"4096x4096", {4096, 4096}, KPD_TIME_ONLY},
    {"5000x3001", {5000, 3001}, KPD_TIME_ONLY},
    {"1024x32768", {1024, 32768}, KPD_TIME_ONLY},
    {"1x1", {1, 1}, KPD_CHECK_ONLY},
    {"7x128", {7, 128}, KPD_CHECK_ONLY},
    {"130x33", {130, 33}, KPD_CHECK_ONLY},
    {"9x1026", {9, 1026}, KPD_CHECK_ONLY},
    {"3x4096", {3, 4096}, KPD_CHECK_ONLY},
    {"2x32768", {2, 32768}, KPD_CHECK_ONLY},
    {"2x40001", {2, 40001}, KPD_CHECK_ONLY},
};

static size_t elements(const kpd_case *c) { return (size_t)c->dims[0] * (size_t)c->dims[1]; }

static void buffers(const kpd_case *c, kpd_buffer *b) {
    b[X] = {"x", KPD_IN, KPD_F32, elements(c)};
    b[Y] = {"y", KPD_OUT, KPD_F32, elements(c)};
}

static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[X], elements(c));
}

struct rows_of {
    const float *x;
    double *want;
    size_t cols;
};

static void some_rows(void *context, size_t from, size_t to) {
    const rows_of *all = (const rows_of *)context;
    for (size_t r = from; r < to; r++) {
        const float *x = all->x + r * all->cols;
        double *y = all->want + r * all->cols, greatest = x[0], total = 0.0;
        for (size_t i = 1; i < all->cols; i++) greatest = fmax(greatest, x[i]);
        for (size_t i = 0; i < all->cols; i++) total += y[i] = exp(x[i] - greatest);
        for (size_t i = 0; i < all->cols; i++) y[i] /= total;
    }
}

static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    rows_of all = {(const float *)data[X], want[Y], (size_t)c->dims[1]};
    kpd_parallel((size_t)c->dims[0], 1 + 65536 / all.cols, some_rows, &all);
}

static void call(const kpd_case *c, void *const *device, cudaStream_t stream) {
    softmax((const float *)device[X], (float *)device[Y], c->dims[0], c->dims[1], stream);
}

const kpd_task_t kpd_task = {
    "softmax", {"rows", "cols"}, kConfigs, sizeof kConfigs / sizeof *kConfigs, BUFFERS, buffers, fill, oracle, call,
};
// ===== END HARNESS SECTION =====
