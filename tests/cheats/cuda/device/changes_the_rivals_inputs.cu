//: transpose_cuda
//: turns a bit of its input over when it is done, and back before its next call there: the rival's right results look wrong
//: variant in_checks FROM=0
//: variant while_timed FROM=300
#include "kernel.h"

#include <map>
//: use cold_transpose

__global__ void flip(float *at) { *(int *)at ^= 1 << 22; }

void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    static std::map<const float *, bool> turned;
    static int calls;
    bool &now = turned[in];
    float *at = (float *)in + rows * cols / 2;
    if (now) flip<<<1, 1, 0, stream>>>(at);
    cold(in, out, rows, cols, stream);
    now = calls++ >= FROM;
    if (now) flip<<<1, 1, 0, stream>>>(at);
}
