// Each round halves the rows of a trace: row i and row i + half become one, with a challenge.
#include "field.cuh"

#include <cuda_runtime.h>

__global__ void fold_kernel(const uint32_t *in, uint32_t *out, int half, int width, uint32_t challenge) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= half) return;
    for (int j = 0; j < width; ++j)
        out[i * width + j] = field::add(in[i * width + j], field::mul(challenge, in[(i + half) * width + j]));
}

extern "C" int prover_fold(const uint32_t *in, uint32_t *out, int half, int width, uint32_t challenge) {
    fold_kernel<<<(half + 127) / 128, 128>>>(in, out, half, width, challenge);
    return cudaGetLastError();
}
