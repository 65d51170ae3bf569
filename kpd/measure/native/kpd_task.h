/* What a task's harness tells kpd: its cases, its buffers, its inputs, its truth, and how to call the kernel.
 *
 * The harness is compiled with kpd's driver into one program, which loads compiled kernels from shared objects. It
 * includes this header and defines `kpd_task`. In C (harness.c):
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
 * In CUDA (harness.cu) the same, but in C++, `b[X] = {"x", KPD_IN, KPD_F32, count};`, and with another `call`. It follows
 * kernel.cu in one translation unit, so it launches what stands there, either itself or through a launcher:
 *
 *     static void call(const kpd_case *c, void *const *device, cudaStream_t stream) {
 *         scale<<<kpd_dim3(c->grid), kpd_dim3(c->block), 0, stream>>>((const float *)device[X], (float *)device[Y], c->dims[0]);
 *     }
 *
 * That unit is compiled twice: with the kernel that the task came with, into the driver's program, which alone fills,
 * knows the truth and judges; and with a candidate's kernel, into an object of which only `call` is used. Keep to the
 * headers of C: those of the C++ library cost more time to compile than a kernel does.
 *
 * Rules that the driver relies on:
 *   - A kernel reads its inputs and writes every element of its outputs. It changes no KPD_IN, keeps no state between
 *     calls, starts no thread that outlives the call, and writes nowhere else. On a GPU its work is done on `stream`, or
 *     ordered with it.
 *   - An input's elements may be exchanged with one another: between timed calls the driver swaps pairs of them, so
 *     that no call sees the inputs of the call before. Where that leaves the outputs as they are (sums, maxima, norms), or
 *     within the tolerance, a kernel that returns early could not be told from one that works: then the harness has a
 *     `change` of its own, which gives one element a value that shows in the outputs. It may add up: many of them follow one
 *     another. Which element it is should not be foreseen.
 *   - With sizes = "any" in [check] `buffers`, `fill`, the oracle and `call` get cases that are not in `cases`: other dims, of
 *     no less than 1, and the name of a case near them. `limits` says in a line which dims they cannot work with.
 */
#ifndef KPD_TASK_H
#define KPD_TASK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KPD_MAX_DIMS 8
#define KPD_MAX_BUFFERS 32
#define KPD_MAX_CASES 256

/* KPD_INOUT: the kernel reads it and changes it. `fill` writes what it holds before each call, the oracle what it should
 * hold after one. */
typedef enum { KPD_IN, KPD_OUT, KPD_INOUT } kpd_role;

/* Integers are compared exactly; a KPD_BOOL is a byte that holds 0 or 1. KPD_E4M3 and KPD_E5M2 are bytes, too: the 8-bit
 * floating-point types of the OCP, of which the first has no infinity. */
typedef enum {
    KPD_F32, KPD_F64, KPD_F16, KPD_BF16, KPD_I32, KPD_U32, KPD_I8, KPD_U8, KPD_I16, KPD_I64, KPD_BOOL, KPD_E4M3, KPD_E5M2
} kpd_type;

/* Kinds of input values; see kpd_fill. A check runs every case with each of them, a timing with the first. */
typedef enum { KPD_NORMAL, KPD_CONSTANT, KPD_HEAVY_TAIL, KPD_DENORMAL, KPD_LARGE, KPD_DISTRIBUTIONS } kpd_distribution;

/* A shape too small to time is still worth a check, and one that takes the oracle minutes may only be timed. Where a kernel must
 * be right for no elements at all, write a case that has a dim of 0, and check it only: no size of 0 is drawn. */
typedef enum { KPD_CHECK_AND_TIME, KPD_CHECK_ONLY, KPD_TIME_ONLY } kpd_use;

typedef struct {
    const char *name;
    long dims[KPD_MAX_DIMS]; /* in the order of kpd_task_t.dims */
    kpd_use use;
    unsigned grid[3], block[3]; /* for harnesses that launch with a given geometry; a 0 counts as 1 */
} kpd_case;

typedef struct {
    const char *name;
    kpd_role role;
    kpd_type type;
    size_t count; /* elements */
    /* Of an output whose size is known only afterwards: KPD_SIZED_BY(i), where output i is one integer, how many elements it
     * has. `count` is then its capacity. The elements after that many are not compared. */
    size_t sized_by;
} kpd_buffer;

#define KPD_SIZED_BY(index) ((size_t)(index) + 1)

typedef struct {
    uint64_t state;
} kpd_rng;

typedef struct {
    size_t buffer, index; /* an element of an input */
    double value;         /* that it gets */
} kpd_change;

/* What a dimension may be where sizes are drawn (sizes = "any" in [check]): from `least` to `most`, in multiples of `multiple`.
 * What is 0 limits nothing. Sizes are drawn near those of the checked cases, small, and with one dim that is larger; a 0 in a
 * case is kept. */
typedef struct {
    long least, most, multiple;
} kpd_limit;

typedef void (*kpd_kernel)(void); /* cast it to the kernel's own type in `call` */

/* One call of the kernel. In CUDA, `device` holds the buffers' addresses on the device. */
#ifdef __CUDACC__
typedef void (*kpd_call)(const kpd_case *, void *const *device, cudaStream_t);
#else
typedef void (*kpd_call)(kpd_kernel, const kpd_case *, void *const *data);
#endif

typedef struct {
    const char *symbol;             /* the function that the kernel's object exports; in CUDA its name for people */
    const char *dims[KPD_MAX_DIMS]; /* names of the dimensions: [roofline] in task.toml computes with them */
    const kpd_case *cases;
    size_t case_count;
    size_t buffer_count;
    void (*buffers)(const kpd_case *, kpd_buffer *);                            /* describe all buffers of a case */
    void (*fill)(const kpd_case *, kpd_rng *, kpd_distribution, void *const *); /* write the inputs, in host memory */
    /* Write what each output should be; want[i] only where i is an output. Of a KPD_I64 it is an array of int64_t: cast it. */
    void (*oracle)(const kpd_case *, void *const *, double *const *want);
    kpd_call call;
    kpd_change (*change)(const kpd_case *, kpd_rng *); /* between timed calls; may be left out: then two elements swap */
    /* In place of `oracle`, for results that cancel: it also writes how large an error of each element should be counted,
     * Σ|aᵢbᵢ| for a sum Σaᵢbᵢ. With compare = "scaled" in [check] a tolerance is a share of that. */
    void (*scaled_oracle)(const kpd_case *, void *const *, double *const *want, double *const *scale);
    kpd_limit limits[KPD_MAX_DIMS]; /* in the order of `dims`; left out: any size from 1 on */
} kpd_task_t;

/* A candidate's object has the harness's host code in it, too, but neither runs it nor has what it is made from. */
#ifdef KPD_CANDIDATE
#define KPD_DRIVERS __attribute__((weak))
#else
#define KPD_DRIVERS
#endif

#ifdef __cplusplus
extern "C" {
#endif

extern const kpd_task_t kpd_task;

/* Uniform 64 bits. */
uint64_t kpd_random(kpd_rng *rng) KPD_DRIVERS;

/* `count` values of type float: NORMAL bell-shaped with mean 0 and deviation 1 (up to 5.9) · CONSTANT one value, of
 * magnitude 0.5 to 2 · HEAVY_TAIL signed, log-normal, magnitudes from about 1e-4 to 1e4 · DENORMAL half of them below
 * the least normal number, half NORMAL · LARGE signed, magnitudes 1e6 to 1e12. Big buffers are filled by several threads;
 * the values do not depend on how many. */
void kpd_fill(kpd_rng *rng, kpd_distribution distribution, void *values, size_t count) KPD_DRIVERS;

/* The same as half precision (LARGE: 256 to 31000) and as bfloat16. */
void kpd_fill_f16(kpd_rng *rng, kpd_distribution distribution, void *values, size_t count) KPD_DRIVERS;
void kpd_fill_bf16(kpd_rng *rng, kpd_distribution distribution, void *values, size_t count) KPD_DRIVERS;

/* `count` integers of 32 bits from `least` to `most`: CONSTANT one value · HEAVY_TAIL near `least`, a few far from it ·
 * LARGE in the upper eighth · else uniform. */
void kpd_fill_int(kpd_rng *rng, kpd_distribution distribution, void *values, size_t count, int64_t least, int64_t most) KPD_DRIVERS;

/* The same as any floating-point type (E4M3, LARGE: 64 to 448), and as any type of integers. */
void kpd_fill_as(kpd_rng *rng, kpd_distribution distribution, kpd_type type, void *values, size_t count) KPD_DRIVERS;
void kpd_fill_integers(
    kpd_rng *rng, kpd_distribution distribution, kpd_type type, void *values, size_t count, int64_t least, int64_t most
) KPD_DRIVERS;

/* Run part(context, from, to) for ranges that make up 0 … count, in several threads: for oracles of big cases. A range
 * begins at a multiple of `step`, which should be work for a tenth of a millisecond or more. */
void kpd_parallel(size_t count, size_t step, void (*part)(void *context, size_t from, size_t to), void *context) KPD_DRIVERS;

#ifdef __CUDACC__
/* How a launch of the object's own went: each object has a CUDA runtime, and so a last error, of its own. */
__attribute__((weak)) int kpd_last_error(void) { return (int)cudaGetLastError(); }
#endif

#ifdef __cplusplus
}
#endif

#ifdef __CUDACC__
static inline dim3 kpd_dim3(const unsigned *size) {
    return dim3(size[0] ? size[0] : 1, size[1] ? size[1] : 1, size[2] ? size[2] : 1);
}
#endif

/* The values of half precision (IEEE 754), bfloat16 and 8-bit numbers, for oracles. */
static inline float kpd_bf16(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static inline float kpd_f16(uint16_t bits) {
    uint32_t magnitude = bits & 0x7FFFu, wide = magnitude << 13;
    float value;
    if (magnitude >= 0x7C00u) wide += 0x70000000u;        /* infinite, or not a number: the exponent stays all ones */
    else if (magnitude >= 0x0400u) wide += 0x38000000u;   /* normal: 15 becomes 127 in the exponent's bias */
    memcpy(&value, &wide, sizeof value);
    if (magnitude < 0x0400u) value = (float)magnitude * 5.9604645e-8f; /* denormal: so many times 2^-24 */
    return bits & 0x8000u ? -value : value;
}

static inline float kpd_e5m2(uint8_t bits) { return kpd_f16((uint16_t)(bits << 8)); } /* the upper half of such a number */

static inline float kpd_e4m3(uint8_t bits) {
    uint32_t magnitude = bits & 0x7Fu, wide = (magnitude << 20) + 0x3C000000u; /* 7 becomes 127 in the exponent's bias */
    float value;
    if (magnitude == 0x7Fu) wide = 0x7FC00000u; /* not a number */
    memcpy(&value, &wide, sizeof value);
    if (magnitude < 8) value = (float)magnitude * 0.001953125f; /* denormal: so many times 2^-9 */
    return bits & 0x80u ? -value : value;
}

#endif
