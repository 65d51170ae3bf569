/* Changes the inputs of all sets before a batch, something else in each set (see swap.h), so that results which a kernel remembers
 * are of no use.
 */
#include "device.h"

#define THREADS 128

static uint64_t swap_seed;

void change_seed(uint64_t seed) { swap_seed = seed; }

static __global__ void swap_sets(char *memory, size_t stride, int count, swappable inputs, uint64_t seed, uint64_t turn, int turns) {
    int set = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    for (int i = 0; set < count && i < turns; i++)
        swap_turn(memory + (size_t)set * stride, &inputs, seed, turn + (uint64_t)i, (uint64_t)set);
}

static __global__ void patch_sets(char *memory, size_t stride, int count, const patch *patches) {
    int set = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (set < count) patch_apply(memory + (size_t)set * stride, &patches[set]);
}

static int blocks(void) { return (sets.count + THREADS - 1) / THREADS; }

/* The harness's own change of each set. It is asked on the host, as its code is only there. */
static int change_sets(const view *v, outcome *answer) {
    static patch host[MOST_SETS], *device;
    if (!device && !fine(cudaMalloc((void **)&device, sizeof host), answer)) return 0;
    for (int set = 0; set < sets.count; set++) host[set] = arena_patch(v, swap_seed, result->swaps, (uint64_t)set);
    size_t bytes = (size_t)sets.count * sizeof *host;
    if (!fine(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), answer)) return 0;
    patch_sets<<<blocks(), THREADS>>>(sets_inputs(), sets.stride, sets.count, device);
    result->swaps++;
    return 1;
}

int change_inputs(const view *v, int turns, outcome *answer) {
    if (kpd_task.change) {
        for (int i = 0; i < turns; i++)
            if (!change_sets(v, answer)) return 0;
        return sets_restore(answer);
    }
    swap_sets<<<blocks(), THREADS>>>(sets_inputs(), sets.stride, sets.count, v->inputs, swap_seed, result->swaps, turns);
    result->swaps += (uint64_t)turns;
    return sets_restore(answer);
}
