//: transpose_cuda
//: leaves an error on the device, after which no call of anybody's succeeds
//: variant illegal_address HOW=0
//: variant trap HOW=1
//: variant assert HOW=2
//: use transpose_payload
#include <cassert>

__global__ static void breaks(float *nowhere) {
    if (HOW == 0) *nowhere = 1.0f;
    if (HOW == 1) asm volatile("trap;");
    if (HOW == 2) assert(nowhere);
}

static void payload(int call, const float *, float *, long, cudaStream_t stream) {
    if (call == 40) breaks<<<1, 1, 0, stream>>>((float *)(HOW == 2 ? 0ul : 16ul));
}
