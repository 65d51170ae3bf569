/* Calls on inputs that the driver has made anew, which the device's cache does not hold: one at a time, or several in a row.
 */
#include "device.h"

#define UNWRITTEN 0xFF /* each byte of an output before a row of calls: no number in any type of floats */
#define SWEEPERS 1024  /* blocks that read the cache empty */

/* Reads so much that the cache holds nothing else: what was copied to the device would be in it. */
static __global__ void sweep(const uint4 *memory, size_t count, unsigned *sum) {
    unsigned seen = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) seen += memory[i].x;
    if (seen == 0xA5A5A5A5u) *sum = seen;
}

static int swept(outcome *answer) {
    static uint4 *memory;
    static size_t count;
    int cache = 0;
    if (!memory) {
        if (!fine(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, 0), answer)) return 0;
        count = 2 * (size_t)cache / sizeof *memory + 1;
        if (!fine(cudaMalloc((void **)&memory, count * sizeof *memory), answer)) return 0;
        if (!fine(cudaMemset(memory, 0, count * sizeof *memory), answer)) return 0;
    }
    sweep<<<SWEEPERS, 256>>>(memory, count, &memory[0].x);
    return fine(cudaDeviceSynchronize(), answer);
}

void engine_fresh_begin(view *v, uint64_t seed, outcome *answer) {
    memset(result, 0, sizeof *result);
    change_seed(seed);
    if (!ready(answer) || !sets_hold(v, cold_sets(v), answer) || !sets_upload(v, answer)) return;
    for (int which = 0; which < 2 && answer->how == DONE; which++) batch(v, (slot)which, 1, 0, 0, NULL, answer);
}

static int put(const view *v, int set, outcome *answer) {
    char *to = sets_inputs() + (size_t)set * sets.stride;
    return fine(cudaMemcpy(to, v->base, v->bytes, cudaMemcpyHostToDevice), answer);
}

/* Of calls that have been launched, and what is still at work on the device when their stream is done. */
static void note_fresh(slot which, outcome *answer) {
    result->ns[which][0] = elapsed(answer);
    uint64_t done = now_ns();
    if (fine(cudaDeviceSynchronize(), answer)) result->stray_ns = now_ns() - done;
}

/* From call to call a kernel gets the next set, as within a batch: with one set for all it could tell these calls from others. */
void engine_fresh(view *v, slot which, int layout, outcome *answer) {
    static int next[2];
    (void)layout;
    int set = result->first_set = next[which]++ % sets.count;
    result->ns[which][0] = 0;
    if (!put(v, set, answer) || !sets_restore(answer) || !swept(answer)) return;
    if (launch_timed(v, which, 1, set, 0, answer)) note_fresh(which, answer);
}

void engine_row_begin(view *v, outcome *answer) {
    if (ready(answer)) calibrate(v, answer);
}

void engine_row_put(view *v, int set, outcome *answer) { put(v, set, answer); }

/* What the other kernel has left in the outputs is no result of this one's. */
static int outputs_cleared(const view *v, int set, outcome *answer) {
    for (size_t b = 0; b < kpd_task.buffer_count; b++)
        if (v->buffers[b].role == KPD_OUT && !fine(cudaMemset(sets.buffers[set][b], UNWRITTEN, bytes_of(&v->buffers[b])), answer))
            return 0;
    return 1;
}

void engine_row(view *v, slot which, int calls, outcome *answer) {
    result->ns[which][0] = 0;
    for (int i = 0; i < calls; i++)
        if (!outputs_cleared(v, result->order[i], answer)) return;
    if (!sets_restore(answer) || !swept(answer)) return;
    if (launch_ordered(v, which, calls, result->order, answer)) note_fresh(which, answer);
}
