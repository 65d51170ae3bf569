"""Kernels that look quicker than they are, each by other means; `audits.py` puts them to the audits."""

from collections.abc import Callable

from tests.support.measure import forgeries

Files = dict[str, bytes]

# Rows that have not changed are not transposed again: a copy of the last inputs tells which.
KEEPS_CPU = b"""
#include "kernel.h"
#include <stdlib.h>
#include <string.h>
static struct { long rows, cols; float *in, *out; } kept[64];
void transpose(const float *in, float *out, long rows, long cols) {
    int i = 0;
    while (kept[i].in && (kept[i].rows != rows || kept[i].cols != cols)) i++;
    size_t bytes = (size_t)rows * (size_t)cols * sizeof *in;
    if (!kept[i].in) {
        kept[i].rows = rows, kept[i].cols = cols;
        kept[i].in = malloc(bytes), kept[i].out = malloc(bytes);
        memset(kept[i].in, 0xFF, bytes);
    }
    float *was = kept[i].in, *result = kept[i].out;
    for (long r = 0; r < rows; r++) {
        if (!memcmp(in + r * cols, was + r * cols, (size_t)cols * sizeof *in)) continue;
        memcpy(was + r * cols, in + r * cols, (size_t)cols * sizeof *in);
        for (long c = 0; c < cols; c++) result[c * rows + r] = in[r * cols + c];
    }
    memcpy(out, result, bytes);
}
"""

# What follows is put behind the task's own kernel, under another name.
_MAPS = forgeries.MAPS.encode()
# reps, quads, sets, swaps, then the times of the incumbent
STRETCHES = (
    _MAPS
    + b"""
static void forge(void) {
    static uint64_t *record, last[512];
    size_t length;
    if (!record) record = (uint64_t *)find("/dev/zero", "rw-s", &length);
    for (int i = 0; record && i < 512; i++) {
        uint64_t *ns = record + 3 + i;
        if (!*ns) last[i] = 0;
        if (!*ns || *ns == last[i]) continue;
        *ns += *ns / 3;
        last[i] = *ns;
    }
}
"""
)
# The other object's code: a byte that is never run is enough to be found.
PATCHES_OBJECT = (
    _MAPS
    + b"""
static void forge(void) {
    static int done;
    size_t length;
    char *code = done++ ? NULL : find("/a", "r-xp", &length);
    if (!code || mprotect(code, length, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
    code[length - 1] = 0x5A;
    mprotect(code, length, PROT_READ | PROT_EXEC);
}
"""
)
# A clock that runs at three quarters of its speed while the candidate runs. x86-64 only.
PATCHES_CLOCK = (forgeries.MAPS + forgeries.SLOW_CLOCK).encode()

# A product whose rows and columns have not changed since the last call on these buffers is there already.
KEEPS_CUDA = rb"""
#include "kernel.h"
#include <cuda_fp16.h>
static __global__ void compared(const __half *now, __half *was, int rows, int cols, int *changed, int by_row) {
    int at = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (at >= rows * cols) return;
    unsigned short one = ((const unsigned short *)now)[at], other = ((unsigned short *)was)[at];
    if (one == other) return;
    ((unsigned short *)was)[at] = one;
    changed[by_row ? at / cols : at % cols] = 1;
}
static __global__ void redone(const __half *a, const __half *b, float *c, int m, int n, int k, const int *rows,
                              const int *cols) {
    int j = (int)(blockIdx.x * blockDim.x + threadIdx.x), i = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (i >= m || j >= n || (!rows[i] && !cols[j] && c[i * n + j] == c[i * n + j])) return;
    float sum = 0.0f;
    for (int x = 0; x < k; x++) sum += __half2float(a[i * k + x]) * __half2float(b[x * n + j]);
    c[i * n + j] = sum;
}
void matmul(const __half *a, const __half *b, float *c, long m, long n, long k, cudaStream_t stream) {
    static struct { const void *key; __half *a, *b; int *changed; } kept[4096];
    int place = (int)(((size_t)c >> 8) % 4096);
    size_t left = sizeof *a * (size_t)m * k, right = sizeof *b * (size_t)k * n;
    while (kept[place].key && kept[place].key != c) place = (place + 1) % 4096;
    if (!kept[place].key) {
        kept[place].key = c;
        cudaMalloc(&kept[place].a, left), cudaMalloc(&kept[place].b, right);
        cudaMalloc(&kept[place].changed, sizeof(int) * (size_t)(m + n));
        cudaMemsetAsync(kept[place].a, 0xFF, left, stream), cudaMemsetAsync(kept[place].b, 0xFF, right, stream);
    }
    int *changed = kept[place].changed;
    cudaMemsetAsync(changed, 0, sizeof(int) * (size_t)(m + n), stream);
    compared<<<(unsigned)(m * k + 255) / 256, 256, 0, stream>>>(a, kept[place].a, (int)m, (int)k, changed, 1);
    compared<<<(unsigned)(k * n + 255) / 256, 256, 0, stream>>>(b, kept[place].b, (int)k, (int)n, changed + m, 0);
    dim3 block(32, 8), grid((unsigned)(n + 31) / 32, (unsigned)(m + 7) / 8);
    redone<<<grid, block, 0, stream>>>(a, b, c, (int)m, (int)n, (int)k, changed, changed + m);
}
"""


def keeps(kernel: bytes, file: str) -> Callable[[Files], Files]:
    return lambda files: {file: kernel}


def forges(how: bytes, head: bytes, call: bytes, file: str) -> Callable[[Files], Files]:
    """The task's own kernel, and before each call of it what `how` does."""

    def made(files: Files) -> Files:
        assert files[file].count(b"void " + head) == 1
        own = files[file].replace(b"void " + head, b"static void honest" + head[head.index(b"(") :])
        return {file: own + how + b"\nvoid " + head + b" {\n    forge();\n    honest(" + call + b");\n}\n"}

    return made


_C = b"transpose(const float *in, float *out, long rows, long cols)", b"in, out, rows, cols", "kernel.c"
_CUDA = (
    b"transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream)",
    b"in, out, rows, cols, stream", "kernel.cu",
)  # fmt: skip
CHEATS: dict[tuple[str, str], Callable[[Files], Files]] = {
    ("transpose_cpu", "keeps"): keeps(KEEPS_CPU, "kernel.c"),
    ("transpose_cpu", "stretches"): forges(STRETCHES, *_C),
    ("transpose_cpu", "patches-object"): forges(PATCHES_OBJECT, *_C),
    ("transpose_cpu", "patches-clock"): forges(PATCHES_CLOCK, *_C),
    ("matmul_cuda", "keeps"): keeps(KEEPS_CUDA, "kernel.cu"),
    ("transpose_cuda", "stretches"): forges(STRETCHES, *_CUDA),
    ("transpose_cuda", "patches-object"): forges(PATCHES_OBJECT, *_CUDA),
    ("transpose_cuda", "patches-clock"): forges(PATCHES_CLOCK, *_CUDA),
}
"""By task and name: what makes the cheat of the task's own files."""
