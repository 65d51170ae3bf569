//: transpose_cuda
//: right and quick until its process ends, which a static's destructor then keeps from ending, or makes look like a fault of the host
//: variant hangs HOW=0
//: variant aborts HOW=1
//: variant never_done HOW=2
//: use transpose_fast
#include <stdlib.h>

__global__ void endless(volatile int *end) {
    while (!*end) {}
}

struct last_word {
    int *end = nullptr;
    ~last_word() {
        if (HOW == 1) abort();
        if (HOW == 2) {
            cudaMalloc((void **)&end, sizeof *end);
            cudaMemset(end, 0, sizeof *end);
            endless<<<1, 1>>>(end);
            cudaDeviceSynchronize();
        }
        for (volatile int more = 1; more;) {}
    }
};

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static last_word word;
    fast(in, out, rows, cols, stream);
}
