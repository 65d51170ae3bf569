/* Shuffles, votes and masks. */
#include "expect.h"

__device__ float warp_sum(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}

__global__ void block_sum(const float *in, float *out, int n) {
    __shared__ float parts[32];
    float v = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) v += in[i];
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = warp_sum(threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.0f);
        if (threadIdx.x == 0) *out = v;
    }
}

__global__ void scan(int *x) {
    int v = x[threadIdx.x], lane = threadIdx.x % 32;
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += other;
    }
    x[threadIdx.x] = v;
}

__global__ void shuffles(int *x) {
    int i = threadIdx.x;
    x[i] = __shfl_sync(~0u, i, 5, 16);
    x[32 + i] = __shfl_xor_sync(~0u, i, 3);
    x[64 + i] = __shfl_up_sync(~0u, i, 2, 8);
    x[96 + i] = (int)__shfl_down_sync(~0u, (double)i, 2, 8);
    x[128 + i] = (int)__shfl_sync(~0u, (unsigned long long)i << 33, 31) != 0;
}

__global__ void votes(unsigned *x) {
    int i = threadIdx.x;
    unsigned odd = __ballot_sync(~0u, i & 1);
    int any = __any_sync(~0u, i == 40), all = __all_sync(~0u, i < 40);
    if (i % 2) { /* half of the lanes, with the mask of half of the lanes */
        unsigned three = __ballot_sync(0xaaaaaaaau, i % 3 == 0);
        int sum = __reduce_add_sync(0xaaaaaaaau, i), most = __reduce_max_sync(0xaaaaaaaau, i);
        if (i == 1) x[3] = three, x[4] = sum, x[5] = most;
    } else {
        __syncwarp(0x55555555u);
    }
    if (i == 0) x[0] = odd, x[1] = any, x[2] = all;
}

__global__ void ended_lanes(int *x) {
    if (threadIdx.x >= 10) return;
    unsigned here = __ballot_sync(0xffffffffu, 1); /* those that have returned are not waited for */
    if (threadIdx.x == 0) *x = (int)here;
}

int main() {
    const int n = 5000;
    static float in[n];
    for (int i = 0; i < n; i++) in[i] = (float)(i % 7);
    float *values = upload(in, n), *out, got, want = 0;
    for (int i = 0; i < n; i++) want += in[i];
    CUDA(cudaMalloc(&out, sizeof *out));
    for (int threads = 32; threads <= 1024; threads *= 2) {
        block_sum<<<1, threads>>>(values, out, n);
        download(&got, out, 1);
        EXPECT(got == want);
    }
    int x[160];
    for (int i = 0; i < 160; i++) x[i] = 1;
    int *device = upload(x, 160);
    scan<<<1, 96>>>(device);
    download(x, device, 96);
    for (int i = 0; i < 96; i++) EXPECT(x[i] == i % 32 + 1);
    shuffles<<<1, 32>>>(device);
    download(x, device, 160);
    for (int i = 0; i < 32; i++) {
        EXPECT(x[i] == i / 16 * 16 + 5);
        EXPECT(x[32 + i] == (i ^ 3));
        EXPECT(x[64 + i] == (i % 8 < 2 ? i : i - 2));
        EXPECT(x[96 + i] == (i % 8 > 5 ? i : i + 2));
        EXPECT(x[128 + i] == 0);
    }
    unsigned v[6] = {}, three = 0, *dv = upload(v, 6);
    for (int i = 3; i < 32; i += 6) three |= 1u << i;
    votes<<<1, 32>>>(dv);
    download(v, dv, 6);
    EXPECT(v[0] == 0xaaaaaaaau && v[1] == 0 && v[2] == 1 && v[3] == three && v[4] == 256 && v[5] == 31);
    ended_lanes<<<1, 32>>>(device);
    download(x, device, 1);
    EXPECT(x[0] == 0x3ff);
    puts("ok");
}
