//: softmax_cuda -O3 -arch=sm_90
//: Online softmax that starts from a thread's own elements: where four neighbours (or two in turn of a thread) are all -inf, as in masked attention, exp(-inf - -inf) makes the whole row NaN; the task's own kernel gives them 0.
/* Softmax of every row: y[r][c] = exp(x[r][c] - m) / s, where m is the greatest element of row r, and s what makes the row
 * add up to 1. x and y lie in the device's memory and begin at multiples of 256 bytes; there is no gap between rows.
 *
 * One pass finds maximum and sum together ("online"), a second one writes. A row is a warp's, or a block's if it is long.
 */
#define WARP 32

template <int WIDTH> struct alignas(4 * WIDTH) vec {
    float lanes[WIDTH];
};

/* The greatest of some elements, and the sum of exp(element - greatest); no elements have none of both. */
struct part {
    float most, total;
};

__device__ static part joined(part a, part b) {
    if (b.total == 0.0f) return a;
    if (a.total == 0.0f) return b;
    float most = fmaxf(a.most, b.most);
    return {most, a.total * __expf(a.most - most) + b.total * __expf(b.most - most)};
}

template <int LANES> __device__ static part together(part p) {
    for (int d = WARP / 2; d; d /= 2) p = joined(p, {__shfl_xor_sync(~0u, p.most, d), __shfl_xor_sync(~0u, p.total, d)});
    if (LANES == WARP) return p;
    __shared__ part warps[LANES / WARP];
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = p;
    __syncthreads();
    p = warps[0];
    for (int w = 1; w < LANES / WARP; w++) p = joined(p, warps[w]);
    return p;
}

template <int LANES, int WIDTH>
__global__ void __launch_bounds__(LANES == WARP ? WARP * 4 : LANES)
    softmax_rows(const float *__restrict__ x, float *__restrict__ y, long rows, long cols) {
    long row = (long)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return; /* a whole warp, of a block that meets at no barrier */
    x += row * cols;
    y += row * cols;
    part mine = {0.0f, 0.0f};
#pragma unroll 4
    for (long c = threadIdx.x * WIDTH; c < cols; c += LANES * WIDTH) {
        vec<WIDTH> v = *(const vec<WIDTH> *)(x + c);
        float most = v.lanes[0], total = WIDTH == 1 ? 1.0f : 0.0f;
        for (int k = 1; k < WIDTH; k++) most = fmaxf(most, v.lanes[k]);
        for (int k = 0; k < WIDTH && WIDTH > 1; k++) total += __expf(v.lanes[k] - most);
        mine = joined(mine, {most, total});
    }
    part all = together<LANES>(mine);
    float scale = 1.0f / all.total;
#pragma unroll 4
    for (long c = threadIdx.x * WIDTH; c < cols; c += LANES * WIDTH) {
        vec<WIDTH> v = *(const vec<WIDTH> *)(x + c);
        for (int k = 0; k < WIDTH; k++) v.lanes[k] = __expf(v.lanes[k] - all.most) * scale;
        *(vec<WIDTH> *)(y + c) = v;
    }
}

template <int WIDTH> static void launch(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols <= 1024) softmax_rows<WARP, WIDTH><<<(unsigned)((rows + 3) / 4), dim3(WARP, 4), 0, stream>>>(x, y, rows, cols);
    else if (cols <= 8192) softmax_rows<256, WIDTH><<<(unsigned)rows, 256, 0, stream>>>(x, y, rows, cols);
    else softmax_rows<1024, WIDTH><<<(unsigned)rows, 1024, 0, stream>>>(x, y, rows, cols);
}

static void softmax(const float *x, float *y, long rows, long cols, cudaStream_t stream) {
    if (cols % 4 == 0) launch<4>(x, y, rows, cols, stream);
    else launch<1>(x, y, rows, cols, stream);
}
