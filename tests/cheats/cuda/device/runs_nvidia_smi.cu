//: transpose_cuda
//: runs a program of the host beside the measurement, and notes what it says of the device
//: use transpose_payload
#include <stdlib.h>

static void payload(int call, const float *, float *, long, cudaStream_t) {
    if (call) return;
    if (system("nvidia-smi --query-gpu=power.limit --format=csv > @BAIT@/loot/@NAME@_power 2>/dev/null")) return;
}
