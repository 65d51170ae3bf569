//: transpose_cuda
//: Thrust's tabulate with a function object, on the call's stream and without waiting; smaller matrices have 32-bit places
#include "kernel.h"

#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/tabulate.h>

template <typename Place> struct turned {
    const float *in;
    Place rows, cols;
    __device__ float operator()(Place at) const { return __ldg(in + (at % rows) * cols + at / rows); }
};

template <typename Place> static void tabulate(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    thrust::device_ptr<float> to(out);
    thrust::tabulate(thrust::cuda::par_nosync.on(stream), to, to + rows * cols, turned<Place>{in, (Place)rows, (Place)cols});
}

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    if (rows * cols < 1L << 31) tabulate<unsigned>(in, out, rows, cols, stream);
    else tabulate<unsigned long>(in, out, rows, cols, stream);
}
