/* A call at a size at which a number of 32 bits is too small to count the elements. The host's memory is not for that, so inputs are made
 * on the device, and results compared there with those of the task's own kernel, which is called twice: one that leaves elements as they
 * were, or crashes, says nothing of the candidate.
 *
 * And what calls take at other sizes, with inputs that are made in the same way.
 */
#include "device.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define THREADS 256
#define BLOCKS 4096
#define ABOUT 0.01f /* of the greatest element: what is further off than that is wrong */
#define NOTHING 0xFF
#define CALLS 3     /* of which the quickest counts */

static struct {
    void *of_call, *kept; /* of an output, what the task's own kernel has made */
} memory[KPD_MAX_BUFFERS];

static __device__ float number_at(kpd_type type, const void *data, size_t i) {
    switch (type) {
    case KPD_F64: return (float)((const double *)data)[i];
    case KPD_F16: return __half2float(((const __half *)data)[i]);
    case KPD_BF16: return __bfloat162float(((const __nv_bfloat16 *)data)[i]);
    default: return ((const float *)data)[i];
    }
}

/* What is infinite in one kernel may be the greatest number in another. */
static __device__ float bounded(kpd_type type, float x) {
    return isinf(x) ? copysignf(type == KPD_F16 ? 65504.0f : 3.402823466e38f, x) : x;
}

/* Numbers from -1 to 3: sums of many of them are no small difference of large ones. From element `from` on they are others. */
static __global__ void make_inputs(kpd_type type, void *data, size_t count, uint64_t seed, size_t from) {
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (size_t)BLOCKS * THREADS) {
        float x = (float)(kpd_mixed((i < from ? seed : ~seed) + i * KPD_STEP) >> 40) / 4194304.0f - 1.0f;
        switch (type) {
        case KPD_F64: ((double *)data)[i] = x; break;
        case KPD_F16: ((__half *)data)[i] = __float2half(x); break;
        case KPD_BF16: ((__nv_bfloat16 *)data)[i] = __float2bfloat16(x); break;
        default: ((float *)data)[i] = x;
        }
    }
}

struct comparison {
    unsigned greatest; /* the bits of a number that is not negative: of two such numbers the larger one has larger bits */
    unsigned long long wrong, first;
};

static __global__ void find_greatest(kpd_type type, const void *own, size_t count, comparison *found) {
    float most = 0.0f;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (size_t)BLOCKS * THREADS) {
        float size = fabsf(number_at(type, own, i));
        if (isfinite(size)) most = fmaxf(most, size);
    }
    atomicMax(&found->greatest, __float_as_uint(most));
}

static __global__ void find_wrong(kpd_type type, const void *got, const void *own, size_t count, float about, comparison *found) {
    float most = about * __uint_as_float(found->greatest);
    unsigned long long wrong = 0, first = ~0ull;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (size_t)BLOCKS * THREADS) {
        float one = bounded(type, number_at(type, got, i)), other = bounded(type, number_at(type, own, i));
        if (one == other || fabsf(one - other) <= most) continue;
        if (!wrong++) first = i;
    }
    if (!wrong) return;
    atomicAdd(&found->wrong, wrong);
    atomicMin(&found->first, first);
}

/* With a buffer for each output besides. */
int engine_has_room(const kpd_buffer *buffers) {
    size_t bytes = 0;
    for (size_t b = 0; b < kpd_task.buffer_count; b++) bytes += bytes_of(&buffers[b]) * (is_written(&buffers[b]) ? 2 : 1);
    return bytes <= device_room();
}

static int taken(const view *v, outcome *answer) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        size_t bytes = bytes_of(&v->buffers[b]);
        if (!fine(cudaMalloc(&memory[b].of_call, bytes), answer)) return 0;
        if (is_written(&v->buffers[b]) && !fine(cudaMalloc(&memory[b].kept, bytes), answer)) return 0;
    }
    return 1;
}

/* One call, whose outputs hold this byte before, on inputs that are others from an element on. Nanoseconds; 0 after a failure. */
static uint64_t called(const view *v, slot which, uint64_t seed, size_t from, int byte, outcome *answer) {
    void *buffers[KPD_MAX_BUFFERS];
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        const kpd_buffer *one = &v->buffers[b];
        buffers[b] = memory[b].of_call;
        if (is_read(one)) make_inputs<<<BLOCKS, THREADS>>>(one->type, buffers[b], one->count, kpd_mixed(seed + b), from);
        else if (!fine(cudaMemset(buffers[b], byte, bytes_of(one)), answer)) return 0;
    }
    if (!fine(cudaDeviceSynchronize(), answer)) return 0;
    uint64_t start = now_ns();
    launch_on(v, which, buffers, 0);
    if (!launched(which, answer) || !fine(cudaDeviceSynchronize(), answer)) return 0;
    return now_ns() - start;
}

static int kept(const view *v, outcome *answer) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++)
        if (memory[b].kept && !fine(cudaMemcpy(memory[b].kept, memory[b].of_call, bytes_of(&v->buffers[b]), cudaMemcpyDeviceToDevice), answer)) return 0;
    return 1;
}

static double number_on_host(kpd_type type, const void *data, size_t i) {
    uint64_t bits = 0;
    cudaMemcpy(&bits, (const char *)data + i * element(type), element(type), cudaMemcpyDeviceToHost);
    return value_of(type, &bits, 0);
}

/* With what is kept: an element may be off by so much of the greatest one. 0 after a failure. */
static int compared(const view *v, float about, overflowed *found, outcome *answer) {
    comparison *device, host;
    if (!fine(cudaMalloc((void **)&device, sizeof *device), answer)) return 0;
    for (size_t b = 0; b < kpd_task.buffer_count && !found->wrong; b++) {
        const kpd_buffer *one = &v->buffers[b];
        if (!memory[b].kept) continue;
        host = {0, 0, ~0ull};
        if (!fine(cudaMemcpy(device, &host, sizeof host, cudaMemcpyHostToDevice), answer)) return 0;
        find_greatest<<<BLOCKS, THREADS>>>(one->type, memory[b].kept, one->count, device);
        find_wrong<<<BLOCKS, THREADS>>>(one->type, memory[b].of_call, memory[b].kept, one->count, about, device);
        if (!fine(cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost), answer)) return 0;
        if (!host.wrong) continue;
        found->wrong = host.wrong;
        found->first = host.first;
        found->buffer = b;
        found->got = number_on_host(one->type, memory[b].of_call, host.first);
        found->own = number_on_host(one->type, memory[b].kept, host.first);
    }
    return fine(cudaFree(device), answer);
}

static uint64_t quicker(uint64_t one, uint64_t other) { return one < other ? one : other; }

/* Whether an input has so many elements. */
static int has_beyond(const view *v, size_t from) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++)
        if (is_read(&v->buffers[b]) && v->buffers[b].count > from) return 1;
    return 0;
}

/* Where it makes the same of other inputs beyond that element it does not read these: its places are too small numbers as well. */
void engine_overflow_own(const view *v, uint64_t seed, size_t from, overflowed *found, outcome *answer) {
    overflowed others = {};
    uint64_t first = taken(v, answer) ? called(v, INCUMBENT, seed, SIZE_MAX, NOTHING, answer) : 0;
    uint64_t second = first && kept(v, answer) ? called(v, INCUMBENT, seed, SIZE_MAX, 0, answer) : 0;
    int well = second && compared(v, ABOUT, found, answer) && !found->wrong;
    if (well && has_beyond(v, from)) well = called(v, INCUMBENT, seed, from, 0, answer) && compared(v, 0.0f, &others, answer) && others.wrong;
    if (!well) answer->how = UNABLE;
    found->own_ns = quicker(first, second);
}

/* Its first call there may have its code loaded. */
void engine_overflow(const view *v, uint64_t seed, overflowed *found, outcome *answer) {
    for (int call = 0; call < 2 && !found->wrong; call++) {
        uint64_t ns = called(v, CANDIDATE, seed, SIZE_MAX, NOTHING, answer);
        if (!ns || !compared(v, ABOUT, found, answer)) return;
        found->ns = call ? quicker(found->ns, ns) : ns;
    }
}

/* Other work may have begun in between: the quicker one of one kernel's calls, and the slower one of the other's. */
void engine_overflow_timed(const view *v, uint64_t seed, overflowed *found, outcome *answer) {
    uint64_t ns = called(v, INCUMBENT, seed, SIZE_MAX, NOTHING, answer);
    if (ns > found->own_ns) found->own_ns = ns;
    ns = ns ? called(v, CANDIDATE, seed, SIZE_MAX, NOTHING, answer) : 0;
    if (ns) found->ns = quicker(found->ns, ns);
}

void engine_takes(const view *v, slot which, uint64_t seed, uint64_t *ns, outcome *answer) {
    *ns = UINT64_MAX;
    int able = taken(v, answer);
    for (int call = 0; able && call < CALLS && answer->how == DONE; call++) {
        uint64_t took = called(v, which, seed + (uint64_t)call, SIZE_MAX, NOTHING, answer);
        if (took) *ns = quicker(*ns, took);
    }
    for (size_t b = 0; b < kpd_task.buffer_count; b++) {
        cudaFree(memory[b].of_call);
        cudaFree(memory[b].kept);
    }
    memset(memory, 0, sizeof memory);
}
