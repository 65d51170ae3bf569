/* The CUDA engine: device memory that mirrors the host's, and calls of kernels in it. Every error is an answer.
 *
 * Calls are timed on the legacy default stream: what a launcher does on other streams is ordered with it, unless it asks for
 * streams that are not, which clock.cu looks out for. Half of those whose results are looked at have another one (calls.cu).
 */
#include "device.h"

#include <cuda_profiler_api.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

#define PAD 16384         /* bytes of device memory for each byte of the environment's: up to 64 MB in all */
#define PINNED (1u << 20) /* bytes of memory that all cases share from which it pays to pin it */

const uint64_t engine_file_bytes = 1u << 30; /* the GPU's driver and profilers keep files of their own */
const uint64_t engine_own_bytes = 0;         /* the GPU's driver takes what it needs */
const size_t engine_alignment = 256;         /* what cudaMalloc promises, too */
const int engine_uses_device = 1;            /* its driver names its threads in /proc/self, and asks services */
const int engine_makes_code = 1;
const int engine_fences = 0;

device_sets sets;
measurement *result;

static size_t room; /* bytes on the device that may be taken: half of what was free, for others may want some, too */
static struct {
    const kpd_task_t *task;
    int (*last_error)(void);
    size_t (*variable)(int number, void **address);
} kernels[2];

int fine(cudaError_t error, outcome *answer) {
    if (error == cudaSuccess) return 1;
    answer->how = FAILED;
    snprintf(answer->message, sizeof answer->message, "%s: %s", cudaGetErrorName(error), cudaGetErrorString(error));
    return 0;
}

/* The memory of the device that a process gets begins elsewhere in each: the driver is given a random number of bytes. */
static void move_heap(void) {
    void *kept;
    const char *pad = getenv("KPD_LAYOUT");
    if (pad && *pad && cudaMalloc(&kept, strlen(pad) * PAD) != cudaSuccess) cudaGetLastError();
}

/* Transfers from and to pinned memory are several times as fast. Where it cannot be pinned, they are slow and right. It takes a
 * tenth of a second, in which this process does not have its turn yet. */
static void pin(const view *v) {
    if (arena_bytes < PINNED) return;
    if (cudaHostRegister(v->base, arena_bytes, cudaHostRegisterDefault) != cudaSuccess) cudaGetLastError();
}

void engine_start(measurement *shared, const view *pinned, outcome *answer) {
    result = shared;
    setenv("CUDA_CACHE_DISABLE", "1", 1); /* objects hold code for this device, so there is nothing to keep */
    if (!fine(cudaSetDeviceFlags(cudaDeviceScheduleSpin), answer) || !fine(cudaFree(NULL), answer)) return;
    move_heap();
    if (pinned) pin(pinned);
}

/* Before any object is loaded, and when the process before this one has given back what it had. */
static int measured_room(outcome *answer) {
    size_t available, total;
    if (room) return 1;
    if (!fine(cudaMemGetInfo(&available, &total), answer)) return 0;
    room = available / 2;
    return 1;
}

void engine_load(const char *path, slot which, outcome *answer) {
    if (!measured_room(answer)) return;
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *task = object ? dlsym(object, "kpd_task") : NULL, *last_error = object ? dlsym(object, "kpd_last_error") : NULL;
    if (task && last_error) {
        kernels[which].task = (const kpd_task_t *)task;
        void *variable = dlsym(object, "kpd_variable");
        memcpy(&kernels[which].last_error, &last_error, sizeof last_error);
        memcpy(&kernels[which].variable, &variable, sizeof variable);
        return;
    }
    answer->how = REFUSED;
    snprintf(answer->message, sizeof answer->message, "%s", object ? "no kpd_task in the object" : dlerror());
}

void engine_begin(void) {} /* they have, in dlopen */

static void release(void) {
    cudaFree(sets.memory);
    free(sets.buffers);
    memset(&sets, 0, sizeof sets);
}

/* A case that did fit before any kernel was called does not fit because of one. kpd tells the two by their words. */
static int no_room(const view *v, size_t available, outcome *answer) {
    int leaked = v->bytes <= room;
    answer->how = leaked ? FAILED : UNABLE;
    snprintf(answer->message, sizeof answer->message,
        leaked ? "%s needs %zu MB, but the kernels have left %zu MB of device memory"
               : "%s needs %zu MB of device memory, of which %zu MB may be taken, half of what was free",
        v->problem->name, v->bytes >> 20, (leaked ? available : room) >> 20);
    return 0;
}

int sets_hold(const view *v, int count, outcome *answer) {
    size_t available, total;
    if (sets.of == v && sets.placed == v->placed && sets.count >= count) return 1;
    release();
    if (!fine(cudaMemGetInfo(&available, &total), answer)) return 0;
    size_t each = v->in_place ? 2 * v->bytes : v->bytes, most = (available < room ? available : room) / each;
    if (most < 1) return no_room(v, available, answer);
    if (most < (size_t)count) {
        fprintf(stderr, "kpd driver: %s: room for %zu of %d sets of buffers on the device: what should be cold may be cached\n",
            v->problem->name, most, count);
        count = (int)most;
    }
    int spare = most > (size_t)count;
    cudaError_t error = cudaMalloc((void **)&sets.memory, (size_t)count * each + (spare ? v->bytes : 0));
    if (error == cudaErrorMemoryAllocation) return no_room(v, available, answer);
    if (!fine(error, answer)) return 0;
    sets.buffers = (void *(*)[KPD_MAX_BUFFERS])malloc((size_t)count * sizeof *sets.buffers);
    sets.of = v;
    sets.placed = v->placed;
    sets.stride = v->bytes;
    sets.count = count;
    sets.fresh = v->in_place ? sets.memory + (size_t)count * v->bytes : NULL;
    sets.spare = spare ? sets.memory + (size_t)count * each : NULL;
    for (int set = 0; set < count; set++)
        for (size_t b = 0; b < kpd_task.buffer_count; b++)
            sets.buffers[set][b] = sets.memory + (size_t)set * sets.stride + v->offset[b];
    return 1;
}

int sets_upload(const view *v, outcome *answer) {
    if (!fine(cudaMemcpy(sets.memory, v->base, v->bytes, cudaMemcpyHostToDevice), answer)) return 0;
    for (int done = 1; done < sets.count; done *= 2) {
        int next = done < sets.count - done ? done : sets.count - done;
        char *to = sets.memory + (size_t)done * sets.stride;
        if (!fine(cudaMemcpy(to, sets.memory, (size_t)next * sets.stride, cudaMemcpyDeviceToDevice), answer)) return 0;
    }
    size_t bytes = (size_t)sets.count * sets.stride;
    if (sets.fresh && !fine(cudaMemcpy(sets.fresh, sets.memory, bytes, cudaMemcpyDeviceToDevice), answer)) return 0;
    return fine(cudaDeviceSynchronize(), answer);
}

char *sets_inputs(void) { return sets.fresh ? sets.fresh : sets.memory; }

int sets_restore(outcome *answer) {
    size_t bytes = (size_t)sets.count * sets.stride;
    return !sets.fresh || fine(cudaMemcpy(sets.memory, sets.fresh, bytes, cudaMemcpyDeviceToDevice), answer);
}

size_t device_room(void) { return room; }

void launch_on(const view *v, slot which, void *const *buffers, cudaStream_t stream) { kernels[which].task->call(v->problem, buffers, stream); }

void launch(const view *v, slot which, int set, cudaStream_t stream) { launch_on(v, which, sets.buffers[set], stream); }

int launched(slot which, outcome *answer) { return fine((cudaError_t)kernels[which].last_error(), answer); }

void engine_fetch(view *v, int set, outcome *answer) {
    if (sets.of != v || set < 0 || set >= sets.count) {
        answer->how = FAILED;
        snprintf(answer->message, sizeof answer->message, "there is no set %d of this case on the device", set);
        return;
    }
    fine(cudaMemcpy(v->base, sets.memory + (size_t)set * sets.stride, v->bytes, cudaMemcpyDeviceToHost), answer);
}

/* Those that the candidate has on the device: to what lies behind the buffers in the host's memory, or back from there. */
void engine_variables(view *v, int back, outcome *answer) {
    size_t room = arena_bytes - v->bytes, bytes = 0, size;
    char *memory = v->base + v->bytes;
    void *address;
    for (int i = 0; kernels[CANDIDATE].variable && (size = kernels[CANDIDATE].variable(i, &address)) != 0; i++) {
        if (size > room - bytes) return;
        char *at = memory + bytes;
        if (!fine(back ? cudaMemcpy(address, at, size, cudaMemcpyHostToDevice) : cudaMemcpy(at, address, size, cudaMemcpyDeviceToHost), answer)) return;
        bytes += (size + 7) & ~(size_t)7;
    }
    answer->code = (int)bytes;
}

/* What is in use of this process's pool: how much of the device is free changes with what other processes do. */
void engine_held(outcome *answer) {
    uint64_t used = 0;
    cudaMemPool_t pool;
    if (!fine(cudaDeviceSynchronize(), answer) || !fine(cudaDeviceGetDefaultMemPool(&pool, 0), answer)) return;
    if (fine(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), answer)) answer->code = (int)(used >> 10);
}

static int called_once(view *v, outcome *answer) {
    if (!sets_hold(v, 1, answer) || !fine(cudaMemcpy(sets.memory, v->base, v->bytes, cudaMemcpyHostToDevice), answer)) return 0;
    launch(v, CANDIDATE, 0, 0);
    return launched(CANDIDATE, answer) && fine(cudaDeviceSynchronize(), answer);
}

/* The first call loads the kernel's code and warms up; a profiler looks at what follows, by the name of the case. It saves
 * and puts back all memory that a kernel can reach, the host's pinned memory, too: that would cost more than it gains.
 */
void engine_profile(view *v, int calls, outcome *answer) {
    if (!called_once(v, answer) || !fine(cudaProfilerStart(), answer)) return;
    nvtxRangePushA(v->problem->name);
    for (int i = 0; i < calls && answer->how == DONE; i++) {
        if (v->in_place) fine(cudaMemcpy(sets.memory, v->base, v->bytes, cudaMemcpyHostToDevice), answer);
        launch(v, CANDIDATE, 0, 0);
    }
    if (launched(CANDIDATE, answer)) fine(cudaDeviceSynchronize(), answer);
    nvtxRangePop();
    cudaProfilerStop();
}

/* Elsewhere all buffers are parts of one allocation, so that to a tool that knows the bounds of allocations a read past one
 * is a read within another. Here each is as large as the kernel may take it to be. */
void engine_memcheck(view *v, int calls, outcome *answer) {
    void *buffers[KPD_MAX_BUFFERS] = {};
    for (size_t b = 0; b < kpd_task.buffer_count && answer->how == DONE; b++) {
        size_t bytes = bytes_of(&v->buffers[b]);
        if (fine(cudaMalloc(&buffers[b], bytes), answer))
            fine(cudaMemcpy(buffers[b], v->data[b], bytes, cudaMemcpyHostToDevice), answer);
    }
    for (int i = 0; i < calls && answer->how == DONE; i++) {
        launch_on(v, CANDIDATE, buffers, 0);
        if (launched(CANDIDATE, answer)) fine(cudaDeviceSynchronize(), answer);
    }
    for (size_t b = 0; b < kpd_task.buffer_count; b++) cudaFree(buffers[b]);
}
