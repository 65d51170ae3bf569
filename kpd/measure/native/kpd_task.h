/* What a task's harness.c tells kpd: its cases, its buffers, its inputs, its truth, and how to call the kernel.
 *
 * harness.c is compiled with kpd's driver into one program, which loads compiled kernels from shared objects. It
 * includes this header and defines `kpd_task`:
 *
 *     #include "kpd_task.h"
 *     enum { X, Y };                                       // indices of the buffers
 *     static void buffers(const kpd_case *c, kpd_buffer *b) {
 *         b[X] = (kpd_buffer){"x", KPD_IN, KPD_F32, (size_t)c->dims[0]};
 *         b[Y] = (kpd_buffer){"y", KPD_OUT, KPD_F32, (size_t)c->dims[0]};
 *     }
 *     ...
 *     const kpd_task_t kpd_task = {"my_kernel", {"n"}, cases, 4, 2, buffers, fill, oracle, call};
 *
 * Rules that the driver relies on:
 *   - A kernel reads its inputs and writes every element of its outputs. It changes no input, keeps no state between
 *     calls, starts no thread that outlives the call, and writes nowhere else.
 *   - An input's elements may be exchanged with one another: between timed calls the driver swaps pairs of them, so
 *     that no call sees the inputs of the call before.
 */
#ifndef KPD_TASK_H
#define KPD_TASK_H

#include <stddef.h>
#include <stdint.h>

#define KPD_MAX_DIMS 8
#define KPD_MAX_BUFFERS 8
#define KPD_MAX_CASES 16

typedef enum { KPD_IN, KPD_OUT } kpd_role;
typedef enum { KPD_F32, KPD_F64 } kpd_type;

/* Kinds of input values; see kpd_fill. A check runs every case with each of them, a timing with the first. */
typedef enum { KPD_NORMAL, KPD_CONSTANT, KPD_HEAVY_TAIL, KPD_DENORMAL, KPD_LARGE, KPD_DISTRIBUTIONS } kpd_distribution;

typedef struct {
    const char *name;
    long dims[KPD_MAX_DIMS]; /* in the order of kpd_task_t.dims */
} kpd_case;

typedef struct {
    const char *name;
    kpd_role role;
    kpd_type type;
    size_t count; /* elements */
} kpd_buffer;

typedef struct {
    uint64_t state;
} kpd_rng;

typedef void (*kpd_kernel)(void); /* cast it to the kernel's own type in `call` */

typedef struct {
    const char *symbol;                  /* the function that the kernel's object exports */
    const char *dims[KPD_MAX_DIMS];      /* names of the dimensions: [roofline] in task.toml computes with them */
    const kpd_case *cases;
    size_t case_count;
    size_t buffer_count;
    void (*buffers)(const kpd_case *, kpd_buffer *);                              /* describe all buffers of a case */
    void (*fill)(const kpd_case *, kpd_rng *, kpd_distribution, void *const *);   /* write the inputs */
    void (*oracle)(const kpd_case *, void *const *, double *const *want);         /* want[i] only where i is an output */
    void (*call)(kpd_kernel, const kpd_case *, void *const *);                    /* one call of the kernel */
} kpd_task_t;

extern const kpd_task_t kpd_task;

/* Uniform 64 bits. */
uint64_t kpd_random(kpd_rng *rng);

/* `count` values: NORMAL bell-shaped with mean 0 and deviation 1 (cut at 3.5) · CONSTANT one value, of magnitude 0.5
 * to 2 · HEAVY_TAIL signed, log-normal, magnitudes from about 1e-4 to 1e4 · DENORMAL half of them below FLT_MIN, half
 * NORMAL · LARGE signed, magnitudes 1e6 to 1e12. */
void kpd_fill(kpd_rng *rng, kpd_distribution distribution, float *values, size_t count);

#endif
