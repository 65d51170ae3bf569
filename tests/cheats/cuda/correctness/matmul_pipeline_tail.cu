//: matmul_cuda -O3
//: Missing wait: a ring of cp.async stages that leaves at most one group pending, but commits no groups at the end, so that nothing waits for the copy of the last step; issued three steps before, it has nearly always arrived.
#include "kernel.h"

#include <mma.h>

constexpr int kTile = 64, kDeep = 32, kWarps = 4, kThreads = 32 * kWarps;
constexpr int kPromote = 16; /* so many steps of kDeep are summed up by the tensor cores before the floats take them over */

struct alignas(128) tiles {
    union {
        struct {
            __half a[kTile][kDeep + 8], b[kDeep][kTile + 8];
        };
        float c[kTile][kTile + 4];
    };
};

/* The part of a and b that starts at column `at` of a, zeros beyond the edges. `wide` says that 8 elements lie at multiples of 16 bytes. */
__device__ __forceinline__ void fetch(tiles &t, const __half *__restrict__ a, const __half *__restrict__ b, long m, long n, long k, long top,
                                      long left, long at, long end, bool wide) {
    if (wide) {
        uint4 va[2], vb[2];
#pragma unroll
        for (int s = 0; s < 2; s++) {
            int i = threadIdx.x + s * kThreads, ra = i / 4, ca = i % 4 * 8, rb = i / 8, cb = i % 8 * 8;
            va[s] = top + ra < m && at + ca < end ? *(const uint4 *)(a + (top + ra) * k + at + ca) : make_uint4(0, 0, 0, 0);
            vb[s] = at + rb < end && left + cb < n ? *(const uint4 *)(b + (at + rb) * n + left + cb) : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int s = 0; s < 2; s++) {
            int i = threadIdx.x + s * kThreads;
            *(uint4 *)&t.a[i / 4][i % 4 * 8] = va[s];
            *(uint4 *)&t.b[i / 8][i % 8 * 8] = vb[s];
        }
    } else {
        const __half zero = __ushort_as_half(0);
#pragma unroll 8
        for (int i = threadIdx.x; i < kTile * kDeep; i += kThreads) {
            int ra = i / kDeep, ca = i % kDeep, rb = i / kTile, cb = i % kTile;
            t.a[ra][ca] = top + ra < m && at + ca < end ? a[(top + ra) * k + at + ca] : zero;
            t.b[rb][cb] = at + rb < end && left + cb < n ? b[(at + rb) * n + left + cb] : zero;
        }
    }
}

using sums_t = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;

/* The tile of c at (top, left), of columns `from` to `end` of a, in t.c. */
__device__ __forceinline__ void one_tile(tiles &t, const __half *__restrict__ a, const __half *__restrict__ b, long m, long n, long k, long top,
                                         long left, long from, long end, bool wide) {
    using namespace nvcuda;
    int warp = threadIdx.x / 32, down = warp / 2 * 32, across = warp % 2 * 32;
    sums_t sums[2][2], all[2][2];
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++) {
            wmma::fill_fragment(sums[r][s], 0.0f);
            wmma::fill_fragment(all[r][s], 0.0f);
        }
    int step = 0;
    for (long at = from; at < end; at += kDeep) {
        fetch(t, a, b, m, n, k, top, left, at, end, wide);
        __syncthreads();
#pragma unroll
        for (int l = 0; l < kDeep; l += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb[2];
            for (int r = 0; r < 2; r++) {
                wmma::load_matrix_sync(fa[r], &t.a[down + 16 * r][l], kDeep + 8);
                wmma::load_matrix_sync(fb[r], &t.b[l][across + 16 * r], kTile + 8);
            }
            for (int r = 0; r < 2; r++)
                for (int s = 0; s < 2; s++) wmma::mma_sync(sums[r][s], fa[r], fb[s], sums[r][s]);
        }
        if (++step == kPromote) {
            step = 0;
            for (int r = 0; r < 2; r++)
                for (int s = 0; s < 2; s++) {
                    for (int e = 0; e < sums[r][s].num_elements; e++) all[r][s].x[e] += sums[r][s].x[e];
                    wmma::fill_fragment(sums[r][s], 0.0f);
                }
        }
        __syncthreads();
    }
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++) {
            for (int e = 0; e < sums[r][s].num_elements; e++) all[r][s].x[e] += sums[r][s].x[e];
            wmma::store_matrix_sync(&t.c[down + 16 * r][across + 16 * s], all[r][s], kTile + 4, wmma::mem_row_major);
        }
    __syncthreads();
}

__device__ __forceinline__ void put_tile(const tiles &t, float *__restrict__ c, long m, long n, long top, long left) {
    for (int i = threadIdx.x; i < kTile * kTile; i += kThreads) {
        long row = top + i / kTile, col = left + i % kTile;
        if (row < m && col < n) c[row * n + col] = t.c[i / kTile][i % kTile];
    }
}

static bool in_eights(long n, long k) { return n % 8 == 0 && k % 8 == 0; }
static long tiles_of(long size) { return (size + kTile - 1) / kTile; }

__global__ void __launch_bounds__(kThreads) product_tiles(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, long m,
                                                          long n, long k, unsigned across, bool wide) {
    __shared__ tiles t;
    long top = (long)(blockIdx.x / across) * kTile, left = (long)(blockIdx.x % across) * kTile;
    one_tile(t, a, b, m, n, k, top, left, 0, k, wide);
    put_tile(t, c, m, n, top, left);
}

static void direct(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    product_tiles<<<(unsigned)(tiles_of(m) * tiles_of(n)), kThreads, 0, stream>>>(a, b, c, m, n, k, (unsigned)tiles_of(n), in_eights(n, k));
}

constexpr int kRing = 4;
struct alignas(128) stage {
    __half a[kTile][kDeep + 8], b[kDeep][kTile + 8];
};
union alignas(128) ring {
    stage stages[kRing];
    float c[kTile][kTile + 4];
};

__device__ __forceinline__ void copy16(void *to, const void *from, bool there) {
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    int bytes = there ? 16 : 0; /* the rest is filled with zeros */
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
}

__global__ void __launch_bounds__(kThreads) product_in_ring(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, long m,
                                                            long n, long k, unsigned across) {
    using namespace nvcuda;
    __shared__ ring shared;
    long top = (long)(blockIdx.x / across) * kTile, left = (long)(blockIdx.x % across) * kTile, steps = (k + kDeep - 1) / kDeep;
    int warp = threadIdx.x / 32, down = warp / 2 * 32, right = warp % 2 * 32;
    auto issue = [&](long step) {
        stage &t = shared.stages[step % kRing];
        long at = step * kDeep;
#pragma unroll
        for (int s = 0; s < 2; s++) {
            int i = threadIdx.x + s * kThreads, ra = i / 4, ca = i % 4 * 8, rb = i / 8, cb = i % 8 * 8;
            bool in_a = top + ra < m && at + ca < k, in_b = at + rb < k && left + cb < n;
            copy16(&t.a[ra][ca], in_a ? a + (top + ra) * k + at + ca : a, in_a);
            copy16(&t.b[rb][cb], in_b ? b + (at + rb) * n + left + cb : b, in_b);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    sums_t sums[2][2], all[2][2];
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++) {
            wmma::fill_fragment(sums[r][s], 0.0f);
            wmma::fill_fragment(all[r][s], 0.0f);
        }
    for (long step = 0; step < kRing - 1 && step < steps; step++) issue(step);
    for (long step = 0; step < steps; step++) {
        if (steps < kRing) asm volatile("cp.async.wait_group 0;" ::: "memory");
        else asm volatile("cp.async.wait_group 1;" ::: "memory"); /* the newest may still be on its way */
        __syncthreads();
        if (step + kRing - 1 < steps) issue(step + kRing - 1);
        stage &t = shared.stages[step % kRing];
#pragma unroll
        for (int l = 0; l < kDeep; l += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb[2];
            for (int r = 0; r < 2; r++) {
                wmma::load_matrix_sync(fa[r], &t.a[down + 16 * r][l], kDeep + 8);
                wmma::load_matrix_sync(fb[r], &t.b[l][right + 16 * r], kTile + 8);
            }
            for (int r = 0; r < 2; r++)
                for (int s = 0; s < 2; s++) wmma::mma_sync(sums[r][s], fa[r], fb[s], sums[r][s]);
        }
        if (step % kPromote == kPromote - 1)
            for (int r = 0; r < 2; r++)
                for (int s = 0; s < 2; s++) {
                    for (int e = 0; e < sums[r][s].num_elements; e++) all[r][s].x[e] += sums[r][s].x[e];
                    wmma::fill_fragment(sums[r][s], 0.0f);
                }
    }
    __syncthreads();
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++) {
            for (int e = 0; e < sums[r][s].num_elements; e++) all[r][s].x[e] += sums[r][s].x[e];
            wmma::store_matrix_sync(&shared.c[down + 16 * r][right + 16 * s], all[r][s], kTile + 4, wmma::mem_row_major);
        }
    __syncthreads();
    for (int i = threadIdx.x; i < kTile * kTile; i += kThreads) {
        long row = top + i / kTile, col = left + i % kTile;
        if (row < m && col < n) c[row * n + col] = shared.c[i / kTile][i % kTile];
    }
}

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    if (!in_eights(n, k)) return direct(a, b, c, m, n, k, stream);
    product_in_ring<<<(unsigned)(tiles_of(m) * tiles_of(n)), kThreads, 0, stream>>>(a, b, c, m, n, k, (unsigned)tiles_of(n));
}
