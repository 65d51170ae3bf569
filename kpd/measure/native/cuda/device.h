/* What the parts of the CUDA engine share: device.cu holds the memory and loads the kernels, calls.cu calls them, change.cu changes
 * their inputs, clock.cu times them, fresh.cu on inputs that are all new, gate.cu keeps the device busy, overflow.cu
 * is for sizes that the host has no memory for, squeezed.cu for a device that has little room. */
#ifndef KPD_DEVICE_H
#define KPD_DEVICE_H

#include "driver.h"

#define MOST_SETS 16384

/* A case's buffers on the device, `count` times over: each set is an image of the host's, guard bands included. */
typedef struct {
    const view *of;
    char *memory;
    char *fresh;   /* of a kernel that changes buffers in place: the sets as they should be before a call */
    char *spare;   /* room for one more set, where there is any: a buffer of a call may be there */
    int placed;    /* as view.placed */
    size_t stride; /* bytes from set to set */
    int count;
    void *(*buffers)[KPD_MAX_BUFFERS]; /* by set */
} device_sets;

extern device_sets sets;
extern measurement *result;

/* 1 when nothing went wrong; else the answer names the error. */
int fine(cudaError_t error, outcome *answer);

/* Hold `count` sets of a case, or as many as fit. 0 after a failure. */
int sets_hold(const view *v, int count, outcome *answer);

/* Make all sets what the host's memory is. 0 after a failure. */
int sets_upload(const view *v, outcome *answer);

/* Where the inputs of all sets are changed. */
char *sets_inputs(void);

/* Make all sets what they should be before a call. 0 after a failure. */
int sets_restore(outcome *answer);

/* Change the inputs of all sets `turns` times, and make the sets what they should be before a call. 0 after a failure. */
int change_inputs(const view *v, int turns, outcome *answer);

/* What these changes are drawn from. */
void change_seed(uint64_t seed);

/* clock.cu: have events and what else it needs. 0 after a failure. */
int ready(outcome *answer);

/* Sets that a batch cannot keep in the cache. */
int cold_sets(const view *v);

/* Find how many calls make a batch (result->reps), and hold as many sets as that at the least. Nanoseconds of the slower kernel's
 * call; 0 after a failure. */
uint64_t calibrate(const view *v, outcome *answer);

/* Launch `calls` between two events, on sets from `first` in steps, or in this order. 0 after a failure. */
int launch_timed(const view *v, slot which, int calls, int first, int step, outcome *answer);
int launch_ordered(const view *v, slot which, int calls, const int *order, outcome *answer);

/* Nanoseconds between these events, once the second one is there; 0 after a failure. */
uint64_t elapsed(outcome *answer);

/* Nanoseconds of calls on inputs of which something has changed; 0 after a failure. `stray`, unless NULL, is what was still at
 * work on the device when the stream was done. */
uint64_t batch(const view *v, slot which, int calls, int first, int step, uint64_t *stray, outcome *answer);

/* Launch a kernel on these buffers, or on a set. */
void launch_on(const view *v, slot which, void *const *buffers, cudaStream_t stream);
void launch(const view *v, slot which, int set, cudaStream_t stream);

/* Bytes that may be taken, once an object is loaded. */
size_t device_room(void);

/* gate.cu: two numbers of the host: the first lets what is held go, the second says that it has waited for too long. */
typedef struct {
    volatile int *host;
    int *device;
} gate_t;

int gate_made(gate_t *gate, outcome *answer);
void wait_on_host(uint64_t ns);

/* Keep a stream busy, and a part of the device, until the gate is opened, or so long. */
void gate_closed(const gate_t *gate, int blocks, int threads, uint64_t limit_ns, cudaStream_t stream);
void gate_opened(const gate_t *gate);

/* Make what lies there wrong, and right again after the gate was open, or so long: by so many blocks, while a kernel that follows
 * may have begun already, if it was launched so. */
void inputs_late(const gate_t *gate, char *memory, size_t bytes, int blocks, uint64_t limit_ns, cudaStream_t stream);

/* How the launches since the last question went. 0 after a failure. */
int launched(slot which, outcome *answer);

#endif
